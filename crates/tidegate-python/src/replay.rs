//! Replays: a capture's packets through queues.
use std::path::PathBuf;
use std::str::FromStr;
use std::time::SystemTime;

use pyo3::prelude::*;
use tidegate::units::UnitError;
use tidegate::{Bytes, ConfigError, Size};
use tidegate_lab::replay::{ReplayError, ReplayJob, default_limit};
use tidegate_lab::results::Begun;
use tidegate_packet::FlowKey;

use crate::attend::{Stop, attended};
use crate::failure;
use crate::outcomes::{Origin, Outcomes};
use crate::run::specs;

/// What to replay, and through what.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    rate: String,
    queues: Vec<String>,
    limit: Option<String>,
    mean_packet: String,
    flow_key: String,
    seed: u64,
    listed: usize,
    /// The program's arguments.
    command: Vec<String>,
}

impl Options {
    fn job(&self, capture: PathBuf) -> Result<ReplayJob, ConfigError> {
        let rate = value("rate", &self.rate)?;
        let mean_packet: Bytes = value("mean_packet", &self.mean_packet)?;
        let limit: Option<Size> =
            self.limit.as_deref().map(|limit| value("limit", limit)).transpose()?;
        let flow_key: FlowKey = value("flow_key", &self.flow_key)?;
        let job = ReplayJob {
            limit: limit.unwrap_or_else(|| default_limit(rate, mean_packet)),
            mean_packet,
            flow_key,
            seed: self.seed,
            listed: self.listed,
            ..ReplayJob::new(capture, rate, specs(&self.queues)?)
        };
        job.resolve()?;
        Ok(job)
    }
}

/// Reads `text` as the value of `field`.
///
/// # Errors
/// It is none.
pub fn value<T: FromStr<Err = UnitError>>(field: &str, text: &str) -> Result<T, ConfigError> {
    text.parse().map_err(|error: UnitError| ConfigError::new(field, text, error.why))
}

/// Replays `capture`. Returns the results and warnings.
#[pyfunction]
pub fn replay(
    py: Python<'_>,
    capture: PathBuf,
    options: Options,
) -> PyResult<(Outcomes, Vec<String>)> {
    let begun = Begun::at(SystemTime::now());
    let name = capture.display().to_string();
    let job = options.job(capture).map_err(|error| failure::queue(py, &error))?;
    let stop = Stop::default();
    let replayed = attended(py, &stop, || tidegate_lab::replay(&job, &stop))?;
    let mut replayed = replayed.map_err(|error| match error {
        ReplayError::Cancelled => failure::gave_up(),
        ReplayError::Queue(error) => failure::queue(py, &error),
        ReplayError::Capture(error) => failure::capture(py, format!("{name}: {error}")),
        ReplayError::Empty(_) => failure::capture(py, error),
    })?;
    let mut warnings = replayed.notes();
    if let Some(damage) = &replayed.damage {
        warnings.push(format!("{name}: {damage}; the result is of the packets before"));
    }
    let outcomes = std::mem::take(&mut replayed.outcomes);
    let how = begun.how(options.command, vec![]);
    Ok((Outcomes::new(outcomes, Origin::Capture(Box::new(job)), how), warnings))
}
