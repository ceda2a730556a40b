//! On the devices that the machine has. Without hardware, Mesa's lavapipe
//! (Debian: `mesa-vulkan-drivers`) is enough; without any Vulkan device these
//! tests fail.
#![expect(
    unsafe_code,
    reason = "the tests submit, and touch mapped memory between submissions"
)]

mod disguise;
mod disguised;
mod interposer;
mod losing;
mod opening;
mod working;

#[cfg(feature = "wgsl")]
mod computing;
#[cfg(feature = "ash")]
mod recording;
mod specializing;

use super::*;
use crate::device::{Command, MemoryPlacement, Span};
use crate::lane::Lane;

/// Long enough for every driver; a test that meets it has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// An open device and the shortest ways to make it work.
struct Rig {
    device: VulkanDevice,
}

impl Rig {
    fn new() -> Self {
        Self::with(VulkanOptions::default())
    }

    fn with(options: VulkanOptions) -> Self {
        let options = options.allow_software(true);
        let device = VulkanDevice::open(options).expect("these tests need a Vulkan device");
        Self { device }
    }

    fn buffer(&self, bytes: u64, placement: MemoryPlacement) -> Arc<dyn DeviceBuffer> {
        let spec = BufferSpec {
            bytes,
            placement,
            label: "test",
        };
        self.device
            .allocate(spec)
            .expect("room for a test's buffer")
    }

    fn region(&self, lane: Lane, commands: Vec<Command>) -> Arc<dyn DeviceRegion> {
        let plan = RegionPlan {
            lane,
            commands,
            read_by_host: true,
            label: "test".into(),
        };
        self.device.record(&plan).expect("a region")
    }

    /// Submits a region that the test keeps until it has waited.
    fn submit(
        &self,
        region: &Arc<dyn DeviceRegion>,
        leading: Leading,
        waits: &[Point],
    ) -> Result<Point, DeviceFault> {
        // SAFETY: the tests keep their regions and wait for them before they
        // submit again or touch memory.
        unsafe { self.device.submit(&**region, leading, waits) }
    }

    fn wait(&self, point: Point) {
        assert_eq!(self.device.wait(point, PATIENCE), Ok(Waited::Reached));
    }

    /// Records, submits and waits.
    fn run(&self, lane: Lane, commands: Vec<Command>) {
        let region = self.region(lane, commands);
        let point = self.submit(&region, Leading::Nothing, &[]).expect("submit");
        self.wait(point);
    }

    /// A download buffer's bytes, by way of the device where the host cannot
    /// see the buffer itself.
    fn read(&self, buffer: &Arc<dyn DeviceBuffer>) -> Vec<u8> {
        let staged = self.buffer(buffer.bytes(), MemoryPlacement::Download);
        let whole = copy(buffer, 0, &staged, 0, buffer.bytes());
        self.run(Lane::Download, vec![whole]);
        staged.invalidate(0, buffer.bytes()).expect("invalidate");
        let span = staged.host().expect("downloads are seen by the host");
        // SAFETY: the span is the whole buffer, which nothing writes any more.
        unsafe { std::slice::from_raw_parts(span.start.as_ptr(), span.bytes) }.to_vec()
    }

    /// An upload buffer that holds `bytes`.
    fn upload(&self, bytes: &[u8]) -> Arc<dyn DeviceBuffer> {
        let length = u64::try_from(bytes.len()).expect("a length");
        let buffer = self.buffer(length, MemoryPlacement::Upload);
        let span = buffer.host().expect("uploads are seen by the host");
        assert_eq!(span.bytes, bytes.len());
        // SAFETY: the span is the whole new buffer, as long as `bytes`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), span.start.as_ptr(), span.bytes) };
        buffer.flush(0, length).expect("flush");
        buffer
    }
}

fn span(buffer: &Arc<dyn DeviceBuffer>, offset: u64, bytes: u64) -> Span {
    Span {
        buffer: Arc::clone(buffer),
        offset,
        bytes,
    }
}

fn copy(
    source: &Arc<dyn DeviceBuffer>,
    from: u64,
    target: &Arc<dyn DeviceBuffer>,
    to: u64,
    bytes: u64,
) -> Command {
    Command::Copy {
        source: span(source, from, bytes),
        target: span(target, to, bytes),
    }
}

fn fill(target: &Arc<dyn DeviceBuffer>, word: u32) -> Command {
    Command::Fill {
        target: span(target, 0, target.bytes()),
        word,
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let (words, rest) = bytes.as_chunks();
    assert!(rest.is_empty());
    words.iter().map(|word| u32::from_ne_bytes(*word)).collect()
}

/// Sixty-four dependent submissions over all lanes, each of which copies what
/// the last one left and adds a word; the host waits only for the last.
fn chain(rig: &Rig) {
    let buffer = rig.buffer(1 << 16, MemoryPlacement::Device);
    let other = rig.buffer(1 << 16, MemoryPlacement::Device);
    let lanes = [Lane::Compute, Lane::Upload, Lane::Compute, Lane::Download];
    let mut regions = Vec::new();
    let mut last: Option<Point> = None;
    for round in 0..64_u32 {
        let (from, to) = if round % 2 == 0 {
            (&buffer, &other)
        } else {
            (&other, &buffer)
        };
        let mark = Command::Fill {
            target: span(to, u64::from(round) * 4, 4),
            word: round,
        };
        let lane = lanes[usize::try_from(round).expect("a chain") % lanes.len()];
        let whole = copy(from, 0, to, 0, from.bytes());
        let region = rig.region(lane, vec![whole, Command::Barrier, mark]);
        let waits: Vec<Point> = last.into_iter().collect();
        let point = rig
            .submit(&region, Leading::Barrier, &waits)
            .expect("a chain");
        last = Some(point);
        regions.push(region);
    }
    rig.wait(last.expect("a chain"));
    let expected: Vec<u32> = (0..64).collect();
    assert_eq!(words(&rig.read(&buffer))[..64], expected);
}
