use super::*;
use crate::device::{Heap, LaneMap, Limits};

fn device(name: &str, kind: DeviceKind, uuid: u8) -> DeviceInfo {
    let limits = Limits {
        groups: [65_535; 3],
        workgroup: [128; 3],
        workgroup_invocations: 128,
        workgroup_bytes: 16 << 10,
        storage_range_bytes: 1 << 27,
        uniform_range_bytes: 1 << 14,
        storage_align_bytes: 16,
        uniform_align_bytes: 16,
        atom_bytes: 64,
        buffer_bytes: 1 << 30,
        allocations: 4096,
        storage_bindings: 8,
    };
    let mut info = DeviceInfo::new(name, kind, LaneMap::shared(), limits);
    info.uuid = DeviceUuid([uuid; 16]);
    info
}

fn with_memory(mut device: DeviceInfo, bytes: u64) -> DeviceInfo {
    device.heaps.push(Heap {
        bytes,
        device_local: true,
        host_visible: false,
    });
    device
}

fn machine() -> Vec<DeviceInfo> {
    vec![
        device("llvmpipe (LLVM 15)", DeviceKind::Software, 1),
        device("Virtio GPU", DeviceKind::Virtual, 2),
        device("Iris Xe", DeviceKind::Integrated, 3),
        device("GeForce RTX", DeviceKind::Discrete, 4),
    ]
}

fn named(name: &str) -> DeviceSelector {
    DeviceSelector::Named(name.into())
}

const BEST: DeviceSelector = DeviceSelector::Best;

#[test]
fn discrete_comes_before_integrated_before_virtual() {
    let mut all = machine();
    let mut order = Vec::new();
    while let Ok(place) = choose(&all, &BEST, false) {
        order.push(all.remove(place).kind);
    }
    assert_eq!(
        order,
        [
            DeviceKind::Discrete,
            DeviceKind::Integrated,
            DeviceKind::Virtual
        ]
    );
}

#[test]
fn software_is_taken_only_when_allowed_or_named() {
    let software = vec![device("llvmpipe", DeviceKind::Software, 1)];
    assert!(matches!(
        choose(&software, &BEST, false),
        Err(SelectionError::OnlySoftware { candidates }) if *candidates[0].info == software[0]
    ));
    assert_eq!(choose(&software, &BEST, true), Ok(0));
    assert_eq!(choose(&software, &named("llvmpipe"), false), Ok(0));
    let uuid = DeviceSelector::Uuid(DeviceUuid([1; 16]));
    assert_eq!(choose(&software, &uuid, false), Ok(0));
    assert_eq!(choose(&machine(), &BEST, true), Ok(3));
}

#[test]
fn the_larger_of_two_equals_wins() {
    let card = |name, uuid, bytes| with_memory(device(name, DeviceKind::Discrete, uuid), bytes);
    let all = [
        card("small", 1, 4 << 30),
        card("large", 2, 8 << 30),
        card("large too", 3, 8 << 30),
    ];
    assert_eq!(choose(&all, &BEST, false), Ok(1));
}

#[test]
fn an_exact_name_beats_a_part() {
    let all = vec![
        device("RTX 4090 Ti", DeviceKind::Discrete, 1),
        device("RTX 4090", DeviceKind::Discrete, 2),
    ];
    assert_eq!(choose(&all, &named("rtx 4090"), false), Ok(1));
    assert_eq!(choose(&all, &named("4090 ti"), false), Ok(0));
}

#[test]
fn an_ambiguous_name_lists_what_fits() {
    let mut all = machine();
    all.push(device("GeForce RTX", DeviceKind::Discrete, 5));
    let Err(SelectionError::Ambiguous { candidates, .. }) = choose(&all, &named("geforce"), false)
    else {
        panic!("two devices fit");
    };
    let uuids: Vec<DeviceUuid> = candidates.iter().map(|one| one.info.uuid).collect();
    assert_eq!(uuids, [DeviceUuid([4; 16]), DeviceUuid([5; 16])]);
    let uuid = DeviceSelector::Uuid(DeviceUuid([5; 16]));
    assert_eq!(choose(&all, &uuid, false), Ok(4));
}

#[test]
fn an_unknown_name_lists_all_devices() {
    let Err(SelectionError::NoMatch { wanted, candidates }) =
        choose(&machine(), &named("arc"), true)
    else {
        panic!("no device has that name");
    };
    assert_eq!(&*wanted, "arc");
    let listed: Vec<DeviceInfo> = candidates.into_iter().map(|one| *one.info).collect();
    assert_eq!(listed, machine());
}

#[test]
fn a_missing_feature_is_named() {
    let mut all = machine();
    all[3].missing = vec!["timelineSemaphore"];
    assert_eq!(choose(&all, &BEST, false), Ok(2));
    let refusal = choose(&all, &named("geforce"), false).unwrap_err();
    assert!(matches!(refusal, SelectionError::MissingFeature { .. }));
    assert!(refusal.to_string().contains("timelineSemaphore"));
    for one in &mut all {
        one.missing = vec!["Vulkan 1.3"];
    }
    assert!(matches!(
        choose(&all, &BEST, false),
        Err(SelectionError::MissingFeature { candidates }) if candidates.len() == 3
    ));
}

#[test]
fn an_empty_machine_is_no_mismatch() {
    assert_eq!(choose(&[], &BEST, true), Err(SelectionError::NoDevice));
}

#[test]
fn the_environment_names_a_device() {
    assert_eq!(wish(BEST, Some("llvmpipe")), named("llvmpipe"));
    assert_eq!(
        wish(BEST, Some("01010101-0101-0101-0101-010101010101")),
        DeviceSelector::Uuid(DeviceUuid([1; 16]))
    );
    assert_eq!(wish(BEST, Some("  ")), BEST);
    assert_eq!(wish(BEST, None), BEST);
    assert_eq!(wish(named("x"), Some("y")), named("x"));
}

#[test]
fn a_uuid_reads_back_as_it_is_shown() {
    let uuid = DeviceUuid([
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xa0, 0xb1, 0xc2, 0xd3, 0xe4, 0xff,
    ]);
    assert_eq!(parse_uuid(&uuid.to_string()), Some(uuid));
    assert_eq!(parse_uuid("0011"), None);
    assert_eq!(parse_uuid("not a uuid"), None);
}
