//! Kernels in WGSL, through naga.

mod limits;
mod reflect;
#[cfg(all(test, not(runtime_loom)))]
mod tests;
mod translate;

use std::collections::BTreeMap;

use runtime_sync::thread::spawn_with_stack;
use runtime_sync::unmodelled::Arc;

use super::{Compiled, KernelError};
use crate::device::Limits;

/// The longest source, in bytes. naga's time grows with more than the square of
/// an expression's length, so this bounds a hostile source to under a minute.
const SOURCE_BYTES: usize = 256 * 1024;

/// Stack for each byte of source. naga recurses over expressions; the steepest
/// source found (a chain of unary operators) took 6.3 KiB for each byte in a
/// build without optimisation.
const STACK_BYTES_PER_BYTE: usize = 8 * 1024;

/// Stack for everything that does not grow with the source. naga's own limits on
/// nested brackets and blocks (about 200) took 1.9 MiB without optimisation.
const STACK_FLOOR_BYTES: usize = 4 * 1024 * 1024;

/// A kernel in WGSL.
///
/// What it may use: compute entry points, storage and uniform buffers in group
/// 0, one uniform of at most [`PARAMETER_BYTES`](super::PARAMETER_BYTES) bytes
/// as binding 0 of group 1, workgroup memory, atomics, overridable constants. No
/// capability beyond WGSL's base (no `f16`, no 64-bit types, no subgroups). A
/// variable that the entry point does not use is not bound.
#[derive(Debug, Clone)]
pub struct Wgsl {
    source: Arc<str>,
    entry: Option<Arc<str>>,
    constants: BTreeMap<Arc<str>, Constant>,
    label: Option<Arc<str>>,
}

/// The value of an overridable constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Constant {
    /// As bits, so that keys can be compared.
    bits: u64,
}

/// What a kernel is compiled from. Equal keys give equal kernels on one device.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CacheKey {
    source: Arc<str>,
    entry: Option<Arc<str>>,
    constants: BTreeMap<Arc<str>, Constant>,
}

impl Wgsl {
    /// A kernel with this source, of at most 256 KiB.
    pub fn new(source: impl Into<Arc<str>>) -> Self {
        Self {
            source: source.into(),
            entry: None,
            constants: BTreeMap::new(),
            label: None,
        }
    }

    /// The compute entry point; may be left out where the source has only one.
    #[must_use]
    pub fn entry(mut self, name: impl Into<Arc<str>>) -> Self {
        self.entry = Some(name.into());
        self
    }

    /// Its name in messages; the entry point's where it is left out.
    #[must_use]
    pub fn label(mut self, label: impl Into<Arc<str>>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Overrides the constant of this name (or, where it has one, this `@id`).
    #[must_use]
    pub fn constant(mut self, name: impl Into<Arc<str>>, value: impl Into<Constant>) -> Self {
        self.constants.insert(name.into(), value.into());
        self
    }

    /// What tells it apart from other kernels; its label does not.
    pub fn cache_key(&self) -> CacheKey {
        CacheKey {
            source: self.source.clone(),
            entry: self.entry.clone(),
            constants: self.constants.clone(),
        }
    }
}

impl Constant {
    fn value(self) -> f64 {
        f64::from_bits(self.bits)
    }
}

impl From<f64> for Constant {
    fn from(value: f64) -> Self {
        Self {
            bits: value.to_bits(),
        }
    }
}

impl From<f32> for Constant {
    fn from(value: f32) -> Self {
        f64::from(value).into()
    }
}

impl From<u32> for Constant {
    fn from(value: u32) -> Self {
        f64::from(value).into()
    }
}

impl From<i32> for Constant {
    fn from(value: i32) -> Self {
        f64::from(value).into()
    }
}

impl From<bool> for Constant {
    fn from(value: bool) -> Self {
        f64::from(u8::from(value)).into()
    }
}

/// Translates a kernel and checks it against a device's limits.
///
/// Blocks while a thread of its own compiles, whose stack fits the source.
///
/// # Errors
/// What is wrong with the source, or that the thread was refused.
pub fn compile(wgsl: &Wgsl, limits: &Limits) -> Result<Compiled, KernelError> {
    let bytes = wgsl.source.len();
    if bytes > SOURCE_BYTES {
        return Err(KernelError::TooLong {
            bytes,
            limit_bytes: SOURCE_BYTES,
        });
    }
    let stack_bytes = STACK_FLOOR_BYTES + bytes * STACK_BYTES_PER_BYTE;
    let (wgsl, limits) = (wgsl.clone(), *limits);
    let compiling = spawn_with_stack("kernel-compiler", stack_bytes, move || {
        translate::translate(&wgsl, &limits)
    })
    .map_err(|_| KernelError::NoThread { stack_bytes })?;
    compiling
        .join()
        .unwrap_or(Err(KernelError::CompilerPanicked))
}
