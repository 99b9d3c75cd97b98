//! What is drawn of a paper, as values: figures, and tables of queues with their maps.
use std::fmt;

use super::quantity::Quantity;
use super::unit::PrintedUnit;

/// Something to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureSpec {
    /// The experiment.
    pub experiment: String,
    /// Its name: of its file, too.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// What is drawn against what.
    pub kind: FigureKind,
    /// What the horizontal axis is called.
    pub x: String,
    /// The reading whose runs are drawn.
    pub reading: String,
    /// The unit of the vertical axis.
    pub unit: PrintedUnit,
    /// The quantity drawn; for [`FigureKind::Time`] its gauge, for [`FigureKind::Flows`] the rate.
    pub quantity: Quantity,
    /// The quantity as written: `{x}` in it is the place on the axis.
    pub text: String,
}

/// What is drawn against what.
#[derive(Clone, Debug, PartialEq)]
pub enum FigureKind {
    /// A quantity over the runs' `x`, a line for each queue.
    Sweep,
    /// A quantity over time in one setting, a line for each queue, of the first seed.
    Time {
        /// The setting.
        setting: String,
    },
    /// The throughput of each flow in one setting, a line for each queue, means over the seeds.
    Flows {
        /// The setting.
        setting: String,
    },
    /// What is known without simulating: a closed form, or points measured elsewhere.
    Known {
        /// The lines.
        lines: Vec<KnownLine>,
        /// What measures them again; none of a closed form.
        command: Option<String>,
    },
}

/// A line of a figure that is known without simulating.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownLine {
    /// What it is of.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

/// A table of queues for each setting of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct BoardSpec {
    /// The experiment.
    pub experiment: String,
    /// Its name.
    pub id: String,
    /// What is compared.
    pub title: String,
    /// What its columns are.
    pub columns: Vec<BoardColumn>,
    /// The column that is drawn as a map, queues against settings, if one is.
    pub map: Option<BoardColumn>,
    /// Nanoseconds for each packet, by queue, as measured.
    pub costs: Vec<(String, f64)>,
}

/// What a column shows.
#[derive(Clone, Debug, PartialEq)]
pub enum BoardColumn {
    /// A quantity of the results.
    Of(Quantity, PrintedUnit),
    /// What the queue keeps at most besides the packets, in kB.
    State,
    /// What a packet costs in time, in ns, as measured elsewhere.
    Cost,
}

impl fmt::Display for BoardColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BoardColumn::Of(quantity, unit) => match unit.to_string().as_str() {
                "" => write!(f, "{quantity}"),
                unit => write!(f, "{quantity}, {unit}"),
            },
            BoardColumn::State => f.write_str("state, kB"),
            BoardColumn::Cost => f.write_str("a packet, ns"),
        }
    }
}

impl std::str::FromStr for BoardColumn {
    type Err = String;

    fn from_str(text: &str) -> Result<BoardColumn, String> {
        match text {
            "state" => return Ok(BoardColumn::State),
            "cost" => return Ok(BoardColumn::Cost),
            _ => {}
        }
        let (quantity, unit) = match text.strip_suffix(']').and_then(|text| text.split_once(" [")) {
            Some((quantity, unit)) => (quantity, unit),
            None => (text, ""),
        };
        let (quantity, unit): (Quantity, PrintedUnit) = (quantity.parse()?, unit.parse()?);
        if quantity.dimension() == unit.dimension() {
            Ok(BoardColumn::Of(quantity, unit))
        } else {
            Err(format!(
                "`{quantity}` is measured in {}",
                PrintedUnit::of(quantity.dimension()).join(" | ")
            ))
        }
    }
}

impl BoardColumn {
    /// What it needs of a run.
    pub(super) fn quantity(&self) -> Option<&Quantity> {
        match self {
            BoardColumn::Of(quantity, _) => Some(quantity),
            _ => None,
        }
    }
}
