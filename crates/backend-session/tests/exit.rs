//! The end of a process whose values are still alive.

mod support;

use std::process::Command;

/// Set in the child processes that this test starts of itself.
const CHILD: &str = "BACKEND_SESSION_EXIT_CHILD";

#[test]
fn a_process_ends_with_live_values() {
    if std::env::var_os(CHILD).is_some() {
        leave_everything_alive();
    }
    let program = std::env::current_exe().unwrap();
    for _ in 0..200 {
        let status = Command::new(&program)
            .args(["--exact", "a_process_ends_with_live_values"])
            .env(CHILD, "1")
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(7));
    }
}

/// Ends the process while attempts run, wait and are reported.
fn leave_everything_alive() -> ! {
    let stage = support::stage();
    let running = stage.submit(60).granted();
    let waiting = stage.submit(60);
    let session = stage.session.clone();
    std::thread::spawn(move || {
        loop {
            let request = backend_session::QueryAdmissionRequest::new(1);
            let mut admission = Box::pin(session.admit_async_with_request(request));
            let _ = support::poll_with(admission.as_mut(), std::task::Waker::noop());
        }
    });
    std::hint::black_box((&stage, &running, &waiting));
    std::process::exit(7)
}
