//! runtime-core.

pub mod device;
pub mod lane;
pub mod memory;
