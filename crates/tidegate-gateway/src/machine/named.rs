//! What a call to the machine was for, in its error.
use std::fmt::Display;
use std::io;

/// Puts `what` in front of an error; its kind stays.
pub(crate) fn named(what: impl Display) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{what}: {error}"))
}
