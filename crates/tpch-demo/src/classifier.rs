//! The native session that takes turns with the queries.
//!
//! Its model is the one of native-session's `digits` example, included by path:
//! an example cannot be depended on, and a copy could drift from what the
//! example shows. The queries and the model share nothing but the device.
#![expect(
    unsafe_code,
    reason = "a native session's obligations are stated, not checked"
)]

use backend_session::QueryLease;
use native_session::NativeSession;
use runtime_core::Runtime;

use crate::document;

#[expect(dead_code, reason = "the example also shows its weights and epochs")]
#[path = "../../native-session/examples/digits/classifier.rs"]
mod digits;

/// Epochs of training that one stage runs.
const EPOCHS: u32 = 5;

/// Bytes of the model's own buffers are below this.
pub(crate) const MOST_BYTES: u64 = 1 << 20;

/// Why the classifier could not be made, or a stage of it failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClassifierError {
    #[error("the device is no Vulkan device")]
    NoVulkan,
    #[error(transparent)]
    Model(#[from] digits::ClassifierError),
    #[error(transparent)]
    Runtime(#[from] runtime_core::Error),
}

/// A softmax classifier of handwritten digits, trained a few epochs a stage.
#[derive(Debug)]
pub(crate) struct Classifier {
    session: NativeSession<digits::Classifier>,
    rows: u64,
    stages: u64,
    accuracy: f64,
}

impl Classifier {
    pub(crate) fn new(runtime: &Runtime) -> Result<Classifier, ClassifierError> {
        // SAFETY: S44: the model's stream submits through the locked queue; D3: it
        // destroys its own objects only, each once it is drained.
        let access = unsafe { runtime.vulkan() }.ok_or(ClassifierError::NoVulkan)?;
        let images = digits::Digits::load()?;
        let model = digits::Classifier::new(access, &images)?;
        let charge = runtime.budget().charge(model.bytes(), "classifier");
        let charge = charge.map_err(runtime_core::Error::from)?;
        let builder = NativeSession::builder(runtime)
            .label("digits")
            .charge(charge);
        // SAFETY: N1: the model owns its stream and every object that it uses, on
        // the runtime's own device, and has submitted nothing; `drain` waits for
        // the stream's last value.
        let session = unsafe { builder.build(model, digits::drain) };
        Ok(Classifier {
            session,
            rows: images.rows() as u64,
            stages: 0,
            accuracy: 0.0,
        })
    }

    /// One stage under a lease: trains and tests. Blocks.
    pub(crate) fn run_stage(&mut self, lease: QueryLease) -> Result<(), ClassifierError> {
        let session = &mut self.session;
        let outcome = lease.run(|lease| {
            let stage = |model: &mut digits::Classifier| {
                model.train(EPOCHS, |_, _| ())?;
                model.test()
            };
            // SAFETY: N3: the stage submits to the model's own stream only, keeps
            // all that it uses in the model, lets nothing out, and waits for
            // nothing but that stream.
            unsafe { session.run_leased(lease, stage) }
        });
        self.accuracy = f64::from(outcome??.accuracy);
        self.stages += 1;
        Ok(())
    }

    pub(crate) fn facts(&self) -> document::Classifier {
        document::Classifier {
            stages: self.stages,
            images: self.stages * u64::from(EPOCHS) * self.rows,
            accuracy_percent: 100.0 * self.accuracy,
        }
    }
}
