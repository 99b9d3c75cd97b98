//! What is wrong with a scenario, and where.
use std::fmt;

/// Where a wrong value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a line of a file; line and column count from 1, the column in characters.
    Line {
        /// The file's name.
        file: String,
        /// The line's number.
        line: usize,
        /// The column where it begins.
        column: usize,
        /// The line itself, cut to what a terminal shows.
        text: String,
        /// How many characters of the line it takes.
        width: usize,
    },
    /// The file as a whole.
    File(String),
    /// An override `path=value`, as it was given.
    Set(String),
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// The field's path, `group.flood.rate`; empty where no field is concerned.
    pub field: String,
    /// The value as it was written; empty where there is none.
    pub value: String,
    /// What is wrong, what would be right and, where one can guess it, what was meant.
    pub why: String,
}

/// Everything that was found wrong: at least one, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    found: Vec<Problem>,
    /// Problems beyond the most that are worth reading.
    more: usize,
}

/// The most problems that are reported at once.
const MOST: usize = 20;

impl Problems {
    /// `found`, cut to the first twenty; `None` when there are none.
    pub fn new(mut found: Vec<Problem>) -> Option<Problems> {
        let more = found.len().saturating_sub(MOST);
        found.truncate(MOST);
        (!found.is_empty()).then_some(Problems { found, more })
    }

    /// A single problem.
    pub fn one(problem: Problem) -> Problems {
        Problems { found: vec![problem], more: 0 }
    }

    /// The problems; never empty.
    pub fn list(&self) -> &[Problem] {
        &self.found
    }
}

impl fmt::Display for Problem {
    /// `file:line:column: field = value: why`, then the line with a caret below the place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Line { file, line, column, .. } => write!(f, "{file}:{line}:{column}: ")?,
            Place::File(file) => write!(f, "{file}: ")?,
            Place::Set(text) => write!(f, "--set {text}: ")?,
        }
        match (self.field.is_empty(), self.value.is_empty()) {
            (false, false) => write!(f, "{} = {}: {}", self.field, self.value, self.why)?,
            (false, true) => write!(f, "{}: {}", self.field, self.why)?,
            (true, _) => write!(f, "{}", self.why)?,
        }
        let Place::Line { line, column, text, width, .. } = &self.place else { return Ok(()) };
        let number = line.to_string();
        let (margin, indent, carets) =
            (" ".repeat(number.len()), " ".repeat(column - 1), "^".repeat((*width).max(1)));
        write!(f, "\n {number} | {text}\n {margin} | {indent}{carets}")
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.found.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        if self.more > 0 {
            write!(f, "\n… and {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}
impl std::error::Error for Problems {}
