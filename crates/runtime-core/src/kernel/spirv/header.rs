//! The five words that every module begins with, and the lengths after them.

use super::{KernelError, Malformed};

const HEADER_WORDS: usize = 5;
const MAGIC: u32 = 0x0723_0203;

/// The format's own limit on ids. A driver sizes its tables by the bound.
const LARGEST_BOUND: u32 = 0x003f_ffff;

/// Vulkan 1.3 reads SPIR-V up to 1.6.
const NEWEST: (u8, u8) = (1, 6);

pub(super) fn check(words: &[u32]) -> Result<(), KernelError> {
    faults(words).map_err(KernelError::Malformed)
}

fn faults(words: &[u32]) -> Result<(), Malformed> {
    let [magic, version, _generator, bound, _schema, ..] = *words else {
        return Err(Malformed::NoHeader);
    };
    if magic == MAGIC.swap_bytes() {
        return Err(Malformed::ByteOrder);
    }
    if magic != MAGIC {
        return Err(Malformed::Magic { word: magic });
    }
    let [_, minor, major, _] = version.to_le_bytes();
    if !((1, 0)..=NEWEST).contains(&(major, minor)) {
        return Err(Malformed::Version { major, minor });
    }
    if bound == 0 || bound > LARGEST_BOUND {
        return Err(Malformed::Bound { bound });
    }
    frame(words)
}

/// Every instruction says its length in words. The parser trusts those, so they
/// are walked before it sees them.
fn frame(words: &[u32]) -> Result<(), Malformed> {
    let mut at = HEADER_WORDS;
    while let Some(&first) = words.get(at) {
        let length = usize::from(u16::try_from(first >> 16).unwrap_or(0));
        if length == 0 || words.len() - at < length {
            return Err(Malformed::Framing { word: at });
        }
        at += length;
    }
    Ok(())
}
