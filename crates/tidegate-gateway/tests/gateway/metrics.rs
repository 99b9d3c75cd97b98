//! `/metrics`: the page against OpenMetrics' rules, its figures against the snapshot, and that it
//! never goes back.

use std::collections::{BTreeMap, BTreeSet};

use crate::openmetrics::{self, Family, read};
use tidegate::{Link, Qdisc, Rng, catalog};
use tidegate_gateway::watch::metrics::{FAMILIES, Pages};
use tidegate_gateway::watch::snapshot::{GaugeReading, Snapshot};

fn snapshot() -> Snapshot {
    serde_json::from_str(include_str!("../data/snapshot.json")).unwrap()
}

fn page(snapshot: &Snapshot) -> BTreeMap<String, Family> {
    read(&Pages::default().page(snapshot.clone()))
}

#[test]
fn every_family_is_on_the_page_as_it_is_described() {
    let page = page(&snapshot());
    let names: BTreeSet<String> = FAMILIES.iter().map(|family| family.name()).collect();
    assert_eq!(page.keys().cloned().collect::<BTreeSet<_>>(), names);
    assert_eq!(names.len(), FAMILIES.len(), "no name twice");
    for family in FAMILIES {
        let read = &page[&family.name()];
        assert_eq!((read.kind.as_str(), read.unit.as_str()), (family.kind.name(), family.unit));
        assert_eq!(read.help, family.help);
        let expected: BTreeSet<&str> = family.labels.iter().copied().collect();
        for sample in &read.samples {
            let mut labels: BTreeSet<&str> = sample.labels.keys().map(String::as_str).collect();
            labels.remove("le");
            assert_eq!(labels, expected, "{sample:?}");
        }
    }
}

#[test]
fn figures_are_those_of_the_snapshot_in_base_units() {
    let text = Pages::default().page(snapshot());
    for line in [
        "# HELP tidegate_lost_frames Frames not sent on, by reason: the queue's or the gateway's.",
        "# TYPE tidegate_lost_frames counter",
        "# UNIT tidegate_lost_frames frames",
        "tidegate_build_info{version=\"0.1.0\"} 1",
        "tidegate_uptime_seconds 11523.0",
        "tidegate_resident_memory_bytes 9123456.0",
        "tidegate_reloads_total{outcome=\"refused\"} 1",
        "tidegate_file_refused 0.0",
        "tidegate_link_running{link=\"lab\"} 0.0",
        "tidegate_received_frames_total{link=\"west\",direction=\"managed\"} 90000000",
        "tidegate_lost_frames_total{link=\"west\",direction=\"managed\",reason=\"penalty\"} \
         60000000",
        "tidegate_lost_bytes_total{link=\"west\",direction=\"reverse\",reason=\"unsent\"} 10000",
        "tidegate_marked_frames_total{link=\"west\",direction=\"managed\",reason=\"forced\"} 7",
        "tidegate_link_rate_bytes_per_second{link=\"west\",direction=\"managed\"} 12500000.0",
        "tidegate_queue_limit_bytes{link=\"west\",direction=\"managed\"} 1250000.0",
        "tidegate_queue_limit_packets{link=\"lab\",direction=\"reverse\"} 8000.0",
        "tidegate_queue_delay_seconds_count{link=\"west\",direction=\"managed\"} 29000000",
        "tidegate_queue_delay_seconds_bucket{le=\"0.001\",link=\"west\",direction=\"managed\"} \
         8700000",
        "tidegate_queue_delay_seconds_bucket{le=\"+Inf\",link=\"west\",direction=\"managed\"} \
         29000000",
        "tidegate_queue_state{link=\"west\",direction=\"managed\",gauge=\"p_max\"} 0.84",
        "tidegate_queue_state_bytes_per_second{link=\"west\",direction=\"managed\",gauge=\"price\"} 1000000.0",
        "tidegate_class_lost_frames_total{link=\"west\",direction=\"managed\",class=\"(rest)\"} \
         60998905",
        "tidegate_offenders_flows{link=\"west\",direction=\"managed\"} 2.0",
        "tidegate_offences_total{link=\"west\",direction=\"managed\"} 17",
        "tidegate_fair_rate_bytes_per_second{link=\"west\",direction=\"managed\"} 1390000.0",
    ] {
        assert!(text.lines().any(|said| said == line), "{line}\nis missing in\n{text}");
    }
}

#[test]
fn no_flow_is_named_and_what_is_not_known_is_left_out() {
    let snapshot = snapshot();
    let text = Pages::default().page(snapshot.clone());
    let flows = &snapshot.links[0].managed.queue.as_ref().unwrap().flows;
    assert!(
        flows.top.iter().all(|flow| !text.contains(&flow.flow)) && !text.contains("192.0.2."),
        "{text}"
    );
    let page = read(&text);
    assert!(
        page["tidegate_queue_state"].samples.iter().all(|sample| sample.labels["gauge"] != "odd")
    );
    assert_eq!(
        page["tidegate_fair_rate_bytes_per_second"].samples.len(),
        1,
        "lab is not congested"
    );
    let unmanaged = |sample: &&openmetrics::Sample| {
        sample.labels["link"] == "west" && sample.labels["direction"] == "reverse"
    };
    assert_eq!(page["tidegate_queue_delay_seconds"].samples.iter().filter(unmanaged).count(), 0);
    assert_eq!(page["tidegate_sent_bytes"].samples.iter().filter(unmanaged).count(), 1);
}

#[test]
fn names_of_any_letters_can_be_read_again() {
    let mut snapshot = snapshot();
    let name = "we\"st\\\n}, {été\" 1";
    snapshot.links[0].name = name.into();
    let page = page(&snapshot);
    assert!(
        page["tidegate_link_running"].samples.iter().any(|sample| sample.labels["link"] == name)
    );
}

#[test]
fn without_links_there_is_a_page_all_the_same() {
    let page = page(&Snapshot { links: vec![], ..snapshot() });
    assert!(
        page.contains_key("tidegate_uptime_seconds") && !page.contains_key("tidegate_sent_frames"),
        "{page:?}"
    );
}

/// Every figure that is to go up only, by name and labels.
fn counters(page: &BTreeMap<String, Family>) -> BTreeMap<String, f64> {
    let up =
        page.values().filter(|family| ["counter", "histogram"].contains(&family.kind.as_str()));
    up.flat_map(|family| &family.samples)
        .map(|s| (format!("{} {:?}", s.name, s.labels), s.value))
        .collect()
}

#[test]
fn counters_do_not_go_back_even_if_frames_were_not_sent_after_all() {
    let pages = Pages::default();
    let page = |snapshot: &Snapshot| read(&pages.page(snapshot.clone()));
    let sent = |page: &BTreeMap<String, Family>| page["tidegate_sent_frames"].samples[0].value;
    let mut now = snapshot();
    let mut before = counters(&page(&now));
    for (more, back, expected) in [
        (100, 0, 29_000_100.0),
        (0, 40, 29_000_100.0),
        (30, 0, 29_000_100.0),
        (20, 0, 29_000_110.0),
    ] {
        let managed = &mut now.links[0].managed;
        managed.received.frames += more;
        managed.sent.frames = managed.sent.frames + more - back;
        managed.sent.bytes = managed.sent.frames * 1000;
        managed.lost.get_mut("unsent").unwrap().frames += back;
        let page = page(&now);
        assert_eq!(sent(&page), expected);
        let after = counters(&page);
        assert!(before.keys().eq(after.keys()));
        for (name, value) in &after {
            assert!(*value >= before[name], "{name} went back from {} to {value}", before[name]);
        }
        before = after;
    }
}

#[test]
fn every_gauge_of_every_queue_has_a_family_for_its_unit() {
    let link = Link::new(
        "10 Mbit/s".parse().unwrap(),
        "100 packets".parse().unwrap(),
        "1000 B".parse().unwrap(),
    )
    .unwrap();
    for row in catalog::QUEUES {
        let queue =
            catalog::config(row.name, None, &link).unwrap().build(link, Rng::from_seed(1)).unwrap();
        let mut readings = Vec::new();
        queue.probe(&mut |gauge| {
            readings.push(GaugeReading {
                name: gauge.name.into(),
                unit: gauge.unit.into(),
                value: Some(1.0),
            });
        });
        let mut snapshot = snapshot();
        snapshot.links[0].managed.queue.as_mut().unwrap().gauges = readings.clone();
        snapshot.links[1].managed.queue.as_mut().unwrap().gauges.clear();
        snapshot.links[1].reverse.queue.as_mut().unwrap().gauges.clear();
        let page = page(&snapshot);
        let state = page.iter().filter(|(name, _)| name.starts_with("tidegate_queue_state"));
        let mut shown: Vec<&str> =
            state.flat_map(|(_, family)| &family.samples).map(|s| &*s.labels["gauge"]).collect();
        shown.sort_unstable();
        let mut expected: Vec<&str> =
            readings.iter().map(|reading| reading.name.as_str()).collect();
        expected.sort_unstable();
        assert_eq!(shown, expected, "{}", row.name);
    }
}

/// The list of families as a table, as docs/reference/metrics.md has it.
fn table() -> String {
    let mut table = String::from("| metric | kind | labels | what it tells |\n|---|---|---|---|\n");
    for family in FAMILIES {
        let names: Vec<String> =
            family.kind.endings().iter().map(|end| format!("`{}{end}`", family.name())).collect();
        let labels: Vec<String> = family.labels.iter().map(|label| format!("`{label}`")).collect();
        table += &format!(
            "| {} | {} | {} | {} |\n",
            names.join(", "),
            family.kind.name(),
            labels.join(", "),
            family.help
        );
    }
    table
}

#[test]
fn the_page_for_operators_lists_every_metric() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/metrics.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once("<!-- metrics: ").unwrap();
    let (head, rest) = rest.split_once('\n').unwrap();
    let (_, after) = rest.split_once("<!-- end of metrics -->").unwrap();
    let expected =
        format!("{before}<!-- metrics: {head}\n{}<!-- end of metrics -->{after}", table());
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        return std::fs::write(path, expected).unwrap();
    }
    assert_eq!(
        page, expected,
        "TIDEGATE_BLESS=1 cargo test -p tidegate-gateway --test gateway metrics mends it"
    );
}
