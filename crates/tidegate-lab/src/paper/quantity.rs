//! What a claim is about: how it is written, and how it is read from a replication's result.
//!
//! | written | what |
//! |---|---|
//! | `throughput GROUP`, `goodput GROUP`, `loss GROUP`, `offered GROUP` | a rate of a group, or of `total` |
//! | `active goodput GROUP` | goodput over each flow's active time; of a group whose flows are active once, its goodput |
//! | `throughput GROUP over OTHER`, `goodput GROUP over OTHER` | a flow of the one over a flow of the other |
//! | a rate, then `10 s..30 s` | its mean over that time (throughput and loss only) |
//! | `loss ratio GROUP`, `mark ratio GROUP` | lost or marked over offered packets |
//! | `loss ratio 20 s..40 s` | of the queue, over that time |
//! | `loss ratio 20 s..40 s over 0 s..20 s` | the one over the other |
//! | `norm of GROUP …`, `norm of GROUP … n 61` | norm of these groups' flows against C/n, n being their number or as told |
//! | `jain GROUP` | Jain's index of the throughputs of a group's flows, or of all flows |
//! | `class jain throughput`, `class jain goodput`, `class jain active goodput` | of the groups' means, each counted as often as it has flows |
//! | `norm`, `deviation from fair`, `utilization`, `nearly full` | see `docs/study/compare.md` |
//! | `delay mean`, `delay sd`, `delay p50`, `delay p95`, `delay p99` | waiting time in the queue |
//! | `drop gap cov GROUP` | coefficient of variation of the gaps between drops of its packets |
//! | `rate cov mean GROUP`, `rate cov sd GROUP` | of each flow's throughput over windows: mean and deviation over flows |
//! | `least flow GROUP`, `greatest flow GROUP` | throughput of its least or greatest flow |
//! | `flows of GROUP below 20 %` | how many get less than that part of C/n, n being all flows |
//! | `loss synchronization GROUP`, `starved time GROUP` | any other metric of a group that is declared as a ratio, by its name |
//! | `gauge NAME mean`, `gauge NAME rmse 600`, either with a time | the queue's inner state; its root mean square error |
//! | `misclassified(levels 2, bins 23, floods 4)` and the like | a closed form (`closed.rs`) |
//! | `elsewhere: WHAT` | what no simulation tells, in any unit |
mod value;
mod words;

use std::fmt;
use std::str::FromStr;

use tidegate_report::{Line, Metric, SeriesQuantity as Shown};

use super::closed::Closed;
use super::unit::{NumberKind, PrintedUnit};

/// Something that a claim gives a number for.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    text: String,
    what: QuantityKind,
}

#[derive(Clone, Debug, PartialEq)]
enum QuantityKind {
    Rate(RateKind, Who),
    RateOver(RateKind, Who, GridWindow),
    Ratio(RateKind, String, String),
    LossRatio(Who),
    LossRatioOver(GridWindow),
    LossRatioChange(GridWindow, GridWindow),
    NormOf(Vec<String>, Option<f64>),
    MarkRatio(Who),
    Jain(Who),
    ClassJain(RateKind),
    Whole(WholeQuantity),
    Delay(Stat),
    DropGapCov(Who),
    RateCov(Statistic, String),
    End(Extreme, String),
    Below(String, f64),
    Declared(&'static Metric, String),
    Gauge(String, Reduce, GridWindow),
    Closed(Closed),
    Elsewhere,
}

/// A group, or all flows.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Who {
    Group(String),
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RateKind {
    Throughput,
    Goodput,
    ActiveGoodput,
    Loss,
    Offered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WholeQuantity {
    Norm,
    Deviation,
    Utilization,
    NearlyFull,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stat {
    Mean,
    Sd,
    P50,
    P95,
    P99,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Statistic {
    Mean,
    Sd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extreme {
    Least,
    Greatest,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Reduce {
    Mean,
    Rmse(f64),
}

/// Points of the grid of time that count: later than `from`, not later than `to`, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct GridWindow {
    from: f64,
    to: f64,
}

const EVER: GridWindow = GridWindow { from: 0.0, to: f64::INFINITY };

impl Quantity {
    /// What kind of number it is.
    pub fn dimension(&self) -> NumberKind {
        match &self.what {
            QuantityKind::Rate(..)
            | QuantityKind::RateOver(..)
            | QuantityKind::End(..)
            | QuantityKind::Whole(WholeQuantity::Norm)
            | QuantityKind::NormOf(..) => NumberKind::Rate,
            QuantityKind::LossRatio(_)
            | QuantityKind::LossRatioOver(_)
            | QuantityKind::MarkRatio(_)
            | QuantityKind::Jain(_)
            | QuantityKind::ClassJain(_)
            | QuantityKind::Declared(..) => NumberKind::Ratio,
            QuantityKind::Ratio(..) | QuantityKind::LossRatioChange(..) => NumberKind::Ratio,
            QuantityKind::Whole(WholeQuantity::Deviation | WholeQuantity::Utilization) => {
                NumberKind::Ratio
            }
            QuantityKind::DropGapCov(_) | QuantityKind::RateCov(..) => NumberKind::Ratio,
            QuantityKind::Whole(WholeQuantity::NearlyFull) => NumberKind::Time,
            QuantityKind::Delay(_) => NumberKind::Delay,
            QuantityKind::Below(..) | QuantityKind::Gauge(..) => NumberKind::Count,
            QuantityKind::Closed(closed) => closed.dimension(),
            QuantityKind::Elsewhere => NumberKind::Ratio,
        }
    }

    /// Whether it can be measured in `unit`.
    pub fn measured_in(&self, unit: PrintedUnit) -> bool {
        self.is_elsewhere() || self.dimension() == unit.dimension()
    }

    /// Whether no simulation tells it.
    pub fn is_elsewhere(&self) -> bool {
        self.what == QuantityKind::Elsewhere
    }

    /// What no simulation tells.
    pub(super) fn elsewhere(text: &str) -> Quantity {
        Quantity { text: text.into(), what: QuantityKind::Elsewhere }
    }

    /// The groups that it names.
    pub fn groups(&self) -> Vec<&str> {
        match &self.what {
            QuantityKind::Ratio(_, one, other) => vec![one, other],
            QuantityKind::NormOf(groups, _) => groups.iter().map(String::as_str).collect(),
            _ => self.group().into_iter().collect(),
        }
    }

    /// The group that it is of, if it is one group's.
    fn group(&self) -> Option<&str> {
        match &self.what {
            QuantityKind::Rate(_, who) | QuantityKind::RateOver(_, who, _) => who.group(),
            QuantityKind::LossRatio(who)
            | QuantityKind::MarkRatio(who)
            | QuantityKind::Jain(who)
            | QuantityKind::DropGapCov(who) => who.group(),
            QuantityKind::RateCov(_, group)
            | QuantityKind::End(_, group)
            | QuantityKind::Below(group, _)
            | QuantityKind::Declared(_, group) => Some(group),
            _ => None,
        }
    }

    /// Whether it needs what happened over time.
    pub fn needs_series(&self) -> bool {
        matches!(
            self.what,
            QuantityKind::RateOver(..)
                | QuantityKind::LossRatioOver(_)
                | QuantityKind::LossRatioChange(..)
                | QuantityKind::Gauge(..)
        )
    }

    /// Whether it needs each flow.
    pub fn needs_flows(&self) -> bool {
        matches!(self.what, QuantityKind::Below(..) | QuantityKind::NormOf(..))
    }

    /// Its value, if it is a closed form, in bytes, flows or pure numbers.
    pub fn closed(&self) -> Option<f64> {
        match &self.what {
            QuantityKind::Closed(closed) => Some(closed.value()),
            _ => None,
        }
    }

    /// The line of a replication's series that draws it over time.
    pub fn line<'s>(&self, series: &'s tidegate_report::Series) -> Option<&'s Line> {
        let (what, name) = match &self.what {
            QuantityKind::Gauge(name, ..) => (Shown::Gauge, name.as_str()),
            QuantityKind::Rate(RateKind::Loss, Who::Group(name)) => (Shown::Loss, name.as_str()),
            QuantityKind::Rate(RateKind::Throughput, Who::Group(name)) => {
                (Shown::Throughput, name.as_str())
            }
            QuantityKind::LossRatio(Who::All) => (Shown::Loss, "loss ratio"),
            QuantityKind::Delay(_) => (Shown::Delay, "delay"),
            _ => return None,
        };
        series.lines.iter().find(|line| line.what == what && line.name == name)
    }
}

impl Who {
    fn group(&self) -> Option<&str> {
        match self {
            Who::Group(name) => Some(name),
            Who::All => None,
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Quantity {
    type Err = String;

    fn from_str(text: &str) -> Result<Quantity, String> {
        let text = text.trim();
        if let Some(told) = text.strip_prefix("elsewhere:") {
            return Ok(Quantity::elsewhere(told.trim()));
        }
        let what = if text.ends_with(')') {
            QuantityKind::Closed(text.parse()?)
        } else {
            QuantityKind::read(text)?
        };
        Ok(Quantity { text: text.into(), what })
    }
}

#[cfg(test)]
mod tests;
