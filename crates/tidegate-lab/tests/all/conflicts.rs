//! What one value of a scenario must be to another, outside its groups: each refusal with its
//! place and its words.
use crate::jobs::read;
use crate::parts::part;
use crate::refusals::{accepted, changed, problems_of, refused, refused_there, said, set};

const DUMBBELL: &str = concat!(
    part!(minute),
    "warmup = \"10 s\"\n",
    part!(dumbbell),
    part!(red),
    part!(twenty),
    part!(flood)
);

const GRAPH: &str = concat!(part!(graph), part!(tcp), part!(a_to_b));

#[test]
fn the_unchanged_scenarios_are_accepted() {
    for text in [DUMBBELL, GRAPH] {
        accepted(text);
    }
}

#[test]
fn the_warm_up_ends_before_the_run() {
    let why = "must be less than run.duration, ";
    refused_there(
        DUMBBELL,
        &[
            ("\"10 s\"", "\"«60 s»\"", &format!("run.warmup = 60 s: {why}60 s")),
            ("\"10 s\"", "\"«2 h»\"", &format!("run.warmup = 2 h: {why}60 s")),
        ],
    );
    // The default is refused where it would stand.
    let text = changed(DUMBBELL, "[run]\nduration = \"60 s\"\nwarmup = \"10 s\"\n", RUN_OF_TEN);
    refused(&text, &format!("run.warmup: {why}10 s"));
    let told = set(DUMBBELL, "run.duration=10 s");
    assert!(told.starts_with(&format!("s.toml:4:11: run.warmup = 10 s: {why}10 s\n")), "{told}");
    // A nanosecond of time that counts is enough.
    let least = changed(DUMBBELL, "\"10 s\"", "\"59.999999999 s\"");
    accepted(&least);
}

const RUN_OF_TEN: &str = "«[run]»\nduration = \"10 s\"\n";

#[test]
fn a_series_has_so_many_points_at_most() {
    let points = |most: &str| {
        format!("; at most 100000 can be: series = \"{most}\" or more, or a shorter duration")
    };
    let said = format!(
        "run.series = 1 ms: this makes 1000000 points of run.duration = 1000 s (line 3){}",
        points("10 ms")
    );
    let text = changed(DUMBBELL, "\"60 s\"", "\"1000 s\"\nseries = \"«1 ms»\"");
    refused(&text, &said);
    // With a default for the grid, the duration is the place.
    let said = format!(
        "run.series = 100 ms: this default makes 200000 points of run.duration = 20000 s (line \
         3){}",
        points("200 ms")
    );
    refused(&changed(DUMBBELL, "\"60 s\"", "\"«20000 s»\""), &said);
    // 100000 exactly, and the part of a point more.
    for duration in ["10000 s", "10000.05 s"] {
        let text = changed(DUMBBELL, "\"60 s\"", &format!("\"{duration}\""));
        assert!(read(&text, &[]).is_ok(), "{duration}");
    }
}

#[test]
fn a_walk_begins_at_a_rate_that_it_reaches() {
    let limit = "limit = \"100 packets\"";
    let walk = |key: &str, ends: &str| format!("{limit}\n{key} = \"«walk({ends})»\"");
    let said = |key: &str, ends: &str, rate: &str| {
        format!("{key} = walk({ends}): the walk begins at the rate, {rate}, and must reach it")
    };
    for ends in ["11 Mbit/s, 20 Mbit/s, 1 Mbit/s, 1 s", "1 Mbit/s, 9 Mbit/s, 1 Mbit/s, 1 s"] {
        let text = changed(DUMBBELL, limit, &walk("capacity", ends));
        refused(&text, &said("network.capacity", ends, "10 Mbit/s"));
    }
    // The ends themselves are reached.
    for ends in ["10 Mbit/s, 20 Mbit/s, 1 Mbit/s, 1 s", "1 Mbit/s, 10 Mbit/s, 1 Mbit/s, 1 s"] {
        let text = changed(DUMBBELL, limit, &format!("{limit}\ncapacity = \"walk({ends})\""));
        assert!(read(&text, &[]).is_ok(), "{ends}");
    }
    // The way back has a rate of its own.
    let ends = "1 Mbit/s, 9 Mbit/s, 1 Mbit/s, 1 s";
    let back = format!(
        "{limit}\nback = {{ rate = \"10 Mbit/s\", limit = \"9 packets\", capacity = \
         \"«walk({ends})»\" }}"
    );
    let text = changed(DUMBBELL, limit, &back).replacen("\"10 Mbit/s\"", "\"5 Mbit/s\"", 1);
    refused(&text, &said("network.back.capacity", ends, "10 Mbit/s"));
    let link = format!("limit = \"200 kB\"\ncapacity = \"«walk({ends})»\"");
    let text = changed(GRAPH, "limit = \"200 kB\"", &link);
    refused(&text, &said("link.1.capacity", ends, "45 Mbit/s"));
}

#[test]
fn a_walk_takes_fewer_than_a_million_steps() {
    let limit = "limit = \"100 packets\"";
    let of = |every: &str| format!("walk(1 Mbit/s, 20 Mbit/s, 1 Mbit/s, {every})");
    let text = changed(DUMBBELL, "\"60 s\"", "\"200 s\"");
    let with = |walk: &str| changed(&text, limit, &format!("{limit}\ncapacity = \"«{walk}»\""));
    let walk = of("200 us");
    let why = "makes 1000000 steps in 200 s; fewer than 1000000 can be";
    refused(&with(&walk), &format!("network.capacity = {walk}: {why}"));
    let fewer = with(&of("200001 ns")).replace(['«', '»'], "");
    accepted(&fewer);
}

#[test]
fn groups_have_names_of_their_own() {
    let why = "two groups cannot have the same name";
    refused_there(DUMBBELL, &[("\"flood\"", "\"«tcp»\"", &format!("group.name = tcp: {why}"))]);
    // Each that comes again is named, by its own line.
    let third = "\n[[group]]\nname = \"tcp\"\nsource = \"cubic\"\n";
    let text = changed(DUMBBELL, "\"flood\"", "\"tcp\"") + third;
    let problems = problems_of(&text);
    let told: Vec<String> =
        [19, 24].map(|line| format!("s.toml:{line}:9: group.name = tcp: {why}")).into();
    assert_eq!(said(&problems), told);
    // Case tells names apart.
    let text = changed(DUMBBELL, "\"flood\"", "\"TCP\"");
    accepted(&text);
}

#[test]
fn a_million_flows_are_the_most() {
    let least = "[network]\nrate = \"10 Mbit/s\"\nlimit = \"9 packets\"\n";
    let group = |name: &str, count: u32| {
        format!("[[group]]\nname = \"{name}\"\nsource = \"tfrc\"\ncount = {count}\n")
    };
    let two = |count: u32| format!("{least}{}{}", group("a", 600_000), group("b", count));
    accepted(&two(400_000));
    let problems = problems_of(&two(400_001));
    let told = "group: the groups have 1000001 flows together; at most 1000000 can be";
    assert!(problems.to_string().contains(told), "{problems}");
    assert_eq!(problems.list().len(), 1);
    // One group beyond it has a bound of its own, and the sum is not told besides.
    let problems = problems_of(&two(1_000_001));
    assert_eq!(said(&problems), ["s.toml:11:9: group.b.count = 1000001: must lie in 1 to 1000000"]);
}

#[test]
fn links_of_a_graph_are_whole() {
    let second = "to = \"C\"\nrate = \"45 Mbit/s\"";
    let more = |line: &str| format!("{second}\n{line}");
    refused_there(
        GRAPH,
        &[
            ("to = \"C\"", "to = \"«B»\"", "link.2.to = B: a link cannot end where it begins"),
            (
                second,
                &more("watch = «true»"),
                "link.2.watch = true: a link without limit never drops and has no queue to watch",
            ),
            (
                second,
                &more("queue = \"«red»\""),
                "link.2.queue = red: a link with a queue needs a limit",
            ),
            (
                second,
                &more("queue = «{ name = \"red\" }»"),
                "link.2.queue: a link with a queue needs a limit",
            ),
        ],
    );
    let watched = changed(GRAPH, "limit = \"200 kB\"", "limit = \"200 kB\"\nwatch = true");
    let text = changed(&watched, second, &more("limit = \"9 packets\"\nwatch = «true»"));
    refused(&text, "link.2.watch = true: only one link can be watched");
    // Which is wanted is said by an override as well.
    let text = changed(&watched, second, &more("limit = \"9 packets\""));
    let told = set(&text, "link.2.watch=true");
    let words = "--set link.2.watch=true: link.2.watch = true: only one link can be watched";
    assert_eq!(told, words);
}

#[test]
fn queues_to_compare_have_labels_of_their_own() {
    let why = "another queue is called that too; give each its own, as in \"red as RED 1\"";
    let compare = |queues: &str| format!("[compare]\nqueues = [{queues}]\n[queue]");
    for (queues, value) in [
        ("\"red\", \"sfb\", \"«red»\"", "red"),
        ("\"red\", \"«drop_tail as red»\"", "drop_tail as red"),
        ("\"red as a\", \"sfb\", \"«sfb as a»\"", "sfb as a"),
    ] {
        let text = changed(DUMBBELL, "[queue]", &compare(queues));
        refused(&text, &format!("compare.queues = {value}: {why}"));
    }
    let table = compare("\"red\", «{ name = \"sfb\", label = \"red\" }»");
    refused(&changed(DUMBBELL, "[queue]", &table), &format!("compare.queues: {why}"));
    let apart = changed(DUMBBELL, "[queue]", &compare("\"red\", \"red as other\""));
    accepted(&apart);
}

#[test]
fn a_queue_that_stays_leaves_nothing_to_compare() {
    let own = "limit = \"200 kB\"\nqueue = \"«red»\"";
    let text = changed(GRAPH, "limit = \"200 kB\"", own) + "[compare]\nqueues = [\"sfb\"]\n";
    let said = "link.1.queue = red: the watched link keeps its own queue, so the queues of \
                [compare] would never be tried: remove this key, or set watch = true at another \
                link";
    refused(&text, said);
    // Where another link is watched, there is something to try.
    let limit = "to = \"C\"\nlimit = \"9 packets\"\nwatch = true";
    let other = changed(&text, "to = \"C\"", limit).replace(['«', '»'], "");
    let scenario = read(&other, &[]).unwrap();
    assert_eq!((scenario.watched_queue, scenario.compare.len()), (None, 1));
}
