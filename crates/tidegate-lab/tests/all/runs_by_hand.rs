//! Runs whose figures are known beforehand: times on the way, amounts of data. The simulator takes
//! the routes that round trips are derived from.
use proptest::prelude::*;
use tidegate::Span;
use tidegate_lab::{Job, Scenario, check};
use tidegate_report::{Document, Group};

use crate::jobs::{documents, job, scenario};

const RUN: &str = "[run]\nduration = \"20 s\"\nwarmup = \"0 s\"\nseeds = 1\n";

fn run(text: &str) -> (Scenario, Document) {
    let scenario = scenario(&format!("{RUN}{text}"));
    let job = Job { threads: Some(1), ..job(scenario.clone(), &["drop_tail"]) };
    (scenario, documents(&job).remove(0))
}

/// A dumbbell whose links all carry a byte in a microsecond; 14 ms of delay one way.
fn dumbbell(network: &str, group: &str) -> Group {
    let text = format!(
        "[network]\nrate = \"8 Mbit/s\"\naccess_rate = \"8 Mbit/s\"\nlimit = \"99 \
         packets\"\n{network}\n[[group]]\nname = \"g\"\nstart = \"0 s\"\n{group}\n"
    );
    run(&text).1.groups.remove(0)
}

/// The mean, in microseconds.
fn micros(figure: Option<tidegate_report::Figure>) -> f64 {
    (figure.expect("a figure").mean() * 1e6).round() / 1e3
}

#[test]
fn a_packet_is_on_its_way_as_long_as_its_links_take() {
    let cbr = "source = \"cbr\"\nrate = \"80 kbit/s\"\njitter = 0";
    let one_way = |network: &str, more: &str| {
        micros(dumbbell(network, &format!("{cbr}\n{more}")).one_way_ms.mean)
    };
    assert_eq!(one_way("", ""), 17_000.0);
    assert_eq!(one_way("", "packet = \"500 B\""), 15_500.0);
    assert_eq!(one_way("delay = \"1 ms\"", ""), 8_000.0);
    // The way back is nobody's here.
    assert_eq!(one_way("back = { delay = \"1 s\" }", ""), 17_000.0);
    // Two hosts, of which each has sent as often.
    let two = dumbbell("", &format!("{cbr}\ncount = 2\naccess_delay = [\"1 ms\", \"6.7 ms\"]"));
    let both = micros(two.one_way_ms.mean);
    assert!((both - (15_000.0 + 26_400.0) / 2.0).abs() < 10.0, "{both}");
}

#[test]
fn amounts_of_data_are_whole_packets() {
    let finite = |data: &str| {
        dumbbell("", &format!("source = \"finite\"\ninitial_window = \"9 packets\"\ndata = {data}"))
    };
    // From the start to the last byte's arrival: one packet, then one more each millisecond.
    for (data, packets) in
        [("\"1 B\"", 1.0), ("\"1000 B\"", 1.0), ("\"1001 B\"", 2.0), ("\"5 kB\"", 5.0)]
    {
        let group = finite(data);
        assert_eq!(group.completions.unwrap().mean(), 1.0, "{data}");
        assert_eq!(micros(group.completion_ms.mean), 16_000.0 + 1000.0 * packets, "{data}");
        // In 20 seconds.
        assert_eq!(group.throughput_bps.unwrap().mean(), packets * 8000.0 / 20.0, "{data}");
    }
    // A list is dealt out to flows in turn.
    let listed = finite("[\"1 kB\", \"3 kB\"]\ncount = 4\nhosts = 4");
    assert_eq!(listed.completions.unwrap().mean(), 4.0);
    assert_eq!(listed.throughput_bps.unwrap().mean(), 8.0 * 8000.0 / 20.0);
}

#[test]
fn flows_send_in_their_periods_alone() {
    // Ten packets a second, the first at once.
    let cbr = |times: &str| {
        let group =
            dumbbell("", &format!("source = \"cbr\"\nrate = \"80 kbit/s\"\njitter = 0\n{times}"));
        group.throughput_bps.unwrap().mean() * 20.0 / 8000.0
    };
    assert_eq!(cbr("stop = \"2 s\""), 20.0);
    assert_eq!(cbr("stop = \"2.05 s\""), 21.0);
    assert_eq!(cbr("stop = \"100 s\""), cbr(""), "as long as the run");
}

#[test]
fn each_managed_link_is_named_by_its_ends() {
    let text = "[network]\nkind = \"graph\"\n\
                [[link]]\nfrom = \"west\"\nto = \"mid\"\nrate = \"8 Mbit/s\"\n\
                limit = \"9 packets\"\n[[link]]\nfrom = \"mid\"\nto = \"east\"\n\
                rate = \"4 Mbit/s\"\nlimit = \"9 packets\"\nwatch = true\n\
                back = { limit = \"5 packets\" }\n\
                [[group]]\nname = \"g\"\nsource = \"cbr\"\nrate = \"6 Mbit/s\"\njitter = 0\n\
                start = \"0 s\"\nfrom = \"west\"\nto = \"east\"\n";
    let (scenario, document) = run(text);
    let names: Vec<&str> = document.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["west->mid", "mid->east", "east->mid"]);
    // Three quarters, all, and nothing of each is used; a third is lost at the second.
    let used: Vec<f64> = document.links.iter().map(|l| l.utilization.unwrap().mean()).collect();
    for (used, wanted) in used.iter().zip([0.75, 1.0, 0.0]) {
        assert!((used - wanted).abs() < 0.002, "{used} is not {wanted}");
    }
    assert_eq!(document.links[0].loss_ratio.unwrap().mean(), 0.0);
    let lost = document.links[1].loss_ratio.unwrap().mean();
    assert!((lost - 1.0 / 3.0).abs() < 0.002, "{lost}");
    assert_eq!(document.aggregate.loss_ratio, document.links[1].loss_ratio, "the watched one");
    let derived = check(&scenario, &[]).unwrap();
    let links: Vec<_> = derived.links.iter().map(|l| (l.name.as_str(), l.watched)).collect();
    assert_eq!(links, [("west->mid", false), ("mid->east", true), ("east->mid", false)]);
}

/// A link between two of six nodes: their numbers, delays in milliseconds there and back, and the
/// place of its rate.
type Line = ((usize, usize), (u32, Option<u32>), usize);

const RATES: [&str; 3] = ["8 Mbit/s", "100 Mbit/s", "3 Mbit/s"];

/// A tree of six nodes and some links more. Few delays, so that routes are often alike.
fn lines() -> impl Strategy<Value = Vec<Line>> {
    let delays = || (1u32..4, prop::option::of(1u32..4));
    let line = |ends: BoxedStrategy<(usize, usize)>| (ends, delays(), 0usize..3).boxed();
    let tree: Vec<_> = (1..6).map(|to| line((0..to, Just(to)).boxed())).collect();
    let apart = (0usize..6, 0usize..6).prop_filter("a loop", |(from, to)| from != to).boxed();
    (tree, prop::collection::vec(line(apart), 0..7), any::<prop::sample::Index>()).prop_map(
        |(tree, more, turn)| {
            let mut all = [tree, more].concat();
            let by = turn.index(all.len());
            all.rotate_left(by);
            all
        },
    )
}

fn link((at, ((from, to), (there, back), rate)): (usize, &Line)) -> String {
    let back = back.map(|ms| format!("back = {{ delay = \"{ms} ms\" }}\n")).unwrap_or_default();
    let limit = if at == 0 { "limit = \"9 packets\"\n" } else { "" };
    format!(
        "[[link]]\nfrom = \"n{from}\"\nto = \"n{to}\"\nrate = \"{}\"\ndelay = \"{there} \
         ms\"\n{limit}{back}",
        RATES[*rate]
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// The round trip of a lone packet is what `check` derives, whichever way routes lead.
    #[test]
    fn packets_take_the_routes_that_are_derived(lines in lines(), ends in (0usize..6, 1usize..6)) {
        let links: String = lines.iter().enumerate().map(link).collect();
        let (from, to) = (ends.0, (ends.0 + ends.1) % 6);
        let group = format!(
            "[[group]]\nname = \"g\"\nsource = \"finite\"\ndata = \"1 kB\"\nstart = \"0 \
             s\"\nfrom = \"n{from}\"\nto = \"n{to}\"\n"
        );
        let (scenario, document) = run(&format!("[network]\nkind = \"graph\"\n{links}{group}"));
        let (least, most) = check(&scenario, &[]).unwrap().groups[0].base_rtt;
        prop_assert_eq!(least, most);
        let seen = document.groups[0].rtt_ms.mean.unwrap().mean();
        // To the nanosecond.
        prop_assert!((seen - least.as_millis()).abs() < 1.5e-6, "{seen} is not {least}\n{links}");
        let one_way = document.groups[0].one_way_ms.mean.unwrap().mean();
        prop_assert!(one_way < seen && least > Span::ZERO);
    }
}
