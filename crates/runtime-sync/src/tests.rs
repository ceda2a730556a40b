use super::{Arc, Condvar, Model, Mutex, block_on, model, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

#[test]
fn a_panicking_holder_does_not_poison() {
    let lock = Mutex::new(1);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut value = lock.lock();
        *value = 2;
        panic!("a holder fails");
    }));
    assert!(outcome.is_err());
    assert_eq!(*lock.lock(), 2);
    assert!(lock.try_lock().is_some());
    assert_eq!(lock.into_inner(), 2);
}

#[test]
fn a_held_lock_is_not_given_twice() {
    let lock = Mutex::new(());
    let held = lock.lock();
    assert!(lock.try_lock().is_none());
    drop(held);
    assert!(lock.try_lock().is_some());
}

#[test]
fn a_wait_ends_by_notification_or_limit() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let (guard, timed_out) = pair.1.wait_timeout(pair.0.lock(), Duration::from_millis(1));
    assert!(timed_out && !*guard);
    drop(guard);

    let other = pair.clone();
    let notifier = thread::spawn_named("notifier", move || {
        *other.0.lock() = true;
        other.1.notify_all();
    })
    .unwrap();
    let mut set = pair.0.lock();
    while !*set {
        set = pair.1.wait(set);
    }
    drop(set);
    notifier.join().unwrap();
}

#[test]
fn a_future_woken_elsewhere_is_driven() {
    let mut polls = 0;
    let value = block_on(std::future::poll_fn(|context| {
        polls += 1;
        if polls > 1 {
            return std::task::Poll::Ready(7);
        }
        let waker = context.waker().clone();
        thread::spawn_named("waker", move || waker.wake()).unwrap();
        std::task::Poll::Pending
    }));
    assert_eq!((value, polls), (7, 2));
}

#[test]
fn a_model_runs_its_body_and_passes_panics_on() {
    model("the body runs", || {});
    let outcome = catch_unwind(|| Model::new("the body panics").run(|| panic!("a broken claim")));
    assert!(outcome.is_err());
}
