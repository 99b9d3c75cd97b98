//! Results go to standard output, everything else to standard error.
use std::io::{ErrorKind, Write};

use crate::failure::Failure;
pub use crate::note::note;

/// Writes `text`, a result, to standard output.
///
/// # Errors
/// The reader has gone, or there is no room where it goes.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::Runtime(format!("cannot write to standard output: {error}")),
    })
}
