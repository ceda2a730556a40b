//! Counting test cases in what test runners print.

#[cfg(test)]
mod tests;

/// How many cases passed and failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Those that passed.
    pub(crate) passed: u64,
    /// Those that failed.
    pub(crate) failed: u64,
}

impl Tally {
    /// One check that is no test case.
    pub(crate) fn one(passed: bool) -> Self {
        Self {
            passed: u64::from(passed),
            failed: u64::from(!passed),
        }
    }

    /// Adds another count.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    /// Adds what a line of a runner's output says, if it is a summary line of
    /// cargo's own runner or of nextest.
    pub(crate) fn see(&mut self, line: &str) {
        let line = without_colour(line);
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("test result:") {
            self.add(Self {
                passed: number_before(rest, "passed"),
                failed: number_before(rest, "failed"),
            });
        } else if line.starts_with("Summary [") && line.contains("run:") {
            // nextest writes "3 passed (1 slow)", "1 failed", "1 timed out".
            let rest = line.split_once("run:").map_or("", |(_, rest)| rest);
            self.add(Self {
                passed: number_before(rest, "passed"),
                failed: number_before(rest, "failed")
                    + number_before(rest, "timed out")
                    + number_before(rest, "exec failed"),
            });
        }
    }

    /// The count of a step: a step that ended badly without a failed case (it
    /// did not compile, it was ended) is one failure.
    #[must_use]
    pub(crate) fn of_step(mut self, ended_well: bool) -> Self {
        if !ended_well && self.failed == 0 {
            self.failed = 1;
        }
        if self == Self::default() {
            self.passed = 1;
        }
        self
    }
}

/// The number right before ` word`, among parts that `;`, `,` or `.` divide.
fn number_before(text: &str, word: &str) -> u64 {
    text.split([';', ',', '.'])
        .find_map(|part| {
            let (number, rest) = part.trim().split_once(' ')?;
            let named = rest
                .strip_prefix(word)
                .is_some_and(|more| more.is_empty() || more.starts_with(' '));
            if named { number.parse().ok() } else { None }
        })
        .unwrap_or(0)
}

/// The text without terminal colour sequences.
pub(crate) fn without_colour(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            // A sequence ends with its first letter.
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(letter);
        }
    }
    plain
}
