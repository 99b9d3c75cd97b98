//! What is counted, and what comes of a run.

pub(crate) mod delay;
pub(crate) mod end_to_end;
pub(crate) mod histogram;
pub(crate) mod meters;
pub(crate) mod observers;
pub(crate) mod outcome;
pub(crate) mod plan;
pub(crate) mod queue_meter;
pub(crate) mod spread;
pub(crate) mod trace;
