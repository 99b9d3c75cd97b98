//! What is no result goes to standard error.
use std::io::Write;

/// Writes `text` and a line feed to standard error, if there is one.
pub fn note(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = writeln!(err, "{text}");
}
