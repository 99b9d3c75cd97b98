//! How a quantity is read from a replication's result.
use tidegate_report::{Aggregate, Document, Figure, Group, SeriesQuantity as Shown, fair};

use super::super::cell::Replication;
use super::super::unit::PrintedUnit;
use super::{
    Extreme, GridWindow, Quantity, QuantityKind, RateKind, Reduce, Stat, Statistic, Who,
    WholeQuantity,
};

impl Quantity {
    /// Its value in one replication, in `unit`; none where it does not apply.
    pub fn value(&self, replication: &Replication, unit: PrintedUnit) -> Option<f64> {
        let document = &replication.document;
        let groups = members(document, self.group());
        let count = groups.iter().map(|g| g.count).sum::<u64>() as f64;
        let fair = groups.iter().filter_map(|g| mean(g.fair_share_bps)).sum();
        Some(self.base(replication, &groups)? * unit.per_base(count, fair))
    }

    fn base(&self, replication: &Replication, groups: &[&Group]) -> Option<f64> {
        let document = &replication.document;
        let all = &document.aggregate;
        let over =
            |shown, name: &str, window| reduce(replication, shown, name, Reduce::Mean, window);
        match &self.what {
            QuantityKind::Rate(rate, _) => sum(groups, |g| rate.of(g)),
            QuantityKind::RateOver(rate, who, window) => {
                let shown = if *rate == RateKind::Loss { Shown::Loss } else { Shown::Throughput };
                match who {
                    Who::Group(name) => over(shown, name, *window),
                    Who::All => groups.iter().map(|g| over(shown, &g.name, *window)).sum(),
                }
            }
            QuantityKind::Ratio(rate, one, other) => {
                Some(of_a_flow(document, *rate, one)? / of_a_flow(document, *rate, other)?)
            }
            QuantityKind::LossRatio(Who::All) => mean(all.loss_ratio),
            QuantityKind::LossRatio(_) => mean(groups.first()?.loss_ratio),
            QuantityKind::LossRatioOver(window) => over(Shown::Loss, "loss ratio", *window),
            QuantityKind::LossRatioChange(one, other) => {
                let of = |window| over(Shown::Loss, "loss ratio", window);
                Some(of(*one)? / of(*other)?)
            }
            QuantityKind::NormOf(groups, n) => norm_of(document, groups, *n),
            QuantityKind::MarkRatio(Who::All) => mean(all.mark_ratio),
            QuantityKind::MarkRatio(_) => mean(groups.first()?.mark_ratio),
            QuantityKind::Jain(Who::All) => mean(all.jain),
            QuantityKind::Jain(_) => mean(groups.first()?.jain),
            QuantityKind::ClassJain(rate) => class_jain(&document.groups, *rate),
            QuantityKind::Whole(WholeQuantity::Norm) => Some(mean(all.norm_kbps)? * 1e3),
            QuantityKind::Whole(WholeQuantity::Deviation) => mean(all.fair_deviation),
            QuantityKind::Whole(WholeQuantity::Utilization) => mean(all.utilization),
            QuantityKind::Whole(WholeQuantity::NearlyFull) => mean(all.nearly_full_s),
            QuantityKind::Delay(stat) => mean(stat.of(all)),
            QuantityKind::DropGapCov(Who::All) => mean(all.drop_gap_ms.cov),
            QuantityKind::DropGapCov(_) => mean(groups.first()?.drop_gap_ms.cov),
            QuantityKind::RateCov(Statistic::Mean, _) => mean(groups.first()?.rate_cov.mean),
            QuantityKind::RateCov(Statistic::Sd, _) => mean(groups.first()?.rate_cov.sd),
            QuantityKind::End(Extreme::Least, _) => mean(groups.first()?.per_flow.min),
            QuantityKind::End(Extreme::Greatest, _) => mean(groups.first()?.per_flow.max),
            QuantityKind::Below(group, share) => below(document, group, *share),
            QuantityKind::Declared(metric, _) => mean(groups.first()?.figure(metric.name)),
            QuantityKind::Gauge(name, how, window) => {
                reduce(replication, Shown::Gauge, name, *how, *window)
            }
            QuantityKind::Closed(closed) => Some(closed.value()),
            QuantityKind::Elsewhere => None,
        }
    }
}

impl RateKind {
    fn of(self, group: &Group) -> Option<Figure> {
        match self {
            RateKind::Throughput => group.throughput_bps,
            RateKind::Goodput => group.goodput_bps,
            RateKind::ActiveGoodput => group.active_goodput_bps.or(group.goodput_bps),
            RateKind::Loss => group.loss_bps,
            RateKind::Offered => group.offered_bps,
        }
    }
}

impl Stat {
    fn of(self, all: &Aggregate) -> Option<Figure> {
        match self {
            Stat::Mean => all.queue_delay_ms.mean,
            Stat::Sd => all.queue_delay_ms.sd,
            Stat::P50 => all.queue_delay_ms.p50,
            Stat::P95 => all.queue_delay_ms.p95,
            Stat::P99 => all.queue_delay_ms.p99,
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

/// The mean rate of a flow of the group called `name`.
fn of_a_flow(document: &Document, rate: RateKind, name: &str) -> Option<f64> {
    let group = document.groups.iter().find(|g| g.name == name)?;
    Some(mean(rate.of(group))? / group.count as f64)
}

/// Jain's index when each flow has its group's mean.
pub(super) fn class_jain(groups: &[Group], rate: RateKind) -> Option<f64> {
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
    Some(crate::replication::stats::norm(&rates, fair))
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
    name: &str,
    how: Reduce,
    window: GridWindow,
) -> Option<f64> {
    let series = replication.series.as_ref()?;
    let line = series.lines.iter().find(|l| l.what == shown && l.name == name)?;
    let within = |t: &f64| *t > window.from && *t <= window.to;
    let values = series.time_s.iter().zip(&line.values).filter(|(t, _)| within(t));
    let values: Vec<f64> = values.filter_map(|(_, value)| *value).collect();
    match how {
        Reduce::Mean => crate::replication::stats::mean(&values),
        Reduce::Rmse(truth) => {
            crate::replication::stats::rmse(&values.iter().map(|v| (*v, truth)).collect::<Vec<_>>())
        }
    }
}
