//! The papers, reproduced: experiments and claims in, figures with verdicts out.
//!
//! A paper is a folder: `paper.toml` (experiments, runs, figures, what was fitted), scenarios, and `printed.csv` with one
//! claim a row (docs/papers.md). [`Paper::read`] checks all of it against each other, [`run()`] simulates what is not
//! stored yet, and [`rows`] sets our figures beside the printed ones.
mod book;
mod cell;
mod claim;
mod closed;
mod figure;
mod look;
mod quantity;
mod read;
mod run;
mod shelf;
mod unit;
mod verdict;

use std::borrow::Cow;

pub use book::{Experiment, Figure, Fitted, Kind, Paper, Run};
pub use cell::{VERSION, sources};
pub use claim::{Claim, Fit};
pub use figure::{charts, points};
pub use look::{Row, csv, page, rows};
pub use quantity::Quantity;
pub use run::{Asked, Length, PaperError, Results, run};
pub use shelf::{prepare, publish};
pub use verdict::{Printed, Verdict, Within};

/// The name of a paper's description in its folder.
pub const DESCRIPTION: &str = "paper.toml";
/// The name of its claims.
pub const CLAIMS: &str = "printed.csv";

/// A paper's folder: its name and the texts of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder<'t> {
    /// The short name by which the command knows the paper.
    pub name: Cow<'t, str>,
    /// Name and text of each file.
    pub files: Vec<(Cow<'t, str>, Cow<'t, str>)>,
}

impl Folder<'_> {
    /// The text of a file.
    pub fn file(&self, name: &str) -> Option<&str> {
        self.files.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_ref())
    }
}
