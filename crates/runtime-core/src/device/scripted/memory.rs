//! Buffers, each with an image for the device and, where the host sees it, one
//! for the host.

use std::any::Any;
use std::ops::Range;

use runtime_sync::unmodelled::Arc;

use super::Shared;
use super::host_image::HostImage;
use super::misuse::Misuse;
use super::ranges::RangeSet;
use super::script::Call;
use super::state::State;
use crate::device::{DeviceBuffer, DeviceFault, HostSpan};

/// What bytes hold that nobody wrote, in the device's image.
const UNWRITTEN_ON_DEVICE: u8 = 0xDD;
/// What bytes hold that nobody wrote, in the host's image.
const UNWRITTEN_ON_HOST: u8 = 0xCD;
/// What the host reads where the device wrote, until it invalidates.
const SCRAMBLED: u8 = 0xE5;

/// A buffer's bytes, without its handle.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) label: Arc<str>,
    pub(super) heap: usize,
    device: Vec<u8>,
    host: Option<HostSide>,
}

struct HostSide {
    image: Arc<HostImage>,
    coherent: bool,
    /// The host's image as of its last flush or invalidate.
    synced: Vec<u8>,
    /// Bytes that the device wrote and the host has not invalidated.
    stale: RangeSet,
    /// Those of them that had no barrier to the host.
    unavailable: RangeSet,
}

impl std::fmt::Debug for HostSide {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostSide")
            .field("coherent", &self.coherent)
            .finish_non_exhaustive()
    }
}

/// How the host sees a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    Hidden,
    Coherent,
    Separate,
}

impl Memory {
    /// Nothing when the host has no memory.
    pub(super) fn new(label: &str, heap: usize, bytes: usize, sight: Sight) -> Option<Self> {
        let filled = |filler| {
            let mut image = Vec::new();
            image.try_reserve_exact(bytes).ok()?;
            image.resize(bytes, filler);
            Some(image)
        };
        let host = match sight {
            Sight::Hidden => None,
            Sight::Coherent | Sight::Separate => Some(HostSide {
                image: Arc::new(HostImage::new(bytes, UNWRITTEN_ON_HOST)?),
                coherent: sight == Sight::Coherent,
                synced: filled(UNWRITTEN_ON_HOST)?,
                stale: RangeSet::default(),
                unavailable: RangeSet::default(),
            }),
        };
        Some(Self {
            label: label.into(),
            heap,
            device: filled(UNWRITTEN_ON_DEVICE)?,
            host,
        })
    }

    pub(super) fn host(&self) -> Option<Arc<HostImage>> {
        self.host.as_ref().map(|host| host.image.clone())
    }

    pub(super) fn bytes(&self) -> u64 {
        self.device.len() as u64
    }

    /// What the device sees in `range`.
    pub(super) fn device_read(&self, range: &Range<u64>) -> Vec<u8> {
        let range = clamp(range, self.device.len());
        let mut bytes = self.device.get(range.clone()).unwrap_or_default().to_vec();
        if let Some(host) = self.host.as_ref().filter(|host| host.coherent) {
            host.image.read(range, &mut bytes);
        }
        bytes
    }

    /// The device writes at `offset`; what leaves the buffer is dropped.
    pub(super) fn device_write(&mut self, offset: u64, bytes: &[u8]) {
        let wanted = offset..offset.saturating_add(bytes.len() as u64);
        let range = clamp(&wanted, self.device.len());
        let bytes = bytes.get(..range.len()).unwrap_or_default();
        if let Some(target) = self.device.get_mut(range.clone()) {
            target.copy_from_slice(bytes);
        }
        let Some(host) = &mut self.host else { return };
        host.unavailable.insert(wanted.clone());
        if host.coherent {
            host.image.write(range, bytes);
        } else {
            host.image.fill(range.clone(), SCRAMBLED);
            if let Some(synced) = host.synced.get_mut(range) {
                synced.fill(SCRAMBLED);
            }
            host.stale.insert(wanted);
        }
    }

    /// A barrier makes device writes of `range` available to the host.
    pub(super) fn barrier_to_host(&mut self, range: &Range<u64>) {
        if let Some(host) = &mut self.host {
            host.unavailable.remove(range);
        }
    }

    /// The first byte of `range` that the host wrote and did not flush.
    pub(super) fn first_unflushed(&self, range: &Range<u64>) -> Option<u64> {
        let host = self.host.as_ref().filter(|host| !host.coherent)?;
        let range = clamp(range, host.synced.len());
        let mut now = vec![0; range.len()];
        host.image.read(range.clone(), &mut now);
        let synced = host.synced.get(range.clone())?;
        let place = now.iter().zip(synced).position(|(one, two)| one != two)?;
        Some((range.start + place) as u64)
    }

    fn flush(&mut self, exact: &Range<u64>, widened: &Range<u64>) -> Result<(), Misuse> {
        let host = self.host.as_mut().ok_or(Misuse::NotHostVisible)?;
        if host.coherent {
            host.unavailable.remove(exact);
            return Ok(());
        }
        let sides = [widened.start..exact.start, exact.end..widened.end];
        if let Some(offset) = sides
            .into_iter()
            .find_map(|side| host.stale.first_within(side))
        {
            return Err(Misuse::FlushOverDeviceWrites { offset });
        }
        host.stale.remove(exact);
        host.unavailable.remove(exact);
        let range = clamp(widened, self.device.len());
        if let Some(synced) = host.synced.get_mut(range.clone()) {
            host.image.read(range.clone(), synced);
            if let Some(device) = self.device.get_mut(range) {
                device.copy_from_slice(synced);
            }
        }
        Ok(())
    }

    fn invalidate(&mut self, exact: &Range<u64>, widened: &Range<u64>) -> Result<(), Misuse> {
        let unflushed = self.first_unflushed(widened);
        let host = self.host.as_mut().ok_or(Misuse::NotHostVisible)?;
        if let Some(offset) = host.unavailable.first_within(exact.clone()) {
            return Err(Misuse::MissingHostBarrier { offset });
        }
        if let Some(offset) = unflushed {
            return Err(Misuse::InvalidateOverHostWrites { offset });
        }
        // Only stale bytes change, so that a neighbour in the same atom may be
        // read by others meanwhile, as real hardware allows.
        let stale: Vec<_> = host.stale.within(widened.clone()).collect();
        for part in stale {
            let bytes = clamp(&part, self.device.len());
            let (Some(device), Some(synced)) = (
                self.device.get(bytes.clone()),
                host.synced.get_mut(bytes.clone()),
            ) else {
                continue;
            };
            synced.copy_from_slice(device);
            host.image.write(bytes, device);
            host.stale.remove(&part);
        }
        Ok(())
    }
}

fn clamp(range: &Range<u64>, bytes: usize) -> Range<usize> {
    let fit = |offset: u64| usize::try_from(offset).map_or(bytes, |offset| offset.min(bytes));
    fit(range.start)..fit(range.end).max(fit(range.start))
}

pub(super) struct ScriptedBuffer {
    pub(super) shared: Arc<Shared>,
    pub(super) id: u64,
    pub(super) bytes: u64,
    pub(super) host: Option<Arc<HostImage>>,
}

impl ScriptedBuffer {
    /// Checks a host operation and runs it with its exact and widened range.
    fn host_operation(
        &self,
        call: Call,
        exact: Range<u64>,
        operation: impl FnOnce(&mut State, u64, &Range<u64>, &Range<u64>) -> Result<(), Misuse>,
    ) -> Result<(), DeviceFault> {
        let mut state = self.shared.state.lock();
        self.shared.enter(&mut state, call)?;
        if exact.is_empty() {
            return Ok(());
        }
        if exact.end > self.bytes {
            return Err(state.caught(Misuse::SpanOutside {
                offset: exact.start,
                bytes: exact.end - exact.start,
                buffer_bytes: self.bytes,
            }));
        }
        let atom = self.shared.info.limits.atom_bytes.max(1);
        let widened = exact.start / atom * atom
            ..exact
                .end
                .checked_next_multiple_of(atom)
                .map_or(self.bytes, |end| end.min(self.bytes));
        operation(&mut state, self.id, &exact, &widened).map_err(|misuse| state.caught(misuse))
    }
}

impl DeviceBuffer for ScriptedBuffer {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn host(&self) -> Option<HostSpan> {
        self.host.as_ref().map(|image| image.span())
    }

    fn flush(&self, offset: u64, bytes: u64) -> Result<(), DeviceFault> {
        let exact = offset..offset.saturating_add(bytes);
        self.host_operation(Call::Flush, exact, |state, id, exact, widened| {
            // What the exact range conflicts with, the host has overwritten; in
            // the widened range, only later device writes would be lost.
            if let Some((region, offset)) = state
                .unreached_use(id, exact, true)
                .or_else(|| state.unreached_use(id, widened, false))
            {
                return Err(Misuse::FlushWhilePending { region, offset });
            }
            state.memory(id)?.flush(exact, widened)
        })
    }

    fn invalidate(&self, offset: u64, bytes: u64) -> Result<(), DeviceFault> {
        let exact = offset..offset.saturating_add(bytes);
        self.host_operation(Call::Invalidate, exact, |state, id, exact, widened| {
            if let Some((region, offset)) = state.unreached_use(id, exact, false) {
                return Err(Misuse::InvalidateWhilePending { region, offset });
            }
            state.memory(id)?.invalidate(exact, widened)
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl std::fmt::Debug for ScriptedBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedBuffer")
            .field("id", &self.id)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Drop for ScriptedBuffer {
    fn drop(&mut self) {
        self.shared.state.lock().free(self.id);
    }
}
