//! Plain tables for the terminal.

use std::time::Duration;

use comfy_table::Table;
use comfy_table::presets;

/// A table with a head and nothing in it yet.
pub(crate) fn with_head<const N: usize>(head: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY);
    table.set_header(head.to_vec());
    table
}

/// A duration in seconds with one decimal.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
