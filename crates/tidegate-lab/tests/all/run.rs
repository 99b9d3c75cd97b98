//! Whole jobs: what they yield, that they can be given up, and that threads change nothing.
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::jobs;
use crate::jobs::in_repository;
use tidegate_lab::{
    Job, Progress, QueueOutcome, QueueSpec, RunError, Scenario, Watch, check, results, run,
};

fn flood(sets: &[&str]) -> Scenario {
    let short = ["run.duration=4 s", "run.warmup=1 s", "run.seeds=3"];
    jobs::shipped("scenarios/flood.toml", &[&short, sets].concat())
}

fn job(scenario: Scenario, queues: &[&str]) -> Job {
    Job { flows: true, series: true, ..jobs::job(scenario, queues) }
}

/// Outcomes without the one figure that differs from run to run.
fn timeless(outcomes: Vec<QueueOutcome>) -> Vec<QueueOutcome> {
    let strip = |mut outcome: QueueOutcome| {
        assert!(outcome.document.wall_s.take().unwrap() >= 0.0);
        outcome
    };
    outcomes.into_iter().map(strip).collect()
}

#[test]
fn the_same_on_one_thread_or_many() {
    let queues = ["drop_tail", "red", "blue", "sfb/double"];
    let on = |threads| {
        let job = Job { threads: Some(threads), ..job(flood(&[]), &queues) };
        let outcomes = timeless(run(&job, &()).unwrap());
        let bytes: Vec<u8> =
            results::files(&job.scenario, &outcomes).into_iter().flat_map(|f| f.bytes).collect();
        (outcomes, bytes)
    };
    let one = on(1);
    assert_eq!(one, on(4));
    assert_eq!(one, on(3), "and once more");
    assert_eq!(one.0.len(), 4);
}

/// Readings change nothing: who does not ask for the series gets the same figures sooner.
#[test]
fn the_series_are_made_only_for_who_asks_for_them() {
    let queues = ["red", "codel", "pie"];
    let with = timeless(run(&job(flood(&[]), &queues), &()).unwrap());
    let without = timeless(run(&Job { series: false, ..job(flood(&[]), &queues) }, &()).unwrap());
    for (with, without) in with.into_iter().zip(without) {
        assert!(!with.series.time_s.is_empty() && without.series.time_s.is_empty());
        assert_eq!(with.document, without.document);
    }
}

/// A queue with classes sees each group's own: by weight, whatever the groups send.
#[test]
fn classes_reach_the_queue() {
    let divided = |queue: &str, sets: &[&str]| {
        let outcomes = run(&job(flood(&[&["run.seeds=1"], sets].concat()), &[queue]), &()).unwrap();
        let rates =
            outcomes[0].document.groups.iter().map(|g| g.throughput_bps.unwrap().mean() / 1e6);
        rates.collect::<Vec<_>>()
    };
    let near = |rates: &[f64], expected: [f64; 3]| {
        assert!(
            rates.iter().zip(expected).all(|(rate, e)| (rate - e).abs() < 0.1),
            "{rates:?}, expected {expected:?}"
        );
    };
    near(&divided("wfq/paper", &[]), [10.0 / 3.0; 3]);
    near(&divided("wfq/paper,weights=7:1:2", &[]), [7.0, 1.0, 2.0]);
    let swapped = ["group.flood.class=0", "group.tcp.class=2"];
    near(&divided("wfq/paper,weights=7:1:2", &swapped), [2.0, 1.0, 7.0]);
    // Half of the flows in a class of their own: two shares of four, of which TCP leaves a little
    // in so small buffers.
    let dealt = divided("wfq/paper,classes=4", &["group.tcp.class=[0, 3]"]);
    assert!(dealt[0] > 4.5 && dealt[1].max(dealt[2]) < 2.75, "{dealt:?}");
}

#[test]
fn another_seed_is_another_run() {
    let throughput = |seed: &str| {
        let outcomes = run(&job(flood(&[seed, "run.seeds=1"]), &["sfb/double"]), &()).unwrap();
        outcomes[0].document.groups[0].throughput_bps.unwrap()
    };
    assert_ne!(throughput("run.seed=1"), throughput("run.seed=2"));
    assert_eq!(throughput("run.seed=1").ci95(), None, "one seed has no interval");
}

#[test]
fn what_fits_is_delivered_whole() {
    // Three flows of 1 Mbit/s over 10 Mbit/s: nothing is lost, nobody waits, each has what it asked
    // for.
    let text = br#"
[run]
duration = "11 s"
warmup = "1 s"
seeds = 2
[network]
rate = "10 Mbit/s"
limit = "100 packets"
[[group]]
name = "udp"
count = 3
source = "cbr"
rate = "1 Mbit/s"
jitter = 0
start = "0 s"
"#;
    let scenario = Scenario::parse(text, "fits.toml", &[]).unwrap();
    let outcomes = run(&job(scenario.clone(), &["drop_tail"]), &()).unwrap();
    let document = &outcomes[0].document;
    let group = &document.groups[0];
    // A packet more or less at either end of ten seconds of 125 packets a second each.
    let near = |x: f64, y: f64| (x - y).abs() < 2.5 * 8000.0 / 10.0;
    assert!(near(group.throughput_bps.unwrap().mean(), 3e6), "{:?}", group.throughput_bps);
    assert!(
        near(group.goodput_bps.unwrap().mean(), 3e6)
            && near(group.offered_bps.unwrap().mean(), 3e6)
    );
    assert_eq!((group.loss_ratio.unwrap().mean(), group.mark_ratio.unwrap().mean()), (0.0, 0.0));
    assert_eq!(group.fair_share_bps.unwrap().mean(), 3e6, "the demand is known");
    assert!((document.aggregate.utilization.unwrap().mean() - 0.3).abs() < 0.001);
    assert!(document.aggregate.jain.unwrap().mean() > 0.9999);
    assert_eq!(document.aggregate.drops.len(), 0);
    assert_eq!(document.seeds, [1, 2]);
    let flows = document.flows.as_ref().unwrap();
    assert_eq!((flows.len(), flows[2].label.as_str()), (3, "udp 3"));
    // 11 s, less the time on the way: 2 seeds of 1250 packets.
    assert!((2498..=2502).contains(&flows[0].packets.unwrap().offered), "{:?}", flows[0].packets);
    let derived = check(&scenario, &[]).unwrap();
    assert_eq!(derived.groups[0].fair_share.to_string(), "1 Mbit/s");
    assert_eq!(derived.groups[0].offered.unwrap().to_string(), "3 Mbit/s");
    // 10 ms + 2 × 2 ms each way; 1000 B and a 40-B answer over 100, 10 and 100 Mbit/s.
    let rtt = 28.0 + (0.8 + 2.0 * 0.08) * 1.04;
    assert!((derived.base_rtt.0.as_millis() - rtt).abs() < 1e-6, "{:?}", derived.base_rtt);
    assert_eq!(derived.limit_delay.as_millis(), 80.0);
    assert!(derived.to_string().contains("fair share 1 Mbit/s each"), "{derived}");
}

#[test]
fn every_packet_is_accounted_for() {
    let outcomes = run(&job(flood(&[]), &["sfb/double"]), &()).unwrap();
    let document = &outcomes[0].document;
    for flow in document.flows.as_ref().unwrap() {
        let p = flow.packets.unwrap();
        // Three seeds, and a queue of a hundred packets at either end of the window.
        let held = p.offered as i64 - p.delivered as i64 - p.dropped as i64;
        assert!(held.abs() <= 300, "{flow:?}");
        assert!(p.marked <= p.offered);
    }
    let rate = |name: &str| {
        document.groups.iter().find(|g| g.name == name).unwrap().throughput_bps.unwrap().mean()
    };
    let all = document.aggregate.throughput_bps.unwrap().mean();
    assert!((rate("tcp") + rate("greedy") + rate("flood") - all).abs() < 1.0);
}

#[test]
fn a_client_with_many_connections_has_one_share() {
    let of = |key: &str| {
        let scenario = flood(&[&format!("run.flow_key={key}")]);
        let shares = check(&scenario, &[]).unwrap();
        shares
            .groups
            .iter()
            .map(|g| (g.fair_share.as_bps() as f64 / 1e5).round() / 10.0)
            .collect::<Vec<_>>()
    };
    // 10 Mbit/s over 41 connections, or over 22 sources of which one has twenty.
    assert_eq!(of("five-tuple"), [0.2, 0.2, 0.2]);
    assert_eq!(of("source"), [0.5, 0.0, 0.5]);
}

const TWO_QUEUES: &str = r#"
[run]
duration = "4 s"
warmup = "1 s"
seeds = 1
[network]
kind = "graph"
[[link]]
from = "A"
to = "B"
rate = "2 Mbit/s"
limit = "30 packets"
QUEUE
[[link]]
from = "B"
to = "C"
rate = "3 Mbit/s"
limit = "30 packets"
[queue]
name = "drop_tail"
[[group]]
name = "flood"
source = "cbr"
rate = "4 Mbit/s"
from = "A"
to = "C"
"#;

/// The queue that the result names is the one that ran, whether it is the link's own, the
/// scenario's or one that is tried.
#[test]
fn the_watched_links_queue_is_the_one_that_is_named() {
    let read = |own: &str| {
        Scenario::parse(TWO_QUEUES.replace("QUEUE", own).as_bytes(), "two.toml", &[]).unwrap()
    };
    let outcome = |scenario: &Scenario, queue: &str| {
        let job = Job { series: true, ..jobs::job(scenario.clone(), &[queue]) };
        timeless(run(&job, &()).unwrap()).remove(0)
    };
    let own = read("queue = \"sfb/paper as OWN\"");
    let alone = outcome(&own, &own.own_queue().to_string());
    assert_eq!((alone.document.label.as_str(), alone.document.queue.name.as_str()), ("OWN", "sfb"));
    assert!(alone.series.lines.iter().any(|l| l.what == tidegate_report::SeriesQuantity::Gauge));
    // The link without one keeps the scenario's: with drop_tail there, nothing but the first link
    // differs.
    let named = read("").with_queue("drop_tail".parse().unwrap()).unwrap();
    let tail = outcome(&named, "drop_tail");
    assert_ne!(alone.document.aggregate.queue_delay_ms, tail.document.aggregate.queue_delay_ms);
}

#[test]
fn check_names_the_managed_links_and_what_compare_would_run() {
    let read = |own: &str| {
        Scenario::parse(TWO_QUEUES.replace("QUEUE", own).as_bytes(), "two.toml", &[]).unwrap()
    };
    let own = check(&read("queue = \"sfb/paper as OWN\""), &[]).unwrap();
    let links: Vec<_> =
        own.links.iter().map(|l| (l.name.as_str(), l.queue.as_deref(), l.watched)).collect();
    assert_eq!(links, [("A->B", Some("OWN"), true), ("B->C", Some("drop_tail"), false)]);
    assert_eq!(own.queues.iter().map(|q| q.label.as_str()).collect::<Vec<_>>(), ["OWN"]);
    assert!(own.to_string().contains("A->B (watched): 2 Mbit/s, 30 packets, OWN\n"), "{own}");
    assert!(
        own.to_string().contains(": 1 flow over 2 Mbit/s")
            && own.to_string().contains("flood: 1 flow, "),
        "{own}"
    );
    assert!(check(&read("queue = \"sfb\""), &["red".parse().unwrap()]).is_err());
    let compared =
        read("").with_compare(vec!["sfb".parse().unwrap(), "red".parse().unwrap()]).unwrap();
    let compared = check(&compared, &[]).unwrap();
    assert_eq!(
        compared.queues.iter().map(|q| q.label.as_str()).collect::<Vec<_>>(),
        ["drop_tail", "sfb", "red"]
    );
    assert_eq!(compared.replications, 2, "those that compare would run");
    assert!(
        compared.to_string().contains("B->C: 3 Mbit/s, 30 packets, each of the queues below"),
        "{compared}"
    );
}

#[test]
fn many_flows_cost_time_and_memory_that_check_foresees() {
    let cost = |count: &str| check(&flood(&[count]), &["sfb".parse().unwrap()]).unwrap();
    let (few, many) = (cost("group.tcp.count=1000"), cost("group.tcp.count=101000"));
    // Measured: 0.4 to 0.9 s and 440 MB a replication with 10^5 flows.
    let more = many.replication_s - few.replication_s;
    assert!((0.4..0.9).contains(&more), "{more}");
    let each = (many.memory_bytes - few.memory_bytes) / many.at_once as f64;
    assert!((400e6..500e6).contains(&each), "{each}");
    assert!(many.to_string().contains(" MB of memory"), "{many}");
}

#[test]
fn a_queue_that_cannot_be_is_refused_before_the_work() {
    let refused = |queue: &str| match run(&job(flood(&[]), &["drop_tail", queue]), &()) {
        Err(RunError::Invalid(problems)) => problems.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(refused("sbf").contains("did you mean `sfb`?"));
    assert!(
        refused("red,min=80 packets,max=20 packets").contains("m"),
        "a check of two parameters"
    );
    assert!(refused("red,weight=2").contains("must lie in"));
}

struct Patience {
    looks: AtomicUsize,
    patience: usize,
    seen: Mutex<Vec<Progress>>,
}

impl Watch for Patience {
    fn progress(&self, progress: Progress) {
        self.seen.lock().unwrap().push(progress);
    }
    fn cancelled(&self) -> bool {
        self.looks.fetch_add(1, Ordering::Relaxed) >= self.patience
    }
}

fn patience(patience: usize) -> Patience {
    Patience { looks: AtomicUsize::new(0), patience, seen: Mutex::new(vec![]) }
}

#[test]
fn it_can_be_given_up_at_any_time() {
    for looks in [0, 1, 50, 500] {
        let watch = patience(looks);
        assert_eq!(
            run(&job(flood(&[]), &["sfb"]), &watch),
            Err(RunError::Cancelled),
            "after {looks} looks"
        );
        // At most one more look by each thread that was at work.
        assert!(watch.looks.load(Ordering::Relaxed) <= looks + 3 + 2);
    }
}

#[test]
fn progress_rises_to_the_end() {
    let watch = patience(usize::MAX);
    run(&job(flood(&[]), &["drop_tail", "sfb"]), &watch).unwrap();
    let seen = watch.seen.into_inner().unwrap();
    let last = seen.iter().map(|p| p.done).max().unwrap();
    assert_eq!((last, seen[0].of), (6, 6));
    assert!(seen.iter().all(|p| (0.0..=1.0).contains(&p.fraction)));
    assert_eq!(seen.iter().map(|p| p.fraction).fold(0.0, f64::max), 1.0);
}

/// Every scenario in the repository is read, survives being written, and runs, cut short: the last
/// of its senders begins after five seconds, of one scenario after twenty.
#[test]
fn no_shipped_scenario_rots() {
    let mut files = vec![];
    for dir in ["scenarios", "papers", "validation"] {
        collect(&in_repository(dir), &mut files);
    }
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        let late = file.ends_with("attacks/effects/h14.toml");
        let duration = if late { "run.duration=20500 ms" } else { "run.duration=5500 ms" };
        let sets = [duration, "run.warmup=500 ms", "run.seeds=2"].map(|s| s.parse().unwrap());
        let scenario = Scenario::open(&file, &sets).unwrap_or_else(|e| panic!("{e}"));
        let again =
            Scenario::parse(scenario.resolved().as_bytes(), &file.display().to_string(), &[]);
        assert_eq!(again.unwrap_or_else(|e| panic!("{e}")).resolved(), scenario.resolved());
        let mut queues: Vec<QueueSpec> = scenario.compare.clone();
        queues.push(QueueSpec { label: Some("its own".into()), ..scenario.queue.clone() });
        let outcomes = run(&Job { queues, series: true, ..jobs::job(scenario, &[]) }, &()).unwrap();
        for outcome in outcomes {
            let sent = outcome.document.aggregate.throughput_bps.unwrap().mean();
            assert!(sent > 0.0, "{}: {}", file.display(), outcome.document.label);
            assert!(!outcome.series.time_s.is_empty());
        }
    }
}

/// Whether a file is not a scenario but about a paper's, or the set-ups of a kernel.
fn about(name: &OsStr) -> bool {
    ["paper.toml", "explained.toml", "cells.toml"].iter().any(|other| name == *other)
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.map(|e| e.unwrap().path()) {
        if entry.is_dir() {
            collect(&entry, files);
        } else if entry.extension().is_some_and(|e| e == "toml")
            && !entry.file_name().is_some_and(about)
        {
            files.push(entry);
        }
    }
    files.sort();
}

/// The paper's first experiment stands in two places, since it is both an example and a witness.
#[test]
fn the_example_is_the_papers_experiment() {
    let read = |file: &str| std::fs::read_to_string(in_repository(file)).unwrap();
    assert_eq!(read("scenarios/feng2001-45mbit.toml"), read("papers/sfb/c1.toml"));
}

/// One flow of a host of its own beside nine of another host, each at the line's rate; and a call
/// with the code point of voice.
const HOSTS: &str = r#"
title = "Hosts and code points"
run.duration = "6 s"
run.warmup = "2 s"
run.seeds = 1
[network]
kind = "dumbbell"
rate = "10 Mbit/s"
delay = "10 ms"
limit = "200 packets"
mean_packet = "1000 B"
access_rate = "1 Gbit/s"
[queue]
name = "drop_tail"
[[group]]
name = "one"
source = "cbr"
packet = "1000 B"
rate = "10 Mbit/s"
jitter = 0.5
[[group]]
name = "nine"
count = 9
hosts = 1
source = "cbr"
packet = "1000 B"
rate = "10 Mbit/s"
jitter = 0.5
[[group]]
name = "call"
source = "cbr"
packet = "200 B"
rate = "2 Mbit/s"
dscp = 46
"#;

#[test]
fn queues_know_hosts_and_code_points() {
    let scenario = Scenario::parse(HOSTS.as_bytes(), "scenario.toml", &[]).unwrap();
    // It is written down as it was read.
    let again = Scenario::parse(scenario.resolved().as_bytes(), "scenario.toml", &[]).unwrap();
    assert_eq!(again.groups, scenario.groups);
    let parts = |queue: &str| {
        let outcomes = run(&job(scenario.clone(), &[queue]), &()).unwrap();
        let of = |n: usize| outcomes[0].document.groups[n].throughput_bps.unwrap().mean() / 1e7;
        [of(0), of(1), of(2)]
    };
    // Who gets how much of the line: by flow, by source, and with a tin for the call.
    for (queue, expected) in [
        ("cake,diffserv=besteffort,isolation=flows", [0.091, 0.818, 0.091]),
        ("cake,diffserv=besteffort,isolation=dual-srchost", [0.4, 0.4, 0.2]),
        ("cake,diffserv=besteffort,isolation=srchost", [0.4, 0.4, 0.2]),
        ("cake,isolation=flows", [0.08, 0.72, 0.2]),
        ("cake", [0.4, 0.4, 0.2]),
        ("fq_codel", [0.091, 0.818, 0.091]),
        ("fq_codel,isolation=dual-srchost", [0.4, 0.4, 0.2]),
        ("drr,isolation=triple-isolate", [0.4, 0.4, 0.2]),
        ("wfq,isolation=dual-srchost", [0.4, 0.4, 0.2]),
    ] {
        let got = parts(queue);
        let near = got.iter().zip(expected).all(|(got, part)| (got - part).abs() < 0.02);
        assert!(near, "{queue}: {got:?}");
    }
}
