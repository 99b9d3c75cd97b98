//! A file in memory.

/// A file of a result directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultFile {
    /// Its name, without directories.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}
