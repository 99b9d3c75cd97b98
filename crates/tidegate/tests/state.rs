//! What a queue says that it keeps, by weight. In a binary of its own, because the allocator counts
//! for all.
mod support;

use support::scales::{Weighing, heaviest};
use tidegate::{Packet, Rng};

#[global_allocator]
static WEIGHING: Weighing = Weighing;

/// The bound is no larger than it need be: A queue that says what it keeps has it from the start,
/// besides its own fixed fields. Only queues whose lines grow take words more for each packet that
/// may come to wait. Schedulers with classes keep places for packets from the start: the packets
/// are not counted as state.
#[test]
fn what_is_stated_is_kept() {
    let link = support::link("10 Gbit/s", "1000 packets", "1000 B");
    let line = support::config("drop_tail", None, &[], &link);
    assert_eq!(line.state_bytes(&link), 0, "a line alone keeps nothing besides its packets");
    let presets = support::every_preset(&link).into_iter();
    for (row, preset, config) in presets.filter(|(row, ..)| row.name != "drop_tail") {
        let with_packets = ["wfq", "ewfq"].contains(&row.name);
        let packets = if with_packets { 1000 * size_of::<Packet>() as u64 } else { 0 };
        let words = match row.name {
            "afq" | "fq_codel" | "cake" | "fq_pie" | "hhf" | "drr" | "sfq" | "sfq_red"
            | "dualpi2" | "cebinae" => 8 * 1000,
            "choke" => 12 * 1000,
            _ => 0,
        };
        let tables = row.params.iter().filter(|param| TABLES.contains(&param.name));
        let sizes = tables.flat_map(|param| ["3", "5000"].map(|size| (param.name, size)));
        let modes = MODES.iter().filter(|mode| mode.0 == row.name).map(|mode| (mode.1, mode.2));
        for (table, size) in [("preset", preset)].into_iter().chain(sizes).chain(modes) {
            let mut config = config.clone();
            if table != "preset" && config.set(table, size).is_err() {
                continue;
            }
            let (bytes, built) = heaviest(|| config.build(link, Rng::from_seed(1)));
            let (Ok(_), stated) = (built, config.state_bytes(&link)) else { continue };
            let what = format!(
                "{}/{preset} {table} {size}: {bytes} bytes held, {stated} stated",
                row.name
            );
            let bytes = bytes - packets;
            assert!((bytes + words + 32..=bytes + words + 1024).contains(&stated), "{what}");
        }
    }
}

/// Choices that need tables of their own: queue, parameter and value.
const MODES: [(&str, &str, &str); 17] = [
    ("drr", "isolation", "dual-srchost"),
    ("drr", "isolation", "triple-isolate"),
    ("fq_codel", "isolation", "dual-srchost"),
    ("fq_codel", "isolation", "triple-isolate"),
    ("fq_pie", "isolation", "dual-srchost"),
    ("fq_pie", "isolation", "triple-isolate"),
    ("sfq", "isolation", "dual-srchost"),
    ("sfq", "isolation", "triple-isolate"),
    ("sfq_red", "isolation", "dual-srchost"),
    ("sfq_red", "isolation", "triple-isolate"),
    ("wfq", "isolation", "dual-srchost"),
    ("wfq", "isolation", "triple-isolate"),
    ("tide", "weights", "1:2"),
    ("tide", "isolation", "dual-srchost"),
    ("tide", "isolation", "triple-isolate"),
    ("tide", "isolation", "dsthost"),
    ("tide", "express", "off"),
];

/// Parameters that say how large a table is.
const TABLES: [&str; 19] = [
    "rows",
    "cells",
    "counters",
    "hh_limit",
    "candidates",
    "flows",
    "occasions",
    "flow_occasions",
    "cache",
    "buckets",
    "minima",
    "bins",
    "levels",
    "shadow",
    "classes",
    "stages",
    "slots",
    "zombies",
    "tenants",
];
