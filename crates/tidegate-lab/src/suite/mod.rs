//! Suites: published tests of queues, each of them cells that every queue meets.
//!
//! A suite is a folder: `suite.toml` (tests, cells, who is who) beside scenarios
//! (docs/study/suites.md). [`Suite::read`] checks it, [`run()`] simulates what is not stored yet,
//! and [`Scores::of`] says how the queues did.
//!
//! ```
//! use tidegate::catalog;
//! use tidegate_lab::QueueSpec;
//! use tidegate_lab::foreign::Foreign;
//! use tidegate_lab::suite::{self, Scores, SuiteLength, SuiteRequest};
//!
//! // Any `Qdisc` will do; here one of the catalog's plays the stranger.
//! let build = |link, dice| catalog::config("drr", None, &link)?.build(link, dice);
//! let mine = QueueSpec::foreign(Foreign::new("mine", build)?);
//! let suite = suite::open("protection")?;
//! let tests = suite.tests(&["P16".into()])?;
//! let queues = vec![mine, "drop_tail".parse()?];
//! let length = SuiteLength::Quick;
//! let asked = SuiteRequest { suite: &suite, tests, queues, length, seeds: Some(2) };
//! let results = suite::run(&asked, None, &())?;
//! let scores = Scores::of(&suite, &results);
//! assert_eq!(results.queues[scores.queues[0].queue].label(), "mine");
//! assert!(scores.queues[0].passed > scores.queues[1].passed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
mod aim;
mod attack;
mod book;
mod ellipses;
mod figure;
mod folder;
mod freeze;
mod json;
mod look;
mod open;
mod read;
mod roles;
mod run;
mod score;
mod tables;

pub use book::{Roles, Suite, SuiteCell, SuiteLength, Test};
pub use figure::CellFigure;
pub use folder::{prepare, publish};
pub use freeze::{cells as frozen, unchanged};
pub use json::json;
pub use look::page;
pub use open::{every_queue, open, shipped};
pub use run::{SuiteRequest, SuiteResults, run};
pub use score::{OfCell, OfQueue, OfTest, Scores};
use tables::tables;
pub use tables::{groups, scored};

/// The name of a suite's description in its folder.
pub const DESCRIPTION: &str = "suite.toml";
/// The name of the file with the cells of a frozen suite.
pub const CELLS: &str = "cells.jsonl";
