//! Models of the shipped line, its leases and the publication of results.
//!
//! They drive the scheduler itself, over a scripted device that reaches every
//! point as soon as it is accepted. Deadlines are events here: a waiter that
//! gives up does so at a point of the schedule that the checker chooses.

use std::time::Instant;

use runtime_sync::atomic::{AtomicUsize, Ordering};
use runtime_sync::thread::spawn_named;
use runtime_sync::unmodelled::Arc;
use runtime_sync::{Model, block_on, model};

use super::lease::{Patience, acquire_turn, release};
use super::line::{Plan, PlannedRegion};
use super::scheduler::{Place, SLICE, Scheduler};
use super::turns::DrainScope;
use super::{Lane, line::SubmissionKey};
use crate::device::scripted::ScriptedDevice;
use crate::device::{Device, RegionPlan};
use crate::error::{Busy, Error};
use crate::run::{Recorded, Run, Staging};

fn scheduler(limit: u32) -> Arc<Scheduler> {
    let device: Arc<dyn Device> = Arc::new(ScriptedDevice::builder().shared_queue().build());
    Arc::new(Scheduler::new(device, limit, 0, None))
}

/// A claimed slot whose one region runs on `lane` and touches nothing.
fn slot(scheduler: &Scheduler, lane: Lane) -> Arc<Run> {
    let native = scheduler
        .device
        .record(&RegionPlan {
            lane,
            commands: Vec::new(),
            read_by_host: false,
            label: "model".into(),
        })
        .unwrap();
    let plan = Plan {
        regions: vec![PlannedRegion {
            lane,
            queue: scheduler.device.info().lanes.queue(lane),
            touches: Vec::new(),
        }],
    };
    let run = Run::new(
        vec![Recorded { native }],
        Arc::new(plan),
        "model".into(),
        Vec::new(),
        Staging::default(),
        None,
    );
    assert!(run.claim());
    Arc::new(run)
}

fn submit(scheduler: &Scheduler, run: &Arc<Run>) -> SubmissionKey {
    scheduler.submit(run, Place::Now, &[]).unwrap()
}

/// Blocks for the lane, checks that nobody else has it, and gives it back.
fn stage(scheduler: &Scheduler, active: &AtomicUsize) {
    let turn = acquire_turn(scheduler, DrainScope::All, Patience::ForLane, None).unwrap();
    assert_eq!(active.fetch_add(1, Ordering::SeqCst), 0, "two leases alive");
    active.fetch_sub(1, Ordering::SeqCst);
    release(scheduler, turn);
}

#[test]
fn leases_exclude_each_other_and_none_waits_for_ever() {
    model(
        "at most one lease is alive, and every ticket gets it",
        || {
            let scheduler = scheduler(4);
            let active = runtime_sync::Arc::new(AtomicUsize::new(0));
            let rival = {
                let (scheduler, active) = (scheduler.clone(), active.clone());
                spawn_named("stage", move || stage(&scheduler, &active)).unwrap()
            };
            stage(&scheduler, &active);
            rival.join().unwrap();
            assert!(!scheduler.lock().line.has_stage());
        },
    );
}

#[test]
fn a_stage_starts_after_older_compute() {
    model(
        "a stage starts only when older submissions are published",
        || {
            let scheduler = scheduler(4);
            let older = slot(&scheduler, Lane::Compute);
            submit(&scheduler, &older);
            let rival = {
                let (scheduler, older) = (scheduler.clone(), older.clone());
                spawn_named("stage", move || {
                    let turn =
                        acquire_turn(&scheduler, DrainScope::All, Patience::ForLane, None).unwrap();
                    assert!(older.result().is_some(), "the stage overtook older work");
                    release(&scheduler, turn);
                })
                .unwrap()
            };
            scheduler.drive();
            rival.join().unwrap();
        },
    );
}

#[test]
fn compute_waits_for_an_older_stage() {
    model(
        "compute submitted after a stage asked starts after it",
        || {
            let scheduler = scheduler(4);
            let turn = acquire_turn(&scheduler, DrainScope::All, Patience::ForLane, None).unwrap();
            let over = runtime_sync::Arc::new(AtomicUsize::new(0));
            let younger = slot(&scheduler, Lane::Compute);
            let rival = {
                let (scheduler, younger, over) = (scheduler.clone(), younger.clone(), over.clone());
                spawn_named("submitter", move || {
                    submit(&scheduler, &younger);
                    if younger.result().is_some() {
                        assert_eq!(over.load(Ordering::SeqCst), 1, "compute overtook the stage");
                    }
                })
                .unwrap()
            };
            assert!(younger.result().is_none());
            over.store(1, Ordering::SeqCst);
            release(&scheduler, turn);
            rival.join().unwrap();
            scheduler.drive();
            assert!(younger.result().is_some());
        },
    );
}

#[test]
fn uploads_pass_an_active_stage_and_a_waiting_one() {
    model(
        "an upload ends while one stage runs and one waits, with one place",
        || {
            let scheduler = scheduler(1);
            let turn = acquire_turn(&scheduler, DrainScope::All, Patience::ForLane, None).unwrap();
            let rival = {
                let scheduler = scheduler.clone();
                spawn_named("stage", move || {
                    let turn = acquire_turn(&scheduler, DrainScope::All, Patience::ForLane, None);
                    match turn {
                        Ok(turn) => release(&scheduler, turn),
                        Err(Error::Busy(Busy::Capacity { .. })) => {}
                        Err(other) => panic!("unexpected: {other}"),
                    }
                })
                .unwrap()
            };
            let upload = slot(&scheduler, Lane::Upload);
            submit(&scheduler, &upload);
            loop {
                let seen = upload.look();
                if seen.result.is_some() {
                    break;
                }
                scheduler.drive();
                upload.wait_move(&seen, SLICE);
            }
            release(&scheduler, turn);
            rival.join().unwrap();
        },
    );
}

#[test]
fn places_are_exact_through_waiting_and_giving_up() {
    model("promised, used and given-up places add up", || {
        let scheduler = scheduler(1);
        let held = slot(&scheduler, Lane::Compute);
        let stage = acquire_turn(&scheduler, DrainScope::All, Patience::ForLane, None).unwrap();
        submit(&scheduler, &held);
        let waiter = {
            let scheduler = scheduler.clone();
            spawn_named("expiring waiter", move || {
                let deadline = Some(Instant::now());
                let within = Patience::Within(std::time::Duration::ZERO);
                if let Ok(turn) = acquire_turn(&scheduler, DrainScope::All, within, deadline) {
                    release(&scheduler, turn);
                }
            })
            .unwrap()
        };
        release(&scheduler, stage);
        waiter.join().unwrap();
        scheduler.drive();
        assert!(held.result().is_some());
        let turn = acquire_turn(&scheduler, DrainScope::All, Patience::ForLane, None).unwrap();
        release(&scheduler, turn);
        assert_eq!(scheduler.lock().line.unpublished(), 0);
        assert_eq!(scheduler.lock().line.waiting_stages(), 0);
    });
}

#[test]
fn a_future_hears_of_its_end() {
    Model::new("a polled future is woken by whoever publishes").run(|| {
        let scheduler = scheduler(2);
        let turn = acquire_turn(&scheduler, DrainScope::All, Patience::ForLane, None).unwrap();
        let run = slot(&scheduler, Lane::Compute);
        submit(&scheduler, &run);
        let rival = {
            let scheduler = scheduler.clone();
            spawn_named("stage, then reaper", move || {
                release(&scheduler, turn);
                scheduler.drive();
            })
            .unwrap()
        };
        let polled = run.clone();
        block_on(std::future::poll_fn(move |context| {
            let (result, replaced) = polled.poll(context.waker().clone());
            drop(replaced);
            result.map_or(std::task::Poll::Pending, std::task::Poll::Ready)
        }))
        .unwrap();
        rival.join().unwrap();
        assert_eq!(scheduler.lock().statistics.succeeded, 1);
    });
}

#[test]
fn close_ends_waiters_and_lets_the_stage_go_on() {
    model(
        "close refuses newcomers, wakes waiters and keeps the stage",
        || {
            let scheduler = scheduler(4);
            let stage = acquire_turn(&scheduler, DrainScope::All, Patience::ForLane, None).unwrap();
            let waiter = {
                let scheduler = scheduler.clone();
                spawn_named("waiter", move || {
                    let turn = acquire_turn(&scheduler, DrainScope::All, Patience::ForLane, None);
                    assert!(matches!(turn, Err(Error::Closed)));
                })
                .unwrap()
            };
            scheduler.close();
            waiter.join().unwrap();
            assert!(scheduler.lock().line.has_stage());
            release(&scheduler, stage);
        },
    );
}
