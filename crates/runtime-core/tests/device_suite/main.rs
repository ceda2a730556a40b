//! One suite for every device, through the public interface alone.
//!
//! The variable `LANEKEEPER_TEST_DEVICE` chooses the device: `scripted`, which
//! is the default, or the name or UUID of a Vulkan device. On the scripted
//! device every test also asserts that no misuse was caught.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a test fails by a panic, and its numbers are small"
)]

mod budget;
mod capacity;
mod closing;
mod fixture;
mod hazards;
mod kernels;
mod lifetime;
mod replay;
mod threads;
mod transfers;
