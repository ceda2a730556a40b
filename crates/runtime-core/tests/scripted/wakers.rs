//! Foreign code in wakers.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};

use runtime_core::device::scripted::ScriptedDevice;
use runtime_core::{Completion, Lane, Runtime, RuntimeOptions};
use runtime_sync::{Mutex, block_on};

use crate::fixture::{Bench, LONG, bench, built};

/// Runs a closure when woken, and says on a channel that it has.
struct Then<F> {
    run: F,
    done: mpsc::Sender<()>,
}

impl<F: Fn() + Send + Sync + 'static> Wake for Then<F> {
    fn wake(self: Arc<Self>) {
        let done = self.done.clone();
        (self.run)();
        done.send(()).unwrap();
    }
}

fn waker(run: impl Fn() + Send + Sync + 'static) -> (Waker, mpsc::Receiver<()>) {
    let (done, woken) = mpsc::channel();
    (Waker::from(Arc::new(Then { run, done })), woken)
}

fn poll(completion: &mut Completion, waker: &Waker) -> Poll<runtime_core::Result<()>> {
    pin!(completion).poll(&mut Context::from_waker(waker))
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker fails");
    }
}

// R26
#[test]
fn a_panicking_waker_stops_nobody() {
    let bench = bench();
    let buffer = bench.buffer(64);
    let fill = bench.fill("fill", &buffer.view(), 1);
    bench.controls.hold(Lane::Compute);
    let mut first = fill.run().submit().unwrap();
    let mut clone = first.clone();
    assert!(poll(&mut first, &Waker::from(Arc::new(Panics))).is_pending());
    let wakes = Arc::new(AtomicU32::new(0));
    let counter = wakes.clone();
    let (quiet, woken) = waker(move || {
        counter.fetch_add(1, Ordering::Relaxed);
    });
    assert!(poll(&mut clone, &quiet).is_pending());
    bench.controls.release(Lane::Compute);
    woken.recv_timeout(LONG).unwrap();
    assert!(matches!(poll(&mut clone, &quiet), Poll::Ready(Ok(()))));
    drop((first, clone));
    // The threads that wake are alive.
    for _ in 0..3 {
        block_on(fill.run().submit().unwrap()).unwrap();
    }
    assert_eq!(wakes.load(Ordering::Relaxed), 1);
    assert_eq!(bench.runtime.statistics().uncertain, 0);
    bench.assert_no_misuse();
}

// R27
#[test]
fn a_waker_resubmits_the_only_slot() {
    let bench = built(
        ScriptedDevice::builder().queue_per_lane(),
        RuntimeOptions::default().run_slots(1),
    );
    let buffer = bench.buffer(64);
    let fill = bench.fill("fill", &buffer.view(), 1);
    bench.controls.hold(Lane::Compute);
    let mut run = fill.run().submit().unwrap();

    let (hand, handle) = mpsc::channel::<Completion>();
    let (answer, answers) = mpsc::channel();
    let (handle, graph) = (Mutex::new(handle), fill.clone());
    let (waker, woken) = waker(move || {
        drop(handle.lock().recv().unwrap());
        answer.send(graph.run().submit()).unwrap();
    });
    assert!(poll(&mut run, &waker).is_pending());
    hand.send(run).unwrap();
    bench.controls.release(Lane::Compute);
    woken.recv_timeout(LONG).unwrap();
    let again = answers.recv().unwrap().unwrap();
    again.wait_timeout(LONG).unwrap();
    bench.assert_no_misuse();
}

// R36
#[test]
fn a_waker_may_drop_the_last_handle() {
    let bench = bench();
    let buffer = bench.buffer(64);
    let fill = bench.fill("fill", &buffer.view(), 1);
    bench.controls.hold(Lane::Compute);
    let mut run = fill.run().submit().unwrap();
    let Bench { runtime, controls } = bench;

    let (hand, handle) = mpsc::channel::<Runtime>();
    let handle = Mutex::new(handle);
    let (waker, woken) = waker(move || drop(handle.lock().recv().unwrap()));
    assert!(poll(&mut run, &waker).is_pending());
    drop((fill, buffer));
    hand.send(runtime).unwrap();
    controls.release(Lane::Compute);
    woken.recv_timeout(LONG).unwrap();
    drop((run, waker));
    assert!(controls.wait_dropped(LONG));
    assert_eq!((controls.live().buffers, controls.misuses().len()), (0, 0));
}
