//! docs/SCENARIOS.md: every accepted scenario and the tests that show it.
//!
//! A row is `| R33 | the behaviour | crates/x/src/y/tests.rs::name |`, several
//! tests divided by `<br>`.

use std::collections::BTreeMap;

use super::Violation;
use super::code;
use super::tree::Tree;
use crate::test_gpu::IGNORED_RUN_HERE;

#[cfg(test)]
mod tests;

const TABLE: &str = "docs/SCENARIOS.md";

/// A row with an id in its first cell.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row<'a> {
    line: usize,
    id: &'a str,
    sentence: &'a str,
    tests: Vec<&'a str>,
}

/// Checks the table against the tests.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(text) = tree.text(TABLE) else {
        return vec![Violation::whole(TABLE, "the table is missing")];
    };
    let rows = rows(text);
    let mut found = Vec::new();
    if rows.is_empty() {
        found.push(Violation::whole(TABLE, "the table has no rows"));
    }
    let mut seen = BTreeMap::new();
    for row in &rows {
        let mut say = |words: String| found.push(Violation::at(TABLE, row.line, words));
        if !is_id(row.id) {
            say(format!(
                "`{}` is no scenario id (a letter of R, N, B, D and two digits)",
                row.id
            ));
        } else if let Some(first) = seen.insert(row.id, row.line) {
            say(format!("{} stands on line {first} already", row.id));
        }
        if row.sentence.is_empty() {
            say(format!("{} says nothing", row.id));
        }
        if row.tests.is_empty() {
            say(format!("{} names no test", row.id));
        }
        let mut runs = row.tests.is_empty();
        for test in &row.tests {
            match find(tree, test) {
                Ok(is_run) => runs |= is_run,
                Err(words) => {
                    runs = true;
                    say(format!("{}: {words}", row.id));
                }
            }
        }
        if !runs {
            say(format!("{} names ignored tests only", row.id));
        }
    }
    found
}

/// The rows of every table in the text, without heads and rules.
fn rows(text: &str) -> Vec<Row<'_>> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_rule =
        |line: &str| line.starts_with('|') && line.chars().all(|letter| "|-: ".contains(letter));
    let mut rows = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let is_head = lines.get(place + 1).is_some_and(|next| is_rule(next));
        if !line.starts_with('|') || is_rule(line) || is_head {
            continue;
        }
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let id = cells.next().unwrap_or_default();
        let sentence = cells.next().unwrap_or_default();
        // A sentence may itself hold a bar; the tests are the last cell.
        let tests = cells.next_back().unwrap_or_default();
        rows.push(Row {
            line: place + 1,
            id: id.trim_matches('`'),
            sentence,
            tests: tests
                .split("<br>")
                .map(|test| test.trim().trim_matches('`'))
                .filter(|test| !test.is_empty())
                .collect(),
        });
    }
    rows
}

/// A letter of the four groups and two digits.
fn is_id(id: &str) -> bool {
    let mut letters = id.chars();
    matches!(letters.next(), Some('R' | 'N' | 'B' | 'D'))
        && id.len() == 3
        && letters.all(|letter| letter.is_ascii_digit())
}

/// Looks for a `path::name` and says whether any run includes it, or what is
/// wrong with it.
fn find(tree: &Tree, test: &str) -> Result<bool, String> {
    let (path, name) = test
        .rsplit_once("::")
        .ok_or_else(|| format!("`{test}` is not of the form path::name"))?;
    let text = tree
        .text(path)
        .ok_or_else(|| format!("the file `{path}` does not exist"))?;
    let bare = code::bare(text);
    let line =
        code::function(&bare, name).ok_or_else(|| format!("`{path}` has no function `{name}`"))?;
    // Suites in `tests/` may list their cases in a macro, without attributes.
    if !path.contains("/tests/") && !code::is_test(&bare, line) {
        return Err(format!("`{name}` in `{path}` is no test"));
    }
    Ok(!code::is_ignored(&bare, line) || IGNORED_RUN_HERE.contains(&path))
}
