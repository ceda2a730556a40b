//! Why a kernel cannot be built.

use std::fmt;

use runtime_sync::unmodelled::Arc;

use crate::device::BindingKind;

/// Where in a source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// The line, from 1.
    pub line: u32,
    /// The byte in the line, from 1.
    pub column: u32,
}

/// Why a kernel cannot be built. It never concerns another kernel, and no driver
/// was asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The source or the module is longer than is looked at.
    #[error("the kernel has {bytes} bytes, at most {limit_bytes} are allowed")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The longest that is allowed.
        limit_bytes: usize,
    },
    /// The source is not WGSL.
    #[error("the source does not parse{}: {message}", At(*.place))]
    Parse {
        /// Where, if the parser knows.
        place: Option<Place>,
        /// The parser's own words.
        message: Arc<str>,
    },
    /// The source is WGSL, but breaks its rules or asks for a capability that no
    /// kernel here has.
    #[error("the source is invalid{}: {message}", At(*.place))]
    Invalid {
        /// Where, if the validator knows.
        place: Option<Place>,
        /// The validator's own words.
        message: Arc<str>,
    },
    /// There is no compute entry point of this name.
    #[error("there is no compute entry point `{name}`, but {}", Names(.known))]
    NoEntryPoint {
        /// The name that was asked for.
        name: Arc<str>,
        /// The compute entry points that there are.
        known: Vec<Arc<str>>,
    },
    /// No entry point was named, and there is not exactly one.
    #[error("an entry point must be named; there are {}", Names(.known))]
    EntryUnstated {
        /// The compute entry points that there are.
        known: Vec<Arc<str>>,
    },
    /// A value was given for a constant that the kernel lacks.
    #[error("there is no constant `{name}`, but {}", Names(.known))]
    NoSuchConstant {
        /// The name (or id) that was given.
        name: Arc<str>,
        /// The constants that there are.
        known: Vec<Arc<str>>,
    },
    /// A constant without a default got no value.
    #[error("the constant `{name}` has no value")]
    ConstantUnstated {
        /// Its name.
        name: Arc<str>,
    },
    /// A constant cannot have this value.
    #[error("the constant `{name}` cannot be {value}")]
    ConstantUnfit {
        /// Its name.
        name: Arc<str>,
        /// The value that was given.
        value: f64,
    },
    /// A variable of the kernel cannot be bound.
    #[error("`{name}` (group {group}, binding {binding}) {fault}")]
    UnsupportedBinding {
        /// Its name, empty where it has none.
        name: Arc<str>,
        /// Its group.
        group: u32,
        /// Its number.
        binding: u32,
        /// What is wrong.
        fault: BindingFault,
    },
    /// A module's binding is not what its contract says.
    #[error(
        "binding {binding} of group {group} is {} in the module and {} in the contract",
        Kind(*.found),
        Kind(*.stated)
    )]
    ContractBroken {
        /// Its group.
        group: u32,
        /// Its number.
        binding: u32,
        /// What the contract says; `None`: it does not have it.
        stated: Option<BindingKind>,
        /// What the module says; `None`: it does not use it.
        found: Option<BindingKind>,
    },
    /// The kernel binds more storage buffers than the device can.
    #[error("{count} storage buffers are bound, the device allows {limit}")]
    TooManyBindings {
        /// How many.
        count: usize,
        /// The device's limit.
        limit: u32,
    },
    /// The smallest view that a binding could take is too large for the device.
    #[error("`{name}` needs {least_bytes} bytes, the device binds at most {limit_bytes}")]
    BindingTooLarge {
        /// Its name.
        name: Arc<str>,
        /// The fewest bytes of a view.
        least_bytes: u64,
        /// The device's limit.
        limit_bytes: u64,
    },
    /// The workgroup has an axis of zero or past the device's limits.
    #[error(
        "a workgroup of {workgroup:?} is past the device's limits of {limit:?} \
         and {limit_invocations} invocations"
    )]
    WorkgroupSize {
        /// Invocations along each axis.
        workgroup: [u32; 3],
        /// The limit along each axis.
        limit: [u32; 3],
        /// The limit of all together.
        limit_invocations: u32,
    },
    /// The module does not say how large its workgroup is, nor the contract.
    #[error("neither the module nor the contract gives the workgroup's size")]
    WorkgroupUnstated,
    /// The module's workgroup is not the contract's.
    #[error("the module's workgroup is {found:?}, the contract says {stated:?}")]
    WorkgroupBroken {
        /// What the contract says.
        stated: [u32; 3],
        /// What the module says.
        found: [u32; 3],
    },
    /// The workgroup's variables are too large for the device.
    #[error("{bytes} bytes of workgroup memory, the device allows {limit_bytes}")]
    WorkgroupMemory {
        /// Their bytes.
        bytes: u64,
        /// The device's limit.
        limit_bytes: u64,
    },
    /// One invocation's variables, or one value in it, are too large.
    #[error("{bytes} bytes in one invocation, at most {limit_bytes} are allowed")]
    InvocationMemory {
        /// Their bytes.
        bytes: u64,
        /// The most that is allowed.
        limit_bytes: u64,
    },
    /// The module asks for a capability that the device was not opened with.
    #[error("the module needs the capability {name}")]
    UnsupportedCapability {
        /// Its name, as SPIR-V spells it.
        name: Arc<str>,
    },
    /// The words are not a SPIR-V module.
    #[error("the module {0}")]
    Malformed(Malformed),
    /// A valid source could not be translated.
    #[error("the source could not be translated: {message}")]
    Translation {
        /// The translator's own words.
        message: Arc<str>,
    },
    /// The compiler panicked on this kernel.
    #[error("the compiler panicked on this kernel")]
    CompilerPanicked,
    /// The operating system refused a thread with the stack that the source may
    /// need.
    #[error("no thread with {stack_bytes} bytes of stack could be started")]
    NoThread {
        /// The stack.
        stack_bytes: usize,
    },
}

/// What is wrong with a variable that should be bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BindingFault {
    /// It is a texture, a sampler, or something else that is no buffer.
    NoBuffer,
    /// It is an array of buffers.
    Array,
    /// It is push-constant data.
    Immediate,
    /// Groups other than 0 (buffers) and binding 0 of 1 (parameters) are not bound.
    Group,
    /// The number is past the largest that may be used.
    Number {
        /// The largest.
        limit: u32,
    },
    /// Another variable has this group and number.
    Taken,
    /// The variable at the place of the parameters is no uniform.
    NotUniform,
    /// The parameters are too large.
    ParametersTooLarge {
        /// Their bytes.
        bytes: u64,
        /// The most that is allowed.
        limit_bytes: u64,
    },
}

/// Why words are not a SPIR-V module.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Malformed {
    /// A length in bytes that is no multiple of 4.
    PartialWord {
        /// The length.
        bytes: usize,
    },
    /// Shorter than a header.
    NoHeader,
    /// The first word is not the magic number.
    Magic {
        /// The first word.
        word: u32,
    },
    /// The words are in the other byte order.
    ByteOrder,
    /// A version that no device here reads.
    Version {
        /// The major version.
        major: u8,
        /// The minor version.
        minor: u8,
    },
    /// A bound of ids that is zero or too high.
    Bound {
        /// The bound.
        bound: u32,
    },
    /// An instruction of no length, or one that ends past the module.
    Framing {
        /// The instruction's first word.
        word: usize,
    },
    /// The instructions do not parse.
    Instructions {
        /// The parser's own words.
        message: Arc<str>,
    },
    /// An id that should name a type or a function does not.
    Reference {
        /// The id.
        id: u32,
    },
}

impl fmt::Display for BindingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBuffer => f.write_str("is not a buffer"),
            Self::Array => f.write_str("is an array of buffers"),
            Self::Immediate => f.write_str("is push-constant data"),
            Self::Group => f.write_str(
                "is in no group that is bound: buffers are in group 0, \
                 parameters are binding 0 of group 1",
            ),
            Self::Number { limit } => write!(f, "has a number above {limit}"),
            Self::Taken => f.write_str("has the place of another variable"),
            Self::NotUniform => f.write_str("should hold parameters but is not a uniform"),
            Self::ParametersTooLarge { bytes, limit_bytes } => {
                write!(
                    f,
                    "has {bytes} bytes of parameters, {limit_bytes} are allowed"
                )
            }
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PartialWord { bytes } => write!(f, "has {bytes} bytes, no multiple of 4"),
            Self::NoHeader => f.write_str("is shorter than a header"),
            Self::Magic { word } => write!(f, "begins with {word:#010x}"),
            Self::ByteOrder => f.write_str("is in the other byte order"),
            Self::Version { major, minor } => write!(f, "has version {major}.{minor}"),
            Self::Bound { bound } => write!(f, "has an id bound of {bound}"),
            Self::Framing { word } => {
                write!(f, "has an instruction of impossible length at word {word}")
            }
            Self::Instructions { message } => write!(f, "does not parse: {message}"),
            Self::Reference { id } => write!(f, "refers to id {id}, which is not fit for it"),
        }
    }
}

struct At(Option<Place>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(Place { line, column }) => write!(f, " at line {line}, column {column}"),
            None => Ok(()),
        }
    }
}

struct Names<'a>(&'a [Arc<str>]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (index, name) in self.0.iter().enumerate() {
            let before = if index == 0 { "" } else { ", " };
            write!(f, "{before}`{name}`")?;
        }
        Ok(())
    }
}

struct Kind(Option<BindingKind>);

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(BindingKind::StorageRead) => "a read-only storage buffer",
            Some(BindingKind::StorageWrite) => "a writable storage buffer",
            Some(BindingKind::Uniform) => "a uniform buffer",
            None => "absent",
        })
    }
}
