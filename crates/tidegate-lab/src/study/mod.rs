//! Studies: a grid of scenarios and queues, run with every seed, its results in one tidy table.
//!
//! A study is a TOML file (`docs/study/sweep.md`). [`Study::parse`] reads it, and [`Prepared`]
//! checks every cell of it. [`sweep()`] runs what a [`Store`] does not have yet. [`tables`] makes
//! the tables of what it has, and [`mark`] says how they came about.
mod axis;
mod batch;
mod cell;
mod compute;
mod drawn;
mod file;
mod fill;
mod key;
mod mark;
mod part;
mod plot;
mod prepared;
mod read;
mod round;
mod rows;
mod seeds;
mod shard;
mod store;
mod substitute;
mod sweep;
mod tables;
mod written;

pub use axis::{Axis, Setting, Typed};
pub use batch::Batch;
pub use cell::Cell;
pub use compute::compute;
pub use drawn::{DrawnPlot, plots};
pub use file::{Base, Study};
pub use fill::RunsError;
pub(crate) use fill::{Due, fill, weight};
pub use key::{CaseKey, Keeps};
pub use mark::mark;
pub use part::{NoPart, Part};
pub use prepared::{Case, Prepared};
pub use rows::empty;
pub(crate) use rows::{add_groups, figures, groups};
pub use seeds::{Seeds, Until};
pub use shard::Shard;
pub use store::{Store, StoreError};
pub use sweep::{SweepError, SweepRequest, Swept, sweep};
pub(crate) use tables::pool;
pub use tables::{GroupShare, Tables, tables};
pub use written::WantedTables;
pub(crate) use written::{whole, write};

/// The most replications of a study, in all cells together.
pub const MOST_REPLICATIONS: u64 = 10_000_000;
