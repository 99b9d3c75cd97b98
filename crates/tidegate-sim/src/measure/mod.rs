//! What is counted, and what comes of a run.

pub(crate) mod delay;
pub(crate) mod end_to_end;
pub(crate) mod histogram;
pub(crate) mod meters;
pub(crate) mod outcome;
pub(crate) mod queue_meter;
pub(crate) mod spread;
