use super::{Abandoned, Slot};
use runtime_sync::{Arc, block_on, model, thread};
use std::task::Poll;

#[test]
fn a_report_is_received_or_abandoned_once() {
    model("report: publication against a leaving receiver", || {
        let (slot, abandoned) = (Arc::new(Slot::new()), Arc::new(Abandoned::new(1)));
        let key = slot.join();
        abandoned.count_begun();
        let (place, kept) = (slot.clone(), abandoned.clone());
        let publisher = thread::spawn_named("publisher", move || {
            drop(place.publish(Arc::new(7), &kept));
        });
        let seen = slot.read();
        drop(slot.part(key));
        publisher.unwrap().join().unwrap();

        let counts = abandoned.counts();
        assert_eq!((counts.attempts_begun, counts.reports_ready), (1, 1));
        let taken = abandoned.take(8).len();
        assert_eq!(counts.completion_queue_pushed, taken as u64);
        // Whoever read it before leaving was a receiver, so it is not abandoned.
        assert!(seen.is_none() || taken == 0);
        assert!(slot.read().is_some());
    });
}

#[test]
fn two_abandoned_reports_overflow_one_place() {
    model("report: two abandoned reports, one place", || {
        let abandoned = Arc::new(Abandoned::new(1));
        let publishers: Vec<_> = (0..2)
            .map(|number| {
                let abandoned = abandoned.clone();
                thread::spawn_named("publisher", move || {
                    abandoned.count_begun();
                    drop(Slot::new().publish(Arc::new(number), &abandoned));
                })
                .unwrap()
            })
            .collect();
        let during = abandoned.counts();
        let routed = during.completion_queue_pushed + during.completion_queue_overflowed;
        assert!(routed <= during.reports_ready);
        assert!(during.reports_ready <= during.attempts_begun);
        for publisher in publishers {
            publisher.join().unwrap();
        }
        let after = abandoned.counts();
        assert_eq!(after.reports_ready, 2);
        assert_eq!(after.completion_queue_pushed, 1);
        assert_eq!(after.completion_queue_overflowed, 1);
    });
}

#[test]
fn a_receiver_cloned_while_publishing_is_served() {
    model("report: a receiver cloned while publishing", || {
        let (slot, abandoned) = (Arc::new(Slot::new()), Arc::new(Abandoned::new(1)));
        let first = slot.join();
        let (place, kept) = (slot.clone(), abandoned.clone());
        let publisher = thread::spawn_named("publisher", move || {
            for waker in place.publish(Arc::new(7), &kept) {
                waker.wake();
            }
        });
        let second = slot.join();
        drop(slot.part(first));
        let report = block_on(std::future::poll_fn(|context| {
            let (report, old) = slot.wait(second, context.waker().clone());
            drop(old);
            report.map_or(Poll::Pending, Poll::Ready)
        }));
        assert_eq!(*report, 7);
        publisher.unwrap().join().unwrap();
        assert_eq!(abandoned.counts().completion_queue_pushed, 0);
    });
}

#[test]
fn an_awaited_report_is_not_abandoned() {
    model("report: a receiver that comes while publishing", || {
        let (slot, abandoned) = (Arc::new(Slot::new()), Arc::new(Abandoned::new(1)));
        let (place, kept) = (slot.clone(), abandoned.clone());
        let publisher = thread::spawn_named("publisher", move || {
            drop(place.publish(Arc::new(7), &kept));
        });
        let key = slot.join();
        let (found, _) = slot.wait(key, std::task::Waker::noop().clone());
        publisher.unwrap().join().unwrap();
        // It waited before the report was there, so it was counted by then.
        let pushed = abandoned.counts().completion_queue_pushed;
        assert!(found.is_some() || pushed == 0);
        assert!(slot.read().is_some());
    });
}
