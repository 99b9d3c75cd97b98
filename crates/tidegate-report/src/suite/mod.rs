//! The page of a suite: a map of queues and tests, and each test's cells below it.
//!
//! One file that works offline and runs no script: it is the same on a phone and on paper.
//!
//! ```
//! use tidegate_report::suite::{self, SuiteResult};
//! let suite = SuiteResult { title: "A <title>".into(), ..SuiteResult::default() };
//! let page = suite::render(&suite);
//! assert!(page.contains("<h1>A &lt;title&gt;</h1>") && !page.contains("<script"));
//! ```
mod cells;
mod map;
mod page;

use crate::Figure;

pub use map::share;
pub use page::render;

/// What came of a suite.
#[derive(Clone, Debug, Default)]
pub struct SuiteResult {
    /// Its name with its version.
    pub name: String,
    /// Its title.
    pub title: String,
    /// What must be known of the figures: that it is a draft, or that runs were short.
    pub notes: Vec<String>,
    /// What the worst user must be sure of; none in a suite that does not judge.
    pub bound: Option<f64>,
    /// The queues, the best first.
    pub queues: Vec<QueueScore>,
    /// The tests.
    pub tests: Vec<TestResult>,
    /// How many replications each cell has.
    pub seeds: usize,
    /// The command that makes it again.
    pub command: String,
    /// The version that made it.
    pub version: String,
}

/// A queue over all tests.
#[derive(Clone, Debug, Default)]
pub struct QueueScore {
    /// What it is called.
    pub label: String,
    /// Cells that it passed.
    pub passed: usize,
    /// Of so many.
    pub of: usize,
    /// By test, what the worst user is sure of in the worst cell; passed where all cells are.
    pub tests: Vec<Option<Sure>>,
    /// The most that it keeps besides packets, in bytes.
    pub state_bytes: Option<u64>,
    /// What a packet costs, in ns.
    pub ns: Option<f64>,
}

/// A test.
#[derive(Clone, Debug, Default)]
pub struct TestResult {
    /// Its short name.
    pub id: String,
    /// Its name.
    pub title: String,
    /// Its question.
    pub asks: String,
    /// Where it comes from.
    pub source: String,
    /// Name and unit of each figure that is shown of its cells.
    pub figures: Vec<(String, String)>,
    /// Its cells.
    pub cells: Vec<CellResult>,
}

/// A cell.
#[derive(Clone, Debug, Default)]
pub struct CellResult {
    /// What it is called.
    pub name: String,
    /// The command that runs it by itself.
    pub command: String,
    /// What one user is, and as how many the attackers count.
    pub counts: String,
    /// A row for each queue, in their order.
    pub rows: Vec<CaseScore>,
    /// Pictures, as SVG.
    pub pictures: Vec<String>,
}

/// What the worst user is sure of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sure {
    /// As part of a fair share.
    pub sure: f64,
    /// Whether that is enough.
    pub passed: bool,
}

/// A queue in a cell.
#[derive(Clone, Debug, Default)]
pub struct CaseScore {
    /// What the worst user is sure of.
    pub sure: Option<Sure>,
    /// The test's figures.
    pub figures: Vec<Option<Figure>>,
}

#[cfg(test)]
mod tests;
