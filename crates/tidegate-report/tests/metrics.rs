//! The schema's fields of groups and flows are those that the metrics' declaration says, and so is
//! `docs/reference/results.md`, which is made from the schema. `TIDEGATE_BLESS=1` writes it anew.
use std::collections::BTreeSet;
use std::path::Path;

use tidegate_report::{
    Aggregate, AggregateSample, Counts, Figure, Flow, FlowSample, Group, GroupSample, Metric, Pool,
};

const SCHEMA: &str = "schema/tidegate.result-1.json";

/// A metric's field, as the schema's text has it.
fn field(metric: &Metric) -> String {
    let what = serde_json::to_string(metric.what).unwrap();
    format!(
        "        \"{}\": {{\n          \"$ref\": \"#/$defs/{}\",\n          \"description\": \
         {what}\n        }}",
        metric.name, metric.shape
    )
}

/// `schema` with every metric of the definition `name`: one that is there already keeps its place.
fn with_fields(schema: &str, name: &str, metrics: &[Metric]) -> String {
    let begin = schema.find(&format!("\n    \"{name}\": {{")).expect("the definition");
    let end = begin + schema[begin..].find("\n    }").expect("its end");
    let mut own = schema[begin..end].to_string();
    for metric in metrics {
        let field = field(metric);
        let key = format!("        \"{}\": {{", metric.name);
        if let Some(at) = own.find(&key) {
            let length = own[at..].find("\n        }").expect("a field ends") + 10;
            own.replace_range(at..at + length, &field);
        } else {
            let last = own.rfind("\n        }").expect("there are fields") + 10;
            own.insert_str(last, &format!(",\n{field}"));
        }
    }
    format!("{}{own}{}", &schema[..begin], &schema[end..])
}

#[track_caller]
fn same(file: &str, want: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        std::fs::write(&path, want).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == want, "{file} is not what the metrics' declaration says: TIDEGATE_BLESS=1");
}

#[test]
fn the_schema_is_that_of_the_declaration() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(SCHEMA);
    let schema = std::fs::read_to_string(path).unwrap();
    let schema = with_fields(&schema, "group", Group::METRICS);
    same(SCHEMA, &with_fields(&schema, "flow", Flow::METRICS));
}

#[test]
fn what_is_declared_has_a_shape_and_says_what_it_is() {
    let schema: serde_json::Value = serde_json::from_str(tidegate_report::SCHEMA).unwrap();
    for metric in Group::METRICS.iter().chain(Flow::METRICS) {
        assert!(schema["$defs"][metric.shape].is_object(), "{}: {}", metric.name, metric.shape);
        assert!(!metric.what.is_empty() && !metric.what.ends_with('.'), "{}", metric.name);
    }
}

const TABLES: [(&str, &[Metric]); 3] =
    [("aggregate", Aggregate::METRICS), ("group", Group::METRICS), ("flow", Flow::METRICS)];

/// The units that a reader of tables knows how to write.
const UNITS: [&str; 9] =
    ["", "bit/s", "kbit/s", "ms", "s", "bytes", "packets", "transfers", "users"];

#[test]
fn every_unit_is_known_and_fits_the_shape() {
    for (table, metric) in TABLES.iter().flat_map(|(name, all)| all.iter().map(move |m| (name, m)))
    {
        let name = metric.name;
        assert!(UNITS.contains(&metric.unit), "{table}.{name}: {}", metric.unit);
        let suffix = match metric.unit {
            "bit/s" if metric.shape != "per_flow" => "_bps",
            "kbit/s" => "_kbps",
            "ms" => "_ms",
            "s" => "_s",
            _ => "",
        };
        assert!(name.ends_with(suffix), "{table}.{name} is in {}", metric.unit);
        match metric.shape {
            "rate" => assert_eq!(metric.unit, "bit/s", "{table}.{name}"),
            "ratio" => assert_eq!(metric.unit, "", "{table}.{name}"),
            "delay" | "gaps" => assert_eq!(metric.unit, "ms", "{table}.{name}"),
            _ => {}
        }
        if name.ends_with("_ratio") {
            assert_eq!((metric.shape, metric.pool), ("ratio", Pool::Rare), "{table}.{name}");
        }
        if metric.shape == "counts" {
            assert_eq!(metric.pool, Pool::Sum, "{table}.{name}");
        }
    }
}

#[test]
fn the_parts_of_a_shape_are_the_fields_of_its_schema() {
    let schema: serde_json::Value = serde_json::from_str(tidegate_report::SCHEMA).unwrap();
    for metric in TABLES.iter().flat_map(|(_, all)| *all) {
        if metric.single {
            assert_eq!(metric.parts, [""], "{}", metric.name);
            continue;
        }
        let shape = &schema["$defs"][metric.shape];
        let mut places = vec![shape];
        places.extend(shape["anyOf"].as_array().into_iter().flatten());
        places.extend(shape["oneOf"].as_array().into_iter().flatten());
        let fields = places.into_iter().find_map(|place| place["properties"].as_object());
        let fields: BTreeSet<&str> =
            fields.expect(metric.shape).keys().map(String::as_str).collect();
        let parts: BTreeSet<&str> = metric.parts.iter().copied().collect();
        assert_eq!(parts, fields, "{} is of {}", metric.name, metric.shape);
    }
}

/// A table has a column for each value of a replication; no two have one name.
#[test]
fn columns_have_names_of_their_own() {
    for (table, metrics) in TABLES {
        let columns: Vec<String> = metrics.iter().flat_map(Metric::columns).collect();
        let once: BTreeSet<&String> = columns.iter().collect();
        assert_eq!(once.len(), columns.len(), "{table}");
        let letters = |name: &String| {
            name.chars().all(|c| c.is_ascii_lowercase() || "_0123456789".contains(c))
        };
        assert!(columns.iter().all(letters), "{columns:?}");
    }
    let delay = Group::METRICS.iter().find(|metric| metric.name == "delay_ms").unwrap();
    let names: Vec<String> = delay.columns().collect();
    assert_eq!(names, ["mean", "sd", "p50", "p95", "p99"].map(|part| format!("delay_ms_{part}")));
}

/// A metric is described in the words of its unit, so that a page that is made of them says it.
#[test]
fn what_counts_bits_says_so() {
    for metric in Group::METRICS.iter().chain(Flow::METRICS).chain(Aggregate::METRICS) {
        assert!(metric.what.chars().count() > 10, "{}: {}", metric.name, metric.what);
        assert!(!metric.what.contains("  "), "{}: {}", metric.name, metric.what);
        let rate = metric.shape == "rate" && !metric.name.starts_with("active");
        assert!(!rate || metric.what.contains("bit/s"), "{}: {}", metric.name, metric.what);
    }
}

/// Three replications of a group, all values different.
fn samples() -> [GroupSample; 3] {
    [1.0, 2.0, 4.0].map(|seed| {
        let some = |value: f64| Some(value * seed);
        let five = |value: f64| [0.0, 0.1, 0.2, 0.3, 0.4].map(|part| some(value + part));
        let count = seed as u64;
        GroupSample {
            throughput_bps: some(100.0),
            goodput_bps: some(90.0),
            loss_ratio: some(0.01),
            loss_bps: some(3.0),
            per_flow: [some(5.0), some(4.0), some(6.0)],
            jain: some(0.2),
            fair_share_bps: some(50.0),
            delay_ms: five(7.0),
            one_way_ms: five(17.0),
            drop_gap_ms: [some(8.0), some(0.9)],
            rate_cov: [some(0.31), None],
            completions: (seed > 1.0).then_some(seed),
            starved: some(1.5),
            worst_share: some(0.11),
            packets: Counts { offered: 100 * count, delivered: 90 * count, dropped: 9, marked: 1 },
            ..GroupSample::default()
        }
    })
}

/// What a column of replications has together is the document's figure in the same place, by the
/// metric's own way.
#[test]
fn the_figures_of_a_document_are_those_of_its_columns() {
    let samples = samples();
    let columns: Vec<(String, Pool)> = Group::METRICS
        .iter()
        .flat_map(|metric| metric.columns().map(move |name| (name, metric.pool)))
        .collect();
    let values: Vec<Vec<Option<f64>>> =
        samples.iter().map(|sample| sample.values().collect()).collect();
    assert!(values.iter().all(|row| row.len() == columns.len()));
    let group = Group::pooled(samples.iter());
    let figures: Vec<Option<Figure>> = group.figures().collect();
    assert_eq!(figures.len(), columns.len());
    for (at, (name, pool)) in columns.iter().enumerate() {
        let column = values.iter().map(|row| row[at]);
        let wanted = match pool {
            Pool::Sum => Figure::exact(column.flatten().sum()),
            _ => pool.figure(column),
        };
        assert_eq!(figures[at], wanted, "{name}");
    }
    let known = |name: &str| columns.iter().position(|(known, _)| known == name).unwrap();
    assert_eq!(figures[known("throughput_bps")].map(|f| f.mean()), Some(700.0 / 3.0));
    assert_eq!(figures[known("per_flow_max")].map(|f| f.mean()), Some(14.0));
    assert_eq!(figures[known("completions")].map(|f| f.mean()), Some(3.0), "of two of three");
    assert_eq!(figures[known("packets_dropped")], Figure::exact(27.0));
    assert_eq!(figures[known("rate_cov_sd")], None);
}

#[test]
fn a_metric_is_found_by_its_name_if_it_is_one_figure() {
    let group = Group::pooled(samples().iter());
    for metric in Group::METRICS {
        let mut columns = Group::METRICS.iter().flat_map(|m| m.columns().map(move |c| (m.name, c)));
        let at = columns.position(|(name, _)| name == metric.name).unwrap();
        let first = group.figures().nth(at).flatten();
        let found = group.figure(metric.name);
        assert_eq!(found, first.filter(|_| metric.single), "{}", metric.name);
    }
    assert_eq!(group.figure("name"), None);
    assert_eq!(group.figure("delay_ms_mean"), None, "a part is no metric");
}

#[test]
fn without_replications_nothing_is_known() {
    assert!(Aggregate::pooled([].iter()).figures().flatten().all(|figure| figure.mean() == 0.0));
    let lone =
        Flow::pooled([FlowSample { throughput_bps: Some(2.0), ..FlowSample::default() }].iter());
    assert_eq!(lone.throughput_bps, Figure::exact(2.0), "of one replication there is no interval");
    assert_eq!(lone.packets, Some(Counts::default()), "packets are counted, even none");
    let both =
        [0.0, 1.0].map(|jain| AggregateSample { jain: Some(jain), ..AggregateSample::default() });
    assert_eq!(Aggregate::pooled(both.iter()).jain, Figure::exact(0.5), "it reaches both ends");
}

#[test]
fn what_a_group_received_is_its_conducts() {
    use tidegate_report::Conduct;
    let mut group = Group::pooled(samples().iter());
    assert_eq!(group.received(), group.throughput_bps, "of unknown conduct");
    group.conduct = Some(Conduct::Responsive);
    assert_eq!(group.received(), group.goodput_bps);
    assert_eq!(group.wasteful().map(|ratio| (ratio * 100.0).round()), Some(90.0));
    group.goodput_bps = None;
    assert_eq!((group.received(), group.wasteful()), (group.throughput_bps, None));
    group.count = 12;
    assert_eq!(group.users(), 12);
    group.user_count = Some(3);
    assert_eq!(group.users(), 3);
}
