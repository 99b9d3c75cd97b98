//! Scenarios that are drawn, written with every default and read again.
use proptest::prelude::*;
use tidegate_lab::Scenario;
use tidegate_lab::scenario::Network;

/// Lines of one table.
type Lines = String;

fn key(name: &str, values: &[&str]) -> BoxedStrategy<Lines> {
    let line = |value: &&str| format!("{name} = {value}\n");
    let lines: Vec<Lines> = values.iter().map(line).collect();
    // Left out, for the default, as often as all values together.
    prop_oneof![Just(String::new()), prop::sample::select(lines)].boxed()
}

/// Each of these keys with one of its values, or without.
fn keys(all: &[(&str, &[&str])]) -> BoxedStrategy<Lines> {
    let keys: Vec<_> = all.iter().map(|(name, values)| key(name, values)).collect();
    keys.prop_map(|lines| lines.concat()).boxed()
}

const TIMES: &[&str] = &[
    "\"3 ms\"",
    "\"0.25 us\"",
    "\"exponential(2 ms) in ..1 s\"",
    "[\"1 ms\", \"2 ms\"]",
    "\"mix(0.3, uniform(0 s, 1 ms), pareto(1.5, 7 us) in ..1 s)\"",
];

/// Times that are long enough for packets.
const LONG: &[&str] =
    &["\"3 s\"", "[\"1 s\", \"2.5 s\"]", "\"exponential(uniform(1 s, 2 s)) in 1 s..9 s\""];

fn run() -> BoxedStrategy<Lines> {
    let keys = keys(&[
        ("duration", &["\"20 s\"", "\"5 min\"", "\"33.3 s\""]),
        ("seeds", &["1", "10000"]),
        ("seed", &["0", "4000000000000000"]),
        ("series", &["\"50 ms\"", "\"1 s\""]),
        ("rate_window", &["\"0.1 s\""]),
        ("flow_key", &["\"source\"", "\"source-prefix/24\"", "\"pair\"", "\"destination\""]),
        ("metrics", &["\"rfc7928\""]),
    ]);
    keys.prop_map(|keys| format!("[run]\n{keys}")).boxed()
}

/// What a managed link does besides.
fn medium() -> BoxedStrategy<Lines> {
    keys(&[
        (
            "capacity",
            &[
                "\"walk(1 Mbit/s, 20 Mbit/s, 3 bit/s, 1 s)\"",
                "[\"0 bit/s from 3 s\", \"7 Mbit/s from 4 s\"]",
                "\"fixed\"",
            ],
        ),
        ("loss", &["0.015", "\"3 %\"", "\"gilbert_elliott(0.1, 0.5, 0.9)\""]),
        ("jitter", TIMES),
        ("reorder", &["\"on\""]),
        ("bleach", &["\"before\"", "\"behind\""]),
    ])
}

/// A way back with or without a queue.
fn back() -> BoxedStrategy<Lines> {
    let plain = keys(&[("rate", &["\"7 Mbit/s\""]), ("delay", &["\"3 ms\""])]);
    let managed = (plain.clone(), medium()).prop_map(|(plain, medium)| {
        // A walk needs a rate between its ends.
        let rate = if plain.contains("rate") { "" } else { "rate = \"10 Mbit/s\"\n" };
        format!("{plain}{rate}limit = \"9 packets\"\n{medium}")
    });
    let inline = |lines: Lines| format!("back = {{ {} }}\n", lines.trim().replace('\n', ", "));
    prop_oneof![Just(String::new()), prop_oneof![plain, managed].prop_map(inline)].boxed()
}

fn line() -> BoxedStrategy<Lines> {
    let line = keys(&[("delay", &["\"0 s\"", "\"1.5 ms\""])]);
    let limit = prop::sample::select(vec!["\"70 packets\"", "\"0.1 MB\"", "\"2 × bdp\""]);
    let rate = prop::sample::select(vec!["10 Mbit/s", "1.5 Mbit/s", "12345678 bit/s"]);
    (rate, limit, line)
        .prop_map(|(rate, limit, line)| format!("rate = \"{rate}\"\nlimit = {limit}\n{line}"))
        .boxed()
}

fn dumbbell() -> BoxedStrategy<Lines> {
    let own = keys(&[
        ("mean_packet", &["\"700 B\""]),
        ("access_rate", &["\"1 Gbit/s\""]),
        ("access_delay", &["\"0.5 ms\""]),
    ]);
    (line(), own, medium(), back())
        .prop_map(|(line, own, medium, back)| format!("[network]\n{line}{own}{medium}{back}"))
        .boxed()
}

fn chain() -> BoxedStrategy<Lines> {
    let own = keys(&[
        ("managed", &["\"first\""]),
        ("left", &["\"west\"", "[\"west\", \"north\"]"]),
        ("right", &["\"east\""]),
        ("mean_packet", &["\"700 B\""]),
    ]);
    let kind = prop_oneof![
        (1u32..5).prop_map(|hops| format!("kind = \"parking_lot\"\nhops = {hops}\n")),
        Just("kind = \"chain\"\nrouters = [\"a\", \"b-1\", \"c_2\"]\n".to_string()),
    ];
    (kind, line(), own, medium())
        .prop_map(|(kind, line, own, medium)| format!("[network]\n{kind}{line}{own}{medium}"))
        .boxed()
}

const PACKETS: (&str, &[&str]) = ("packet", &["\"1500 B\"", "\"64 B\""]);
const FORGED: (&str, &[&str]) = ("forge", &["\"random\"", "12\nnew_key = \"1 s\"", "12"]);
const ECN: (&str, &[&str]) = ("ecn", &["\"on\"", "\"ect1\""]);

/// The keys of TCP by whatever control.
fn tcp() -> BoxedStrategy<Lines> {
    keys(&[
        PACKETS,
        ("ack", &["\"52 B\""]),
        ("ecn", &["\"on\"", "\"ect1\""]),
        ("window", &["\"40 packets\"", "\"1 MB\""]),
        ("handshake", &["\"syn\""]),
        ("limited_transmit", &["\"off\""]),
        ("timestamps", &["\"off\"", "\"on\""]),
        ("delayed_ack", &["\"40 ms\""]),
        ("min_rto", &["\"0.2 s\"", "\"1 s\""]),
        ("receiver", &["\"honest\""]),
        ("tick", &["\"1 ms\""]),
    ])
}

fn source() -> BoxedStrategy<Lines> {
    let with = |source: &'static str, keys: BoxedStrategy<Lines>| {
        keys.prop_map(move |keys| format!("source = {source}\n{keys}")).boxed()
    };
    let rate = "\"cbr\"\nrate = \"1.5 Mbit/s\"";
    let on_off = "\"on_off\"\nrate = \"1 Mbit/s\"";
    let times = [("on", LONG), ("off", LONG)];
    let names = ["newreno", "sack", "rack", "cubic", "dctcp", "prague", "bbr", "bbr3", "vegas"];
    let controls = prop::sample::select(names.to_vec());
    let controlled = (controls, tcp());
    let data =
        prop::sample::select(vec!["\"5 MB\"", "[\"1 kB\", \"2 kB\"]", "\"pareto(1.2, 9 kB)\""]);
    prop_oneof![
        controlled.prop_map(|(name, keys)| format!("source = \"{name}\"\n{keys}")),
        (data, tcp())
            .prop_map(|(data, keys)| format!("source = \"finite\"\ndata = {data}\n{keys}")),
        with("\"web\"\ncongestion = \"cubic\"", tcp()),
        with("\"unresponsive\"\nrate = \"9 Mbit/s\"", keys(&times)),
        with(
            "\"tfrc\"",
            keys(&[PACKETS, ECN, ("damping", &["\"off\""]), ("report", &["\"52 B\""])])
        ),
        with(rate, keys(&[PACKETS, ECN, FORGED, ("jitter", &["0", "0.25"])])),
        with(on_off, keys(&[PACKETS, ECN, FORGED, ("begin", &["\"either\""]), ("off", LONG)])),
        with("\"voip\"", keys(&[("erlangs", &["2.5"]), ("call", &["\"90 s\""]), ("talk", LONG)])),
        Just(OSCILLATING.to_string()),
    ]
    .boxed()
}

const OSCILLATING: &str = "source = \"oscillating\"\nhigh = \"5 Mbit/s\"\nlow = \"0 bit/s\"\n\
                           high_during = [\"1 s..2 s\", \"3 s..\"]\n";

/// A group's keys that go with any source; a name is added to each.
fn group() -> BoxedStrategy<Lines> {
    let common = keys(&[
        ("count", &["2", "17", "300"]),
        ("class", &["3", "[1, 0, 65535]"]),
        ("dscp", &["46"]),
        ("access_rate", &["\"2 Mbit/s\"", "[\"1 Mbit/s\", \"3 Mbit/s\"]"]),
        ("access_delay", TIMES),
    ]);
    let starts = ["\"0 s\"", "\"every(exponential(3 ms))\"", "[\"1 s\", \"2.5 s\"]"];
    let when = keys(&[("start", &starts), ("stop", &["\"19 s\""])]);
    (common, when, source())
        .prop_map(|(common, when, source)| {
            // Calls come and go by themselves.
            let when = if source.contains("erlangs") { String::new() } else { when };
            format!("{common}{when}{source}")
        })
        .boxed()
}

fn queues() -> BoxedStrategy<Lines> {
    let queue =
        key("name", &["\"red\"", "\"sfb\"\npreset = \"auto\"", "\"fq_codel\"\nlabel = \"FQ\""]);
    let compare = ["[\"red\", \"sfb\"]", "[\"drop_tail as \\\"a\\\"\"]"];
    (queue, key("queues", &compare[..1]))
        .prop_map(|(queue, compare)| {
            let table = |name: &str, lines: Lines| {
                if lines.is_empty() { lines } else { format!("[{name}]\n{lines}") }
            };
            table("queue", queue) + &table("compare", compare)
        })
        .boxed()
}

fn scenario() -> impl Strategy<Value = String> {
    let groups = prop::collection::vec(group(), 1..4);
    let network = prop_oneof![2 => dumbbell(), 1 => chain()];
    (run(), network, queues(), groups).prop_map(|(run, network, queues, groups)| {
        let named = groups.iter().enumerate();
        let groups: String =
            named.map(|(i, group)| format!("[[group]]\nname = \"g{i}\"\n{group}")).collect();
        format!("{run}{network}{queues}{groups}")
    })
}

fn parse(text: &str) -> Result<Scenario, TestCaseError> {
    Scenario::parse(text.as_bytes(), "s.toml", &[])
        .map_err(|problems| TestCaseError::fail(format!("{problems}\n{text}")))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_written_says_the_same(text in scenario()) {
        let first = parse(&text)?;
        let written = first.resolved();
        let again = parse(&written)?;
        prop_assert_eq!(&again.run, &first.run);
        prop_assert_eq!(&again.network, &first.network);
        prop_assert_eq!(&again.groups, &first.groups);
        // Queues have their presets spelled out, and are the same for all that.
        prop_assert_eq!(again.queue.label(), first.queue.label());
        let link = first.bottleneck();
        let both = [&first, &again].map(|s| s.queue.resolve(&link).map(|config| config.values()));
        let texts = |values: Vec<(_, String)>| values.into_iter().map(|v| v.1).collect::<Vec<_>>();
        let [a, b] = both.map(|values| texts(values.unwrap()));
        prop_assert_eq!(a, b);
        prop_assert_eq!(first.compare.len(), again.compare.len());
        prop_assert_eq!(again.resolved(), written);
    }

    /// Nothing is left to a default: every key that a group was given, and more, is there.
    #[test]
    fn every_key_that_is_given_is_written(text in scenario()) {
        let written = parse(&text)?.resolved();
        let name = |line: &str| line.split_once(" = ").map(|(key, _)| key.to_string());
        let groups = |text: &str| -> Vec<Vec<String>> {
            let groups = text.split("[[group]]").skip(1);
            groups.map(|group| group.lines().filter_map(name).collect()).collect()
        };
        for (given, told) in groups(&text).iter().zip(&groups(&written)) {
            for key in given.iter().filter(|key| *key != "stop" || told.contains(key)) {
                prop_assert!(told.contains(key), "{key} is not in\n{written}");
            }
            prop_assert!(told.len() > given.len().min(3), "{written}");
        }
    }
}

#[test]
fn short_forms_are_written_as_graphs() {
    let text = "[network]\nkind = \"parking_lot\"\nhops = 2\nrate = \"2 Mbit/s\"\nlimit = \"9 \
                packets\"\n[[group]]\nname = \"g\"\nsource = \"tfrc\"\n";
    let scenario = parse(text).unwrap();
    assert!(matches!(&scenario.network, Network::Graph(graph) if graph.links.len() == 2));
    let links = "[network]\nkind = \"graph\"\nmean_packet = \"1 kB\"\n\n[[link]]\nfrom = \
                 \"r0\"\nto = \"r1\"\nrate = \"2 Mbit/s\"\ndelay = \"10 ms\"\nlimit = \"9 \
                 packets\"\nwatch = true\n\n[[link]]\nfrom = \"r1\"\nto = \"r2\"\nrate = \"2 \
                 Mbit/s\"\ndelay = \"10 ms\"\nlimit = \"9 packets\"\nwatch = false\n\n[queue]\n";
    let written = scenario.resolved();
    assert!(written.contains(links), "{written}");
    let group = "[[group]]\nname = \"g\"\ncount = 1\nhosts = 1\nclass = 0\nstart = \"uniform(0 ns, \
                 1 s)\"\nfrom = [\"r0\"]\nto = [\"r2\"]\nsource = \"tfrc\"\n";
    assert!(written.contains(group), "{written}");
}

#[test]
fn a_queue_of_a_link_is_written_with_its_label() {
    let text = "[network]\nkind = \"graph\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"2 \
                Mbit/s\"\nlimit = \"9 packets\"\n[[link]]\nfrom = \"b\"\nto = \"c\"\nrate = \"2 \
                Mbit/s\"\nlimit = \"9 packets\"\nqueue = \"drop_tail as plain\"\nback = { limit = \
                \"5 packets\", queue = \"drop_tail as narrow\" }\n[[group]]\nname = \"g\"\nsource \
                = \"tfrc\"\nfrom = \"a\"\nto = \"c\"\n";
    let written = parse(text).unwrap().resolved();
    for part in [" as plain\"\n\n[link.back]\n", " as narrow\"\n"] {
        assert!(written.contains(part), "{part} is not in\n{written}");
    }
    let again = parse(&written).unwrap();
    let Network::Graph(graph) = &again.network else { panic!("a graph") };
    let queue = graph.links[1].queue.as_ref().unwrap();
    let back = graph.links[1].ways.back.as_ref().unwrap();
    assert_eq!((queue.name.as_str(), queue.label().as_str()), ("drop_tail", "plain"));
    assert_eq!(back.queue.as_ref().unwrap().label(), "narrow");
    assert_eq!(again.resolved(), written);
}

#[test]
fn letters_that_toml_knows_are_escaped() {
    for title in
        ["a \"b\" \\ c", "line\nline\ttab\r", "\u{0}\u{1b}\u{7f}\u{85}", "'''\"\"\"", "→ ß 😀"]
    {
        let text = "[network]\nrate = \"1 Mbit/s\"\nlimit = \"9 packets\"\n[[group]]\nname = \
                    \"g\"\nsource = \"tfrc\"\n";
        let mut scenario = parse(text).unwrap();
        scenario.title = title.into();
        scenario.description = title.repeat(3);
        let again = parse(&scenario.resolved()).unwrap();
        assert_eq!((again.title, again.description), (scenario.title, scenario.description));
    }
}
