//! Admission: who may run, where, and in which order.
//!
//! The ledger, the line and the book are pure: events and time in, decisions
//! out. The backend keeps the book under one lock, asks it, unlocks, and then
//! carries out what it decided.

mod admit;
mod book;
mod ledger;
mod line;
mod pace;
mod request;
mod shared;

pub use admit::Admission;
pub use request::{DeviceFilter, QueryAdmissionRequest};
pub use shared::SharedAdmission;

pub(crate) use shared::Circle;

pub(crate) use request::{MOST_NAME_BYTES, check_bytes, check_range};

pub(crate) use book::{BANDS, Book, Carried, Ended, Grant, Held, Limits, Moves, Order, Polled};
pub(crate) use ledger::{Account, DeviceIndex, Ledger, MOST_CAPACITY_BYTES, MOST_DEVICES};
