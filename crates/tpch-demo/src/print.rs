//! The document as tables for a person.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};

use crate::document::{Answer, Bytes, Document};

#[cfg(test)]
mod tests;

/// Names of abandoned reports that are printed.
const SHOWN_REPORTS: usize = 4;

/// The whole document as text.
pub(crate) fn tables(document: &Document) -> String {
    let mut text = heading(document);
    for answer in &document.answers {
        section(&mut text, &answer_title(answer), &answer_table(answer));
    }
    section(
        &mut text,
        &attempts_title(document),
        &attempts_table(document),
    );
    section(&mut text, "Times in milliseconds", &times_table(document));
    section(&mut text, "Bytes", &bytes_table(&document.bytes));
    section(&mut text, "Close", &close_table(document));
    for line in [
        abandoned(document),
        classifier(document),
        comparison(document),
    ] {
        text.push_str(&line);
        text.push('\n');
    }
    text.push_str(if document.passed() {
        "PASSED\n"
    } else {
        "FAILED\n"
    });
    text
}

fn heading(document: &Document) -> String {
    let (table, device) = (&document.table, &document.device);
    format!(
        "lineitem at scale factor {}: {} rows in {} MiB of columns, generated in {:.1} s\n\
         device: {} ({}, {})\n",
        table.scale,
        table.rows,
        mib(table.column_bytes),
        table.generated_in_ms / 1000.0,
        device.name,
        device.kind,
        device.driver,
    )
}

fn section(text: &mut String, title: &str, table: &Table) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n{title}\n{table}");
}

fn answer_title(answer: &Answer) -> String {
    let against = match &answer.published {
        Some(_) => "the published answer and the CPU",
        None => "the CPU",
    };
    let verdict = if answer.agrees {
        "agrees with"
    } else {
        "DIFFERS from"
    };
    format!(
        "{}: {verdict} {against} in {} runs",
        answer.query, answer.runs
    )
}

/// The device's rows, each followed by the row that it was checked against.
fn answer_table(answer: &Answer) -> Table {
    let (name, expected) = match &answer.published {
        Some(published) => ("published", published),
        None => ("CPU", &answer.cpu),
    };
    let mut table = table(&[&["from"], answer.columns].concat());
    for index in 0..answer.device.len().max(expected.len()) {
        for (from, rows) in [("device", &answer.device), (name, expected)] {
            let fields = rows.get(index).into_iter().flatten().map(String::as_str);
            table.add_row([from].into_iter().chain(fields));
        }
    }
    table
}

fn attempts_title(document: &Document) -> String {
    let attempts = &document.attempts;
    format!("{} attempts, {} reports", attempts.begun, attempts.reports)
}

fn attempts_table(document: &Document) -> Table {
    let mut table = table(&["arranged", "the reports say", "attempts", "otherwise"]);
    for kind in &document.attempts.kinds {
        let [count, otherwise] = [kind.count, kind.ended_otherwise].map(|count| count.to_string());
        table.add_row([kind.arranged, &kind.report, &count, &otherwise]);
    }
    numbers_right(&mut table, 2);
    table
}

fn times_table(document: &Document) -> Table {
    let mut table = table(&["of", "count", "p50", "p99", "max"]);
    for times in &document.times {
        let summary = &times.summary;
        let mut row = vec![times.of.clone(), summary.count.to_string()];
        row.extend([summary.p50_us, summary.p99_us, summary.max_us].map(ms));
        table.add_row(row);
    }
    numbers_right(&mut table, 1);
    table
}

fn bytes_table(bytes: &Bytes) -> Table {
    let mut table = table(&["", "MiB", "of the budget"]);
    for (name, count) in [
        ("budget", bytes.budget),
        ("capacity of the backend", bytes.capacity),
        ("resident columns", bytes.resident),
        ("peak resident and granted", bytes.peak_granted),
        ("peak of one attempt", bytes.peak_of_an_attempt),
        ("peak charged to the budget", bytes.peak_charged),
    ] {
        let share = format!("{:.1} %", 100.0 * count as f64 / bytes.budget.max(1) as f64);
        table.add_row([name.to_owned(), mib(count), share]);
    }
    numbers_right(&mut table, 1);
    table
}

fn close_table(document: &Document) -> Table {
    let close = &document.close;
    let mut table = table(&["of the close", ""]);
    let mut add = |fact: &str, value: String| {
        table.add_row([fact.to_owned(), value]);
    };
    add("attempts begun", close.attempts_begun.to_string());
    add(
        "devices free after",
        format!("{} ms", ms(close.gpu_quiescent_after_us)),
    );
    add("complete after", format!("{} ms", ms(close.elapsed_us)));
    add("bytes in quarantine", close.quarantined_bytes.to_string());
    add(
        "bytes retained by buffers",
        close.retained_bytes.to_string(),
    );
    add(
        "bytes still held by the runtime",
        close.still_held_bytes.to_string(),
    );
    add("bytes leaked", close.leaked_bytes.to_string());
    add(
        "submissions unfinished",
        close.unfinished_submissions.to_string(),
    );
    numbers_right(&mut table, 1);
    table
}

fn abandoned(document: &Document) -> String {
    let abandoned = &document.abandoned;
    let shown: Vec<_> = abandoned
        .taken
        .iter()
        .take(SHOWN_REPORTS)
        .map(String::as_str)
        .collect();
    let more = match abandoned.taken.len() - shown.len() {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!(
        "\nabandoned reports: {} pushed, {} overflowed, {} taken: {}{more}",
        abandoned.pushed,
        abandoned.overflowed,
        abandoned.taken.len(),
        shown.join("; "),
    )
}

fn classifier(document: &Document) -> String {
    let classifier = &document.classifier;
    format!(
        "classifier on the same device: {} stages, {} images, {:.2} % right",
        classifier.stages, classifier.images, classifier.accuracy_percent,
    )
}

fn comparison(document: &Document) -> String {
    let queries = document.comparison.iter().map(|one| {
        format!(
            "{} {} ms ({} ms from grant to answer) against {} ms",
            one.query,
            ms(one.lane_us),
            ms(one.answer_us),
            ms(one.cpu_us),
        )
    });
    format!(
        "median on the compute lane against a plain loop on one CPU thread: {}",
        queries.collect::<Vec<_>>().join("; "),
    )
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_BORDERS_ONLY)
        .set_header(header.iter().copied());
    table
}

fn numbers_right(table: &mut Table, first_column: usize) {
    for column in table.column_iter_mut().skip(first_column) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

fn ms(us: u64) -> String {
    format!("{:.2}", us as f64 / 1000.0)
}

fn mib(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / f64::from(1 << 20))
}
