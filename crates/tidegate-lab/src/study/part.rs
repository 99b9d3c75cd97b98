//! The rows of some replications, those of one after those of another.
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use tidegate_report::Tidy;

use crate::results::parquet;

use super::key::CaseKey;

/// The rows of some replications, in two tables.
#[derive(Clone, Debug)]
pub struct Part {
    /// The rows, behind case and seed.
    pub(crate) rows: Tidy,
    /// More of them with other columns, behind case and seed: of each flow, where flows are kept.
    pub(crate) flows: Tidy,
}

/// Which rows are one replication's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowSpan {
    pub key: CaseKey,
    pub seed: u64,
    pub rows: Range<usize>,
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
    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.rows() == 0
    }

    /// How many rows it has, in all tables.
    pub fn len(&self) -> usize {
        self.rows.rows() + self.flows.rows()
    }

    /// A part of the same columns without rows.
    pub fn emptied(&self) -> Part {
        Part { rows: self.rows.emptied(), flows: self.flows.emptied() }
    }

    /// Adds the rows of `other`, which has the same columns.
    pub fn append(&mut self, other: Part) {
        self.rows.append(other.rows);
        self.flows.append(other.flows);
    }

    /// Its tables as Parquet files; none of flows where there are none.
    pub fn to_bytes(&self) -> (Vec<u8>, Option<Vec<u8>>) {
        let flows = (self.flows.rows() > 0).then(|| parquet::written(&self.flows, &[]));
        (parquet::written(&self.rows, &[]), flows)
    }

    /// The part whose tables [`Part::to_bytes`] made, with the columns of `like`.
    ///
    /// # Errors
    /// The bytes are of something else.
    pub fn from_bytes(rows: Vec<u8>, flows: Option<Vec<u8>>, like: &Part) -> Result<Part, NoPart> {
        let names = |table: &Tidy| -> Vec<String> {
            table.columns.iter().map(|column| column.name.clone()).collect()
        };
        let read = |bytes: Vec<u8>, like: &Tidy| {
            let table = parquet::read(bytes).map_err(|error| NoPart(error.to_string()))?;
            let other = || NoPart("has columns of another version".into());
            (names(&table) == names(like)).then_some(table).ok_or_else(other)
        };
        let rows = read(rows, &like.rows)?;
        let flows = flows.map(|bytes| read(bytes, &like.flows)).transpose()?;
        Ok(Part { rows, flows: flows.unwrap_or_else(|| like.flows.emptied()) })
    }

    /// The rows of these replications.
    pub(super) fn only(&self, which: &BTreeSet<(CaseKey, u64)>) -> Part {
        let cut = |table: &Tidy| {
            let mut out = table.emptied();
            let spans = spans(table).unwrap_or_default();
            for span in spans.iter().filter(|span| which.contains(&(span.key, span.seed))) {
                out.append_rows(table, span.rows.clone());
            }
            out
        };
        Part { rows: cut(&self.rows), flows: cut(&self.flows) }
    }

    /// The rows at these places.
    pub(super) fn cut(&self, rows: Range<usize>, flows: Range<usize>) -> Part {
        let cut = |table: &Tidy, rows: Range<usize>| {
            let mut out = table.emptied();
            out.append_rows(table, rows);
            out
        };
        Part { rows: cut(&self.rows, rows), flows: cut(&self.flows, flows) }
    }
}

/// Which rows of `table` are which replication's.
pub(super) fn spans(table: &Tidy) -> Result<Vec<RowSpan>, NoPart> {
    if table.rows() == 0 {
        return Ok(vec![]);
    }
    let column = |at: usize| table.columns.get(at).ok_or_else(|| NoPart("has no keys".into()));
    let (keys, seeds) = (column(0)?, column(1)?);
    let mut found: Vec<RowSpan> = vec![];
    for row in 0..table.rows() {
        let key = keys.text(row).and_then(|text| u128::from_str_radix(&text, 16).ok());
        let (Some(key), Some(seed)) = (key, seeds.number(row)) else {
            return Err(NoPart(format!("row {row} has no case or no seed")));
        };
        let (key, seed) = (CaseKey::from_bits(key), seed as u64);
        match found.last_mut().filter(|last| last.key == key && last.seed == seed) {
            Some(last) => last.rows.end += 1,
            None => found.push(RowSpan { key, seed, rows: row..row + 1 }),
        }
    }
    Ok(found)
}
