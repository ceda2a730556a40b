//! Graphs: operations that are prepared once and run many times.
//!
//! A builder takes operations in program order. Preparing finds their byte-range
//! hazards, splits them into regions, one per lane and stretch, and records each
//! region for every run slot. A run copies its inputs, and submits.

mod builder;
mod dispatch;
pub(crate) mod hazards;
mod plan;
mod prepare;
mod run;

pub use builder::{GraphBuilder, InputId, OutputId};
pub use dispatch::{Dispatch, Kernel};
pub use prepare::PreparedGraph;
pub use run::RunBuilder;

#[cfg(test)]
#[cfg(not(runtime_loom))]
mod tests;
