//! Running other programs: shown, watched or captured.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// How often a running program is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long an ended program's pipes may stay open: a child of its own may hold them.
const PIPE_GRACE: Duration = Duration::from_secs(2);

/// A program with its arguments, not started yet.
#[derive(Debug)]
pub(crate) struct Program {
    command: Command,
    words: String,
}

/// What a captured program said and how it ended.
#[derive(Debug)]
pub(crate) struct Captured {
    /// It ended by itself, with success.
    pub(crate) success: bool,
    /// How it ended, for people.
    pub(crate) ending: String,
    /// Standard output and standard error, line by line as they came.
    pub(crate) lines: Vec<String>,
    /// How long it ran.
    pub(crate) elapsed: Duration,
}

impl Program {
    /// A program by name or path.
    pub(crate) fn new(name: impl AsRef<OsStr>) -> Self {
        let words = name.as_ref().to_string_lossy().into_owned();
        Self {
            command: Command::new(name),
            words,
        }
    }

    /// The cargo that runs us.
    pub(crate) fn cargo() -> Self {
        let path = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Self {
            command: Command::new(path),
            words: "cargo".into(),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub(crate) fn args<I, S>(mut self, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        for arg in args {
            self.words.push(' ');
            self.words.push_str(&arg.as_ref().to_string_lossy());
            self.command.arg(arg);
        }
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets the directory that it starts in.
    #[must_use]
    pub(crate) fn dir(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Sends its standard output to our standard error.
    #[must_use]
    pub(crate) fn aside(mut self) -> Self {
        self.command.stdout(std::io::stderr());
        self
    }

    /// Shows the command line, runs it on our own terminal, and wants success.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        self.show();
        let status = self.command.status().map_err(|source| self.start(source))?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::Ended {
            words: self.words,
            code: status.into(),
        })
    }

    /// Like [`Program::run`], and hands every line that it prints to `see`.
    pub(crate) fn watch(mut self, mut see: impl FnMut(&str)) -> Result<(), Failure> {
        self.show();
        let mut child = self.spawn()?;
        for (stream, line) in lines_of(&mut child) {
            match stream {
                Stream::Out => println!("{line}"),
                Stream::Err => eprintln!("{line}"),
            }
            see(&line);
        }
        let status = child.wait().map_err(|source| self.start(source))?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::Ended {
            words: self.words,
            code: status.into(),
        })
    }

    /// Runs it silently, at most for `limit`, and returns what it said.
    pub(crate) fn capture(mut self, limit: Duration) -> Result<Captured, Failure> {
        let began = Instant::now();
        let mut child = self.spawn()?;
        let said = lines_of(&mut child);
        let mut lines = Vec::new();
        let (status, timed_out) = loop {
            lines.extend(said.try_iter().map(|(_, line)| line));
            if let Some(status) = child.try_wait().map_err(|source| self.start(source))? {
                break (Some(status), false);
            }
            if began.elapsed() >= limit {
                // Both may fail only when it has just ended, which is as well.
                let _ = child.kill();
                break (child.wait().ok(), true);
            }
            thread::sleep(LOOK_EVERY);
        };
        let elapsed = began.elapsed();
        let patience = Instant::now() + PIPE_GRACE;
        while let Ok((_, line)) =
            said.recv_timeout(patience.saturating_duration_since(Instant::now()))
        {
            lines.push(line);
        }
        Ok(Captured {
            success: !timed_out && status.is_some_and(|status| status.success()),
            ending: ending(status, timed_out, limit),
            lines,
            elapsed,
        })
    }

    /// Runs it and returns its standard output alone; its errors go to ours.
    pub(crate) fn output(mut self) -> Result<Vec<u8>, Failure> {
        self.show();
        let output = self
            .command
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|source| self.start(source))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(Failure::Ended {
            words: self.words,
            code: output.status.into(),
        })
    }

    /// It starts and ends with success; nothing is shown.
    pub(crate) fn works(mut self) -> bool {
        self.command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    /// Its standard output, when it ends with success; nothing is shown.
    pub(crate) fn output_quietly(mut self) -> Option<String> {
        let output = self
            .command
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn show(&self) {
        // Standard output belongs to the program: `demo --json` is a document.
        let _ = writeln!(std::io::stderr(), "$ {}", self.words);
    }

    fn spawn(&mut self) -> Result<Child, Failure> {
        self.command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| self.start(source))
    }

    fn start(&self, source: std::io::Error) -> Failure {
        Failure::Start {
            program: self.words.clone(),
            source,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Stream {
    Out,
    Err,
}

/// Both streams of a child as one sequence of lines. It ends when both do.
fn lines_of(child: &mut Child) -> mpsc::Receiver<(Stream, String)> {
    let (sender, receiver) = mpsc::channel();
    if let Some(out) = child.stdout.take() {
        follow(out, Stream::Out, sender.clone());
    }
    if let Some(err) = child.stderr.take() {
        follow(err, Stream::Err, sender);
    }
    receiver
}

fn follow(
    pipe: impl Read + Send + 'static,
    stream: Stream,
    sender: mpsc::Sender<(Stream, String)>,
) {
    thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut bytes = Vec::new();
        // Bytes, not text: a driver may print what is no UTF-8.
        while matches!(reader.read_until(b'\n', &mut bytes), Ok(read) if read > 0) {
            let line = String::from_utf8_lossy(&bytes);
            let line = line.trim_end_matches(['\n', '\r']).to_owned();
            if sender.send((stream, line)).is_err() {
                return;
            }
            bytes.clear();
        }
    });
}

fn ending(status: Option<ExitStatus>, timed_out: bool, limit: Duration) -> String {
    match status {
        _ if timed_out => format!("still running after {} s", limit.as_secs()),
        Some(status) => status.to_string(),
        None => "its end was not seen".into(),
    }
}
