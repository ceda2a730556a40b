//! Trains a classifier of handwritten digits as a native session: foreign
//! Vulkan work that takes turns with the prepared graphs of one runtime.
//!
//! ```text
//! cargo run --release -p native-session --example digits
//! ```

mod classifier;

use std::error::Error;

use classifier::{Classifier, ClassifierError, Digits};
use native_session::NativeSession;
use runtime_core::{Runtime, RuntimeOptions};

/// One stage; between two of them the lane is free for others.
const EPOCHS_PER_STAGE: u32 = 10;
const STAGES: u32 = 40;
/// The least accuracy on the rows that were held back.
const LEAST_ACCURACY: f32 = 0.9;

fn main() -> Result<(), Box<dyn Error>> {
    let options = RuntimeOptions::default()
        .label("digits")
        .allow_software(true);
    let runtime = Runtime::with_options(options)?;
    #[expect(
        unsafe_code,
        reason = "raw handles carry obligations that no type can state"
    )]
    // SAFETY: D3: the classifier destroys what it makes before it lets the access go,
    // uses the queue only inside `with`, and touches no buffer of the runtime.
    let access = unsafe { runtime.vulkan() }.ok_or("the runtime has no Vulkan device")?;
    println!("on {}", runtime.device().name);

    let digits = Digits::load()?;
    let classifier = Classifier::new(access, &digits)?;
    let charge = runtime.budget().charge(classifier.bytes(), "digits")?;
    let builder = NativeSession::builder(&runtime)
        .label("digits")
        .charge(charge);
    #[expect(
        unsafe_code,
        reason = "a session's obligations are stated, not checked"
    )]
    // SAFETY: N1: the classifier owns the stream and every object that it uses, on
    // the runtime's own device, and has submitted nothing; `drain` waits for the
    // stream's last value.
    let mut session = unsafe { builder.build(classifier, classifier::drain) };

    for _ in 0..STAGES {
        let mut print = |epoch, outcome: classifier::Outcome| {
            println!("epoch {epoch:3}: loss {:.4}", outcome.loss);
        };
        #[expect(unsafe_code, reason = "a stage's obligations are stated, not checked")]
        // SAFETY: N3: the classifier submits to its own stream, keeps all that it
        // uses, and waits for nothing else; the callback only prints.
        let trained =
            unsafe { session.run(|classifier| classifier.train(EPOCHS_PER_STAGE, &mut print)) };
        trained??;
    }

    #[expect(unsafe_code, reason = "a stage's obligations are stated, not checked")]
    // SAFETY: N3, as above.
    let tested = unsafe {
        session
            .run(|classifier| Ok::<_, ClassifierError>((classifier.test()?, classifier.weights()?)))
    };
    let (outcome, weights) = tested??;
    let accuracy = outcome.accuracy;
    let strongest = weights
        .iter()
        .fold(0.0_f32, |most, weight| most.max(weight.abs()));
    println!("{} weights, the strongest {strongest:.2}", weights.len());
    println!("accuracy on the rows held back: {:.1} %", accuracy * 100.0);
    if accuracy < LEAST_ACCURACY {
        return Err(format!("that is less than {LEAST_ACCURACY}").into());
    }
    Ok(())
}
