//! The loader and the instance.
#![expect(
    unsafe_code,
    reason = "the loader and the instance are reached through C functions"
)]

use std::ffi::{CStr, c_char};
use std::fmt;

use ash::{Entry, ext, khr, vk};

use crate::device::SelectionError;

/// An instance; dropping it destroys it, so everything made from it goes first.
pub(super) struct Instance {
    // Held so that the loader's library stays in the process as long as
    // functions from it may be called.
    #[cfg_attr(
        not(feature = "ash"),
        expect(dead_code, reason = "held for its library alone")
    )]
    entry: Entry,
    raw: ash::Instance,
    debug_utils: bool,
}

impl Instance {
    /// Opens the loader, unless given one, and creates an instance.
    pub(super) fn open(entry: Option<Entry>, debug_names: bool) -> Result<Self, SelectionError> {
        let entry = match entry {
            Some(entry) => entry,
            None => load()?,
        };
        require_version(&entry)?;
        let offered = extensions(&entry)?;
        let has = |name: &CStr| {
            offered
                .iter()
                .any(|one| one.extension_name_as_c_str() == Ok(name))
        };
        let portability = has(khr::portability_enumeration::NAME);
        let debug_utils = debug_names && has(ext::debug_utils::NAME);

        let mut names: Vec<*const c_char> = Vec::new();
        let mut flags = vk::InstanceCreateFlags::empty();
        if portability {
            names.push(khr::portability_enumeration::NAME.as_ptr());
            flags |= vk::InstanceCreateFlags::ENUMERATE_PORTABILITY_KHR;
        }
        if debug_utils {
            names.push(ext::debug_utils::NAME.as_ptr());
        }
        let application = vk::ApplicationInfo::default()
            .engine_name(c"lanekeeper")
            .api_version(vk::API_VERSION_1_3);
        let info = vk::InstanceCreateInfo::default()
            .flags(flags)
            .application_info(&application)
            .enabled_extension_names(&names);
        // SAFETY: VUID-vkCreateInstance-ppEnabledExtensionNames-01388: only
        // offered extensions are named, none of which needs another one.
        let raw = unsafe { entry.create_instance(&info, None) }
            .map_err(|code| refused("vkCreateInstance", code))?;
        Ok(Self {
            entry,
            raw,
            debug_utils,
        })
    }

    /// All physical devices.
    pub(super) fn physical_devices(&self) -> Result<Vec<vk::PhysicalDevice>, SelectionError> {
        // SAFETY: VUID-vkEnumeratePhysicalDevices-instance-parameter: the
        // instance lives as long as self.
        unsafe { self.raw.enumerate_physical_devices() }.map_err(|code| match code {
            // This is how loaders say that none of the drivers would start.
            vk::Result::ERROR_INITIALIZATION_FAILED => SelectionError::NoDriver,
            code => refused("vkEnumeratePhysicalDevices", code),
        })
    }

    /// The instance's functions.
    pub(super) fn raw(&self) -> &ash::Instance {
        &self.raw
    }

    /// The loader's functions.
    #[cfg(feature = "ash")]
    pub(super) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Whether objects may be given names for debuggers.
    pub(super) fn has_debug_utils(&self) -> bool {
        self.debug_utils
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance")
            .field("raw", &self.raw.handle())
            .finish_non_exhaustive()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: VUID-vkDestroyInstance-instance-00629: an instance is dropped
        // only where no device was made, or after its device (rule S41).
        unsafe { self.raw.destroy_instance(None) };
    }
}

/// A call before any device was chosen failed.
pub(super) fn refused(call: &'static str, code: vk::Result) -> SelectionError {
    match code {
        // This is how loaders say that they found no driver at all.
        vk::Result::ERROR_INCOMPATIBLE_DRIVER => SelectionError::NoDriver,
        code => SelectionError::Instance {
            call,
            code: code.as_raw(),
        },
    }
}

fn load() -> Result<Entry, SelectionError> {
    // SAFETY: rule S40: the system's Vulkan loader is trusted to initialise
    // itself soundly, and the entry outlives everything made from it.
    unsafe { Entry::load() }.map_err(|failure| {
        tracing::debug!(%failure, "the Vulkan loader was not opened");
        SelectionError::NoLoader
    })
}

fn require_version(entry: &Entry) -> Result<(), SelectionError> {
    // SAFETY: rule S40: the entry's functions are the loader's.
    let version = unsafe { entry.try_enumerate_instance_version() }
        .map_err(|code| refused("vkEnumerateInstanceVersion", code))?
        .unwrap_or(vk::API_VERSION_1_0);
    if version < vk::API_VERSION_1_3 {
        return Err(SelectionError::LoaderTooOld {
            major: vk::api_version_major(version),
            minor: vk::api_version_minor(version),
        });
    }
    Ok(())
}

fn extensions(entry: &Entry) -> Result<Vec<vk::ExtensionProperties>, SelectionError> {
    // SAFETY: rule S40: the entry's functions are the loader's; no layer is
    // named.
    unsafe { entry.enumerate_instance_extension_properties(None) }
        .map_err(|code| refused("vkEnumerateInstanceExtensionProperties", code))
}
