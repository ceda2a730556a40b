//! deny.toml: every exception stands beside its reason.

use super::Violation;
use super::tree::Tree;

#[cfg(test)]
mod tests;

const FILE: &str = "deny.toml";

/// Lists whose entries are exceptions to a rule, or rules of their own.
const LISTS: [&str; 9] = [
    "ignore",
    "exceptions",
    "skip",
    "skip-tree",
    "deny",
    "allow-git",
    "allow-registry",
    "clarify",
    "wrappers",
];

/// Checks that each entry has a `reason`, or a comment on its line or above it.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(text) = tree.text(FILE) else {
        return vec![Violation::whole(FILE, "the file is missing")];
    };
    let mut found = Vec::new();
    // How many brackets are open since the list began; entries may hold lists.
    let mut depth = 0;
    let mut comment_above = false;
    for (place, line) in text.lines().map(str::trim).enumerate() {
        let is_first = depth == 0;
        if !is_first || opens_list(line) {
            depth += depth_change(line);
        }
        // A list on one line is an entry of its own, unless it is empty.
        let on_one_line = is_first && depth == 0 && opens_list(line) && !is_empty(line);
        let wants_reason = on_one_line || (!is_first && is_entry(line));
        if wants_reason && !comment_above && !has_reason(line) {
            found.push(silent(place, line));
        }
        comment_above = line.starts_with('#');
    }
    found
}

/// The line begins one of the lists.
fn opens_list(line: &str) -> bool {
    line.split_once('=').is_some_and(|(key, value)| {
        LISTS.contains(&key.trim()) && value.trim_start().starts_with('[')
    })
}

/// How many more brackets the line opens than it closes.
fn depth_change(line: &str) -> i32 {
    let mut quoted = false;
    let mut change = 0;
    for letter in code_of(line).chars() {
        match letter {
            '"' => quoted = !quoted,
            '[' if !quoted => change += 1,
            ']' if !quoted => change -= 1,
            _ => {}
        }
    }
    change
}

fn is_empty(line: &str) -> bool {
    code_of(line).replace(' ', "").ends_with("=[]")
}

fn is_entry(line: &str) -> bool {
    line.starts_with('{') || line.starts_with('"')
}

fn has_reason(line: &str) -> bool {
    line.contains("reason =") || code_of(line).len() < line.len()
}

/// The line up to a comment; a `#` inside quotes starts none.
fn code_of(line: &str) -> &str {
    let mut quoted = false;
    for (place, letter) in line.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            '#' if !quoted => return &line[..place],
            _ => {}
        }
    }
    line
}

fn silent(place: usize, line: &str) -> Violation {
    Violation::at(FILE, place + 1, format!("no reason beside `{line}`"))
}
