//! What there is: queues, scenarios, and their pages.
use pyo3::prelude::*;
use tidegate::catalog::QUEUES;
use tidegate::{ConfigError, Link};
use tidegate_lab::shipped;
use tidegate_lab::show::{ShowError, page, queue_json};
use tidegate_report::table::Look;

use crate::failure;
use crate::replay::value;

/// Every queue of the catalog, as JSON.
#[pyfunction]
pub fn queues() -> String {
    serde_json::Value::from_iter(QUEUES.iter().map(queue_json)).to_string()
}

/// Name and text of every shipped scenario.
#[pyfunction]
pub fn scenarios() -> Vec<(&'static str, &'static str)> {
    shipped::SCENARIOS.to_vec()
}

/// The manual page of `name`; presets of a queue as they are on the link.
#[pyfunction]
pub fn show(
    py: Python<'_>,
    name: &str,
    rate: &str,
    limit: &str,
    mean_packet: &str,
) -> PyResult<String> {
    let refused = |error: ConfigError| failure::queue(py, &error);
    let link = link(rate, limit, mean_packet).map_err(refused)?;
    let page = page(name, &link).map_err(|error| match error {
        ShowError::Unknown(why) => refused(ConfigError::new("name", name, why)),
        ShowError::Queue(error) => refused(error),
        ShowError::Scenario(problems) => failure::scenario(py, &problems),
    })?;
    Ok(page.render(&Look::plain()))
}

/// A link whose parts are written as users write them.
///
/// # Errors
/// One of them is none, or they do not go together.
pub fn link(rate: &str, limit: &str, mean_packet: &str) -> Result<Link, ConfigError> {
    Link::new(value("rate", rate)?, value("limit", limit)?, value("mean_packet", mean_packet)?)
}
