//! Our twins of some set-ups against what a Linux kernel's queues gave
//! (`validation/linux/results`): datagrams only, so that what is compared is the queue. The closed
//! loop stands in `validation/linux.md`.
#[path = "support/jobs.rs"]
mod jobs;

use std::path::Path;

use jobs::{document, in_repository, shipped};

/// Agreement of the open loop, as in `validation/linux.py`.
const WITHIN: f64 = 0.03;

/// The kernel's mean of what the flood, or all users together, got through `queue` in the open
/// loop, over its runs.
fn theirs(queue: &str, group: &str) -> f64 {
    let folder = std::fs::read_dir(in_repository("validation/linux/results")).unwrap();
    let numbers = |path: &Path| -> Vec<u32> {
        path.file_stem().unwrap().to_str().unwrap().split('.').map(|n| n.parse().unwrap()).collect()
    };
    let files = folder
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "csv"));
    let newest = files.max_by_key(|path| numbers(path)).expect("figures of a kernel");
    let text = std::fs::read_to_string(newest).unwrap();
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| head.iter().position(|&field| field == name).unwrap();
    let (cell, queued, run, flow, rate) =
        (place("cell"), place("queue"), place("run"), place("flow"), place("throughput_bps"));
    let rows = lines.map(|line| line.split(',').collect::<Vec<&str>>());
    let of: Vec<_> = rows.filter(|row| row[cell] == "open-20m" && row[queued] == queue).collect();
    let runs: std::collections::BTreeSet<&str> = of.iter().map(|row| row[run]).collect();
    assert!(runs.len() >= 2, "{queue}: {} runs", runs.len());
    let sum: f64 = of
        .iter()
        .filter(|row| row[flow].starts_with(group))
        .map(|row| row[rate].parse::<f64>().unwrap())
        .sum();
    sum / runs.len() as f64
}

fn compare(queue: &str, words: &str) {
    let scenario = shipped("validation/scenarios/linux-open.toml", &["run.seeds=2"]);
    let document = document(scenario, words);
    for group in ["flood", "user"] {
        let ours = document
            .groups
            .iter()
            .find(|g| g.name == group)
            .unwrap()
            .throughput_bps
            .unwrap()
            .mean();
        let ratio = ours / theirs(queue, group);
        assert!(
            (ratio - 1.0).abs() <= WITHIN,
            "{queue}: what {group} gets is {ratio} of the kernel's"
        );
    }
}

/// As `validation/linux/cells.py` sets it.
#[test]
fn sfb_holds_a_flood_as_the_kernel_s() {
    compare("sfb", "sfb/linux,ecn=off");
}

#[test]
fn choke_and_fair_queues_share_as_the_kernel_s() {
    compare("choke", "choke,min=33 packets,max=66 packets,probability=0.02,weight=0.0625,ecn=off");
    compare("sfq", "sfq");
    compare("drr", "drr,quantum=1514 B");
    compare("fq_codel", "fq_codel,ecn=off");
    compare("fq_pie", "fq_pie/paper");
    compare("hhf", "hhf/paper");
    compare("pfifo", "drop_tail");
}

#[test]
fn queues_that_do_not_tell_flows_apart_lose_as_the_kernel_s() {
    compare("red", "red,mode=bytes,min=49962 B,max=99924 B,probability=0.02,weight=0.0625,ecn=off");
    compare("codel", "codel,ecn=off");
    compare("pie", "pie,ecn=off");
}
