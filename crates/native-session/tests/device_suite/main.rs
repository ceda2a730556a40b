//! Native sessions on every device, through the public interface alone.
//!
//! The variable `LANEKEEPER_TEST_DEVICE` chooses the device: `scripted`, which
//! is the default, or the name or UUID of a Vulkan device.

#![cfg(not(runtime_loom))]
#![expect(
    unsafe_code,
    reason = "sessions and stages are unsafe to make; the models here own no stream"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test fails by a panic"
)]

mod admission;
#[cfg(feature = "vulkan")]
mod beside;
mod exits;
mod fixture;
mod lifetime;
mod line;
mod nesting;
mod observation;
mod probe;
mod quarantine;
mod reentry;
