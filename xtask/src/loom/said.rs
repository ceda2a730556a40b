//! Reading what model tests print.

/// One finished search, as its line tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Search {
    /// The claim that was searched for a counterexample.
    pub(super) claim: String,
    /// How many executions were tried.
    pub(super) executions: u64,
    /// Most preemptions of one execution.
    pub(super) bound: u32,
    /// A limit cut the search, so it proves nothing.
    pub(super) incomplete: bool,
}

/// The tests in `models` modules, among the lines of a test binary's `--list`.
pub(super) fn models(lines: &[String]) -> impl Iterator<Item = String> {
    lines.iter().filter_map(|line| {
        let path = line.strip_suffix(": test")?;
        let (modules, _) = path.rsplit_once("::")?;
        modules
            .split("::")
            .any(|module| module == "models")
            .then(|| path.to_owned())
    })
}

/// Reads `model <claim>: <n> executions, preemption bound <b>[, incomplete]`.
/// The test runner may have put its own words before it on the line.
pub(super) fn search(line: &str) -> Option<Search> {
    let (_, rest) = line.split_once("model ")?;
    let (rest, incomplete) = match rest.strip_suffix(", incomplete") {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let (rest, bound) = rest.rsplit_once(" executions, preemption bound ")?;
    let (claim, executions) = rest.rsplit_once(": ")?;
    Some(Search {
        claim: claim.to_owned(),
        executions: executions.parse().ok()?,
        bound: bound.parse().ok()?,
        incomplete,
    })
}
