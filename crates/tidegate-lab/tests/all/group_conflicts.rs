//! What the values of a group must be to each other, to its source and to the network: each
//! refusal with its place and its words.
use crate::parts::part;
use crate::refusals::{accepted, changed, problems_of, refused, refused_there, said, set};

const DUMBBELL: &str = concat!(part!(minute), part!(dumbbell), part!(twenty), part!(flood));

const COUNT: &str = "count = 20";
const CBR: &str = "source = \"cbr\"";

/// `DUMBBELL` with another group of this source in place of the flood.
fn group(source: &str) -> String {
    changed(DUMBBELL, "source = \"cbr\"\nrate = \"20 Mbit/s\"\n", source)
}

#[test]
fn hosts_have_ports_for_their_connections() {
    let why = "a host has at most 60000 connections; count = ";
    let more = "group.tcp.hosts = 21: cannot be more than the flows, count = 20";
    refused_there(
        DUMBBELL,
        &[
            (COUNT, "count = 20\nhosts = «21»", more),
            (COUNT, "count = 60001\nhosts = «1»", &format!("group.tcp.hosts = 1: {why}60001")),
            // One of seven hosts has a connection more than the others.
            (COUNT, "count = 420001\nhosts = «7»", &format!("group.tcp.hosts = 7: {why}420001")),
        ],
    );
    for (count, hosts) in [(60_000, 1), (420_000, 7), (20, 20)] {
        let text = changed(DUMBBELL, COUNT, &format!("count = {count}\nhosts = {hosts}"));
        assert_eq!(accepted(&text).groups[0].hosts, hosts);
    }
    let told = set(DUMBBELL, "group.tcp.hosts=21");
    assert_eq!(told, format!("--set group.tcp.hosts=21: {more}"));
}

#[test]
fn flows_start_before_the_end() {
    let why = "must be before the end, run.duration = 60 s";
    let start = |start: &str| format!("{COUNT}\nstart = {start}");
    refused_there(
        DUMBBELL,
        &[
            (COUNT, &start("\"«1 min»\""), &format!("group.tcp.start = 1 min: {why}")),
            (
                COUNT,
                &start("\"«uniform(0 s, 60 s)»\""),
                &format!("group.tcp.start = uniform(0 s, 60 s): {why}"),
            ),
            (COUNT, &start("«[\"1 s\", \"61 s\"]»"), &format!("group.tcp.start: {why}")),
            (COUNT, &start("\"«every(70 s)»\""), &format!("group.tcp.start = every(70 s): {why}")),
        ],
    );
    // Only the first of those that come one after the other must come in time; so must one of
    // times without a bound.
    for fine in ["\"every(59 s)\"", "\"exponential(1000 s)\"", "\"uniform(0 s, 59.9 s)\""] {
        accepted(&changed(DUMBBELL, COUNT, &start(fine)));
    }
    // The default start is refused at the group.
    let short = changed(DUMBBELL, "\"60 s\"", "\"1 s\"\nwarmup = \"0 s\"");
    let problems = problems_of(&short);
    let fields: Vec<&str> = problems.list().iter().map(|p| p.field.as_str()).collect();
    assert_eq!(fields, ["group.tcp.start", "group.flood.start"]);
    assert_eq!(problems.list()[0].value, "");
}

#[test]
fn flows_stop_after_they_start() {
    let stop = |start: &str, stop: &str| format!("{COUNT}\nstart = \"{start}\"\nstop = \"{stop}\"");
    refused_there(
        DUMBBELL,
        &[
            (COUNT, &stop("5 s", "«3 s»"), "group.tcp.stop = 3 s: 3 s is not after the start, 5 s"),
            (
                COUNT,
                &stop("5 s", "«5000 ms»"),
                "group.tcp.stop = 5000 ms: 5 s is not after the start, 5 s",
            ),
            // Before the last of them has started, as it may come.
            (
                COUNT,
                &stop("uniform(1 s, 9 s)", "«8 s»"),
                "group.tcp.stop = 8 s: 8 s is not after the start, 9 s",
            ),
            (
                COUNT,
                &stop("exponential(1 s) in 4 s..", "«4 s»"),
                "group.tcp.stop = 4 s: 4 s is not after the start, 4 s",
            ),
        ],
    );
    // By default flows start within the first second.
    let text = changed(DUMBBELL, COUNT, "count = 20\nstop = \"«1 s»\"");
    refused(&text, "group.tcp.stop = 1 s: 1 s is not after the start, 1 s");
    accepted(&changed(DUMBBELL, COUNT, &stop("5 s", "5.000000001 s")));
}

#[test]
fn what_else_says_when_flows_are_active_says_it_alone() {
    let active = "cannot be given beside active, which says when the flows start and stop";
    let calls = "cannot be given beside erlangs: calls come and go by themselves";
    let lives = "cannot be given beside on and off, which say when the flows are active";
    let active_with = |line: &str| format!("active = [\"2 s..3 s\"]\n{line}\n{CBR}");
    refused_there(
        DUMBBELL,
        &[
            (CBR, &active_with("start = \"«1 s»\""), &format!("group.flood.start = 1 s: {active}")),
            (CBR, &active_with("stop = \"«9 s»\""), &format!("group.flood.stop = 9 s: {active}")),
        ],
    );
    for (line, key) in [
        ("start = \"«1 s»\"", "start = 1 s"),
        ("stop = \"«9 s»\"", "stop = 9 s"),
        ("active = \"«1 s..9 s»\"", "active = 1 s..9 s"),
    ] {
        let voip = group(&format!("source = \"voip\"\nerlangs = 5\n{line}\n"));
        refused(&voip, &format!("group.flood.{key}: {calls}"));
    }
    let text = group("source = \"unresponsive\"\nactive = \"«1 s..9 s»\"\n");
    refused(&text, &format!("group.flood.active = 1 s..9 s: {lives}"));
    // Without calls to place, a line is busy from start to stop.
    accepted(&group("source = \"voip\"\nstart = \"1 s\"\nstop = \"9 s\"\n"));
    // Both mistakes of a group are told at once, in the order of these keys.
    let both = active_with("stop = \"9 s\"\nstart = \"1 s\"");
    let text = changed(DUMBBELL, CBR, &both);
    let problems = problems_of(&text);
    let told = [
        format!("s.toml:18:10: group.flood.start = 1 s: {active}"),
        format!("s.toml:17:9: group.flood.stop = 9 s: {active}"),
    ];
    assert_eq!(said(&problems), told);
}

#[test]
fn the_simulator_has_the_last_word_on_a_source() {
    let tcp = "source = \"newreno\"";
    let with = |source: &str, line: &str| format!("source = \"{source}\"\n{line}");
    refused_there(
        DUMBBELL,
        &[
            (
                tcp,
                &with("newreno", "min_rto = \"«70 s»\""),
                "group.tcp.min_rto = 70 s: 70 s: must lie in 1 ms to max_rto",
            ),
            (
                tcp,
                &with("newreno", "initial_rto = \"«4 s»\"\nmax_rto = \"3.5 s\""),
                "group.tcp.initial_rto = 4 s: 4 s: must lie in 1 ms to max_rto",
            ),
            (
                tcp,
                &with("newreno", "rules = \"ns2\"\ntimestamps = \"«on»\""),
                "group.tcp.timestamps = on: on: must be off by ns's rules, whose timer goes by \
                 Karn's rule",
            ),
            (
                tcp,
                &with("cubic", "rules = \"«ns1»\""),
                "group.tcp.rules = ns1: ns1: are of Reno and NewReno only",
            ),
            (
                tcp,
                &with("bbr", "loss_recovery = \"«newreno»\""),
                "group.tcp.loss_recovery = newreno: NewReno: must be Sack or Rack with BBR",
            ),
            (
                tcp,
                &with("bbr", "rules = \"«ns2»\""),
                "group.tcp.rules = ns2: Ns2: cannot be with BBR, which ns-2 has not",
            ),
            (
                tcp,
                &with("newreno", "receiver = \"repeat\"\nreceiver_acks = «1001»"),
                "group.tcp.receiver_acks = 1001: 1001: must lie in 1 to 1000",
            ),
        ],
    );
}

#[test]
fn periods_are_long_enough_for_packets() {
    let why = "its mean must be a thousandth of a packet's time, ";
    let rate = "rate = \"20 Mbit/s\"";
    // 1000 bytes at 20 Mbit/s.
    let on_off = |on: &str| format!("source = \"on_off\"\n{rate}\non = \"{on}\"\n");
    refused(
        &group(&on_off("«399 ns»")),
        &format!("group.flood.on = 399 ns: 399 ns: {why}400 us, at least"),
    );
    accepted(&group(&on_off("400 ns")));
    // A call has no `on`, it has `talk`: 200 bytes at 25 kbit/s.
    let voip = |talk: &str| format!("source = \"voip\"\ntalk = \"{talk}\"\n");
    refused(
        &group(&voip("«63 us»")),
        &format!("group.flood.talk = 63 us: 63 us: {why}64 ms, at least"),
    );
    accepted(&group(&voip("64 us")));
}

#[test]
fn a_window_holds_a_segment() {
    let tcp = "source = \"newreno\"";
    let why = "must lie in 1 to 1000000 segments";
    let window = |key: &str, value: &str| format!("{tcp}\n{key} = \"«{value}»\"");
    refused_there(
        DUMBBELL,
        &[
            (
                tcp,
                &window("window", "1000001 packets"),
                &format!("group.tcp.window = 1000001 packets: 1000001: {why}"),
            ),
            (
                tcp,
                &window("initial_window", "1000001 packets"),
                &format!("group.tcp.initial_window = 1000001 packets: 1000001: {why}"),
            ),
        ],
    );
    accepted(&changed(DUMBBELL, tcp, &window("window", "1000000 packets")));
}
