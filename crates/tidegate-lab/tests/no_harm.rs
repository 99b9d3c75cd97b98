//! What a queue does to those whom nobody attacks. Every queue, as its preset `auto` fits it to the
//! line, passes or says so on the first line of its manual page.
use tidegate::catalog::QUEUES;
use tidegate_lab::{Job, QueueSpec, Scenario, run};
use tidegate_report::Document;

/// A lone connection of CUBIC with a round trip of 40 ms.
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
"#;

/// A sender of datagrams beside it.
const THIN: &str = r#"
[[group]]
name = "thin"
source = "cbr"
packet = "200 B"
rate = "64 kbit/s"
jitter = 0.5
access_delay = "5 ms"
"#;

/// Whether what came of a setting by the queue and by drop-tail is well.
type Well = fn(&Document, &Document) -> bool;

/// What the first line of a manual page says of a queue that does not pass, who is beside the
/// connection, and what the queue does not pass: settings of the scenario.
const HARMS: [(&str, &str, &[&[&str]], Well); 3] = [
    (
        "A lone connection does not fill its line.",
        "",
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
        "",
        &[&["group.user.access_delay=70 ms", "run.duration=120 s", "run.warmup=40 s"]],
        fills,
    ),
    (
        "A connection beside a thin sender loses its share, or the thin sender does.",
        THIN,
        &[
            &["network.rate=2 Mbit/s", "network.limit=25 kB", "group.thin.rate=20 kbit/s"],
            &[],
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

/// The documents of every queue, in the order of the catalog.
fn every_queue(text: &str, sets: &[&str]) -> Vec<Document> {
    documents(text, sets, QUEUES.iter().map(|row| QueueSpec::named(row.name)).collect())
}

fn documents(text: &str, sets: &[&str], queues: Vec<QueueSpec>) -> Vec<Document> {
    let sets: Vec<_> = sets.iter().map(|set| set.parse().unwrap()).collect();
    let scenario = Scenario::parse(text.as_bytes(), "scenario.toml", &sets).unwrap();
    let job = Job { scenario, queues, flows: false, series: false, threads: None };
    run(&job, &()).unwrap().into_iter().map(|outcome| outcome.document).collect()
}

#[test]
fn every_auto_does_no_harm_or_says_so() {
    let mut found = vec![String::new(); QUEUES.len()];
    for (sentence, beside, settings, well) in HARMS {
        let mut harms = vec![false; QUEUES.len()];
        for sets in settings {
            let documents = every_queue(&format!("{LONE}{beside}"), sets);
            let plain = documents.iter().find(|document| document.label == "drop_tail").unwrap();
            for (harms, own) in harms.iter_mut().zip(&documents) {
                *harms |= !well(own, plain);
            }
        }
        // Who does not fill the line from near does not from afar: that is said once.
        let filled = |found: &str| !found.contains(HARMS[0].0) || sentence != HARMS[1].0;
        for (found, _) in
            found.iter_mut().zip(harms).filter(|(found, harms)| *harms && filled(found))
        {
            *found += " ";
            *found += sentence;
        }
    }
    let mut wrong = String::new();
    for (row, harms) in QUEUES.iter().zip(found) {
        let line = row.info.manual.lines().next().unwrap();
        let said: String = HARMS
            .iter()
            .filter(|harm| line.contains(harm.0))
            .map(|harm| format!(" {}", harm.0))
            .collect();
        if said != harms || !line.ends_with(&harms) {
            wrong +=
                &format!("\n{}.md must end its first line with `{harms}`, has `{said}`", row.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Three hundred users of CUBIC and forty floods of twice the line together.
const CROWD: &str = r#"
title = "A crowd and many floods"
run.duration = "12 s"
run.warmup = "4 s"
run.seeds = 2
[network]
kind = "dumbbell"
rate = "155 Mbit/s"
delay = "10 ms"
limit = "1937500 B" # 100 ms
mean_packet = "1500 B"
access_rate = "1 Gbit/s"
[queue]
name = "drop_tail"
[[group]]
name = "users"
count = 300
source = "cubic"
packet = "1500 B"
access_delay = ["1 ms", "5 ms", "10 ms", "20 ms"]
[[group]]
name = "flood"
count = 40
source = "cbr"
packet = "1500 B"
rate = "7750 kbit/s"
jitter = 0.5
"#;

/// Fair queues by hash places: nobody gets less than a tenth of his share because a flood is dealt
/// the same place.
#[test]
fn among_many_floods_no_user_starves_behind_a_fair_queue() {
    let queues = ["drr", "fq_codel", "wfq"];
    for document in documents(CROWD, &[], queues.map(QueueSpec::named).to_vec()) {
        let worst = document.groups[0].worst_share.unwrap().mean();
        assert!(worst >= 0.3, "{}: the worst user has {worst:.3} of his share", document.label);
    }
    // So that this can fail: with single places a few of three hundred share a flood's.
    let single = documents(CROWD, &[], vec!["drr,ways=1,classes=1024 as single".parse().unwrap()]);
    assert!(single[0].groups[0].worst_share.unwrap().mean() < 0.1);
}
