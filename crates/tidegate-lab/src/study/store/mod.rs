//! The store of a study: a database that knows which replications are done, beside Parquet files
//! with their rows.
//!
//! A part is written in three steps: its file under a temporary name, the file's own name, one
//! transaction of the database. What the database does not know was never there, so a process that
//! is killed loses the part that it was writing and nothing else.
mod error;
mod shelf;

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

pub use error::StoreError;

use self::shelf::Shelf;
use super::key::CaseKey;
use super::part::{NoPart, Part, RowSpan, spans};
use crate::results::VERSION;

/// The database's file.
const DATABASE: &str = "store.sqlite";
/// The folder of the parts.
const PARTS: &str = "parts";
/// The form of a store.
const SCHEMA: &str = "tidegate.study/1";

/// The tables of the database.
const TABLES: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE part (
  id INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, flow_bytes INTEGER NOT NULL
) STRICT;
CREATE TABLE done (
  case_key BLOB NOT NULL, seed INTEGER NOT NULL, part INTEGER NOT NULL,
  first INTEGER NOT NULL, rows INTEGER NOT NULL,
  first_flow INTEGER NOT NULL, flow_rows INTEGER NOT NULL,
  PRIMARY KEY (case_key, seed)
) STRICT, WITHOUT ROWID;";

/// A store that this process works on; no other can at the same time.
pub struct Store {
    dir: PathBuf,
    database: Connection,
    shelf: Shelf,
}

/// The lengths of a part's files, in bytes: of its rows, and of its flows or 0.
type Lengths = (i64, i64);

/// Where the rows of a replication lie.
#[derive(Clone, Copy, Debug)]
struct StoredRows {
    part: i64,
    first: usize,
    rows: usize,
    first_flow: usize,
    flow_rows: usize,
}

impl Store {
    /// The store in `dir` of parts with the columns of `like`, made if there is none. What damaged
    /// parts had counts as missing.
    ///
    /// # Errors
    /// Another process works on it; it is of another version; what is there is no store; the disk
    /// refuses.
    pub fn open(dir: &Path, like: Part) -> Result<Store, StoreError> {
        if !Store::exists(dir) {
            vacant(dir)?;
        }
        let parts = dir.join(PARTS);
        fs::create_dir_all(&parts).map_err(|error| StoreError::io(dir, &error))?;
        let wrong = |error: rusqlite::Error| StoreError::database(dir, &error);
        let database = Connection::open(dir.join(DATABASE)).map_err(wrong)?;
        lock(&database).map_err(wrong)?;
        let store = Store { dir: dir.into(), database, shelf: Shelf::new(parts, like) };
        store.claim()?;
        store.sweep_up()?;
        Ok(store)
    }

    /// Whether there is a store in `dir`.
    pub fn exists(dir: &Path) -> bool {
        dir.join(DATABASE).exists()
    }

    /// Takes a new database for this version, or checks that it is of this one.
    fn claim(&self) -> Result<(), StoreError> {
        let tables = "SELECT count(*) FROM sqlite_schema";
        let count: i64 =
            self.database.query_row(tables, [], |row| row.get(0)).map_err(|e| self.wrong(e))?;
        if count == 0 {
            let insert = "INSERT INTO meta VALUES (?1, ?2)";
            let make = || {
                let begun = self.database.unchecked_transaction()?;
                begun.execute_batch(TABLES)?;
                begun.execute(insert, params!["schema", SCHEMA])?;
                begun.execute(insert, params!["version", VERSION])?;
                begun.commit()
            };
            return make().map_err(|e| self.wrong(e));
        }
        for (key, ours) in [("schema", SCHEMA), ("version", VERSION)] {
            let theirs = self.meta(key).unwrap_or_default();
            if theirs != ours {
                let why = format!(
                    "holds results of another version ({key} {theirs}, this is {ours}), and \
                     results of two versions are not mixed: choose another --out, or go on with \
                     that version"
                );
                return Err(StoreError::refused(&self.dir, why));
            }
        }
        Ok(())
    }

    fn meta(&self, key: &str) -> Option<String> {
        let select = "SELECT value FROM meta WHERE key = ?1";
        self.database.query_row(select, [key], |row| row.get(0)).optional().ok().flatten()
    }

    /// Removes files of parts that the database does not know, and forgets parts whose files are
    /// gone or have another length.
    fn sweep_up(&self) -> Result<(), StoreError> {
        for (id, lengths) in self.lengths()? {
            let length = |name: String| {
                fs::metadata(self.shelf.dir.join(name)).map_or(0, |found| found.len() as i64)
            };
            if (length(groups_file(id)), length(flows_file(id))) != lengths {
                self.forget(id).map_err(|e| self.wrong(e))?;
            }
        }
        let known = self.parts()?;
        let io = |error| StoreError::io(&self.dir, &error);
        for entry in fs::read_dir(&self.shelf.dir).map_err(io)? {
            let entry = entry.map_err(io)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let ours = known.iter().any(|id| name == groups_file(*id) || name == flows_file(*id));
            if !ours && (name.ends_with(".parquet") || name.ends_with(".new")) {
                fs::remove_file(entry.path()).map_err(io)?;
            }
        }
        Ok(())
    }

    /// The lengths of each part's files, in bytes; 0 of one that it has not.
    fn lengths(&self) -> Result<Vec<(i64, Lengths)>, StoreError> {
        let read = || {
            let mut select = self.database.prepare("SELECT id, bytes, flow_bytes FROM part")?;
            let rows = select.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        read().map_err(|e| self.wrong(e))
    }

    fn forget(&self, id: i64) -> rusqlite::Result<()> {
        let begun = self.database.unchecked_transaction()?;
        begun.execute("DELETE FROM done WHERE part = ?1", [id])?;
        begun.execute("DELETE FROM part WHERE id = ?1", [id])?;
        begun.commit()
    }

    fn parts(&self) -> Result<std::collections::BTreeSet<i64>, StoreError> {
        let mut select = self.database.prepare("SELECT id FROM part").map_err(|e| self.wrong(e))?;
        let ids = select.query_map([], |row| row.get(0)).map_err(|e| self.wrong(e))?;
        ids.collect::<Result<_, _>>().map_err(|e| self.wrong(e))
    }

    /// How many replications are done, of all studies that used this store.
    ///
    /// # Errors
    /// The database fails.
    pub fn len(&self) -> Result<u64, StoreError> {
        let count = self.database.query_row("SELECT count(*) FROM done", [], |row| row.get(0));
        count.map(|count: i64| count as u64).map_err(|e| self.wrong(e))
    }

    /// Whether no replication is done.
    ///
    /// # Errors
    /// The database fails.
    pub fn is_empty(&self) -> Result<bool, StoreError> {
        self.len().map(|count| count == 0)
    }

    /// The seeds that are done of the case `key`, in order.
    ///
    /// # Errors
    /// The database fails.
    pub fn seeds(&self, key: &CaseKey) -> Result<Vec<u64>, StoreError> {
        let select = "SELECT seed FROM done WHERE case_key = ?1 ORDER BY seed";
        let read = || {
            let mut select = self.database.prepare_cached(select)?;
            let seeds = select.query_map([key.bytes()], |row| row.get::<_, i64>(0))?;
            seeds.map(|seed| seed.map(|seed| seed as u64)).collect::<Result<Vec<u64>, _>>()
        };
        read().map_err(|e| self.wrong(e))
    }

    /// Stores the rows of `part`, whole or not at all. Replications that are done already are left
    /// as they are.
    ///
    /// # Errors
    /// The disk is full or refuses; the store is as it was.
    pub fn add(&mut self, part: &Part) -> Result<(), StoreError> {
        let Some(part) = self.fresh(part)? else { return Ok(()) };
        let part = part.as_ref();
        let bad = |error: NoPart| StoreError::failed(&self.dir, error.to_string());
        let rows = spans(&part.rows).map_err(bad)?;
        let flows = spans(&part.flows).map_err(bad)?;
        let id: i64 = self
            .database
            .query_row("SELECT coalesce(max(id), 0) + 1 FROM part", [], |row| row.get(0))
            .map_err(|e| self.wrong(e))?;
        let written = self
            .write(id, part)
            .and_then(|lengths| self.enter(id, lengths, &rows, &flows).map_err(|e| self.wrong(e)));
        if written.is_err() {
            // What is left would be swept up when the store is opened next.
            for name in [groups_file(id), flows_file(id)] {
                let _ = fs::remove_file(self.shelf.dir.join(name));
            }
        }
        written
    }

    /// What of `part` is not done yet; none if all is.
    fn fresh<'p>(&self, part: &'p Part) -> Result<Option<Cow<'p, Part>>, StoreError> {
        let spans = spans(&part.rows);
        let spans = spans.map_err(|e| StoreError::failed(&self.dir, e.to_string()))?;
        let mut fresh = vec![];
        for span in &spans {
            if self.place(&span.key, span.seed)?.is_none() {
                fresh.push((span.key, span.seed));
            }
        }
        Ok(match fresh.len() {
            0 => None,
            all if all == spans.len() => Some(Cow::Borrowed(part)),
            _ => Some(Cow::Owned(part.only(&fresh.into_iter().collect()))),
        })
    }

    /// Writes the files of part `id`; their lengths.
    fn write(&self, id: i64, part: &Part) -> Result<Lengths, StoreError> {
        let (rows, flows) = part.to_bytes();
        let lengths = (rows.len() as i64, flows.as_ref().map_or(0, |flows| flows.len() as i64));
        let files = [(groups_file(id), Some(rows)), (flows_file(id), flows)];
        for (name, bytes) in files.iter().filter_map(|(name, b)| Some((name, b.as_ref()?))) {
            let fresh = self.shelf.dir.join(format!("{name}.new"));
            let write = || {
                let mut file = File::create(&fresh)?;
                file.write_all(bytes)?;
                // A full disk may show only now.
                file.sync_all()?;
                fs::rename(&fresh, self.shelf.dir.join(name))
            };
            write().map_err(|error| {
                let _ = fs::remove_file(&fresh);
                StoreError::io(&self.dir, &error)
            })?;
        }
        let folder = File::open(&self.shelf.dir).and_then(|folder| folder.sync_all());
        folder.map(|()| lengths).map_err(|error| StoreError::io(&self.dir, &error))
    }

    /// Enters part `id` into the database.
    fn enter(
        &self,
        id: i64,
        lengths: Lengths,
        rows: &[RowSpan],
        flows: &[RowSpan],
    ) -> rusqlite::Result<()> {
        let begun = self.database.unchecked_transaction()?;
        begun.execute("INSERT INTO part VALUES (?1, ?2, ?3)", params![id, lengths.0, lengths.1])?;
        {
            let mut insert = begun
                .prepare_cached("INSERT OR IGNORE INTO done VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
            for (at, span) in rows.iter().enumerate() {
                // Where there are flows at all, all replications have some, in one order.
                let flow =
                    flows.get(at).filter(|flow| (flow.key, flow.seed) == (span.key, span.seed));
                let flow = flow.map_or(0..0, |flow| flow.rows.clone());
                insert.execute(params![
                    span.key.bytes(),
                    span.seed as i64,
                    id,
                    span.rows.start as i64,
                    span.rows.len() as i64,
                    flow.start as i64,
                    flow.len() as i64
                ])?;
            }
        }
        begun.commit()
    }

    /// The stored rows of the replication of case `key` with `seed`; none if it is not done.
    ///
    /// # Errors
    /// The database fails, or a part is damaged.
    pub(crate) fn rows(&mut self, key: &CaseKey, seed: u64) -> Result<Option<Part>, StoreError> {
        let Some(place) = self.place(key, seed)? else { return Ok(None) };
        let StoredRows { first, rows, first_flow, flow_rows, part } = place;
        let part = self.shelf.part(part)?;
        Ok(Some(part.cut(first..first + rows, first_flow..first_flow + flow_rows)))
    }

    fn place(&self, key: &CaseKey, seed: u64) -> Result<Option<StoredRows>, StoreError> {
        let select = "SELECT part, first, rows, first_flow, flow_rows FROM done \
                      WHERE case_key = ?1 AND seed = ?2";
        let read = || {
            let mut select = self.database.prepare_cached(select)?;
            let place = select.query_row(params![key.bytes(), seed as i64], |row| {
                let whole = |at: usize| row.get::<_, i64>(at).map(|n| n as usize);
                Ok(StoredRows {
                    part: row.get(0)?,
                    first: whole(1)?,
                    rows: whole(2)?,
                    first_flow: whole(3)?,
                    flow_rows: whole(4)?,
                })
            });
            place.optional()
        };
        read().map_err(|e| self.wrong(e))
    }

    /// Takes over what the store `other` has.
    ///
    /// # Errors
    /// Either store fails.
    pub fn merge(&mut self, other: &mut Store) -> Result<u64, StoreError> {
        let before = self.len()?;
        for id in other.parts()? {
            let part = other.shelf.part(id)?.clone();
            self.add(&part)?;
        }
        self.len().map(|count| count - before)
    }

    fn wrong(&self, error: rusqlite::Error) -> StoreError {
        StoreError::database(&self.dir, &error)
    }
}

/// Holds the database for this process alone until it ends, however it ends.
fn lock(database: &Connection) -> rusqlite::Result<()> {
    database.busy_timeout(std::time::Duration::from_millis(500))?;
    database.execute_batch(
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = TRUNCATE; \
         PRAGMA synchronous = FULL; BEGIN EXCLUSIVE; COMMIT;",
    )
}

/// Whether a store may be made in `dir`: it does not exist, is empty, or holds shards of a study.
fn vacant(dir: &Path) -> Result<(), StoreError> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            return Err(StoreError::refused(
                dir,
                "is a file, not a directory; choose another name",
            ));
        }
        Err(error) => return Err(StoreError::io(dir, &error)),
        Ok(entries) => entries,
    };
    for entry in entries {
        let entry = entry.map_err(|error| StoreError::io(dir, &error))?;
        if !entry.file_name().to_string_lossy().starts_with("shard-") {
            let why = "is a directory with other things in it, which are left alone; choose a new \
                       or an empty one";
            return Err(StoreError::refused(dir, why));
        }
    }
    Ok(())
}

fn groups_file(id: i64) -> String {
    format!("{id:06}.parquet")
}

fn flows_file(id: i64) -> String {
    format!("{id:06}-flows.parquet")
}
