//! `tidegate sweep merge`.
use std::fs;
use std::path::{Path, PathBuf};

use tidegate_lab::study::{self, Shard, Store};

use super::{SweepOptions, failed};
use crate::experiment::begin;
use crate::failure::Failure;
use crate::output;

/// Put the parts of a study together, which --shard made.
///
/// Without directories, those are the folders of parts below the study's own. Parts stay where they
/// are. What no part has is listed, and `tidegate sweep` runs it.
#[derive(Debug, clap::Args)]
pub struct MergeArgs {
    #[command(flatten)]
    of: SweepOptions,
    /// Directories of parts, or of the same study run elsewhere
    #[arg(value_name = "PART")]
    parts: Vec<PathBuf>,
}

impl MergeArgs {
    pub fn execute(self) -> Result<(), Failure> {
        let begun = begin();
        let prepared = self.of.prepared()?;
        prepared.drawable().map_err(Failure::input)?;
        let dir = self.of.dir(&prepared.study);
        let parts = if self.parts.is_empty() { below(&dir)? } else { self.parts.clone() };
        if parts.is_empty() {
            let why = "has no parts; `tidegate sweep --shard 1/2` makes the first of two";
            return Err(Failure::Input(format!("{}: {why}", dir.display())));
        }
        if let Some(none) = parts.iter().find(|part| !Store::exists(part)) {
            let why = "holds no part of a study";
            return Err(Failure::Input(format!("{}: {why}", none.display())));
        }
        let own = fs::canonicalize(&dir).ok();
        if let Some(same) =
            parts.iter().find(|part| own.is_some() && fs::canonicalize(part).ok() == own)
        {
            let why = "is where the parts are put together, not a part";
            return Err(Failure::Input(format!("{}: {why}", same.display())));
        }
        let mut store = Store::open(&dir, study::empty()).map_err(failed)?;
        for part in &parts {
            let mut other = Store::open(part, study::empty()).map_err(failed)?;
            let new = store.merge(&mut other).map_err(failed)?;
            output::note(&format!("{}: {new} replications.", part.display()));
        }
        let missing = prepared.missing(Some(&mut store), Shard::WHOLE).map_err(failed)?;
        let count: u64 = missing.iter().map(|batch| batch.seeds as u64).sum();
        if count > 0 {
            output::note(&format!(
                "{count} replications are still missing; `tidegate sweep` runs them."
            ));
        }
        self.of.publish(&prepared, &mut store, &dir, begun)
    }
}

/// The folders of parts below `dir`, in the order of their names.
fn below(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries =
        fs::read_dir(dir).map_err(|error| Failure::Input(format!("{}: {error}", dir.display())))?;
    let mut parts: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("shard-"))
        })
        .collect();
    parts.sort();
    Ok(parts)
}
