//! Receivers and senders that cheat (savage1999; RFC 3168 §18): what they gain where a sender
//! counts acknowledgements, and what stops them.
use tidegate::{Bytes, Link, Rate, Rng, Seed, Size, Span, Time, catalog};
use tidegate_sim::sources::{Acks, EcnUse, Flavor, Handshake, Rules};
use tidegate_sim::{Flow, Network, Outcome, Plan, Simulation, Source, Tcp, Trace};

const RTT: f64 = 0.1;

/// One connection after another over `rate` and a round trip of 100 ms, behind `queue`.
fn run(queue: (&str, u64), rate: u64, seconds: f64, flows: &[Tcp]) -> (Outcome, Trace) {
    let mut network = Network::new();
    let [a, b] = ["a", "b"].map(|name| network.node(name));
    let rate = Rate::from_bps(rate);
    let link = Link::new(rate, Size::Packets(queue.1), Bytes::new(1000)).unwrap();
    let config = catalog::config(queue.0, None, &link).unwrap();
    let half = Span::from_secs(RTT / 2.0);
    let built = config.build(link, Rng::from_seed(1)).unwrap();
    network.queue("a->b", (a, b), rate, half, built);
    network.link("b->a", b, a, Rate::from_bps(10_000_000_000), half);
    for (key, tcp) in flows.iter().enumerate() {
        let group = network.group(format!("{key}"));
        let start = Time::from_nanos(key as u64 * 7_700_000);
        let (class, stop, source) = (0, Time::MAX, Source::Tcp(tcp.clone()));
        network.flow(Flow { group, from: a, to: b, key: key as u64, class, start, stop, source });
    }
    let plan = Plan::until(Time::ZERO + Span::from_secs(seconds));
    Simulation::new(network, plan, Seed::new(1)).unwrap().finish_traced()
}

/// A sender by `rules` that begins with a window of one, and its receiver.
fn tcp(rules: Rules, flavor: Flavor, acks: Acks) -> Tcp {
    let base = if rules == Rules::Ns2 { Tcp::ns2(flavor) } else { Tcp { flavor, ..Tcp::reno() } };
    Tcp { rules, acks, handshake: Handshake::Skip, initial_window: 1.0, ..base }
}

const FLAVORS: [Flavor; 4] = [Flavor::Reno, Flavor::NewReno, Flavor::Sack, Flavor::Rack];

/// How many segments leave in each of the first round trips, where nothing is lost.
fn rounds(tcp: &Tcp) -> Vec<u32> {
    let (_, trace) = run(("drop_tail", 100_000), 100_000_000_000, 0.55, std::slice::from_ref(tcp));
    let mut rounds = vec![0; 6];
    trace.sent.iter().for_each(|packet| rounds[(packet.0 as f64 / 1e9 / RTT) as usize] += 1);
    rounds
}

/// The parts of 10 Mbit/s that a cheat and an honest connection beside it get through in a minute.
fn parts(cheat: &Tcp, honest: &Tcp, queue: (&str, u64)) -> [f64; 2] {
    let (out, _) = run(queue, 10_000_000, 60.0, &[cheat.clone(), honest.clone()]);
    [0, 1].map(|k| out.groups[k].counters.goodput_bytes as f64 * 8.0 / 60.0 / 1e7)
}

/// savage1999 §2.1: three acknowledgements for the first segment make a window of one four, in
/// place of two. In each round trip m acknowledgements a segment make it m + 1 times as large. A
/// sender that counts what is acknowledged (RFC 3465 §2.3) is not deceived.
#[test]
fn divided_acknowledgements_open_the_window_of_who_counts_them() {
    for flavor in FLAVORS {
        for parts in [2, 3, 5] {
            let cheated = rounds(&tcp(Rules::Ns2, flavor, Acks::Divided(parts)));
            let law: Vec<u32> = (0..6).map(|k| (parts + 1).pow(k)).collect();
            assert_eq!(cheated, law, "{flavor:?}, {parts} parts");
            for rules in [Rules::Rfc, Rules::Linux] {
                let safe = rounds(&tcp(rules, flavor, Acks::Divided(parts)));
                assert_eq!(safe, [1, 2, 4, 8, 16, 32], "{flavor:?}, {rules:?}");
            }
        }
    }
}

#[test]
fn divided_acknowledgements_take_from_others_only_where_they_are_counted() {
    for (rules, least, most) in [(Rules::Ns2, 0.6, 0.9), (Rules::Rfc, 0.4, 0.55)] {
        let cheat = tcp(rules, Flavor::Sack, Acks::Divided(3));
        let [got, left] =
            parts(&cheat, &Tcp { acks: Acks::Honest, ..cheat.clone() }, ("drop_tail", 50));
        assert!((least..most).contains(&got), "{rules:?}: {got} and {left}");
    }
}

/// savage1999 §2.2: a stream of duplicates follows the first segment, and each lets one more out. A
/// duplicate that reports nothing new is none with selective acknowledgements.
#[test]
fn repeated_acknowledgements_let_a_segment_out_each() {
    for (flavor, duplicates) in [(Flavor::Reno, 50), (Flavor::NewReno, 50), (Flavor::Reno, 10)] {
        for rules in [Rules::Ns2, Rules::Rfc] {
            let cheated = rounds(&tcp(rules, flavor, Acks::Repeated(duplicates)));
            // What an honest receiver lets out is two.
            let more = cheated[1] as i64 - 2 - duplicates as i64;
            assert!(more.abs() <= 1, "{flavor:?} {rules:?} {duplicates}: {cheated:?}");
        }
    }
    for flavor in [Flavor::Sack, Flavor::Rack] {
        let safe = rounds(&tcp(Rules::Rfc, flavor, Acks::Repeated(50)));
        assert_eq!(safe, [1, 2, 4, 8, 16, 32], "{flavor:?}");
    }
}

/// savage1999 §2.3: who acknowledges what was lost is never slowed down, and takes all of a line
/// from who is. No rule of a sender tells; a nonce would.
#[test]
fn anticipated_acknowledgements_take_the_line() {
    for flavor in FLAVORS {
        for rules in [Rules::Ns2, Rules::Rfc] {
            for ahead in [0, 10] {
                // A window that overflows the queue, and no more.
                let receiver_window = 2000;
                let cheat = Tcp { receiver_window, ..tcp(rules, flavor, Acks::Anticipated(ahead)) };
                let honest = Tcp { acks: Acks::Honest, ..cheat.clone() };
                let [got, left] = parts(&cheat, &honest, ("drop_tail", 50));
                assert!(got > 0.95 && left < 0.02, "{flavor:?} {rules:?}: {got} and {left}");
            }
        }
    }
    // Ten segments ahead of a window of sixteen: what would leave a round trip later leaves now.
    let early = rounds(&tcp(Rules::Rfc, Flavor::Sack, Acks::Anticipated(10)));
    assert!(early[..4] == [1, 2, 4, 8] && early[4] > 20, "{early:?}");
}

/// RFC 3168 §18.1.4 and §18.2: a receiver that echoes no mark, or a sender that heeds none, gains
/// from who does, behind a queue that marks. Behind one that drops it gains nothing.
#[test]
fn who_ignores_marks_gains_behind_queues_that_mark() {
    let honest = Tcp { ecn: EcnUse::On, ..Tcp::sack() };
    let cheats = [
        Tcp { ecn: EcnUse::Ignore, ..honest.clone() },
        Tcp { acks: Acks::Unmarked, ..honest.clone() },
    ];
    for (queue, limit) in [("red", 100), ("codel", 1000), ("pie", 1000)] {
        let all = cheats.clone().map(|cheat| parts(&cheat, &honest, (queue, limit)));
        for [got, left] in all {
            assert!(got > 3.0 * left && got > 0.6, "{queue}: {got} and {left}");
        }
    }
    for cheat in cheats {
        let [got, left] = parts(&cheat, &honest, ("drop_tail", 50));
        assert!((0.35..0.65).contains(&got), "{got} and {left}");
    }
}

/// The sender's mark is on all that it sends, and nobody hears of a reduction.
#[test]
fn a_sender_that_ignores_marks_is_marked_all_the_same() {
    let cheat = Tcp { ecn: EcnUse::Ignore, ..Tcp::sack() };
    let (out, _) = run(("red", 100), 10_000_000, 20.0, &[cheat]);
    assert!(out.groups[0].counters.marked.packets > 100);
}

#[test]
fn what_a_receiver_cannot_do_is_refused() {
    for (acks, field) in [
        (Acks::Divided(1), "receiver_acks"),
        (Acks::Repeated(0), "receiver_acks"),
        (Acks::Anticipated(100_001), "receiver_acks"),
    ] {
        let error = Source::Tcp(Tcp { acks, ..Tcp::sack() }).check().unwrap_err();
        assert_eq!(error.field, field);
    }
    let late = Tcp { acks: Acks::Divided(2), delayed_ack: Span::from_millis(40), ..Tcp::sack() };
    assert_eq!(Source::Tcp(late).check().unwrap_err().field, "delayed_ack");
}
