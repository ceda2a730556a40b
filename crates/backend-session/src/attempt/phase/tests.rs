use super::{Event, Phase};
use std::fmt::Write;

#[test]
fn the_phase_table_is_complete() {
    let mut table = String::new();
    for phase in Phase::ALL {
        write!(table, "{:<9}", format!("{phase:?}")).unwrap();
        for event in Event::ALL {
            let next = phase
                .after(event)
                .map_or("-".to_owned(), |next| format!("{next:?}"));
            write!(table, " {:<16}", format!("{event:?}:{next}")).unwrap();
        }
        table = table.trim_end().to_owned();
        table.push('\n');
    }
    insta::assert_snapshot!(table);
}

#[test]
fn no_event_leads_backwards() {
    for phase in Phase::ALL {
        for event in Event::ALL {
            if let Some(next) = phase.after(event) {
                assert!(next > phase, "{phase:?} {event:?}");
            }
        }
    }
}
