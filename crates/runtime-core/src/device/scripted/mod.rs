//! A device that runs on the host and follows a script.
//!
//! It is for testing code that uses the runtime, on machines without a GPU and
//! for events that no GPU produces on demand. It copies and fills for real,
//! runs kernels through functions of the host, and keeps real timelines, one
//! per queue. [`Controls`] hold and release its queues and make calls fail.
//!
//! It is stricter than hardware. The host's image of a buffer is not the
//! device's: a host write reaches the device with a flush, a device write
//! reaches the host with a barrier to the host and an invalidate, and until
//! then the host reads scrambled bytes there. Conflicting work must be ordered
//! by barriers and waits as Vulkan demands it. What breaks this is answered
//! with [`DeviceFault::Misuse`] and kept in [`Controls::misuses`]; a test of a
//! runtime ends by asserting that there are none.
//!
//! ```
//! use runtime_core::device::scripted::ScriptedDevice;
//!
//! let device = ScriptedDevice::builder()
//!     .host_kernel("double", |invocation| {
//!         for value in invocation.write::<u32>("values") {
//!             *value *= 2;
//!         }
//!     })
//!     .build();
//! let controls = device.controls();
//! // Hand `Box::new(device)` to a runtime, use that, and then:
//! assert!(controls.misuses().is_empty());
//! ```
//!
//! Lock order: `state`, then nothing. Host kernels run outside of it, all else
//! inside.

mod builder;
mod controls;
mod driver;
mod host_image;
mod kernel;
mod memory;
mod misuse;
#[cfg(test)]
mod models;
mod ranges;
mod region;
mod run;
mod script;
mod state;
#[cfg(test)]
#[cfg(not(runtime_loom))]
mod tests;
mod timeline;

use runtime_sync::unmodelled::Arc;
use runtime_sync::{Condvar, Mutex, thread};

pub use builder::ScriptedBuilder;
pub use controls::Controls;
pub use kernel::HostInvocation;
pub use misuse::Misuse;
pub use script::Call;
pub use state::{Live, LogEntry};

#[cfg(doc)]
use super::DeviceFault;
use super::DeviceInfo;
use kernel::KernelTable;
use state::State;

/// What the device, its objects and its controls share.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Something was accepted, reached, released or lost.
    changed: Condvar,
    info: DeviceInfo,
    kernels: KernelTable,
    coherent: bool,
    unified: bool,
    own_thread: bool,
}

/// A device that runs on the host and follows a script.
#[derive(Debug)]
pub struct ScriptedDevice {
    shared: Arc<Shared>,
    worker: Option<thread::JoinHandle<()>>,
}

impl ScriptedDevice {
    /// Starts describing a device.
    pub fn builder() -> ScriptedBuilder {
        ScriptedBuilder::new()
    }

    /// A handle that steers and observes the device.
    pub fn controls(&self) -> Controls {
        Controls {
            shared: self.shared.clone(),
        }
    }

    /// What was caught so far, oldest first.
    pub fn misuses(&self) -> Vec<Misuse> {
        self.controls().misuses()
    }
}

impl Drop for ScriptedDevice {
    fn drop(&mut self) {
        self.shared.state.lock().live.device = false;
        self.shared.changed.notify_all();
        if let Some(worker) = self.worker.take() {
            // A worker that panicked has nothing more to say here.
            drop(worker.join());
        }
    }
}
