//! Attempts: tries at a request, each ending in exactly one report.

mod abandoned;
mod begin;
mod completion;
mod facts;
mod owner;
mod phase;
mod receiver;
mod record;
mod slot;

pub use begin::BeginAttemptRequest;
pub use owner::{Attempt, AttemptBegin, AttemptCanceller, Claim, Ending};
pub use receiver::AttemptReceiver;

pub(crate) use abandoned::Abandoned;
pub(crate) use completion::QueryCompletion;
pub(crate) use facts::{AttemptFacts, CleanupFacts, Verdict};
pub(crate) use phase::Event;
pub(crate) use record::Record;
