//! What an attempt begins with.

use crate::admission::{MOST_NAME_BYTES, check_range};
use crate::error::{Field, Result};

/// What is known of an attempt before it is planned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "a request does nothing until an attempt begins with it"]
pub struct BeginAttemptRequest {
    pub(crate) correlation: Option<String>,
    pub(crate) tenant: Option<String>,
}

impl BeginAttemptRequest {
    /// An attempt without a name.
    pub fn new() -> Self {
        Self::default()
    }

    /// The caller's own name for the attempt, with at most 256 bytes; it is
    /// copied into the report.
    pub fn correlation(mut self, correlation: impl Into<String>) -> Self {
        self.correlation = Some(correlation.into());
        self
    }

    /// The tenant that the attempt is charged to, with at most 256 bytes.
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// # Errors
    /// `OutOfRange` for a name that is too long.
    pub(crate) fn check(&self) -> Result<()> {
        let names = [
            (Field::CorrelationLength, &self.correlation),
            (Field::TenantLength, &self.tenant),
        ];
        let most = u64::try_from(MOST_NAME_BYTES).unwrap_or(u64::MAX);
        for (field, name) in names {
            let length = name.as_ref().map_or(0, String::len);
            let length = u64::try_from(length).unwrap_or(u64::MAX);
            check_range(field, length, 0, most)?;
        }
        Ok(())
    }
}
