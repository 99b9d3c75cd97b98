//! The commands that need neither root nor a browser, in one binary: what they share is compiled
//! and linked once.
#[path = "../common/mod.rs"]
pub(crate) mod common;

mod advise;
mod bad_input;
mod diff;
mod help;
mod paper;
mod plots;
mod replay;
mod run;
mod sketch;
mod suite;
mod sweep;
