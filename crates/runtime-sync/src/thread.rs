//! Threads of the runtime.

#[cfg(runtime_loom)]
pub use loom::thread::{JoinHandle, Thread, ThreadId, current, park, yield_now};
#[cfg(not(runtime_loom))]
pub use std::thread::{JoinHandle, Thread, ThreadId, current, yield_now};

use std::io;

/// Starts a thread with a name that debuggers and profilers show.
///
/// # Errors
/// The operating system's, when it refuses another thread.
pub fn spawn_named<F, T>(name: &str, body: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    #[cfg(not(runtime_loom))]
    {
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(body)
    }
    #[cfg(runtime_loom)]
    {
        let _ = name;
        Ok(loom::thread::spawn(body))
    }
}

/// Starts a thread with a name and at least `stack_bytes` of stack.
///
/// # Errors
/// The operating system's, when it refuses another thread or that much stack.
pub fn spawn_with_stack<F, T>(name: &str, stack_bytes: usize, body: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    #[cfg(not(runtime_loom))]
    {
        std::thread::Builder::new()
            .name(name.to_owned())
            .stack_size(stack_bytes)
            .spawn(body)
    }
    #[cfg(runtime_loom)]
    {
        let _ = (name, stack_bytes);
        Ok(loom::thread::spawn(body))
    }
}

/// Blocks until this thread is unparked; may return without that.
#[cfg(not(runtime_loom))]
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that calls std's park"
)]
pub fn park() {
    std::thread::park();
}

/// As [`park`], for at most `limit`.
///
/// Under the model checker time does not exist, and this is a plain park.
pub fn park_timeout(limit: std::time::Duration) {
    #[cfg(not(runtime_loom))]
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that calls std's park_timeout"
    )]
    std::thread::park_timeout(limit);
    #[cfg(runtime_loom)]
    {
        let _ = limit;
        loom::thread::park();
    }
}

/// True while this thread unwinds.
///
/// Under the model checker all modelled threads share one operating-system
/// thread and its panic count, so a protocol must not decide by this: an exit
/// is a value there.
pub fn panicking() -> bool {
    std::thread::panicking()
}
