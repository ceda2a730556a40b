//! Snapshots whose test is gone, and pending ones that nobody decided on.

use super::Violation;
use super::tree::Tree;

#[cfg(test)]
mod tests;

/// Checks every snapshot.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in tree.files() {
        if path.ends_with(".snap.new") || path.ends_with(".pending-snap") {
            found.push(Violation::whole(
                path,
                "a pending snapshot: accept or reject it",
            ));
        } else if path.ends_with(".snap")
            && let Err(words) = judge(tree, path, text)
        {
            found.push(Violation::whole(path, words));
        }
    }
    found
}

/// Looks for the test of a snapshot: its header names the source, its file name
/// ends with the test's own name or the name given in the assertion.
fn judge(tree: &Tree, path: &str, text: &str) -> Result<(), String> {
    let source = text
        .lines()
        .skip(1)
        .take_while(|line| *line != "---")
        .find_map(|line| line.strip_prefix("source: "))
        .ok_or("its header names no source")?
        .trim()
        .trim_matches('"');
    let test = tree
        .text(source)
        .ok_or_else(|| format!("an orphan: `{source}` does not exist"))?;
    let name = name(path);
    if !test.contains(name) {
        return Err(format!("an orphan: `{source}` does not mention `{name}`"));
    }
    Ok(())
}

/// The last part of the file name, without the number that insta adds to the
/// second and later snapshots of one test. insta drops a leading `test_`, so
/// the name is looked for as a part of the source.
fn name(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    let file = file.trim_end_matches(".snap");
    let name = file.rsplit("__").next().unwrap_or(file);
    match name.rsplit_once('-') {
        Some((before, number))
            if !number.is_empty() && number.chars().all(|letter| letter.is_ascii_digit()) =>
        {
            before
        }
        _ => name,
    }
}
