//! One run of a prepared graph, before it is submitted.

use std::fmt;
use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytemuck::NoUninit;
use runtime_sync::unmodelled::Arc;
use smallvec::SmallVec;

use super::builder::InputId;
use super::prepare::Shared;
use crate::completion::Completion;
use crate::domain::Domain;
use crate::error::{Busy, Error, Invalid, Result};
use crate::lane::line::SubmissionKey;
use crate::lane::scheduler::{Place, SLICE};
use crate::lane::signal::Signal;
use crate::lane::stage;
use crate::lane::turns::{Entrant, Turn, TurnId};
use crate::run::Run;

/// One run of a prepared graph: a claimed slot that takes its inputs. Dropping
/// it gives the slot back.
///
/// Each `submit` variant refuses with [`Busy::RunSlots`] when every slot is in
/// flight, or held by a [`Completion`] that can still read its outputs.
pub struct RunBuilder<'a> {
    graph: &'a Shared,
    claimed: Option<Claimed>,
    given: SmallVec<[bool; 8]>,
    parameters: SmallVec<[u8; 256]>,
}

/// A slot with one handle that the builder owns.
struct Claimed {
    run: Arc<Run>,
}

impl Claimed {
    /// Hands the handle on to whoever takes the run.
    fn into_run(self) -> Arc<Run> {
        let run = self.run.clone();
        // The completion drops its own handle; this one is taken over from here.
        run.add_handle();
        run
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        self.run.drop_handle();
    }
}

impl<'a> RunBuilder<'a> {
    pub(super) fn claim(graph: &'a Shared) -> Self {
        let claim = || {
            graph
                .slots
                .iter()
                .find(|slot| slot.claim())
                .map(|slot| Claimed { run: slot.clone() })
        };
        let claimed = claim().or_else(|| {
            // What the device has finished may not be published yet.
            graph.runtime.domain().scheduler.drive();
            claim()
        });
        Self {
            graph,
            claimed,
            given: SmallVec::from_elem(false, graph.inputs.len()),
            parameters: SmallVec::from_elem(0, graph.parameter_bytes()),
        }
    }

    /// Copies an input's bytes; they are the run's own when this returns.
    ///
    /// # Errors
    /// [`Busy::RunSlots`], an input of another graph, or a wrong length.
    pub fn input(mut self, input: InputId, bytes: &[u8]) -> Result<Self> {
        if input.graph != self.graph.id {
            return Err(Invalid::ForeignGraph { what: "input" }.into());
        }
        let layout = self.graph.inputs[input.index];
        if bytes.len() as u64 != layout.bytes {
            return Err(Invalid::LengthMismatch {
                left_bytes: bytes.len() as u64,
                right_bytes: layout.bytes,
            }
            .into());
        }
        let run = &self.slot()?.run;
        let seen = match &run.staging.upload {
            Some(staging) => staging.host_write(layout.offset, bytes)?,
            None => false,
        };
        if !seen {
            return Err(Invalid::MissingInput {
                index: u32::try_from(input.index).unwrap_or(u32::MAX),
            }
            .into());
        }
        self.given[input.index] = true;
        Ok(self)
    }

    /// Sets a parameter for this run, in every kernel of the graph that has one of
    /// this name and length. Parameters that are not set are zero.
    ///
    /// # Errors
    /// [`Invalid::NoSuchParameter`].
    pub fn param<T: NoUninit>(mut self, name: &str, value: T) -> Result<Self> {
        let bytes = bytemuck::bytes_of(&value);
        let mut found = false;
        for parameter in &self.graph.parameters {
            let first = usize::try_from(parameter.offset).unwrap_or(usize::MAX);
            let place = first..first.saturating_add(bytes.len());
            if *parameter.name == *name
                && parameter.bytes == bytes.len() as u64
                && let Some(target) = self.parameters.get_mut(place)
            {
                target.copy_from_slice(bytes);
                found = true;
            }
        }
        if found {
            return Ok(self);
        }
        Err(Invalid::NoSuchParameter {
            name: name.into(),
            bytes: bytes.len() as u64,
        }
        .into())
    }

    /// Submits the run, or refuses at once. Never passes a waiting submission.
    ///
    /// # Errors
    /// [`Busy::Capacity`] with every place taken, [`Busy::RunSlots`], a missing
    /// input, a quarantined or revoked buffer, a closed or lost runtime.
    pub fn submit(self) -> Result<Completion> {
        self.submit_after(&[])
    }

    /// As [`submit`](Self::submit), behind other submissions: if one of them does
    /// not succeed, this one does not run and ends
    /// [`Error::DependencyFailed`].
    ///
    /// # Errors
    /// As [`submit`](Self::submit); a completion of another runtime.
    pub fn submit_after(mut self, producers: &[&Completion]) -> Result<Completion> {
        let domain = self.graph.runtime.domain().clone();
        let mut follows = Vec::with_capacity(producers.len());
        for producer in producers {
            if !Arc::ptr_eq(producer.domain(), &domain) {
                return Err(Invalid::ForeignRuntime { what: "completion" }.into());
            }
            follows.push(producer.producer());
        }
        self.enter(Place::Now, &follows)
    }

    /// As [`submit`](Self::submit), but waits in turn for a place, for at most
    /// `limit`. The async twin is [`submit_async`](Self::submit_async).
    ///
    /// # Errors
    /// As [`submit`](Self::submit), with [`Error::TimedOut`] in place of
    /// [`Busy::Capacity`]; [`Busy::Reentry`] inside a native stage of the runtime.
    pub fn submit_timeout(mut self, limit: Duration) -> Result<Completion> {
        self.check()?;
        let domain = self.graph.runtime.domain().clone();
        refuse_own_stage(&domain)?;
        let start = Instant::now();
        let signal = Arc::new(Signal::new());
        let mut waiting = Waiting::new(&domain, &signal)?;
        loop {
            domain.scheduler.drive();
            if waiting.promised()? {
                waiting.turn = None;
                return self.enter(Place::Taken, &[]);
            }
            let left = limit.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(Error::TimedOut {
                    waited: start.elapsed(),
                    lane_held_by: domain.scheduler.lock().holder.clone(),
                });
            }
            signal.wait(Some(left.min(SLICE)));
        }
    }

    /// As [`submit`](Self::submit), but waits in turn for a place.
    ///
    /// `Send`, and cancel-safe: dropping the future leaves the line and gives the
    /// slot back; nothing was submitted.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), without [`Busy::Capacity`].
    pub async fn submit_async(mut self) -> Result<Completion> {
        self.check()?;
        let domain = self.graph.runtime.domain().clone();
        refuse_own_stage(&domain)?;
        let signal = Arc::new(Signal::new());
        let mut waiting = Waiting::new(&domain, &signal)?;
        poll_fn(|context| {
            signal.poll(context);
            domain.scheduler.drive();
            match waiting.promised() {
                Ok(true) => Poll::Ready(Ok(())),
                Ok(false) => Poll::Pending,
                Err(error) => Poll::Ready(Err(error)),
            }
        })
        .await?;
        waiting.turn = None;
        drop(waiting);
        self.enter(Place::Taken, &[])
    }

    fn slot(&self) -> Result<&Claimed> {
        if let Some(claimed) = &self.claimed {
            return Ok(claimed);
        }
        // A lost runtime keeps its slots for good; that is what to say then.
        self.graph.runtime.check_usable()?;
        let domain = self.graph.runtime.domain();
        domain.scheduler.lock().statistics.busy_run_slots += 1;
        let limit = u32::try_from(self.graph.slots.len()).unwrap_or(u32::MAX);
        Err(Error::Busy(Busy::RunSlots { limit }))
    }

    /// Everything that can refuse the run before it asks for a place.
    fn check(&self) -> Result<()> {
        self.graph.runtime.check_usable()?;
        let run = &self.slot()?.run;
        for buffer in &run.buffers {
            buffer.check()?;
        }
        match self.given.iter().position(|given| !given) {
            Some(index) => Err(Invalid::MissingInput {
                index: u32::try_from(index).unwrap_or(u32::MAX),
            }
            .into()),
            None => Ok(()),
        }
    }

    /// The slot is this run's alone, so nothing reads its parameters yet.
    fn write_parameters(&self) -> Result<()> {
        if let Some(staging) = &self.slot()?.run.staging.parameters {
            staging.host_write(0, &self.parameters)?;
        }
        Ok(())
    }

    fn enter(&mut self, place: Place, follows: &[(SubmissionKey, Arc<Run>)]) -> Result<Completion> {
        let domain = self.graph.runtime.domain().clone();
        let ready = self.check().and_then(|()| self.write_parameters());
        let entered = ready.and_then(|()| {
            let tenure = self.graph.runtime.tenure();
            tenure.map_or(Ok(()), |tenure| tenure.enter())
        });
        if let Err(error) = entered {
            if place == Place::Taken {
                domain.scheduler.lock().line.return_place();
                domain.scheduler.work();
            }
            return Err(error);
        }
        let run = self.slot()?.run.clone();
        match domain.scheduler.submit(&run, place, follows) {
            Ok(key) => {
                let run = match self.claimed.take() {
                    Some(claimed) => claimed.into_run(),
                    None => run,
                };
                Ok(Completion::new(domain, run, key, self.graph.id))
            }
            Err(error) => {
                if let Some(tenure) = self.graph.runtime.tenure() {
                    tenure.leave(true);
                }
                Err(error)
            }
        }
    }
}

impl fmt::Debug for RunBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunBuilder")
            .field("graph", &self.graph.label)
            .field("has_slot", &self.claimed.is_some())
            .finish_non_exhaustive()
    }
}

/// A place cannot come free while the compute lane waits for the waiter itself.
fn refuse_own_stage(domain: &Domain) -> Result<()> {
    if !stage::inside(domain.id) {
        return Ok(());
    }
    domain.scheduler.lock().statistics.busy_reentry += 1;
    Err(Error::Busy(Busy::Reentry))
}

/// A turn that is left when its owner gives up.
struct Waiting<'a> {
    domain: &'a Domain,
    turn: Option<TurnId>,
}

impl<'a> Waiting<'a> {
    fn new(domain: &'a Domain, signal: &Arc<Signal>) -> Result<Self> {
        let mut state = domain.scheduler.lock();
        state.check_open()?;
        let turn = state.line.wait(Entrant::Submission, signal.clone());
        drop(state);
        domain.scheduler.work();
        Ok(Self {
            domain,
            turn: Some(turn),
        })
    }

    /// True once, when a place is there; from then on it is the caller's.
    fn promised(&mut self) -> Result<bool> {
        let Some(turn) = self.turn else {
            return Ok(true);
        };
        let mut state = self.domain.scheduler.lock();
        match state.line.turn(turn) {
            Turn::Promised => {
                state.line.take_promise(turn);
                self.turn = None;
                Ok(true)
            }
            Turn::Gone => {
                state.check_open()?;
                Err(Error::Closed)
            }
            Turn::AwaitsPlace | Turn::AwaitsLane | Turn::Active => Ok(false),
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(turn) = self.turn else {
            return;
        };
        let left = self.domain.scheduler.lock().line.leave(turn);
        drop(left);
        self.domain.scheduler.drive();
    }
}
