//! Networks: short forms are the graphs that they stand for, every queue has dice of its own, ends
//! that are not connected are refused before anything runs.
use tidegate_lab::{Job, Scenario, run};
use tidegate_report::Document;

fn read(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text.as_bytes(), "test.toml", &[]).map_err(|e| e.to_string())
}

fn good(text: &str) -> Scenario {
    read(text).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(text: &str, field: &str, why: &str) {
    let error = read(text).expect_err(why);
    assert!(error.contains(field) && error.contains(why), "{error}\nlacks {field}: {why}");
}

const GROUP: &str = "[[group]]\nname = \"udp\"\nsource = \"cbr\"\nrate = \"1 Mbit/s\"\n";

fn link(from: &str, to: &str, more: &str) -> String {
    format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\n{more}\n")
}

#[test]
fn a_chain_is_the_graph_that_it_stands_for() {
    let short = r#"
[network]
kind = "chain"
routers = ["A", "B", "C"]
rate = "45 Mbit/s"
delay = "10 ms"
limit = "200 kB"
managed = "first"
left = ["n0", "n1"]
right = ["n2", "n3", "n4"]
access_rate = "80 Mbit/s"
access_delay = ["1 ms", "5 ms"]
"#;
    let middle = "rate = \"45 Mbit/s\"\ndelay = \"10 ms\"";
    let side = |ms: u32| format!("rate = \"80 Mbit/s\"\ndelay = \"{ms} ms\"");
    let long = [
        "[network]\nkind = \"graph\"\n".to_string(),
        link("A", "B", &format!("{middle}\nlimit = \"200 kB\"\nwatch = true")),
        link("B", "C", middle),
        link("n0", "A", &side(1)),
        link("n1", "A", &side(5)),
        link("C", "n2", &side(1)),
        link("C", "n3", &side(5)),
        link("C", "n4", &side(1)),
    ]
    .concat();
    let named = format!("{GROUP}from = [\"n0\", \"n1\"]\nto = [\"n2\", \"n3\", \"n4\"]\n");
    let scenario = good(&format!("{short}{GROUP}"));
    assert_eq!(
        scenario,
        good(&format!("{long}{named}")),
        "groups without from and to go from left to right"
    );
    assert_eq!(good(&scenario.resolved()).resolved(), scenario.resolved());
}

#[test]
fn a_parking_lot_has_a_queue_at_every_hop() {
    let text = "[network]\nkind = \"parking_lot\"\nhops = 3\nrate = \"2 Mbit/s\"\nlimit = \"20 \
         packets\"\nwatch = 2\n";
    let middle = "rate = \"2 Mbit/s\"\nlimit = \"20 packets\"\n";
    let long = [
        "[network]\nkind = \"graph\"\n".to_string(),
        link("r0", "r1", middle),
        link("r1", "r2", &format!("{middle}watch = true")),
        link("r2", "r3", middle),
    ]
    .concat();
    let named = format!("{GROUP}from = \"r0\"\nto = \"r3\"\n");
    assert_eq!(good(&format!("{text}{GROUP}")), good(&format!("{long}{named}")));
}

#[test]
fn what_cannot_be_a_chain() {
    let lot = |more: &str| {
        format!(
            "[network]\nkind = \"parking_lot\"\nrate = \"2 Mbit/s\"\nlimit = \"20 \
             packets\"\n{more}\n{GROUP}"
        )
    };
    let chain = |more: &str| lot(more).replace("parking_lot", "chain");
    refused(&lot("watch = 3"), "network.watch", "there are 2 links from router to router");
    refused(
        &lot("watch = 2\nmanaged = \"first\""),
        "network.watch",
        "only the first link has a queue",
    );
    refused(&lot("hops = 0"), "network.hops", "1 to 500");
    refused(&lot("routers = [\"a\", \"b\"]"), "network.routers", "no such key");
    refused(&chain(""), "network.routers", "two at least");
    refused(
        &chain("routers = [\"a\", \"b\", \"a\"]"),
        "network.routers",
        "there is another node `a`",
    );
    refused(
        &chain("routers = [\"a\", \"b\"]\nleft = \"b\""),
        "network.left",
        "there is another node `b`",
    );
    refused(
        &chain("routers = [\"a\", \"b\"]\naccess_delay = \"1 ms\""),
        "network.access_delay",
        "there are none",
    );
    refused(
        &lot("limit = \"3 B\"").replacen("limit = \"20 packets\"\n", "", 1),
        "network.limit",
        "",
    );
    let missing = lot("").replace("limit = \"20 packets\"\n", "");
    refused(&missing, "network.limit", "required");
    refused(
        &format!("{}{}", lot(""), link("x", "y", "rate = \"1 Mbit/s\"")),
        "link",
        "a parking_lot has its own",
    );
    refused(&lot("").replace("parking_lot", "parking_lots"), "network.kind", "did you mean");
}

#[test]
fn flows_between_nodes_without_a_way_are_refused() {
    let two = [
        "[network]\nkind = \"graph\"\n".to_string(),
        link("a", "b", "rate = \"1 Mbit/s\"\nlimit = \"9 packets\""),
        link("c", "d", "rate = \"1 Mbit/s\""),
    ]
    .concat();
    let group = |from: &str, to: &str| format!("{two}{GROUP}from = \"{from}\"\nto = \"{to}\"\n");
    refused(&group("a", "d"), "group.udp.to", "no links lead from `a` to `d`");
    refused(&group("a", "e"), "group.udp.to", "no link ends at a node `e`");
    refused(&group("a", "a"), "group.udp.to", "a flow cannot end where it begins");
    good(&group("b", "a"));
}

/// Three hops, each with the same traffic to the nanosecond, and RED at each: only the dice differ.
fn hops(n: u32) -> Document {
    let mut text = format!(
        "[run]\nduration = \"20 s\"\nseeds = 1\n[network]\nkind = \"parking_lot\"\nhops = {n}\n\
         rate = \"1 Mbit/s\"\n\
         limit = \"50 packets\"\n[queue]\nname = \"red\"\n"
    );
    for i in 0..n {
        text += &format!(
            "[[group]]\nname = \"hop{i}\"\nsource = \"cbr\"\nrate = \"1.1 Mbit/s\"\n\
             jitter = 0.0\nstart = \"0 s\"\n\
             from = \"r{i}\"\nto = \"r{}\"\n",
            i + 1
        );
    }
    let scenario = good(&text);
    let queue = scenario.own_queue().clone();
    run(&Job { scenario, queues: vec![queue], flows: false, series: false, threads: Some(1) }, &())
        .unwrap()
        .remove(0)
        .document
}

#[test]
fn every_queue_rolls_dice_of_its_own() {
    let three = hops(3);
    let gaps: Vec<_> = three.links.iter().map(|l| l.drop_gap_ms.cov.unwrap().mean()).collect();
    assert!(
        gaps[0] != gaps[1] && gaps[1] != gaps[2] && gaps[0] != gaps[2],
        "the same drops twice: {gaps:?}"
    );
    assert_eq!(hops(2).links, three.links[..2], "a queue more changes nothing at the others");
}
