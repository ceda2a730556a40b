//! Memory: what is held, and on whose account.

pub mod budget;
