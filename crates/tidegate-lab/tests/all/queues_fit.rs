//! What queues must be to their links and packets to the queues: each refusal with its place and
//! its words.
use crate::parts::part;
use crate::refusals::{accepted, changed, problems_of, refused, refused_there, set};

const DUMBBELL: &str = concat!(
    part!(dumbbell),
    part!(red),
    part!(compare),
    r#"
[[group]]
name = "flood"
source = "cbr"
rate = "90 Mbit/s"
packet = "500 B"
"#
);

const GRAPH: &str = concat!(
    part!(graph),
    r#"limit = "9 packets"

[[group]]
name = "udp"
source = "cbr"
rate = "1 Mbit/s"
packet = "500 B"
"#,
    part!(a_to_c)
);

const LEAST: &str = "must hold at least one packet of the mean length";
const MOST: &str = "must be at most 16777216 packets of the mean length";

#[test]
fn a_limit_holds_a_packet_of_the_mean_length() {
    let limit = "\"100 packets\"";
    let with = |limit: &str, mean: &str| format!("\"{limit}\"\nmean_packet = \"{mean}\"");
    refused_there(
        DUMBBELL,
        &[
            (limit, "\"«999 B»\"", &format!("network.limit = 999 B: {LEAST}")),
            (limit, &with("«1 kB»", "1500 B"), &format!("network.limit = 1 kB: {LEAST}")),
            (limit, "\"«16777217 packets»\"", &format!("network.limit = 16777217 packets: {MOST}")),
            (
                limit,
                &with("«671088641 B»", "40 B"),
                &format!("network.limit = 671088641 B: {MOST}"),
            ),
        ],
    );
    for (bytes, mean) in [("1500 B", "1500 B"), ("671088640 B", "40 B")] {
        accepted(&changed(DUMBBELL, limit, &with(bytes, mean)));
    }
}

#[test]
fn links_that_are_not_watched_hold_a_packet_too() {
    let second = "limit = \"9 packets\"";
    refused_there(
        GRAPH,
        &[
            (second, "limit = \"«500 B»\"", &format!("link.2.limit = 500 B: {LEAST}")),
            (
                second,
                &format!("{second}\nback = {{ limit = \"«1 B»\" }}"),
                &format!("link.2.back.limit = 1 B: {LEAST}"),
            ),
            (
                second,
                "limit = \"«20000000 packets»\"",
                &format!("link.2.limit = 20000000 packets: {MOST}"),
            ),
        ],
    );
    let back = "limit = \"100 packets\"\nback = { limit = \"«3 B»\" }";
    let text = changed(DUMBBELL, "limit = \"100 packets\"", back);
    refused(&text, &format!("network.back.limit = 3 B: {LEAST}"));
}

#[test]
fn the_watched_link_of_a_graph_is_refused_where_its_limit_stands() {
    let limit = "limit = \"200 kB\"";
    refused_there(
        GRAPH,
        &[(limit, "limit = \"«900 B»\"", &format!("link.1.limit = 900 B: {LEAST}"))],
    );
    let watched = changed(GRAPH, "limit = \"9 packets\"", "limit = \"«999 B»\"\nwatch = true");
    refused(&watched, &format!("link.2.limit = 999 B: {LEAST}"));
}

#[test]
fn a_queue_that_cannot_be_is_named_where_it_stands() {
    let slip = "no such queue; did you mean `drop_tail`?";
    let text = changed(DUMBBELL, "name = \"red\"", "name = \"«drop_tial»\"");
    let told = set(DUMBBELL, "queue.name=drop_tial");
    assert!(told.starts_with("--set queue.name=drop_tial: queue = drop_tial: no such queue"));
    assert!(told.contains("did you mean `drop_tail`?"), "{told}");
    let words = told.split_once(" = drop_tial: ").unwrap().1.to_string();
    assert!(
        words.starts_with("no such queue") && words.ends_with(slip.split_once("; ").unwrap().1)
    );
    refused(&text, &format!("queue = drop_tial: {words}"));
    for (place, from, to) in [
        ("compare.queues.2", "\"sfb\"]", "\"«drop_tial»\"]"),
        ("compare.queues.1", "\"red\",", "«{ name = \"drop_tial\" }»,"),
    ] {
        let text = changed(DUMBBELL, from, to);
        let text = if to.contains("name") {
            // Of a table, the name itself.
            changed(&text, "«{ name = \"drop_tial\" }»", "{ name = \"«drop_tial»\" }")
        } else {
            text
        };
        refused(&text, &format!("{place} = drop_tial: {words}"));
    }
    let limit = "limit = \"9 packets\"";
    let own = format!("{limit}\nqueue = \"«drop_tial»\"");
    refused(&changed(GRAPH, limit, &own), &format!("link.2.queue = drop_tial: {words}"));
    let back = format!("{limit}\nback = {{ limit = \"9 packets\", queue = \"«drop_tial»\" }}");
    refused(&changed(GRAPH, limit, &back), &format!("link.2.back.queue = drop_tial: {words}"));
}

#[test]
fn a_parameter_of_a_queue_is_refused_at_its_key() {
    let table = "name = \"red\"";
    let range = "must lie in 1 to 1000000";
    let told = set(DUMBBELL, "queue.weight=2");
    let why = told.split_once(" = 2: ").expect("weight is a parameter of red").1.to_string();
    assert!(why.starts_with("must lie in "), "{why} is not like {range}");
    refused_there(
        DUMBBELL,
        &[(table, "name = \"red\"\nweight = «2»", &format!("queue.weight = 2: {why}"))],
    );
    let limit = "limit = \"9 packets\"";
    let inner = format!("{limit}\nqueue = {{ name = \"red\", weight = «2» }}");
    refused(&changed(GRAPH, limit, &inner), &format!("link.2.queue.weight = 2: {why}"));
    // Of a queue in one text, the text is the place.
    let text = format!("{limit}\nqueue = \"«red,weight=2»\"");
    refused(&changed(GRAPH, limit, &text), &format!("link.2.queue.weight = 2: {why}"));
}

#[test]
fn packets_fit_the_watched_queue() {
    let limit = "\"100 packets\"";
    let small = changed(DUMBBELL, limit, "\"1200 B\"");
    let why = "the queue's limit, 1.2 kB, is less than one packet";
    let with = |packet: &str| changed(&small, "500 B", packet);
    refused(&with("«1201 B»"), &format!("group.flood.packet = 1201 B: {why}"));
    accepted(&with("1200 B"));
    // A limit in packets holds any.
    accepted(&changed(&with("65535 B"), "\"1200 B\"", "\"1 packet\""));
    // Each group is looked at, and the default is refused at its group.
    let text = changed(&with("9 kB"), "\"1200 B\"", "\"1000 B\"")
        + "[[group]]\nname = \"tcp\"\nsource = \"newreno\"\npacket = \"1500 B\"\n";
    let told = problems_of(&text);
    let fields: Vec<&str> = told.list().iter().map(|p| p.field.as_str()).collect();
    assert_eq!(fields, ["group.flood.packet", "group.tcp.packet"]);
}

#[test]
fn days_of_packets_are_refused() {
    let run = |duration: &str| format!("[run]\nduration = \"{duration}\"\nseries = \"1000 s\"\n");
    // 1250 packets of 1000 bytes a second over the link, 22500 of 500 bytes offered.
    let text = |seconds: u32| run(&format!("«{seconds} s»")) + DUMBBELL;
    let why = "this makes about 1.0e10 packets; at most 1e10 are simulated";
    refused(&text(421_053), &format!("run.duration = 421053 s: {why}"));
    accepted(&text(421_052).replace(['«', '»'], ""));
    // Of two flows twice as much is offered.
    let two = changed(&text(216_217), "\"cbr\"", "\"cbr\"\ncount = 2");
    refused(&two, &format!("run.duration = 216217 s: {why}"));
    accepted(&two.replace("«216217 s»", "216216 s"));
    // What takes all it gets offers nothing by itself.
    accepted(&(text(400_000).replace(['«', '»'], "") + TCP));
}

const TCP: &str = "[[group]]\nname = \"tcp\"\nsource = \"newreno\"\ncount = 9000\n";
