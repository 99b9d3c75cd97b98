//! What is counted and measured on the way, and the documents that show it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`counters`] | what became of every frame |
//! | [`observer`] | the trait of those that are shown every frame and its fate |
//! | [`record`] | an observer that writes a capture file |
//! | [`meter`] | what a direction measures |
//! | [`heavy`] | the flows that send most, in a table of fixed size |
//! | [`sojourn`] | how long frames wait |
//! | [`sample`] | plain figures that leave the thread that moves frames |
//! | [`monitor`] | keeps samples and turns them into documents |
//! | [`snapshot`] | the document itself |
//! | [`interval`] | what arrived in an interval, flow by flow |
//! | [`offenders`] | flows that send too much for too long |
//! | [`fair`] | the rate that is fair to a flow |
//! | [`socket`] | hands documents to programs that connect |
//! | [`http`] | answers those who ask over HTTP, within bounds |
//! | [`metrics`] | the documents as OpenMetrics, over HTTP |
//! | [`rates`] | what happened in a second, from two documents |
//! | [`web`] | the page in a browser |
pub mod counters;
pub mod fair;
pub mod heavy;
pub mod http;
pub mod interval;
pub mod meter;
pub mod metrics;
pub mod monitor;
pub mod observer;
pub mod offenders;
pub mod rates;
pub mod record;
pub mod sample;
pub mod snapshot;
pub mod socket;
pub mod sojourn;
pub mod web;
