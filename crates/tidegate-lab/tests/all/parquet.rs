//! The Parquet files, read back with the format's own reader, hold what `result.json` and
//! `series.json` hold.
use crate::jobs;
use std::collections::BTreeMap;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Value, json};
use tidegate_lab::{Job, results, run};

/// The rows of a file, as JSON, and its metadata.
fn rows(dir: &Path, name: &str) -> (Vec<BTreeMap<String, Value>>, BTreeMap<String, String>) {
    let file = SerializedFileReader::new(std::fs::File::open(dir.join(name)).unwrap()).unwrap();
    let notes = file.metadata().file_metadata().key_value_metadata().unwrap();
    let notes =
        notes.iter().map(|kv| (kv.key.clone(), kv.value.clone().unwrap_or_default())).collect();
    let value = |field: &Field| match field {
        Field::Null => Value::Null,
        Field::Str(text) => json!(text),
        Field::Long(n) => json!(n),
        Field::Double(x) => json!(x),
        other => panic!("a column of another kind: {other}"),
    };
    let row = |row: parquet::record::Row| {
        row.get_column_iter().map(|(k, f)| (k.clone(), value(f))).collect()
    };
    (file.get_row_iter(None).unwrap().map(|r| row(r.unwrap())).collect(), notes)
}

/// A directory with the files of a run, and what `result.json` and `series.json` say there. That is
/// not read from their text, since the JSON reader is allowed to miss the last digit of a number.
fn written(queues: &[&str], flows: bool) -> (tempfile::TempDir, Value, Value) {
    let text = r#"
[run]
duration = "3 s"
warmup = "1 s"
seeds = 2
series = "500 ms"
[network]
rate = "2 Mbit/s"
limit = "15 packets"
[[group]]
name = "tcp"
source = "newreno"
count = 3
[[group]]
name = "flood"
source = "cbr"
rate = "1 Mbit/s"
"#;
    let plain = jobs::job(jobs::scenario(text), queues);
    let job = Job { flows, series: true, threads: Some(1), ..plain };
    let outcomes = run(&job, &()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for file in results::files(&job.scenario, &outcomes) {
        std::fs::write(dir.path().join(file.name), file.bytes).unwrap();
    }
    let result = outcomes.iter().map(|o| serde_json::to_value(&o.document).unwrap()).collect();
    let series =
        outcomes.iter().map(|o| json!({ "label": o.document.label, "series": o.series })).collect();
    (dir, result, series)
}

/// Column and place in a flow of `result.json`.
const FIGURES: [(&str, &str); 16] = [
    ("throughput", "/throughput_bps"),
    ("goodput", "/goodput_bps"),
    ("offered", "/offered_bps"),
    ("fair_share", "/fair_share_bps"),
    ("loss_ratio", "/loss_ratio"),
    ("mark_ratio", "/mark_ratio"),
    ("delay_mean", "/delay_ms/mean"),
    ("delay_p50", "/delay_ms/p50"),
    ("delay_p95", "/delay_ms/p95"),
    ("delay_p99", "/delay_ms/p99"),
    ("retransmitted", "/retransmitted_bytes"),
    ("drop_gap_mean", "/drop_gap_ms/mean"),
    ("drop_gap_cov", "/drop_gap_ms/cov"),
    ("rate_cov", "/rate_cov"),
    ("loss_synchronization", "/loss_synchronization"),
    ("starved_time", "/starved_time"),
];

/// The mean over the rows of a group is the document's, and a row is what a run of that seed alone
/// says.
#[test]
fn groups_have_what_each_seed_says() {
    let (dir, result, _) = written(&["red", "sfb"], false);
    let (rows, notes) = rows(dir.path(), "groups.parquet");
    assert_eq!(rows.len(), 2 * 2 * 2, "queues, seeds, groups");
    let mut compared = 0;
    for document in result.as_array().unwrap() {
        for group in document["groups"].as_array().unwrap() {
            let own: Vec<_> = rows
                .iter()
                .filter(|row| row["queue"] == document["label"] && row["group"] == group["name"])
                .collect();
            assert_eq!(own.iter().map(|row| &row["seed"]).collect::<Vec<_>>(), [1, 2]);
            assert!(own.iter().all(|row| row["scenario"] == "s" && row["flows"] == group["count"]));
            let figures = (group.as_object().unwrap().iter().map(|(k, v)| (k.clone(), v))).chain(
                document["aggregate"]
                    .as_object()
                    .unwrap()
                    .iter()
                    .map(|(k, v)| (format!("link_{k}"), v)),
            );
            for (name, figure) in figures {
                let (Some(mean), true) = (figure["mean"].as_f64(), own[0].contains_key(&name))
                else {
                    continue;
                };
                let values: Vec<f64> = own.iter().filter_map(|row| row[&name].as_f64()).collect();
                let found = values.iter().sum::<f64>() / values.len() as f64;
                assert!((found - mean).abs() <= 1e-12 * mean.abs(), "{name}: {values:?} {mean}");
                compared += 1;
            }
        }
    }
    assert!(compared > 60, "{compared}");
    let told: Vec<Value> = serde_json::from_str(&notes["tidegate.columns"]).unwrap();
    assert_eq!(told.len(), rows[0].len());
    let share = told.iter().find(|column| column["name"] == "share").unwrap();
    assert!(share["what"].as_str().unwrap().contains("fair share"));
}

#[test]
fn flows_are_those_of_the_result() {
    let (dir, result, _) = written(&["red", "sfb"], true);
    let (rows, notes) = rows(dir.path(), "flows.parquet");
    let flows: Vec<(&Value, &Value)> = result
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|d| d["flows"].as_array().unwrap().iter().map(move |f| (d, f)))
        .collect();
    assert_eq!((rows.len(), flows.len()), (8, 8));
    for (row, (document, flow)) in rows.iter().zip(flows) {
        assert_eq!((&row["scenario"], &row["queue"]), (&document["scenario"], &document["label"]));
        assert_eq!(
            (&row["flow"], &row["label"], &row["group"]),
            (&flow["index"], &flow["label"], &flow["group"])
        );
        for (column, place) in FIGURES {
            // The newer ones are left out where they do not apply.
            let newer = ["/loss_synchronization", "/starved_time"].contains(&place);
            let none = newer.then_some(&Value::Null);
            let figure = flow.pointer(place).or(none).unwrap_or_else(|| panic!("{place}"));
            assert_eq!(row[column], figure["mean"], "{column}");
            assert_eq!(row[&format!("{column}_ci95")], figure["ci95"], "{column}");
        }
        for (unit, fate) in ["packets", "bytes"]
            .into_iter()
            .flat_map(|u| ["offered", "delivered", "dropped", "marked"].map(|f| (u, f)))
        {
            assert_eq!(row[&format!("{unit}_{fate}")], flow[unit][fate], "{unit} {fate}");
        }
    }
    // The metadata tell of every column, and of no other.
    let told: Vec<Value> = serde_json::from_str(&notes["tidegate.columns"]).unwrap();
    let mut names: Vec<&str> = told.iter().map(|c| c["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, rows[0].keys().map(String::as_str).collect::<Vec<_>>());
    assert!(told.iter().any(|c| c["name"] == "throughput" && c["unit"] == "bit/s"));
}

#[test]
fn readings_are_those_of_the_series() {
    let (dir, _, series) = written(&["red", "blue"], false);
    let mut wanted = (vec![], vec![]);
    for result in series.as_array().unwrap() {
        let times = result["series"]["time_s"].as_array().unwrap();
        for line in result["series"]["lines"].as_array().unwrap() {
            let to = if line["what"] == "gauge" { &mut wanted.1 } else { &mut wanted.0 };
            for (time, value) in times.iter().zip(line["values"].as_array().unwrap()) {
                let row = [
                    ("queue", &result["label"]),
                    ("seed", &result["series"]["seed"]),
                    ("time", time),
                    ("quantity", &line["what"]),
                    ("name", &line["name"]),
                    ("unit", &line["unit"]),
                    ("value", value),
                ];
                to.push(BTreeMap::from(row.map(|(key, value)| (key.to_string(), value.clone()))));
            }
        }
    }
    assert!(
        wanted.0.len() >= 2 * 6 * 7 && wanted.1.len() >= 2 * 6,
        "{} {}",
        wanted.0.len(),
        wanted.1.len()
    );
    assert_eq!(rows(dir.path(), "series.parquet").0, wanted.0);
    assert_eq!(rows(dir.path(), "gauges.parquet").0, wanted.1);
}

#[test]
fn nothing_to_tell_is_a_file_without_rows() {
    let (dir, ..) = written(&["drop_tail"], false);
    for name in ["flows.parquet", "gauges.parquet"] {
        let file =
            SerializedFileReader::new(std::fs::File::open(dir.path().join(name)).unwrap()).unwrap();
        assert_eq!(file.metadata().file_metadata().num_rows(), 0, "{name}");
        assert!(
            file.metadata().file_metadata().schema().get_fields().len() >= 7,
            "{name} has its columns"
        );
        assert_eq!(rows(dir.path(), name).0.len(), 0);
    }
}
