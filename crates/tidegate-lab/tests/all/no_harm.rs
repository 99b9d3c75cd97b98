//! What a queue does to those whom nobody attacks. Every queue, as its preset `auto` fits it to the
//! line, passes or says so on the first line of its manual page.
use crate::jobs;
use crate::jobs::scenario;
use crate::markdown::tables;
use tidegate::catalog::QUEUES;
use tidegate_lab::suite::{self, Suite, SuiteCell};
use tidegate_lab::{Job, QueueSpec, Scenario};
use tidegate_report::Document;

/// Whether what came of a setting by the queue and by drop-tail is well.
type Well = fn(&Document, &Document) -> bool;

/// What the first line of a manual page says of a queue that does not pass, and the names of the
/// cells that it does not pass. They are of the test `N` of the protection suite, if it has such.
const HARMS: [(&str, &str, Well); 6] = [
    ("A lone connection does not fill its line.", "alone, ", fills),
    ("A lone connection with a round trip of 100 ms does not fill its line.", "", fills),
    ("A lone connection with a round trip of 300 ms does not fill its line.", "far, ", fills),
    ("A connection beside a rare sender does not fill its line.", "rare, ", fills),
    (
        "A connection beside a thin sender loses its share, or the thin sender does.",
        "beside ",
        shares,
    ),
    ("Of a hundred users some starve.", "", shares),
];

/// The scenarios of the cells that are called so, with one seed.
fn cells(suite: &Suite, begins: &str) -> Vec<Scenario> {
    // A connection beside a background transfer has no comma, and no thin sender.
    let mine = |cell: &&SuiteCell| {
        let name = &cell.name;
        suite.tests[cell.test].id == "N" && name.starts_with(begins) && name.contains(", ")
    };
    let mut found: Vec<Scenario> =
        suite.cells.iter().filter(mine).map(|cell| cell.full.clone()).collect();
    found.extend(more(begins));
    assert!(!found.is_empty(), "{begins}");
    found.iter_mut().for_each(|scenario| scenario.run.seeds = 1);
    found
}

/// Lines that the suite has not, slower and faster, by what their cells' names would begin with;
/// and a sender of a packet every twelve seconds.
const MORE: [(&str, &str, &str); 3] = [
    ("far, ", "alone", "network.rate=2 Mbit/s,network.limit=25 kB"),
    ("far, ", "alone", "network.rate=50 Mbit/s,network.limit=625 kB"),
    (
        "rare, ",
        "beside",
        "network.rate=50 Mbit/s,network.limit=625 kB,group.thin.rate=1 kbit/s,\
         group.thin.packet=1500 B,run.duration=90 s",
    ),
];
/// What makes a line of the first kind far.
const FAR: &str = "group.user.access_delay=70 ms,run.duration=120 s,run.warmup=40 s";

fn more(begins: &str) -> impl Iterator<Item = Scenario> {
    let mine = MORE.iter().filter(move |(of, ..)| *of == begins);
    mine.map(|(begins, file, sets)| {
        let mut sets: Vec<&str> = sets.split(',').collect();
        if *begins == "far, " {
            sets.extend(FAR.split(','));
        }
        jobs::shipped(&format!("suites/protection/{file}.toml"), &sets)
    })
}

/// 95 % of the line, or what drop-tail gives less a hundredth.
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

fn documents(scenario: Scenario, queues: Vec<QueueSpec>) -> Vec<Document> {
    jobs::documents(&Job { queues, ..jobs::job(scenario, &[]) })
}

/// The harms of a queue, in the order of [`HARMS`].
type Harms = [bool; HARMS.len()];

/// What every queue of the catalog does in the suite's cells.
fn harms_in_the_suite() -> Vec<Harms> {
    let suite = suite::open("protection").unwrap();
    let mut found = vec![Harms::default(); QUEUES.len()];
    for (at, (_, begins, well)) in HARMS.iter().enumerate().filter(|(_, harm)| !harm.1.is_empty()) {
        for scenario in cells(&suite, begins) {
            let queues = QUEUES.iter().map(|row| QueueSpec::named(row.name)).collect();
            let documents = documents(scenario, queues);
            let plain = documents.iter().find(|document| document.label == "drop_tail").unwrap();
            for (harms, own) in found.iter_mut().zip(&documents) {
                harms[at] |= !well(own, plain);
            }
        }
    }
    found
}

/// The page on settings that no preset was tuned on: up to 400 Mbit/s, with a rare sender.
const UNSEEN: &str = include_str!("../../../../validation/unseen.md");

/// What its tables say of `queue`, by setting.
fn elsewhere(page: &str, queue: &str) -> Vec<[String; 2]> {
    let mut found = vec![];
    for table in tables(page).iter().filter(|table| table.begins_with(&["setting"])) {
        let Some(column) = table.column(queue) else { continue };
        let settings = table.rows.iter().filter(|row| row[0].contains("Mbit/s"));
        found.extend(settings.map(|row| [row[0].clone(), row[column].clone()]));
    }
    found
}

/// The harms of `queue` with those of that page, each named once: who does not fill the line alone
/// does not from afar or beside others.
fn with_those_elsewhere(queue: &str, mut harms: Harms) -> Harms {
    let (floods, alone) = UNSEEN.split_once("## Harm without an attack").unwrap();
    let rows = elsewhere(alone, queue);
    assert!(rows.len() > 10, "{queue}: unseen.md has no column of it: make unseen ({rows:?})");
    // A cell is bold where the queue passes.
    for [cell, _] in rows.into_iter().filter(|[_, figures]| !figures.starts_with("**")) {
        // Its lone connections have a rare sender beside them.
        let [alone, from_100_ms, from_300_ms, rare, thin, _] = &mut harms;
        match cell.split(", ").collect::<Vec<_>>()[..] {
            [_, _, _] => *thin |= !*alone,
            _ if *rare || *alone => {}
            [_, "300 ms"] => *from_300_ms = true,
            [_, "100 ms"] => *from_100_ms = true,
            _ => *alone = true,
        }
    }
    // Share, the worst user's and, where some starve, how many; of pages it is a time.
    let starves = |[cell, figures]: &[String; 2]| {
        cell.ends_with(", no flood") && figures.split(" / ").count() == 3
    };
    let starve = elsewhere(floods, queue).iter().any(starves);
    let [alone, from_100_ms, from_300_ms, rare, thin, _] = harms;
    let far = from_100_ms && !alone;
    [alone, far, from_300_ms && !alone && !far, rare && !alone, thin, starve]
}

#[test]
fn every_auto_does_no_harm_or_says_so() {
    let mut wrong = String::new();
    for (row, harms) in QUEUES.iter().zip(harms_in_the_suite()) {
        let harms = with_those_elsewhere(row.name, harms);
        let harms: String = (HARMS.iter().zip(harms).filter(|(_, harms)| *harms))
            .map(|(harm, _)| format!(" {}", harm.0))
            .collect();
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
    let crowd = scenario(CROWD);
    let queues = ["drr", "fq_codel", "wfq"];
    for document in documents(crowd.clone(), queues.map(QueueSpec::named).to_vec()) {
        let worst = document.groups[0].worst_share.unwrap().mean();
        assert!(worst >= 0.3, "{}: the worst user has {worst:.3} of his share", document.label);
    }
    // So that this can fail: with single places a few of three hundred share a flood's.
    let single = documents(crowd, vec!["drr,ways=1,classes=1024 as single".parse().unwrap()]);
    assert!(single[0].groups[0].worst_share.unwrap().mean() < 0.1);
}
