#![doc = include_str!("../README.md")]

mod builder;
mod exit;
mod session;

pub use builder::NativeSessionBuilder;
pub use session::NativeSession;
