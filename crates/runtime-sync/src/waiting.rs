//! Waiting for a future on the calling thread.

use std::future::Future;

/// Drives `future` on the calling thread and returns its output.
///
/// The thread parks between polls. A model should hold at most one such call:
/// each blocked future multiplies the search.
pub fn block_on<F: Future>(future: F) -> F::Output {
    #[cfg(runtime_loom)]
    {
        loom::future::block_on(future)
    }
    #[cfg(not(runtime_loom))]
    {
        use std::pin::pin;
        use std::sync::Arc;
        use std::task::{Context, Poll, Wake, Waker};

        struct Unpark(std::thread::Thread);
        impl Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }

        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut context = Context::from_waker(&waker);
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return output;
            }
            crate::thread::park();
        }
    }
}
