//! The papers, reproduced: experiments and claims in, figures with verdicts out.
//!
//! A paper is a folder: `paper.toml` (experiments, runs, figures, what was fitted), scenarios,
//! `printed.csv` with one claim a row, and `explained.toml` with the reasons for differences and
//! other readings of the text (docs/study/papers.md). [`Paper::read`] checks all of it against each
//! other, [`run()`] simulates what is not stored yet, and [`rows`] sets our figures beside the
//! printed ones.
mod board;
mod book;
mod cell;
mod claim;
mod closed;
mod consistent;
mod description;
mod drawing;
mod drawn;
mod explained;
mod figure;
mod look;
pub mod pairs;
mod quantity;
mod read;
mod readings;
mod results;
mod row;
mod run;
mod shelf;
mod table;
mod unit;
mod unwritten;
mod verdict;

pub use crate::folder::Folder;
pub use crate::results::VERSION;
pub use crate::study::RunsError as PaperError;
pub use book::{Fitted, Paper, PaperRun, Reading, Readings};
pub use claim::{Claim, Fit};
pub use drawn::{BoardColumn, BoardSpec, FigureKind, FigureSpec, KnownLine};
pub use figure::{charts, points};
pub use look::page;
pub use quantity::Quantity;
pub use readings::csv as readings;
pub use results::{Length, PaperResults};
pub use row::{ClaimRow, csv, rows};
pub use run::{PaperRequest, run};
pub use shelf::{prepare, publish};
pub use tidegate_report::papers::{Experiment, Explanation};
pub use verdict::{ClaimVerdict, Other, Printed, Tolerance};

/// The name of a paper's description in its folder.
pub const DESCRIPTION: &str = "paper.toml";
/// The name of its claims.
pub const CLAIMS: &str = "printed.csv";
/// The name of its explanations and other readings; a folder may do without.
pub const EXPLAINED: &str = "explained.toml";

/// Lets the folders use each other's scenarios, as `../care/b5.toml`.
pub fn shelved(mut folders: Vec<Folder<'_>>) -> Vec<Folder<'_>> {
    let scenario =
        |name: &str| name.ends_with(".toml") && ![DESCRIPTION, EXPLAINED].contains(&name);
    let mut shared = vec![];
    for folder in &folders {
        let mine = folder.files.iter().filter(|(name, _)| scenario(name));
        shared.extend(mine.map(|(name, text)| {
            (std::borrow::Cow::Owned(format!("../{}/{name}", folder.name)), text.clone())
        }));
    }
    for folder in &mut folders {
        folder.files.extend(shared.iter().cloned());
    }
    folders
}
