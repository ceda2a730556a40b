//! Opens a device under a memory budget, with the columns resident on it, and a
//! backend that admits attempts to what is left.

use std::sync::Arc;

use backend_session::{GpuBackend, ResidentReservation};
use runtime_core::device::{DeviceSelector, DeviceUuid};
use runtime_core::{MemoryBudget, Runtime, RuntimeOptions};
use tokio::sync::Mutex;

use crate::classifier::{self, Classifier};
use crate::columns::{Lineitem, Segment};
use crate::document::DeviceFacts;
use crate::drive::Stage;
use crate::error::DemoError;
use crate::queries::Query;
use crate::resident::{self, Resident};
use crate::work::{self, DeviceWork};

/// Ordinary grants that fit at once; a greater concurrency waits in the line.
const GRANTS_AT_ONCE: u64 = 4;

/// What uploading the columns stages at once, beside all else.
const UPLOAD_BYTES: u64 = 8 << 20;

/// Records of the trace; the newest are kept.
const TRACE_RECORDS: usize = 1 << 16;

/// The only device of the backend: the first to be added.
const DEVICE: u32 = 0;

#[cfg(test)]
mod tests;

/// How many bytes there are for what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) resident: u64,
    pub(crate) grant: u64,
    pub(crate) grantable: u64,
    /// What the backend gives out: resident data and grants.
    pub(crate) capacity: u64,
    /// What the runtime allocates at most.
    pub(crate) budget: u64,
}

impl Sizes {
    pub(crate) fn of(table: &Lineitem) -> Sizes {
        let resident = table.bytes();
        let grants = Query::ALL.map(|query| {
            let tiles = table.segments.iter().map(Segment::tiles);
            work::grant_bytes(resident::partial_bytes(tiles, query))
        });
        let grant = grants.into_iter().max().unwrap_or(0);
        let grantable = GRANTS_AT_ONCE * grant;
        let capacity = resident + grantable;
        Sizes {
            resident,
            grant,
            grantable,
            capacity,
            budget: capacity + UPLOAD_BYTES + classifier::MOST_BYTES,
        }
    }
}

/// A device, its backend, and what the attempts share.
pub(crate) struct Opened {
    pub(crate) runtime: Runtime,
    pub(crate) budget: MemoryBudget,
    pub(crate) backend: GpuBackend,
    pub(crate) reservation: ResidentReservation,
    pub(crate) stage: Arc<Stage<DeviceWork>>,
}

/// Opens the device, uploads the columns and builds the backend. Blocks.
pub(crate) fn open(
    device: Option<&str>,
    table: &Lineitem,
    sizes: &Sizes,
    attempts: u32,
) -> Result<Opened, DemoError> {
    let budget = MemoryBudget::new(sizes.budget, "demo");
    let options = RuntimeOptions::default()
        .label("tpch-demo")
        .device(selector(device))
        .allow_software(true)
        .budget(budget.clone())
        .run_slots(1)
        .trace_capacity(TRACE_RECORDS);
    let runtime = Runtime::with_options(options)?;
    let most = usize::try_from(attempts).unwrap_or(usize::MAX);
    let backend = GpuBackend::builder()
        .device(runtime.clone(), sizes.capacity)
        .completion_queue(most)
        .build()?;
    let reservation = backend.reserve_resident(DEVICE, sizes.resident, "lineitem")?;
    let resident = Resident::upload(&runtime, &reservation.runtime()?, table)?;
    let classifier = Classifier::new(&runtime)?;
    let stage = Stage {
        session: backend.session(),
        work: DeviceWork {
            resident,
            classifier: Mutex::new(classifier),
        },
        grantable_bytes: sizes.grantable,
        grant_bytes: sizes.grant,
    };
    Ok(Opened {
        runtime,
        budget,
        backend,
        reservation,
        stage: Arc::new(stage),
    })
}

pub(crate) fn device_facts(runtime: &Runtime) -> DeviceFacts {
    let device = runtime.device();
    DeviceFacts {
        name: device.name.to_string(),
        kind: device.kind.to_string(),
        driver: device.driver.to_string(),
    }
}

fn selector(device: Option<&str>) -> DeviceSelector {
    match device {
        Some(device) => uuid(device).map_or_else(
            || DeviceSelector::Named(device.into()),
            DeviceSelector::Uuid,
        ),
        None => DeviceSelector::Best,
    }
}

/// A text of 32 hexadecimal digits, with or without hyphens, as a UUID.
fn uuid(text: &str) -> Option<DeviceUuid> {
    let digits = text.replace('-', "");
    let is_hex = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = is_hex.then(|| u128::from_str_radix(&digits, 16).ok())??;
    Some(DeviceUuid(number.to_be_bytes()))
}
