//! Claims: the rows of `printed.csv`.
use tidegate_report::Figure;

use crate::problem::{Place, Problem};

use super::quantity::Quantity;
use super::unit::PrintedUnit;
use super::verdict::{Printed, Tolerance};

/// Something that a paper says and that can be checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its line in the file.
    pub line: usize,
    /// The experiment that it belongs to.
    pub experiment: String,
    /// The run; empty for a closed form.
    pub setting: String,
    /// The label of the queue; empty for a closed form.
    pub queue: String,
    /// What it is about.
    pub quantity: Quantity,
    /// In which unit.
    pub unit: PrintedUnit,
    /// What is printed, as written.
    pub text: String,
    /// What is printed.
    pub printed: Printed,
    /// How near is near enough.
    pub within: Option<Tolerance>,
    /// Where it stands in the paper.
    pub place: String,
    /// What it has to do with a fitted parameter.
    pub fit: Fit,
    /// Why it cannot be checked, where it cannot.
    pub unchecked: Option<String>,
    /// The name of the explanation, where ours differs.
    pub explained: Option<String>,
}

/// What a claim has to do with a fitted parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Nothing.
    Free,
    /// The parameter was chosen on this very number.
    Target(String),
    /// It was not, and this number tells whether the choice was right.
    Support(String),
}

/// The columns, in order.
const COLUMNS: [&str; 11] = [
    "experiment",
    "setting",
    "queue",
    "quantity",
    "unit",
    "printed",
    "within",
    "place",
    "fit",
    "unchecked",
    "explained",
];

impl Claim {
    /// The paper's number as a figure, to be drawn.
    pub fn figure(&self) -> Option<Figure> {
        match self.printed {
            Printed::Number(n) => Figure::exact(n),
            _ => None,
        }
    }
}

/// Reads the rows of `text`, which messages call `file`; what is wrong goes to `problems`.
pub(super) fn read(text: &str, file: &str, problems: &mut Vec<Problem>) -> Vec<Claim> {
    let page = ClaimsFile { text, file };
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    match reader.headers() {
        Ok(headers) if headers.iter().eq(COLUMNS) => {}
        _ => {
            problems.push(page.problem(
                1,
                "",
                "",
                format!("the columns must be {}", COLUMNS.join(",")),
            ));
            return vec![];
        }
    }
    let mut claims = vec![];
    for record in reader.records() {
        match record {
            Ok(record) => {
                let line = record.position().map_or(1, |p| p.line() as usize);
                claims.extend(row(&page, line, &record, problems));
            }
            Err(error) => {
                let line = error.position().map_or(1, |p| p.line() as usize);
                problems.push(page.problem(line, "", "", format!("is no row of text: {error}")));
            }
        }
    }
    claims
}

/// A file of claims, to tell where something stands.
pub(super) struct ClaimsFile<'t> {
    pub text: &'t str,
    pub file: &'t str,
}

impl ClaimsFile<'_> {
    /// A problem in a field of a line.
    pub fn problem(
        &self,
        line: usize,
        field: &str,
        value: &str,
        why: impl Into<String>,
    ) -> Problem {
        let text: String =
            self.text.lines().nth(line - 1).unwrap_or_default().chars().take(160).collect();
        let at = if value.is_empty() { None } else { text.find(value) };
        let column = at.map_or(1, |byte| text[..byte].chars().count() + 1);
        let width = if at.is_some() { value.chars().count() } else { text.chars().count() };
        let place = Place::Line { file: self.file.into(), line, column, width, text };
        Problem { place, field: field.into(), value: value.into(), why: why.into() }
    }
}

fn row(
    page: &ClaimsFile<'_>,
    line: usize,
    record: &csv::StringRecord,
    problems: &mut Vec<Problem>,
) -> Option<Claim> {
    if record.len() != COLUMNS.len() {
        let why = format!("must have {} fields, not {}", COLUMNS.len(), record.len());
        problems.push(page.problem(line, "", "", why));
        return None;
    }
    let before = problems.len();
    let field = |name: &str| field(record, name);
    let mut refuse =
        |name: &str, why: String| problems.push(page.problem(line, name, &field(name), why));
    let quantity =
        field("quantity").parse::<Quantity>().map_err(|why| refuse("quantity", why)).ok();
    let unit = field("unit").parse::<PrintedUnit>().map_err(|why| refuse("unit", why)).ok();
    if let (Some(quantity), Some(unit)) = (&quantity, unit)
        && !quantity.measured_in(unit)
    {
        refuse("unit", other_unit(quantity));
    }
    let printed = field("printed").parse::<Printed>().map_err(|why| refuse("printed", why)).ok();
    let within = match field("within").as_str() {
        "" => None,
        text => text.parse::<Tolerance>().map_err(|why| refuse("within", why)).ok(),
    };
    for (name, why) in lacking(field, quantity.as_ref(), printed.as_ref()) {
        refuse(name, why.into());
    }
    let fit = fit(&field("fit")).map_err(|why| refuse("fit", why)).ok();
    for name in ["experiment", "place"] {
        if field(name).is_empty() {
            refuse(name, "must not be empty".into());
        }
    }
    if problems.len() > before {
        return None;
    }
    Some(Claim {
        line,
        experiment: field("experiment"),
        setting: field("setting"),
        queue: field("queue"),
        quantity: quantity?,
        unit: unit?,
        text: field("printed"),
        printed: printed?,
        within,
        place: field("place"),
        fit: fit?,
        unchecked: Some(field("unchecked")).filter(|why| !why.is_empty()),
        explained: Some(field("explained")).filter(|name| !name.is_empty()),
    })
}

fn field(record: &csv::StringRecord, name: &str) -> String {
    record[COLUMNS.iter().position(|c| *c == name).unwrap_or_default()].trim().to_string()
}

/// The fields that a row needs beside its quantity and what is printed, and has not.
fn lacking(
    field: impl Fn(&str) -> String,
    quantity: Option<&Quantity>,
    printed: Option<&Printed>,
) -> Vec<(&'static str, &'static str)> {
    let mut found = vec![];
    if matches!(printed, Some(Printed::Number(_))) && field("within").is_empty() {
        found.push(("within", "a number needs a tolerance, as in 10 %, or 0.005"));
    }
    if quantity.is_some_and(Quantity::is_elsewhere) && field("unchecked").is_empty() {
        found.push(("unchecked", "must tell where it is measured, since no run does"));
    }
    found
}

/// What a quantity is measured in, where the unit is another.
fn other_unit(quantity: &Quantity) -> String {
    let units: Vec<_> = PrintedUnit::of(quantity.dimension())
        .into_iter()
        .map(|u| if u.is_empty() { "none" } else { u })
        .collect();
    format!("`{quantity}` is measured in {}", units.join(", "))
}

fn fit(text: &str) -> Result<Fit, String> {
    match text.split_once(' ') {
        None if text.is_empty() => Ok(Fit::Free),
        Some(("target", name)) => Ok(Fit::Target(name.trim().into())),
        Some(("support", name)) => Ok(Fit::Support(name.trim().into())),
        _ => {
            Err("must be empty, `target NAME` or `support NAME`, with the name of a [[fitted]]"
                .into())
        }
    }
}
