//! What is wrong with a store.
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What a full disk does to a store.
const DISK_FULL: &str = "cannot be written: the disk is full. What was stored before is whole. \
                         Make room, and the same command goes on from there";

/// What is wrong with a store. It is as it was before.
#[derive(Debug)]
pub struct StoreError {
    /// The directory.
    pub path: PathBuf,
    /// What went wrong and what to do about it.
    pub why: String,
    /// Whether another directory or command would do, and not the machine is at fault.
    pub refused: bool,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

impl std::error::Error for StoreError {}

impl StoreError {
    pub(crate) fn refused(path: &Path, why: impl Into<String>) -> StoreError {
        StoreError { path: path.into(), why: why.into(), refused: true }
    }

    pub(crate) fn failed(path: &Path, why: impl Into<String>) -> StoreError {
        StoreError { path: path.into(), why: why.into(), refused: false }
    }

    pub(crate) fn io(path: &Path, error: &io::Error) -> StoreError {
        if error.kind() == io::ErrorKind::StorageFull {
            return StoreError::failed(path, DISK_FULL);
        }
        let error = crate::results::wrong(path, error);
        StoreError { path: error.path, why: error.why, refused: false }
    }

    /// What the writer of a table in `path` says: that of the disk, where it lies beneath.
    pub(crate) fn table(path: &Path, error: &(dyn std::error::Error + 'static)) -> StoreError {
        let mut cause = Some(error);
        while let Some(inner) = cause {
            if let Some(disk) = inner.downcast_ref::<io::Error>() {
                return StoreError::io(path, disk);
            }
            cause = inner.source();
        }
        StoreError::failed(path, error.to_string())
    }

    /// What the database `path` says.
    pub(super) fn database(path: &Path, error: &rusqlite::Error) -> StoreError {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::refused(
                path,
                "another process works on this store; wait for it, or give each its own --shard",
            ),
            Some(ErrorCode::NotADatabase) => {
                StoreError::refused(path, "its store.sqlite is no database; it is left alone")
            }
            Some(ErrorCode::DiskFull) => StoreError::failed(path, DISK_FULL),
            _ => StoreError::failed(path, format!("the store fails: {error}")),
        }
    }
}
