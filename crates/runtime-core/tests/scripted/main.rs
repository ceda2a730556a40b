//! What only a device that follows a script can show: order, cancellation,
//! faults and loss at chosen moments.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

mod cancel;
mod faults;
mod fixture;
mod loss;
mod order;
mod stages;
mod wakers;
