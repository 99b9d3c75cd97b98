//! What `check` estimates: events, time and memory by hand, and the whole of its text.
use tidegate_lab::{Check, Scenario, check};

use crate::jobs::scenario;

/// Three flows over a line of a byte in a microsecond.
fn base(run: &str, groups: &str) -> Scenario {
    scenario(&format!(
        "[run]\nduration = \"60 s\"\nseeds = 5\n{run}[network]\nrate = \"8 Mbit/s\"\naccess_rate = \
         \"8 Mbit/s\"\nlimit = \"100 packets\"\n{groups}"
    ))
}

const TCP: &str = "[[group]]\nname = \"tcp\"\nsource = \"newreno\"\ncount = 2\naccess_delay = [\"1 \
                   ms\", \"5 ms\"]\n";
const CBR: &str = "[[group]]\nname = \"udp\"\nsource = \"cbr\"\nrate = \"800 kbit/s\"\n";

fn of(groups: &str, queues: &[&str]) -> Check {
    let queues: Vec<_> = queues.iter().map(|queue| queue.parse().unwrap()).collect();
    check(&base("", groups), &queues).unwrap()
}

#[test]
fn events_go_by_packets_and_links() {
    // 100 packets a second for 60 s over three links, .3 events for each.
    let close =
        |got: f64, wanted: f64| assert!((got / wanted - 1.0).abs() < 1e-9, "{got} {wanted}");
    close(of(CBR, &[]).events, 100.0 * 60.0 * 3.0 * 0.3);
    // Half as long packets are twice as many.
    close(of(&format!("{CBR}packet = \"500 B\"\n"), &[]).events, 200.0 * 60.0 * 3.0 * 0.3);
    // What takes all it gets has the rest, and an answer for each packet.
    let rest = 900.0 * 2.0 + 100.0;
    close(of(&format!("{TCP}{CBR}"), &[]).events, rest * 60.0 * 3.0 * 0.3);
    // A flood sends what it has, whatever gets through.
    let flood = CBR.replace("800 kbit/s", "80 Mbit/s");
    close(of(&flood, &[]).events, 10_000.0 * 60.0 * 3.0 * 0.3);
}

#[test]
fn a_replication_costs_its_events_and_its_flows() {
    let check = of(&format!("{TCP}{CBR}"), &[]);
    assert_eq!((check.flows, check.replications), (3, 5));
    assert!((check.replication_s - (check.events * 120e-9 + 3.0 * 7e-6)).abs() < 1e-12);
    assert!((1..=5).contains(&check.at_once));
    // In rounds of as many as run at once.
    let rounds = 5u64.div_ceil(check.at_once) as f64;
    assert!((check.wall_s - rounds * check.replication_s).abs() < 1e-12);
    let state = check.queues[0].state_bytes as f64;
    let memory = 5e6 + check.at_once as f64 * (3.0 * 4400.0 + state);
    assert!((check.memory_bytes - memory).abs() < 1e-3, "{} {memory}", check.memory_bytes);
    assert!(check.flows_bytes > 0.0 && check.flows_bytes % 15.0 == 0.0, "{}", check.flows_bytes);
}

#[test]
fn queues_that_are_tried_are_counted() {
    let rows = |check: &Check| -> Vec<String> {
        check.queues.iter().map(|queue| queue.label.clone()).collect()
    };
    let two = of(TCP, &["red", "sfb as mine"]);
    assert_eq!((rows(&two), two.replications), (vec!["red".into(), "mine".into()], 10));
    let own = of(TCP, &[]);
    assert_eq!((rows(&own), own.replications), (vec!["drop_tail".into()], 5));
    // The scenario's own beside those that it compares, unless it is one of them.
    let compared = scenario(&format!(
        "[network]\nrate = \"8 Mbit/s\"\nlimit = \"9 packets\"\n[compare]\nqueues = [\"red\", \
         \"sfb\", \"drr\"]\n{TCP}"
    ));
    let compared = check(&compared, &[]).unwrap();
    assert_eq!((rows(&compared).len(), compared.replications), (4, 15));
    let twice = base("", TCP);
    let queues = ["red".parse().unwrap(), "sfb as red".parse().unwrap()];
    let told = check(&twice, &queues).unwrap_err().to_string();
    assert!(told.contains("another queue is called that too"), "{told}");
}

#[test]
fn flows_share_places_by_chance() {
    let sharing = |queue: &str, count: u32| {
        let groups = TCP.replace("count = 2", &format!("count = {count}"));
        let check = of(&groups, &[queue]);
        let row = check.queues.iter().find(|row| row.name == queue).unwrap().clone();
        (row.sharing, check.to_string())
    };
    assert_eq!(sharing("drop_tail", 9).0, None);
    let (alone, text) = sharing("sfq", 1);
    assert_eq!(alone, Some(0.0));
    let words =
        "a flow has to share its place with a chance of less than .01 % while all 1 are busy";
    assert!(text.contains(words), "{text}");
    // With a flow more the chance grows; it never reaches one.
    let chances: Vec<f64> = [2, 3, 30, 3000].map(|n| sharing("sfq", n).0.unwrap()).into();
    assert!(chances.is_sorted() && chances[0] > 0.0 && chances[3] <= 1.0, "{chances:?}");
    // Of two, the other one has to meet it: the chance is one place of all.
    let places = 1.0 / chances[0];
    assert!((places - places.round()).abs() < 1e-6, "{places}");
    assert!((chances[1] - (1.0 - (1.0 - chances[0]) * (1.0 - chances[0]))).abs() < 1e-12);
}

#[test]
fn the_text_says_what_was_derived() {
    let check = of(&format!("{TCP}{CBR}"), &[]);
    let text = check.to_string();
    let head = "s: 3 flows over 8 Mbit/s\n  \
                base RTT        27.1 ms to 43.1 ms, mean of responsive flows 35.1 ms\n  \
                bandwidth-delay 35.12 kB (35 packets)\n  \
                queue limit     100 packets = 100.0 ms = 2.8 × bandwidth-delay\n  \
                groups\n    \
                tcp: 2 flows, all it gets, fair share 3.6 Mbit/s each, RTT 27.1 ms to 43.1 ms\n    \
                udp: 1 flow, offers 800 kbit/s, fair share 800 kbit/s each, RTT 31.1 ms\n  \
                queues\n    \
                drop_tail (drop_tail/";
    assert!(text.starts_with(head), "{text}");
    let costs = format!(
        "\n  a replication   about 0.1 million events, 0.0 s on an idle core\n  everything      5 \
         replications, {} at once: about 0.0 s and ",
        check.at_once
    );
    assert!(text.contains(&costs), "{text}");
    assert!(text.ends_with(" of memory"), "{text}");
}
