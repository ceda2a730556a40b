//! Counts of what the runtime has done.

/// Counts since the runtime was made. At a quiescent point
/// `submitted = succeeded + failed + cancelled + uncertain`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Submissions that were taken.
    pub submitted: u64,
    /// Submissions that ran to their end.
    pub succeeded: u64,
    /// Submissions that the driver refused, or whose producer failed.
    pub failed: u64,
    /// Submissions cancelled before the driver had all of them.
    pub cancelled: u64,
    /// Submissions whose end has no proof.
    pub uncertain: u64,
    /// Submissions now in flight.
    pub in_flight: u64,
    /// The most that were in flight at once.
    pub peak_in_flight: u64,
    /// Refusals for want of a place.
    pub busy_capacity: u64,
    /// Refusals for want of a run slot.
    pub busy_run_slots: u64,
    /// Refusals because the caller was inside a stage.
    pub busy_reentry: u64,
    /// Native stages that got the lane.
    pub stages_admitted: u64,
    /// Native stages that ended, failed ones included.
    pub stages_ended: u64,
    /// Native stages whose fence failed or that panicked.
    pub stages_failed: u64,
    /// Native stages that wait for the lane now.
    pub stages_waiting: u64,
    /// Nanoseconds that admitted stages waited, in all.
    pub stages_waited_ns: u64,
    /// Nanoseconds that stages ran, in all, fences apart.
    pub stages_ran_ns: u64,
    /// Nanoseconds that the fences of stages took, in all.
    pub stages_fenced_ns: u64,
    /// Entries now in quarantine.
    pub quarantined: u64,
}

impl Statistics {
    /// Submissions that have ended, however that was.
    pub(crate) fn ended(&self) -> u64 {
        self.succeeded + self.failed + self.cancelled + self.uncertain
    }
}
