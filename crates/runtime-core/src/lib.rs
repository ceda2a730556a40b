//! runtime-core.
