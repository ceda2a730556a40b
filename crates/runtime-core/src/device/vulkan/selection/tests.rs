use super::*;

fn device(name: &str, kind: DeviceKind, uuid: u8) -> Candidate {
    Candidate {
        name: name.to_owned(),
        kind,
        uuid: DeviceUuid([uuid; 16]),
        local_bytes: 1 << 30,
        missing: Vec::new(),
    }
}

fn machine() -> Vec<Candidate> {
    vec![
        device("llvmpipe (LLVM 15)", DeviceKind::Software, 1),
        device("Virtio GPU", DeviceKind::Virtual, 2),
        device("Iris Xe", DeviceKind::Integrated, 3),
        device("GeForce RTX", DeviceKind::Discrete, 4),
    ]
}

fn named(name: &str) -> DeviceSelector {
    DeviceSelector::Named(name.to_owned())
}

#[test]
fn discrete_comes_before_integrated_before_virtual() {
    let mut all = machine();
    let mut order = Vec::new();
    while let Ok(place) = choose(&all, &DeviceSelector::Best) {
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
    let best = DeviceSelector::Best;
    assert!(matches!(
        choose(&software, &best),
        Err(SelectionError::NoMatch { candidates, .. }) if candidates == software
    ));
    assert_eq!(choose(&software, &best.allow_software(true)), Ok(0));
    assert_eq!(choose(&software, &named("llvmpipe")), Ok(0));
    assert_eq!(
        choose(&software, &DeviceSelector::Uuid(DeviceUuid([1; 16]))),
        Ok(0)
    );
    assert_eq!(choose(&machine(), &DeviceSelector::BestOrSoftware), Ok(3));
}

#[test]
fn the_larger_of_two_equals_wins() {
    let mut all = vec![
        device("small", DeviceKind::Discrete, 1),
        device("large", DeviceKind::Discrete, 2),
        device("large too", DeviceKind::Discrete, 3),
    ];
    all[1].local_bytes = 8 << 30;
    all[2].local_bytes = 8 << 30;
    assert_eq!(choose(&all, &DeviceSelector::Best), Ok(1));
}

#[test]
fn an_exact_name_beats_a_part() {
    let all = vec![
        device("RTX 4090 Ti", DeviceKind::Discrete, 1),
        device("RTX 4090", DeviceKind::Discrete, 2),
    ];
    assert_eq!(choose(&all, &named("rtx 4090")), Ok(1));
    assert_eq!(choose(&all, &named("4090 ti")), Ok(0));
}

#[test]
fn an_ambiguous_name_lists_what_fits() {
    let mut all = machine();
    all.push(device("GeForce RTX", DeviceKind::Discrete, 5));
    let Err(SelectionError::Ambiguous { candidates, .. }) = choose(&all, &named("geforce")) else {
        panic!("two devices fit");
    };
    let uuids: Vec<DeviceUuid> = candidates.iter().map(|one| one.uuid).collect();
    assert_eq!(uuids, [DeviceUuid([4; 16]), DeviceUuid([5; 16])]);
    assert_eq!(
        choose(&all, &DeviceSelector::Uuid(DeviceUuid([5; 16]))),
        Ok(4)
    );
}

#[test]
fn an_unknown_name_lists_all_devices() {
    let Err(SelectionError::NoMatch { wanted, candidates }) = choose(&machine(), &named("arc"))
    else {
        panic!("no device has that name");
    };
    assert_eq!(wanted, named("arc"));
    assert_eq!(candidates, machine());
}

#[test]
fn a_missing_feature_is_named() {
    let mut all = machine();
    all[3].missing = vec!["timelineSemaphore"];
    assert_eq!(choose(&all, &DeviceSelector::Best), Ok(2));
    let refusal = choose(&all, &named("geforce")).unwrap_err();
    assert!(matches!(refusal, SelectionError::MissingFeature { .. }));
    assert!(refusal.to_string().contains("timelineSemaphore"));
    for one in &mut all {
        one.missing = vec!["Vulkan 1.3"];
    }
    assert!(matches!(
        choose(&all, &DeviceSelector::Best),
        Err(SelectionError::MissingFeature { candidates, .. }) if candidates.len() == 3
    ));
}

#[test]
fn an_empty_machine_is_no_mismatch() {
    assert_eq!(
        choose(&[], &DeviceSelector::Best),
        Err(SelectionError::NoDevice)
    );
}

#[test]
fn the_environment_names_a_device() {
    let best = || DeviceSelector::Best;
    assert_eq!(best().or_named_by(Some("llvmpipe")), named("llvmpipe"));
    assert_eq!(
        best().or_named_by(Some("01010101-0101-0101-0101-010101010101")),
        DeviceSelector::Uuid(DeviceUuid([1; 16]))
    );
    assert_eq!(best().or_named_by(Some("  ")), DeviceSelector::Best);
    assert_eq!(best().or_named_by(None), DeviceSelector::Best);
    assert_eq!(named("x").or_named_by(Some("y")), named("x"));
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
