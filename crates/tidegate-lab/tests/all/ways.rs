//! What a managed link does besides, and its way back: read, written, refused with the place, and
//! what follows in a run.
use crate::jobs::overrides;
use tidegate_lab::{Job, Scenario, check, run};
use tidegate_report::Document;

const HEAD: &str = "[run]\nduration = \"12 s\"\nwarmup = \"2 s\"\nseeds = 1\n";
const GROUPS: &str = "[[group]]\nname = \"tcp\"\ncount = 3\nsource = \"sack\"\necn = \"on\"\n";
const DUMBBELL: &str = "[network]\nrate = \"8 Mbit/s\"\nlimit = \"40 packets\"\n";

fn parse(text: &str, file: &str, sets: &[&str]) -> Result<Scenario, String> {
    Scenario::parse(text.as_bytes(), file, &overrides(sets)).map_err(|e| e.to_string())
}

fn read(network: &str, sets: &[&str]) -> Result<Scenario, String> {
    parse(&format!("{HEAD}{network}{GROUPS}"), "test.toml", sets)
}

fn good(network: &str) -> Scenario {
    read(network, &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn result(scenario: Scenario) -> Document {
    let queue = scenario.queue.clone();
    let job = Job { scenario, queues: vec![queue], flows: true, series: false, threads: Some(1) };
    let document = run(&job, &()).unwrap().remove(0).document;
    Document { wall_s: None, ..document }
}

const ALL: &str = r#"capacity = ["2 Mbit/s from 4 s", "0 bit/s from 6 s", "8 Mbit/s from 7 s"]
loss = "gilbert_elliott(0.5 %, 0.3)"
jitter = "exponential(2 ms)"
reorder = "on"
bleach = "behind"
back = { rate = "400 kbit/s", limit = "20 packets", queue = "sfb", loss = 0.01 }
"#;

#[test]
fn what_is_written_is_read_again() {
    let scenario = good(&format!("{DUMBBELL}{ALL}"));
    let written = scenario.resolved();
    for line in [
        "capacity = \"2 Mbit/s from 4 s:0 bit/s from 6 s:8 Mbit/s from 7 s\"",
        "loss = \"gilbert_elliott(0.005, 0.3, 1, 0)\"",
        "jitter = \"exponential(2 ms)\"",
        "[network.back]\nrate = \"400 kbit/s\"\ndelay = \"10 ms\"\nlimit = \"20 packets\"\nqueue = \"sfb",
        "loss = \"0.01\"\njitter = \"0 ns\"\nreorder = \"off\"\nbleach = \"off\"",
    ] {
        assert!(written.contains(line), "{line}\nis not in\n{written}");
    }
    assert_eq!(parse(&written, "test.toml", &[]).unwrap().resolved(), written);
    // What does nothing besides says nothing of it.
    let plain = good(&format!("{DUMBBELL}capacity = \"fixed\"\nloss = 0\njitter = \"0 s\"\n"));
    assert_eq!(plain.resolved(), good(DUMBBELL).resolved());
    assert!(!plain.resolved().contains("capacity"));
}

#[test]
fn every_key_can_be_set() {
    let sets = [
        "network.capacity=[\"2 Mbit/s from 4 s\"]",
        "network.loss=1 %",
        "network.jitter=uniform(0 ms, 3 ms)",
        "network.reorder=on",
        "network.bleach=before",
        "network.back.rate=1 Mbit/s",
        "network.back.limit=2 × bdp",
        "network.back.loss=gilbert_elliott(0.01, 0.5, 0.9, 0)",
    ];
    let text = read(DUMBBELL, &sets).unwrap().resolved();
    for line in [
        "capacity = \"2 Mbit/s from 4 s\"",
        "loss = \"0.01\"",
        "bleach = \"before\"",
        "[network.back]\nrate = \"1 Mbit/s\"",
        "loss = \"gilbert_elliott(0.01, 0.5, 0.9, 0)\"",
    ] {
        assert!(text.contains(line), "{line}\nis not in\n{text}");
    }
    // A length of the way back that is a time is one at its own rate: 100 ms of 1 Mbit/s.
    let sets = ["network.back.rate=1 Mbit/s", "network.back.limit=100 ms"];
    let text = read(DUMBBELL, &sets).unwrap().resolved();
    let limit = "[network.back]\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\nlimit = \"13 packets\"";
    assert!(text.contains(limit), "{text}");
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let refused = |network: &str, line: usize, field: &str, why: &str| {
        let error = read(network, &[]).expect_err(why);
        let place = format!("test.toml:{line}");
        assert!(
            error.contains(&place) && error.contains(field) && error.contains(why),
            "{error}\nlacks {place} {field}: {why}"
        );
    };
    let one = |key: &str, field: &str, why: &str| {
        refused(&format!("{DUMBBELL}{key}\n"), 8, &format!("network.{field}"), why);
    };
    one("capacity = \"1 s\"", "capacity", "RATE from TIME");
    one("capacity = [\"2 Mbit/s from 2 s\", \"1 Mbit/s from 1 s\"]", "capacity", "must be later");
    one("capacity = \"9000 Gbit/s from 1 s\"", "capacity", "must lie in 0 bit/s to 1000 Gbit/s");
    one("capacity = \"trace(no.trace)\"", "capacity", "no.trace: ");
    one("capacity = \"walk(1 kbit/s, 2 kbit/s, 1 bit/s, 1 s)\"", "capacity", "begins at the rate");
    let walk = "capacity = \"walk(1 Mbit/s, 9 Mbit/s, 1 bit/s, 100 us)\"";
    let long = format!("{HEAD}{DUMBBELL}{walk}\n{GROUPS}").replace("12 s", "200 s");
    let error = parse(&long, "test.toml", &[]).unwrap_err();
    assert!(error.contains("makes 2000000 steps in 200 s; fewer than 1000000"), "{error}");
    one("loss = 1.5", "loss", "a probability lies in 0 to 1");
    one("loss = \"gilbert(1)\"", "loss", "gilbert_elliott(P, R, BAD, GOOD)");
    one("jitter = \"11 s\"", "jitter", "must lie in 0 ns to 10 s");
    one("reorder = \"yes\"", "reorder", "must be one of off | on");
    one("bleach = \"behin\"", "bleach", "must be one of off | before | behind");
    one("back = 3", "back", "must be a table");
    one("back = { speed = 3 }", "back.speed", "no such key");
    one("back = { loss = 0.1 }", "back.loss", "has no limit");
    one("back = { queue = \"sfb\" }", "back.queue", "needs a limit");
    one("back = { limit = \"3 B\" }", "back.limit", "one packet");
    one("back = { limit = \"9 packets\", queue = \"sfbb\" }", "back.queue", "did you mean");
    let graph = "[network]\nkind = \"graph\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\n\
                 rate = \"1 Mbit/s\"\nloss = 0.1\n";
    refused(graph, 11, "link.1.loss", "has no limit");
    let chain = "[network]\nkind = \"parking_lot\"\nrate = \"8 Mbit/s\"\nlimit = \"9 packets\"\n";
    let walk = format!("{chain}capacity = \"walk(1 kbit/s, 2 kbit/s, 1 bit/s, 1 s)\"\n");
    refused(&walk, 9, "network.capacity", "begins at the rate");
}

/// The same network in two ways of writing: every figure is the same.
#[test]
fn a_dumbbell_with_a_way_back_is_a_graph_of_one_link() {
    let dumbbell = result(good(&format!("{DUMBBELL}{ALL}")));
    let link = format!(
        "[network]\nkind = \"graph\"\n[[link]]\nfrom = \"left\"\nto = \"right\"\n\
         rate = \"8 Mbit/s\"\nlimit = \"40 packets\"\n{ALL}"
    );
    let ends = "from = \"left\"\nto = \"right\"\naccess_rate = \"100 Mbit/s\"\n";
    let text = format!("{HEAD}{link}{GROUPS}{ends}");
    let graph = result(parse(&text, "test.toml", &[]).unwrap());
    assert_eq!(dumbbell.to_json(), graph.to_json());
    assert_eq!(dumbbell.links.len(), 2);
    assert_eq!(dumbbell.links[1].name, "right->left");
    assert!(dumbbell.links[1].loss_ratio.is_some());
}

/// Two seconds of ten at 2 Mbit/s, one without any, seven at 8: 60 of 80 Mbit.
#[test]
fn fair_shares_go_by_what_the_link_could_carry() {
    let steps = "capacity = [\"2 Mbit/s from 4 s\", \"0 bit/s from 6 s\", \"8 Mbit/s from 7 s\"]\n";
    let scenario = good(&format!("{DUMBBELL}{steps}"));
    let found = check(&scenario, &[]).unwrap();
    assert_eq!(found.groups[0].fair_share.as_bps(), 2_000_000);
    assert_eq!(found.rate.as_bps(), 8_000_000, "queues are fitted to the rate that is said");
    let document = result(scenario);
    let used = document.aggregate.utilization.unwrap().mean();
    let got = document.groups[0].throughput_bps.unwrap().mean();
    assert!((used - got / 6e6).abs() < 0.01, "{used} {got}");
    assert!(used > 0.8 && used <= 1.0, "{used}");
}

#[test]
fn a_walk_is_drawn_for_each_seed_and_a_trace_is_read_beside_the_scenario() {
    let walk = "capacity = \"walk(1 Mbit/s, 15 Mbit/s, 2 Mbit/s, 100 ms)\"\n";
    let of = |seed: &str| {
        let set = format!("run.seed={seed}");
        result(read(&format!("{DUMBBELL}{walk}"), &[&set]).unwrap())
    };
    let share = |d: &Document| d.groups[0].fair_share_bps.unwrap().mean();
    assert_eq!(share(&of("1")), share(&of("1")));
    assert!(share(&of("1")) != share(&of("2")));

    let directory = tempfile::tempdir().unwrap();
    // 1500 bytes every 2 ms: 6 Mbit/s.
    let lines: String = (1..=500).map(|i| format!("{}\n", 2 * i)).collect();
    std::fs::write(directory.path().join("six.trace"), lines).unwrap();
    let file = directory.path().join("s.toml");
    let text = format!("{HEAD}{DUMBBELL}capacity = \"trace(six.trace)\"\n{GROUPS}");
    let scenario = parse(&text, file.to_str().unwrap(), &[]).unwrap();
    let share = check(&scenario, &[]).unwrap().groups[0].fair_share.as_bps();
    assert_eq!(share, 2_000_000);
    let document = result(scenario);
    let got = document.groups[0].throughput_bps.unwrap().mean();
    assert!(got > 5.0e6 && got < 6.01e6, "{got}");
    std::fs::write(directory.path().join("six.trace"), "1\n0\n").unwrap();
    let error = parse(&text, file.to_str().unwrap(), &[]).unwrap_err();
    assert!(error.contains("six.trace: line 2 = 0: time runs back"), "{error}");
}

/// Three queues in a row, each over a link that loses one packet in fifty: what arrives of a flood
/// that no queue drops is .98 cubed of it.
#[test]
fn every_link_of_a_chain_does_what_the_chain_says() {
    let chain = "[network]\nkind = \"parking_lot\"\nhops = 3\nrate = \"8 Mbit/s\"\n\
                 limit = \"40 packets\"\nloss = \"2 %\"\njitter = \"uniform(0 ms, 2 ms)\"\n";
    let flood = "[[group]]\nname = \"udp\"\nsource = \"cbr\"\nrate = \"4 Mbit/s\"\n";
    let document = result(parse(&format!("{HEAD}{chain}{flood}"), "test.toml", &[]).unwrap());
    assert_eq!(document.links.len(), 3);
    let part = document.groups[0].throughput_bps.unwrap().mean() / 4e6;
    // 5000 packets: a deviation is .3 %.
    let expected = 0.98 * 0.98 * 0.98;
    assert!((part - expected).abs() < 0.02, "{part}");
    let lost = document.groups[0].wire_loss_ratio.unwrap().mean();
    assert!((lost - (1.0 - expected)).abs() < 0.02, "{lost}");
    for link in &document.links {
        let lost = link.wire_loss_ratio.unwrap().mean();
        assert!((lost - 0.02).abs() < 0.01, "{lost}");
        assert_eq!(link.loss_ratio.unwrap().mean(), 0.0, "no drop of the queue");
    }
    let text = document.to_json();
    assert_eq!(text.matches("wire_loss_ratio").count(), 5, "links, the watched one, the group");
    let plain = parse(&format!("{HEAD}{DUMBBELL}{flood}"), "test.toml", &[]).unwrap();
    assert!(!result(plain).to_json().contains("wire_loss_ratio"));
}

/// On an asymmetric path acknowledgements fill the way back, and their queue drops: 8 Mbit/s of
/// packets of 1000 bytes have 320 kbit/s of acknowledgements.
#[test]
fn acknowledgements_queue_on_a_slow_way_back() {
    let with = |rate: &str| {
        let back = format!(
            "back = {{ rate = \"{rate}\", limit = \"20 packets\", queue = \"drop_tail\" }}\n"
        );
        result(good(&format!("{DUMBBELL}{back}")))
    };
    let (slow, fast) = (with("160 kbit/s"), with("2 Mbit/s"));
    let used = |d: &Document| [0, 1].map(|i| d.links[i].utilization.unwrap().mean());
    assert!(used(&slow)[1] > 0.99 && used(&fast)[1] < 0.25, "{:?} {:?}", used(&slow), used(&fast));
    assert!(slow.links[1].loss_ratio.unwrap().mean() > 0.1);
    assert_eq!(fast.links[1].loss_ratio.unwrap().mean(), 0.0);
    assert!(used(&fast)[0] > 0.95);
}
