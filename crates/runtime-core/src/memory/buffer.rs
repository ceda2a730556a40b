//! Buffers and the ranges of them that work names.
//!
//! A buffer is freed when its last handle is gone, and handles include those
//! that recorded regions hold: nothing that the device may still touch is freed
//! by a drop. Its charge goes after its memory.

use std::fmt;
use std::ops::Range;
use std::ptr;

use runtime_sync::unmodelled::{Arc, AtomicU64, OnceLock, Ordering};

use super::budget::Charge;
use crate::device::{DeviceBuffer, HostSpan, MemoryPlacement, Span};
use crate::domain::Domain;
use crate::error::{Error, Invalid, Result};
use crate::quarantine::{Cause, QuarantineId};
use crate::revoke::Tenure;

static LAST_ID: AtomicU64 = AtomicU64::new(0);

/// Zero-filled memory of one runtime. Clones name the same bytes.
#[derive(Clone)]
pub struct Buffer {
    shared: Arc<Shared>,
}

struct Shared {
    id: u64,
    // The memory goes before its charges, and all before the domain.
    native: Arc<dyn DeviceBuffer>,
    _charges: Vec<Charge>,
    bytes: u64,
    placement: MemoryPlacement,
    label: Arc<str>,
    tenure: Option<Arc<Tenure>>,
    quarantine: OnceLock<(QuarantineId, Cause)>,
    domain: Arc<Domain>,
}

impl Buffer {
    pub(crate) fn new(
        domain: Arc<Domain>,
        native: Arc<dyn DeviceBuffer>,
        charges: Vec<Charge>,
        bytes: u64,
        placement: MemoryPlacement,
        label: Arc<str>,
        tenure: Option<Arc<Tenure>>,
    ) -> Self {
        // Relaxed: an identity needs to be unique, and orders nothing.
        let id = LAST_ID.fetch_add(1, Ordering::Relaxed) + 1;
        Self {
            shared: Arc::new(Shared {
                id,
                native,
                _charges: charges,
                bytes,
                placement,
                label,
                tenure,
                quarantine: OnceLock::new(),
                domain,
            }),
        }
    }

    /// Its length in bytes, as asked for.
    pub fn bytes(&self) -> u64 {
        self.shared.bytes
    }

    /// Where its bytes live.
    pub fn placement(&self) -> MemoryPlacement {
        self.shared.placement
    }

    /// Its label.
    pub fn label(&self) -> &str {
        &self.shared.label
    }

    /// All of it.
    pub fn view(&self) -> View {
        View {
            buffer: self.clone(),
            offset: 0,
            bytes: self.shared.bytes,
        }
    }

    pub(crate) fn domain(&self) -> &Arc<Domain> {
        &self.shared.domain
    }

    /// Refuses what is quarantined or revoked.
    pub(crate) fn check(&self) -> Result<()> {
        if let Some((id, cause)) = self.shared.quarantine.get() {
            return Err(Error::DeviceLost {
                quarantine: Some(*id),
                cause: cause.clone(),
            });
        }
        match &self.shared.tenure {
            Some(tenure) => tenure.check(),
            None => Ok(()),
        }
    }

    /// From now on every alias answers that its bytes are in quarantine.
    pub(crate) fn quarantine(&self, id: QuarantineId, cause: &Cause) {
        let _ = self.shared.quarantine.set((id, cause.clone()));
    }

    pub(crate) fn span(&self, offset: u64, bytes: u64) -> Span {
        Span {
            buffer: self.shared.native.clone(),
            offset,
            bytes,
        }
    }

    /// The host's bytes of a range, where the host sees this buffer.
    fn host_range(&self, offset: u64, bytes: usize) -> Option<HostSpan> {
        let host = self.shared.native.host()?;
        let first = usize::try_from(offset).ok()?;
        if first.checked_add(bytes)? > host.bytes {
            return None;
        }
        // SAFETY: S3: `first` is at most the length of the span.
        #[expect(unsafe_code, reason = "the host reaches device memory by address")]
        let start = unsafe { host.start.add(first) };
        Some(HostSpan { start, bytes })
    }

    /// Copies `source` to the host's bytes at `offset` and flushes them. False
    /// when the host does not see this buffer.
    ///
    /// The caller makes sure that no work and no other thread touches the range.
    pub(crate) fn host_write(&self, offset: u64, source: &[u8]) -> Result<bool> {
        let Some(range) = self.host_range(offset, source.len()) else {
            return Ok(false);
        };
        // SAFETY: S3: the range lies in the buffer's host span, which lives as
        // long as the buffer; `source` is a Rust slice and cannot be part of it.
        #[expect(unsafe_code, reason = "the host reaches device memory by address")]
        unsafe {
            ptr::copy_nonoverlapping(source.as_ptr(), range.start.as_ptr(), source.len());
        }
        self.shared.native.flush(offset, source.len() as u64)?;
        Ok(true)
    }

    /// Zeroes the host's bytes; false when the host does not see this buffer.
    /// Only for a buffer that nothing has used yet.
    pub(crate) fn host_zero(&self) -> Result<bool> {
        let Some(host) = self.shared.native.host() else {
            return Ok(false);
        };
        // SAFETY: S3: the span is the whole buffer, and nobody else has it yet.
        #[expect(unsafe_code, reason = "the host reaches device memory by address")]
        unsafe {
            ptr::write_bytes(host.start.as_ptr(), 0, host.bytes);
        }
        self.shared.native.flush(0, self.shared.bytes)?;
        Ok(true)
    }

    /// Shows the host's bytes of a range, after making device writes visible.
    ///
    /// The caller makes sure that nothing writes the range meanwhile. `None`
    /// when the host does not see this buffer.
    pub(crate) fn host_read<R>(
        &self,
        offset: u64,
        bytes: usize,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        let Some(range) = self.host_range(offset, bytes) else {
            return Ok(None);
        };
        self.shared.native.invalidate(offset, bytes as u64)?;
        // SAFETY: S3: the range lies in the buffer's host span, was initialised
        // when the buffer was zeroed, and the caller keeps writers away.
        #[expect(unsafe_code, reason = "the host reaches device memory by address")]
        let slice = unsafe { std::slice::from_raw_parts(range.start.as_ptr(), bytes) };
        Ok(Some(read(slice)))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.domain.scheduler.lock().line.forget(self.id);
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("label", &self.shared.label)
            .field("bytes", &self.shared.bytes)
            .field("placement", &self.shared.placement)
            .finish_non_exhaustive()
    }
}

/// A range of a buffer. Holding one keeps the buffer.
#[derive(Clone)]
pub struct View {
    buffer: Buffer,
    offset: u64,
    bytes: u64,
}

impl View {
    /// The buffer that it is a range of.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Its first byte, counted in the buffer.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Its length in bytes; never zero.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The part of it that begins `offset` bytes in and is `bytes` long.
    ///
    /// # Errors
    /// [`Invalid::Empty`] when `bytes` is zero, [`Invalid::OutOfRange`] when the
    /// part would reach past this view.
    pub fn slice(&self, offset: u64, bytes: u64) -> Result<Self> {
        if bytes == 0 {
            return Err(Invalid::Empty { what: "the slice" }.into());
        }
        if offset.checked_add(bytes).is_none_or(|end| end > self.bytes) {
            return Err(Invalid::OutOfRange {
                offset,
                bytes,
                within_bytes: self.bytes,
            }
            .into());
        }
        Ok(Self {
            buffer: self.buffer.clone(),
            offset: self.offset + offset,
            bytes,
        })
    }

    pub(crate) fn buffer_id(&self) -> u64 {
        self.buffer.shared.id
    }

    pub(crate) fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.bytes
    }

    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.buffer_id() == other.buffer_id()
            && self.offset < other.offset + other.bytes
            && other.offset < self.offset + self.bytes
    }

    pub(crate) fn span(&self) -> Span {
        self.buffer.span(self.offset, self.bytes)
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("buffer", &self.buffer.shared.label)
            .field("offset", &self.offset)
            .field("bytes", &self.bytes)
            .finish()
    }
}
