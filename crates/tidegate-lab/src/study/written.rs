//! A table that is written while it comes, as Parquet and, where asked for, as CSV.
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use tidegate_report::Tidy;

use crate::results::parquet::Writer;

use super::store::StoreError;

/// Which columns are kept in memory, and whether CSV is wanted.
#[derive(Clone, Copy)]
pub struct WantedTables<'w> {
    /// Whether the column of this name is kept.
    pub keep: &'w dyn Fn(&str) -> bool,
    /// Whether the tables are written as CSV, too.
    pub csv: bool,
}

/// Rows that are written at once.
const CHUNK: usize = 1 << 16;

/// A table under construction. Its files appear when it is whole.
pub(super) struct TableFiles<'w> {
    dir: PathBuf,
    name: &'static str,
    waiting: Tidy,
    parquet: Option<(NamedTempFile, Writer<BufWriter<File>>)>,
    csv: Option<csv::Writer<NamedTempFile>>,
    kept: Tidy,
    wanted: WantedTables<'w>,
}

impl<'w> TableFiles<'w> {
    /// The table `name` in `dir` with the columns of `like`.
    pub fn new(
        dir: &Path,
        name: &'static str,
        like: Tidy,
        wanted: WantedTables<'w>,
    ) -> Result<TableFiles<'w>, StoreError> {
        let failed = |error: &(dyn Error + 'static)| StoreError::table(dir, error);
        let file = || fresh(dir).map_err(|error| StoreError::io(dir, &error));
        let parquet = file()?;
        let out = parquet.reopen().map_err(|error| StoreError::io(dir, &error))?;
        let writer = Writer::new(BufWriter::new(out), &like, &[]).map_err(|e| failed(&e))?;
        let mut csv = None;
        if wanted.csv {
            let mut out = csv::Writer::from_writer(file()?);
            let header = like.columns.iter().map(|column| &column.name);
            out.write_record(header).map_err(|error| failed(&error))?;
            csv = Some(out);
        }
        let columns = like.columns.iter().filter(|column| (wanted.keep)(&column.name)).cloned();
        let kept = Tidy { columns: columns.collect() };
        let parquet = Some((parquet, writer));
        Ok(TableFiles { dir: dir.into(), name, waiting: like, parquet, csv, kept, wanted })
    }

    /// Adds rows of the same columns.
    pub fn add(&mut self, rows: Tidy) -> Result<(), StoreError> {
        self.waiting.append(rows);
        if self.waiting.rows() >= CHUNK { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), StoreError> {
        let dir = self.dir.clone();
        let failed = |error: &(dyn Error + 'static)| StoreError::table(&dir, error);
        if let Some((_, writer)) = &mut self.parquet {
            writer.add(&self.waiting).map_err(|error| failed(&error))?;
        }
        if let Some(csv) = &mut self.csv {
            for row in 0..self.waiting.rows() {
                let cells = self.waiting.columns.iter();
                let record = cells.map(|column| column.text(row).unwrap_or_default());
                csv.write_record(record).map_err(|error| failed(&error))?;
            }
        }
        let whole = 0..self.waiting.rows();
        let keep = self.wanted.keep;
        let columns = self.waiting.columns.iter_mut().filter(|column| keep(&column.name));
        for (kept, column) in self.kept.columns.iter_mut().zip(columns) {
            kept.values.append_rows(&column.values, whole.clone());
        }
        self.waiting.columns.iter_mut().for_each(|column| column.values.clear());
        Ok(())
    }

    /// Puts the files in their places; the columns that were kept.
    pub fn finish(mut self) -> Result<Tidy, StoreError> {
        self.write()?;
        let dir = self.dir.clone();
        let failed = |error: &(dyn Error + 'static)| StoreError::table(&dir, error);
        if let Some((file, writer)) = self.parquet.take() {
            writer.finish().map_err(|error| failed(&error))?;
            place(file, &dir, &format!("{}.parquet", self.name))?;
        }
        if let Some(csv) = self.csv.take() {
            let file = csv.into_inner().map_err(|error| failed(error.error()))?;
            place(file, &dir, &format!("{}.csv", self.name))?;
        }
        Ok(self.kept)
    }
}

/// Writes the table `name` into `dir`, as [`TableFiles`] does.
pub(crate) fn write(
    dir: &Path,
    name: &'static str,
    table: Tidy,
    wanted: WantedTables<'_>,
) -> Result<(), StoreError> {
    let mut output = TableFiles::new(dir, name, table.emptied(), wanted)?;
    output.add(table)?;
    output.finish().map(drop)
}

/// Gives a file its name.
fn place(file: NamedTempFile, dir: &Path, name: &str) -> Result<(), StoreError> {
    let io = |error: std::io::Error| StoreError::io(dir, &error);
    file.as_file().sync_all().map_err(io)?;
    file.persist(dir.join(name)).map(drop).map_err(|error| io(error.error))
}

/// Writes the file `name` in `dir`, whole or not at all.
pub(crate) fn whole(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let io = |error: std::io::Error| StoreError::io(dir, &error);
    let mut file = fresh(dir).map_err(io)?;
    std::io::Write::write_all(&mut file, bytes).map_err(io)?;
    place(file, dir, name)
}

/// A file without a name yet, with the rights that the umask gives.
fn fresh(dir: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tidegate-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(dir)
}
