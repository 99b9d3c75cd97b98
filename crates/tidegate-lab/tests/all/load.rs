//! Loads that the network cannot carry: which link caps them, how much arrives, and that a run sees
//! the same.
use crate::jobs::{documents, job, scenario};
use tidegate_lab::{Job, Scenario, check, overloads};
use tidegate_report::Overload;

/// A dumbbell of 200 Mbit/s whose access links have the default rate, with these groups.
fn dumbbell(groups: &str) -> Scenario {
    scenario(&format!(
        "[run]\nduration = \"4 s\"\nwarmup = \"1 s\"\nseeds = 1\n[network]\nrate = \"200 \
         Mbit/s\"\nlimit = \"100 packets\"\n{groups}"
    ))
}

fn graph(links: &[(&str, &str, &str)], groups: &str) -> Scenario {
    let links: String = (links.iter())
        .map(|(from, to, more)| format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\n{more}\n"))
        .collect();
    scenario(&format!(
        "[run]\nduration = \"4 s\"\nwarmup = \"1 s\"\nseeds = 1\n[network]\nkind = \
         \"graph\"\n{links}{groups}"
    ))
}

fn cbr(name: &str, rate: &str, more: &str) -> String {
    format!("[[group]]\nname = \"{name}\"\nsource = \"cbr\"\nrate = \"{rate}\"\n{more}\n")
}

/// What can arrive of each group, in Mbit/s.
fn arrives(scenario: &Scenario) -> Vec<Option<f64>> {
    let mega = |rate: tidegate::Rate| (rate.as_bps() as f64 / 1e5).round() / 10.0;
    check(scenario, &[]).unwrap().groups.iter().map(|g| g.arrives.map(mega)).collect()
}

/// Link, its rate and what is offered to it in Mbit/s, and who offers it.
fn found(scenario: &Scenario) -> Vec<(String, f64, f64, Vec<String>)> {
    let mega = |bps: f64| (bps / 1e5).round() / 10.0;
    let found = overloads(scenario);
    assert_eq!(check(scenario, &[]).unwrap().overloads, found);
    let tell = |o: Overload| (o.link, mega(o.rate_bps), mega(o.offered_bps), o.groups);
    found.into_iter().map(tell).collect()
}

fn access(rate: f64, offered: f64, group: &str) -> (String, f64, f64, Vec<String>) {
    ("access link".into(), rate, offered, vec![group.into()])
}

#[test]
fn a_flood_beyond_its_access_link_is_named_and_the_run_agrees() {
    let flood = dumbbell(&cbr("flood", "150 Mbit/s", ""));
    assert_eq!(found(&flood), [access(100.0, 150.0, "flood")]);
    assert_eq!(arrives(&flood), [Some(100.0)]);
    let text = check(&flood, &[]).unwrap().to_string();
    assert!(text.contains("offers 150 Mbit/s, but only 100 Mbit/s can arrive"), "{text}");
    let words = "WARNING: access link of group `flood`: 150 Mbit/s offered, 100 Mbit/s carried";
    assert!(text.contains(words) && text.contains("raise access_rate"), "{text}");
    // The simulator, which knows nothing of this.
    let document = documents(&Job { threads: Some(1), ..job(flood, &["drop_tail"]) }).remove(0);
    let through = document.groups[0].throughput_bps.unwrap().mean();
    assert!((through / 100e6 - 1.0).abs() < 0.001, "{through}");
}

/// What a link does besides is said where it is not the default, and only there.
#[test]
fn what_a_link_does_besides_is_told() {
    let with = |more: &str| {
        scenario(&format!(
            "[network]\nrate = \"10 Mbit/s\"\nlimit = \"50 packets\"\n{more}\n{}",
            cbr("flood", "15 Mbit/s", "")
        ))
    };
    assert!(check(&with(""), &[]).unwrap().besides.is_empty());
    let text =
        check(&with("loss = 0.05\nback = { limit = \"50 packets\", jitter = \"2 ms\" }"), &[])
            .unwrap()
            .to_string();
    assert!(text.contains("  network.loss = 0.05\n"), "{text}");
    assert!(text.contains("  network.back.jitter = 2 ms\n"), "{text}");
}

#[test]
fn what_the_network_carries_gives_no_warning() {
    // To the bit, and by two hosts.
    for groups in [
        cbr("flood", "100 Mbit/s", ""),
        cbr("flood", "150 Mbit/s", "access_rate = \"150 Mbit/s\""),
        cbr("flood", "100 Mbit/s", "count = 2"),
        "[[group]]\nname = \"tcp\"\nsource = \"newreno\"\ncount = 50\nhosts = 2\n".into(),
    ] {
        assert_eq!(found(&dumbbell(&groups)), [], "{groups}");
    }
    // A queue that is offered more than it sends is what all this is for.
    let small = scenario(&format!(
        "[network]\nrate = \"10 Mbit/s\"\nlimit = \"100 packets\"\n{}",
        cbr("flood", "50 Mbit/s", "")
    ));
    assert_eq!((found(&small), arrives(&small)), (vec![], vec![Some(50.0)]));
}

#[test]
fn flows_of_one_host_share_its_link() {
    let three = dumbbell(&cbr("flood", "40 Mbit/s", "count = 3\nhosts = 1"));
    assert_eq!(found(&three), [access(100.0, 120.0, "flood")]);
    assert_eq!(arrives(&three), [Some(100.0)]);
    // Of rates dealt out, the link that is furthest beyond its own.
    let uneven = "count = 3\naccess_rate = [\"100 Mbit/s\", \"30 Mbit/s\", \"20 Mbit/s\"]";
    let uneven = dumbbell(&cbr("flood", "40 Mbit/s", uneven));
    assert_eq!(found(&uneven), [access(20.0, 40.0, "flood")]);
    assert_eq!(arrives(&uneven), [Some(90.0)]);
}

const PLAIN: (&str, &str, &str) = ("a", "b", "rate = \"10 Mbit/s\"");
const MANAGED: (&str, &str, &str) = ("b", "c", "rate = \"8 Mbit/s\"\nlimit = \"50 packets\"");
const WAY: &str = "from = \"a\"\nto = \"c\"";

#[test]
fn plain_links_before_and_behind_a_queue_count() {
    let groups = cbr("one", "9 Mbit/s", WAY) + &cbr("two", "6 Mbit/s", WAY);
    let before = graph(&[PLAIN, MANAGED], &groups);
    let both = vec!["one".to_string(), "two".to_string()];
    assert_eq!(found(&before), [("link a->b".into(), 10.0, 15.0, both.clone())]);
    assert_eq!(arrives(&before), [Some(6.0), Some(4.0)]);
    let text = check(&before, &[]).unwrap().to_string();
    let words = "WARNING: link a->b on the way of groups `one`, `two`: 15.0 Mbit/s offered, 10.0 \
         Mbit/s carried";
    assert!(text.contains(words), "{text}");
    // Behind the queue: no more comes than it lets through.
    let behind = |rate: &str| {
        let managed = ("a", "b", "rate = \"8 Mbit/s\"\nlimit = \"50 packets\"");
        graph(&[managed, ("b", "c", &format!("rate = \"{rate}\""))], &groups)
    };
    assert_eq!(found(&behind("8 Mbit/s")), []);
    assert_eq!(found(&behind("5 Mbit/s")), [("link b->c".into(), 5.0, 8.0, both)]);
    assert_eq!(arrives(&behind("5 Mbit/s")), [Some(9.0), Some(6.0)], "at the queue");
    // A direction without a queue.
    let back = cbr("back", "9 Mbit/s", "from = \"c\"\nto = \"b\"");
    assert_eq!(
        found(&graph(&[MANAGED], &back)),
        [("link c->b".into(), 8.0, 9.0, vec!["back".into()])]
    );
}

#[test]
fn one_link_caps_what_comes_to_the_next() {
    let groups = cbr("flood", "60 Mbit/s", "from = \"a\"\nto = \"d\"\naccess_rate = \"30 Mbit/s\"");
    let links = [
        ("a", "b", "rate = \"20 Mbit/s\""),
        ("b", "c", "rate = \"10 Mbit/s\""),
        ("c", "d", MANAGED.2),
    ];
    let name =
        |link: &str, rate, offered| (link.to_string(), rate, offered, vec!["flood".to_string()]);
    let chain = graph(&links, &groups);
    let expected =
        [access(30.0, 60.0, "flood"), name("link a->b", 20.0, 30.0), name("link b->c", 10.0, 20.0)];
    assert_eq!(found(&chain), expected);
    assert_eq!(arrives(&chain), [Some(10.0)]);
}

#[test]
fn flows_that_take_turns_need_room_for_one() {
    let turns = |first: &str, second: &str| {
        let one = cbr("one", "9 Mbit/s", &format!("{WAY}\nactive = [\"{first}\"]"));
        graph(
            &[PLAIN, MANAGED],
            &(one + &cbr("two", "9 Mbit/s", &format!("{WAY}\nactive = [\"{second}\"]"))),
        )
    };
    assert_eq!(found(&turns("0 s..2 s", "2 s..4 s")), []);
    let both = vec!["one".to_string(), "two".to_string()];
    assert_eq!(found(&turns("0 s..2 s", "1 s..3 s")), [("link a->b".into(), 10.0, 18.0, both)]);
}
