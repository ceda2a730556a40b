//! The objects that all others are made from, destroyed last.
//!
//! Every buffer, kernel and region holds the root, so the driver's device
//! outlives them in whatever order they are dropped. The root does not know
//! what they are.
//!
//! Invariant: the driver's device is destroyed only when all that its queues
//! accepted is proven to have ended. Without that proof it is left as it is,
//! with the allocator, the instance and the loader: destroying it could block
//! for ever, or free memory that is still written to.
#![expect(
    unsafe_code,
    reason = "the driver's device is created and destroyed through C functions"
)]

use std::ffi::{CString, c_char};
use std::fmt;
use std::mem::ManuallyDrop;

use ash::{khr, vk};

use super::fault::Loss;
use super::instance::Instance;
use super::memory::Memory;
use super::names::Names;
use super::queue::Queue;
use super::queues::{QueuePlace, QueuePlan, distinct};
use super::survey::{self, Survey};
use crate::device::{Candidate, DeviceInfo, SelectionError};

/// The driver's device and what belongs to it for its whole life.
pub(super) struct Root {
    instance: ManuallyDrop<Instance>,
    memory: ManuallyDrop<Memory>,
    pub(super) device: ash::Device,
    pub(super) queues: Vec<Queue>,
    pub(super) loss: Loss,
    pub(super) info: DeviceInfo,
    pub(super) names: Names,
    /// The families whose queues use buffers, each once.
    pub(super) sharing: Vec<u32>,
    /// How many descriptor sets a kernel may have.
    pub(super) sets: u32,
    #[cfg(feature = "ash")]
    pub(super) physical: vk::PhysicalDevice,
    #[cfg(feature = "ash")]
    pub(super) reserved: Option<(u32, vk::Queue)>,
}

/// What a program wants beside the device itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extras<'a> {
    pub(super) extensions: &'a [CString],
    pub(super) reserve_queue: bool,
}

impl Root {
    /// Opens a surveyed device.
    pub(super) fn open(
        instance: Instance,
        survey: Survey,
        extras: Extras<'_>,
    ) -> Result<Self, SelectionError> {
        let candidate = Candidate {
            info: Box::new(survey.info.clone()),
        };
        let Some(plan) = survey.plan.clone() else {
            return Err(refused(
                &candidate,
                "planning the queues",
                vk::Result::ERROR_UNKNOWN,
            ));
        };
        let extensions = wanted_extensions(&instance, &survey, extras, &candidate)?;
        let reserved = reserved_place(&plan, extras, &candidate)?;
        let device = create(&instance, &survey, &plan, reserved, &extensions)
            .map_err(|code| refused(&candidate, "vkCreateDevice", code))?;

        let memory = match Memory::new(&instance, &device, &survey) {
            Ok(memory) => memory,
            Err(_) => {
                // SAFETY: VUID-vkDestroyDevice-device-05137: nothing was made
                // from the device.
                unsafe { device.destroy_device(None) };
                let code = vk::Result::ERROR_INITIALIZATION_FAILED;
                return Err(refused(&candidate, "opening the allocator", code));
            }
        };
        let names = Names::new(instance.raw(), &device, instance.has_debug_utils());
        let mut sharing = plan.families();
        if let Some(place) = reserved {
            sharing = distinct(sharing.into_iter().chain([place.family]));
        }
        let mut root = Self {
            instance: ManuallyDrop::new(instance),
            memory: ManuallyDrop::new(memory),
            device,
            queues: Vec::new(),
            loss: Loss::default(),
            info: survey.info,
            names,
            sharing,
            sets: survey.sets,
            #[cfg(feature = "ash")]
            physical: survey.physical,
            #[cfg(feature = "ash")]
            reserved: None,
        };
        for place in &plan.queues {
            let handle = root.queue_at(*place);
            let queue = Queue::new(&root.device, handle)
                .map_err(|code| refused(&candidate, "vkCreateSemaphore", code))?;
            root.queues.push(queue);
        }
        #[cfg(feature = "ash")]
        {
            root.reserved = reserved.map(|place| (place.family, root.queue_at(place)));
        }
        Ok(root)
    }

    /// The device's memory.
    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The instance.
    #[cfg(feature = "ash")]
    pub(super) fn instance(&self) -> &Instance {
        &self.instance
    }

    fn queue_at(&self, place: QueuePlace) -> vk::Queue {
        // SAFETY: VUID-vkGetDeviceQueue-queueFamilyIndex-00384 and
        // VUID-vkGetDeviceQueue-queueIndex-00385: the device was created with
        // every queue of its plan.
        unsafe { self.device.get_device_queue(place.family, place.number) }
    }

    fn is_idle(&self) -> bool {
        let mut queues = self.queues.iter();
        queues.all(|queue| queue.is_idle(&self.device, &self.loss))
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Root")
            .field("device", &self.info.name)
            .field("queues", &self.queues)
            .field("loss", &self.loss)
            .finish_non_exhaustive()
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        if !self.is_idle() {
            tracing::warn!(
                device = self.info.name,
                "a device with unproven work is left as it is, with all its memory"
            );
            return;
        }
        for queue in &self.queues {
            // SAFETY: VUID-vkDestroySemaphore-semaphore-05149: every submission
            // that signals or waits for it has ended.
            unsafe { self.device.destroy_semaphore(queue.timeline(), None) };
        }
        // SAFETY: rule S41: no buffer is left, since each holds the root; the
        // field is not used again.
        unsafe { ManuallyDrop::drop(&mut self.memory) };
        // SAFETY: VUID-vkDestroyDevice-device-05137: every object made from the
        // device held the root and is gone (rule S41).
        unsafe { self.device.destroy_device(None) };
        // SAFETY: S41: the device was the instance's only one; the field is not used
        // again.
        unsafe { ManuallyDrop::drop(&mut self.instance) };
    }
}

fn refused(candidate: &Candidate, call: &'static str, code: vk::Result) -> SelectionError {
    SelectionError::Open {
        candidate: candidate.clone(),
        call,
        code: code.as_raw(),
    }
}

fn wanted_extensions(
    instance: &Instance,
    survey: &Survey,
    extras: Extras<'_>,
    candidate: &Candidate,
) -> Result<Vec<CString>, SelectionError> {
    let mut names = extras.extensions.to_vec();
    for name in &names {
        if !survey::offers(instance, survey.physical, name)? {
            return Err(SelectionError::MissingExtension {
                candidate: candidate.clone(),
                extension: name.to_string_lossy().into_owned(),
            });
        }
    }
    // A device that says it is not quite Vulkan wants this acknowledged
    // (VUID-VkDeviceCreateInfo-pProperties-04451).
    let subset = khr::portability_subset::NAME;
    if survey::offers(instance, survey.physical, subset)? {
        names.push(subset.to_owned());
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

fn reserved_place(
    plan: &QueuePlan,
    extras: Extras<'_>,
    candidate: &Candidate,
) -> Result<Option<QueuePlace>, SelectionError> {
    match (extras.reserve_queue, plan.spare) {
        (false, _) => Ok(None),
        (true, Some(place)) => Ok(Some(place)),
        (true, None) => Err(SelectionError::NoReservedQueue {
            candidate: candidate.clone(),
        }),
    }
}

fn create(
    instance: &Instance,
    survey: &Survey,
    plan: &QueuePlan,
    reserved: Option<QueuePlace>,
    extensions: &[CString],
) -> Result<ash::Device, vk::Result> {
    let places: Vec<QueuePlace> = plan.queues.iter().copied().chain(reserved).collect();
    let priorities: Vec<f32> = vec![1.0; places.len()];
    let queues: Vec<vk::DeviceQueueCreateInfo<'_>> =
        distinct(places.iter().map(|place| place.family))
            .into_iter()
            .map(|family| {
                // The places of a family are numbered from 0 without gaps.
                let count = places.iter().filter(|place| place.family == family).count();
                vk::DeviceQueueCreateInfo::default()
                    .queue_family_index(family)
                    .queue_priorities(&priorities[..count])
            })
            .collect();
    let extensions: Vec<*const c_char> = extensions.iter().map(|name| name.as_ptr()).collect();

    let mut features = survey.features;
    let mut core = vk::PhysicalDeviceFeatures2::default().features(features.core);
    let info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&extensions)
        .push_next(&mut core)
        .push_next(&mut features.v11)
        .push_next(&mut features.v12)
        .push_next(&mut features.v13);
    // SAFETY: rule S43: the physical device is the instance's. Families, queue
    // counts, extensions and features are all taken from what it offers; the
    // chain lives through the call.
    unsafe { instance.raw().create_device(survey.physical, &info, None) }
}
