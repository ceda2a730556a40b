use super::*;

#[test]
fn a_new_device_has_all_bytes_free() {
    let mut facts = SessionFacts::default();
    facts
        .devices
        .push(DeviceFacts::new(DeviceOrdinal(3), "x", 1 << 40));
    assert_eq!(facts.devices[0].free_bytes, 1 << 40);
    facts.check().unwrap();
}

#[test]
fn counts_of_one_series_share_a_row() {
    let mut queue = QueueFacts::default();
    queue.add(Band(1), QueueReason::Bytes, 2);
    queue.add(Band(1), QueueReason::Turn, 1);
    queue.add(Band(1), QueueReason::Bytes, 3);
    let counts: Vec<_> = queue.requests.iter().map(|row| row.count).collect();
    assert_eq!(counts, [5, 1]);

    let mut device = DeviceFacts::default();
    device.add_quarantined(QuarantineCause::Watchdog, 1);
    device.add_quarantined(QuarantineCause::DeviceLost, 1);
    device.add_quarantined(QuarantineCause::Watchdog, 1);
    let counts: Vec<_> = device
        .quarantined_attempts
        .iter()
        .map(|row| row.count)
        .collect();
    assert_eq!(counts, [2, 1]);
}

#[test]
fn missing_facts_take_their_defaults() {
    let facts: SessionFacts =
        serde_json::from_str(r#"{"generation": 5, "devices": [{"capacity_bytes": 7}]}"#).unwrap();
    assert_eq!(facts.generation, 5);
    assert_eq!(facts.gate, GateState::Open);
    assert_eq!(facts.tickets, TicketFacts::default());
    assert_eq!(facts.devices[0].capacity_bytes, 7);
    assert_eq!(facts.devices[0].health, DeviceHealth::Open);
}
