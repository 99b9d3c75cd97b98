//! The tests of the simulator, in one binary: what they share is compiled once. What counts memory
//! stands in a binary of its own.
#[path = "../naive/newreno.rs"]
pub(crate) mod newreno;

mod ack_filter;
mod at_queues;
mod bbr;
mod bottleneck;
mod cheats;
mod following;
mod laws;
mod ledbat;
mod media;
mod meters;
mod network;
mod ns2_traces;
mod reference;
mod sessions;
mod tcp;
mod tfrc;
mod waiting_lines;
