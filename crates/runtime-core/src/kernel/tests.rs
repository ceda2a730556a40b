//! What the tests of both inputs share.

use crate::device::{BindingKind, Limits};
use crate::kernel::{BindingFault, KernelError, Malformed, Place};

/// The limits of a modest device.
pub(super) fn limits() -> Limits {
    Limits {
        groups: [65_535; 3],
        workgroup: [128, 128, 64],
        workgroup_invocations: 128,
        workgroup_bytes: 16_384,
        storage_range_bytes: 1 << 27,
        uniform_range_bytes: 16_384,
        storage_align_bytes: 16,
        uniform_align_bytes: 16,
        atom_bytes: 64,
        buffer_bytes: 1 << 30,
        allocations: 4_096,
        storage_bindings: 4,
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let texts = [
        KernelError::Parse {
            place: Some(Place { line: 3, column: 7 }),
            message: "expected `;`".into(),
        }
        .to_string(),
        KernelError::NoEntryPoint {
            name: "mian".into(),
            known: vec!["main".into(), "sum".into()],
        }
        .to_string(),
        KernelError::EntryUnstated { known: Vec::new() }.to_string(),
        KernelError::UnsupportedBinding {
            name: "image".into(),
            group: 0,
            binding: 2,
            fault: BindingFault::NoBuffer,
        }
        .to_string(),
        KernelError::ContractBroken {
            group: 0,
            binding: 1,
            stated: Some(BindingKind::StorageRead),
            found: None,
        }
        .to_string(),
        KernelError::Malformed(Malformed::Magic { word: 7 }).to_string(),
    ];
    assert_eq!(
        texts,
        [
            "the source does not parse at line 3, column 7: expected `;`",
            "there is no compute entry point `mian`, but `main`, `sum`",
            "an entry point must be named; there are none",
            "`image` (group 0, binding 2) is not a buffer",
            "binding 1 of group 0 is absent in the module \
             and a read-only storage buffer in the contract",
            "the module begins with 0x00000007",
        ]
    );
}
