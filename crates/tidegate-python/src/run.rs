//! Simulations: a scenario, its queues, every seed.
use std::time::SystemTime;

use pyo3::prelude::*;
use tidegate::{ConfigError, Rng};
use tidegate_lab::results::Begun;
use tidegate_lab::{
    Job, Override, Problems, QueueOutcome, QueueSpec, RunError, Scenario, overloads, shipped,
    skipped,
};

use crate::attend::attended;
use crate::discipline::{Trouble, foreign};
use crate::failure;
use crate::outcomes::{Origin, Outcomes};

/// What a scenario's text is called in messages.
const TEXT: &str = "scenario.toml";

/// How a scenario is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    /// As TOML.
    Text,
    /// By the path of its file, or the name of a shipped one.
    Name,
}

/// What to change in a scenario, and how to run it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    /// Overrides: path and value.
    sets: Vec<(String, String)>,
    flows: bool,
    threads: Option<usize>,
    /// The program's arguments.
    command: Vec<String>,
}

/// The queues of a job.
#[derive(FromPyObject)]
pub enum Queues {
    /// The scenario's own queue, or those that it compares.
    Own(bool),
    /// These.
    Given(Vec<Queue>),
}

/// A queue of a job.
#[derive(FromPyObject)]
pub enum Queue {
    /// One of the catalog, as users write it.
    Text(String),
    /// A `tidegate.Discipline`.
    Object(Py<PyAny>),
}

/// Runs `scenario`, TOML if `text` is true and else a path or name, with `queues`: their texts,
/// False for the scenario's own queue, True for those that it compares.
///
/// Returns the results and warnings.
#[pyfunction]
pub fn run(
    py: Python<'_>,
    scenario: &str,
    text: bool,
    queues: Queues,
    options: Options,
) -> PyResult<(Outcomes, Vec<String>)> {
    let begun = Begun::at(SystemTime::now());
    let settings = options.sets.iter().map(|(path, value)| format!("{path}={value}")).collect();
    let given = if text { Given::Text } else { Given::Name };
    let sets: Vec<Override> =
        options.sets.into_iter().map(|(path, value)| Override { path, value }).collect();
    let wrong = |problems: Problems| failure::scenario(py, &problems);
    let scenario = open(scenario, given, &sets).map_err(wrong)?;
    let trouble = Trouble::default();
    let (scenario, queues) = chosen(py, scenario, queues, &trouble)?;
    let (overloads, skipped) = (overloads(&scenario), skipped(&scenario));
    let job =
        Job { scenario, queues, flows: options.flows, series: true, threads: options.threads };
    let stop = &*trouble.stop;
    let run = attended(py, stop, || tidegate_lab::run(&job, stop))?;
    if let Some(error) = trouble.take() {
        return Err(error);
    }
    let mut outcomes: Vec<QueueOutcome> = run.map_err(|error| match error {
        RunError::Cancelled => failure::gave_up(),
        RunError::Invalid(problems) => wrong(problems),
    })?;
    for document in outcomes.iter_mut().map(|outcome| &mut outcome.document) {
        document.overloads = overloads.clone();
        document.incomplete = (!skipped.is_empty()).then(|| skipped.join("; "));
    }
    let warnings = overloads.iter().map(ToString::to_string).chain(skipped).collect();
    let how = begun.how(options.command, settings);
    Ok((Outcomes::new(outcomes, Origin::Scenario(Box::new(job.scenario)), how), warnings))
}

fn open(scenario: &str, given: Given, sets: &[Override]) -> Result<Scenario, Problems> {
    match given {
        Given::Text => Scenario::parse(scenario.as_bytes(), TEXT, sets),
        Given::Name => shipped::open(scenario, sets).map(|opened| opened.scenario),
    }
}

/// The scenario with its queues. Each of them can be built.
fn chosen(
    py: Python<'_>,
    scenario: Scenario,
    queues: Queues,
    trouble: &Trouble,
) -> PyResult<(Scenario, Vec<QueueSpec>)> {
    let wrong = |problems: Problems| failure::scenario(py, &problems);
    let refused = |error: ConfigError| failure::queue(py, &error);
    let specs = match queues {
        Queues::Own(false) => vec![scenario.own_queue().clone()],
        Queues::Own(true) => scenario.compare.clone(),
        Queues::Given(queues) => {
            let specs = queues.iter().map(|queue| spec(py, queue, trouble));
            let specs = specs.collect::<PyResult<Vec<_>>>()?;
            QueueSpec::distinct(&specs).map_err(|(_, error)| refused(error))?;
            scenario.open_to(&specs).map_err(wrong)?;
            specs
        }
    };
    if specs.is_empty() {
        let why = "names no queue, and the scenario lists none to compare";
        return Err(refused(ConfigError::new("queues", "[]", why)));
    }
    let link = scenario.bottleneck();
    for spec in specs.iter().filter(|spec| spec.foreign.is_none()) {
        spec.resolve(&link)
            .and_then(|config| config.build(link, Rng::from_seed(0)))
            .map_err(refused)?;
    }
    Ok((scenario, specs))
}

/// A queue of a job, as the lab knows it.
pub fn spec(py: Python<'_>, queue: &Queue, trouble: &Trouble) -> PyResult<QueueSpec> {
    let spec = match queue {
        Queue::Text(text) => text.parse(),
        Queue::Object(object) => foreign(object.bind(py), trouble)?.map(QueueSpec::foreign),
    };
    spec.map_err(|error| failure::queue(py, &error))
}

/// Queues as users write them, no two with one label.
///
/// # Errors
/// A text that is no queue; two of one label.
pub fn specs(texts: &[String]) -> Result<Vec<QueueSpec>, ConfigError> {
    let specs: Vec<QueueSpec> = texts.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
    QueueSpec::distinct(&specs).map_err(|(_, error)| error)?;
    Ok(specs)
}
