//! A region that is recorded for one run.

use runtime_sync::unmodelled::Arc;

use crate::completion::Completion;
use crate::device::RegionPlan;
use crate::error::Result;
use crate::lane::line::{Plan, PlannedRegion};
use crate::lane::scheduler::Place;
use crate::memory::Buffer;
use crate::run::{Recorded, Run, Staging};
use crate::runtime::Runtime;

/// Records `plan`, which touches `buffer` alone and which nobody else knows
/// yet, runs it and waits. It conflicts with nothing.
pub(crate) fn run(runtime: &Runtime, plan: RegionPlan, buffer: &Buffer) -> Result<()> {
    let domain = runtime.domain();
    let device = &domain.scheduler.device;
    let lane = plan.lane;
    let native = device.record(&plan)?;
    let run = Arc::new(Run::new(
        vec![Recorded { native }],
        Arc::new(Plan {
            regions: vec![PlannedRegion {
                lane,
                queue: device.info().lanes.queue(lane),
                touches: Vec::new(),
            }],
        }),
        plan.label,
        vec![buffer.clone()],
        Staging::default(),
        None,
    ));
    run.claim();
    let key = match domain.scheduler.submit(&run, Place::Now, &[]) {
        Ok(key) => key,
        Err(error) => {
            run.drop_handle();
            return Err(error);
        }
    };
    Completion::new(domain.clone(), run, key, 0).wait()
}
