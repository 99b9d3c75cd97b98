//! Suites: those that ship, and a small one run, stored and scored.
use crate::jobs;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tidegate_lab::folder::Folder;
use tidegate_lab::foreign::Foreign;
use tidegate_lab::suite::{self, Scores, Suite, SuiteLength, SuiteRequest};
use tidegate_lab::{Progress, QueueSpec, Scenario, Watch};
use tidegate_report::Document;

const LINE: &str = r#"
run.duration = "9 s"
run.warmup = "2 s"
run.flow_key = "source"
[network]
rate = "4 Mbit/s"
limit = "50 kB"
mean_packet = "1000 B"
[queue]
name = "drop_tail"
[[group]]
name = "users"
count = 3
source = "cubic"
[[group]]
name = "light"
source = "cbr"
rate = "32 kbit/s"
packet = "200 B"
[[group]]
name = "flood"
source = "cbr"
rate = "8 Mbit/s"
"#;

const SUITE: &str = r#"
title = "A small suite"
version = 3
seeds = 2
bound = 0.5
[quick]
seeds = 2
set = ["run.duration=6 s"]
[[test]]
id = "A"
title = "All the time"
asks = "Who gets what?"
source = "this test"
[[cell]]
test = "A"
name = "{n}"
scenario = "line.toml"
set = ["group.flood.count={n}"]
vary = { n = [1, 2] }
quick = [2]
[[cell]]
test = "A"
name = "forged"
scenario = "line.toml"
set = ["group.flood.count=40", "group.flood.rate=200 kbit/s"]
count_as = 1
[[test]]
id = "B"
title = "For a while"
asks = "How soon?"
source = "this test"
figures = ["detect", "recover", "users goodput_bps", "link utilization"]
[[cell]]
test = "B"
name = "3 s"
scenario = "line.toml"
set = ['group.flood.active=["3 s..6 s"]']
attack = true
"#;

fn folder(description: &str) -> Folder<'_> {
    let files =
        vec![(suite::DESCRIPTION.into(), description.into()), ("line.toml".into(), LINE.into())];
    Folder { name: "small".into(), files }
}

fn small() -> Suite {
    Suite::read(&folder(SUITE)).unwrap()
}

fn asked<'s>(suite: &'s Suite, queues: &[&str]) -> SuiteRequest<'s> {
    let queues = queues.iter().map(|text| text.parse().unwrap()).collect();
    SuiteRequest { suite, tests: vec![0, 1], queues, length: SuiteLength::Full, seeds: None }
}

/// Counts replications.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Watch for Counter {
    fn progress(&self, progress: Progress) {
        self.0.fetch_max(progress.done, Ordering::Relaxed);
    }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_suites_that_ship_are_sound_and_their_cells_are_frozen() {
    let suites = suite::shipped().unwrap();
    let protection = suites.iter().find(|suite| suite.name == "protection").unwrap();
    assert!(protection.tests.len() >= 16 && protection.cells.len() >= 60);
    for suite in &suites {
        for (at, test) in suite.tests.iter().enumerate() {
            let of: Vec<_> = suite.cells.iter().filter(|cell| cell.test == at).collect();
            assert!(!of.is_empty(), "{} {} has no cell", suite.name, test.id);
            assert!(
                of.iter().any(|cell| cell.quick.is_some()),
                "{} {}: no quick cell",
                suite.name,
                test.id
            );
        }
        let file = jobs::in_repository(&format!("suites/{}/cells.jsonl", suite.name));
        let now = suite::frozen(suite);
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        if kept == now {
            continue;
        }
        let version = |text: &str| -> Option<u64> {
            serde_json::from_str::<Value>(text.lines().next()?).ok()?["version"].as_u64()
        };
        let newer = version(&kept) != Some(suite.version as u64);
        // A frozen cell may say more once scenarios have more keys, but nothing else.
        let more = suite::unchanged(suite, Some(&kept)).is_ok();
        assert!(
            std::env::var_os("TIDEGATE_BLESS").is_some() && (newer || more || !suite.frozen),
            "{}: cells are not those of cells.jsonl; a frozen suite needs a new version, then bless",
            suite.name
        );
        std::fs::write(&file, now).unwrap();
    }
}

/// Another simulator reads them: each line is JSON by itself, and nothing is left to a default.
#[test]
fn a_frozen_cell_has_all_that_a_simulator_needs() {
    let suite = small();
    let text = suite::frozen(&suite);
    let lines = lines(&text);
    assert_eq!(lines.len(), 4);
    let [first, .., last] = &lines[..] else { unreachable!() };
    assert_eq!((first["test"].as_str(), first["cell"].as_str()), (Some("A"), Some("1")));
    assert_eq!(first["attackers"][0], "flood");
    assert_eq!(last["attack_s"], serde_json::json!([3.0, 6.0]));
    let scenario = &first["scenario"];
    assert_eq!(scenario["network"]["access_rate"], "100 Mbit/s", "a default is spelled out");
    assert_eq!(scenario["group"][0]["source"], "cubic");
    assert_eq!(scenario["group"][0]["initial_window"], "10 packets");
    assert!(scenario.get("queue").is_none(), "every queue meets it");
    assert_eq!((&lines[2]["count_as"], first.get("count_as")), (&1.into(), None));
}

/// What `kept` says of the small suite with `to` in place of `from`.
fn unchanged(from: &str, to: &str, kept: &str) -> Result<(), String> {
    assert!(SUITE.contains(from), "{from}");
    let text = SUITE.replacen(from, to, 1);
    let changed = Suite::read(&folder(&text)).unwrap_or_else(|error| panic!("{to}: {error}"));
    suite::unchanged(&changed, Some(kept))
}

/// Some keys are not written where they have their defaults, and who counts as whom is not part of
/// a scenario.
#[test]
fn what_is_added_to_a_frozen_cell_is_refused() {
    let kept = suite::frozen(&small());
    let set = "set = [\"group.flood.count={n}\"";
    let with = |more: &str| unchanged(set, &format!("{set}, '{more}'"), &kept);
    for more in [
        "network.loss=1 %",
        "network.capacity=2 Mbit/s from 4 s",
        "network.jitter=5 ms",
        "network.bleach=before",
        "network.back.rate=1 Mbit/s",
        "group.flood.active=[\"3 s..6 s\"]",
        "group.flood.stop=5 s",
        "group.flood.dscp=8",
    ] {
        let why = with(more).expect_err(more);
        assert!(why.contains("cell `1` of A is not that of cells.jsonl"), "{more}: {why}");
    }
    for fine in ["network.loss=0", "network.bleach=off", "group.flood.dscp=0"] {
        assert_eq!(with(fine), Ok(()), "{fine}");
    }
    for (from, to) in
        [("count_as = 1", ""), ("count_as = 1", "count_as = 2"), ("quick = [2]", "count_as = 1")]
    {
        assert!(unchanged(from, to, &kept).is_err(), "{from}: {to}");
    }
}

/// A cell that was frozen before scenarios had a key stays frozen: the key has its default.
#[test]
fn a_frozen_cell_may_lack_keys_of_today() {
    let small = small();
    let kept = suite::frozen(&small);
    let older = |from: &str, to: &str| {
        assert!(kept.contains(from), "{from} in {kept}");
        suite::unchanged(&small, Some(&kept.replace(from, to)))
    };
    assert_eq!(older("\"ack\":\"40 B\",", ""), Ok(()));
    for (from, to) in [
        ("\"ack\":\"40 B\",", "\"ack\":\"41 B\","),
        ("\"packet\":\"200 B\",", ""),
        ("\"name\":\"light\",", ""),
        ("\"users\":[\"users\"],", ""),
    ] {
        assert!(older(from, to).is_err(), "{from}: {to}");
    }
    // So the published cells, links and all, can be read again.
    for suite in suite::shipped().unwrap() {
        let text = suite::frozen(&suite).replace("\"delayed_ack\":\"0 ns\",", "");
        assert_eq!(suite::unchanged(&suite, Some(&text)), Ok(()), "{}", suite.name);
    }
}

/// What a queue did in a scenario, with so many seeds from one on.
fn alone(scenario: &Scenario, queue: &str, (seed, seeds): (u64, u32)) -> Document {
    let mut scenario = scenario.clone();
    (scenario.run.seed, scenario.run.seeds) = (seed, seeds);
    jobs::document(scenario, queue)
}

#[test]
fn figures_are_those_of_a_run_of_the_same_scenario() {
    let suite = small();
    let asked = asked(&suite, &["drop_tail", "drr"]);
    let results = suite::run(&asked, None, &()).unwrap();
    let scores = Scores::of(&suite, &results);
    for (at, name) in [(0, "drop_tail"), (0, "drr"), (1, "drr")] {
        let queue = usize::from(name == "drr");
        // The least of each replication, then the mean.
        let worst = [1, 2].map(|seed| {
            let document = &alone(&suite.cells[at].full, name, (seed, 1));
            let groups = document.groups[..2].iter();
            groups.map(|g| g.worst_share.unwrap().mean()).reduce(f64::min).unwrap()
        });
        let of = scores.cell(at, queue).unwrap();
        assert!((of.figures[0].unwrap().mean() - (worst[0] + worst[1]) / 2.0).abs() < 1e-12);
        assert_eq!(of.sure, worst.into_iter().reduce(f64::min), "of two seeds the least");
        let document = alone(&suite.cells[at].full, name, (1, 2));
        assert_eq!(of.figures[4], document.aggregate.utilization);
        assert_eq!(of.figures[3], document.groups[1].delay_ms.p99);
    }
    let [first, last] = &scores.queues[..] else { panic!("two queues") };
    assert_eq!((first.queue, last.queue), (1, 0), "drr comes first");
    // Behind neither is there a share left where addresses are forged.
    assert_eq!((first.passed, last.passed, first.of), (3, 0, 4));
    let costs = include_str!("../../../../papers/comparison/cost.csv");
    let drr = costs.lines().find_map(|line| line.strip_prefix("drr,")).unwrap();
    assert_eq!(first.ns, Some(drr.parse().unwrap()));
    // As published, the page has for each cell what a user is, and how many the attackers are.
    let page = suite::page(&suite, &results, &scores, "");
    let told: Vec<&str> =
        page.tests.iter().flat_map(|test| &test.cells).map(|cell| &cell.counts[..]).collect();
    assert_eq!(told[1], "Flow key: source. The attackers count as 2 users.");
    let one = "Flow key: source. The attackers count as one user.";
    assert_eq!([told[0], told[2], told[3]], [one; 3], "one address, forty of one host, one");
}

#[test]
fn only_presets_auto_have_a_cost() {
    let suite = small();
    let queues = ["drr", "drr/auto", "drr as mine", "drr/paper", "drr,classes=64"];
    let mut asked = asked(&suite, &queues);
    asked.tests = vec![1];
    let results = suite::run(&asked, None, &()).unwrap();
    let scores = Scores::of(&suite, &results);
    for of in &scores.queues {
        assert_eq!(of.ns.is_some(), of.queue < 3, "{}", results.queues[of.queue]);
    }
}

/// Behind drop-tail forty forged senders are as bad as one who sends as much; the fair share is not
/// what they dilute it to.
#[test]
fn forged_addresses_are_no_users() {
    let suite = small();
    let results = suite::run(&asked(&suite, &["drr"]), None, &()).unwrap();
    let scores = Scores::of(&suite, &results);
    let share = |cell: usize| scores.cell(cell, 0).unwrap().figures[2].unwrap().mean();
    // Four Mbit/s among three users, one light sender of .032 and one attacker: .99 Mbit/s each.
    // Behind drr each of 44 keys gets a 44th: about a tenth of that.
    assert!(share(0) > 0.9, "{}", share(0));
    assert!((0.06..0.2).contains(&share(2)), "{}", share(2));
}

#[test]
fn times_to_detect_and_to_recover() {
    let suite = small();
    let results = suite::run(&asked(&suite, &["drop_tail", "drr"]), None, &()).unwrap();
    let scores = Scores::of(&suite, &results);
    let time =
        |queue: usize, which: usize| scores.cell(3, queue).unwrap().figures[which].unwrap().mean();
    assert_eq!(time(0, 0), 3.0, "behind drop-tail users have no share until the attack ends");
    assert!(time(1, 0) < 1.0, "{}", time(1, 0));
    assert!(time(0, 1) > time(1, 1) && time(0, 1) < 3.0);
}

#[test]
fn what_is_stored_is_not_run_again() {
    let suite = small();
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("small");
    suite::prepare(&dir, &suite).unwrap();
    let ran = |queues: &[&str]| {
        let counter = Counter::default();
        let results = suite::run(&asked(&suite, queues), Some(&dir), &counter).unwrap();
        (suite::json(&suite, &results, &Scores::of(&suite, &results)), counter.0.into_inner())
    };
    let (first, count) = ran(&["drop_tail", "drr"]);
    assert_eq!(count, 4 * 2 * 2);
    let (second, count) = ran(&["drop_tail", "drr"]);
    assert_eq!((count, &second), (0, &first));
    // Another label is the same queue.
    assert_eq!(ran(&["drop_tail", "drr as mine"]).1, 0);
    assert_eq!(ran(&["drop_tail", "drr", "red"]).1, 4 * 2);
}

/// A queue of one's own does as the catalog's does, and is run each time: it may have changed.
#[test]
fn a_queue_of_ones_own() {
    let build = |link, dice| tidegate::catalog::config("drr", None, &link)?.build(link, dice);
    let suite = small();
    let base = tempfile::tempdir().unwrap();
    let mut asked = asked(&suite, &["drr"]);
    asked.queues.push(QueueSpec::foreign(Foreign::new("mine", build).unwrap()));
    for ran in [16, 8] {
        let counter = Counter::default();
        let results = suite::run(&asked, Some(base.path()), &counter).unwrap();
        let scores = Scores::of(&suite, &results);
        for cell in 0..4 {
            let [own, known] = [1, 0].map(|queue| scores.cell(cell, queue).unwrap());
            assert_eq!(own.figures, known.figures);
        }
        assert!(counter.0.into_inner() <= ran);
        let mine = scores.queues.iter().find(|of| of.queue == 1).unwrap();
        assert_eq!((mine.state_bytes, mine.ns), (None, None));
    }
}

#[test]
fn a_broken_description_names_the_place() {
    let cases = [
        ("version = 3", "version = 0", "small/suite.toml:3:11: version = 0: must be a whole"),
        (
            "bound = 0.5",
            "bound = 2",
            "small/suite.toml:5:9: bound = 2: must be a number from 0 to 1",
        ),
        (
            "test = \"B\"",
            "test = \"C\"",
            "cell.test = C: there is no such [[test]]; known are A, B",
        ),
        ("id = \"B\"", "id = \"A\"", "another test is called that too"),
        ("name = \"{n}\"", "name = \"forged\"", "another cell of the test is called that too"),
        ("quick = [2]", "quick = [3]", "3 is no value of `vary.n`"),
        (
            "flood.count={n}",
            "flod.count={n}",
            "small/suite.toml:18:7: group.flod.count: there is no `flod` here",
        ),
        ("active=[\"3 s..6 s\"]", "stop=6 s", "each attacker needs one period in `active`"),
        ("\"3 s..6 s\"", "\"3 s..9 s\"", "end a second or more before the run does (9 s)"),
        ("\"detect\", ", "\"detct\", ", "did you mean `detect`?"),
        ("count_as = 1", "count_as = 0", "must be a whole number from 1"),
        ("scenario = \"line.toml\"", "scenario = \"lin.toml\"", "did you mean `line.toml`?"),
        ("count_as = 1", "users = [\"nobody\"]", "the scenario has no group `nobody`"),
        ("attack = true", "atack = true", "did you mean `attack`?"),
    ];
    for (from, to, said) in cases {
        assert!(SUITE.contains(from), "{from}");
        let text = SUITE.replacen(from, to, 1);
        let error = Suite::read(&folder(&text)).expect_err(to).to_string();
        assert!(error.contains(said), "{to}: {error}");
    }
    let nobody = small().tests(&["Z".into()]).unwrap_err().to_string();
    assert!(nobody.contains("there is no such test; those are A, B"), "{nobody}");
}
