//! Papers reproduced: pages that set our figures beside the printed ones, and each figure as SVG.
//!
//! Every page works offline, like the report of a run; they link to each other and share the chart
//! library.
//!
//! ```
//! use tidegate_report::papers::{self, Reproduced};
//! let title = "A <model>".into();
//! let paper = Reproduced { folder: "care".into(), title, ..Reproduced::default() };
//! let made = papers::Made { version: "0.1.0", command: "tidegate paper run all", note: "" };
//! let pages = papers::render(&[paper], &made);
//! let names: Vec<&str> = pages.iter().map(|p| p.name.as_str()).collect();
//! assert_eq!(names, ["index.html", "care.html"]);
//! assert!(pages[0].text.contains("A &lt;model&gt;"));
//! ```
mod map;
mod page;
mod prose;
mod svg;
mod tables;

use serde::Serialize;

pub use page::{Made, PaperPage, render};
pub use svg::svg;

/// A paper with what came of it.
#[derive(Clone, Debug, Default)]
pub struct Reproduced {
    /// Its short name.
    pub folder: String,
    /// The key that cites it.
    pub key: String,
    /// Its title.
    pub title: String,
    /// Who wrote it.
    pub authors: String,
    /// Where it appeared.
    pub venue: String,
    /// Its experiments, with what came of each.
    pub sections: Vec<Section>,
    /// Parameters that were chosen on printed numbers.
    pub fitted: Vec<FittedRow>,
}

/// An experiment, as a paper's description has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Experiment {
    /// Its name, as in `B5`; no two papers share one.
    pub id: String,
    /// Where it stands in the paper.
    pub place: String,
    /// What it shows.
    pub title: String,
    /// What was chosen, and why ours differs where it does.
    pub remarks: String,
    /// Why it is not run, where it is not.
    pub unchecked: Option<String>,
}

/// An experiment with what came of it.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The experiment.
    pub experiment: Experiment,
    /// What the paper says of it.
    pub claims: Vec<JudgedClaim>,
    /// Why claims of it differ, each with the number of claims that it is the reason for.
    pub explanations: Vec<(Explanation, usize)>,
    /// Claims of it under other readings of the text.
    pub readings: Vec<ReadingsTable>,
    /// Tables of queues, one for each setting.
    pub boards: Vec<Board>,
    /// One quantity of all queues in all settings.
    pub maps: Vec<HeatMap>,
    /// What is drawn of it.
    pub charts: Vec<Chart>,
    /// The commands that run each of its settings.
    pub runs: Vec<String>,
}

/// A claim with our figure, all as text.
#[derive(Clone, Debug, Default)]
pub struct JudgedClaim {
    /// The experiment's name.
    pub experiment: String,
    /// The setting.
    pub setting: String,
    /// The queue's label.
    pub queue: String,
    /// What it is about.
    pub quantity: String,
    /// Its unit.
    pub unit: String,
    /// What is printed.
    pub printed: String,
    /// Our figure; empty if there is none.
    pub ours: String,
    /// Half its 95 % interval.
    pub ci95: String,
    /// Ours over the printed number.
    pub ratio: String,
    /// The verdict's kind: `holds`, `holds under a reading`, `differs`, `fitted`, `fitted, not
    /// met`, `cannot be checked`.
    pub kind: &'static str,
    /// The verdict, with its reason.
    pub verdict: String,
    /// Where it stands in the paper.
    pub place: String,
    /// The name of the explanation, where it differs.
    pub explained: String,
}

/// Why some claims differ, with the evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// Its name in the claims.
    pub name: String,
    /// The reason, in paragraphs.
    pub why: String,
    /// The names of the tables of readings that bear it out.
    pub evidence: Vec<String>,
}

/// Claims under several readings of the text.
#[derive(Clone, Debug, Default)]
pub struct ReadingsTable {
    /// Its name.
    pub id: String,
    /// What is read in several ways.
    pub title: String,
    /// What comes of it.
    pub finding: String,
    /// The readings' names, the experiment's own first.
    pub names: Vec<String>,
    /// Readings under which claims may hold that differ as run, and what speaks against each.
    pub contradicted: Vec<(String, String)>,
    /// A row for each claim.
    pub rows: Vec<Reread>,
    /// How many of the claims each reading meets.
    pub met: Vec<String>,
}

/// A claim under several readings.
#[derive(Clone, Debug, Default)]
pub struct Reread {
    /// Setting, queue, quantity and unit.
    pub claim: String,
    /// What is printed.
    pub printed: String,
    /// Ours, by reading.
    pub cells: Vec<FigureCell>,
}

/// A figure in a table, as text.
#[derive(Clone, Debug, Default)]
pub struct FigureCell {
    /// The figure; empty if there is none.
    pub text: String,
    /// Half its 95 % interval.
    pub half: String,
    /// The verdict's kind, if it has one.
    pub kind: &'static str,
}

/// Queues side by side in one setting.
#[derive(Clone, Debug, Default)]
pub struct Board {
    /// What is compared, where.
    pub title: String,
    /// What the columns are.
    pub columns: Vec<String>,
    /// A row for each queue: its label, and its figures.
    pub rows: Vec<(String, Vec<FigureCell>)>,
}

/// A quantity from 0 to 1 of all queues in all settings.
#[derive(Clone, Debug, Default)]
pub struct HeatMap {
    /// Its name: of its file, too.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The settings.
    pub columns: Vec<String>,
    /// A row for each queue: its label, and a value for each setting.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
    /// The command that draws it again.
    pub command: String,
}

/// A parameter that was chosen on printed numbers.
#[derive(Clone, Debug, Default)]
pub struct FittedRow {
    /// What it is, and how it was chosen.
    pub parameter: String,
    /// The numbers that it was chosen on.
    pub targets: Vec<JudgedClaim>,
    /// Others, which tell whether the choice was right.
    pub supports: Vec<JudgedClaim>,
}

/// A figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Chart {
    /// Its name: of its file, too.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: String,
    /// The vertical axis.
    pub y: String,
    /// Its lines.
    pub lines: Vec<ChartLine>,
    /// Whether there is nothing between the places of its horizontal axis, as between one flow and
    /// the next: no line joins its points.
    pub apart: bool,
    /// The command that draws it again.
    pub command: String,
}

/// A line of a figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChartLine {
    /// Whose it is.
    pub name: String,
    /// Whether it is the paper's.
    pub printed: bool,
    /// Its points, by x.
    pub points: Vec<FigurePoint>,
}

/// A point of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FigurePoint {
    /// Horizontal.
    pub x: f64,
    /// Vertical.
    pub y: f64,
    /// Half its 95 % interval.
    pub ci95: Option<f64>,
}

/// The verdicts' kinds, in the order that they are shown.
pub const KINDS: [&str; 6] =
    ["holds", "holds under a reading", "differs", "fitted", "fitted, not met", "cannot be checked"];
