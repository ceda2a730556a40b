//! Closing: open, closing, GPU-quiescent, observation-quiescent.
//!
//! Signalling close is one step on the gate. Everything after it happens on the
//! close thread, which exists before any device resource does: it drains the
//! line, waits for the GPU scope to empty, takes the devices down, waits for the
//! observation scope to empty, and leaves one report that all waiters share.

use super::Shared;
use crate::admission::Moves;
use crate::callout;
use crate::error::{Error, Result};
use runtime_sync::unmodelled::{AtomicBool, Ordering};
use runtime_sync::{Arc, Condvar, Mutex};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The account of a backend's close; made once, shared by all who wait.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CloseReport {
    /// From the signal to the end of the GPU scope.
    pub gpu_quiescent_after: Duration,
    /// From the signal to the end of the observation scope.
    pub elapsed: Duration,
    /// Attempts that ever began; each has its report.
    pub attempts_begun: u64,
    /// What became of each device.
    pub devices: Vec<DeviceClose>,
}

impl CloseReport {
    /// True if every device's work was proven to be over.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.devices.iter().all(|device| !device.is_unproven())
    }
}

/// What became of one device at close.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeviceClose {
    /// The device.
    pub ordinal: u32,
    /// Its last generation.
    pub generation: u64,
    /// Bytes that stay charged, since nothing proves that their work is over.
    pub quarantined_bytes: u64,
    /// Bytes that buffers hold beyond their attempts.
    pub retained_bytes: u64,
}

impl DeviceClose {
    /// True if some work was not proven to be over: the device's owner must not
    /// be destroyed for that.
    #[must_use]
    pub fn is_unproven(&self) -> bool {
        self.quarantined_bytes > 0
    }
}

/// How far a backend has closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CloseProgress {
    /// Close has been signalled.
    pub is_closing: bool,
    /// The devices are free: another backend may use them.
    pub is_gpu_quiescent: bool,
    /// Every report is delivered, and close is complete.
    pub is_observation_quiescent: bool,
}

/// Where waiters for close meet.
#[derive(Debug)]
pub(super) struct CloseDesk {
    state: Mutex<State>,
    changed: Condvar,
    pub(super) cancels_running: AtomicBool,
}

#[derive(Debug)]
struct State {
    devices: Option<Vec<DeviceClose>>,
    report: Option<Arc<CloseReport>>,
    next_key: u64,
    waits: BTreeMap<u64, Wait>,
}

/// One future that waits for close.
#[derive(Debug)]
struct Wait {
    deadline_ns: u64,
    waker: Option<Waker>,
    is_over: bool,
}

impl CloseDesk {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                devices: None,
                report: None,
                next_key: 0,
                waits: BTreeMap::new(),
            }),
            changed: Condvar::new(),
            cancels_running: AtomicBool::new(false),
        }
    }

    pub(super) fn report(&self) -> Option<Arc<CloseReport>> {
        self.state.lock().report.clone()
    }

    pub(super) fn is_gpu_quiescent(&self) -> bool {
        self.state.lock().devices.is_some()
    }

    /// The soonest deadline of a waiting future.
    pub(super) fn next_deadline_ns(&self) -> Option<u64> {
        let state = self.state.lock();
        let waits = state.waits.values().filter(|wait| !wait.is_over);
        waits.map(|wait| wait.deadline_ns).min()
    }

    /// Ends the waits whose deadline has come; their wakers come back.
    #[must_use]
    pub(super) fn expire(&self, now_ns: u64) -> Vec<Waker> {
        let mut state = self.state.lock();
        let due = state
            .waits
            .values_mut()
            .filter(|wait| !wait.is_over && wait.deadline_ns <= now_ns);
        due.filter_map(|wait| {
            wait.is_over = true;
            wait.waker.take()
        })
        .collect()
    }

    fn gpu_quiescent(&self, devices: Vec<DeviceClose>) {
        self.state.lock().devices = Some(devices);
        self.changed.notify_all();
    }

    #[must_use]
    fn finish(&self, report: Arc<CloseReport>) -> Vec<Waker> {
        let mut state = self.state.lock();
        state.report = Some(report);
        self.changed.notify_all();
        let waits = state.waits.values_mut();
        waits.filter_map(|wait| wait.waker.take()).collect()
    }

    /// Waits in real time.
    fn wait(&self, limit: Duration) -> Option<Arc<CloseReport>> {
        let until = Instant::now().checked_add(limit);
        let mut state = self.state.lock();
        loop {
            if let Some(report) = &state.report {
                return Some(report.clone());
            }
            let left = match until {
                Some(until) => until.saturating_duration_since(Instant::now()),
                // Beyond what the machine's clock can count.
                None => Duration::MAX,
            };
            if left.is_zero() {
                return None;
            }
            state = self.changed.wait_timeout(state, left).0;
        }
    }
}

impl Shared {
    /// The body of the close thread.
    pub(super) fn run_close(&self) {
        self.gate.wait_closing();
        let began_ns = self.clock.now_ns();
        loop {
            let cancels = self.close_desk.cancels_running.load(Ordering::Acquire);
            let mut moves = Moves::new();
            self.book.lock().close(cancels, began_ns, &mut moves);
            self.carry_out(moves);
            // Woken too early, or told meanwhile to cancel what runs: look again.
            if self.gate.park_unless_gpu_quiescent() {
                break;
            }
        }
        let devices = self.take_down();
        let quiescent_ns = self.clock.now_ns();
        self.close_desk.gpu_quiescent(devices.clone());
        self.gate.wait_observation_quiescent();
        let ended_ns = self.clock.now_ns();
        let elapsed = Duration::from_nanos(ended_ns.saturating_sub(began_ns));
        self.recorder.closed(elapsed);
        let report = CloseReport {
            gpu_quiescent_after: Duration::from_nanos(quiescent_ns.saturating_sub(began_ns)),
            elapsed,
            attempts_begun: self.abandoned.counts().attempts_begun,
            devices,
        };
        let is_clean = report.is_clean();
        callout::run(|| {
            tracing::info!(backend = %self.identity, ?elapsed, is_clean, "backend closed");
        });
        let wakers = self.close_desk.finish(Arc::new(report));
        callout::wake_all(wakers);
        self.delivery.stop();
        self.stop_timer();
        self.proofs.stop();
    }

    /// What the devices hold at the end of the GPU scope.
    fn take_down(&self) -> Vec<DeviceClose> {
        for device in &self.devices {
            device.detach();
        }
        let book = self.book.lock();
        book.accounts()
            .map(|account| DeviceClose {
                ordinal: account.ordinal,
                generation: account.generation,
                quarantined_bytes: account.quarantined_bytes,
                retained_bytes: account.retained_bytes,
            })
            .collect()
    }

    pub(super) fn close_progress(&self) -> CloseProgress {
        // The later steps are read first, so none is seen without the earlier.
        let is_observation_quiescent = self.close_desk.report().is_some();
        let is_gpu_quiescent = self.close_desk.is_gpu_quiescent();
        CloseProgress {
            is_closing: self.gate.is_closing(),
            is_gpu_quiescent,
            is_observation_quiescent,
        }
    }

    pub(super) fn wait_closed(&self, limit: Duration) -> Result<Arc<CloseReport>> {
        if callout::is_inside() {
            return Err(Error::WaitInsideCallback);
        }
        self.close_desk
            .wait(limit)
            .ok_or_else(|| self.close_timeout())
    }

    fn close_timeout(&self) -> Error {
        Error::CloseTimeout {
            gpu_open: !self.close_desk.is_gpu_quiescent(),
            observation_open: self.gate.snapshot().observation_permits > 0,
        }
    }
}

/// A future of a backend's close, for any executor.
///
/// Dropping it changes nothing about the close.
#[must_use = "close goes on by itself; this future waits for it"]
pub struct Closed {
    shared: runtime_sync::unmodelled::Arc<Shared>,
    limit: Duration,
    key: Option<u64>,
}

impl Closed {
    pub(super) fn new(shared: runtime_sync::unmodelled::Arc<Shared>, limit: Duration) -> Self {
        Self {
            shared,
            limit,
            key: None,
        }
    }

    /// Registers the wait at the first poll; the timer then has a deadline more.
    fn register(&self, waker: Waker) -> u64 {
        let now_ns = self.shared.clock.now_ns();
        let wait = Wait {
            deadline_ns: now_ns.saturating_add(crate::clock::whole_ns(self.limit)),
            waker: Some(waker),
            is_over: false,
        };
        let mut state = self.shared.close_desk.state.lock();
        state.next_key += 1;
        let key = state.next_key;
        state.waits.insert(key, wait);
        drop(state);
        self.shared.bell.ring();
        key
    }

    /// The report, or the end of this wait; `None` while both are open.
    fn look(&self, key: u64, waker: Waker) -> (Option<Result<Arc<CloseReport>>>, Option<Waker>) {
        let mut state = self.shared.close_desk.state.lock();
        if let Some(report) = &state.report {
            return (Some(Ok(report.clone())), Some(waker));
        }
        let Some(wait) = state.waits.get_mut(&key) else {
            return (None, Some(waker));
        };
        if wait.is_over {
            drop(state);
            return (Some(Err(self.shared.close_timeout())), Some(waker));
        }
        (None, wait.waker.replace(waker))
    }
}

impl Future for Closed {
    type Output = Result<Arc<CloseReport>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if callout::is_inside() {
            return Poll::Ready(Err(Error::WaitInsideCallback));
        }
        let waker = context.waker().clone();
        let key = match self.key {
            Some(key) => key,
            None => {
                let key = self.register(waker.clone());
                self.key = Some(key);
                key
            }
        };
        let (found, old) = self.look(key, waker);
        callout::run(|| drop(old));
        found.map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let wait = self.shared.close_desk.state.lock().waits.remove(&key);
            callout::run(|| drop(wait));
        }
    }
}

impl std::fmt::Debug for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Closed")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
