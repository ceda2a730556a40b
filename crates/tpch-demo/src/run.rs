//! One run of the program, from the options to the document.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use backend_session::{BackendMetricsSnapshot, GpuBackendSession};

use crate::answers::Answer;
use crate::columns::Lineitem;
use crate::document::{self, Attempts, Comparison, Document, TableFacts};
use crate::drive::{self, Closed};
use crate::error::DemoError;
use crate::open::{self, Opened, Sizes};
use crate::options::Options;
use crate::queries::Query;
use crate::tally::{self, Report};
use crate::{cpu, generate, lanes, trace};

#[cfg(test)]
mod tests;

/// Passes of the plain loop of which the best one counts.
const CPU_PASSES: usize = 3;

/// Longest wait for the device runtime to close.
const CLOSE_LIMIT: Duration = Duration::from_secs(10);

/// Runs everything that the options ask for and writes the files they name.
pub(crate) fn run(options: &Options) -> Result<Document, DemoError> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let start = Instant::now();
    let table = generate::lineitem(options.scale, threads)?;
    let table_facts = TableFacts {
        scale: options.scale,
        rows: table.rows(),
        column_bytes: table.bytes(),
        generated_in_ms: start.elapsed().as_secs_f64() * 1e3,
    };
    let sizes = Sizes::of(&table);
    let on_cpu = Query::ALL.map(|query| OnCpu::measure(query, &table));
    let opened = open::open(options.device.as_deref(), &table, &sizes, options.attempts)?;
    // The device has the columns now.
    drop(table);
    let executor = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_time()
        .build()
        .map_err(DemoError::Start)?;
    let session = opened.stage.session.clone();
    let closed = executor.block_on(async {
        let driven =
            drive::drive(&opened.stage, options.attempts, options.concurrency.get()).await?;
        drive::close(&opened.backend, driven).await
    })?;
    drop(executor);
    document(
        options,
        table_facts,
        (&sizes, &on_cpu),
        (opened, &session, &closed),
    )
}

/// A query on the CPU.
struct OnCpu {
    query: Query,
    answer: Answer,
    /// Of the best pass.
    took: Duration,
}

impl OnCpu {
    fn measure(query: Query, table: &Lineitem) -> OnCpu {
        let mut measured = OnCpu {
            query,
            answer: cpu::answer(query, table),
            took: Duration::MAX,
        };
        for _ in 0..CPU_PASSES {
            let start = Instant::now();
            measured.answer = std::hint::black_box(cpu::answer(query, table));
            measured.took = measured.took.min(start.elapsed());
        }
        measured
    }
}

fn document(
    options: &Options,
    table: TableFacts,
    (sizes, on_cpu): (&Sizes, &[OnCpu]),
    (opened, session, closed): (Opened, &GpuBackendSession, &Closed),
) -> Result<Document, DemoError> {
    let taken = session.take_abandoned_attempt_reports(usize::MAX);
    let reports = tally::reports(&closed.ended, &taken);
    let traced = opened.runtime.trace();
    let pieces = lanes::pieces(&traced);
    let device = open::device_facts(&opened.runtime);
    if let Some(path) = &options.trace {
        write_json(
            path,
            &trace::document(&device.name, &pieces, traced.dropped),
        )?;
    }
    if let Some(path) = &options.metrics {
        write(path, openmetrics(&session.backend_metrics_snapshot()))?;
    }
    let counters = session.attempt_counters_snapshot();
    let classifier = opened.stage.work.classifier_facts();
    let peak_charged = opened.budget.peak_bytes();
    let answers = on_cpu.iter().map(|on_cpu| {
        let runs = tally::runs(&closed.ended, on_cpu.query, &on_cpu.answer);
        document::Answer::judged(on_cpu.query, options.scale, &runs, on_cpu.answer.table())
    });
    let comparison = on_cpu.iter().map(|on_cpu| Comparison {
        query: on_cpu.query.name(),
        lane_us: tally::lane_time(&pieces, on_cpu.query).p50_us,
        answer_us: tally::answer_time(&reports, on_cpu.query).p50_us,
        cpu_us: u64::try_from(on_cpu.took.as_micros()).unwrap_or(u64::MAX),
    });
    Ok(Document {
        table,
        device,
        answers: answers.collect(),
        attempts: Attempts {
            begun: counters.attempts_begun,
            reports: counters.reports_ready,
            kinds: tally::kinds(&closed.ended, &reports),
        },
        times: tally::times(&reports, &pieces),
        bytes: bytes(sizes, &reports, peak_charged),
        classifier,
        abandoned: tally::abandoned(&closed.ended, &taken, &counters),
        comparison: comparison.collect(),
        close: close(opened, closed),
    })
}

fn bytes(sizes: &Sizes, reports: &[Report], peak_charged: u64) -> document::Bytes {
    document::Bytes {
        budget: sizes.budget,
        capacity: sizes.capacity,
        resident: sizes.resident,
        peak_granted: sizes.resident + tally::peak_granted(reports),
        peak_of_an_attempt: tally::peak_of_an_attempt(reports),
        peak_charged,
    }
}

/// Lets go of everything on the device, then closes its runtime.
fn close(opened: Opened, closed: &Closed) -> document::Close {
    let Opened {
        runtime,
        backend,
        reservation,
        stage,
        ..
    } = opened;
    drop((stage, reservation, backend));
    let at_end = runtime.close(CLOSE_LIMIT);
    let report = &closed.report;
    let quarantined = report.devices.iter().map(|device| device.quarantined_bytes);
    let retained = report.devices.iter().map(|device| device.retained_bytes);
    let us = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    document::Close {
        is_clean: report.is_clean()
            && at_end.still_held_bytes == 0
            && at_end.leaked_bytes == 0
            && at_end.unfinished == 0,
        attempts_begun: report.attempts_begun,
        gpu_quiescent_after_us: us(report.gpu_quiescent_after),
        elapsed_us: us(report.elapsed),
        quarantined_bytes: quarantined.sum(),
        retained_bytes: retained.sum(),
        still_held_bytes: at_end.still_held_bytes,
        leaked_bytes: at_end.leaked_bytes,
        unfinished_submissions: at_end.unfinished,
    }
}

fn openmetrics(snapshot: &BackendMetricsSnapshot) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = snapshot.to_openmetrics(&mut text);
    text
}

fn write_json(path: &Path, value: &serde_json::Value) -> Result<(), DemoError> {
    write(path, serde_json::to_string(value)?)
}

fn write(path: &Path, text: String) -> Result<(), DemoError> {
    fs::write(path, text).map_err(|source| DemoError::Write {
        path: path.to_owned(),
        source,
    })
}
