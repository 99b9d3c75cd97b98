//! The common battery: what must hold for every queue of the catalog, with every preset, on every
//! link.
use std::collections::BTreeSet;

use crate::support;
use crate::support::checked::{Checked, Tally};
use crate::support::workload::Workload;
use crate::support::{base_seed, bless, every_preset, gauges, links, reference_link};
use tidegate::catalog::{self, AnyConfig, Row};
use tidegate::config::{Param, readable};
use tidegate::{Link, NullSink, Packet, Qdisc, Rng, Size, Time};

/// A queue under watch, after the mixed workload.
fn run(config: &AnyConfig, link: Link, seed: u64, packets: u64) -> Checked<catalog::AnyQueue> {
    let queue = config.build(link, Rng::from_seed(seed)).unwrap();
    let mut queue = Checked::of(config, queue, link);
    Workload::mixed(packets).run(&mut queue, &link, &mut Rng::from_seed(!seed), &mut NullSink);
    queue
}

/// The checker asserts conservation, each fate told once, backlog(), the hard limit, order within a
/// flow, marks.
#[test]
fn every_packet_has_one_fate() {
    for link in links() {
        for (row, preset, config) in every_preset(&link) {
            let queue = run(&config, link, base_seed().get(), 3_000);
            let tally = queue.tally();
            let what = format!("{}/{preset} on {link:?}: {tally:?}", row.name);
            assert_eq!(tally.offered, 21_000, "{what}");
            assert!(
                tally.dequeued > 1_000 && tally.all_dropped() > 1_000,
                "both ways out were taken: {what}"
            );
        }
    }
}

/// Parameters of `auto` that are a packet or a frame: of 1500 bytes, or where packets are longer of
/// the link's mean one.
#[test]
fn auto_knows_long_packets() {
    const PACKET: [&str; 2] = ["1.5 kB", "9 kB"];
    const FRAME: [&str; 2] = ["1.514 kB", "9.014 kB"];
    let rows = [
        ("codel", "mtu", PACKET),
        ("cobalt", "mtu", PACKET),
        ("fq_codel", "mtu", PACKET),
        ("fq_codel", "quantum", FRAME),
        ("fq_pie", "quantum", FRAME),
        ("hhf", "quantum", FRAME),
        ("cake", "mtu", FRAME),
        ("cake", "quantum", FRAME),
    ];
    for (queue, param, values) in rows {
        for (mean, value) in ["1000 B", "9000 B"].into_iter().zip(values) {
            let link = support::link("100 Mbit/s", "1000 packets", mean);
            let config = support::config(queue, Some("auto"), &[], &link);
            assert_eq!(config.get(param).as_deref(), Some(value), "{queue}, {param}, {mean}");
        }
    }
}

/// A queue that is asked until it is empty gives everything back.
#[test]
fn everything_held_comes_out() {
    for (row, preset, config) in every_preset(&reference_link()) {
        let mut queue = run(&config, reference_link(), 7, 500);
        let mut now = tidegate::Time::from_nanos(u64::MAX / 2);
        for _ in 0..queue.backlog().packets {
            while queue.dequeue(now, &mut NullSink).is_none() && queue.backlog().packets > 0 {
                now = queue.wake_at().expect("the checker has asked this");
            }
        }
        assert_eq!(queue.backlog(), tidegate::Backlog::default(), "{}/{preset}", row.name);
        assert!(queue.dequeue(now, &mut NullSink).is_none());
    }
}

#[test]
fn same_seed_same_trace() {
    for link in links() {
        for (row, preset, config) in every_preset(&link) {
            let outcome = |seed| {
                let queue = run(&config, link, seed, 1_000);
                let bits: Vec<u64> = gauges(&queue).iter().map(|g| g.value.to_bits()).collect();
                (queue.trace(), queue.tally().clone(), bits)
            };
            assert_eq!(outcome(3), outcome(3), "{}/{preset} on {link:?}", row.name);
            let traces: BTreeSet<u64> = (3..6).map(|seed| outcome(seed).0).collect();
            assert_eq!(traces.len(), 3, "{}/{preset}: another workload, another trace", row.name);
        }
    }
}

#[test]
fn gauges_are_finite_and_distinct() {
    for link in links() {
        for (row, preset, config) in every_preset(&link) {
            let fresh = config.build(link, Rng::from_seed(1)).unwrap();
            let used = run(&config, link, 1, 1_000);
            let names = |all: &[tidegate::Gauge]| all.iter().map(|g| g.name).collect::<Vec<_>>();
            let (before, after) = (gauges(&fresh), gauges(&used));
            assert_eq!(names(&before), names(&after), "{}/{preset}: gauges come and go", row.name);
            assert_eq!(
                names(&after).iter().collect::<BTreeSet<_>>().len(),
                after.len(),
                "{}: twice a name",
                row.name
            );
            for gauge in before.iter().chain(&after) {
                assert!(gauge.value.is_finite(), "{}/{preset}: {gauge:?}", row.name);
            }
        }
    }
}

/// Texts for the ends of a parameter's range; every word of a choice.
fn extremes(param: &Param) -> Vec<String> {
    if let Some(kind) = param.kind.strip_suffix(" by class") {
        let each = extremes(&Param { kind, ..*param });
        return [each.clone(), vec![each.join(":")]].concat();
    }
    let unit = match param.kind {
        "number" | "probability" | "whole number" => &[""][..],
        "time" => &["ns"],
        "bytes" => &["B"],
        "rate" => &["bit/s"],
        "queue length" => &["packets", "B"],
        words => return words.split(" | ").map(str::to_string).collect(),
    };
    let (least, most) = param.bounds;
    unit.iter().flat_map(|unit| [format!("{least} {unit}"), format!("{most} {unit}")]).collect()
}

/// Builds and, if the queue says that this can be, runs it under watch. Returns whether it could
/// be.
fn try_out(row: &Row, config: &AnyConfig, link: Link) -> bool {
    // What an operator would refuse for its memory is not built here either.
    if config.state_bytes(&link) > 1 << 26 {
        return false;
    }
    match config.build(link, Rng::from_seed(1)) {
        Ok(queue) => {
            let mut queue = Checked::of(config, queue, link);
            Workload::mixed(100).run(&mut queue, &link, &mut Rng::from_seed(2), &mut NullSink);
            assert!(gauges(&queue).iter().all(|g| g.value.is_finite()), "{}: {config:?}", row.name);
            true
        }
        Err(error) => {
            assert!(!error.field.is_empty() && !error.why.is_empty(), "{}: {error}", row.name);
            false
        }
    }
}

#[test]
fn every_parameter_at_its_bounds() {
    for link in [reference_link(), links()[3]] {
        for (row, _, config) in every_preset(&link) {
            for param in row.params {
                for text in extremes(param) {
                    let mut config = config.clone();
                    config.set(param.name, &text).unwrap_or_else(|e| panic!("{}: {e}", row.name));
                    try_out(row, &config, link);
                }
            }
        }
    }
}

/// Bounds in combination: each parameter at one end, at the other, or as the preset has it.
#[test]
fn parameters_at_their_bounds_together() {
    let mut dice = support::stats::dice("parameters at their bounds", 0);
    for (row, _, config) in every_preset(&reference_link()) {
        if row.params.is_empty() {
            continue;
        }
        let mut built = 0;
        for _ in 0..60 {
            let mut config = config.clone();
            for param in row.params {
                let texts = extremes(param);
                if let Some(text) = texts.get(dice.below(2 * texts.len() as u64) as usize) {
                    config.set(param.name, text).unwrap();
                }
            }
            built += u64::from(try_out(row, &config, reference_link()));
        }
        assert!(built > 0, "{}: no combination could be built", row.name);
    }
}

/// A century in which nothing happens is caught up at once, however short a queue's periods: by
/// every call that may come first.
#[test]
fn a_century_of_silence_takes_no_time() {
    let (link, century) = (reference_link(), Time::from_nanos(100 * 365 * 86_400 * 1_000_000_000));
    for (row, preset, mut config) in every_preset(&link) {
        for param in row.params.iter().filter(|param| param.kind == "time") {
            let mut shortest = config.clone();
            shortest.set(param.name, &extremes(param)[0]).unwrap();
            if shortest.build(link, Rng::from_seed(1)).is_ok() {
                config = shortest;
            }
        }
        for first in 0..3 {
            let mut queue =
                Checked::of(&config, config.build(link, Rng::from_seed(1)).unwrap(), link);
            for slot in 0..50 {
                queue.enqueue(
                    Time::ZERO,
                    Packet::new(slot as u64 % 7, 1000).with_slot(slot),
                    &mut NullSink,
                );
            }
            match first {
                0 => queue.advance(century),
                1 => drop(queue.dequeue(century, &mut NullSink)),
                _ => queue.enqueue(century, Packet::new(1, 1000).with_slot(50), &mut NullSink),
            }
            assert!(
                gauges(&queue).iter().all(|gauge| gauge.value.is_finite()),
                "{}/{preset}",
                row.name
            );
        }
    }
}

/// A value just outside its range is refused by name, with the range, and changes nothing.
#[test]
fn values_out_of_bounds_are_refused() {
    for (row, _, config) in every_preset(&reference_link()) {
        for param in row.params {
            let mut tried = config.clone();
            let error = tried.set(param.name, "1e18 parsec").unwrap_err();
            assert_eq!(error.field, param.name);
            let beyond = format!("{}", param.bounds.1 * 1.5 + 1.0);
            for unit in ["", " ns", " B", " bit/s", " packets"] {
                let error = tried.set(param.name, &format!("{beyond}{unit}")).unwrap_err();
                assert!(!error.why.is_empty());
            }
            assert_eq!(tried, config, "{}.{}: changed by an error", row.name, param.name);
        }
        let error = config.clone().set("no_such_thing", "1").unwrap_err();
        assert!(error.why.contains("no such parameter"), "{error}");
    }
}

/// Text in, text out: each preset's values are within their bounds and read back to the same
/// config.
#[test]
fn presets_write_what_they_read() {
    for link in links() {
        for (row, preset, config) in every_preset(&link) {
            let mut copy = catalog::config(row.name, None, &link).unwrap();
            for (param, text) in config.values() {
                copy.set(param.name, &text)
                    .unwrap_or_else(|e| panic!("{}/{preset} on {link:?}: {e}", row.name));
            }
            assert_eq!(copy, config, "{}/{preset}", row.name);
        }
    }
}

/// Every queue has its presets, its description and a manual page with the parts that a reader
/// needs.
#[test]
fn every_queue_is_described() {
    for row in catalog::QUEUES {
        let presets: Vec<&str> = (row.presets)().iter().map(|p| p.0).collect();
        assert!(
            presets.contains(&"paper") && presets.contains(&"auto"),
            "{}: {presets:?}",
            row.name
        );
        assert!(!row.info.title.is_empty() && !row.info.title.ends_with('.'), "{}", row.name);
        for part in ["**Paper.**", "**Cost.**", "```\nuse tidegate"] {
            assert!(row.info.manual.contains(part), "{}.md lacks {part}", row.name);
        }
        let first = row.info.manual.lines().next().unwrap_or_default();
        assert!(first.ends_with('.'), "{}.md begins with a sentence: {first}", row.name);
    }
}

/// The parameter table of a manual page, from the catalog, and how each preset differs from the
/// first.
fn table(row: &Row) -> String {
    let config = |preset| catalog::config(row.name, Some(preset), &reference_link()).unwrap();
    let (first, _) = (row.presets)()[0];
    let mut text =
        format!("| parameter | symbol | `{first}` | range | what |\n|---|---|---|---|---|\n");
    for (param, value) in config(first).values() {
        text += &format!(
            "| `{}` | {} | {} | {} | {} |\n",
            param.name,
            param.symbol,
            readable::value(&value),
            readable::range(param),
            param.doc.trim()
        );
    }
    text += "\nPresets, with the values that differ from the first on a link of 10 Mbit/s with a \
             limit\n\
             of 100 packets of 1000 B:\n";
    for (preset, doc) in (row.presets)() {
        let changes = config(preset).values().into_iter().zip(config(first).values());
        let changes: Vec<String> = changes
            .filter(|((_, its), (_, first))| its != first)
            .map(|((param, its), _)| format!("`{}` {}", param.name, readable::value(&its)))
            .collect();
        let changes =
            if changes.is_empty() { String::new() } else { format!(": {}", changes.join(", ")) };
        text += &format!("- `{preset}`, {doc}{changes}.\n");
    }
    text
}

#[test]
fn manual_pages_agree_with_the_catalog() {
    for row in catalog::QUEUES.iter().filter(|row| !row.params.is_empty()) {
        let page = row.info.manual;
        let Some((begin, end)) = bless::generated(page) else {
            panic!("{}.md lacks the markers:\n{}{}", row.name, bless::BEGIN, bless::END);
        };
        let now = format!("{}{}{}", &page[..begin], table(row), &page[end..]);
        bless::assert_file(&format!("src/queues/{}.md", row.name), &now);
    }
}

/// Limits of one packet and of a few bytes hold too (the checker asserts them), and the tally adds
/// up.
#[test]
fn tiny_limits() {
    for limit in
        [Size::Packets(1), Size::Packets(2), Size::Bytes(1), Size::Bytes(1500), Size::Bytes(4000)]
    {
        let link = Link { limit, ..reference_link() };
        for (row, preset, config) in every_preset(&link) {
            let queue = run(&config, link, 5, 300);
            assert_ne!(queue.tally(), &Tally::default(), "{}/{preset}", row.name);
        }
    }
}
