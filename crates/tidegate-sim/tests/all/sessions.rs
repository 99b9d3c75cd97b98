//! Flows of several connections: users of the web, and connections that a timetable opens anew.
use tidegate::{Bytes, Link, Rate, Rng, Seed, Size, Span, Time, catalog};
use tidegate_sim::sources::{Handshake, Law, Web};
use tidegate_sim::{Flow, FlowId, Network, Outcome, Plan, Source, Tcp, simulate};

fn second(s: f64) -> Time {
    Time::ZERO + Span::from_secs(s)
}

/// One flow over a link of 80 Mbit/s (0.1 ms a segment), 20 ms there and back.
fn alone(source: Source, stop: Time) -> (Network, FlowId) {
    let mut network = Network::new();
    let [a, b] = ["a", "b"].map(|name| network.node(name));
    let rate = Rate::from_bps(80_000_000);
    let link = Link::new(rate, Size::Packets(1000), Bytes::new(1000)).unwrap();
    let queue =
        catalog::config("drop_tail", None, &link).unwrap().build(link, Rng::from_seed(1)).unwrap();
    network.queue("a->b", (a, b), rate, Span::from_millis(10), queue);
    network.link("b->a", b, a, rate, Span::from_millis(10));
    let group = network.group("all");
    let id = network.flow(Flow {
        group,
        from: a,
        to: b,
        key: 1,
        class: 0,
        start: Time::ZERO,
        stop,
        source,
    });
    (network, id)
}

fn run(network: Network, until: f64) -> Outcome {
    simulate(network, &Plan::until(second(until)), Seed::new(5)).unwrap()
}

#[test]
fn a_user_s_objects_come_in_slow_start_each() {
    for (handshake, segments, rounds, sent) in [
        (Handshake::Skip, 1, 0, 1),
        (Handshake::Skip, 2, 0, 2),
        // 2, 4 and 4 of 8: two round trips before the last window.
        (Handshake::Skip, 10, 2, 10),
        // And the SYN's.
        (Handshake::Syn, 10, 3, 11),
    ] {
        let tcp = Tcp { handshake, ..Tcp::reno() };
        let (size, think) = (Law::Constant(segments * 1000), Law::Constant(1_000_000_000));
        let (network, _) = alone(Source::Web(Web { tcp, size, think }), Time::MAX);
        let group = &run(network, 50.0).groups[0];
        let took = group.completions.time.mean.unwrap().as_secs();
        // A round trip is 20 ms and a little for transmissions, at most a window's.
        let least = rounds as f64 * 0.020 + 0.010;
        assert!(
            (least..least + 0.003).contains(&took),
            "{segments} segments took {took}, not {least}"
        );
        assert!(group.completions.time.sd.unwrap() < Span::from_micros(1), "each like the other");
        // The loop: think, and the time until the last acknowledgement is back.
        let objects = (50.0 / (1.0 + took + 0.010)) as u64;
        assert!(group.completions.transfers.packets.abs_diff(objects) <= 1, "{group:?}");
        assert_eq!(
            group.completions.transfers.bytes,
            group.completions.transfers.packets * segments * 1000
        );
        assert!(group.counters.sent.packets.abs_diff(objects * sent) <= sent, "{group:?}");
    }
}

#[test]
fn what_is_drawn_is_what_arrives() {
    let web = Web::neidhardt(Tcp::new_reno());
    let group = &run(alone(Source::Web(web), Time::MAX).0, 3000.0).groups[0];
    let n = group.completions.transfers.packets as f64;
    // Think time's mean, by its law, and a fetch of at most some tenths of a second.
    let cycle = Web::think().mean() / 1e9;
    assert!((2.5..3.5).contains(&cycle), "spec: about 3.1 s, {cycle}");
    // Both laws have no variance; four fifths of the count to twice it is what a thousand cycles
    // leave.
    assert!(n > 0.7 * 3000.0 / cycle && n < 2.0 * 3000.0 / cycle, "{n}");
    assert_eq!(group.counters.goodput_bytes / 1000, group.counters.goodput_bytes.div_ceil(1000));
}

#[test]
fn a_connection_that_is_opened_anew_hears_nothing_of_the_old_one() {
    // Interrupted with a window in flight, and begun again before that has arrived and before it is
    // acknowledged.
    for gap in [1, 9, 15, 25, 200] {
        let tcp = Tcp { data: Some(200), ..Tcp::reno() };
        let stop = second(0.065);
        let (mut network, id) = alone(Source::Tcp(tcp), stop);
        let begin = stop + Span::from_millis(gap);
        let again = vec![(begin, second(4.0)), (second(5.0), second(9.0))];
        network.again(id, again);
        let group = &run(network, 10.0).groups[0];
        assert_eq!(group.completions.transfers.packets, 2, "{gap} ms: two of three had the time");
        // Three round trips were under way: 2 + 4 + 8 + 16 segments sent, none of them counted for
        // the next connection.
        assert_eq!(group.counters.sent.packets, 30 + 200 + 200, "{gap} ms: nothing is sent twice");
        assert_eq!(group.counters.retransmits + group.counters.timeouts, 0);
        let old = group.counters.goodput_bytes / 1000 - 400;
        assert!(old <= 30, "{old}");
        assert_eq!(group.counters.delivered.packets, 430);
    }
}

#[test]
fn a_user_who_is_interrupted_thinks_again() {
    let (size, think) = (Law::Constant(100_000), Law::Constant(500_000_000));
    let (mut network, id) = alone(Source::Web(Web { tcp: Tcp::reno(), size, think }), second(0.55));
    network.again(id, vec![(second(1.0), second(1.6)), (second(2.0), second(9.0))]);
    let group = &run(network, 3.0).groups[0];
    // Asked at 0.5 and 1.5, interrupted both times; asked at 2.5, done by 2.7.
    assert_eq!(group.completions.transfers.packets, 1, "{group:?}");
}
