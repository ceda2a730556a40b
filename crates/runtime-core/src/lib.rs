#![doc = include_str!("../README.md")]

pub mod device;
pub mod kernel;
pub mod lane;
pub mod memory;
pub mod quarantine;

mod close;
mod completion;
mod domain;
mod error;
mod graph;
mod oneoff;
mod options;
mod revoke;
mod run;
mod runtime;
mod statistics;
mod trace;

pub use close::CloseReport;
pub use completion::{Completion, Profile, RegionProfile};
pub use error::{Busy, Error, ErrorKind, Invalid, Result};
pub use graph::{Dispatch, GraphBuilder, InputId, Kernel, OutputId, PreparedGraph, RunBuilder};
pub use lane::{Lane, Lease, StageRecord};
pub use memory::budget::{Charge, MemoryBudget};
pub use memory::{Buffer, View};
pub use options::RuntimeOptions;
pub use quarantine::{Cause, QuarantineEntry, QuarantineId};
pub use revoke::{Drained, Revoker};
pub use runtime::Runtime;
pub use statistics::Statistics;
pub use trace::{Trace, TraceKind, TraceRecord};
