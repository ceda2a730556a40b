//! What an attempt does with its grant on a real device.

use backend_session::QueryHandle;
use runtime_core::device::MemoryPlacement;
use runtime_core::lane::DrainScope;
use runtime_core::{Completion, OutputId, Runtime};
use tokio::sync::Mutex;

use crate::answers::Answer;
use crate::classifier::{Classifier, ClassifierError};
use crate::document;
use crate::drive::{Refused, Work};
use crate::kernels;
use crate::queries::Query;
use crate::resident::Resident;

/// Bytes that running a query allocates: its partial sums on the device, and
/// the staging of its one run slot that they are downloaded through.
pub(crate) fn grant_bytes(partial_bytes: u64) -> u64 {
    2 * partial_bytes
}

/// Queries over the resident columns, and the classifier that takes turns with
/// them.
pub(crate) struct DeviceWork {
    pub(crate) resident: Resident,
    pub(crate) classifier: Mutex<Classifier>,
}

impl DeviceWork {
    /// What the classifier did; for after the last attempt.
    pub(crate) fn classifier_facts(&self) -> document::Classifier {
        self.classifier.blocking_lock().facts()
    }
}

impl Work for DeviceWork {
    async fn answer(&self, handle: &QueryHandle, query: Query) -> Result<Answer, Refused> {
        let runtime = handle.runtime()?;
        Ok(submit(&runtime, &self.resident, query)?.answer().await?)
    }

    fn submit(&self, handle: &QueryHandle, query: Query) -> Result<(), Refused> {
        let runtime = handle.runtime()?;
        submit(&runtime, &self.resident, query)?;
        Ok(())
    }

    async fn classify(&self, handle: &QueryHandle) -> Result<(), Refused> {
        // The session first: whoever holds the lane then waits for nobody.
        let mut classifier = self.classifier.lock().await;
        let lease = handle.lease(DrainScope::All).await?;
        tokio::task::block_in_place(|| classifier.run_stage(lease))?;
        Ok(())
    }

    fn overdraw(&self, handle: &QueryHandle) -> Result<(), Refused> {
        let bytes = handle.granted_bytes() + 1;
        let runtime = handle.runtime()?;
        runtime.allocate_named(bytes, MemoryPlacement::Device, "more than granted")?;
        Ok(())
    }
}

impl From<backend_session::Error> for Refused {
    fn from(error: backend_session::Error) -> Self {
        Refused {
            code: error.code().to_string(),
        }
    }
}

impl From<runtime_core::Error> for Refused {
    fn from(error: runtime_core::Error) -> Self {
        Refused {
            code: error.code().to_owned(),
        }
    }
}

impl From<ClassifierError> for Refused {
    fn from(error: ClassifierError) -> Self {
        tracing::warn!(%error, "a classifier stage failed");
        match error {
            ClassifierError::Runtime(error) => error.into(),
            ClassifierError::NoVulkan | ClassifierError::Model(_) => Refused {
                code: "classifier".to_owned(),
            },
        }
    }
}

/// A query that the device has been given.
struct Submitted {
    query: Query,
    completion: Completion,
    partials: OutputId,
}

fn submit(runtime: &Runtime, resident: &Resident, query: Query) -> runtime_core::Result<Submitted> {
    let bytes = resident.partial_bytes(query);
    let buffer = runtime.allocate_named(bytes, MemoryPlacement::Device, "partial sums")?;
    let mut graph = runtime.graph();
    graph.label(query.name());
    resident.scan(&mut graph, query, &buffer.view())?;
    let partials = graph.download(&buffer.view())?;
    let completion = graph.prepare()?.run().submit()?;
    Ok(Submitted {
        query,
        completion,
        partials,
    })
}

impl Submitted {
    /// Waits for the device and adds up the partial sums.
    async fn answer(self) -> runtime_core::Result<Answer> {
        self.completion.clone().await?;
        let words = self.completion.output::<u32>(self.partials)?;
        Ok(kernels::answer(self.query, &words))
    }
}
