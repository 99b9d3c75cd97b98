//! What documents say of gates that run: over cables in memory, by times that the test sets.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use crate::frames::frame;
use crate::rig::{self, SECRET, turn, way, wide_cable};
use serde_json::Value;
use tidegate::catalog::QUEUES;
use tidegate::{Ecn, Link, Rng, Size, Span, Time};
use tidegate_gateway::device::memory::End;
use tidegate_gateway::device::port::Port;
use tidegate_gateway::path::gate::Gate;
use tidegate_gateway::path::sort::{Class, deal};
use tidegate_gateway::run::plan::{GatePlan, Settings};
use tidegate_gateway::run::way::Way;
use tidegate_gateway::watch::counters::Tally;
use tidegate_gateway::watch::monitor::{Moment, Monitor};
use tidegate_gateway::watch::offenders::OffenderRules;
use tidegate_gateway::watch::sample::{Sampler, samples};
use tidegate_gateway::watch::snapshot::{Direction, Flows, SCHEMA, Snapshot};

/// How often samples are taken, as the pump does.
const BEAT: Span = Span::from_millis(50);
const BEGAN: Time = Time::from_nanos(5_000_000_000);

fn link(rate: &str, limit: u64) -> Link {
    rig::link(rate, Size::Packets(limit))
}

fn classes(way: &mut Way, prefixes: &[&str]) {
    let class = |(number, prefix): (usize, &&str)| Class {
        name: format!("class{number}"),
        weight: 1.0 + number as f64,
        prefixes: vec![prefix.parse().unwrap()],
        ..Class::default()
    };
    way.classes = prefixes.iter().enumerate().map(class).collect();
    deal(&mut way.queue, &way.classes).unwrap();
}

fn plan(there: Way, back: Option<Way>) -> GatePlan {
    let settings = Settings {
        inner: "if1".into(),
        outer: "if2".into(),
        there,
        back,
        delay: Span::from_millis(2),
    };
    GatePlan::new(settings, 1500).unwrap()
}

/// A gate, both far ends, and the monitor that it reports to.
struct Rig {
    clients: End,
    servers: End,
    gate: Gate<End, End, ()>,
    sampler: Sampler,
    monitor: Monitor,
    plan: GatePlan,
    now: Time,
    due: Time,
    /// The reports of offenders.
    told: Vec<String>,
}

impl Rig {
    fn new(plan: GatePlan) -> Rig {
        let ((clients, inner), (outer, servers)) = (wide_cable(), wide_cable());
        let (there, back) = plan.lanes(SECRET, ()).unwrap();
        let known = plan.settings().back.as_ref().map(Way::known_classes);
        let (sampler, samples) = samples(plan.settings().there.known_classes(), known);
        let monitor = Monitor::new(BEGAN, [("uplink".to_string(), plan.clone(), samples)]);
        let gate = Gate::new(there, back, inner, outer);
        Rig { clients, servers, gate, sampler, monitor, plan, now: BEGAN, due: BEGAN, told: vec![] }
    }

    /// Does what is to be done up to `then`, and takes a sample every beat.
    fn until(&mut self, then: Time) {
        while self.due <= then {
            let due = self.due;
            self.turn(due);
            self.sampler.take(|sample| self.gate.sample(due, sample));
            self.told.extend(self.monitor.take_in().iter().map(|(_, alarm)| alarm.to_string()));
            self.due += BEAT;
        }
        self.turn(then);
    }

    fn turn(&mut self, then: Time) {
        self.now = turn(&mut self.gate, self.now, then);
        self.clients.receive(usize::MAX, &mut |_| ()).unwrap();
        self.servers.receive(usize::MAX, &mut |_| ()).unwrap();
    }

    /// Goes by another plan from here on.
    fn renew(&mut self, plan: GatePlan) {
        self.monitor.goes_by(0, &plan);
        drop(self.gate.renew(self.now, plan.instead_of(&self.plan, SECRET).unwrap()));
        self.monitor.reloaded();
        self.plan = plan;
    }

    fn snapshot(&self) -> Snapshot {
        let wall = SystemTime::UNIX_EPOCH
            + Duration::from_secs(1_000_000)
            + Duration::from_nanos(self.now.as_nanos());
        self.monitor.snapshot(Moment { now: self.now, wall })
    }
}

/// Some frames of some flows, from either side.
fn traffic(rig: &mut Rig, dice: &mut Rng, number: &mut u32) {
    for _ in 0..dice.below(12) {
        *number += 1;
        let ecn = [Ecn::NotEct, Ecn::Ect0][dice.below(2) as usize];
        let (flow, len) = (dice.below(40) as u8, 60 + dice.below(1400) as usize);
        let frame = frame(dice, flow, *number, ecn, len);
        let end = if dice.chance(0.6) { &mut rig.clients } else { &mut rig.servers };
        end.send(&frame).unwrap();
        end.flush().unwrap();
    }
}

/// Every number in `of` that is a counter, by its path.
fn counters(of: &Direction) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    let mut tally = |name: String, tally: Tally| {
        all.insert(format!("{name}.frames"), tally.frames);
        all.insert(format!("{name}.bytes"), tally.bytes);
    };
    tally("received".into(), of.received);
    tally("sent".into(), of.sent);
    tally("allowed".into(), of.allowed);
    of.lost.iter().for_each(|(why, &lost)| tally(format!("lost.{why}"), lost));
    all.extend(of.marked.iter().map(|(why, &marked)| (format!("marked.{why}"), marked)));
    all.insert("unfinished".into(), of.unfinished);
    all.insert("missed".into(), of.missed);
    if let Some(queue) = &of.queue {
        all.insert("delays.frames".into(), queue.delays.frames);
        all.insert("became".into(), queue.flows.became_offender);
        all.extend(queue.delays.at_most.iter().map(|b| (format!("delays.{}", b.le_s), b.frames)));
    }
    all
}

fn schema() -> jsonschema::Validator {
    let schema: Value =
        serde_json::from_str(include_str!("../../schema/tidegate.snapshot-1.json")).unwrap();
    jsonschema::draft202012::meta::validate(&schema).expect("the schema is a schema");
    jsonschema::draft202012::new(&schema).unwrap()
}

/// The document is one line, as the schema has it, and says the same when it is read.
fn is_by_the_schema(snapshot: &Snapshot, schema: &jsonschema::Validator, queue: &str) {
    let text = snapshot.line();
    let document: Value = serde_json::from_str(&text).unwrap();
    let problems: Vec<String> =
        schema.iter_errors(&document).map(|e| format!("{e} at {}", e.instance_path())).collect();
    assert!(problems.is_empty(), "{queue}: {problems:?}");
    let read: Snapshot = serde_json::from_str(&text).unwrap();
    assert_eq!(read, *snapshot, "what is read is what was written");
    assert!(text.ends_with('\n') && text.matches('\n').count() == 1);
}

/// All frames are accounted for, and no counter is below what it was `before`.
fn accounts_for_all(direction: &Direction, before: &mut BTreeMap<String, u64>, name: &str) {
    assert!(direction.balanced(), "{name}: {direction:?}");
    let now = counters(direction);
    for (counter, count) in &now {
        let went_back = before.get(counter).is_some_and(|before| before > count);
        assert!(!went_back, "{name}: {counter} went back");
    }
    *before = now;
    let Some(queue) = &direction.queue else { return };
    let last = queue.delays.at_most.last().unwrap();
    assert_eq!(last.frames, queue.delays.frames, "the last has all");
    assert!(queue.backlog.frames <= direction.held.frames);
    assert!(queue.gauges.len() <= 16, "there is room for them");
}

#[test]
fn every_document_is_by_the_schema_and_accounts_for_all_and_counters_never_go_back() {
    let schema = schema();
    let mut dice = Rng::from_seed(7);
    for (number, row) in QUEUES.iter().enumerate() {
        let back = (number % 2 == 0).then(|| way("sfb", link("3 Mbit/s", 30)));
        let allowed = vec!["10.0.0.4/32".parse().unwrap()];
        let there = Way { allowed, ..way(row.name, link("4 Mbit/s", 50)) };
        let mut rig = Rig::new(plan(there, back));
        let (mut before, mut frames) = ([BTreeMap::new(), BTreeMap::new()], 0);
        for round in 0..300 {
            traffic(&mut rig, &mut dice, &mut frames);
            rig.until(rig.now + Span::from_millis(dice.below(10)));
            if round == 150 {
                let way = |queue| way(queue, link("5 Mbit/s", 60));
                let managed = rig.plan.settings().back.is_some();
                rig.renew(plan(way("red"), managed.then(|| way("fq_codel"))));
            }
            if round % 10 == 0 {
                let snapshot = rig.snapshot();
                is_by_the_schema(&snapshot, &schema, row.name);
                let link = &snapshot.links[0];
                accounts_for_all(&link.managed, &mut before[0], row.name);
                accounts_for_all(&link.reverse, &mut before[1], row.name);
            }
        }
        let snapshot = rig.snapshot();
        let managed = snapshot.links[0].managed.clone();
        assert_eq!((snapshot.schema.as_str(), snapshot.reloads.done), (SCHEMA, 1));
        let some = managed.sent.frames > 300 && managed.allowed.frames > 0;
        assert!(some, "{}: {managed:?}", row.name);
        assert_eq!(managed.queue.unwrap().label, "red");
    }
}

/// A gate of 8 Mbit/s, at which a frame of a thousand bytes arrives every millisecond and leaves
/// two later, since three came at once in the beginning.
#[test]
fn rates_and_delays_of_late_are_those_of_the_last_second() {
    let mut rig = Rig::new(plan(way("drop_tail", link("8 Mbit/s", 10)), None));
    let mut dice = Rng::from_seed(1);
    for number in 0..3000 {
        rig.until(BEGAN + Span::from_millis(u64::from(number)));
        let count = if number == 0 { 3 } else { 1 };
        for _ in 0..count {
            let frame = frame(&mut dice, 0, number, Ecn::NotEct, 1000);
            assert_eq!(frame.len(), 1000);
            rig.clients.send(&frame).unwrap();
        }
        rig.clients.flush().unwrap();
    }
    let snapshot = rig.snapshot();
    assert_eq!((snapshot.uptime_s, snapshot.time_s), (2.999, 1_000_007.999));
    let link = &snapshot.links[0];
    assert!(link.running && (link.taken_s - 1_000_007.95).abs() < 1e-6, "{}", link.taken_s);
    let recent = link.managed.recent;
    assert_eq!(
        (recent.span_s, recent.received_bps, recent.sent_bps, recent.lost_bps),
        (1.0, 8e6, 8e6, 0.0)
    );
    let queue = link.managed.queue.as_ref().unwrap();
    let delay = queue.delay.unwrap();
    assert_eq!((delay.frames, delay.mean_s, delay.max_s), (1000, 0.002, 0.002));
    assert_eq!((delay.p50_s, delay.p99_s), (0.002, 0.002), "no more than the longest");
    assert_eq!((queue.backlog.frames, queue.rate_bps), (1, 8_000_000));
    assert_eq!(link.managed.held.frames, 3, "two more are on the delay line");
    assert!(
        link.managed.memory.used_bytes > 3000
            && link.managed.memory.used_bytes < link.managed.memory.bytes
    );
    assert_eq!((link.managed.from.as_str(), link.managed.to.as_str()), ("if1", "if2"));
    assert_eq!((link.reverse.from.as_str(), &link.reverse.queue), ("if2", &None));
    rig.monitor.ended(0);
    rig.monitor.refused("it is no TOML");
    let snapshot = rig.snapshot();
    assert!(!snapshot.links[0].running);
    assert_eq!(
        (snapshot.reloads.refused, snapshot.reloads.last_error.as_deref()),
        (1, Some("it is no TOML"))
    );
}

#[test]
fn classes_are_accounted_for_across_reloads_and_begin_anew_when_they_are_others() {
    let mut dice = Rng::from_seed(3);
    let with = |queue: &str, prefixes: &[&str]| {
        let mut there = way(queue, link("2 Mbit/s", 100));
        classes(&mut there, prefixes);
        plan(there, None)
    };
    let two = ["10.0.0.0/29", "2001:db8::/32"];
    let mut rig = Rig::new(with("wfq", &two));
    let mut frames = 0;
    let mut rounds = |rig: &mut Rig| {
        for _ in 0..200 {
            traffic(rig, &mut dice, &mut frames);
            rig.until(rig.now + Span::from_millis(dice.below(8)));
        }
        // Enough for a sample of what is now.
        rig.until(rig.now + BEAT);
        rig.snapshot().links[0].managed.queue.clone().unwrap()
    };
    let check = |queue: &tidegate_gateway::watch::snapshot::QueueSnapshot| {
        for class in &queue.classes {
            assert_eq!(class.received, class.left + class.lost + class.waiting, "{class:?}");
        }
        queue.classes.iter().map(|class| class.waiting.frames).sum::<u64>()
    };
    let before = rounds(&mut rig);
    let names: Vec<&str> = before.classes.iter().map(|class| class.name.as_str()).collect();
    assert_eq!(names, ["class0", "class1", ""]);
    assert_eq!(check(&before), before.backlog.frames, "all that waits is of a class");
    assert!(before.classes.iter().all(|class| class.received.frames > 20), "{before:?}");
    // Another queue with the same classes: what waits in the old one is theirs.
    rig.renew(with("drr", &two));
    let after = rounds(&mut rig);
    assert_eq!(check(&after), after.backlog.frames);
    assert!(
        before
            .classes
            .iter()
            .zip(&after.classes)
            .all(|(one, other)| one.received.frames < other.received.frames)
    );
    // Others: what waits is of none of them.
    rig.renew(with("drr", &["10.0.0.8/29"]));
    rig.until(rig.now + BEAT);
    let anew = rig.snapshot().links[0].managed.queue.clone().unwrap();
    let names: Vec<&str> = anew.classes.iter().map(|class| class.name.as_str()).collect();
    assert_eq!((names, check(&anew)), (vec!["class0", ""], 0));
    check(&rounds(&mut rig));
}

/// A user and a flood, which comes and goes.
#[test]
fn an_offender_is_in_the_documents_for_as_long_as_it_is_one() {
    offends("sfb", "off");
}

/// Twenty rehashes make no other flow of it, and lose none of its figures.
#[test]
fn an_offender_stays_one_however_often_its_key_changes() {
    offends("drr", "off");
    offends("drr", "100 ms");
}

/// A second of a user's 2 Mbit/s, and of `flood` frames of a flood each millisecond; who sent, as
/// the documents have it.
fn second(rig: &mut Rig, dice: &mut Rng, flood: u64) -> Flows {
    for number in 0..1000 {
        // Flow 11 is UDP over IPv4, as are 0 and 22: every second millisecond a user's frame.
        let flows = (0..flood).map(|_| 11).chain((number % 2 == 0).then_some(22));
        for flow in flows {
            rig.clients.send(&frame(dice, flow, number, Ecn::NotEct, 500)).unwrap();
        }
        rig.clients.flush().unwrap();
        rig.until(rig.now + Span::from_millis(1));
    }
    rig.snapshot().links[0].managed.queue.clone().unwrap().flows
}

/// The flood of 12 Mbit/s is the offender, and its figures are right.
fn shows_the_flood(flows: &Flows) {
    assert_eq!((flows.became_offender, flows.offenders.len()), (1, 1));
    let offender = &flows.offenders[0];
    assert_eq!(&flows.top[0], offender, "it sends most");
    // What the user leaves of 4 Mbit/s is fair.
    assert!((flows.fair_bps.unwrap() / 2e6 - 1.0).abs() < 0.1, "{flows:?}");
    assert!(
        (offender.rate_bps / 12e6 - 1.0).abs() < 0.05 && offender.lost_frames > 500,
        "{offender:?}"
    );
    assert!((5.0..7.0).contains(&offender.fair_shares.unwrap()) && offender.share > 0.8);
    let since = offender.offender_since_s.unwrap() - 1_000_000.0 - BEGAN.as_secs();
    assert!((1.9..2.6).contains(&since), "{since}");
}

fn offends(queue: &str, rehash: &str) {
    let rules = OffenderRules { after: 2, clear_after: 3, ..OffenderRules::default() };
    let there = Way {
        offenders: rules,
        rehash: rehash.parse().unwrap(),
        ..way(queue, link("4 Mbit/s", 50))
    };
    let mut rig = Rig::new(plan(there, None));
    let dice = &mut Rng::from_seed(5);
    let calm = second(&mut rig, dice, 0);
    assert_eq!((calm.fair_bps, calm.offenders.len(), calm.top.len()), (None, 0, 1));
    let user = &calm.top[0];
    assert!((user.rate_bps / 2e6 - 1.0).abs() < 0.05 && user.share == 1.0, "{calm:?}");

    second(&mut rig, dice, 3);
    let flood = second(&mut rig, dice, 3);
    shows_the_flood(&flood);

    second(&mut rig, dice, 0);
    let after = second(&mut rig, dice, 0);
    assert_eq!((after.became_offender, after.offenders.len()), (1, 0));
    let [began, ended] = &rig.told[..] else { panic!("two are told: {:?}", rig.told) };
    let flow = &flood.offenders[0].flow;
    assert!(began.contains(&format!("{flow} has become an offender: it sends ")), "{began}");
    assert!(
        ended.contains("is an offender no more, after 1.") || ended.contains("after 2"),
        "{ended}"
    );
}

/// A reader that comes late misses samples, and neither counts nor intervals.
#[test]
fn a_reader_that_comes_late_misses_nothing_that_is_counted() {
    let (mut prompt, mut late) = (Vec::new(), Vec::new());
    for (every, seen) in [(1, &mut prompt), (40, &mut late)] {
        let mut rig = Rig::new(plan(way("sfb", link("4 Mbit/s", 50)), None));
        let (mut dice, mut frames) = (Rng::from_seed(9), 0);
        for beat in 0..200 {
            (0..10).for_each(|_| traffic(&mut rig, &mut dice, &mut frames));
            rig.turn(rig.now + BEAT);
            rig.sampler.take(|sample| rig.gate.sample(rig.now, sample));
            if beat % every == every - 1 {
                rig.monitor.take_in();
            }
        }
        // The last samples that were given away may be old: what there is of room, and once more.
        for _ in 0..8 {
            rig.turn(rig.now + BEAT);
            rig.sampler.take(|sample| rig.gate.sample(rig.now, sample));
            rig.monitor.take_in();
        }
        let managed = rig.snapshot().links[0].managed.clone();
        seen.push((counters(&managed), managed.held));
    }
    prompt[0].0.remove("became");
    late[0].0.remove("became");
    assert_eq!(prompt, late);
}
