//! Results as Parquet files, for DuckDB, pandas and their like: the same numbers as in
//! `result.json` and `series.json`, a row for each flow and for each reading. `docs/study/data.md`
//! lists the columns; each file's metadata has their units and meanings too, under the key
//! `tidegate.columns`.
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use serde_json::json;
use tidegate_report::{Counts, Figure, Flow, Quantity};

use super::file::File;
use crate::replication::Outcome;

/// A column: its name, unit and meaning, and its values.
struct Column {
    name: String,
    unit: &'static str,
    what: &'static str,
    values: Values,
}

/// A column's values; `None` where nothing applies.
enum Values {
    Text(Vec<Option<ByteArray>>),
    Whole(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
}

/// A table under construction. Columns are known by the order in which the first row fills them.
#[derive(Default)]
struct Table {
    columns: Vec<Column>,
    next: usize,
}

impl Table {
    /// The next column of the row that is being filled.
    fn cell(
        &mut self,
        name: &str,
        unit: &'static str,
        what: &'static str,
        new: fn() -> Values,
    ) -> &mut Values {
        if self.next == self.columns.len() {
            self.columns.push(Column { name: name.into(), unit, what, values: new() });
        }
        self.next += 1;
        &mut self.columns[self.next - 1].values
    }

    fn text(&mut self, name: &str, what: &'static str, value: Option<ByteArray>) {
        if let Values::Text(all) = self.cell(name, "", what, || Values::Text(vec![])) {
            all.push(value);
        }
    }

    fn whole(&mut self, name: &str, unit: &'static str, what: &'static str, value: Option<u64>) {
        if let Values::Whole(all) = self.cell(name, unit, what, || Values::Whole(vec![])) {
            all.push(value.and_then(|n| i64::try_from(n).ok()));
        }
    }

    fn number(&mut self, name: &str, unit: &'static str, what: &'static str, value: Option<f64>) {
        if let Values::Number(all) = self.cell(name, unit, what, || Values::Number(vec![])) {
            all.push(value);
        }
    }

    /// Two columns: the mean, and half the width of its interval.
    fn figure(
        &mut self,
        name: &str,
        unit: &'static str,
        what: &'static str,
        figure: Option<Figure>,
    ) {
        self.number(name, unit, what, figure.map(|f| f.mean()));
        let half = "half the width of the 95 % interval of the column before; none for one seed";
        self.number(&format!("{name}_ci95"), unit, half, figure.and_then(|f| f.ci95()));
    }

    fn counts(&mut self, unit: &'static str, counts: Option<Counts>) {
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

    fn end_row(&mut self) {
        self.next = 0;
    }

    /// The file `name` with these columns; without rows, it has none.
    fn file(self, name: &str) -> File {
        let bytes = self.bytes().expect("columns of one length in memory make a file");
        File { name: name.into(), bytes }
    }

    fn bytes(&self) -> Result<Vec<u8>, ParquetError> {
        let fields = self.columns.iter().map(Column::field).collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("tidegate").with_fields(fields).build()?;
        let meanings =
            self.columns.iter().map(|c| json!({ "name": c.name, "unit": c.unit, "what": c.what }));
        let notes = vec![
            KeyValue::new("tidegate.version".into(), env!("CARGO_PKG_VERSION").to_string()),
            KeyValue::new(
                "tidegate.columns".into(),
                serde_json::Value::from_iter(meanings).to_string(),
            ),
        ];
        let properties = WriterProperties::builder()
            .set_created_by(format!("tidegate {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(notes))
            .build();
        let mut bytes = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))?;
        let mut rows = writer.next_row_group()?;
        for column in &self.columns {
            if let Some(mut writer) = rows.next_column()? {
                column.write(&mut writer)?;
                writer.close()?;
            }
        }
        rows.close()?;
        writer.close()?;
        Ok(bytes)
    }
}

impl Column {
    fn field(&self) -> Result<Arc<Type>, ParquetError> {
        let physical = match self.values {
            Values::Text(_) => Physical::BYTE_ARRAY,
            Values::Whole(_) => Physical::INT64,
            Values::Number(_) => Physical::DOUBLE,
        };
        let mut field = Type::primitive_type_builder(&self.name, physical)
            .with_repetition(Repetition::OPTIONAL);
        if physical == Physical::BYTE_ARRAY {
            field = field
                .with_logical_type(Some(LogicalType::String))
                .with_converted_type(ConvertedType::UTF8);
        }
        field.build().map(Arc::new)
    }

    fn write(&self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match &self.values {
            Values::Text(all) => {
                writer.typed::<ByteArrayType>().write_batch(
                    &present(all),
                    Some(&levels(all)),
                    None,
                )?;
            }
            Values::Whole(all) => {
                writer.typed::<Int64Type>().write_batch(&present(all), Some(&levels(all)), None)?;
            }
            Values::Number(all) => {
                writer.typed::<DoubleType>().write_batch(
                    &present(all),
                    Some(&levels(all)),
                    None,
                )?;
            }
        }
        Ok(())
    }
}

fn present<T: Clone>(values: &[Option<T>]) -> Vec<T> {
    values.iter().flatten().cloned().collect()
}

/// Per row whether there is a value, as the format has it.
fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
    values.iter().map(|value| value.is_some() as i16).collect()
}

/// `flows.parquet`, `series.parquet` and `gauges.parquet` of `outcomes`.
pub(crate) fn files(outcomes: &[Outcome]) -> Vec<File> {
    let (series, gauges) = (
        readings(outcomes, |q| q != Quantity::Gauge),
        readings(outcomes, |q| q == Quantity::Gauge),
    );
    vec![
        flows(outcomes).file("flows.parquet"),
        series.file("series.parquet"),
        gauges.file("gauges.parquet"),
    ]
}

/// One row per queue and flow.
fn flows(outcomes: &[Outcome]) -> Table {
    let mut table = Table::default();
    for outcome in outcomes {
        let document = &outcome.document;
        let [scenario, queue] =
            [&document.scenario, &document.label].map(|text| ByteArray::from(text.as_str()));
        for flow in document.flows.iter().flatten() {
            table.text("scenario", "the scenario or capture", Some(scenario.clone()));
            table.text(
                "queue",
                "the result's label, by default the queue's name",
                Some(queue.clone()),
            );
            flow_row(&mut table, flow);
        }
    }
    if table.columns.is_empty() {
        // A file without rows still has its columns.
        let none = || None;
        table.text("scenario", "the scenario or capture", none());
        table.text("queue", "the result's label, by default the queue's name", none());
        flow_row(&mut table, &Flow::default());
        table.columns.iter_mut().for_each(Column::clear);
    }
    table
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

fn flow_row(table: &mut Table, flow: &Flow) {
    let text = |text: &str| Some(ByteArray::from(text));
    table.whole("flow", "", "place among all flows, from 0", Some(flow.index));
    table.text("label", "the flow's name, or the addresses of a capture", text(&flow.label));
    table.text("group", "its group", flow.group.as_deref().and_then(text));
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

/// One row per queue, line of the series of whose quantity `which` says yes, and point of the grid.
fn readings(outcomes: &[Outcome], which: fn(Quantity) -> bool) -> Table {
    let mut table = Table::default();
    for outcome in outcomes {
        let queue = ByteArray::from(outcome.document.label.as_str());
        let series = &outcome.series;
        for line in series.lines.iter().filter(|line| which(line.what)) {
            let [what, name, unit] = [quantity(line.what), &line.name, &line.unit]
                .map(|text| Some(ByteArray::from(text)));
            for (&time, &value) in series.time_s.iter().zip(&line.values) {
                let words = [Some(queue.clone()), what.clone(), name.clone(), unit.clone()];
                reading(&mut table, words, series.seed, Some(time), value);
            }
        }
    }
    if table.columns.is_empty() {
        reading(&mut table, [None, None, None, None], None, None, None);
        table.columns.iter_mut().for_each(Column::clear);
    }
    table
}

fn reading(
    table: &mut Table,
    [queue, what, name, unit]: [Option<ByteArray>; 4],
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
fn quantity(what: Quantity) -> &'static str {
    match what {
        Quantity::Queue => "queue",
        Quantity::Delay => "delay",
        Quantity::Throughput => "throughput",
        Quantity::Loss => "loss",
        Quantity::Gauge => "gauge",
    }
}

impl Column {
    fn clear(&mut self) {
        match &mut self.values {
            Values::Text(all) => all.clear(),
            Values::Whole(all) => all.clear(),
            Values::Number(all) => all.clear(),
        }
    }
}
