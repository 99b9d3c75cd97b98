//! Round trips through empty queues, worked out by hand: hosts, access links, routes and ways
//! back.
use tidegate::{Bytes, Rate, Span};
use tidegate_lab::{Check, check};

use crate::jobs::scenario;

/// What is derived of a dumbbell whose links all carry a byte in a microsecond. There are 10 ms in
/// the middle and 2 ms at the ends unless `network` says otherwise.
fn dumbbell(network: &str, groups: &str) -> Check {
    let rate = if network.contains("access_rate") { "" } else { "access_rate = \"8 Mbit/s\"\n" };
    let text = format!(
        "[network]\nrate = \"8 Mbit/s\"\nlimit = \"100 packets\"\n{rate}{network}\n{groups}"
    );
    check(&scenario(&text), &[]).unwrap()
}

fn graph(links: &[(&str, &str)], groups: &str) -> Check {
    let link = |(ends, more): &(&str, &str)| {
        let (from, to) = ends.split_once(' ').unwrap();
        format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\n{more}\n")
    };
    let links: String = links.iter().map(link).collect();
    let text = format!("[network]\nkind = \"graph\"\n{links}{groups}");
    check(&scenario(&text), &[]).unwrap()
}

fn group(name: &str, more: &str) -> String {
    format!("[[group]]\nname = \"{name}\"\nsource = \"newreno\"\n{more}\n")
}

/// Least and greatest round trip of the first group, in microseconds.
fn rtt(check: &Check) -> (f64, f64) {
    let (least, most) = check.groups[0].base_rtt;
    (least.as_nanos() as f64 / 1e3, most.as_nanos() as f64 / 1e3)
}

#[test]
fn a_packet_and_its_answer_cross_three_links_each() {
    // Twice 2 + 10 + 2 ms, three times 1000 and three times 40 bytes.
    let plain = dumbbell("", &group("g", ""));
    assert_eq!(rtt(&plain), (31_120.0, 31_120.0));
    assert_eq!(plain.base_rtt, plain.groups[0].base_rtt);
    assert_eq!((plain.mean_rtt, plain.bdp), (Span::from_micros(31_120), Bytes::new(31_120)));
    assert_eq!((plain.limit_delay, plain.limit_packets), (Span::from_millis(100), 100.0));
    // Lengths of packets and acknowledgements.
    let long = dumbbell("", &group("g", "packet = \"1500 B\"\nack = \"52 B\""));
    assert_eq!(rtt(&long).0, 28_000.0 + 4500.0 + 156.0);
    let far = dumbbell("delay = \"50 ms\"\naccess_delay = \"0 s\"", &group("g", ""));
    assert_eq!(rtt(&far).0, 100_000.0 + 3120.0);
    // A faster access link: 80 and 3.2 us each.
    let fast = dumbbell("access_rate = \"100 Mbit/s\"", &group("g", ""));
    assert_eq!(rtt(&fast).0, 28_000.0 + 1040.0 + 2.0 * 83.2);
}

#[test]
fn what_nobody_answers_is_taken_as_if_somebody_did() {
    let other = |source: &str| {
        rtt(&dumbbell("", &format!("[[group]]\nname = \"g\"\nsource = {source}\n"))).0
    };
    assert_eq!(other("\"cbr\"\nrate = \"1 Mbit/s\""), 31_120.0);
    assert_eq!(other("\"voip\""), 28_000.0 + 600.0 + 120.0);
    assert_eq!(other("\"tfrc\"\npacket = \"500 B\"\nreport = \"100 B\""), 28_000.0 + 1800.0);
}

#[test]
fn access_links_are_dealt_out_to_hosts() {
    let delays = "access_delay = [\"1 ms\", \"5 ms\"]";
    let of = |more: &str| dumbbell("", &group("g", &format!("{delays}\n{more}")));
    // Both ends of a flow are as far away.
    let three = of("count = 3");
    assert_eq!(rtt(&three), (27_120.0, 43_120.0));
    // 1, 5 and 1 ms: two thirds of a nanosecond are rounded.
    assert_eq!(three.mean_rtt, Span::from_nanos((2 * 27_120_000 + 43_120_000 + 1) / 3));
    // Two hosts of three flows: the flows are dealt out too.
    let two = of("count = 3\nhosts = 2");
    assert_eq!((rtt(&two), two.mean_rtt), (rtt(&three), three.mean_rtt));
    // One host has the first delay for all.
    assert_eq!(rtt(&of("count = 3\nhosts = 1")), (27_120.0, 27_120.0));
    // Rates: 4 Mbit/s take twice as long at both ends.
    let rates = "count = 2\naccess_rate = [\"8 Mbit/s\", \"4 Mbit/s\"]";
    assert_eq!(rtt(&dumbbell("", &group("g", rates))), (31_120.0, 33_200.0));
    let drawn = "count = 500\naccess_delay = \"uniform(1 ms, 3 ms)\"";
    let (least, most) = rtt(&dumbbell("", &group("g", drawn)));
    assert!((27_120.0..27_200.0).contains(&least), "{least}");
    assert!((35_040.0..35_120.0).contains(&most), "{most}");
}

#[test]
fn the_mean_is_of_those_who_respond() {
    let near = group("near", "access_delay = \"1 ms\"");
    let far = |source: &str| {
        format!("[[group]]\nname = \"far\"\nsource = {source}\naccess_delay = \"5 ms\"\n")
    };
    let mean = |source: &str| dumbbell("", &(near.clone() + &far(source))).mean_rtt;
    assert_eq!(mean("\"cubic\""), Span::from_micros((27_120 + 43_120) / 2));
    assert_eq!(mean("\"cubic\"\ncount = 3"), Span::from_micros((27_120 + 3 * 43_120) / 4));
    for deaf in ["\"cbr\"\nrate = \"1 Mbit/s\"", "\"unresponsive\"", "\"voip\"\ncount = 9"] {
        assert_eq!(mean(deaf), Span::from_micros(27_120), "{deaf}");
    }
    // Of all, where nobody does.
    let alone = dumbbell("", &far("\"cbr\"\nrate = \"1 Mbit/s\""));
    assert_eq!(alone.mean_rtt, Span::from_micros(43_120));
}

#[test]
fn the_way_back_has_its_own_rate_and_delay() {
    let back = |keys: &str| rtt(&dumbbell(&format!("back = {{ {keys} }}"), &group("g", ""))).0;
    assert_eq!(back("delay = \"30 ms\""), 31_120.0 + 20_000.0);
    // 40 bytes take 320 us in place of 40.
    assert_eq!(back("rate = \"1 Mbit/s\""), 31_120.0 + 280.0);
    // A queue adds nothing while it is empty.
    assert_eq!(back("limit = \"9 packets\""), 31_120.0);
}

const MS: &str = "rate = \"8 Mbit/s\"\ndelay = ";

/// A link of 8 Mbit/s and so many milliseconds, managed or not.
fn line(ms: u32, managed: bool) -> String {
    let limit = if managed { "\nlimit = \"9 packets\"" } else { "" };
    format!("{MS}\"{ms} ms\"{limit}")
}

const ENDS: &str = "from = \"A\"\nto = \"D\"";

#[test]
fn a_route_has_the_fewest_links() {
    let [slow, quick, managed] = [line(100, false), line(1, false), line(1, true)];
    let group = group("g", ENDS);
    let straight = graph(&[("A B", &managed), ("B D", &quick), ("A D", &slow)], &group);
    assert_eq!(rtt(&straight).0, 201_040.0, "one link of 100 ms, not two of one");
    // Without it, two links; 1040 us on each for packet and answer.
    let round = graph(&[("A B", &managed), ("B D", &quick)], &group);
    assert_eq!(rtt(&round).0, 4000.0 + 2080.0);
    // A link leads both ways, whichever way it was named.
    let named = graph(&[("A B", &managed), ("D B", &quick)], &group);
    assert_eq!(rtt(&named), rtt(&round));
}

#[test]
fn of_as_many_links_the_least_delay_decides() {
    let [three, four, one] = [line(3, true), line(4, false), line(1, false)];
    let group = group("g", ENDS);
    // 3 + 3 ms over B, 4 + 1 ms over C, found later.
    let links = [("A B", &*three), ("B D", &*three), ("A C", &*four), ("C D", &*one)];
    assert_eq!(rtt(&graph(&links, &group)).0, 10_000.0 + 2080.0);
    // And found first.
    let turned = [links[2], links[3], links[0], links[1]];
    assert_eq!(rtt(&graph(&turned, &group)).0, 10_000.0 + 2080.0);
    // Two links between the same nodes.
    let double = [("A D", &*three), ("A D", &*one)];
    assert_eq!(rtt(&graph(&double, &group)).0, 2000.0 + 1040.0);
}

#[test]
fn of_equal_routes_the_first_that_is_named_is_taken() {
    let slow = "rate = \"4 Mbit/s\"\ndelay = \"1 ms\"";
    let managed = line(1, true);
    let group = group("g", ENDS);
    // The rate does not count for the route, but shows which one it is.
    assert_eq!(rtt(&graph(&[("A D", &managed), ("A D", slow)], &group)).0, 2000.0 + 1040.0);
    assert_eq!(rtt(&graph(&[("A D", slow), ("A D", &managed)], &group)).0, 2000.0 + 2080.0);
}

#[test]
fn routes_go_back_by_the_delays_of_that_way() {
    let group = group("g", ENDS);
    let back = |ms: u32| format!("{}\nback = {{ delay = \"{ms} ms\" }}", line(1, true));
    // There by the first link, back by the second.
    let (there, answer) = (back(50), format!("{}\nback = {{ delay = \"3 ms\" }}", line(9, true)));
    assert_eq!(rtt(&graph(&[("A D", &there), ("A D", &answer)], &group)).0, 4000.0 + 1040.0);
}

#[test]
fn nodes_of_a_graph_have_access_links_when_they_are_asked_for() {
    let managed = line(10, true);
    let of =
        |more: &str| rtt(&graph(&[("A D", &managed)], &group("g", &format!("{ENDS}\n{more}")))).0;
    assert_eq!(of(""), 20_000.0 + 1040.0);
    // With a rate alone, 2 ms as in a dumbbell; with a delay alone, 100 Mbit/s.
    assert_eq!(of("access_rate = \"8 Mbit/s\""), 28_000.0 + 3120.0);
    assert_eq!(of("access_delay = \"1 ms\""), 24_000.0 + 1040.0 + 2.0 * 83.2);
    assert_eq!(of("access_delay = \"0 s\"\naccess_rate = \"8 Mbit/s\""), 20_000.0 + 3120.0);
}

#[test]
fn ends_are_picked_for_hosts_and_flows() {
    let [managed, one, five] = [line(10, true), line(1, false), line(5, false)];
    let links = [("B D", &*managed), ("A B", &*one), ("C B", &*five)];
    let from = |from: &str, more: &str| {
        let group = group("g", &format!("from = {from}\nto = \"D\"\n{more}"));
        graph(&links, &group)
    };
    let (near, far) = (22_000.0 + 2080.0, 30_000.0 + 2080.0);
    assert_eq!(rtt(&from("\"A\"", "count = 50")), (near, near));
    let both = from("[\"A\", \"C\"]", "count = 1000");
    assert_eq!(rtt(&both), (near, far));
    // Half of the hosts here, half there: five deviations of 1000 coins are .08 of them.
    let mean = both.mean_rtt.as_nanos() as f64 / 1e3;
    let share = (mean - near) / (far - near);
    assert!((share - 0.5).abs() < 0.08, "{share}");
    // All flows of a host come from one node.
    let (least, most) = rtt(&from("[\"A\", \"C\"]", "count = 1000\nhosts = 1"));
    assert_eq!(least, most);
}

#[test]
fn a_group_more_moves_nobody() {
    let drawn = group("g", "count = 20\naccess_delay = \"exponential(5 ms)\"");
    let alone = dumbbell("", &drawn);
    let other = group("other", "count = 7\naccess_delay = \"exponential(5 ms)\"");
    let beside = dumbbell("", &(other.clone() + &drawn));
    assert_eq!(alone.groups[0].base_rtt, beside.groups[1].base_rtt);
    assert_ne!(beside.groups[0].base_rtt, beside.groups[1].base_rtt);
    // Nor does a flow more.
    let more = drawn.replace("count = 20", "count = 21");
    let more = dumbbell("", &(more + &other));
    assert!(more.groups[0].base_rtt.0 <= alone.groups[0].base_rtt.0);
    assert!(more.groups[0].base_rtt.1 >= alone.groups[0].base_rtt.1);
    assert_eq!(more.groups[1].base_rtt, beside.groups[0].base_rtt);
}

#[test]
fn a_drawn_delay_is_clipped_where_its_law_has_no_end() {
    // Behind an access link of 100 s at most: four of them and the middle.
    let long = dumbbell("", &group("g", "count = 300\naccess_delay = \"pareto(0.1, 1 s)\""));
    assert_eq!(rtt(&long).1, 400e6 + 23_120.0);
    assert_eq!(long.rate, Rate::from_bps(8_000_000));
}
