//! What a claim is about: how it is written, and how it is read from a replication's result.
//!
//! | written | what |
//! |---|---|
//! | `throughput GROUP`, `goodput GROUP`, `loss GROUP`, `offered GROUP` | a rate of a group, or of `total` |
//! | `throughput GROUP over OTHER`, `goodput GROUP over OTHER` | a flow of the one over a flow of the other |
//! | a rate, then `10 s..30 s` | its mean over that time (throughput and loss only) |
//! | `loss ratio GROUP`, `mark ratio GROUP` | lost or marked over offered packets |
//! | `loss ratio 20 s..40 s` | of the queue, over that time |
//! | `loss ratio 20 s..40 s over 0 s..20 s` | the one over the other |
//! | `norm of GROUP …`, `norm of GROUP … n 61` | norm of these groups' flows against C/n, n being their number or as told |
//! | `jain GROUP` | Jain's index of the throughputs of a group's flows, or of all flows |
//! | `class jain throughput`, `class jain goodput` | of the groups' means, each counted as often as it has flows |
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
mod words;

use std::fmt;
use std::str::FromStr;

use tidegate_report::{Document, Figure, Group, Line, Metric, Quantity as Shown, fair};

use super::cell::Replication;
use super::closed::Closed;
use super::unit::{Dimension, Unit};

/// Something that a claim gives a number for.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    text: String,
    what: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    Rate(Rate, Who),
    RateOver(Rate, Who, Window),
    Ratio(Rate, String, String),
    LossRatio(Who),
    LossRatioOver(Window),
    LossRatioChange(Window, Window),
    NormOf(Vec<String>, Option<f64>),
    MarkRatio(Who),
    Jain(Who),
    ClassJain(Rate),
    Whole(Whole),
    Delay(Stat),
    DropGapCov(Who),
    RateCov(Moment, String),
    End(Extreme, String),
    Below(String, f64),
    Declared(&'static Metric, String),
    Gauge(String, Reduce, Window),
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
enum Rate {
    Throughput,
    Goodput,
    Loss,
    Offered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
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
enum Moment {
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
struct Window {
    from: f64,
    to: f64,
}

const EVER: Window = Window { from: 0.0, to: f64::INFINITY };

impl Quantity {
    /// What kind of number it is.
    pub fn dimension(&self) -> Dimension {
        match &self.what {
            What::Rate(..)
            | What::RateOver(..)
            | What::End(..)
            | What::Whole(Whole::Norm)
            | What::NormOf(..) => Dimension::Rate,
            What::LossRatio(_)
            | What::LossRatioOver(_)
            | What::MarkRatio(_)
            | What::Jain(_)
            | What::ClassJain(_)
            | What::Declared(..) => Dimension::Ratio,
            What::Ratio(..) | What::LossRatioChange(..) => Dimension::Ratio,
            What::Whole(Whole::Deviation | Whole::Utilization) => Dimension::Ratio,
            What::DropGapCov(_) | What::RateCov(..) => Dimension::Ratio,
            What::Whole(Whole::NearlyFull) => Dimension::Time,
            What::Delay(_) => Dimension::Delay,
            What::Below(..) | What::Gauge(..) => Dimension::Count,
            What::Closed(closed) => closed.dimension(),
            What::Elsewhere => Dimension::Ratio,
        }
    }

    /// Whether it can be measured in `unit`.
    pub fn measured_in(&self, unit: Unit) -> bool {
        self.is_elsewhere() || self.dimension() == unit.dimension()
    }

    /// Whether no simulation tells it.
    pub fn is_elsewhere(&self) -> bool {
        self.what == What::Elsewhere
    }

    /// What no simulation tells.
    pub(super) fn elsewhere(text: &str) -> Quantity {
        Quantity { text: text.into(), what: What::Elsewhere }
    }

    /// The groups that it names.
    pub fn groups(&self) -> Vec<&str> {
        match &self.what {
            What::Ratio(_, one, other) => vec![one, other],
            What::NormOf(groups, _) => groups.iter().map(String::as_str).collect(),
            _ => self.group().into_iter().collect(),
        }
    }

    /// The group that it is of, if it is one group's.
    fn group(&self) -> Option<&str> {
        match &self.what {
            What::Rate(_, who) | What::RateOver(_, who, _) => who.group(),
            What::LossRatio(who)
            | What::MarkRatio(who)
            | What::Jain(who)
            | What::DropGapCov(who) => who.group(),
            What::RateCov(_, group)
            | What::End(_, group)
            | What::Below(group, _)
            | What::Declared(_, group) => Some(group),
            _ => None,
        }
    }

    /// Whether it needs what happened over time.
    pub fn needs_series(&self) -> bool {
        matches!(
            self.what,
            What::RateOver(..)
                | What::LossRatioOver(_)
                | What::LossRatioChange(..)
                | What::Gauge(..)
        )
    }

    /// Whether it needs each flow.
    pub fn needs_flows(&self) -> bool {
        matches!(self.what, What::Below(..) | What::NormOf(..))
    }

    /// Its value, if it is a closed form, in bytes, flows or pure numbers.
    pub fn closed(&self) -> Option<f64> {
        match &self.what {
            What::Closed(closed) => Some(closed.value()),
            _ => None,
        }
    }

    /// Its value in one replication, in `unit`; none where it does not apply.
    pub fn value(&self, replication: &Replication, unit: Unit) -> Option<f64> {
        let document = &replication.document;
        let groups = members(document, self.group());
        let count = groups.iter().map(|g| g.count).sum::<u64>() as f64;
        let fair = groups.iter().filter_map(|g| mean(g.fair_share_bps)).sum();
        Some(self.base(replication, &groups)? * unit.per_base(count, fair))
    }

    fn base(&self, replication: &Replication, groups: &[&Group]) -> Option<f64> {
        let document = &replication.document;
        let all = &document.aggregate;
        let over = |shown, name: Option<&str>, window| {
            reduce(replication, shown, name, Reduce::Mean, window)
        };
        match &self.what {
            What::Rate(rate, _) => sum(groups, |g| rate.of(g)),
            What::RateOver(rate, who, window) => {
                let shown = if *rate == Rate::Loss { Shown::Loss } else { Shown::Throughput };
                let names = groups.iter().map(|g| g.name.as_str());
                match who {
                    Who::Group(name) => over(shown, Some(name), *window),
                    Who::All => names.map(|name| over(shown, Some(name), *window)).sum(),
                }
            }
            What::Ratio(rate, one, other) => {
                let each = |name: &str| {
                    let group = document.groups.iter().find(|g| g.name == name)?;
                    Some(mean(rate.of(group))? / group.count as f64)
                };
                Some(each(one)? / each(other)?)
            }
            What::LossRatio(Who::All) => mean(all.loss_ratio),
            What::LossRatio(_) => mean(groups.first()?.loss_ratio),
            What::LossRatioOver(window) => over(Shown::Loss, Some("loss ratio"), *window),
            What::LossRatioChange(one, other) => {
                let of = |window| over(Shown::Loss, Some("loss ratio"), window);
                Some(of(*one)? / of(*other)?)
            }
            What::NormOf(groups, n) => norm_of(document, groups, *n),
            What::MarkRatio(Who::All) => mean(all.mark_ratio),
            What::MarkRatio(_) => mean(groups.first()?.mark_ratio),
            What::Jain(Who::All) => mean(all.jain),
            What::Jain(_) => mean(groups.first()?.jain),
            What::ClassJain(rate) => class_jain(&document.groups, *rate),
            What::Whole(Whole::Norm) => Some(mean(all.norm_kbps)? * 1e3),
            What::Whole(Whole::Deviation) => mean(all.fair_deviation),
            What::Whole(Whole::Utilization) => mean(all.utilization),
            What::Whole(Whole::NearlyFull) => mean(all.nearly_full_s),
            What::Delay(stat) => mean(match stat {
                Stat::Mean => all.queue_delay_ms.mean,
                Stat::Sd => all.queue_delay_ms.sd,
                Stat::P50 => all.queue_delay_ms.p50,
                Stat::P95 => all.queue_delay_ms.p95,
                Stat::P99 => all.queue_delay_ms.p99,
            }),
            What::DropGapCov(Who::All) => mean(all.drop_gap_ms.cov),
            What::DropGapCov(_) => mean(groups.first()?.drop_gap_ms.cov),
            What::RateCov(Moment::Mean, _) => mean(groups.first()?.rate_cov.mean),
            What::RateCov(Moment::Sd, _) => mean(groups.first()?.rate_cov.sd),
            What::End(Extreme::Least, _) => mean(groups.first()?.per_flow.min),
            What::End(Extreme::Greatest, _) => mean(groups.first()?.per_flow.max),
            What::Below(group, share) => below(document, group, *share),
            What::Declared(metric, _) => mean(groups.first()?.figure(metric.name)),
            What::Gauge(name, how, window) => {
                reduce(replication, Shown::Gauge, Some(name), *how, *window)
            }
            What::Closed(closed) => Some(closed.value()),
            What::Elsewhere => None,
        }
    }

    /// The line of a replication's series that draws it over time.
    pub fn line<'s>(&self, series: &'s tidegate_report::Series) -> Option<&'s Line> {
        let (what, name) = match &self.what {
            What::Gauge(name, ..) => (Shown::Gauge, name.as_str()),
            What::Rate(Rate::Loss, Who::Group(name)) => (Shown::Loss, name.as_str()),
            What::Rate(Rate::Throughput, Who::Group(name)) => (Shown::Throughput, name.as_str()),
            What::LossRatio(Who::All) => (Shown::Loss, "loss ratio"),
            What::Delay(_) => (Shown::Delay, "delay"),
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

impl Rate {
    fn of(self, group: &Group) -> Option<Figure> {
        match self {
            Rate::Throughput => group.throughput_bps,
            Rate::Goodput => group.goodput_bps,
            Rate::Loss => group.loss_bps,
            Rate::Offered => group.offered_bps,
        }
    }
}

fn mean(figure: Option<Figure>) -> Option<f64> {
    figure.map(|f| f.mean())
}

fn sum(groups: &[&Group], of: impl Fn(&Group) -> Option<Figure>) -> Option<f64> {
    groups.iter().map(|g| mean(of(g))).sum()
}

fn members<'d>(document: &'d Document, group: Option<&str>) -> Vec<&'d Group> {
    document.groups.iter().filter(|g| group.is_none_or(|name| g.name == name)).collect()
}

/// Jain's index when each flow has its group's mean.
fn class_jain(groups: &[Group], rate: Rate) -> Option<f64> {
    let mut rates = vec![];
    for group in groups {
        let each = mean(rate.of(group))? / group.count as f64;
        rates.extend(std::iter::repeat_n(each, group.count as usize));
    }
    fair::jain(&rates)
}

/// The norm of the flows of `groups` against C/n.
fn norm_of(document: &Document, groups: &[String], n: Option<f64>) -> Option<f64> {
    let flows = document.flows.as_ref()?;
    let mine =
        flows.iter().filter(|f| f.group.as_ref().is_some_and(|group| groups.contains(group)));
    let rates: Vec<f64> = mine.filter_map(|f| mean(f.throughput_bps)).collect();
    let fair = document.bottleneck.rate_bps? / n.unwrap_or(rates.len() as f64);
    Some(crate::study::stats::norm(&rates, fair))
}

/// How many flows of `group` get less than `share` of C/n.
fn below(document: &Document, group: &str, share: f64) -> Option<f64> {
    let flows = document.flows.as_ref()?;
    let each = document.bottleneck.rate_bps? / flows.len() as f64;
    let mine = flows.iter().filter(|f| f.group.as_deref() == Some(group));
    Some(mine.filter(|f| mean(f.throughput_bps).is_some_and(|rate| rate < share * each)).count()
        as f64)
}

fn reduce(
    replication: &Replication,
    shown: Shown,
    name: Option<&str>,
    how: Reduce,
    window: Window,
) -> Option<f64> {
    let series = replication.series.as_ref()?;
    let line =
        series.lines.iter().find(|l| l.what == shown && name.is_none_or(|name| l.name == name))?;
    let within = |t: &f64| *t > window.from && *t <= window.to;
    let values = series.time_s.iter().zip(&line.values).filter(|(t, _)| within(t));
    let values: Vec<f64> = values.filter_map(|(_, value)| *value).collect();
    match how {
        Reduce::Mean => crate::study::stats::mean(&values),
        Reduce::Rmse(truth) => {
            crate::study::stats::rmse(&values.iter().map(|v| (*v, truth)).collect::<Vec<_>>())
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
        let what =
            if text.ends_with(')') { What::Closed(text.parse()?) } else { What::read(text)? };
        Ok(Quantity { text: text.into(), what })
    }
}

#[cfg(test)]
mod tests;
