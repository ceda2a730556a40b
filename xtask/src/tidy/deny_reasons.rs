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
    let mut inside = None;
    let mut comment_above = false;
    for (place, line) in text.lines().map(str::trim).enumerate() {
        if inside.is_none() {
            inside = opened(line);
            if inside.is_some() && closes(line) {
                // A list on one line: its comment stands above or behind it.
                let empty = line.replace(' ', "").contains("=[]");
                if !empty && !comment_above && !has_reason(line) {
                    found.push(silent(place, line));
                }
                inside = None;
            }
        } else if line.starts_with(']') {
            inside = None;
        } else if is_entry(line) && !comment_above && !has_reason(line) {
            found.push(silent(place, line));
        }
        comment_above = line.starts_with('#');
    }
    found
}

/// The name of the list that this line opens.
fn opened(line: &str) -> Option<&'static str> {
    let (key, value) = line.split_once('=')?;
    let list = LISTS.into_iter().find(|list| *list == key.trim())?;
    value.trim().starts_with('[').then_some(list)
}

fn closes(line: &str) -> bool {
    code_of(line).trim_end().ends_with(']')
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
