//! Running accepted submissions on the calling thread.

use std::panic::{AssertUnwindSafe, catch_unwind};

use runtime_sync::MutexGuard;
use runtime_sync::unmodelled::Arc;

use super::Shared;
use super::kernel::{HostBinding, HostInvocation, KernelBody};
use super::misuse::Misuse;
use super::region::{Bound, Place, Step};
use super::state::State;

/// Runs what may run, queue by queue, until nothing more may.
///
/// The lock is given up around host kernels only. Another thread may meanwhile
/// run another queue, never this one.
pub(super) fn drive<'a>(
    shared: &'a Shared,
    mut state: MutexGuard<'a, State>,
) -> MutexGuard<'a, State> {
    while !state.lost {
        let Some(body) = state.timelines.start_next() else {
            break;
        };
        for step in &body.steps {
            state = run(shared, state, step);
        }
        // Work that a loss overtakes never reaches its point.
        if !state.lost {
            state.finish(body.queue);
        }
        shared.changed.notify_all();
    }
    state
}

fn run<'a>(
    shared: &'a Shared,
    mut state: MutexGuard<'a, State>,
    step: &Step,
) -> MutexGuard<'a, State> {
    match step {
        Step::Fill { target, word } => {
            let length = target.range.end - target.range.start;
            let words = usize::try_from(length / 4).unwrap_or(0);
            write(
                &mut state,
                target.memory,
                target.range.start,
                &word.to_ne_bytes().repeat(words),
            );
        }
        Step::Copy { source, target } => {
            let bytes = read(&mut state, source);
            write(&mut state, target.memory, target.range.start, &bytes);
        }
        Step::Dispatch {
            kernel,
            bindings,
            groups,
        } => return dispatch(shared, state, kernel, bindings, *groups),
        Step::Barrier => {}
    }
    state
}

fn dispatch<'a>(
    shared: &'a Shared,
    mut state: MutexGuard<'a, State>,
    kernel: &Arc<KernelBody>,
    bindings: &[Bound],
    groups: [u32; 3],
) -> MutexGuard<'a, State> {
    let mut copies: Vec<_> = bindings
        .iter()
        .map(|bound| HostBinding::new(bound.slot, bound.kind, read(&mut state, &bound.place)))
        .collect();
    drop(state);

    let mut invocation = HostInvocation {
        kernel,
        groups,
        bindings: &mut copies,
        misuse: None,
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| (kernel.run)(&mut invocation)));
    // A refused binding explains a panic that follows it.
    let misuse = invocation.misuse.take().or_else(|| {
        outcome.err().map(|_| Misuse::HostKernelPanicked {
            entry: kernel.entry.clone(),
        })
    });

    let mut state = shared.state.lock();
    if let Some(misuse) = misuse {
        state.caught(misuse);
        state.lost = true;
        return state;
    }
    for (bound, copy) in bindings.iter().zip(&copies) {
        for (offset, bytes) in copy.changes().into_iter().filter(|_| copy.is_written()) {
            let start = bound.place.range.start + offset as u64;
            write(&mut state, bound.place.memory, start, bytes);
        }
    }
    state
}

/// What the device sees; nothing of a memory that was freed too early, which
/// its drop has already reported.
fn read(state: &mut State, place: &Place) -> Vec<u8> {
    let memory = state.memory(place.memory);
    memory.map_or_else(|_| Vec::new(), |memory| memory.device_read(&place.range))
}

fn write(state: &mut State, memory: u64, offset: u64, bytes: &[u8]) {
    if let Ok(memory) = state.memory(memory) {
        memory.device_write(offset, bytes);
    }
}
