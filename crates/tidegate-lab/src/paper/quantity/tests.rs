use tidegate_report::{Document, Figure, Group, Series};

use super::super::cell::Replication;
use super::value::class_jain;
use super::*;

fn group(name: &str, count: u64, bps: f64) -> Group {
    let figure = Figure::exact(bps);
    let fair = Figure::exact(1e6 * count as f64);
    Group {
        name: name.into(),
        count,
        throughput_bps: figure,
        fair_share_bps: fair,
        ..Group::default()
    }
}

fn replication() -> Replication {
    let mut groups = vec![group("tcp", 4, 3e6), group("udp", 1, 2e6)];
    groups[0].goodput_bps = Figure::exact(1e6);
    groups[0].active_goodput_bps = Figure::exact(2e6);
    groups[1].goodput_bps = Figure::exact(1.5e6);
    let document = Document { groups, ..Document::default() };
    let lines = vec![
        Line::new(Shown::Throughput, "udp", "bit/s", [1e6, 2e6, 4e6, 9e6]),
        Line::new(Shown::Gauge, "flows", "", [f64::NAN, 4.0, 6.0, 9.0]),
    ];
    Replication {
        document,
        series: Some(Series { seed: None, time_s: vec![1.0, 2.0, 3.0, 4.0], lines }),
    }
}

fn value(quantity: &str, unit: &str) -> Option<f64> {
    quantity.parse::<Quantity>().unwrap().value(&replication(), unit.parse().unwrap())
}

#[test]
fn rates_in_their_units() {
    assert_eq!(value("throughput udp", "Mbit/s"), Some(2.0));
    assert_eq!(value("throughput total", "Mbit/s"), Some(5.0));
    assert_eq!(value("throughput tcp", "kbit/s each"), Some(750.0));
    assert_eq!(value("throughput tcp", "% of fair share"), Some(75.0));
    assert_eq!(value("throughput udp over tcp", ""), Some(2.0 / 0.75));
    assert_eq!(value("active goodput tcp", "Mbit/s"), Some(2.0), "half of the time");
    assert_eq!(value("active goodput udp", "Mbit/s"), Some(1.5), "all of the time");
    assert_eq!(value("active goodput total", "Mbit/s"), Some(3.5));
    let jain = 3.5f64.powi(2) / (5.0 * (4.0 * 0.25 + 1.5f64.powi(2)));
    assert_eq!(value("class jain active goodput", ""), Some(jain));
    assert_eq!(value("loss tcp", "Mbit/s"), None, "what was not measured is not zero");
    assert_eq!(value("throughput udp 1 s..3 s", "Mbit/s"), Some(3.0));
}

#[test]
fn state_over_time() {
    assert_eq!(value("gauge flows mean", "flows"), Some(19.0 / 3.0));
    assert_eq!(value("gauge flows mean 0 s..3 s", "flows"), Some(5.0));
    assert_eq!(value("gauge flows rmse 5 0 s..3 s", "flows"), Some(1.0));
    assert_eq!(value("gauge nobody mean", "flows"), None);
}

#[test]
fn class_means_weighted_by_count() {
    // Table 2 of the Purge paper, BLACK at 100 flows: its classes' means give its index.
    let groups = [
        group("a", 85, 85.0 * 82.944),
        group("b", 12, 12.0 * 105.472),
        group("c", 3, 3.0 * 112.64),
    ];
    assert!((class_jain(&groups, RateKind::Throughput).unwrap() - 0.9902).abs() < 5e-5);
}

#[test]
fn what_is_no_quantity_says_what_would_be() {
    for (text, why) in [
        ("troughput tcp", "no such quantity"),
        ("gauge flows rmse x", "must be the number that is true"),
        ("jain total 1 s..2 s", "can be of a time"),
        ("throughput udp 3 s..1 s", "rising"),
        ("misclasified(levels 2)", "misclassified"),
        ("", "no such quantity"),
    ] {
        let error = text.parse::<Quantity>().unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn what_is_declared_can_be_asked_for_by_name() {
    let mut replication = replication();
    replication.document.groups[0].loss_synchronization = Figure::exact(0.4);
    replication.document.groups[0].starved_time = Figure::exact(0.25);
    let value = |quantity: &str, unit: &str| {
        let quantity = quantity.parse::<Quantity>().unwrap();
        assert_eq!(quantity.groups().len(), 1);
        quantity.value(&replication, unit.parse().unwrap())
    };
    assert_eq!(value("loss synchronization tcp", ""), Some(0.4));
    assert_eq!(value("starved time tcp", "%"), Some(25.0));
    assert_eq!(value("starved time udp", ""), None, "what was not measured is not zero");
    let error = "starved tim tcp".parse::<Quantity>().unwrap_err();
    assert!(error.contains("starved time"), "{error}");
}
