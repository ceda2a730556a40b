//! The runtime under test.

use runtime_core::device::Device;
use runtime_core::device::MemoryPlacement;
use runtime_core::device::scripted::{Controls, ScriptedDevice};
use runtime_core::{Buffer, Runtime, RuntimeOptions};

/// Chooses the device.
const VARIABLE: &str = "LANEKEEPER_TEST_DEVICE";

/// A runtime, and the controls of its device where that is scripted.
pub(crate) struct Bench {
    pub(crate) runtime: Runtime,
    pub(crate) controls: Option<Controls>,
}

pub(crate) fn bench() -> Bench {
    bench_with(RuntimeOptions::default())
}

pub(crate) fn bench_with(options: RuntimeOptions) -> Bench {
    let (device, controls) = open();
    let runtime = Runtime::on_device(device, options.label("suite")).unwrap();
    Bench { runtime, controls }
}

fn open() -> (Box<dyn Device>, Option<Controls>) {
    let wanted = std::env::var(VARIABLE).unwrap_or_else(|_| "scripted".to_owned());
    if wanted == "scripted" {
        let device = ScriptedDevice::builder()
            .host_kernel("add_tripled", |invocation| {
                let source = invocation.read::<u32>("source");
                for (sum, value) in invocation.write::<u32>("sums").iter_mut().zip(source) {
                    *sum = sum.wrapping_add(value.wrapping_mul(3));
                }
            })
            .host_kernel("slow", |invocation| {
                invocation.write::<u32>("state")[0] |= 1
            })
            .build();
        let controls = device.controls();
        return (Box::new(device), Some(controls));
    }
    (named(&wanted), None)
}

#[cfg(feature = "vulkan")]
fn named(wanted: &str) -> Box<dyn Device> {
    use runtime_core::device::DeviceSelector;
    use runtime_core::device::vulkan::{VulkanDevice, VulkanOptions, enumerate};

    // A UUID is found by its text, so that every spelling of one works that a
    // listing shows.
    let listed = enumerate(None).unwrap();
    let by_uuid = listed.iter().find(|info| info.uuid.to_string() == wanted);
    let selector = match by_uuid {
        Some(info) => DeviceSelector::Uuid(info.uuid),
        None => DeviceSelector::Named(wanted.into()),
    };
    let options = VulkanOptions::default()
        .selector(selector)
        .allow_software(true);
    Box::new(VulkanDevice::open(options).unwrap())
}

#[cfg(not(feature = "vulkan"))]
fn named(wanted: &str) -> Box<dyn Device> {
    panic!("{VARIABLE} is {wanted}, and only `scripted` is in this build");
}

impl Bench {
    /// A device buffer with these bytes.
    pub(crate) fn filled(&self, bytes: &[u8]) -> Buffer {
        let buffer = self.buffer(bytes.len() as u64);
        self.runtime.upload(&buffer.view(), bytes).unwrap();
        buffer
    }

    pub(crate) fn buffer(&self, bytes: u64) -> Buffer {
        self.runtime
            .allocate(bytes, MemoryPlacement::Device)
            .unwrap()
    }

    pub(crate) fn bytes(&self, buffer: &Buffer) -> Vec<u8> {
        self.runtime.download(&buffer.view()).unwrap()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some(controls) = self.controls.as_ref().filter(|_| !std::thread::panicking()) {
            assert_eq!(controls.misuses(), []);
        }
    }
}

/// Bytes that differ from their neighbours and from those of other seeds.
pub(crate) fn pattern(length: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..length)
        .map(|_| u8::try_from(random.below(256)).unwrap())
        .collect()
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
        }
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % bound
    }
}
