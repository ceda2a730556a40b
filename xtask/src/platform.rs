//! Which system this is, and how it installs packages.

use std::fs;

#[cfg(test)]
mod tests;

/// A kind of system, as far as installing packages goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Platform {
    /// Debian, Ubuntu and what is derived from them.
    Debian,
    /// Fedora and its relatives.
    Fedora,
    /// Arch and its relatives.
    Arch,
    /// openSUSE and SUSE.
    Suse,
    /// Alpine.
    Alpine,
    /// Apple's.
    MacOs,
    /// Microsoft's.
    Windows,
    /// Something else, with the name it gives itself.
    Other(String),
}

impl Platform {
    /// The system that this program runs on.
    pub(crate) fn here() -> Self {
        if cfg!(target_os = "macos") {
            return Self::MacOs;
        }
        if cfg!(target_os = "windows") {
            return Self::Windows;
        }
        let release = fs::read_to_string("/etc/os-release")
            .or_else(|_| fs::read_to_string("/usr/lib/os-release"))
            .unwrap_or_default();
        Self::from_os_release(&release)
    }

    /// Reads the text of an os-release file: `ID` first, then what `ID_LIKE`
    /// says in its order, from the closest relative to the farthest.
    pub(crate) fn from_os_release(text: &str) -> Self {
        let id = field(text, "ID").unwrap_or_default();
        let like = field(text, "ID_LIKE").unwrap_or_default();
        std::iter::once(id.as_str())
            .chain(like.split_whitespace())
            .find_map(Self::named)
            .unwrap_or(Self::Other(id))
    }

    fn named(id: &str) -> Option<Self> {
        Some(match id {
            "debian" | "ubuntu" => Self::Debian,
            "fedora" | "rhel" | "centos" => Self::Fedora,
            "arch" => Self::Arch,
            "suse" | "opensuse" | "opensuse-leap" | "opensuse-tumbleweed" | "sles" => Self::Suse,
            "alpine" => Self::Alpine,
            _ => return None,
        })
    }

    /// What to type to install the loader, a software driver and the
    /// validation layer, or where to read how.
    pub(crate) fn install_words(&self) -> &'static str {
        match self {
            Self::Debian => {
                "apt-get install -y --no-install-recommends \
                 libvulkan1 mesa-vulkan-drivers vulkan-validationlayers"
            }
            Self::Fedora => {
                "dnf install -y vulkan-loader mesa-vulkan-drivers vulkan-validation-layers"
            }
            Self::Arch => {
                "pacman -S --needed vulkan-icd-loader vulkan-swrast vulkan-validation-layers"
            }
            Self::Suse => "zypper install -y libvulkan1 libvulkan_lvp vulkan-validationlayers",
            Self::Alpine => "apk add vulkan-loader mesa-vulkan-swrast vulkan-validation-layers",
            Self::MacOs => "brew install vulkan-loader molten-vk vulkan-validationlayers",
            Self::Windows => {
                "winget install KhronosGroup.VulkanSDK   (the graphics driver brings its own Vulkan driver)"
            }
            Self::Other(_) => {
                "install a Vulkan loader (libvulkan.so.1), Mesa's lavapipe driver and the \
                 Khronos validation layer with this system's package manager"
            }
        }
    }
}

/// The value of `name` in shell-like assignments; quotes and comments are the
/// only shell syntax that such files use.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.trim().split_once('=')?;
        (key == name).then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    })
}
