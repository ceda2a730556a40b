//! Raw access beside the runtime's own work.

use ash::vk;

use super::*;

/// Submits an empty command buffer to a lane's queue and waits for it.
fn submit_nothing(access: &VulkanAccess, lane: Lane) {
    let device = access.device();
    let info = vk::CommandPoolCreateInfo::default().queue_family_index(access.family(lane));
    // SAFETY: the family is the device's.
    let pool = unsafe { device.create_command_pool(&info, None) }.expect("a pool");
    let info = vk::CommandBufferAllocateInfo::default()
        .command_pool(pool)
        .command_buffer_count(1);
    // SAFETY: the pool is this thread's own.
    let commands = unsafe { device.allocate_command_buffers(&info) }.expect("commands");
    let info = vk::CommandBufferBeginInfo::default();
    // SAFETY: the command buffer is new.
    unsafe { device.begin_command_buffer(commands[0], &info) }.expect("begin");
    // SAFETY: it was begun.
    unsafe { device.end_command_buffer(commands[0]) }.expect("end");
    let info = vk::FenceCreateInfo::default();
    // SAFETY: nothing is asked of the device but to be alive.
    let fence = unsafe { device.create_fence(&info, None) }.expect("a fence");
    let buffers = [vk::CommandBufferSubmitInfo::default().command_buffer(commands[0])];
    let submission = [vk::SubmitInfo2::default().command_buffer_infos(&buffers)];
    let submit = |queue| {
        // SAFETY: the queue's lock is held; all parts are alive until the fence.
        unsafe { device.queue_submit2(queue, &submission, fence) }
    };
    // SAFETY: one submission, without a wait.
    unsafe { access.queue(lane).with(submit) }.expect("submit");
    // SAFETY: the fence was submitted.
    unsafe { device.wait_for_fences(&[fence], true, u64::MAX) }.expect("wait");
    // SAFETY: the work has ended.
    unsafe { device.destroy_fence(fence, None) };
    // SAFETY: as above.
    unsafe { device.destroy_command_pool(pool, None) };
}

#[test]
fn foreign_submissions_run_beside_ours() {
    let rig = Rig::new();
    let access = rig.device.access();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for lane in Lane::ALL.into_iter().cycle().take(100) {
                submit_nothing(&access, lane);
            }
        });
        let buffer = rig.buffer(64, MemoryPlacement::Device);
        for word in 0..100 {
            rig.run(Lane::Compute, vec![fill(&buffer, word)]);
            assert_eq!(words(&rig.read(&buffer)), [word; 16]);
        }
    });
}

#[test]
fn access_keeps_the_device_open() {
    let rig = Rig::new();
    let access = rig.device.access();
    drop(rig);
    submit_nothing(&access, Lane::Compute);
    assert!(access.reserved().is_none());
}
