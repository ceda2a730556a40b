//! Just enough Rust to see which names a source uses.

#[cfg(test)]
mod tests;

/// The source with comments and the insides of literals turned into spaces, so
/// that what is left is code, on the lines where it was.
pub(super) fn bare(source: &str) -> String {
    let letters: Vec<char> = source.chars().collect();
    let mut bare = String::with_capacity(source.len());
    let mut at = 0;
    while at < letters.len() {
        let end = skipped(&letters, at);
        if end == at {
            bare.push(letters[at]);
            at += 1;
        } else {
            for letter in &letters[at..end] {
                bare.push(if *letter == '\n' { '\n' } else { ' ' });
            }
            at = end;
        }
    }
    bare
}

/// Where the comment or literal that starts at `at` ends; `at` if none does.
fn skipped(letters: &[char], at: usize) -> usize {
    let next = letters.get(at + 1).copied();
    match letters[at] {
        '/' if next == Some('/') => line_end(letters, at),
        '/' if next == Some('*') => comment_end(letters, at),
        '"' => string_end(letters, at + 1),
        'r' | 'b' | 'c' if !after_name(letters, at) => prefixed_end(letters, at),
        '\'' => letter_end(letters, at),
        _ => at,
    }
}

fn line_end(letters: &[char], at: usize) -> usize {
    letters[at..]
        .iter()
        .position(|letter| *letter == '\n')
        .map_or(letters.len(), |length| at + length)
}

/// Block comments nest.
fn comment_end(letters: &[char], at: usize) -> usize {
    let mut depth = 0_usize;
    let mut here = at;
    while here < letters.len() {
        match (letters[here], letters.get(here + 1)) {
            ('/', Some('*')) => {
                depth += 1;
                here += 2;
            }
            ('*', Some('/')) => {
                depth -= 1;
                here += 2;
                if depth == 0 {
                    return here;
                }
            }
            _ => here += 1,
        }
    }
    here
}

/// The end of a string whose inside starts at `at`.
fn string_end(letters: &[char], at: usize) -> usize {
    let mut here = at;
    while here < letters.len() {
        match letters[here] {
            '\\' => here += 2,
            '"' => return here + 1,
            _ => here += 1,
        }
    }
    letters.len()
}

/// Strings with a prefix: `r"…"`, `r#"…"#`, `b"…"`, `br#"…"#`, `c"…"`, `b'…'`.
fn prefixed_end(letters: &[char], at: usize) -> usize {
    let mut here = at;
    while here < letters.len() && here < at + 2 && matches!(letters[here], 'r' | 'b' | 'c') {
        here += 1;
    }
    let raw = letters[at..here].contains(&'r');
    let hashes = letters[here..]
        .iter()
        .take_while(|letter| **letter == '#')
        .count();
    match letters.get(here + hashes) {
        Some('"') if raw => raw_end(letters, here + hashes + 1, hashes),
        Some('"') if hashes == 0 => string_end(letters, here + 1),
        Some('\'') if hashes == 0 && letters[at] == 'b' => letter_end(letters, here),
        _ => at,
    }
}

fn raw_end(letters: &[char], at: usize, hashes: usize) -> usize {
    let mut here = at;
    while here < letters.len() {
        let closes = letters[here] == '"'
            && letters[here + 1..]
                .iter()
                .take(hashes)
                .filter(|letter| **letter == '#')
                .count()
                == hashes;
        if closes {
            return here + 1 + hashes;
        }
        here += 1;
    }
    letters.len()
}

/// The end of a character literal; `at` itself for a lifetime.
fn letter_end(letters: &[char], at: usize) -> usize {
    match (letters.get(at + 1), letters.get(at + 2)) {
        (Some('\\'), _) => letters[at + 3..]
            .iter()
            .position(|letter| *letter == '\'')
            .map_or(letters.len(), |length| at + 3 + length + 1),
        (Some(_), Some('\'')) => at + 3,
        _ => at,
    }
}

fn after_name(letters: &[char], at: usize) -> bool {
    at > 0 && is_name_letter(letters[at - 1])
}

fn is_name_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// A path such as `std::sync::Arc` that a source names, with its line from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// The names of its segments; a leading `::` is dropped.
    pub(super) segments: Vec<String>,
    /// Where it starts.
    pub(super) line: usize,
}

impl Named {
    /// It is `path` or lies below it.
    pub(super) fn is_below(&self, path: &[&str]) -> bool {
        self.segments.len() >= path.len() && self.segments.iter().zip(path).all(|(a, b)| a == b)
    }
}

/// Every path of bare code, with the trees of `use` spelled out.
pub(super) fn paths(bare: &str) -> Vec<Named> {
    let tokens = tokens(bare);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].is_name() {
            at = path(&tokens, at, &[], &mut found);
        } else {
            at += 1;
        }
    }
    found
}

#[derive(Debug)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

impl Token<'_> {
    fn is_name(&self) -> bool {
        self.text.starts_with(is_name_letter)
    }
}

fn tokens(bare: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    for (place, text) in bare.lines().enumerate() {
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let names = rest
                .find(|letter| !is_name_letter(letter))
                .unwrap_or(rest.len());
            let length = if names > 0 {
                names
            } else if rest.starts_with("::") {
                2
            } else {
                rest.chars().next().map_or(1, char::len_utf8)
            };
            let (token, more) = rest.split_at(length);
            found.push(Token {
                text: token,
                line: place + 1,
            });
            rest = more.trim_start();
        }
    }
    found
}

/// Reads the path at `at` behind `prefix` and returns where it ends. A brace or
/// star behind `::` is a tree of `use`.
fn path(tokens: &[Token<'_>], at: usize, prefix: &[String], found: &mut Vec<Named>) -> usize {
    let mut segments = prefix.to_vec();
    let line = tokens[at].line;
    let mut here = at;
    loop {
        segments.push(tokens[here].text.to_owned());
        let divided = tokens.get(here + 1).is_some_and(|token| token.text == "::");
        match tokens.get(here + 2) {
            Some(next) if divided && next.is_name() => here += 2,
            Some(next) if divided && next.text == "{" => {
                return tree(tokens, here + 3, &segments, found);
            }
            _ => break,
        }
    }
    found.push(Named { segments, line });
    here + 1
}

fn tree(tokens: &[Token<'_>], at: usize, prefix: &[String], found: &mut Vec<Named>) -> usize {
    let mut here = at;
    while here < tokens.len() {
        match tokens[here].text {
            "}" => return here + 1,
            _ if tokens[here].is_name() => here = path(tokens, here, prefix, found),
            _ => here += 1,
        }
    }
    here
}

/// The line, from 1, of the function `name`, if bare code has one.
pub(super) fn function(bare: &str, name: &str) -> Option<usize> {
    let tokens = tokens(bare);
    tokens
        .windows(2)
        .find(|pair| pair[0].text == "fn" && pair[1].text == name)
        .map(|pair| pair[1].line)
}

/// The functions that carry an attribute with `test` in it.
pub(super) fn is_test(bare: &str, line: usize) -> bool {
    attributes(bare, line)
        .iter()
        .any(|text| text.contains("test"))
}

/// The function on that line is left out of ordinary runs.
pub(super) fn is_ignored(bare: &str, line: usize) -> bool {
    attributes(bare, line)
        .iter()
        .any(|text| text.starts_with("#[ignore"))
}

/// The attributes' lines above a function.
fn attributes(bare: &str, line: usize) -> Vec<&str> {
    let lines: Vec<&str> = bare.lines().take(line).collect();
    let body_before = |text: &str| text.ends_with('}') || text.ends_with(';');
    lines
        .iter()
        .rev()
        .skip(1)
        .map(|text| text.trim())
        .take_while(|text| !body_before(text))
        .filter(|text| text.starts_with("#["))
        .collect()
}

/// The module `name` is declared under a `cfg` that wants tests.
pub(super) fn is_test_module(bare: &str, name: &str) -> bool {
    let declares = |line: &str| {
        let line = line.trim().trim_end_matches(';');
        line.rsplit_once(' ').is_some_and(|(before, last)| {
            last == name && (before == "mod" || before.ends_with(" mod"))
        })
    };
    let lines: Vec<&str> = bare.lines().collect();
    let Some(place) = lines.iter().position(|line| declares(line)) else {
        return false;
    };
    lines[..place]
        .iter()
        .rev()
        .map(|line| line.trim())
        .take_while(|line| line.starts_with('#') || line.is_empty())
        .any(|line| line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test"))
}
