//! The tests of the lab, in one binary: what they share is compiled and linked once.
#[path = "../support/jobs.rs"]
pub(crate) mod jobs;
#[path = "../support/markdown.rs"]
pub(crate) mod markdown;
#[path = "../support/parts.rs"]
pub(crate) mod parts;
#[path = "../support/refusals.rs"]
pub(crate) mod refusals;
#[path = "../support/shipped.rs"]
pub(crate) mod shipped;
#[path = "../support/wire.rs"]
pub(crate) mod wire;

mod advise;
mod attacks_page;
mod captures;
mod choosing_page;
mod conflicts;
mod connections;
mod coverage;
mod demand;
mod derived;
mod docs;
mod estimates;
mod fair_shares;
mod figures;
mod forge;
mod group_conflicts;
mod group_sources;
mod group_values;
mod laws;
mod laws_drawn;
mod links;
mod linux;
mod load;
mod loads_drawn;
mod no_harm;
mod ns2;
mod overrides;
mod paper;
mod paper_shown;
mod papers_readme;
mod parquet;
mod plots;
mod print;
mod protection_draft;
mod published_attacks;
mod published_cebinae;
mod queues_fit;
mod recovery;
mod replay;
mod rfc7928;
mod round_trips;
mod run;
mod runs_by_hand;
mod saved;
mod scenario;
mod sources;
mod store;
mod suite;
mod tables;
mod toml;
mod topology;
mod ways;
mod written;
