//! The tests of the lab, in one binary: what they share is compiled and linked once.
#[path = "../support/jobs.rs"]
pub(crate) mod jobs;
#[path = "../support/shipped.rs"]
pub(crate) mod shipped;
#[path = "../support/wire.rs"]
pub(crate) mod wire;

mod advise;
mod attacks_page;
mod choosing_page;
mod coverage;
mod derived;
mod docs;
mod figures;
mod forge;
mod linux;
mod load;
mod no_harm;
mod ns2;
mod paper;
mod paper_shown;
mod papers_readme;
mod parquet;
mod plots;
mod print;
mod protection_draft;
mod published_attacks;
mod published_cebinae;
mod recovery;
mod replay;
mod rfc7928;
mod run;
mod scenario;
mod sources;
mod store;
mod suite;
mod topology;
mod ways;
