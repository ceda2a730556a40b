//! Faults above a healthy driver.

use ash::vk;

use super::interposer::{self, Faults, inject};
use super::*;

fn rig() -> Rig {
    inject(|faults| *faults = Faults::default());
    Rig::with(VulkanOptions::default().entry(interposer::entry()))
}

#[test]
fn a_failed_submit_consumes_no_point() {
    let rig = rig();
    let buffer = rig.buffer(64, MemoryPlacement::Device);
    let region = rig.region(Lane::Compute, vec![fill(&buffer, 5)]);
    inject(|faults| faults.next_submit = Some(vk::Result::ERROR_OUT_OF_HOST_MEMORY));
    assert_eq!(
        rig.submit(&region, Leading::Nothing, &[]),
        Err(DeviceFault::OutOfHostMemory {
            call: "vkQueueSubmit2"
        })
    );
    let point = rig.submit(&region, Leading::Nothing, &[]).unwrap();
    assert_eq!(point.value, 1);
    rig.wait(point);
    assert_eq!(words(&rig.read(&buffer)), [5; 16]);
}

#[test]
fn the_first_cause_of_a_loss_wins() {
    let rig = rig();
    let buffer = rig.buffer(64, MemoryPlacement::Device);
    let region = rig.region(Lane::Compute, vec![fill(&buffer, 5)]);
    inject(|faults| faults.next_submit = Some(vk::Result::ERROR_DEVICE_LOST));
    let lost = DeviceFault::Lost {
        call: "vkQueueSubmit2",
    };
    let submitted = rig.submit(&region, Leading::Nothing, &[]);
    assert_eq!(submitted, Err(lost.clone()));
    inject(|faults| faults.counter = Some(Err(vk::Result::ERROR_DEVICE_LOST)));
    let point = Point {
        queue: rig.device.info().lanes.queue(Lane::Compute),
        value: 1,
    };
    assert_eq!(rig.device.reached(point.queue), Err(lost.clone()));
    assert_eq!(rig.device.wait(point, PATIENCE), Err(lost.clone()));
    assert_eq!(
        rig.submit(&region, Leading::Nothing, &[]),
        Err(lost.clone())
    );
    let spec = BufferSpec {
        bytes: 64,
        placement: MemoryPlacement::Device,
        label: "late",
    };
    assert_eq!(rig.device.allocate(spec).unwrap_err(), lost);
    assert_eq!(buffer.flush(0, 64).unwrap_err(), lost);
}

#[test]
fn a_lost_submission_counts_as_made() {
    let rig = rig();
    let buffer = rig.buffer(64, MemoryPlacement::Device);
    let region = rig.region(Lane::Compute, vec![fill(&buffer, 5)]);
    inject(|faults| faults.next_submit = Some(vk::Result::ERROR_DEVICE_LOST));
    rig.submit(&region, Leading::Nothing, &[]).unwrap_err();
    let queue = &rig.device.root.queues[0];
    assert!(!queue.is_idle(&rig.device.root.device, &rig.device.root.loss));
}

#[test]
fn a_counter_beyond_belief_is_a_loss() {
    let rig = rig();
    let queue = rig.device.info().lanes.queue(Lane::Compute);
    inject(|faults| faults.counter = Some(Ok(u64::MAX)));
    let lost = DeviceFault::Lost {
        call: "vkGetSemaphoreCounterValue",
    };
    assert_eq!(rig.device.reached(queue), Err(lost.clone()));
    inject(|faults| faults.counter = None);
    assert_eq!(rig.device.reached(queue), Err(lost));
}

#[test]
fn a_hollow_success_of_a_wait_is_no_proof() {
    let rig = rig();
    let buffer = rig.buffer(64, MemoryPlacement::Device);
    let region = rig.region(Lane::Compute, vec![fill(&buffer, 5)]);
    let point = rig.submit(&region, Leading::Nothing, &[]).unwrap();
    inject(|faults| {
        faults.wait = Some(vk::Result::SUCCESS);
        faults.counter = Some(Ok(0));
    });
    assert_eq!(
        rig.device.wait(point, PATIENCE),
        Err(DeviceFault::Lost {
            call: "vkWaitSemaphores"
        })
    );
    // The driver below is healthy and finishes; leave when it has.
    inject(|faults| *faults = Faults::default());
    let queue = &rig.device.root.queues[point.queue.index()];
    while !queue.is_idle(&rig.device.root.device, &rig.device.root.loss) {
        std::thread::yield_now();
    }
}

#[test]
fn a_full_device_is_told_apart_from_a_fault() {
    let rig = rig();
    inject(|faults| faults.allocate_memory = Some(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
    let spec = BufferSpec {
        bytes: 64,
        placement: MemoryPlacement::Upload,
        label: "much",
    };
    assert_eq!(
        rig.device.allocate(spec).unwrap_err(),
        DeviceFault::OutOfDeviceMemory {
            requested_bytes: 64
        }
    );
    inject(|faults| faults.allocate_memory = Some(vk::Result::ERROR_OUT_OF_HOST_MEMORY));
    assert_eq!(
        rig.device.allocate(spec).unwrap_err(),
        DeviceFault::OutOfHostMemory {
            call: "vkAllocateMemory"
        }
    );
    inject(|faults| *faults = Faults::default());
    rig.buffer(64, MemoryPlacement::Upload);
}
