//! Who is named as an offender, in simulated time: what a gate measures and how it judges, behind
//! every queue of the catalog, on the simulator's TCP. Ten minutes of a link take seconds so.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;

use tidegate::catalog::{self, AnyConfig, AnyQueue, QUEUES};
use tidegate::{
    Backlog, DropReason, Gauge, Link, MarkReason, Packet, Prob, Qdisc, Rate, Rng, Seed, Sink, Span,
    Time,
};
use tidegate_gateway::path::overhead::Overhead;
use tidegate_gateway::path::sort::Sorter;
use tidegate_gateway::watch::fair::Sharing;
use tidegate_gateway::watch::meter::{ClassLayout, Meter};
use tidegate_gateway::watch::offenders::{Alarm, OffenderRules, Offenders};
use tidegate_gateway::watch::sample::GateSample;
use tidegate_packet::{Ends, FlowHasher, FlowKey};
use tidegate_sim::sources::Flavor;
use tidegate_sim::{Cbr, Flow, Network, Plan, Simulation, Source, Tcp};

/// How often a gate takes samples.
const SAMPLES: Span = Span::from_millis(50);

/// When a flow became an offender or ceased to be one, by its key.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Told {
    at: f64,
    flow: u64,
    became: bool,
}

/// A queue as a gate has it: the meter beside it, and who judges what that measures.
struct Watched {
    queue: AnyQueue,
    rate: Rate,
    meter: Meter,
    sorter: Sorter,
    sample: GateSample,
    due: Time,
    offenders: Offenders,
    told: Arc<Mutex<Vec<Told>>>,
}

/// Passes on what the queue says, and tells the meter.
struct Heard<'a, S: ?Sized>(&'a mut Meter, &'a mut S);

impl<S: Sink + ?Sized> Sink for Heard<'_, S> {
    fn dropped(&mut self, now: Time, packet: &Packet, why: DropReason) {
        self.0.lost(packet.flow, packet, ClassLayout::Current);
        self.1.dropped(now, packet, why);
    }
    fn marked(&mut self, now: Time, packet: &Packet, why: MarkReason) {
        self.1.marked(now, packet, why);
    }
}

/// Between which ends the flow of this key is.
fn ends(flow: u64) -> Ends {
    Ends::simulated(flow as u32, 1, 2, 3)
}

impl Watched {
    fn new(
        queue: &AnyConfig,
        link: Link,
        sharing: Sharing,
        told: Arc<Mutex<Vec<Told>>>,
    ) -> Watched {
        let classes = match &sharing {
            Sharing::Flows => 0,
            Sharing::Classes(weights) | Sharing::Weighted(weights) => weights.len(),
        };
        Watched {
            queue: queue.build(link, Rng::from_seed(9)).unwrap(),
            rate: link.rate,
            meter: Meter::new(&OffenderRules::default(), classes),
            sorter: Sorter::new(
                FlowHasher::new(FlowKey::FiveTuple, [1, 2]),
                Overhead::default(),
                &[],
                &[],
            ),
            sample: GateSample::empty(classes, None),
            due: Time::ZERO,
            offenders: Offenders::new(OffenderRules::default(), sharing),
            told,
        }
    }

    fn look(&mut self, now: Time) {
        while self.due <= now {
            self.meter.sample(self.due, &self.sorter, &mut self.sample.there);
            if self.sample.there.closed {
                let interval = self.sample.there.interval.clone();
                for alarm in self.offenders.hear(self.due, self.rate, interval) {
                    let (flow, became) = match alarm {
                        Alarm::Became { flow, .. } => (flow, true),
                        Alarm::Ceased { flow, .. } => (flow, false),
                    };
                    let flow =
                        (0..16).find(|&key| FlowKey::FiveTuple.flow(&ends(key)) == flow).unwrap();
                    self.told.lock().unwrap().push(Told { at: self.due.as_secs(), flow, became });
                }
            }
            self.due += SAMPLES;
        }
    }
}

impl Qdisc for Watched {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, packet: Packet, out: &mut S) {
        self.look(now);
        self.meter.arrived(&packet, &ends(packet.flow));
        self.queue.enqueue(now, packet, &mut Heard(&mut self.meter, out));
    }
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.look(now);
        let packet = self.queue.dequeue(now, &mut Heard(&mut self.meter, out))?;
        self.meter.left(&packet, ClassLayout::Current);
        self.meter.waited(now.since(packet.arrived));
        Some(packet)
    }
    fn advance(&mut self, now: Time) {
        self.queue.advance(now);
    }
    fn wake_at(&self) -> Option<Time> {
        self.queue.wake_at()
    }
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        self.queue.probe(see);
    }
}

/// A flow: its key, which begins with 1, is its place among all.
#[derive(Clone)]
struct Sender {
    source: Source,
    start: f64,
    class: u16,
}

fn tcp(source: Tcp) -> Sender {
    Sender {
        source: Source::Tcp(Tcp { segment: "1500 B".parse().unwrap(), ..source }),
        start: 0.0,
        class: 0,
    }
}

/// CUBIC as Linux has it: RACK, timeouts of 200 ms at least.
fn linux() -> Sender {
    let min_rto = Span::from_millis(200);
    tcp(Tcp {
        flavor: Flavor::Rack,
        rules: tidegate_sim::sources::Rules::Linux,
        min_rto,
        ..Tcp::cubic()
    })
}

fn flood(mbit: f64, start: f64) -> Sender {
    let rate = Rate::from_bps((mbit * 1e6) as u64);
    let cbr = Cbr::new(rate, "1500 B".parse().unwrap()).with_jitter(Prob::clip(0.5));
    Sender { source: Source::Cbr(cbr), start, class: 0 }
}

/// A link with room for 100 ms.
fn link(mbit: u64) -> Link {
    let (rate, room) = (format!("{mbit} Mbit/s"), format!("{} B", mbit * 12_500));
    Link::new(rate.parse().unwrap(), room.parse().unwrap(), "1000 B".parse().unwrap()).unwrap()
}

/// The queue as a gate has it.
fn queue(name: &str, preset: &str, link: &Link) -> AnyConfig {
    let mut queue = catalog::config(name, Some(preset), link).unwrap();
    if queue.get("non_ect").is_some() {
        queue.set("non_ect", "drop").unwrap();
    }
    queue
}

/// What the gate reports of `senders` behind `queue` in so many seconds; `delay` is the time from
/// end to end.
fn watch(
    queue: &AnyConfig,
    link: Link,
    sharing: Sharing,
    delay: Span,
    senders: &[Sender],
    seconds: f64,
) -> Vec<Told> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let mut network = Network::new();
    let [near, far] = ["near", "far"].map(|name| network.node(name));
    let watched = Watched::new(queue, link, sharing, told.clone());
    network.queue("there", (near, far), link.rate, delay, watched);
    let fast = Rate::from_bps(10_000_000_000);
    network.link("back", far, near, fast, delay);
    let group = network.group("all");
    for (key, sender) in (1..).zip(senders) {
        let host = network.node(format!("host {key}"));
        network.duplex(host, near, fast, Span::from_micros(10));
        let start = Time::ZERO + Span::from_secs(sender.start);
        let Sender { source, class, .. } = sender.clone();
        network.flow(Flow {
            group,
            from: host,
            to: far,
            key,
            class,
            start,
            stop: Time::MAX,
            source,
        });
    }
    let end = Time::ZERO + Span::from_secs(seconds);
    let plan = Plan::until(end);
    let mut simulation = Simulation::new(network, plan, Seed::new(5)).unwrap();
    simulation.run_until(end);
    drop(simulation);
    std::mem::take(&mut told.lock().unwrap())
}

/// Every queue as `paper` and as `auto`.
fn every_queue(link: &Link) -> Vec<(String, AnyConfig)> {
    let both = |row: &catalog::Row| {
        ["paper", "auto"]
            .map(|preset| (format!("{}/{preset}", row.name), queue(row.name, preset, link)))
    };
    QUEUES.iter().flat_map(both).collect()
}

/// Does `work` for each of `all` on all processors; what came of it, in order.
fn each<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(one) = {
                    let at = next.fetch_add(1, Relaxed);
                    all.get(at).map(|one| (at, one))
                } {
                    let result = work(one.1);
                    done.lock().unwrap().push((one.0, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// When the floods begin.
const FLOODS: f64 = 10.0;
/// A flood is to be named within so long.
const SOON: f64 = 5.0;

/// What is wrong with these reports: nobody but the flows from `floods` on is an offender, and
/// those are soon and stay so.
fn wrong(told: &[Told], floods: std::ops::RangeInclusive<u64>) -> Option<String> {
    let innocent = told.iter().find(|told| !floods.contains(&told.flow));
    if let Some(Told { at, flow, .. }) = innocent {
        return Some(format!("the user {flow} was named after {at} s"));
    }
    if let Some(Told { at, .. }) = told.iter().find(|told| !told.became) {
        return Some(format!("a flood was let off after {at} s"));
    }
    let named =
        |flood: &u64| told.iter().any(|told| told.flow == *flood && told.at <= FLOODS + SOON);
    floods
        .clone()
        .find(|flood| !named(flood))
        .map(|flood| format!("the flood {flood} was not named: {told:?}"))
}

/// Looks at `senders`, where the last are `floods`, behind every queue of a link of 20 Mbit/s; what
/// is wrong, each in a line.
fn everywhere(
    senders: &[Sender],
    floods: std::ops::RangeInclusive<u64>,
    ms: u64,
    seconds: f64,
) -> Vec<String> {
    everywhere_on(link(20), senders, floods, ms, seconds)
}

/// The same on any link.
fn everywhere_on(
    link: Link,
    senders: &[Sender],
    floods: std::ops::RangeInclusive<u64>,
    ms: u64,
    seconds: f64,
) -> Vec<String> {
    let queues = every_queue(&link);
    let of = |(name, queue): &(String, AnyConfig)| {
        let told = watch(queue, link, Sharing::Flows, Span::from_millis(ms), senders, seconds);
        wrong(&told, floods.clone()).map(|why| format!("{name}, {ms} ms: {why}"))
    };
    each(&queues, of).into_iter().flatten().collect()
}

#[test]
fn in_ten_minutes_beside_a_flood_one_tcp_is_never_named_and_the_flood_is_behind_every_queue() {
    // On a slow link, as it takes the time of so many packets.
    let senders = [tcp(Tcp::cubic()), flood(10.0, FLOODS)];
    let wrong = everywhere_on(link(5), &senders, 2..=2, 20, 600.0);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn floods_from_a_quarter_above_the_link_on_are_named_and_users_near_and_far_are_not() {
    for mbit in [25.0, 30.0, 300.0] {
        for ms in [1, 20] {
            let wrong = everywhere(&[tcp(Tcp::cubic()), flood(mbit, FLOODS)], 2..=2, ms, 30.0);
            assert!(wrong.is_empty(), "{mbit} Mbit/s: {wrong:#?}");
        }
    }
    let wrong = everywhere(&[linux(), flood(30.0, FLOODS)], 2..=2, 1, 30.0);
    assert!(wrong.is_empty(), "{wrong:#?}");
    let mut wrong = everywhere(&[tcp(Tcp::new_reno()), flood(60.0, FLOODS)], 2..=2, 1, 30.0);
    // A fault that is known and told (LIMITATIONS.md): here NewReno is named once, nine seconds
    // after it began, when it is alone.
    let known = |why: &String| why.starts_with("ewfq/auto, 1 ms: the user 1 was named after 9");
    assert_eq!(wrong.iter().filter(|why| known(why)).count(), 1, "{wrong:#?}");
    wrong.retain(|why| !known(why));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn of_eight_users_and_two_floods_the_floods_are_named() {
    let users = [1; 8].map(|_| tcp(Tcp::cubic()));
    let senders = [&users[..], &[flood(20.0, FLOODS), flood(40.0, FLOODS)]].concat();
    let mut wrong = everywhere(&senders, 9..=10, 20, 60.0);
    // Nor is it an offender by what it loses: by HHF's constants a flow of less than 26 Mbit/s is
    // no heavy hitter, so all drops fall on the other flood (LIMITATIONS.md).
    wrong.retain(|why| !why.starts_with("hhf/paper, 20 ms: the flood 9 was not named"));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn users_among_themselves_are_never_named() {
    let users = [1; 12].map(|_| linux());
    for (ms, users) in [(20, &users[..1]), (1, &users[..2]), (5, &users[..])] {
        let link = link(20);
        let queues = every_queue(&link);
        let of = |(name, queue): &(String, AnyConfig)| {
            let told = watch(queue, link, Sharing::Flows, Span::from_millis(ms), users, 60.0);
            (!told.is_empty()).then(|| format!("{name}, {} users: {told:?}", users.len()))
        };
        let wrong: Vec<String> = each(&queues, of).into_iter().flatten().collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

/// A customer of weight 4 of 5 who fills his part of the link, without heeding anything, beside one
/// who wants more than his own.
#[test]
fn who_keeps_to_the_weight_of_his_class_is_not_named() {
    let weights = vec![4.0, 1.0];
    let (link, delay) = (link(20), Span::from_millis(20));
    for name in ["wfq", "drr", "ewfq", "csfq", "hcsfq", "tide", "bc_pqp"] {
        let mut queue = queue(name, "auto", &link);
        queue.set("weights", "4:1").unwrap();
        let sharing = match queue.set("map", "class") {
            Ok(()) => Sharing::Classes(weights.clone()),
            Err(_) => Sharing::Weighted(weights.clone()),
        };
        if queue.get("classes").is_some() {
            queue.set("classes", "2").unwrap();
        }
        let heavy = Sender { source: flood(16.0, 0.0).source, start: 1.0, class: 0 };
        let light = Sender { class: 1, ..flood(12.0, FLOODS) };
        let told = watch(&queue, link, sharing.clone(), delay, &[heavy, light.clone()], 60.0);
        assert_eq!(wrong(&told, 2..=2), None, "{name}");
        let heavy = Sender { class: 0, ..flood(40.0, FLOODS) };
        let told = watch(&queue, link, sharing, delay, &[heavy, light], 60.0);
        assert_eq!(wrong(&told, 1..=2), None, "{name}: beyond it he is");
    }
}
