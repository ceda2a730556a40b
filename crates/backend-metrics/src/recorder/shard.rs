//! Shards: the same tallies several times, added up when read.

use std::time::Duration;

use runtime_sync::unmodelled::{AtomicU64, AtomicUsize, Ordering};

use crate::histogram::{Histogram, HistogramSnapshot};
use crate::label::{Band, DeviceOrdinal, Ending, Lane, Outcome, Refusal};
use crate::snapshot::{AdmissionWait, ExecutionTime, LaneWait, RequestCount};

/// How many copies of the tallies there are.
///
/// Enough that threads of one machine seldom meet, few enough that a recorder
/// of three bands and two devices stays below 100 KiB.
const SHARDS: usize = 8;

/// The label values that were fixed when the recorder was built.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) devices: Box<[DeviceOrdinal]>,
    pub(super) bands: u8,
}

impl Shape {
    fn column_of_band(&self, band: Band) -> Option<usize> {
        (band.0 < self.bands).then_some(usize::from(band.0))
    }

    fn column_of_device(&self, device: DeviceOrdinal) -> Option<usize> {
        self.devices.iter().position(|known| *known == device)
    }

    fn bands(&self) -> impl Iterator<Item = (usize, Band)> + use<> {
        (0..self.bands).map(|band| (usize::from(band), Band(band)))
    }
}

/// All tallies of a recorder.
#[derive(Debug)]
pub(super) struct Shards {
    shape: Shape,
    shards: [Shard; SHARDS],
}

impl Shards {
    pub(super) fn new(shape: Shape) -> Self {
        let shards = std::array::from_fn(|_| Shard::new(&shape));
        Self { shape, shards }
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The calling thread's shard.
    pub(super) fn mine(&self) -> &Shard {
        let [first, ..] = &self.shards;
        self.shards.get(thread_number() % SHARDS).unwrap_or(first)
    }

    pub(super) fn granted(&self, band: Band, wait: Duration) {
        let mine = self.mine();
        match self.shape.column_of_band(band) {
            Some(column) => mine.waits.record(GRANTED_ROW, column, wait),
            None => mine.count_unlabelled(),
        }
    }

    pub(super) fn refused(&self, refusal: Refusal, band: Band, wait: Duration) {
        let mine = self.mine();
        match self.shape.column_of_band(band) {
            Some(column) => {
                mine.waits.record(refusal_row(refusal), column, wait);
                mine.count_request(refusal.into(), column);
            }
            None => mine.count_unlabelled(),
        }
    }

    pub(super) fn ended(&self, ending: Ending, band: Band, device: DeviceOrdinal, ran: Duration) {
        let mine = self.mine();
        let band = self.shape.column_of_band(band);
        let device = self.shape.column_of_device(device);
        match (band, device) {
            (Some(band), Some(device)) => {
                mine.executions.record(ending as usize, device, ran);
                mine.count_request(ending.into(), band);
            }
            _ => mine.count_unlabelled(),
        }
    }

    pub(super) fn lane_wait(&self, device: DeviceOrdinal, lane: Lane, wait: Duration) {
        let mine = self.mine();
        match self.shape.column_of_device(device) {
            Some(device) => mine.lane_waits.record(lane as usize, device, wait),
            None => mine.count_unlabelled(),
        }
    }

    pub(super) fn requests(&self) -> Vec<RequestCount> {
        let mut rows = Vec::new();
        for outcome in Outcome::ALL {
            for (column, band) in self.shape.bands() {
                let count = self.sum(|shard| shard.requests.cell(*outcome as usize, column));
                if count > 0 {
                    rows.push(RequestCount {
                        outcome: *outcome,
                        band,
                        count,
                    });
                }
            }
        }
        rows
    }

    pub(super) fn admission_wait(&self) -> Vec<AdmissionWait> {
        let refusals = Refusal::ALL
            .iter()
            .map(|refusal| (refusal_row(*refusal), Outcome::from(*refusal)));
        let mut rows = Vec::new();
        for (row, outcome) in [(GRANTED_ROW, Outcome::Granted)]
            .into_iter()
            .chain(refusals)
        {
            for (column, band) in self.shape.bands() {
                let waits = self.total(|shard| shard.waits.cell(row, column));
                if waits.count() > 0 {
                    rows.push(AdmissionWait {
                        outcome,
                        band,
                        waits,
                    });
                }
            }
        }
        rows
    }

    pub(super) fn execution(&self) -> Vec<ExecutionTime> {
        let mut rows = Vec::new();
        for (column, device) in self.shape.devices.iter().enumerate() {
            for ending in Ending::ALL {
                let durations = self.total(|shard| shard.executions.cell(*ending as usize, column));
                if durations.count() > 0 {
                    rows.push(ExecutionTime {
                        device: *device,
                        outcome: Outcome::from(*ending),
                        durations,
                    });
                }
            }
        }
        rows
    }

    pub(super) fn lane_waits(&self) -> Vec<LaneWait> {
        let mut rows = Vec::new();
        for (column, device) in self.shape.devices.iter().enumerate() {
            for lane in Lane::ALL {
                let waits = self.total(|shard| shard.lane_waits.cell(*lane as usize, column));
                if waits.count() > 0 {
                    rows.push(LaneWait {
                        device: *device,
                        lane: *lane,
                        waits,
                    });
                }
            }
        }
        rows
    }

    pub(super) fn unlabelled(&self) -> u64 {
        self.sum(|shard| Some(&shard.unlabelled))
    }

    /// One histogram, added up over the shards.
    pub(super) fn total(
        &self,
        histogram_of: impl Fn(&Shard) -> Option<&Histogram>,
    ) -> HistogramSnapshot {
        let mut total = HistogramSnapshot::zero();
        for histogram in self.shards.iter().filter_map(histogram_of) {
            histogram.add_to(&mut total);
        }
        total
    }

    /// One counter, added up over the shards.
    fn sum(&self, counter_of: impl Fn(&Shard) -> Option<&AtomicU64>) -> u64 {
        // Relaxed: tallies have no partner.
        self.shards
            .iter()
            .filter_map(counter_of)
            .fold(0, |sum, counter| {
                sum.wrapping_add(counter.load(Ordering::Relaxed))
            })
    }
}

/// One copy of the tallies, on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Shard {
    /// By outcome and band.
    requests: Table<AtomicU64>,
    /// By grant or refusal, and band.
    waits: Table<Histogram>,
    /// By ending and device.
    executions: Table<Histogram>,
    /// By lane and device.
    lane_waits: Table<Histogram>,
    pub(super) compute_lease_hold: Histogram,
    pub(super) close: Histogram,
    unlabelled: AtomicU64,
}

impl Shard {
    fn new(shape: &Shape) -> Self {
        let bands = usize::from(shape.bands);
        let devices = shape.devices.len();
        Self {
            requests: Table::new(Outcome::ALL.len(), bands),
            waits: Table::new(1 + Refusal::ALL.len(), bands),
            executions: Table::new(Ending::ALL.len(), devices),
            lane_waits: Table::new(Lane::ALL.len(), devices),
            compute_lease_hold: Histogram::default(),
            close: Histogram::default(),
            unlabelled: AtomicU64::new(0),
        }
    }

    fn count_request(&self, outcome: Outcome, band: usize) {
        if let Some(counter) = self.requests.cell(outcome as usize, band) {
            // Relaxed: tallies have no partner.
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn count_unlabelled(&self) {
        // Relaxed: tallies have no partner.
        self.unlabelled.fetch_add(1, Ordering::Relaxed);
    }
}

/// A rectangle of tallies.
#[derive(Debug)]
struct Table<T> {
    cells: Box<[T]>,
    columns: usize,
}

impl<T: Default> Table<T> {
    fn new(rows: usize, columns: usize) -> Self {
        Self {
            cells: (0..rows * columns).map(|_| T::default()).collect(),
            columns,
        }
    }

    fn cell(&self, row: usize, column: usize) -> Option<&T> {
        self.cells.get(row * self.columns + column)
    }
}

impl Table<Histogram> {
    fn record(&self, row: usize, column: usize, duration: Duration) {
        if let Some(histogram) = self.cell(row, column) {
            histogram.record(duration);
        }
    }
}

const GRANTED_ROW: usize = 0;

fn refusal_row(refusal: Refusal) -> usize {
    GRANTED_ROW + 1 + refusal as usize
}

/// A number that the calling thread keeps; threads are numbered in the order
/// of their first event.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    runtime_sync::thread_local! {
        // Relaxed: any number will do, and each is handed out once.
        static MINE: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    // A thread that is being torn down may have lost its number.
    MINE.try_with(|number| *number).unwrap_or(0)
}

#[cfg(test)]
#[cfg(not(runtime_loom))]
mod tests;
