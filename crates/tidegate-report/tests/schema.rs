//! The documents we write hold against the committed schema, and the schema refuses what is wrong.
mod sample;

use sample::{SHAPES, replayed, simulated};
use serde_json::{Value, json};
use tidegate_report::{Document, Figure, SCHEMA};

fn schema() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    jsonschema::draft202012::meta::validate(&schema).expect("the schema is a schema");
    jsonschema::draft202012::new(&schema).expect("the schema compiles")
}

fn hold(text: &str) {
    let value: Value = serde_json::from_str(text).unwrap();
    let wrong: Vec<String> =
        schema().iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn samples() -> Vec<Document> {
    let mut one_seed = simulated(SHAPES[0], 5);
    one_seed.seeds = vec![7];
    one_seed.flows = None;
    let broken =
        Document { incomplete: Some("the file ends in a header".into()), ..replayed("red", 0.7) };
    let mut by_source = simulated(SHAPES[1], 5);
    by_source.bottleneck.flow_key = Some("source".into());
    by_source.bottleneck.flow_count = Some(2);
    vec![
        Document::default(),
        simulated(SHAPES[3], 20),
        replayed("red", 0.7),
        one_seed,
        broken,
        by_source,
    ]
}

#[test]
fn documents_hold_against_the_schema() {
    for document in samples() {
        hold(&document.to_json());
    }
    hold(&Document::list_to_json(&samples()));
}

#[test]
fn documents_survive_a_round_trip() {
    for document in samples() {
        assert_eq!(Document::read_all(&document.to_json()).unwrap(), [document]);
    }
    assert_eq!(Document::read_all(&Document::list_to_json(&samples())).unwrap(), samples());
}

#[test]
fn added_fields_are_tolerated() {
    let mut value = serde_json::to_value(simulated(SHAPES[0], 2)).unwrap();
    value["power"] = json!("on");
    value["groups"][0]["hue"] = json!(3);
    value["aggregate"]["jain"]["sd"] = json!(0.1);
    hold(&value.to_string());
    assert_eq!(Document::read_all(&value.to_string()).unwrap(), [simulated(SHAPES[0], 2)]);
}

#[test]
fn no_number_is_written_as_null() {
    let mut document = simulated(SHAPES[0], 2);
    document.aggregate.jain = Figure::exact(f64::NAN);
    document.groups[0].loss_ratio = Figure::new(0.5, Some(f64::INFINITY));
    document.wall_s = Some(f64::NAN);
    let value: Value = serde_json::from_str(&document.to_json()).unwrap();
    assert_eq!(value["aggregate"]["jain"], Value::Null);
    assert_eq!(value["groups"][0]["loss_ratio"], json!({"mean": 0.5, "ci95": null}));
    assert_eq!(value["wall_s"], Value::Null);
    hold(&document.to_json());
}

/// One wrong thing at a time; both the schema and the reader must refuse it, except where only the
/// schema can tell.
#[test]
fn wrong_documents_are_refused() {
    let validator = schema();
    let wrong: [(&str, Value); 14] = [
        ("/schema", json!("tidegate.result/2")),
        ("/source", json!("dreamt")),
        ("/scenario", json!(null)),
        ("/queue/params/limit", json!(200)),
        ("/seeds/0", json!(-1)),
        ("/seeds/0", json!(1.5)),
        ("/events", json!("many")),
        ("/aggregate/jain", json!(0.9)),
        ("/aggregate/jain", json!({"mean": 0.9})),
        ("/aggregate/queue_delay_ms", json!(null)),
        ("/aggregate/queue_delay_ms/p99", json!("12 ms")),
        ("/groups/0/count", json!(2.5)),
        ("/groups/0/throughput_bps/ci95", json!(-1.0)),
        ("/flows/0/label", json!(null)),
    ];
    for (place, value) in wrong {
        let mut document = serde_json::to_value(simulated(SHAPES[1], 3)).unwrap();
        assert!(validator.is_valid(&document));
        *document.pointer_mut(place).unwrap() = value.clone();
        assert!(!validator.is_valid(&document), "the schema takes {value} at {place}");
        assert!(
            Document::read_all(&document.to_string()).is_err(),
            "the reader takes {value} at {place}"
        );
    }
    let mut document = serde_json::to_value(simulated(SHAPES[1], 3)).unwrap();
    document["aggregate"]["jain"]["mean"] = json!(1.5);
    assert!(!validator.is_valid(&document), "a ratio above 1");
}

/// Every field of the list must be there, and none that we write may be unknown to the
/// schema.
#[test]
fn the_schema_knows_every_field() {
    let validator = schema();
    let full = serde_json::to_value(simulated(SHAPES[1], 3)).unwrap();
    for name in full
        .as_object()
        .unwrap()
        .keys()
        .filter(|k| !["flows", "links", "bottleneck"].contains(&k.as_str()))
    {
        let mut less = full.clone();
        less.as_object_mut().unwrap().remove(name);
        assert!(!validator.is_valid(&less), "{name} can be left out");
    }
    let mut strict: Value = serde_json::from_str(SCHEMA).unwrap();
    for definition in strict["$defs"].as_object_mut().unwrap().values_mut() {
        close(definition);
    }
    let strict = jsonschema::draft202012::new(&strict).unwrap();
    for value in [full, serde_json::to_value(replayed("red", 0.5)).unwrap()] {
        let unknown: Vec<String> = strict.iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(unknown.is_empty(), "fields that the schema does not describe: {unknown:#?}");
    }
}

/// Makes an object's schema refuse fields it does not name.
fn close(definition: &mut Value) {
    if definition["type"] == "object" && definition["properties"].is_object() {
        definition["additionalProperties"] = json!(false);
        for inner in definition["properties"].as_object_mut().unwrap().values_mut() {
            close(inner);
        }
    }
}
