//! A classifier of handwritten digits, with Vulkan objects of its own.
//!
//! It is a foreign state in the sense of a native session: a linear softmax
//! model, trained by gradient descent with momentum over all rows at once, on a
//! private [`Stream`]. It starts from zero weights and adds in a fixed order, so
//! one device always trains the same weights.
//!
//! Everything that submits must run in a stage of the session that owns the
//! classifier; [`drain`] is that session's fence.

#[path = "classifier/stream.rs"]
pub(crate) mod stream;

use std::ffi::CStr;
use std::fmt;
use std::io::Read as _;

use flate2::read::GzDecoder;
use runtime_core::device::vulkan::VulkanAccess;
use runtime_core::kernel::{KernelError, Wgsl, compile};

use stream::{Bound, Recorded, Storage, Stream, StreamFault};

/// Pixels of a picture.
const INPUTS: usize = 64;
/// Digits.
const CLASSES: usize = 10;
/// The greatest count of a pixel.
const MOST_INK: f32 = 16.0;
/// The last rows of the data, which are never trained on.
const TEST_ROWS: usize = 360;
/// The workgroups of `step_down`: inputs with the bias, and classes.
const PER_WEIGHT: [u32; 3] = [65, 10, 1];
/// Invocations of a workgroup of `classify`.
const ROWS_PER_GROUP: usize = 64;

/// Why there is no classifier, or it does not go on.
#[derive(Debug)]
#[non_exhaustive]
pub(crate) enum ClassifierError {
    /// The data could not be unpacked.
    Unpack(std::io::Error),
    /// A line of the data is not 64 pixel counts and a label.
    Line {
        /// Its number, from 1.
        number: usize,
    },
    /// The data has too few rows to hold some back.
    TooFewRows {
        /// How many there are.
        rows: usize,
    },
    /// A kernel could not be translated.
    Kernel(KernelError),
    /// The private stream failed.
    Stream(StreamFault),
}

impl fmt::Display for ClassifierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unpack(_) => f.write_str("the digits could not be unpacked"),
            Self::Line { number } => write!(f, "line {number} is not 64 counts and a label"),
            Self::TooFewRows { rows } => write!(f, "{rows} rows leave none to train on"),
            Self::Kernel(_) => f.write_str("a kernel could not be translated"),
            Self::Stream(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for ClassifierError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unpack(error) => Some(error),
            Self::Kernel(error) => Some(error),
            Self::Stream(_) | Self::Line { .. } | Self::TooFewRows { .. } => None,
        }
    }
}

impl From<StreamFault> for ClassifierError {
    fn from(fault: StreamFault) -> Self {
        Self::Stream(fault)
    }
}

type Result<T> = std::result::Result<T, ClassifierError>;

/// Pictures of digits and what they show.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Digits {
    /// 64 values from 0 to 1 per row.
    images: Vec<f32>,
    labels: Vec<u32>,
}

impl Digits {
    /// The 1,797 rows that come with the example.
    pub(crate) fn load() -> Result<Self> {
        let mut text = String::new();
        GzDecoder::new(&include_bytes!("digits.csv.gz")[..])
            .read_to_string(&mut text)
            .map_err(ClassifierError::Unpack)?;
        Self::parse(&text)
    }

    /// Rows of 64 pixel counts from 0 to 16 and a label, separated by commas.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut digits = Self::default();
        for (index, line) in text.lines().enumerate() {
            let bad = ClassifierError::Line { number: index + 1 };
            let values: std::result::Result<Vec<u8>, _> =
                line.split(',').map(|value| value.trim().parse()).collect();
            match values.as_deref() {
                Ok([pixels @ .., label])
                    if pixels.len() == INPUTS && usize::from(*label) < CLASSES =>
                {
                    let inked = pixels.iter().map(|&count| f32::from(count) / MOST_INK);
                    digits.images.extend(inked);
                    digits.labels.push(u32::from(*label));
                }
                _ => return Err(bad),
            }
        }
        Ok(digits)
    }

    /// How many there are.
    pub(crate) fn rows(&self) -> usize {
        self.labels.len()
    }

    /// The rows before `row`, and the others.
    fn split_at(&self, row: usize) -> (Self, Self) {
        let (images, test_images) = self.images.split_at(row * INPUTS);
        let (labels, test_labels) = self.labels.split_at(row);
        let of = |images: &[f32], labels: &[u32]| Self {
            images: images.to_vec(),
            labels: labels.to_vec(),
        };
        (of(images, labels), of(test_images, test_labels))
    }
}

/// The model, its rows, and the commands that train and test it.
#[derive(Debug)]
pub(crate) struct Classifier {
    stream: Stream,
    weights: Storage,
    train: Batch,
    test: Batch,
    train_once: Recorded,
    test_once: Recorded,
    bytes: u64,
    epochs: u32,
}

/// Some rows on the device, and where their outcome ends up.
#[derive(Debug)]
struct Batch {
    rows: usize,
    images: Storage,
    errors: Storage,
    total: Storage,
    classify: (Bound, [u32; 3]),
    tally: (Bound, [u32; 3]),
}

/// How well a batch was classified.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Outcome {
    /// The mean of the rows' cross entropies, in nats.
    pub(crate) loss: f32,
    /// The share of rows whose digit got the highest score, from 0 to 1.
    pub(crate) accuracy: f32,
}

impl Classifier {
    /// An untrained classifier, with the last 360 rows held back for testing.
    /// Nothing is submitted.
    pub(crate) fn new(access: VulkanAccess, digits: &Digits) -> Result<Self> {
        let rows = digits.rows();
        let train_rows = rows.checked_sub(TEST_ROWS).filter(|&rows| rows > 0);
        let train_rows = train_rows.ok_or(ClassifierError::TooFewRows { rows })?;
        let (train, test) = digits.split_at(train_rows);

        let mut parts = Parts::new(access)?;
        let zeros = [0.0_f32; CLASSES * (INPUTS + 1)];
        let weights = parts.filled(&zeros)?;
        let velocity = parts.filled(&zeros)?;
        let train = parts.batch(&train, weights)?;
        let test = parts.batch(&test, weights)?;

        let step = parts.kernel(include_str!("classifier/step.wgsl"), c"step_down", 4)?;
        let buffers = [train.images, train.errors, weights, velocity];
        let step = parts.stream.bind(step, &buffers)?;
        let train_once = parts
            .stream
            .record(&[&[train.classify], &[train.tally, (step, PER_WEIGHT)]])?;
        let test_once = parts.stream.record(&[&[test.classify], &[test.tally]])?;
        Ok(Self {
            stream: parts.stream,
            weights,
            train,
            test,
            train_once,
            test_once,
            bytes: parts.bytes,
            epochs: 0,
        })
    }

    /// The bytes of its buffers, for a charge.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Trains `epochs` epochs, and tells `progress` after each: its number, from
    /// 1, and the outcome that it started from.
    pub(crate) fn train(
        &mut self,
        epochs: u32,
        mut progress: impl FnMut(u32, Outcome),
    ) -> Result<()> {
        for _ in 0..epochs {
            self.stream.submit(self.train_once)?;
            let outcome = outcome(&mut self.stream, &self.train)?;
            self.epochs += 1;
            progress(self.epochs, outcome);
        }
        Ok(())
    }

    /// Classifies the rows that were held back.
    pub(crate) fn test(&mut self) -> Result<Outcome> {
        self.stream.submit(self.test_once)?;
        outcome(&mut self.stream, &self.test)
    }

    /// The weights: for each digit 64 and a bias.
    pub(crate) fn weights(&mut self) -> Result<Vec<f32>> {
        let bytes = self.stream.read(self.weights)?;
        let words = bytes.chunks_exact(size_of::<f32>());
        Ok(words.map(bytemuck::pod_read_unaligned).collect())
    }
}

/// The fence of a session that owns a classifier.
pub(crate) fn drain(classifier: &mut Classifier) -> runtime_core::Result<()> {
    classifier
        .stream
        .drain()
        .map_err(runtime_core::Error::foreign)
}

fn outcome(stream: &mut Stream, batch: &Batch) -> Result<Outcome> {
    let bytes = stream.read(batch.total)?;
    let total: [f32; 2] = bytemuck::pod_read_unaligned(&bytes);
    let rows = batch.rows as f32;
    Ok(Outcome {
        loss: total[0] / rows,
        accuracy: total[1] / rows,
    })
}

/// A classifier that is being made.
struct Parts {
    stream: Stream,
    classify: stream::Kernel,
    tally: stream::Kernel,
    bytes: u64,
}

impl Parts {
    fn new(access: VulkanAccess) -> Result<Self> {
        let mut stream = Stream::new(access)?;
        let source = include_str!("classifier/classify.wgsl");
        let classify = kernel(&mut stream, source, c"classify", 5)?;
        let source = include_str!("classifier/tally.wgsl");
        let tally = kernel(&mut stream, source, c"tally", 2)?;
        Ok(Self {
            stream,
            classify,
            tally,
            bytes: 0,
        })
    }

    fn kernel(&mut self, source: &str, entry: &CStr, bindings: u32) -> Result<stream::Kernel> {
        kernel(&mut self.stream, source, entry, bindings)
    }

    fn filled<V: bytemuck::NoUninit>(&mut self, values: &[V]) -> Result<Storage> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let storage = self.empty(bytes.len())?;
        self.stream.write(storage, bytes)?;
        Ok(storage)
    }

    fn empty(&mut self, bytes: usize) -> Result<Storage> {
        self.bytes += bytes as u64;
        Ok(self.stream.storage(bytes)?)
    }

    fn batch(&mut self, digits: &Digits, weights: Storage) -> Result<Batch> {
        let rows = digits.rows();
        let images = self.filled(&digits.images)?;
        let labels = self.filled(&digits.labels)?;
        let errors = self.empty(rows * CLASSES * size_of::<f32>())?;
        let outcomes = self.empty(rows * size_of::<[f32; 2]>())?;
        let total = self.empty(size_of::<[f32; 2]>())?;
        let buffers = [images, labels, weights, errors, outcomes];
        let classify = self.stream.bind(self.classify, &buffers)?;
        let tally = self.stream.bind(self.tally, &[outcomes, total])?;
        let groups = u32::try_from(rows.div_ceil(ROWS_PER_GROUP)).unwrap_or(u32::MAX);
        Ok(Batch {
            rows,
            images,
            errors,
            total,
            classify: (classify, [groups, 1, 1]),
            tally: (tally, [1, 1, 1]),
        })
    }
}

fn kernel(
    stream: &mut Stream,
    source: &str,
    entry: &CStr,
    bindings: u32,
) -> Result<stream::Kernel> {
    // The runtime's translation checks the source against the device's limits and
    // keeps every index inside its buffer.
    let wgsl = Wgsl::new(source).entry(entry.to_string_lossy());
    let compiled = compile(&wgsl, &stream.limits()).map_err(ClassifierError::Kernel)?;
    Ok(stream.kernel(&compiled.spirv, entry, bindings)?)
}
