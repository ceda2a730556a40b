//! Memory: budgets, buffers and views.

pub mod budget;
mod buffer;

pub use buffer::{Buffer, View};
