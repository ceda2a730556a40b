//! runtime-core.

pub mod device;
pub mod lane;
