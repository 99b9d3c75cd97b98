//! Suites: published tests of queues, each of them cells that every queue meets.
//!
//! A suite is a folder: `suite.toml` (tests, cells, who is who) beside scenarios
//! (docs/study/suites.md). [`Suite::read`] checks it, [`run()`] simulates what is not stored yet,
//! and [`Scores::of`] says how the queues did.
mod attack;
mod book;
mod figure;
mod folder;
mod freeze;
mod json;
mod look;
mod open;
mod read;
mod run;
mod score;
mod tables;

pub use book::{Cell, Length, Roles, Suite, Test};
pub use figure::Figure;
pub use folder::{prepare, publish};
pub use freeze::cells as frozen;
pub use json::json;
pub use look::page;
pub use open::{every_queue, open, shipped};
pub use run::{Asked, Results, run};
pub use score::{OfCell, OfQueue, OfTest, Scores};
use tables::tables;
pub use tables::{groups, scored};

/// The name of a suite's description in its folder.
pub const DESCRIPTION: &str = "suite.toml";
