//! The scenario reader: what it accepts, how it refuses, and that what it writes it reads again.
use proptest::prelude::*;
use tidegate::Span;
use tidegate::config::Value;
use tidegate_lab::scenario::{Connection, Drawn, Network, Source, Start};
use tidegate_lab::{Override, Place, Problem, Problems, Scenario};

const GOOD: &str = r#"
title = "A flood against twenty TCP users"

[run]
duration = "60 s"
warmup = "10 s"
seeds = 5
flow_key = "source-prefix/24"

[network]
kind = "dumbbell"
rate = "10 Mbit/s"
limit = "100 packets"

[queue]
name = "drop_tail"

[compare]
queues = ["drop_tail", "drop_tail/paper as plain"]

[[group]]
name = "tcp"
count = 20
source = "newreno"
ecn = "on"

[[group]]
name = "flood"
source = "cbr"
rate = "20 Mbit/s"
start = "1 s"
access_delay = ["1 ms", "5 ms"]
"#;

const GRAPH: &str = r#"
[network]
kind = "graph"
[[link]]
from = "A"
to = "B"
rate = "45 Mbit/s"
delay = "10 ms"
limit = "200 kB"
[[link]]
from = "B"
to = "C"
rate = "45 Mbit/s"
[[group]]
name = "tcp"
source = "newreno"
from = "A"
to = ["B", "C"]
"#;

fn parse(text: &str, sets: &[&str]) -> Result<Scenario, Problems> {
    Scenario::parse(text.as_bytes(), "dir/flood.toml", &crate::jobs::overrides(sets))
}

fn refused(text: &str, sets: &[&str]) -> Problem {
    match parse(text, sets) {
        Ok(_) => panic!("accepted, but should not be:\n{text}\n{sets:?}"),
        Err(problems) => problems.list()[0].clone(),
    }
}

/// `GOOD` with the line `from` replaced.
fn changed(from: &str, to: &str) -> String {
    crate::refusals::changed(GOOD, from, to)
}

#[test]
fn a_good_scenario_is_read() {
    let s = parse(GOOD, &[]).unwrap();
    assert_eq!((s.name.as_str(), s.flows(), s.run.seeds, s.run.seed), ("flood", 21, 5, 1));
    assert_eq!(s.seeds(), [1, 2, 3, 4, 5]);
    assert_eq!(s.run.flow_key.0.to_string(), "source-prefix/24");
    let Network::Dumbbell(net, _) = &s.network else { panic!() };
    assert_eq!(
        (net.rate.to_string(), net.access_delay.to_string()),
        ("10 Mbit/s".into(), "2 ms".into())
    );
    assert_eq!(s.compare[1].label(), "plain");
    assert_eq!(
        (s.groups[0].hosts, s.groups[1].hosts),
        (20, 1),
        "one host per flow unless said otherwise"
    );
    assert_eq!(s.groups[0].start, Start::default());
    assert_eq!(s.groups[1].start, Start::Each(Drawn::always(Span::from_secs(1.0))));
    let Source::Cbr(cbr) = &s.groups[1].source else { panic!() };
    assert_eq!((cbr.rate.as_bps(), cbr.jitter), (20_000_000, 0.5));
}

#[test]
fn groups_have_classes_and_queues_values_for_each() {
    let s = parse(GOOD, &[]).unwrap();
    assert_eq!(
        (s.groups[0].class.given(), s.groups[1].class.given()),
        (&[0][..], &[1][..]),
        "a group's place unless said otherwise"
    );
    let queue = "name = \"wfq\"\nweights = [2, 1.5]\nbuffers = \"3:1\"\n";
    let text =
        changed("name = \"drop_tail\"\n", queue).replacen("count = 20", "count = 20\nclass = 7", 1);
    for s in
        [parse(&text, &[]).unwrap(), parse(&parse(&text, &[]).unwrap().resolved(), &[]).unwrap()]
    {
        assert_eq!((s.groups[0].class.given(), s.groups[1].class.given()), (&[7][..], &[1][..]));
        let config = s.queue.resolve(&s.bottleneck()).unwrap();
        assert_eq!(
            (config.get("weights").unwrap(), config.get("buffers").unwrap()),
            ("2:1.5".into(), "3:1".into())
        );
    }
    let s = parse(GOOD, &["queue={ name = \"wfq\", weights = [4, 1] }", "group.flood.class=0"])
        .unwrap();
    assert_eq!((s.queue.params[0].1.as_str(), s.groups[1].class.given()), ("4:1", &[0][..]));
    let dealt = parse(GOOD, &["group.tcp.class=[3, 0, 5]"]).unwrap();
    assert_eq!([0, 1, 2, 3, 4].map(|flow| dealt.groups[0].class.of(flow)), [3, 0, 5, 3, 0]);
    assert_eq!(
        parse(&dealt.resolved(), &[]).unwrap().groups,
        dealt.groups,
        "and written as a list"
    );
}

#[test]
fn a_graph_watches_its_first_managed_link() {
    let s = parse(GRAPH, &[]).unwrap();
    let Network::Graph(graph) = &s.network else { panic!() };
    assert_eq!(graph.links.iter().map(|l| l.watch).collect::<Vec<_>>(), [true, false]);
    assert_eq!(s.bottleneck().limit.to_string(), "200 kB");
}

#[test]
fn overrides_reach_every_kind_of_field() {
    let s = parse(
        GOOD,
        &[
            "run.duration=20 s",
            "group.flood.rate=45 Mbit/s",
            "group.tcp.count=3",
            "queue.name=drop_tail",
        ],
    )
    .unwrap();
    assert_eq!(s.run.duration.as_secs(), 20.0);
    assert_eq!(s.groups[0].count, 3);
    let Source::Cbr(cbr) = &s.groups[1].source else { panic!() };
    assert_eq!(cbr.rate.as_bps(), 45_000_000);
    let s = parse(GOOD, &["group.tcp.start=uniform(0 s, 2 s)", "group.2.access_delay=[\"3 ms\"]"])
        .unwrap();
    assert_eq!(s.groups[0].start, Start::Each(Drawn::uniform(Span::ZERO, Span::from_secs(2.0))));
    assert_eq!(s.groups[1].access_delay, Some(Drawn::always(Span::from_millis(3))));
    let s = parse(GRAPH, &["link.2.rate=1 Gbit/s", "run.seeds=2"]).unwrap();
    let Network::Graph(graph) = &s.network else { panic!() };
    assert_eq!((graph.links[1].rate.as_bps(), s.run.seeds), (1_000_000_000, 2));
}

#[test]
fn an_error_shows_the_place() {
    let text = changed("rate = \"10 Mbit/s\"", "rate = \"10 mbps\"");
    let shown = parse(&text, &[]).unwrap_err().to_string();
    let expected = "dir/flood.toml:12:9: network.rate = 10 mbps: `mbps` is ambiguous (tc reads it \
                    as bytes per second): \
                    write \"10 Mbit/s\" or \"10 MB/s\"\n 12 | rate = \"10 mbps\"\n    |         ^^^^^^^";
    assert_eq!(shown, expected);
}

#[test]
fn several_mistakes_are_found_at_once() {
    let text = GOOD
        .replace("\"60 s\"", "\"60 sec\"")
        .replace("seeds = 5", "seed = 0.5")
        .replace("\"newreno\"\necn", "\"udp\"\necn");
    let problems = parse(&text, &[]).unwrap_err();
    let fields: Vec<_> = problems.list().iter().map(|p| p.field.as_str()).collect();
    assert_eq!(fields, ["run.duration", "run.seed", "group.tcp.source"]);
}

/// What is changed in `GOOD`, and then: the field, the value, and a part of the message.
const BAD: &[(&str, &str, &str, &str, &str)] = &[
    ("\"60 s\"", "\"60 packets\"", "run.duration", "60 packets", "not a unit of a time"),
    ("\"60 s\"", "60", "run.duration", "60", "needs a unit"),
    ("\"60 s\"", "[\"60 s\"]", "run.duration", "", "must be a time, not a list"),
    ("\"60 s\"", "true", "run.duration", "", "must be a time, not true or false"),
    ("\"60 s\"", "\"0 s\"", "run.duration", "0 ns", "must lie in 1 ms to"),
    ("\"10 s\"", "\"60 s\"", "run.warmup", "60 s", "must be less than run.duration, 60 s"),
    ("seeds = 5", "seeds = \"5\"", "run.seeds", "5", "without quotes"),
    ("seeds = 5", "seeds = 0", "run.seeds", "0", "must lie in 1 to 10000"),
    ("seeds = 5", "seeds = 10001", "run.seeds", "10001", "must lie in 1 to 10000"),
    ("seeds = 5", "seeds = 2.5", "run.seeds", "2.5", "whole number"),
    ("seeds = 5", "seeds = -1", "run.seeds", "-1", "whole number from 1 to 10000"),
    (
        "seeds = 5",
        "seeds = 99_999_999_999_999_999_999",
        "run.seeds",
        "99_999_999_999_999_999_999",
        "from 1 to 10000",
    ),
    (
        "seeds = 5",
        "seeds = -99999999999999999999",
        "run.seeds",
        "-99999999999999999999",
        "from 1 to 10000",
    ),
    ("seeds = 5", "seeds = +99999999999999999999", "", "", ""),
    (
        "count = 20",
        "count = -1",
        "group.tcp.count",
        "-1",
        "must be a whole number from 1 to 1000000",
    ),
    (
        "count = 20",
        "count = 99999999999999999999",
        "group.tcp.count",
        "99999999999999999999",
        "from 1 to 1000000",
    ),
    ("start = \"1 s\"", "jitter = 1e400", "group.flood.jitter", "1e400", "too large"),
    (
        "title = \"A flood against twenty TCP users\"",
        "title = 99999999999999999999",
        "title",
        "99999999999999999999",
        "a text",
    ),
    ("\"60 s\"", "\"30 m\"", "run.duration", "30 m", "use s, ms, us, ns, min, h"),
    (
        "rate = \"10 Mbit/s\"",
        "rate = \"3 furlongs\"",
        "network.rate",
        "3 furlongs",
        "Gbit/s, Mb/s, MB/s",
    ),
    (
        "rate = \"10 Mbit/s\"",
        "rate = \"1e309 Mbit/s\"",
        "network.rate",
        "1e309 Mbit/s",
        "too large to be meant",
    ),
    (
        "plain\"]",
        "plain\", \"drop_tail\"]",
        "compare.queues",
        "drop_tail",
        "another queue is called that too",
    ),
    ("seeds = 5", "seeds = nan", "run.seeds", "NaN", "does not begin with a number"),
    (
        "seeds = 5",
        "series = \"100 us\"",
        "run.series",
        "100 us",
        "makes 600000 points of run.duration = 60 s (line 5); at most 100000 can be: series = \
         \"600 us\"",
    ),
    ("seeds = 5", "durration = \"1 s\"", "run.durration", "", "did you mean `duration`?"),
    ("seeds = 5", "colour = 3", "run.colour", "", "[run] knows duration, warmup"),
    (
        "\"source-prefix/24\"",
        "\"5-tuple\"",
        "run.flow_key",
        "5-tuple",
        "did you mean `five-tuple`?",
    ),
    (
        "rate = \"10 Mbit/s\"",
        "rate = \"-10 Mbit/s\"",
        "network.rate",
        "-10 Mbit/s",
        "cannot be negative",
    ),
    (
        "rate = \"10 Mbit/s\"",
        "rate = \"fast\"",
        "network.rate",
        "fast",
        "does not begin with a number",
    ),
    (
        "rate = \"10 Mbit/s\"",
        "rate = \"10 mbps\"",
        "network.rate",
        "10 mbps",
        "\"10 Mbit/s\" or \"10 MB/s\"",
    ),
    ("rate = \"10 Mbit/s\"", "rate = \"0 bit/s\"", "network.rate", "0 bit/s", "must lie in"),
    ("rate = \"10 Mbit/s\"\n", "", "network.rate", "", "this key is required"),
    ("\"100 packets\"", "\"0 packets\"", "network.limit", "0 packets", "must lie in"),
    ("\"100 packets\"", "\"999 B\"", "network.limit", "999 B", "at least one packet"),
    ("\"100 packets\"", "\"100\"", "network.limit", "100", "needs a unit"),
    (
        "kind = \"dumbbell\"",
        "kind = \"dumbell\"",
        "network.kind",
        "dumbell",
        "did you mean `dumbbell`?",
    ),
    (
        "kind = \"dumbbell\"",
        "kind = \"graph\"",
        "network.rate",
        "",
        "no such key; a graph's [network]",
    ),
    ("\"drop_tail\"\n", "\"droptail\"\n", "queue", "droptail", "did you mean `drop_tail`?"),
    (
        "\"drop_tail\"\n",
        "\"drop_tail\"\npreset = \"papr\"\n",
        "queue.preset",
        "papr",
        "did you mean `paper`?",
    ),
    ("\"drop_tail\"\n", "\"drop_tail\"\nmin = 3\n", "queue.min", "3", "no such parameter"),
    (
        "\"drop_tail\"\n",
        "\"drop_tail\"\nmin = [[3]]\n",
        "queue.min",
        "",
        "must be a text, a number or a list of these",
    ),
    (
        "\"drop_tail\"\n",
        "\"wfq\"\nweights = [2, 0]\n",
        "queue.weights",
        "2:0",
        "must lie in 0.01 to 10000",
    ),
    ("\"drop_tail\"\n", "\"wfq\"\nweights = []\n", "queue.weights", "", "a number is missing"),
    (
        "count = 20",
        "count = 20\nclass = 65536",
        "group.tcp.class",
        "65536",
        "must lie in 0 to 65535",
    ),
    (
        "count = 20",
        "count = 20\nclass = [1, 65536]",
        "group.tcp.class",
        "1:65536",
        "must lie in 0 to 65535",
    ),
    ("\"drop_tail\"\n", "\"drop_tail\"\nlabel = \"\"\n", "queue.label", "", "1 to 80 characters"),
    ("name = \"drop_tail\"\n", "", "queue.name", "", "this key is required"),
    ("[\"drop_tail\", ", "[\"sbf\", ", "compare.queues.1", "sbf", "no such queue"),
    ("[\"drop_tail\", ", "[\"red,min\", ", "compare.queues", "red,min", "param=value"),
    ("queues = [", "queue = [", "compare.queue", "", "did you mean `queues`?"),
    ("[compare]\n", "[[compare]]\n", "compare", "", "must be a table, not a list"),
    (
        "count = 20",
        "count = 1000000000",
        "group.tcp.count",
        "1000000000",
        "must lie in 1 to 1000000",
    ),
    ("count = 20", "count = 0", "group.tcp.count", "0", "must lie in 1 to 1000000"),
    ("count = 20", "count = 1000000", "group", "", "1000001 flows together; at most 1000000"),
    (
        "count = 20",
        "count = 20\nhosts = 21",
        "group.tcp.hosts",
        "21",
        "cannot be more than the flows",
    ),
    ("count = 20", "count = 70000\nhosts = 1", "group.tcp.hosts", "1", "at most 60000 connections"),
    (
        "count = 20",
        "count = 20\nstop = \"500 ms\"",
        "group.tcp.stop",
        "500 ms",
        "not after the start",
    ),
    (
        "count = 20",
        "count = 20\nfrom = \"A\"",
        "group.tcp.from",
        "A",
        "is for [network] kind = \"graph\"",
    ),
    (
        "source = \"newreno\"",
        "source = \"newrneo\"",
        "group.tcp.source",
        "newrneo",
        "did you mean `newreno`?",
    ),
    (
        "source = \"newreno\"\n",
        "soruce = \"newreno\"\n",
        "group.tcp.soruce",
        "",
        "no such key; did you mean `source`?",
    ),
    (
        "source = \"newreno\"\n",
        "",
        "group.tcp.source",
        "",
        "this key is required: one of reno | newreno | sack",
    ),
    (
        "ecn = \"on\"",
        "loss_recovery = \"sack\"",
        "group.tcp.loss_recovery",
        "",
        "no such key; a newreno",
    ),
    (
        "source = \"newreno\"",
        "source = \"cubic\"\nbeta = 1",
        "group.tcp.beta",
        "1",
        "must lie in 0.1 to 0.95",
    ),
    (
        "source = \"newreno\"",
        "source = \"aimd\"\nb = 1",
        "group.tcp.b",
        "1",
        "must lie in 0.01 to 0.99",
    ),
    (
        "source = \"newreno\"",
        "source = \"aimd\"\nreading = \"left\"",
        "group.tcp.reading",
        "left",
        "must be one of retained | removed",
    ),
    (
        "source = \"newreno\"",
        "source = \"binomial\"\nbeta = 1.5\nreading = \"ns2\"",
        "group.tcp.beta",
        "1.5",
        "must lie in 0 to 1 with reading = \"ns2\"",
    ),
    (
        "source = \"newreno\"\necn = \"on\"",
        "source = \"dctcp\"\necn = \"off\"",
        "group.tcp.ecn",
        "off",
        "must be on: dctcp counts marks",
    ),
    (
        "source = \"newreno\"",
        "source = \"vegas\"\nalpha = 4\nbeta = 3",
        "group.tcp.beta",
        "3",
        "must be at least alpha, 4",
    ),
    (
        "source = \"newreno\"",
        "source = \"newreno\"\nreceiver = \"divide\"\nreceiver_acks = 1",
        "group.tcp.receiver_acks",
        "1",
        "must lie in 2 to 1000",
    ),
    (
        "source = \"newreno\"\necn = \"on\"",
        "source = \"newreno\"\nreceiver = \"hide_marks\"",
        "group.tcp.receiver",
        "hide_marks",
        "set ecn = \"on\"",
    ),
    (
        "source = \"newreno\"",
        "source = \"newreno\"\nreceiver_acks = 5",
        "group.tcp.receiver_acks",
        "5",
        "is for a receiver that divides",
    ),
    (
        "source = \"newreno\"",
        "source = \"newreno\"\nreceiver = \"repeat\"\ndelayed_ack = \"40 ms\"",
        "group.tcp.delayed_ack",
        "40 ms",
        "must be 0 s with a receiver that cheats",
    ),
    (
        "source = \"newreno\"",
        "source = \"newreno\"\nreceiver = \"divides\"",
        "group.tcp.receiver",
        "divides",
        "must be one of honest | divide | repeat | anticipate | hide_marks",
    ),
    (
        "source = \"newreno\"",
        "source = \"cbr\"\nrate = \"1 Mbit/s\"\nforge = \"victims\"",
        "group.tcp.forge",
        "victims",
        "nobody to forge",
    ),
    (
        "source = \"newreno\"",
        "source = \"cbr\"\nrate = \"1 Mbit/s\"\nforge = 0",
        "group.tcp.forge",
        "0",
        "must lie in",
    ),
    (
        "source = \"newreno\"",
        "source = \"on_off\"\nrate = \"1 Mbit/s\"\nforge = \"users\"",
        "group.tcp.forge",
        "users",
        "`victims`",
    ),
    (
        "source = \"newreno\"",
        "source = \"on_off\"\nrate = \"1 Mbit/s\"\nnew_key = \"1 s\"",
        "group.tcp.new_key",
        "1 s",
        "says nothing without forge",
    ),
    (
        "source = \"newreno\"",
        "source = \"ledbat\"\ntarget = \"200 ms\"",
        "group.tcp.target",
        "200 ms",
        "must lie in 1 ms to 100 ms",
    ),
    ("source = \"newreno\"", "source = \"vegas_rem\"\nkappa = 1", "group.tcp.kappa", "1", "unit"),
    (
        "source = \"newreno\"",
        "source = \"web\"\ncongestion = \"cubci\"",
        "group.tcp.congestion",
        "cubci",
        "did you mean `cubic`?",
    ),
    (
        "ecn = \"on\"",
        "ecn = \"yes\"",
        "group.tcp.ecn",
        "yes",
        "must be one of off | on | ect1 | ignore",
    ),
    (
        "ecn = \"on\"",
        "ecn = true",
        "group.tcp.ecn",
        "",
        "must be a off | on | ect1 | ignore, not true or false",
    ),
    ("ecn = \"on\"", "packet = \"40 B\"", "group.tcp.packet", "40 B", "must lie in"),
    (
        "ecn = \"on\"",
        "rate = \"1 Mbit/s\"",
        "group.tcp.rate",
        "",
        "no such key; a newreno [[group]] knows",
    ),
    ("name = \"tcp\"\n", "", "group.1.name", "", "this key is required"),
    ("name = \"tcp\"", "name = \"flood\"", "group.name", "flood", "same name"),
    ("name = \"tcp\"", "name = \"a.b\"", "group.1.name", "a.b", "1 to 40 letters"),
    ("name = \"tcp\"", "name = \"7\"", "group.1.name", "7", "not digits only"),
    ("rate = \"20 Mbit/s\"\n", "", "group.flood.rate", "", "this key is required: a rate"),
    ("start = \"1 s\"", "start = \"60 s\"", "group.flood.start", "60 s", "must be before the end"),
    (
        "start = \"1 s\"",
        "start = \"uniform(2 s, 1 s)\"",
        "group.flood.start",
        "uniform(2 s, 1 s)",
        "begins at 2 s, after its end",
    ),
    ("start = \"1 s\"", "start = \"uniform(2 s, 1)\"", "group.flood.start", "1", "needs a unit"),
    (
        "start = \"1 s\"",
        "start = { uniform = [\"1 s\", \"2 s\"] }",
        "group.flood.start",
        "",
        "list of times, distribution",
    ),
    (
        "start = \"1 s\"",
        "start = \"uniform(-1 s, 1 s)\"",
        "group.flood.start",
        "-1 s",
        "cannot be negative",
    ),
    (
        "start = \"1 s\"",
        "start = \"normal(1 s, 1 s)\"",
        "group.flood.start",
        "normal(1 s, 1 s)",
        "can be negative: add a range",
    ),
    (
        "start = \"1 s\"",
        "start = \"unifrom(0 s, 1 s)\"",
        "group.flood.start",
        "unifrom(0 s, 1 s)",
        "did you mean `uniform`?",
    ),
    (
        "start = \"1 s\"",
        "start = \"pareto(0, 1 s)\"",
        "group.flood.start",
        "0",
        "must lie in 0.01 to 100",
    ),
    (
        "start = \"1 s\"",
        "start = \"exponential(0 s)\"",
        "group.flood.start",
        "exponential(0 s)",
        "above zero",
    ),
    (
        "start = \"1 s\"",
        "start = \"exponential(1 s) in 9 s..2 s\"",
        "group.flood.start",
        "exponential(1 s) in 9 s..2 s",
        "ends before it begins",
    ),
    (
        "start = \"1 s\"",
        "start = \"exponential(1 ms) in 9 s..\"",
        "group.flood.start",
        "exponential(1 ms) in 9 s..",
        "hardly ever",
    ),
    (
        "start = \"1 s\"",
        "start = \"exponential(20 s) in 60 s..\"",
        "group.flood.start",
        "exponential(20 s) in 60 s..",
        "must be before the end",
    ),
    (
        "start = \"1 s\"",
        "access_rate = \"uniform(0 s, 1 s)\"",
        "group.flood.access_rate",
        "uniform(0 s, 1 s)",
        "number",
    ),
    (
        "[\"1 ms\", \"5 ms\"]",
        "\"uniform(1 ms, 101 s)\"",
        "group.flood.access_delay",
        "uniform(1 ms, 101 s)",
        "must lie in 0 ns to 100 s",
    ),
    (
        "start = \"1 s\"",
        "active = [\"3 s..2 s\"]",
        "group.flood.active",
        "3 s..2 s",
        "ends before it begins",
    ),
    (
        "start = \"1 s\"",
        "active = [\"1 s..5 s\", \"4 s..\"]",
        "group.flood.active",
        "4 s..",
        "which ends at 5 s",
    ),
    (
        "start = \"1 s\"",
        "active = [\"1 s..\", \"4 s..\"]",
        "group.flood.active",
        "4 s..",
        "which has no end",
    ),
    ("start = \"1 s\"", "active = [\"1 s\"]", "group.flood.active", "1 s", "FROM..TO"),
    (
        "start = \"1 s\"",
        "start = \"1 s\"\nactive = \"2 s..3 s\"",
        "group.flood.start",
        "1 s",
        "beside active",
    ),
    ("start = \"1 s\"", "jitter = 1.5", "group.flood.jitter", "1.5", "must lie in 0 to 1"),
    (
        "start = \"1 s\"",
        "packet = \"1 MB\"",
        "group.flood.packet",
        "1 MB",
        "must lie in 1 B to 65.535 kB",
    ),
    (
        "[\"1 ms\", \"5 ms\"]",
        "[]",
        "group.flood.access_delay",
        "",
        "must have 1 to 1000 entries, not 0",
    ),
    ("[\"1 ms\", \"5 ms\"]", "[\"1 ms\", \"5\"]", "group.flood.access_delay", "5", "needs a unit"),
    (
        "rate = \"20 Mbit/s\"",
        "rate = \"1 Tbit/s\"",
        "group.flood.rate",
        "1 Tbit/s",
        "not a unit of a rate",
    ),
    (
        "rate = \"20 Mbit/s\"",
        "rate = \"900 Gbit/s\"\npacket = \"1 B\"",
        "run.duration",
        "60 s",
        "at most 1e10 are simulated",
    ),
    ("[[group]]", "[group]", "", "", ""),
    ("title = ", "titel = ", "titel", "", "did you mean `title`?"),
    ("seeds = 5", "seeds = 5\nseeds = 6", "", "", "`seeds` is given twice"),
    ("\"60 s\"", "60 s", "", "", ""),
    ("\"60 s\"", "sixty", "", "", ""),
    ("\"60 s\"", "\"60 s", "", "", ""),
    ("[queue]", "[queue", "", "", ""),
    ("[run]", "[run]\n[run]", "", "", ""),
];

#[test]
fn bad_values_are_named() {
    for (from, to, field, value, why) in BAD {
        let problem = refused(&changed(from, to), &[]);
        let told = format!("{to}\n{problem}");
        assert_eq!((problem.field.as_str(), problem.value.as_str()), (*field, *value), "{told}");
        assert!(problem.why.contains(why), "{told}");
        let Place::Line { line, text, .. } = &problem.place else { panic!("{told}") };
        assert!(
            *line >= 1
                && changed(from, to).lines().nth(line - 1).unwrap().starts_with(text.as_str()),
            "{told}"
        );
    }
}

#[test]
fn the_line_is_the_line_of_the_mistake() {
    for (from, to, ..) in
        BAD.iter().filter(|b| !b.1.is_empty() && !b.2.is_empty() && !b.1.contains('\n'))
    {
        let text = changed(from, to);
        let wanted = text[..GOOD.find(from).unwrap()].matches('\n').count() + 1;
        let problem = refused(&text, &[]);
        let Place::Line { line, .. } = &problem.place else { panic!() };
        // Some mistakes lie between two lines (a missing key, a sum, a wrong order); these point at
        // their table or partner.
        let elsewhere =
            ["required", "flows together", "are simulated", "no such key; a graph's", "same name"];
        if !elsewhere.iter().any(|e| problem.why.contains(e)) {
            assert_eq!(*line, wanted, "{problem}");
        }
    }
}

#[test]
fn a_wrong_kind_of_network_is_one_mistake() {
    for kind in ["grph", "star"] {
        let text = GRAPH.replacen("\"graph\"", &format!("{kind:?}"), 1);
        let problems = parse(&text, &[]).unwrap_err();
        assert_eq!(problems.list().len(), 1, "{problems}");
        assert_eq!(problems.list()[0].field, "network.kind");
    }
}

#[test]
fn too_many_points_say_where_the_duration_comes_from() {
    let problem = refused(GOOD, &["run.duration=1000000 s"]);
    assert_eq!((problem.field.as_str(), problem.value.as_str()), ("run.series", "100 ms"));
    assert_eq!(problem.place, Place::Set("run.duration=1000000 s".into()));
    let said = "this default makes 10000000 points of run.duration = 1000000 s (by --set); at most \
         100000 can be: series = \"10 s\"";
    assert!(problem.why.starts_with(said), "{problem}");
    let problem = refused(GRAPH, &["run.series=100 us"]);
    assert!(problem.why.contains("run.duration = 60 s (the default)"), "{problem}");
}

#[test]
fn a_watched_link_keeps_its_own_queue_and_says_so() {
    let own = GRAPH.replacen("limit = \"200 kB\"", "limit = \"200 kB\"\nqueue = \"red as OWN\"", 1);
    let scenario = parse(&own, &[]).unwrap();
    assert_eq!(scenario.own_queue().label(), "OWN");
    let told = [
        scenario.clone().with_queue("sfb".parse().unwrap()).unwrap_err().to_string(),
        scenario.clone().with_compare(vec!["sfb".parse().unwrap()]).unwrap_err().to_string(),
        parse(&format!("{own}[compare]\nqueues = [\"sfb\"]\n"), &[]).unwrap_err().to_string(),
    ];
    for told in told {
        assert!(told.starts_with("dir/flood.toml:10:"), "{told}");
        assert!(
            told.contains("keeps its own queue")
                && told.contains("remove this key, or set watch = true"),
            "{told}"
        );
    }
    // At a link that is not watched it is nobody's business.
    let other =
        GRAPH.replacen("[[group]]", "limit = \"200 kB\"\nqueue = \"red as OWN\"\n[[group]]", 1);
    let scenario = parse(&other, &[]).unwrap().with_queue("sfb".parse().unwrap()).unwrap();
    assert_eq!(scenario.own_queue().label(), "sfb");
}

#[test]
fn the_same_label_twice_is_refused() {
    let twice = vec!["sfb".parse().unwrap(), "red as sfb".parse().unwrap()];
    let told = parse(GOOD, &[]).unwrap().with_compare(twice).unwrap_err().to_string();
    assert!(
        told.starts_with("queue red as sfb: label = sfb: another queue is called that too"),
        "{told}"
    );
}

/// What a preset makes of one link's rate must not be written down as if it were everybody's.
#[test]
fn a_preset_that_goes_by_the_link_stays_a_preset_on_several() {
    let limit = "limit = \"200 kB\"\n";
    let same = GRAPH.replacen("[[group]]", &format!("{limit}[[group]]"), 1);
    let other =
        same.replacen("to = \"C\"\nrate = \"45 Mbit/s\"", "to = \"C\"\nrate = \"2 Mbit/s\"", 1);
    let resolved = |text: &str| {
        let scenario =
            parse(text, &[]).unwrap().with_queue("sfb/auto,bins=46".parse().unwrap()).unwrap();
        let resolved = scenario.resolved();
        assert_eq!(parse(&resolved, &[]).unwrap().resolved(), resolved);
        resolved
    };
    assert!(resolved(&same).contains("penalty_rate = "), "{}", resolved(&same));
    let text = resolved(&other);
    assert!(
        text.contains("preset = \"auto\"")
            && text.contains("bins = \"46\"")
            && !text.contains("penalty_rate"),
        "{text}"
    );
}

/// What is changed in `GRAPH`, the field, and a part of the message.
const BAD_GRAPHS: &[(&str, &str, &str, &str)] = &[
    ("from = \"A\"\nto = [\"B\", \"C\"]", "from = \"A\"", "group.tcp.to", "required in a graph"),
    ("to = [\"B\", \"C\"]", "to = [\"B\", \"D\"]", "group.tcp.to", "no link ends at a node `D`"),
    ("to = [\"B\", \"C\"]", "to = [\"A\", \"C\"]", "group.tcp.to", "`A` is in from and in to"),
    (
        "from = \"B\"\nto = \"C\"",
        "from = \"D\"\nto = \"C\"",
        "group.tcp.to",
        "no links lead from `A` to `C`",
    ),
    (
        "from = \"B\"\nto = \"C\"",
        "from = \"C\"\nto = \"C\"",
        "link.2.to",
        "cannot end where it begins",
    ),
    ("limit = \"200 kB\"\n", "", "link", "must have a limit"),
    ("limit = \"200 kB\"\n", "limit = \"900 B\"\n", "link.1.limit", "at least one packet"),
    ("limit = \"200 kB\"\n", "limit = \"200 kB\"\nwatch = 3\n", "link.1.watch", "true or false"),
    (
        "rate = \"45 Mbit/s\"\n[[group]]",
        "rate = \"1 Mbit/s\"\nwatch = true\n[[group]]",
        "link.2.watch",
        "no queue to watch",
    ),
    (
        "rate = \"45 Mbit/s\"\n[[group]]",
        "rate = \"1 Mbit/s\"\nqueue = \"drop_tail\"\n[[group]]",
        "link.2.queue",
        "needs a limit",
    ),
    ("rate = \"45 Mbit/s\"\n[[group]]", "[[group]]", "link.2.rate", "required"),
    (
        "delay = \"10 ms\"",
        "queue = { name = \"drop_tial\" }",
        "link.1.queue",
        "did you mean `drop_tail`?",
    ),
    ("kind = \"graph\"", "kind = \"graph\"\nlimit = \"3 packets\"", "network.limit", "no such key"),
];

#[test]
fn bad_graphs_are_named() {
    for (from, to, field, why) in BAD_GRAPHS {
        assert!(GRAPH.contains(from), "{from}");
        let problem = refused(&GRAPH.replacen(from, to, 1), &[]);
        assert_eq!(problem.field, *field, "{problem}");
        assert!(problem.why.contains(why), "{problem}");
    }
    let lines = GRAPH.replacen(
        "rate = \"45 Mbit/s\"\n[[group]]",
        "rate = \"1 Mbit/s\"\nlimit = \"5 packets\"\nwatch = true\n[[group]]",
        1,
    );
    let both = lines.replacen("limit = \"200 kB\"", "limit = \"200 kB\"\nwatch = true", 1);
    assert!(refused(&both, &[]).why.contains("only one link can be watched"));
}

#[test]
fn bad_overrides_are_named() {
    for (set, field, why) in [
        ("run.duration=5", "run.duration", "needs a unit"),
        ("run.durration=5 s", "run.durration", "did you mean `duration`?"),
        ("runn.duration=5 s", "runn", "did you mean `run`?"),
        ("group.fld.rate=5 Mbit/s", "", "did you mean `flood`?"),
        ("group.flood.rate=5 mbps", "group.flood.rate", "\"5 Mbit/s\" or \"5 MB/s\""),
        ("group.flood.rate.x=5", "", "`group.flood.rate` has no keys"),
        ("group.tcp.count=1000000000", "group.tcp.count", "must lie in 1 to 1000000"),
        ("link.1.rate=5 Mbit/s", "", "has no [[link]]"),
        ("network.limit=0 packets", "network.limit", "must lie in"),
        ("network.limit=500 B", "network.limit", "at least one packet"),
        ("run.warmup=99 s", "run.warmup", "must be less than run.duration"),
        ("queue.name=reed", "queue", "no such queue"),
        ("queue.min=20 packets", "queue.min", "no such parameter"),
        ("group.tcp.start=uniform(3)", "group.tcp.start", "is written uniform(LEAST, MOST)"),
        ("group.tcp.start=[\"1 s\",", "", "no TOML"),
        ("run..duration=3", "", "no such path"),
        ("a.b.c.d.e.f=3", "", "no such path"),
    ] {
        let problem = refused(GOOD, &[set]);
        assert_eq!(problem.field, field, "{set}: {problem}");
        assert!(problem.why.contains(why), "{set}: {problem}");
        assert_eq!(problem.place, Place::Set(set.into()), "{problem}");
        assert!(problem.to_string().starts_with(&format!("--set {set}: ")));
    }
    for form in ["run.duration", "=5", ""] {
        assert!(form.parse::<Override>().unwrap_err().why.contains("path=value"), "{form}");
    }
}

#[test]
fn files_that_are_no_scenarios() {
    let dir = tempfile::tempdir().unwrap();
    let open = |path: &std::path::Path| Scenario::open(path, &[]).unwrap_err().to_string();
    assert!(open(&dir.path().join("none.toml")).ends_with("none.toml: there is no such file"));
    assert!(open(dir.path()).contains("is a directory"));
    let file = dir.path().join("x.toml");
    for (bytes, why) in [
        (&b""[..], "is empty"),
        (b" \n\t\n", "is empty"),
        (b"[run]\nseeds = 3\n\xff\xfe", "line 3 is not UTF-8"),
        (b"\0\0\0", ""),
        (b"# only a comment", "needs a table [network]"),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let told = open(&file);
        assert!(told.contains("x.toml:") && told.contains(why), "{told}");
    }
    std::fs::write(&file, vec![b'#'; 5 << 20]).unwrap();
    assert!(open(&file).contains("too long"));
    std::fs::write(&file, GOOD).unwrap();
    assert_eq!(Scenario::open(&file, &[]).unwrap().name, "x");
}

/// Groups of every kind of source, besides `GOOD`'s.
const GROUPS: &str = r#"
[[group]]
name = "bursts"
count = 3
source = "on_off"
rate = "1 Mbit/s"
on = "exponential(uniform(1 s, 10 s))"
off = "pareto(1.5, 100 ms) in ..10 s"
begin = "either"
active = ["5 s..10 s", "20 s.."]
[[group]]
name = "calls"
count = 40
source = "voip"
erlangs = 20
call = "exponential(30 s)"
[[group]]
name = "lines"
source = "voip"
stop = "50 s"
[[group]]
name = "sawtooth"
source = "oscillating"
high = "5 Mbit/s"
low = "100 kbit/s"
high_during = ["10 s..30 s", "50 s..70 s"]
[[group]]
name = "files"
count = 100
source = "finite"
start = "every(exponential(100 ms))"
data = ["10 kB", "2 MB"]
[[group]]
name = "smooth"
source = "tfrc"
damping = "off"
active = "1 s.."
[[group]]
name = "users"
count = 9
source = "web"
ecn = "on"
[[group]]
name = "deaf"
count = 2
source = "unresponsive"
off = "exponential(uniform(1 s, 5 s))"
stop = "50 s"
[[group]]
name = "shadow"
source = "following"
follows = "tcp"
rate = "2 Mbit/s"
window = "3 kB"
"#;

/// What is changed in `GOOD` with `GROUPS`, the field, and a part of the message.
const BAD_SOURCES: &[(&str, &str, &str, &str)] = &[
    ("rate = \"1 Mbit/s\"\n", "", "group.bursts.rate", "required"),
    (
        "exponential(uniform(1 s, 10 s))",
        "1 us",
        "group.bursts.on",
        "a thousandth of a packet's time, 8 ms",
    ),
    (
        "exponential(uniform(1 s, 10 s))",
        "exponential(uniform(0 s, 10 s))",
        "group.bursts.on",
        "above zero",
    ),
    ("\"either\"", "\"off\"", "group.bursts.begin", "on | either"),
    ("follows = \"tcp\"\n", "", "group.shadow.follows", "required"),
    ("follows = \"tcp\"", "follows = 7", "group.shadow.follows", ""),
    (
        "follows = \"tcp\"",
        "follows = \"tcpp\"",
        "group.shadow.follows",
        "there is no group `tcpp`; did you mean `tcp`?",
    ),
    (
        "follows = \"tcp\"",
        "follows = \"shadow\"",
        "group.shadow.follows",
        "a group cannot follow itself",
    ),
    ("follows = \"tcp\"", "follows = \"flood\"", "group.shadow.follows", "`flood` is cbr"),
    (
        "follows = \"tcp\"",
        "follows = \"deaf\"",
        "group.shadow.follows",
        "a group of TCP with a congestion window",
    ),
    ("window = \"3 kB\"", "window = \"0 packets\"", "group.shadow.window", "must lie in 1 packet"),
    ("window = \"3 kB\"", "every = \"1 us\"", "group.shadow.every", "must lie in 100"),
    (
        "erlangs = 20",
        "erlangs = 20\nstart = \"1 s\"",
        "group.calls.start",
        "come and go by themselves",
    ),
    ("erlangs = 20", "erlangs = -1", "group.calls.erlangs", "must lie in 0"),
    ("exponential(30 s)", "pareto(0.9, 1 s)", "group.calls.call", "no mean"),
    ("exponential(30 s)", "1 us", "group.calls.erlangs", "calls; at most 1e7"),
    ("data = [\"10 kB\", \"2 MB\"]\n", "", "group.files.data", "required"),
    ("data = [\"10 kB\", \"2 MB\"]", "data = \"endless\"", "group.files.data", "must be an amount"),
    ("count = 9", "data = \"1 MB\"", "group.users.data", "no such key; a web [[group]] knows"),
    ("count = 9", "think = \"normal(1 s, 1 s)\"", "group.users.think", "can be negative"),
    ("count = 9", "size = \"-1 kB\"", "group.users.size", "cannot be negative"),
    (
        "off = \"exponential(uniform(1 s, 5 s))\"",
        "on = \"0 s\"\noff = \"0 s\"",
        "group.deaf.on",
        "at most 1e7",
    ),
    (
        "count = 2\n",
        "active = [\"1 s..2 s\"]\n",
        "group.deaf.active",
        "which say when the flows are active",
    ),
    (
        "count = 2\n",
        "loss_recovery = \"newreno\"\n",
        "group.deaf.loss_recovery",
        "must be Sack or Rack",
    ),
    (
        "count = 2\n",
        "data = \"1 MB\"\n",
        "group.deaf.data",
        "no such key; an unresponsive [[group]] knows",
    ),
    ("count = 2\n", "rate = \"0 bit/s\"\n", "group.deaf.rate", "must lie in 1 bit/s"),
    (
        "active = \"1 s..\"",
        "active = [\"1 s..2 s\", \"3 s..\"]",
        "group.smooth.active",
        "cannot start again",
    ),
    ("low = \"100 kbit/s\"", "low = \"6 Mbit/s\"", "group.sawtooth.low", "at most the high rate"),
    ("\"10 s..30 s\", ", "\"10 s..60 s\", ", "group.sawtooth.high_during", "which ends at 60 s"),
    (
        "high_during = [\"10 s..30 s\", \"50 s..70 s\"]",
        "",
        "group.sawtooth.high_during",
        "required",
    ),
];

#[test]
fn sources_that_cannot_be_are_named() {
    let text = [GOOD, GROUPS].concat();
    for (from, to, field, why) in BAD_SOURCES {
        assert!(text.contains(from), "{from}");
        let problem = refused(&text.replacen(from, to, 1), &[]);
        assert_eq!(problem.field, *field, "{problem}");
        assert!(problem.why.contains(why), "{problem}");
    }
}

#[test]
fn what_is_written_is_read_again() {
    for text in [GOOD, GRAPH, &[GOOD, GROUPS].concat()] {
        let first = parse(text, &[]).unwrap();
        let again =
            parse(&first.resolved(), &[]).unwrap_or_else(|e| panic!("{e}\n{}", first.resolved()));
        assert_eq!(again.resolved(), first.resolved());
        assert_eq!(
            (&again.run, &again.network, &again.groups),
            (&first.run, &first.network, &first.groups)
        );
        assert_eq!(again.queue.label(), first.queue.label());
    }
}

#[test]
fn what_is_drawn_is_written_as_it_was_read() {
    for text in [
        "10 ms",
        "10 ms:20 ms:1.5 s",
        "uniform(0 ns, 1 s)",
        "exponential(10 s)",
        "exponential(uniform(1 s, 10 s))",
        "pareto(1.2, 10 ms) in ..1 s",
        "lognormal(10 ms, 0.5)",
        "loglogistic(2 ms, 1.15066)",
        "normal(10 ms, 3 ms) in 1 ms..20 ms",
        "mix(0.25, exponential(1 s), pareto(1.5, exponential(1 s) in 1 ms..)) in 50 ms..",
    ] {
        assert_eq!(Drawn::<Span>::read(text).unwrap().write(), text);
        let every = format!("every({text})");
        assert_eq!(Start::read(&every).unwrap().write(), every);
    }
    let nested = format!("{}1 s{}", "exponential(".repeat(100), ")".repeat(100));
    assert!(Drawn::<Span>::read(&nested).unwrap_err().why.contains("in one another"));
    for text in [
        "",
        "uniform",
        "uniform(",
        "uniform()",
        "mix(2, 1 s, 1 s)",
        "exponential(1 s))",
        "1 s in 2 s..",
        "every(1 s)",
    ] {
        assert!(Drawn::<Span>::read(text).is_err(), "{text}");
    }
}

fn quoted_text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::char::any(), 0..30).prop_map(|chars| chars.into_iter().collect())
}

proptest! {
    #[test]
    fn any_values_survive_being_written(
        title in quoted_text(), duration in 1_000_001u64..1_000_000_000_000, seeds in 1u32..=10_000,
        rate in 1_000u64..1_000_000_000, limit in 1u64..100_000, jitter in 0.0f64..=1.0,
        delay in 0u64..100_000_000, count in 1u32..60_000, low in 0u64..1000,
        width in 0u64..1000, prefix in 0u8..=128,
    ) {
        let mut s = parse(GOOD, &[]).unwrap();
        s.title = title;
        s.run.duration = tidegate::Span::from_nanos(duration);
        s.run.warmup = tidegate::Span::from_nanos(duration / 3);
        s.run.series = tidegate::Span::from_nanos(duration.max(100_000));
        (s.run.seeds, s.run.flow_key.0) = (seeds, tidegate_packet::FlowKey::SourcePrefix(prefix));
        let Network::Dumbbell(net, _) = &mut s.network else { unreachable!() };
        (net.rate, net.limit) = (tidegate::Rate::from_bps(rate), tidegate::Size::Packets(limit));
        s.groups[0].count = count;
        s.groups[0].hosts = count.div_ceil(2);
        let nanos = tidegate::Span::from_nanos;
        let each = Start::Each(Drawn::uniform(nanos(low), nanos(low + width)));
        (s.groups[0].start, s.groups[1].start) = (each, Start::Each(Drawn::always(nanos(low))));
        let two = format!("{}:{}", nanos(delay), nanos(delay / 7));
        s.groups[1].access_delay = Some(Drawn::read(&two).unwrap());
        let Source::Cbr(cbr) = &mut s.groups[1].source else { unreachable!() };
        cbr.jitter = jitter;
        let text = s.resolved();
        let again = parse(&text, &[]).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert_eq!((&again.title, &again.run), (&s.title, &s.run));
        prop_assert_eq!((&again.network, &again.groups), (&s.network, &s.groups));
        prop_assert_eq!(again.resolved(), text);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Scenario::parse(&bytes, "x", &[]);
    }

    #[test]
    fn no_mutilation_makes_it_panic(
        cut in 0usize..800, insert in quoted_text(), skip in 0usize..40,
    ) {
        for text in [GOOD, GRAPH] {
            let cut = cut.min(text.len());
            let tail = &text[(cut + skip).min(text.len())..];
            if let Err(problems) = parse(&format!("{}{insert}{tail}", &text[..cut]), &[]) {
                prop_assert!(!problems.to_string().is_empty());
            }
        }
    }
}

/// Every TCP source can be named, by a group or by what stands above it, has its keys spelled out,
/// and reads back.
#[test]
fn every_tcp_source_reads_back() {
    for (name, _) in
        tidegate_lab::scenario::SOURCES.iter().filter(|(name, _)| Connection::named(name).is_some())
    {
        for source in [
            name.to_string(),
            format!("finite\"\ndata = \"1 MB\"\ncongestion = \"{name}"),
            format!("web\"\ncongestion = \"{name}"),
        ] {
            let text = GOOD
                .replace("source = \"newreno\"", &format!("source = \"{source}\"\nack = \"52 B\""));
            let scenario = parse(&text, &[]).unwrap();
            let (Source::Tcp(connection)
            | Source::Finite(connection)
            | Source::Web(_, connection)
            | Source::Unresponsive(_, connection)) = &scenario.groups[0].source
            else {
                panic!("{name} is TCP")
            };
            assert_eq!((connection.name(), connection.tcp.ack.get()), (*name, 52));
            let resolved = scenario.resolved();
            for (param, _) in connection.keys().iter().filter(|(param, _)| param.name != "data") {
                assert!(
                    resolved.contains(&format!("\n{} = ", param.name)),
                    "{name}: {} in {resolved}",
                    param.name
                );
            }
            assert_eq!(parse(&resolved, &[]).unwrap().groups, scenario.groups, "{name}");
        }
    }
}
