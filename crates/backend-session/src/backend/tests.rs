use super::GpuBackend;
use std::time::Duration;

#[test]
fn close_needs_no_lock() {
    let backend = GpuBackend::builder().ledger_device(0, 1).build().unwrap();
    let session = backend.session();
    let shared = backend.shared.clone();
    let attempt = shared.begin(crate::BeginAttemptRequest::new()).unwrap();
    let book = shared.book.lock();
    // It is held by this very thread, so taking it in here would hang.
    assert!(backend.close());
    assert!(session.is_closing());
    drop(book);
    drop(attempt);
    backend.close_and_wait(Duration::from_secs(60)).unwrap();
}

#[test]
fn the_last_drop_and_close_have_one_winner() {
    for _ in 0..200 {
        let backend = GpuBackend::builder().ledger_device(0, 1).build().unwrap();
        let gate = backend.shared.gate.clone();
        let last = backend.clone();
        let dropper = std::thread::spawn(move || drop(last));
        let wins = backend.close();
        drop(backend);
        dropper.join().unwrap();
        // A handle was still there when close was called, so it won.
        assert!(wins && gate.snapshot().closing);
        assert!(!gate.close());
    }
}
