//! What a queue does to those whom nobody attacks. Every queue, as its preset `auto` fits it to the line, passes or says so on the first line
//! of its manual page.
use tidegate::catalog::QUEUES;
use tidegate_lab::{Job, QueueSpec, Scenario, run};
use tidegate_report::Document;

/// A lone connection of CUBIC with a round trip of 40 ms, and a sender of datagrams that sends next to nothing unless told otherwise.
const LONE: &str = r#"
title = "A lone connection"
run.duration = "40 s"
run.warmup = "10 s"
run.seeds = 1
[network]
kind = "dumbbell"
rate = "10 Mbit/s"
delay = "10 ms"
limit = "125 kB" # 100 ms
mean_packet = "1500 B"
access_rate = "10 Gbit/s"
[queue]
name = "drop_tail"
[[group]]
name = "user"
source = "cubic"
packet = "1500 B"
access_delay = "5 ms"
[[group]]
name = "thin"
source = "cbr"
packet = "200 B"
rate = "1 kbit/s"
jitter = 0.5
access_delay = "5 ms"
"#;

/// Whether what came of a setting by the queue and by drop-tail is well.
type Well = fn(&Document, &Document) -> bool;

/// What the first line of a manual page says of a queue that does not pass, and what it does not pass: settings of the scenario.
const HARMS: [(&str, &[&[&str]], Well); 3] = [
    (
        "A lone connection does not fill its line.",
        &[
            &["network.rate=2 Mbit/s", "network.limit=25 kB"],
            &[],
            &["network.rate=50 Mbit/s", "network.limit=625 kB"],
            &["network.rate=50 Mbit/s", "network.limit=625 kB", "group.user.access_delay=20 ms"],
        ],
        fills,
    ),
    (
        "A lone connection with a round trip of 300 ms does not fill its line.",
        &[&["group.user.access_delay=70 ms", "run.duration=120 s", "run.warmup=40 s"]],
        fills,
    ),
    (
        "A connection beside a thin sender loses its share, or the thin sender does.",
        &[
            &["network.rate=2 Mbit/s", "network.limit=25 kB", "group.thin.rate=20 kbit/s"],
            &["group.thin.rate=64 kbit/s"],
            &["network.rate=50 Mbit/s", "network.limit=625 kB", "group.thin.rate=200 kbit/s"],
        ],
        shares,
    ),
];

/// 95 % of the line, or what drop-tail gives but for a hundredth.
fn fills(own: &Document, plain: &Document) -> bool {
    part(own) >= f64::min(0.95, part(plain) - 0.01)
}

/// 90 % of the line, and no more than one in fifty of the thin sender's packets lost.
fn shares(own: &Document, _: &Document) -> bool {
    let thin = own.groups.iter().find(|group| group.name == "thin").unwrap();
    part(own) >= 0.9 && thin.loss_ratio.unwrap().mean() <= 0.02
}

/// What the connection gets of the line.
fn part(document: &Document) -> f64 {
    let user = document.groups.iter().find(|group| group.name == "user").unwrap();
    user.goodput_bps.unwrap().mean() / document.bottleneck.rate_bps.unwrap()
}

#[test]
fn every_auto_does_no_harm_or_says_so() {
    // The first sentences that each queue must have, by its number.
    let mut found = vec![String::new(); QUEUES.len()];
    for (sentence, settings, well) in HARMS {
        let mut harms = vec![false; QUEUES.len()];
        for sets in settings {
            let sets: Vec<_> = sets.iter().map(|set| set.parse().unwrap()).collect();
            let scenario = Scenario::parse(LONE.as_bytes(), "lone.toml", &sets).unwrap();
            let queues = QUEUES.iter().map(|row| QueueSpec::named(row.name)).collect();
            let job = Job { scenario, queues, flows: false, series: false, threads: None };
            let documents: Vec<Document> = run(&job, &()).unwrap().into_iter().map(|o| o.document).collect();
            let plain = documents.iter().find(|document| document.label == "drop_tail").unwrap();
            for (harms, own) in harms.iter_mut().zip(&documents) {
                *harms |= !well(own, plain);
            }
        }
        for (found, _) in found.iter_mut().zip(harms).filter(|(_, harms)| *harms) {
            *found += " ";
            *found += sentence;
        }
    }
    let mut wrong = String::new();
    for (row, harms) in QUEUES.iter().zip(found) {
        let line = row.info.manual.lines().next().unwrap();
        let said: String =
            HARMS.iter().filter(|harm| line.contains(harm.0)).map(|harm| format!(" {}", harm.0)).collect();
        if said != harms || !line.ends_with(&harms) {
            wrong += &format!("\n{}.md must end its first line with `{harms}`, has `{said}`", row.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
