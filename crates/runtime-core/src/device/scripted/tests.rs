#![expect(
    unsafe_code,
    reason = "submitting and host access are unsafe to the caller, which a test is"
)]

mod fixture;
mod images;
mod order;
mod plans;
mod script;
