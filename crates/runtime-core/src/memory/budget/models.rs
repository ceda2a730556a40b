use runtime_sync::thread::spawn_named;
use runtime_sync::{Arc, atomic, model};

use super::MemoryBudget;

#[test]
fn two_chargers_never_exceed_the_capacity() {
    model("two chargers never exceed the capacity", || {
        let budget = MemoryBudget::new(3, "all");
        // What the two threads believe they hold, counted apart from the ledger.
        let held = Arc::new(atomic::AtomicU64::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (budget, held) = (budget.clone(), held.clone());
                spawn_named("charger", move || {
                    let Ok(mut charge) = budget.charge(2, "charger") else {
                        return;
                    };
                    let before = held.fetch_add(2, atomic::Ordering::SeqCst);
                    assert!(before + 2 <= 3, "{before} bytes were held already");
                    held.fetch_sub(1, atomic::Ordering::SeqCst);
                    charge.resize(1).unwrap();
                    held.fetch_sub(1, atomic::Ordering::SeqCst);
                    drop(charge);
                })
                .unwrap()
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(budget.used_bytes(), 0);
        assert!((2..=3).contains(&budget.peak_bytes()));
    });
}

#[test]
fn the_last_owner_of_a_child_repays() {
    model("the last owner of a child repays the parent once", || {
        let parent = MemoryBudget::new(4, "parent");
        let child = parent.child(4, "child").unwrap();
        let charge = child.charge(1, "charge").unwrap();
        let other = spawn_named("other", move || drop(charge)).unwrap();
        drop(child);
        other.join().unwrap();
        assert_eq!(parent.used_bytes(), 0);
        assert!(parent.charge(4, "again").is_ok());
    });
}
