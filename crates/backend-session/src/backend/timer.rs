//! The timer thread: everything that ends by the clock.
//!
//! It sleeps towards the soonest deadline and is rung when a sooner one comes,
//! so deadlines need neither a release nor anybody's executor.

use super::Shared;
use crate::admission::Moves;
use crate::callout;
use runtime_sync::unmodelled::Ordering;
use std::time::Duration;

impl Shared {
    /// The body of the timer thread.
    pub(super) fn run_timer(&self) {
        loop {
            let now_ns = self.clock.now_ns();
            let mut moves = Moves::new();
            let next_ns = {
                let mut book = self.book.lock();
                book.expire(now_ns, &mut moves);
                book.arm()
            };
            // Whatever is sooner from here on rings, so this look covers itself.
            moves.is_sooner = false;
            self.carry_out(moves);
            callout::wake_all(self.close_desk.expire(now_ns));
            if self.is_timer_over.load(Ordering::Acquire) {
                return;
            }
            let close_ns = self.close_desk.next_deadline_ns();
            let next_ns = next_ns.into_iter().chain(close_ns).min();
            let nap = next_ns.and_then(|at_ns| {
                let left_ns = at_ns.saturating_sub(self.clock.now_ns());
                self.clock.nap(Duration::from_nanos(left_ns))
            });
            self.bell.sleep(nap);
        }
    }

    /// Lets the timer thread end.
    pub(super) fn stop_timer(&self) {
        self.is_timer_over.store(true, Ordering::Release);
        self.bell.ring();
    }
}
