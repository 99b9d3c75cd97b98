//! What needs no device of the kernel's and no process of its own. One program, since each would
//! hold every queue again.
#[path = "../support/frames.rs"]
mod frames;
#[path = "../support/openmetrics.rs"]
mod openmetrics;
#[path = "../support/rig.rs"]
mod rig;
#[path = "../support/standing.rs"]
mod standing;

mod dashboard;
mod gate;
mod heavy;
mod hosts;
mod metrics;
mod offenders;
mod paced;
mod plan;
mod rates;
mod record;
mod rehash;
mod reload;
mod serve;
mod snapshot;
mod socket;
mod web;
