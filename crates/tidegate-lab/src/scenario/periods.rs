//! Times from one to another, as text: `"10 s..30 s"`, several in a list.
use tidegate::config::{SEPARATOR, Value};
use tidegate::units::UnitError;
use tidegate::{Span, Time};

/// Periods in order, each from one time to a later one, the end not included. The last may go on
/// for ever.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Periods(Vec<(Span, Span)>);

/// The end of a period without one.
const NEVER: Span = Span::from_nanos(u64::MAX);
/// The most periods.
const MOST: usize = 1000;

impl Periods {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// As the simulator has them.
    pub fn times(&self) -> Vec<(Time, Time)> {
        self.0.iter().map(|&(from, to)| (Time::ZERO + from, Time::ZERO + to)).collect()
    }

    /// The time in them up to `end`.
    pub fn total(&self, end: Span) -> Span {
        self.0.iter().fold(Span::ZERO, |sum, &(from, to)| sum + (to.min(end) - from.min(end)))
    }
}

impl Value for Periods {
    const KIND: &'static str = "list of periods";

    fn read(text: &str) -> Result<Self, UnitError> {
        let mut periods: Vec<(Span, Span)> = vec![];
        for entry in text.split(SEPARATOR).map(str::trim) {
            let refuse = |why: String| UnitError { text: entry.chars().take(60).collect(), why };
            let Some((from, to)) = entry.split_once("..") else {
                return Err(refuse(
                    "a period is written FROM..TO, as in \"10 s..30 s\", or FROM..".into(),
                ));
            };
            let from: Span = from.parse()?;
            let to = if to.trim().is_empty() { NEVER } else { to.parse()? };
            if to <= from {
                return Err(refuse("the period ends before it begins".into()));
            }
            if let Some(&(_, before)) = periods.last()
                && from < before
            {
                let end =
                    if before == NEVER { "has no end".into() } else { format!("ends at {before}") };
                return Err(refuse(format!(
                    "begins before the one before it is over, which {end}"
                )));
            }
            periods.push((from, to));
        }
        match periods.len() {
            0..=MOST => Ok(Periods(periods)),
            many => Err(UnitError {
                text: String::new(),
                why: format!("has {many} periods; at most {MOST} can be"),
            }),
        }
    }

    fn write(&self) -> String {
        let text = |&(from, to): &(Span, Span)| {
            if to == NEVER { format!("{from}..") } else { format!("{from}..{to}") }
        };
        self.0.iter().map(text).collect::<Vec<_>>().join(SEPARATOR)
    }

    fn magnitude(&self) -> f64 {
        self.0.last().map_or(0.0, |last| last.0.as_nanos() as f64)
    }

    fn write_bound(magnitude: f64) -> String {
        Span::from_nanos(magnitude as u64).to_string()
    }
}
