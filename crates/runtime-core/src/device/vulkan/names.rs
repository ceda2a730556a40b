//! Names of objects, for debuggers.
#![expect(unsafe_code, reason = "names are given through a C function")]

use std::ffi::CString;
use std::fmt;

use ash::{ext, vk};

/// Gives names where the instance was opened for it, and does nothing elsewhere.
pub(super) struct Names {
    functions: Option<ext::debug_utils::Device>,
}

impl Names {
    pub(super) fn new(instance: &ash::Instance, device: &ash::Device, enabled: bool) -> Self {
        Self {
            functions: enabled.then(|| ext::debug_utils::Device::new(instance, device)),
        }
    }

    /// Names an object that was just made and that nobody else uses yet.
    pub(super) fn give(&self, object: impl vk::Handle, label: &str) {
        let Some(functions) = &self.functions else {
            return;
        };
        let label: Vec<u8> = label.bytes().take_while(|byte| *byte != 0).collect();
        let Ok(label) = CString::new(label) else {
            return;
        };
        let info = vk::DebugUtilsObjectNameInfoEXT::default()
            .object_handle(object)
            .object_name(&label);
        // SAFETY: VUID-vkSetDebugUtilsObjectNameEXT-pNameInfo-02588 and its
        // threading rule: the object is alive and not shared yet.
        // Debuggers can do without a name, so a failure changes nothing.
        let _ = unsafe { functions.set_debug_utils_object_name(&info) };
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names")
            .field("enabled", &self.functions.is_some())
            .finish()
    }
}
