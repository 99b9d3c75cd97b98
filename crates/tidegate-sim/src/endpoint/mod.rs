//! The two ends of each flow: senders, receivers, and their timers.

pub(crate) mod ends;
mod labels;
pub(crate) mod receiver;
pub(crate) mod sender;
