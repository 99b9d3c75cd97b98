//! A source that follows the window of a connection: when it looks, what it sees, when it sends.
use tidegate::{Bytes, Link, Rate, Rng, Seed, Size, Span, Time, catalog};
use tidegate_sim::sources::{Handshake, Law, Web};
use tidegate_sim::{
    Cbr, Flow, FlowId, Following, GroupId, Network, NodeId, Plan, Simulation, Source, Tcp,
};

const MS: u64 = 1_000_000;

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * MS)
}

/// A packet of 1000 bytes each millisecond while the window of `follows` is at least `window`.
fn following(follows: FlowId, window: f64) -> Source {
    let flood = Cbr::new(Rate::from_bps(8_000_000), Bytes::new(1000));
    Source::Following(Following { window, ..Following::new(follows, flood) })
}

/// A line of 100 Mbit/s and 50 ms each way, with a buffer of so many packets. Its senders have
/// hosts of their own.
struct Net {
    network: Network,
    routers: [NodeId; 2],
    group: GroupId,
}

impl Net {
    fn new(limit: u64) -> Net {
        let mut network = Network::new();
        let [a, b] = ["a", "b"].map(|name| network.node(name));
        let rate = Rate::from_bps(100_000_000);
        let link = Link::new(rate, Size::Packets(limit), Bytes::new(1000)).unwrap();
        let queue = catalog::config("drop_tail", None, &link).unwrap();
        let queue = queue.build(link, Rng::from_seed(1)).unwrap();
        network.queue("a->b", (a, b), rate, Span::from_millis(50), queue);
        network.link("b->a", b, a, rate, Span::from_millis(50));
        let group = network.group("all");
        Net { network, routers: [a, b], group }
    }

    /// A flow between two hosts of its own, active from `start` to `stop`.
    fn flow(&mut self, source: Source, start: Time, stop: Time) -> FlowId {
        let network = &mut self.network;
        let [from, to] = self.routers.map(|router| {
            let host = network.node("host");
            network.duplex(host, router, Rate::from_bps(1_000_000_000), Span::from_micros(1));
            host
        });
        let (group, key) = (self.group, network.flows().len() as u64);
        network.flow(Flow { group, from, to, key, class: 0, start, stop, source })
    }

    /// When flow number `flow` sends up to `end`.
    fn sent(self, flow: FlowId, end: Time) -> Vec<u64> {
        let run = Simulation::new(self.network, Plan::until(end), Seed::new(1)).unwrap();
        let (_, trace) = run.finish_traced();
        let own = trace.sent.iter().filter(|packet| packet.1 as usize == flow.index());
        own.map(|packet| packet.0).collect()
    }
}

/// The window doubles each round trip, a little over 100 ms. It has 2 segments from the start, 4
/// from 100 ms, 8 from 200 ms, 16 from 300 ms on.
fn slow_start() -> Source {
    Source::Tcp(Tcp::new_reno())
}

/// The first packet of each stretch, and the last.
fn stretches(sent: &[u64]) -> Vec<(u64, u64)> {
    sent.chunk_by(|a, b| b - a == MS).map(|run| (run[0], run[run.len() - 1])).collect()
}

#[test]
fn it_begins_at_the_first_look_that_finds_the_window_wide_enough() {
    for (window, first) in [(2.0, 10), (4.0, 110), (4.5, 210), (8.0, 210), (16.0, 310)] {
        let mut net = Net::new(1000);
        let user = net.flow(slow_start(), Time::ZERO, Time::MAX);
        let attacker = net.flow(following(user, window), Time::ZERO, Time::MAX);
        let sent = net.sent(attacker, ms(400));
        assert_eq!(stretches(&sent), [(first * MS, 399 * MS)], "{window}");
    }
}

/// At the very time of a start there is no window yet.
#[test]
fn it_looks_at_times_of_its_own_and_before_the_connection_acts() {
    let mut net = Net::new(1000);
    let user = net.flow(slow_start(), ms(23), Time::MAX);
    let attacker = net.flow(following(user, 1.0), ms(3), Time::MAX);
    assert_eq!(stretches(&net.sent(attacker, ms(60))), [(33 * MS, 59 * MS)]);
}

/// An attacker that is declared before its user does the same.
#[test]
fn it_may_follow_a_flow_that_is_added_later() {
    let mut net = Net::new(1000);
    let attacker = net.flow(following(FlowId::nth(1), 4.0), Time::ZERO, Time::MAX);
    net.flow(slow_start(), Time::ZERO, Time::MAX);
    assert_eq!(stretches(&net.sent(attacker, ms(400))), [(110 * MS, 399 * MS)]);
}

#[test]
fn it_stops_with_its_own_stop_and_with_its_users() {
    let mut net = Net::new(1000);
    let user = net.flow(slow_start(), Time::ZERO, ms(155));
    let short = net.flow(following(user, 2.0), ms(20), ms(40));
    assert_eq!(stretches(&net.sent(short, ms(400))), [(20 * MS, 39 * MS)]);
    let mut net = Net::new(1000);
    let user = net.flow(slow_start(), Time::ZERO, ms(155));
    let long = net.flow(following(user, 2.0), ms(20), Time::MAX);
    // The look at 160 finds nobody.
    assert_eq!(stretches(&net.sent(long, ms(400))), [(20 * MS, 159 * MS)]);
}

#[test]
fn it_starts_again_by_its_timetable() {
    let mut net = Net::new(1000);
    let user = net.flow(slow_start(), Time::ZERO, Time::MAX);
    let attacker = net.flow(following(user, 2.0), ms(20), ms(40));
    net.network.again(attacker, vec![(ms(55), ms(70))]);
    let expected = [(20 * MS, 39 * MS), (55 * MS, 69 * MS)];
    assert_eq!(stretches(&net.sent(attacker, ms(100))), expected);
}

/// An object of three segments, one a round trip from a SYN on, then a pause of 300 ms.
#[test]
fn between_two_connections_there_is_no_window() {
    let mut net = Net::new(1000);
    let (size, think) = (Law::Constant(1000), Law::Constant(300 * MS));
    let tcp = Tcp { handshake: Handshake::Skip, ..Tcp::new_reno() };
    let user = net.flow(Source::Web(Web { tcp, size, think }), Time::ZERO, Time::MAX);
    let attacker = net.flow(following(user, 1.0), Time::ZERO, Time::MAX);
    // It is open from 300 to 400.1 ms and from 700.1 to 800.2 ms.
    let expected = [(310 * MS, 409 * MS), (710 * MS, 809 * MS)];
    assert_eq!(stretches(&net.sent(attacker, ms(1000))), expected);
}

/// A buffer of two packets loses some of slow start; the timer's expiry takes the window to one.
#[test]
fn losses_silence_it() {
    let mut net = Net::new(2);
    let user = net.flow(slow_start(), Time::ZERO, Time::MAX);
    let attacker = net.flow(following(user, 8.0), Time::ZERO, Time::MAX);
    let sent = net.sent(attacker, ms(10_000));
    let stretches = stretches(&sent);
    assert!(stretches.len() >= 2, "{stretches:?}");
    // It begins and ends by what it sees each 10 ms.
    assert!(
        stretches
            .iter()
            .all(|(first, last)| first.is_multiple_of(10 * MS)
                && (last + MS).is_multiple_of(10 * MS))
    );
}

#[test]
fn who_has_no_window_cannot_be_followed() {
    for target in [0, 1, 7] {
        let mut net = Net::new(1000);
        let flood = Source::Cbr(Cbr::new(Rate::from_bps(8_000_000), Bytes::new(1000)));
        net.flow(flood, Time::ZERO, Time::MAX);
        net.flow(following(FlowId::nth(target), 2.0), Time::ZERO, Time::MAX);
        let error = net.network.check().unwrap_err();
        assert_eq!(error.to_string().split(':').next(), Some("flow 1"), "{error}");
        assert!(error.to_string().contains("must be a flow of this network that uses TCP"));
    }
}
