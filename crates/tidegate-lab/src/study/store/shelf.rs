//! The parts of a store that were read last, in memory.
use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;

use super::error::StoreError;
use super::{flows_file, groups_file};
use crate::study::part::Part;

/// Rows of all parts in memory, at most; the part that is asked for does not count.
const MOST_ROWS: usize = 200_000;

/// Reads parts and keeps the last ones.
pub(super) struct Shelf {
    pub dir: PathBuf,
    /// A part without rows.
    like: Part,
    /// The last one read stands last.
    kept: VecDeque<(i64, Part)>,
}

impl Shelf {
    pub fn new(dir: PathBuf, like: Part) -> Shelf {
        Shelf { dir, like, kept: VecDeque::new() }
    }

    /// Part `id`.
    pub fn part(&mut self, id: i64) -> Result<&Part, StoreError> {
        match self.kept.iter().position(|(kept, _)| *kept == id) {
            Some(at) => {
                if let Some(found) = self.kept.remove(at) {
                    self.kept.push_back(found);
                }
            }
            None => {
                let part = self.read(id)?;
                while self.kept.iter().map(|(_, part)| part.len()).sum::<usize>() > MOST_ROWS {
                    self.kept.pop_front();
                }
                self.kept.push_back((id, part));
            }
        }
        let missing = || StoreError::failed(&self.dir, format!("part {id} is missing"));
        self.kept.back().map(|(_, part)| part).ok_or_else(missing)
    }

    fn read(&self, id: i64) -> Result<Part, StoreError> {
        let path = self.dir.join(groups_file(id));
        let groups = fs::read(&path).map_err(|error| damaged(&path, &error))?;
        let flows = match fs::read(self.dir.join(flows_file(id))) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(damaged(&path, &error)),
        };
        Part::from_bytes(groups, flows, &self.like).map_err(|error| damaged(&path, &error))
    }
}

fn damaged(path: &std::path::Path, error: &dyn std::fmt::Display) -> StoreError {
    let why = format!(
        "the store is damaged: {error}. Delete this file, and `tidegate sweep` runs anew what was \
         in it"
    );
    StoreError::failed(path, why)
}
