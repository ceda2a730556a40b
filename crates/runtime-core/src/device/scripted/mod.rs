//! A device that runs on the host and follows a script.

/// A use that real hardware may punish silently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// The host reads bytes that the device wrote without an invalidate.
    #[error("the host read bytes at {offset} without an invalidate")]
    MissingInvalidate {
        /// The first such byte.
        offset: u64,
    },
}
