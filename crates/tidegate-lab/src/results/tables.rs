//! Results as tables: the same numbers as in `result.json` and `series.json`.
//! `docs/study/data.md` names them.
use std::sync::Arc;

use tidegate_report::tidy::{Column, Tidy, Values};
use tidegate_report::{
    Aggregate, Counts, Document, Figure, Flow, Group, Metric, Pool, SeriesQuantity,
};

use crate::replication::{QueueOutcome, by_seed};

/// A row for each queue: what all flows got together, and how its queue fared.
///
/// A column that is a mean over seeds is followed by one with `_ci95` behind its name, half the
/// width of its interval.
pub fn queues(outcomes: &[QueueOutcome]) -> Tidy {
    let mut table = GrowingTable::default();
    let mut row = |document: &Document| {
        table.result(document);
        table.metrics(Aggregate::METRICS, document.aggregate.figures());
        table.end_row();
    };
    outcomes.iter().for_each(|outcome| row(&outcome.document));
    if outcomes.is_empty() {
        row(&Document::default());
    }
    table.done(outcomes.is_empty())
}

/// A row for each queue and group of flows; columns as in [`queues()`].
pub fn groups(outcomes: &[QueueOutcome]) -> Tidy {
    let mut table = GrowingTable::default();
    let mut row = |document: &Document, group: &Group| {
        table.result(document);
        table.text("group", "the group's name", Some((&*group.name).into()));
        table.whole("flows", "", "how many flows it has", Some(group.count));
        table.metrics(Group::METRICS, group.figures());
        table.end_row();
    };
    let mut empty = true;
    for document in outcomes.iter().map(|outcome| &outcome.document) {
        for group in &document.groups {
            row(document, group);
            empty = false;
        }
    }
    if empty {
        row(&Document::default(), &Group::default());
    }
    table.done(empty)
}

/// A row for each queue, seed and group of flows: what each replication says.
pub fn seeds(outcomes: &[QueueOutcome]) -> Tidy {
    let mut names = GrowingTable::default();
    let mut rows = by_seed::columns();
    for outcome in outcomes {
        for _ in 0..outcome.by_seed.rows() {
            names.result(&outcome.document);
            names.end_row();
        }
        for (column, more) in rows.iter_mut().zip(&outcome.by_seed.columns) {
            column.values.append_rows(&more.values, 0..outcome.by_seed.rows());
        }
    }
    let empty = names.table.columns.is_empty();
    if empty {
        names.result(&Document::default());
    }
    let mut table = names.done(empty);
    table.columns.append(&mut rows);
    table
}

/// A row for each queue and flow, where the documents list flows.
pub fn flows(outcomes: &[QueueOutcome]) -> Tidy {
    let mut table = GrowingTable::default();
    let mut empty = true;
    for document in outcomes.iter().map(|outcome| &outcome.document) {
        let [scenario, queue] =
            [&document.scenario, &document.label].map(|text| Some(Arc::from(text.as_str())));
        for flow in document.flows.iter().flatten() {
            table.names(scenario.clone(), queue.clone());
            flow_row(&mut table, flow);
            empty = false;
        }
    }
    if empty {
        table.names(None, None);
        flow_row(&mut table, &Flow::default());
    }
    table.done(empty)
}

/// A row for each queue, line of the series of whose quantity `which` says yes, and point of the
/// grid.
pub fn readings(outcomes: &[QueueOutcome], which: fn(SeriesQuantity) -> bool) -> Tidy {
    let mut table = GrowingTable::default();
    let mut empty = true;
    for outcome in outcomes {
        let queue: Arc<str> = outcome.document.label.as_str().into();
        let series = &outcome.series;
        for line in series.lines.iter().filter(|line| which(line.what)) {
            let [what, name, unit] =
                [quantity(line.what), &line.name, &line.unit].map(|text| Some(Arc::from(text)));
            for (&time, &value) in series.time_s.iter().zip(&line.values) {
                let words = [Some(queue.clone()), what.clone(), name.clone(), unit.clone()];
                reading(&mut table, words, series.seed, Some(time), value);
                empty = false;
            }
        }
    }
    if empty {
        reading(&mut table, [None, None, None, None], None, None, None);
    }
    table.done(empty)
}

/// A table under construction. Columns are known by the order in which the first row fills them.
#[derive(Default)]
struct GrowingTable {
    table: Tidy,
    next: usize,
}

impl GrowingTable {
    /// The next column of the row that is being filled.
    fn cell(&mut self, name: &str, unit: &str, what: &str, new: fn() -> Values) -> &mut Values {
        let columns = &mut self.table.columns;
        if self.next == columns.len() {
            columns.push(Column::new(name, unit, what, new()));
        }
        self.next += 1;
        &mut columns[self.next - 1].values
    }

    fn text(&mut self, name: &str, what: &str, value: Option<Arc<str>>) {
        if let Values::Text(all) = self.cell(name, "", what, || Values::Text(vec![])) {
            all.push(value);
        }
    }

    fn whole(&mut self, name: &str, unit: &str, what: &str, value: Option<u64>) {
        if let Values::Whole(all) = self.cell(name, unit, what, || Values::Whole(vec![])) {
            all.push(value.and_then(|n| i64::try_from(n).ok()));
        }
    }

    fn number(&mut self, name: &str, unit: &str, what: &str, value: Option<f64>) {
        if let Values::Number(all) = self.cell(name, unit, what, || Values::Number(vec![])) {
            all.push(value);
        }
    }

    /// Two columns: the mean, and half the width of its interval.
    fn figure(&mut self, name: &str, unit: &str, what: &str, figure: Option<Figure>) {
        self.number(name, unit, what, figure.map(|f| f.mean()));
        let half = "half the width of the 95 % interval of the column before; none for one seed";
        self.number(&format!("{name}_ci95"), unit, half, figure.and_then(|f| f.ci95()));
    }

    fn counts(&mut self, unit: &str, counts: Option<Counts>) {
        let of = |pick: fn(&Counts) -> u64| counts.as_ref().map(pick);
        self.whole(
            &format!("{unit}_offered"),
            unit,
            "offered to queues, over all seeds",
            of(|c| c.offered),
        );
        self.whole(
            &format!("{unit}_delivered"),
            unit,
            "sent on by queues, over all seeds",
            of(|c| c.delivered),
        );
        self.whole(
            &format!("{unit}_dropped"),
            unit,
            "dropped by queues, over all seeds",
            of(|c| c.dropped),
        );
        self.whole(
            &format!("{unit}_marked"),
            unit,
            "marked by queues, over all seeds",
            of(|c| c.marked),
        );
    }

    /// Which result a row is of.
    fn result(&mut self, document: &Document) {
        self.names(Some((&*document.scenario).into()), Some((&*document.label).into()));
    }

    fn names(&mut self, scenario: Option<Arc<str>>, queue: Option<Arc<str>>) {
        self.text("scenario", "the scenario or capture", scenario);
        self.text("queue", "the result's label, by default the queue's name", queue);
    }

    /// Columns of `metrics`, whose values are `figures`.
    fn metrics(&mut self, metrics: &[Metric], figures: impl Iterator<Item = Option<Figure>>) {
        let columns = metrics.iter().flat_map(|metric| metric.columns().map(move |n| (metric, n)));
        for ((metric, name), figure) in columns.zip(figures) {
            match metric.pool {
                Pool::Sum => self.number(&name, metric.unit, metric.what, figure.map(|f| f.mean())),
                _ => self.figure(&name, metric.unit, metric.what, figure),
            }
        }
    }

    fn end_row(&mut self) {
        self.next = 0;
    }

    /// The table. Where it is `empty`, its one row was there to name its columns.
    fn done(mut self, empty: bool) -> Tidy {
        if empty {
            self.table.columns.iter_mut().for_each(|column| column.values.clear());
        }
        self.table
    }
}

/// Metrics with columns of their own; every other has one by its own name.
const NAMED: [&str; 8] = [
    "throughput_bps",
    "goodput_bps",
    "offered_bps",
    "fair_share_bps",
    "loss_ratio",
    "mark_ratio",
    "retransmitted_bytes",
    "rate_cov",
];

fn flow_row(table: &mut GrowingTable, flow: &Flow) {
    table.whole("flow", "", "place among all flows, from 0", Some(flow.index));
    table.text(
        "label",
        "the flow's name, or the addresses of a capture",
        Some((&*flow.label).into()),
    );
    table.text("group", "its group", flow.group.as_deref().map(Into::into));
    table.figure("throughput", "bit/s", "bits received over time", flow.throughput_bps);
    table.figure("goodput", "bit/s", "bits new to the receiver over time", flow.goodput_bps);
    table.figure("offered", "bit/s", "bits offered to the queue over time", flow.offered_bps);
    table.figure("fair_share", "bit/s", "its max-min fair share", flow.fair_share_bps);
    table.figure("loss_ratio", "", "packets lost over packets offered", flow.loss_ratio);
    table.figure("mark_ratio", "", "packets marked over packets offered", flow.mark_ratio);
    table.figure("delay_mean", "ms", "mean wait in a queue", flow.delay_ms.mean);
    table.figure("delay_p50", "ms", "median wait", flow.delay_ms.p50);
    table.figure("delay_p95", "ms", "95th percentile of the wait", flow.delay_ms.p95);
    table.figure("delay_p99", "ms", "99th percentile of the wait", flow.delay_ms.p99);
    table.figure(
        "retransmitted",
        "bytes",
        "bytes of data sent again, per seed",
        flow.retransmitted_bytes,
    );
    table.figure(
        "drop_gap_mean",
        "ms",
        "mean gap between its successive drops",
        flow.drop_gap_ms.mean,
    );
    table.figure(
        "drop_gap_cov",
        "",
        "coefficient of variation of these gaps",
        flow.drop_gap_ms.cov,
    );
    table.figure(
        "rate_cov",
        "",
        "coefficient of variation of its throughput over windows",
        flow.rate_cov,
    );
    for metric in Flow::METRICS.iter().filter(|m| m.single && !NAMED.contains(&m.name)) {
        table.figure(metric.name, metric.unit, metric.what, flow.figure(metric.name));
    }
    table.counts("packets", flow.packets);
    table.counts("bytes", flow.bytes);
    table.end_row();
}

fn reading(
    table: &mut GrowingTable,
    [queue, what, name, unit]: [Option<Arc<str>>; 4],
    seed: Option<u64>,
    time: Option<f64>,
    value: Option<f64>,
) {
    table.text("queue", "the result's label", queue);
    table.whole("seed", "", "the replication's seed", seed);
    table.number("time", "s", "time since the start, warm-up included", time);
    table.text("quantity", "queue, delay, throughput, loss or gauge", what);
    table.text("name", "the group's or gauge's name, or the line's", name);
    table.text("unit", "the unit of the value", unit);
    table.number(
        "value",
        "as in the column unit",
        "the reading; none where nothing was seen",
        value,
    );
    table.end_row();
}

/// As in `series.json`.
fn quantity(what: SeriesQuantity) -> &'static str {
    match what {
        SeriesQuantity::Queue => "queue",
        SeriesQuantity::Delay => "delay",
        SeriesQuantity::Throughput => "throughput",
        SeriesQuantity::Loss => "loss",
        SeriesQuantity::Gauge => "gauge",
    }
}
