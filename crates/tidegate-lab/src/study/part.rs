//! A part of a study's results: the rows of some replications.
use std::collections::BTreeSet;
use std::fmt;

use tidegate_report::Tidy;

use crate::results::parquet;

use super::key::Key;
use super::rows::{self, Rows};

/// The rows of some replications, those of one after those of another.
#[derive(Clone, Debug)]
pub struct Part {
    pub(super) groups: Tidy,
    pub(super) flows: Option<Tidy>,
}

/// Which rows are one replication's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub key: Key,
    pub seed: u64,
    pub first: usize,
    pub rows: usize,
}

/// Why bytes are no part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPart(pub String);

impl fmt::Display for NoPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is no part of a study: {}", self.0)
    }
}

impl std::error::Error for NoPart {}

impl Part {
    /// A part without rows; with a table of flows if `flows`.
    pub fn empty(flows: bool) -> Part {
        Part { groups: rows::groups(), flows: flows.then(rows::flows) }
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.groups.rows() == 0
    }

    /// How many rows it has, of groups and flows together.
    pub fn rows(&self) -> usize {
        self.groups.rows() + self.flows.as_ref().map_or(0, Tidy::rows)
    }

    pub(super) fn add(&mut self, rows: Rows) {
        self.groups.append(rows.groups);
        if let (Some(all), Some(flows)) = (&mut self.flows, rows.flows) {
            all.append(flows);
        }
    }

    /// Adds the rows of `other`.
    pub fn join(&mut self, other: Part) {
        self.add(Rows { groups: other.groups, flows: other.flows });
    }

    /// Its tables as Parquet files: of groups, and of flows where they are kept.
    pub fn to_bytes(&self) -> (Vec<u8>, Option<Vec<u8>>) {
        let flows = self.flows.as_ref().map(|flows| parquet::written(flows, &[]));
        (parquet::written(&self.groups, &[]), flows)
    }

    /// The part whose tables [`Part::to_bytes`] made.
    ///
    /// # Errors
    /// The bytes are of something else.
    pub fn from_bytes(groups: Vec<u8>, flows: Option<Vec<u8>>) -> Result<Part, NoPart> {
        let read = |bytes: Vec<u8>, like: Tidy| {
            let tidy = parquet::read(bytes).map_err(|error| NoPart(error.to_string()))?;
            let same =
                tidy.columns.iter().map(|c| &c.name).eq(like.columns.iter().map(|c| &c.name));
            same.then_some(tidy).ok_or_else(|| NoPart("has columns of another version".into()))
        };
        let flows = flows.map(|bytes| read(bytes, rows::flows())).transpose()?;
        Ok(Part { groups: read(groups, rows::groups())?, flows })
    }

    /// The rows of these replications.
    pub(super) fn only(&self, which: &BTreeSet<(Key, u64)>) -> Part {
        let cut = |table: &Tidy, mut out: Tidy| {
            let spans = spans(table).unwrap_or_default();
            for span in spans.iter().filter(|span| which.contains(&(span.key, span.seed))) {
                out.append_rows(table, span.first..span.first + span.rows);
            }
            out
        };
        Part {
            groups: cut(&self.groups, rows::groups()),
            flows: self.flows.as_ref().map(|flows| cut(flows, rows::flows())),
        }
    }

    /// Which rows of groups are which replication's.
    pub(super) fn spans(&self) -> Result<Vec<Span>, NoPart> {
        spans(&self.groups)
    }
}

/// Which rows of `table` are which replication's.
pub(super) fn spans(table: &Tidy) -> Result<Vec<Span>, NoPart> {
    let column = |at: usize| table.columns.get(at).ok_or_else(|| NoPart("has no rows".into()));
    let (keys, seeds) = (column(0)?, column(1)?);
    let mut found: Vec<Span> = vec![];
    for row in 0..table.rows() {
        let key = keys.text(row).and_then(|text| u128::from_str_radix(&text, 16).ok());
        let (Some(key), Some(seed)) = (key, seeds.number(row)) else {
            return Err(NoPart(format!("row {row} has no case or no seed")));
        };
        let key = Key::from_bits(key);
        match found.last_mut().filter(|last| last.key == key && last.seed == seed as u64) {
            Some(last) => last.rows += 1,
            None => found.push(Span { key, seed: seed as u64, first: row, rows: 1 }),
        }
    }
    Ok(found)
}
