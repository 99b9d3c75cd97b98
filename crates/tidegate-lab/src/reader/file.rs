//! The text of a file, as far as anything so long may be meant.
use std::io::Read;
use std::path::Path;

use crate::problem::{Place, Problem, Problems};

use super::tree;

/// What kind of file it is, for messages.
#[derive(Clone, Copy, Debug)]
pub struct FileKind {
    /// As in `a scenario`.
    pub kind: &'static str,
    /// What it has at least.
    pub least: &'static str,
}

impl FileKind {
    /// What is in the file `path`, as far as anything so long may be meant.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn bytes(&self, path: &Path) -> Result<Vec<u8>, Problems> {
        let file = path.display().to_string();
        let meta = std::fs::metadata(path).map_err(|error| whole(&file, why_unreadable(&error)))?;
        if meta.is_dir() {
            return Err(whole(&file, format!("is a directory; {} is a .toml file", self.kind)));
        }
        // One byte more than allowed, so that `text` sees the excess, even of a file without end.
        let mut bytes = Vec::new();
        std::fs::File::open(path)
            .and_then(|file| file.take(tree::FILE_LIMIT as u64 + 1).read_to_end(&mut bytes))
            .map_err(|error| whole(&file, why_unreadable(&error)))?;
        Ok(bytes)
    }

    /// The text in `bytes`, of a file that messages call `file`.
    ///
    /// # Errors
    /// It is too long, no UTF-8, or empty.
    pub fn text<'b>(&self, bytes: &'b [u8], file: &str) -> Result<&'b str, Problems> {
        if bytes.len() > tree::FILE_LIMIT {
            let why = format!(
                "is too long for {}; at most {} bytes are read",
                self.kind,
                tree::FILE_LIMIT
            );
            return Err(whole(file, why));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let line = bytes[..error.valid_up_to()].iter().filter(|&&b| b == b'\n').count() + 1;
            whole(
                file,
                format!("is no text: line {line} is not UTF-8 (byte {})", error.valid_up_to() + 1),
            )
        })?;
        if text.trim().is_empty() {
            return Err(whole(
                file,
                format!("is empty; {} has at least {}", self.kind, self.least),
            ));
        }
        Ok(text)
    }
}

/// A problem of a file as a whole.
fn whole(file: &str, why: String) -> Problems {
    Problems::one(Problem {
        place: Place::File(file.into()),
        field: "".into(),
        value: "".into(),
        why,
    })
}

fn why_unreadable(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".into(),
        std::io::ErrorKind::PermissionDenied => "may not be read (permission denied)".into(),
        _ => error.to_string(),
    }
}
