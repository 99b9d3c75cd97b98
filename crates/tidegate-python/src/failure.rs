//! Errors of the lab as the package's exceptions.
use std::fmt::Display;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tidegate::ConfigError;
use tidegate_lab::study::StoreError;
use tidegate_lab::{Place, Problem, Problems, WriteError};

/// The exception `name` of the package, made of `arguments`.
fn exception<'py, A>(py: Python<'py>, name: &str, arguments: A) -> PyErr
where
    A: pyo3::call::PyCallArgs<'py>,
{
    let made = py
        .import("tidegate._errors")
        .and_then(|module| module.getattr(name))
        .and_then(|class| class.call1(arguments));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// A scenario that is wrong: `ScenarioError` with its problems.
pub fn scenario(py: Python<'_>, problems: &Problems) -> PyErr {
    let list: Vec<_> = problems.list().iter().map(fields).collect();
    exception(py, "ScenarioError", (problems.to_string(), list))
}

/// A queue, or the link it is built for, that cannot be: `QueueError`.
pub fn queue(py: Python<'_>, error: &ConfigError) -> PyErr {
    exception(py, "QueueError", (error.to_string(), &error.field, &error.value, &error.why))
}

/// A capture that cannot be read: `CaptureError`.
pub fn capture(py: Python<'_>, error: impl Display) -> PyErr {
    exception(py, "CaptureError", (error.to_string(),))
}

/// A study's store that refuses or fails: `StoreError`.
pub fn store(py: Python<'_>, error: &StoreError) -> PyErr {
    exception(py, "StoreError", (error.to_string(),))
}

/// A directory that cannot take results: `StoreError`.
pub fn refused(py: Python<'_>, error: &WriteError) -> PyErr {
    exception(py, "StoreError", (error.to_string(),))
}

/// Work that gave up although nobody had asked.
pub fn gave_up() -> PyErr {
    PyRuntimeError::new_err("the run gave up without a reason")
}

type Fields<'p> = (Option<&'p str>, Option<usize>, Option<usize>, &'p str, &'p str, &'p str);

/// File, line, column, field, value, and why.
fn fields(problem: &Problem) -> Fields<'_> {
    let (file, line, column) = match &problem.place {
        Place::Line { file, line, column, .. } => (Some(file.as_str()), Some(*line), Some(*column)),
        Place::File(file) => (Some(file.as_str()), None, None),
        Place::Set(_) => (None, None, None),
    };
    (file, line, column, &problem.field, &problem.value, &problem.why)
}
