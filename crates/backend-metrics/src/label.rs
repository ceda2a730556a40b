//! Label values: what a series may be split by.
//!
//! Every label is a small closed set, or an ordinal whose range the
//! [`Recorder`](crate::Recorder) was built with. Nothing here can name an
//! attempt, a tenant or a query: a label per attempt would grow a time series
//! database without bound.
//!
//! The types that a snapshot carries have a variant `Other`: a reader that is
//! older than the backend it watches reads a value it does not know as `Other`
//! instead of refusing the snapshot.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A device's place in the backend's list of devices, from 0.
///
/// It keeps its value for the life of a backend; recovery changes the device
/// generation, never the ordinal.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct DeviceOrdinal(pub u32);

impl fmt::Display for DeviceOrdinal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A priority band; 0 is the most urgent.
///
/// Exposed as the label `priority`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Band(pub u8);

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Defines a closed set of label values, each with its one spelling.
macro_rules! labels {
    (
        $(#[$enum_attribute:meta])*
        pub enum $name:ident {
            $( $(#[$attribute:meta])* $variant:ident = $text:literal, )+
        }
    ) => {
        $(#[$enum_attribute])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$attribute])* #[serde(rename = $text)] $variant, )+
        }

        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )+];

            /// The spelling in JSON and in label values; stable.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $( Self::$variant => $text, )+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

labels! {
    /// Why a request ended without ever being granted.
    pub enum Refusal {
        /// The backend was closing when the request came.
        BackendClosing = "backend_closing",
        /// No device has what the request asks for.
        Capability = "capability",
        /// Larger than every capable device can ever give.
        NeverFits = "never_fits",
        /// No fitting device is open or recovering.
        Unhealthy = "unhealthy",
        /// The line, or the tenant's share of it, was full.
        AdmissionQueueFull = "admission_queue_full",
        /// The queue deadline passed, or had passed already.
        QueueWaitElapsed = "queue_wait_elapsed",
        /// The line closed while the request waited in it.
        AdmissionClosed = "admission_closed",
        /// The caller cancelled the waiting request.
        CallerCancelled = "caller_cancelled",
        /// The caller dropped the attempt while its request waited.
        Dropped = "dropped",
    }
}

labels! {
    /// How a request ended after its grant.
    pub enum Ending {
        /// The attempt finished its work.
        Succeeded = "succeeded",
        /// The attempt reported a failure of its own.
        Failed = "failed",
        /// The attempt's code panicked.
        Panicked = "panicked",
        /// The owner was dropped without an outcome.
        Dropped = "dropped",
        /// The caller cancelled the granted attempt.
        CallerCancelled = "caller_cancelled",
        /// Close cancelled the granted attempt.
        BackendClosing = "backend_closing",
        /// The execution deadline passed.
        ExecutionElapsed = "execution_elapsed",
        /// Nobody claimed the grant in time, so it was revoked.
        ClaimElapsed = "claim_elapsed",
        /// The device was lost under the attempt.
        DeviceLost = "device_lost",
    }
}

labels! {
    /// The label `outcome`: a grant, a [`Refusal`] or an [`Ending`].
    pub enum Outcome {
        /// The wait ended with a grant. No request ends so: `Granted` labels
        /// admission waits only.
        Granted = "granted",
        /// [`Refusal::BackendClosing`] or [`Ending::BackendClosing`].
        BackendClosing = "backend_closing",
        /// [`Refusal::Capability`].
        Capability = "capability",
        /// [`Refusal::NeverFits`].
        NeverFits = "never_fits",
        /// [`Refusal::Unhealthy`].
        Unhealthy = "unhealthy",
        /// [`Refusal::AdmissionQueueFull`].
        AdmissionQueueFull = "admission_queue_full",
        /// [`Refusal::QueueWaitElapsed`].
        QueueWaitElapsed = "queue_wait_elapsed",
        /// [`Refusal::AdmissionClosed`].
        AdmissionClosed = "admission_closed",
        /// [`Refusal::CallerCancelled`] or [`Ending::CallerCancelled`].
        CallerCancelled = "caller_cancelled",
        /// [`Refusal::Dropped`] or [`Ending::Dropped`].
        Dropped = "dropped",
        /// [`Ending::Succeeded`].
        Succeeded = "succeeded",
        /// [`Ending::Failed`].
        Failed = "failed",
        /// [`Ending::Panicked`].
        Panicked = "panicked",
        /// [`Ending::ExecutionElapsed`].
        ExecutionElapsed = "execution_elapsed",
        /// [`Ending::ClaimElapsed`].
        ClaimElapsed = "claim_elapsed",
        /// [`Ending::DeviceLost`].
        DeviceLost = "device_lost",
        /// An outcome that this version of the crate does not know.
        #[serde(other)]
        Other = "other",
    }
}

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::BackendClosing => Self::BackendClosing,
            Refusal::Capability => Self::Capability,
            Refusal::NeverFits => Self::NeverFits,
            Refusal::Unhealthy => Self::Unhealthy,
            Refusal::AdmissionQueueFull => Self::AdmissionQueueFull,
            Refusal::QueueWaitElapsed => Self::QueueWaitElapsed,
            Refusal::AdmissionClosed => Self::AdmissionClosed,
            Refusal::CallerCancelled => Self::CallerCancelled,
            Refusal::Dropped => Self::Dropped,
        }
    }
}

impl From<Ending> for Outcome {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Succeeded => Self::Succeeded,
            Ending::Failed => Self::Failed,
            Ending::Panicked => Self::Panicked,
            Ending::Dropped => Self::Dropped,
            Ending::CallerCancelled => Self::CallerCancelled,
            Ending::BackendClosing => Self::BackendClosing,
            Ending::ExecutionElapsed => Self::ExecutionElapsed,
            Ending::ClaimElapsed => Self::ClaimElapsed,
            Ending::DeviceLost => Self::DeviceLost,
        }
    }
}

labels! {
    /// An ordered line of device work.
    pub enum Lane {
        /// Host to device.
        Upload = "upload",
        /// Kernels and native stages.
        Compute = "compute",
        /// Device to host.
        Download = "download",
        /// Work of a neural processing unit.
        Npu = "npu",
        /// A lane that this version of the crate does not know.
        #[serde(other)]
        Other = "other",
    }
}

labels! {
    /// What a waiting request waits for.
    pub enum QueueReason {
        /// A place among the running.
        Places = "places",
        /// Bytes on an open device.
        Bytes = "bytes",
        /// A device to reopen: every fitting one is closed or recovering.
        Device = "device",
        /// A device that is reserved for a request ahead.
        Reserved = "reserved",
        /// Its turn: it would fit, but may not pass those ahead.
        Turn = "turn",
        /// A reason that this version of the crate does not know.
        #[serde(other)]
        Other = "other",
    }
}

labels! {
    /// Why an attempt's owner sits in quarantine.
    pub enum QuarantineCause {
        /// A fence answered an error.
        FenceError = "fence_error",
        /// A fence panicked.
        FencePanic = "fence_panic",
        /// A queue made no progress within the watchdog's limit.
        Watchdog = "watchdog",
        /// A callback could not say whether its work had drained.
        UncertainCallback = "uncertain_callback",
        /// The device was lost.
        DeviceLost = "device_lost",
        /// No proof of completion came within the attempt's proof limit.
        ProofLimit = "proof_limit",
        /// A cause without a label of its own.
        #[serde(other)]
        Other = "other",
    }
}

labels! {
    /// Whether a device is granted work.
    #[derive(Default)]
    pub enum DeviceHealth {
        /// Work is granted.
        #[default]
        Open = "open",
        /// A new generation is being built.
        Recovering = "recovering",
        /// Closed by a fault that is known to stay on this device.
        ClosedDeviceLocal = "closed_device_local",
        /// Closed by a fault whose reach is unknown.
        ClosedUnknownIsolation = "closed_unknown_isolation",
        /// A state that this version of the crate does not know.
        #[serde(other)]
        Other = "other",
    }
}

labels! {
    /// How far the backend has closed.
    #[derive(Default)]
    pub enum GateState {
        /// Attempts may begin.
        #[default]
        Open = "open",
        /// No attempt begins; some still hold GPU permits.
        Closing = "closing",
        /// No GPU permit is held: the devices may be used anew.
        GpuQuiescent = "gpu_quiescent",
        /// Every report is ready and every permit returned.
        Closed = "closed",
        /// A state that this version of the crate does not know.
        #[serde(other)]
        Other = "other",
    }
}

#[cfg(test)]
#[cfg(not(runtime_loom))]
mod tests;
