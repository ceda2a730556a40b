//! Private work of one's own on the queue that the runtime uses.

#[path = "../../examples/digits/classifier.rs"]
mod classifier;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use classifier::{Classifier, Digits};
use native_session::NativeSession;
use runtime_core::Runtime;
use runtime_core::device::MemoryPlacement;

use crate::fixture::*;

const STAGES: u32 = 4;

/// The weights after a few stages of training, or nothing on a device without
/// raw access.
fn trained(runtime: &Runtime) -> Option<Vec<f32>> {
    // SAFETY: the classifier destroys what it makes before it lets go of the
    // access, and uses the queue only inside `with`.
    let access = unsafe { runtime.vulkan() }?;
    let classifier = Classifier::new(access, &Digits::load().unwrap()).unwrap();
    let charge = runtime.budget().charge(classifier.bytes(), "digits");
    let builder = NativeSession::builder(runtime).charge(charge.unwrap());
    // SAFETY: the classifier owns its stream, and `drain` waits for its end.
    let mut session = unsafe { builder.build(classifier, classifier::drain) };
    let mut epochs = 0;
    for _ in 0..STAGES {
        // SAFETY: the classifier uses its own stream alone.
        unsafe { session.run(|classifier| classifier.train(5, |_, _| epochs += 1)) }
            .unwrap()
            .unwrap();
    }
    assert_eq!(epochs, 20);
    // SAFETY: as above.
    let tested = unsafe { session.run(Classifier::test) }.unwrap().unwrap();
    assert!(tested.accuracy > 0.5 && tested.loss.is_finite());
    // SAFETY: as above.
    let weights = unsafe { session.run(Classifier::weights) }
        .unwrap()
        .unwrap();
    assert_eq!(weights.len(), 10 * (64 + 1));
    Some(weights)
}

#[test]
fn private_work_is_exact_beside_busy_lanes() {
    let runtime = runtime();
    let Some(alone) = trained(&runtime) else {
        return;
    };
    let done = AtomicBool::new(false);
    let beside = thread::scope(|scope| {
        let busy = scope.spawn(|| {
            let buffer = runtime.allocate(4096, MemoryPlacement::Device).unwrap();
            let mut graph = runtime.graph();
            let input = graph
                .upload(&buffer.view().slice(0, 2048).unwrap())
                .unwrap();
            graph
                .fill(&buffer.view().slice(2048, 2048).unwrap(), 0x0505_0505)
                .unwrap();
            let output = graph.download(&buffer.view()).unwrap();
            let prepared = graph.prepare().unwrap();
            let mut runs = 0_u8;
            while runs == 0 || !done.load(Ordering::SeqCst) {
                runs = runs.wrapping_add(1).max(1);
                let run = prepared.run().input(input, &[runs; 2048]).unwrap();
                let completion = run.submit().unwrap();
                completion.wait().unwrap();
                let bytes: Vec<u8> = completion.output(output).unwrap();
                assert_eq!(bytes, [[runs; 2048], [5; 2048]].concat());
            }
        });
        let beside = trained(&runtime);
        done.store(true, Ordering::SeqCst);
        busy.join().unwrap();
        beside
    });
    assert_eq!(beside, Some(alone));
}

#[test]
fn digits_that_are_none_are_refused() {
    assert_eq!(
        Digits::parse("1,2,3").map(|digits| digits.rows()).ok(),
        None
    );
    assert_eq!(Digits::load().unwrap().rows(), 1797);
}
