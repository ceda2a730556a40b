//! Device slots: what a backend may grant on.

/// One device of a backend.
#[derive(Debug)]
pub(crate) struct DeviceSlot {
    pub(crate) label: String,
}

impl DeviceSlot {
    /// A slot that is a ledger alone: nothing is opened for it.
    pub(crate) fn ledger_only(label: String) -> Self {
        Self { label }
    }

    /// Takes the device's resources away; called at GPU quiescence.
    pub(crate) fn detach(&self) {}
}
