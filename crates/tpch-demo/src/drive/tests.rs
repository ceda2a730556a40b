//! The whole drive over a ledger: no device is opened.

use backend_session::GpuBackend;
use tokio::time::timeout;

use super::*;
use crate::answers::Q6Answer;
use crate::tally;

/// Long enough for every machine; a test that meets it has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Work that needs no device.
struct Pretends;

impl Work for Pretends {
    async fn answer(&self, _: &QueryHandle, _: Query) -> Result<Answer, Refused> {
        tokio::task::yield_now().await;
        Ok(Answer::Q6(Q6Answer { revenue: 7 }))
    }

    fn submit(&self, _: &QueryHandle, _: Query) -> Result<(), Refused> {
        Ok(())
    }

    async fn classify(&self, _: &QueryHandle) -> Result<(), Refused> {
        Ok(())
    }

    fn overdraw(&self, _: &QueryHandle) -> Result<(), Refused> {
        Err(Refused {
            code: "over_budget".to_owned(),
        })
    }
}

#[test]
fn every_arrangement_ends_as_arranged() {
    let backend = GpuBackend::builder()
        .ledger_device(0, 400)
        .completion_queue(64)
        .build()
        .unwrap();
    let session = backend.session();
    let stage = Arc::new(Stage {
        session: session.clone(),
        work: Pretends,
        grantable_bytes: 400,
        grant_bytes: 100,
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let ended = runtime.block_on(async {
        let driven = timeout(PATIENCE, drive(&stage, 64, 8)).await;
        let driven = driven.expect("every attempt ends").unwrap();
        close(&backend, driven).await.unwrap()
    });
    assert_eq!(ended.ended.len(), 64);
    let abandoned = session.take_abandoned_attempt_reports(64);
    assert_eq!(abandoned.len(), 6);
    let reports = tally::reports(&ended.ended, &abandoned);
    assert_eq!(reports.len(), 64);
    let kinds = tally::kinds(&ended.ended, &reports);
    for kind in &kinds {
        assert_eq!(kind.ended_otherwise, 0, "{kind:?}");
        assert!(kind.count > 0, "{kind:?}");
    }
    assert_eq!(kinds.len(), Arrangement::ALL.len());
}
