use std::collections::BTreeSet;
use std::thread;

use crate::fixture::{ROUNDS, THREADS, hammer};

use super::*;

#[test]
fn threads_of_one_shard_lose_nothing() {
    let shard = Shard::new(&Shape {
        devices: Box::new([]),
        bands: 1,
    });
    hammer(|| {
        shard.count_request(Outcome::Failed, 0);
        shard.count_unlabelled();
    });
    let failed = shard.requests.cell(Outcome::Failed as usize, 0).unwrap();
    assert_eq!(failed.load(Ordering::Relaxed), THREADS * ROUNDS);
    assert_eq!(shard.unlabelled.load(Ordering::Relaxed), THREADS * ROUNDS);
}

#[test]
fn a_thread_keeps_its_number_to_itself() {
    let numbers: BTreeSet<_> = (0..20)
        .map(|_| {
            thread::spawn(|| {
                let number = thread_number();
                assert_eq!(thread_number(), number);
                number
            })
        })
        .map(|thread| thread.join().unwrap())
        .collect();
    assert_eq!(numbers.len(), 20);
}
