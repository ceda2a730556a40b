//! An entry point above the system's loader, in which single calls fail.
//!
//! The faults belong to the thread that asked for them, so tests beside each
//! other do not meet.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use ash::vk;

use super::disguise;

/// What the calls of this thread answer instead of being made; a queue of one
/// is used up, the others last.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) instance_version: Option<u32>,
    pub(super) create_instance: Option<vk::Result>,
    pub(super) no_devices: bool,
    pub(super) no_timelines: bool,
    pub(super) create_device: Option<vk::Result>,
    pub(super) next_submit: Option<vk::Result>,
    pub(super) counter: Option<Result<u64, vk::Result>>,
    pub(super) wait: Option<vk::Result>,
    pub(super) next_pipeline: Option<vk::Result>,
    pub(super) allocate_memory: Option<vk::Result>,
    pub(super) disguise: disguise::Disguise,
}

thread_local! {
    static FAULTS: RefCell<Faults> = RefCell::default();
    static INSTANCE: Cell<vk::Instance> = const { Cell::new(vk::Instance::null()) };
}

/// Changes the faults of this thread.
pub(super) fn inject(change: impl FnOnce(&mut Faults)) {
    FAULTS.with_borrow_mut(change);
}

/// The interposed entry point.
pub(super) fn entry() -> ash::Entry {
    let interposed = ash::StaticFn {
        get_instance_proc_addr: instance_function,
    };
    // SAFETY: every function is the loader's, or a stand-in of its type.
    unsafe { ash::Entry::from_static_fn(interposed) }
}

/// Looks at or changes the disguise of this thread.
pub(super) fn disguised<R>(look: impl FnOnce(&mut disguise::Disguise) -> R) -> R {
    FAULTS.with_borrow_mut(|faults| look(&mut faults.disguise))
}

/// The loader's function for this thread's instance.
///
/// # Safety
/// `F` is the type of the functions with this name.
pub(super) unsafe fn below<F: Copy>(name: &CStr) -> F {
    let function = real(INSTANCE.get(), name).expect("a function of the loader");
    assert_eq!(size_of::<F>(), size_of_val(&function));
    // SAFETY: the caller's promise; both are addresses of functions.
    unsafe { std::mem::transmute_copy(&function) }
}

fn loader() -> &'static ash::Entry {
    static LOADER: OnceLock<ash::Entry> = OnceLock::new();
    // SAFETY: the system's loader, kept to the end of the process.
    LOADER.get_or_init(|| unsafe { ash::Entry::load() }.expect("a Vulkan loader"))
}

fn real(instance: vk::Instance, name: &CStr) -> vk::PFN_vkVoidFunction {
    // SAFETY: the instance is null or alive, as Vulkan's caller must see to.
    unsafe { loader().get_instance_proc_addr(instance, name.as_ptr()) }
}

/// The stand-ins: for each function its type, its fault, and otherwise the call.
macro_rules! stand_ins {
    ($($name:literal $type:ident $stand_in:ident ($($arg:ident: $kind:ty),*) $fault:expr;)*) => {
        $(
            unsafe extern "system" fn $stand_in($($arg: $kind),*) -> vk::Result {
                let fault: Option<vk::Result> = FAULTS.with_borrow_mut(|faults| {
                    ($fault)(faults)
                });
                if let Some(code) = fault {
                    return code;
                }
                let function = real(vk::Instance::null(), $name)
                    .or_else(|| real(INSTANCE.get(), $name))
                    .expect("a function of the loader");
                // SAFETY: the loader's function of this name has this type.
                let function = unsafe { std::mem::transmute::<unsafe extern "system" fn(), vk::$type>(function) };
                // SAFETY: the arguments are passed on as they came.
                unsafe { function($($arg),*) }
            }
        )*

        fn stand_in(name: &CStr) -> Option<unsafe extern "system" fn()> {
            let addresses: &[(&CStr, *const ())] = &[
                $(($name, $stand_in as vk::$type as *const ()),)*
            ];
            let (_, address) = addresses.iter().find(|(known, _)| *known == name)?;
            // SAFETY: it is the address of a function, which its user casts to
            // the type that belongs to the name.
            Some(unsafe { std::mem::transmute::<*const (), unsafe extern "system" fn()>(*address) })
        }
    };
}

stand_ins! {
    c"vkEnumerateInstanceVersion" PFN_vkEnumerateInstanceVersion instance_version(version: *mut u32)
        |faults: &mut Faults| faults.instance_version.map(|value| {
            // SAFETY: Vulkan's caller gives a place to write to.
            unsafe { version.write(value) };
            vk::Result::SUCCESS
        });
    c"vkEnumeratePhysicalDevices" PFN_vkEnumeratePhysicalDevices physical_devices(
        instance: vk::Instance, count: *mut u32, devices: *mut vk::PhysicalDevice)
        |faults: &mut Faults| faults.no_devices.then(|| {
            // SAFETY: Vulkan's caller gives a place to write to.
            unsafe { count.write(0) };
            vk::Result::SUCCESS
        });
    c"vkQueueSubmit2" PFN_vkQueueSubmit2 submit(
        queue: vk::Queue, count: u32, submits: *const vk::SubmitInfo2<'_>, fence: vk::Fence)
        |faults: &mut Faults| {
            // SAFETY: Vulkan's caller passes that many submissions.
            let submits = unsafe { std::slice::from_raw_parts(submits, count as usize) };
            faults.disguise.note_waits(submits);
            faults.next_submit.take()
        };
    c"vkGetSemaphoreCounterValue" PFN_vkGetSemaphoreCounterValue counter(
        device: vk::Device, semaphore: vk::Semaphore, value: *mut u64)
        |faults: &mut Faults| faults.counter.map(|fault| match fault {
            Ok(number) => {
                // SAFETY: Vulkan's caller gives a place to write to.
                unsafe { value.write(number) };
                vk::Result::SUCCESS
            }
            Err(code) => code,
        });
    c"vkWaitSemaphores" PFN_vkWaitSemaphores wait(
        device: vk::Device, info: *const vk::SemaphoreWaitInfo<'_>, limit: u64)
        |faults: &mut Faults| faults.wait;
    c"vkCreateComputePipelines" PFN_vkCreateComputePipelines pipelines(
        device: vk::Device, cache: vk::PipelineCache, count: u32,
        infos: *const vk::ComputePipelineCreateInfo<'_>,
        callbacks: *const vk::AllocationCallbacks<'_>, pipelines: *mut vk::Pipeline)
        |faults: &mut Faults| faults.next_pipeline.take().inspect(|_| {
            // SAFETY: Vulkan's caller gives a place for each pipeline.
            unsafe { pipelines.write(vk::Pipeline::null()) };
        });
    c"vkAllocateMemory" PFN_vkAllocateMemory allocate_memory(
        device: vk::Device, info: *const vk::MemoryAllocateInfo<'_>,
        callbacks: *const vk::AllocationCallbacks<'_>, memory: *mut vk::DeviceMemory)
        |faults: &mut Faults| faults.allocate_memory;
}

unsafe extern "system" fn create_instance(
    info: *const vk::InstanceCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    instance: *mut vk::Instance,
) -> vk::Result {
    if let Some(code) = FAULTS.with_borrow(|faults| faults.create_instance) {
        return code;
    }
    let create = loader().fp_v1_0().create_instance;
    // SAFETY: the arguments are passed on as they came.
    let result = unsafe { create(info, callbacks, instance) };
    if result == vk::Result::SUCCESS {
        // SAFETY: the loader just wrote it.
        INSTANCE.set(unsafe { instance.read() });
    }
    result
}

unsafe extern "system" fn create_device(
    physical: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    callbacks: *const vk::AllocationCallbacks<'_>,
    device: *mut vk::Device,
) -> vk::Result {
    if let Some(code) = FAULTS.with_borrow(|faults| faults.create_device) {
        return code;
    }
    // SAFETY: Vulkan's caller passes an info that is alive.
    let mut info = unsafe { *info };
    info.queue_create_info_count = disguise::undisguised(&info);
    // SAFETY: the type belongs to the name.
    let create: vk::PFN_vkCreateDevice = unsafe { below(c"vkCreateDevice") };
    // SAFETY: the arguments are passed on, without the disguise.
    unsafe { create(physical, &raw const info, callbacks, device) }
}

unsafe extern "system" fn features(
    physical: vk::PhysicalDevice,
    features: *mut vk::PhysicalDeviceFeatures2<'_>,
) {
    // SAFETY: the type belongs to the name.
    let function: vk::PFN_vkGetPhysicalDeviceFeatures2 =
        unsafe { below(c"vkGetPhysicalDeviceFeatures2") };
    // SAFETY: the arguments are passed on as they came.
    unsafe { function(physical, features) };
    if !FAULTS.with_borrow(|faults| faults.no_timelines) {
        return;
    }
    // SAFETY: the chain is the caller's, and alive.
    let mut next = unsafe { (*features).p_next }.cast::<vk::BaseOutStructure<'_>>();
    while !next.is_null() {
        // SAFETY: as above; every structure begins like this one.
        let one = unsafe { &mut *next };
        next = one.p_next.cast();
        if one.s_type == vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES {
            let one: *mut vk::PhysicalDeviceVulkan12Features<'_> = std::ptr::from_mut(one).cast();
            // SAFETY: its type field says what it is.
            unsafe { (*one).timeline_semaphore = vk::FALSE };
        }
    }
}

unsafe extern "system" fn instance_function(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: Vulkan's caller passes a name that ends.
    let name = unsafe { CStr::from_ptr(name) };
    let own: Option<*const ()> = match name.to_bytes() {
        b"vkGetInstanceProcAddr" => {
            Some(instance_function as vk::PFN_vkGetInstanceProcAddr as *const ())
        }
        b"vkGetDeviceProcAddr" => Some(device_function as vk::PFN_vkGetDeviceProcAddr as *const ()),
        b"vkCreateDevice" => Some(create_device as vk::PFN_vkCreateDevice as *const ()),
        b"vkCreateInstance" => Some(create_instance as vk::PFN_vkCreateInstance as *const ()),
        b"vkGetPhysicalDeviceFeatures2" => {
            Some(features as vk::PFN_vkGetPhysicalDeviceFeatures2 as *const ())
        }
        _ => None,
    };
    match own.or_else(|| disguise::stand_in(name)) {
        Some(own) => {
            // SAFETY: it is the address of a function, which its user casts to
            // the type that belongs to the name.
            Some(unsafe { std::mem::transmute::<*const (), unsafe extern "system" fn()>(own) })
        }
        None => stand_in(name).or_else(|| real(instance, name)),
    }
}

unsafe extern "system" fn device_function(
    device: vk::Device,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: Vulkan's caller passes a name that ends.
    let known = unsafe { CStr::from_ptr(name) };
    if let Some(own) = stand_in(known) {
        return Some(own);
    }
    if let Some(own) = disguise::stand_in(known) {
        // SAFETY: it is the address of a function, which its user casts to the
        // type that belongs to the name.
        return Some(unsafe { std::mem::transmute::<*const (), unsafe extern "system" fn()>(own) });
    }
    let function = real(INSTANCE.get(), c"vkGetDeviceProcAddr")?;
    // SAFETY: the loader's function of this name has this type.
    let function = unsafe {
        std::mem::transmute::<unsafe extern "system" fn(), vk::PFN_vkGetDeviceProcAddr>(function)
    };
    // SAFETY: the arguments are passed on as they came.
    unsafe { function(device, name) }
}
