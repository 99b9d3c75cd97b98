//! The schema's fields of groups and flows are those that the metrics' declaration says, and so is
//! `docs/reference/results.md`, which is made from the schema. `TIDEGATE_BLESS=1` writes it anew.
use std::path::Path;

use tidegate_report::{Flow, Group, Metric};

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
