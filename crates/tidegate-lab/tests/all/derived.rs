//! Values derived from others: each scenario against one in which they are worked out by hand.
use crate::jobs::read;
use tidegate_lab::{Scenario, check};

const SCENARIO: &str = r#"
[run]
duration = "10 s"
warmup = "0.2 × run.duration"

[network]
rate = "10 Mbit/s"
delay = "20 ms"
limit = "1 bdp"

[queue]
name = "red"
preset = "paper"
min = "0.25 × network.limit"
max = "3 × queue.min"

[[group]]
name = "web-users"
source = "newreno"
count = 4
access_delay = ["(1 ms)", "0.15 × network.delay"]

[[group]]
name = "flood"
source = "cbr"
rate = "2 × network.rate"
count = "group.web-users.count / 2"
start = "0.1 × run.duration"
"#;

fn parse(text: &str, sets: &[&str]) -> Result<Scenario, String> {
    read(text, sets).map_err(|problems| problems.to_string())
}

/// The same scenario with each line that begins with a key of `values` worked out.
fn by_hand(text: &str, values: &[(&str, &str)]) -> String {
    let line = |line: &str| {
        let plain = values.iter().find(|(derived, _)| line.contains(derived));
        plain.map_or(line.to_string(), |(derived, plain)| line.replace(derived, plain))
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// There: 1000 B in 0.8 ms on the bottleneck and twice 80 us on access links of 100 Mbit/s; back 40
/// B in 32 us and twice 3.2 us. Delays both ways: 40 ms, and 4 × 1 ms or 4 × 3 ms. The mean is 44 +
/// 4 + 0.9984 ms; at 10 Mbit/s that is 61248 B. The flood, unresponsive, does not count.
#[test]
fn a_scenario_has_the_values_that_are_worked_out_by_hand() {
    let plain = by_hand(
        SCENARIO,
        &[
            ("0.2 × run.duration", "2 s"),
            ("1 bdp", "62 packets"),
            ("0.25 × network.limit", "16 packets"),
            ("3 × queue.min", "48 packets"),
            ("\"(1 ms)\", \"0.15 × network.delay\"", "\"1 ms\", \"3 ms\""),
            ("2 × network.rate", "20 Mbit/s"),
            ("\"group.web-users.count / 2\"", "2"),
            ("0.1 × run.duration", "1 s"),
        ],
    );
    assert_eq!(plain.matches(" × ").count(), 0);
    let (derived, plain) = (parse(SCENARIO, &[]).unwrap(), parse(&plain, &[]).unwrap());
    assert_eq!(derived, plain);
    assert_eq!(derived.resolved(), plain.resolved());
    assert!(derived.resolved().contains("limit = \"62 packets\""));
    let found = check(&derived, &[]).unwrap();
    assert_eq!(found.mean_rtt.to_string(), "48.9984 ms");
    assert_eq!(found.bdp.get(), 61_248);
}

#[test]
fn limits_are_in_packets_unless_bytes_are_meant() {
    for (limit, expected) in [
        ("1 bdp", "62 packets"),
        ("1 BDP", "62 packets"),
        ("100 ms", "125 packets"),
        ("0.1 ms", "1 packet"),
        ("100 ms + 1 rtt", "187 packets"),
        ("network.rate × 1 rtt", "62 packets"),
        ("1 bdp + 10 kB", "72 packets"),
        ("(50 kB)", "50 kB"),
        ("20 × network.mean_packet", "20 kB"),
        ("(50 packets)", "50 packets"),
        ("(0.5) bdp", "31 packets"),
    ] {
        let found = parse(SCENARIO, &[&format!("network.limit={limit}")]).unwrap();
        assert_eq!(found.bottleneck().limit.to_string(), expected, "{limit}");
    }
    let in_bytes = SCENARIO.replace("1 bdp", "200 kB");
    let found = parse(&in_bytes, &["network.limit=1 bdp"]).unwrap();
    assert_eq!(found.bottleneck().limit.to_string(), "61.248 kB", "the scenario's own is in bytes");
    let found = parse(SCENARIO, &["network.limit=1 bdp", "network.mean_packet=1500 B"]).unwrap();
    assert_eq!(found.bottleneck().limit.to_string(), "41 packets");
}

/// A window counts packets of its group, whatever the mean packet is; so it stays in bytes.
#[test]
fn windows_are_in_bytes() {
    let sets = ["group.web-users.window=2 bdp", "group.web-users.initial_window=4 ms"];
    let resolved = parse(SCENARIO, &sets).unwrap().resolved();
    assert!(resolved.contains("\nwindow = \"122.496 kB\"\n"), "{resolved}");
    assert!(resolved.contains("\ninitial_window = \"5 kB\"\n"), "{resolved}");
}

const GRAPH: &str = r#"
[network]
kind = "graph"
[[link]]
from = "a"
to = "b"
rate = "100 Mbit/s"
delay = "(4 ms)"
limit = "10 ms"
[[link]]
from = "b"
to = "c"
rate = "link.1.rate / 10"
delay = "2 × link.1.delay"
limit = "1 bdp"
watch = true
queue = { name = "red", preset = "paper", min = "5 ms", max = "20 ms" }
[[group]]
name = "tcp"
source = "cubic"
from = "a"
to = "c"
"#;

/// 24 ms of delays, 1000 B in 80 us and 0.8 ms, 40 B in 3.2 us and 32 us: 24.9152 ms. At 10 Mbit/s
/// that is 31144 B. 10 ms of 100 Mbit/s are 125 packets; 5 and 20 ms of 10 Mbit/s are 6.25 and 25.
#[test]
fn links_of_a_graph_have_their_own_rates() {
    let plain = by_hand(
        GRAPH,
        &[
            ("(4 ms)", "4 ms"),
            ("\"10 ms\"", "\"125 packets\""),
            ("link.1.rate / 10", "10 Mbit/s"),
            ("2 × link.1.delay", "8 ms"),
            ("1 bdp", "32 packets"),
            ("min = \"5 ms\", max = \"20 ms\"", "min = \"7 packets\", max = \"25 packets\""),
        ],
    );
    let derived = parse(GRAPH, &[]).unwrap();
    let mut plain = parse(&plain, &[]).unwrap();
    assert_eq!(derived.resolved(), plain.resolved());
    plain.watched_queue.clone_from(&derived.watched_queue);
    assert_eq!(derived, plain);
}

#[test]
fn a_chain_has_the_limit_at_each_of_its_links() {
    let text = "[network]\nkind = \"parking_lot\"\nrate = \"8 Mbit/s\"\n\
                limit = \"network.delay × 2\"\n\
         hops = \"1 + 2\"\n[[group]]\nname = \"g\"\nsource = \"tfrc\"\n";
    let found = parse(text, &[]).unwrap();
    let resolved = found.resolved();
    assert_eq!(resolved.matches("limit = \"20 packets\"").count(), 3, "{resolved}");
}

#[test]
fn defaults_stand_for_keys_that_are_not_written() {
    for (set, path, expected) in [
        ("run.series=network.access_delay", "series = ", "\"2 ms\""),
        ("run.rate_window=2 × run.series", "rate_window = ", "\"200 ms\""),
        ("network.access_delay=group.flood.packet × 8 / 1 Mbit/s", "access_delay = ", "\"64 ms\""),
        ("run.seeds=group.flood.hosts + 1", "seeds = ", "3"),
        ("run.series=group.web-users.min_rto / 2", "series = ", "\"100 ms\""),
        ("run.series=group.flood.access_delay", "series = ", "\"2 ms\""),
        ("group.flood.jitter=run.seed / 4", "jitter = ", "0.25"),
    ] {
        let found = parse(SCENARIO, &[set]).unwrap_or_else(|why| panic!("{set}: {why}"));
        let resolved = found.resolved();
        let value = resolved.lines().find_map(|line| line.strip_prefix(path)).unwrap();
        assert_eq!(value, expected, "{set}");
    }
}

#[test]
fn errors_say_where_and_what_is_wanted() {
    for (key, value, at, expected) in [
        ("duration", "2 × network.rate", "3:13", "is a rate (20 Mbit/s) where a time is wanted"),
        ("duration", "2 × network.speed", "3:17", "there is no `network.speed`"),
        ("duration", "2 × group.flod.stop", "3:17", "did you mean `group.flood`?"),
        ("duration", "2 × run.durations", "3:17", "did you mean `duration`?"),
        ("duration", "1 s / (1 - 1)", "3:13", "divides by zero"),
        ("duration", "1 s - 2 s", "3:13", "comes out negative; a time cannot be"),
        ("duration", "(1 s", "3:13", "this parenthesis is not closed"),
        ("duration", "1 s × × 2", "3:19", "a value is missing before this"),
        ("duration", "1e300 s", "3:13", "too large to be meant"),
        ("duration", "1e300 s × 2", "3:13", "too large to be meant"),
        (
            "duration",
            "run.warmup + 1 s",
            "4:17",
            "itself: run.duration → run.warmup → run.duration",
        ),
        (
            "duration",
            "2 × run.flow_key",
            "3:17",
            "`run.flow_key` is `five-tuple`, which is no quantity",
        ),
        ("duration", "2 × queue.weight", "3:17", "a preset's value cannot stand here"),
        ("duration", "2 × group.flood.stop", "3:17", "is not written and has no default"),
        ("duration", "group.web-users.access_delay", "3:13", "is a list; only a single value"),
        ("duration", "run.duration-1", "3:13", "put spaces around the -"),
        ("duration", "0.1 × 1 ms", "3:13", "run.duration = 100 us: must lie in 1 ms to 1000000 s"),
        ("delay", "0.5 rtt", "8:14", "itself: network.delay → rtt → network.delay"),
        ("rate", "1 bdp / 1 s", "7:11", "itself: network.rate → bdp → network.rate"),
        ("count", "\"0.5 × 3\"", "20:10", "group.web-users.count = 1.5: must be a whole number"),
        ("count", "\"1 s × 3\"", "20:10", "is a time (3 s) where a number is wanted"),
    ] {
        let changed = |line: &str| match line.strip_prefix(key) {
            Some(_) if key == "count" && line.ends_with('4') => format!("{key} = {value}"),
            Some(rest)
                if rest.starts_with(" = \"")
                    && key != "count"
                    && !line.contains("2 × network.rate") =>
            {
                format!("{key} = \"{value}\"")
            }
            _ => line.to_string(),
        };
        let text = SCENARIO.lines().map(changed).collect::<Vec<_>>().join("\n");
        let why = parse(&text, &[]).unwrap_err();
        assert!(why.contains(expected), "{key} = {value}: {why}");
        assert!(why.contains(&format!("s.toml:{at}: ")), "{key} = {value}: {why}");
        assert!(!why.contains("\n… "), "{why}");
    }
}

/// An error is reported once, where it is made, however many values are derived from it.
#[test]
fn what_is_derived_from_a_wrong_value_is_not_reported() {
    let why = parse(SCENARIO, &["network.rate=3 × 5 ms"]).unwrap_err();
    assert_eq!(why.lines().count(), 1, "{why}");
    let why = parse(SCENARIO, &["network.rate=fast", "run.warmup=2 × run.seed"]).unwrap_err();
    assert_eq!(why.matches("network.rate").count(), 2, "{why}");
    assert_eq!(why.lines().count(), 1, "{why}");
}

#[test]
fn a_chain_of_derived_values_is_bounded() {
    let group = |i: u32| {
        format!("[[group]]\nname = \"g{i}\"\nsource = \"cbr\"\nrate = \"group.g{}.rate\"\n", i + 1)
    };
    let text = |count| {
        let network = "[network]\nrate = \"1 Mbit/s\"\nlimit = \"9 packets\"\n".to_string();
        let groups: String = (0..count).map(group).collect();
        network + &groups + &group(count).replace(&format!("group.g{}.rate", count + 1), "1 kbit/s")
    };
    assert!(parse(&text(32), &[]).is_ok());
    let why = parse(&text(33), &[]).unwrap_err();
    assert!(why.contains("more than 32 values"), "{why}");
}

/// Each key that changes the round trip is refused when it is derived from it; no other is but
/// those that could with another scenario.
#[test]
fn what_the_round_trip_depends_on_cannot_be_derived_from_it() {
    let text = "[network]\nrate = \"10 Mbit/s\"\nlimit = \"100 packets\"\n\
         [[group]]\nname = \"tcp\"\nsource = \"cubic\"\ncount = 4\n\
         [[group]]\nname = \"tfrc\"\nsource = \"tfrc\"\naccess_delay = \"9 ms\"\ncount = 2\n\
         [[group]]\nname = \"flood\"\nsource = \"cbr\"\nrate = \"1 Mbit/s\"\n";
    let rtt = |scenario: &Scenario| check(scenario, &[]).unwrap().mean_rtt;
    let before = rtt(&parse(text, &[]).unwrap());
    let resolved = parse(text, &[]).unwrap().resolved();
    let (mut table, mut tried, mut changing) = (String::new(), 0, vec![]);
    for line in resolved.lines() {
        match line.split_once(" = ") {
            Some(("name", name)) if table == "group" => {
                table = format!("group.{}", name.trim_matches('"'))
            }
            Some((key, value)) if !table.starts_with("queue") && !table.is_empty() => {
                let (path, value) = (format!("{table}.{key}"), value.trim_matches('"'));
                let other = |factor: &str| parse(text, &[&format!("{path}={factor} × {value}")]);
                let Ok(scenario) = other("2").or_else(|_| other("0.5")) else { continue };
                tried += 1;
                let changes = rtt(&scenario) != before;
                let circle = parse(text, &[&format!("{path}={value} × (1 + 0 × rtt / 1 s)")]);
                let refused = circle.is_err_and(|why| why.contains("is derived from itself"));
                assert!(refused || !changes, "{path}");
                if changes {
                    changing.push(path.clone());
                }
                let could = ["hosts", "seed"].contains(&key) || table == "group.flood";
                assert!(changes || !refused || could, "{path} does not change it");
            }
            None if line.starts_with('[') => table = line.trim_matches(['[', ']']).into(),
            _ => {}
        }
    }
    assert!(tried > 30, "{tried}");
    assert_eq!(changing.len(), 11, "{changing:?}");
}

/// What stands in drawn expressions.
const WORDS: [&str; 22] = [
    "network.rate",
    "network.delay",
    "network.limit",
    "run.warmup",
    "run.duration",
    "queue.min",
    "group.flood.rate",
    "group.web-users.count",
    "bdp",
    "rtt",
    "2",
    "0.5",
    "10 ms",
    "5 packets",
    "20 kB",
    "1 Mbit/s",
    "(",
    ")",
    "+",
    "-",
    "×",
    "/",
];
/// Keys that drawn expressions are put to.
const KEYS: [&str; 8] = [
    "network.rate",
    "network.delay",
    "network.limit",
    "run.warmup",
    "queue.min",
    "queue.max",
    "group.flood.rate",
    "group.web-users.count",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(3000))]

    /// Whatever is written, it is a value or an error; and a scenario that is read has plain
    /// values, which read back the same.
    #[test]
    fn drawn_expressions_are_values_or_errors(
        drawn in proptest::collection::vec(
            (0..KEYS.len(), proptest::collection::vec(0..WORDS.len(), 1..6)), 1..4)
    ) {
        let sets: Vec<String> = drawn.iter().map(|(key, words)| {
            let words: Vec<&str> = words.iter().map(|word| WORDS[*word]).collect();
            format!("{}={}", KEYS[*key], words.join(" "))
        }).collect();
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        match parse(SCENARIO, &sets) {
            Ok(scenario) => {
                let resolved = scenario.resolved();
                let again = parse(&resolved, &[]).unwrap_or_else(|why| panic!("{sets:?}: {why}"));
                proptest::prop_assert_eq!(again.resolved(), resolved);
            }
            Err(why) => {
                let placed = why.contains("--set") || why.contains("s.toml:");
                proptest::prop_assert!(placed, "{}", why)
            }
        }
    }
}
