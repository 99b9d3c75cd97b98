//! The messages for a folder of papers that cannot be written.
use std::io;
use std::path::Path;

use crate::results::{self, WriteError};

/// What could not be written to a folder of papers. Its files are whole one by one; those written
/// before stay.
pub(super) fn wrong(path: &Path, error: &io::Error) -> WriteError {
    match error.kind() {
        io::ErrorKind::StorageFull => WriteError {
            path: path.into(),
            why:
                "cannot be written: the disk is full. What was written before stays, and the same \
                 command goes on from there"
                    .into(),
        },
        _ => results::wrong(path, error),
    }
}
