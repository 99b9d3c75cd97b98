//! The gate over two cables in memory: what comes through, in which order, when, and what is said
//! of the rest.

use std::cell::Cell;
use std::rc::Rc;

use crate::frames::{frame, kind, label, runt};
use tidegate::catalog::{self, QUEUES};
use tidegate::{DropReason, Ecn, Link, MarkReason, Rate, Rng, Size, Span, Time};
use tidegate_gateway::device::guard::{Guard, PromiseState, Unguarded};
use tidegate_gateway::device::memory::{Cable, End, cable};
use tidegate_gateway::device::port::{Port, ReceivedFrame, Unsent};
use tidegate_gateway::path::delay::DelayLine;
use tidegate_gateway::path::gate::{Gate, Next};
use tidegate_gateway::path::lane::{Lane, LaneParts};
use tidegate_gateway::path::overhead::Overhead;
use tidegate_gateway::path::pool::FramePool;
use tidegate_gateway::path::rehash::{Keys, Rehash};
use tidegate_gateway::path::sort::Sorter;
use tidegate_gateway::path::wire::UnmanagedWire;
use tidegate_gateway::watch::counters::{DirectionCounters, LossReason, Tally};
use tidegate_gateway::watch::meter::Meter;
use tidegate_gateway::watch::observer::Observer;
use tidegate_gateway::watch::offenders::OffenderRules;
use tidegate_packet::{FlowHasher, FlowKey, Frame, LinkType, ipv4_checksum};

/// Everything that the observer saw.
#[derive(Debug, Default)]
struct Seen {
    sent: Vec<(Time, Span, Option<MarkReason>, Vec<u8>)>,
    lost: Vec<(LossReason, Vec<u8>)>,
}

impl Observer for &mut Seen {
    fn sent(&mut self, at: Time, waited: Span, mark: Option<MarkReason>, frame: &[u8]) {
        self.sent.push((at, waited, mark, frame.to_vec()));
    }
    fn lost(&mut self, _: Time, why: LossReason, frame: &[u8]) {
        self.lost.push((why, frame.to_vec()));
    }
}

/// What a test varies.
struct Setup {
    queue: &'static str,
    set: &'static [(&'static str, &'static str)],
    rate: &'static str,
    limit: Size,
    overhead: Overhead,
    delay: Span,
    cells: u32,
    cable: Cable,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            queue: "drop_tail",
            set: &[],
            rate: "10 Mbit/s",
            limit: Size::Packets(100),
            overhead: Overhead::default(),
            delay: Span::ZERO,
            cells: 10_000,
            cable: Cable { longest: 9022, ..Cable::default() },
        }
    }
}

/// The two far ends, and the gate between them.
struct Rig<'a> {
    clients: End,
    servers: End,
    gate: Gate<End, End, &'a mut Seen>,
}

impl Setup {
    fn managed(&self) -> LaneParts {
        let rate: Rate = self.rate.parse().unwrap();
        let link = Link::new(rate, self.limit, "1000 B".parse().unwrap()).unwrap();
        let mut queue = catalog::config(self.queue, None, &link).unwrap();
        self.set.iter().for_each(|(name, value)| queue.set(name, value).unwrap());
        let pool = FramePool::new(self.cells, 9022);
        LaneParts {
            queue: queue.build(link, Rng::from_seed(1)).unwrap(),
            link,
            sorter: Sorter::new(
                FlowHasher::new(FlowKey::FiveTuple, [1, 2]),
                self.overhead,
                &[],
                &[],
            ),
            keys: Keys::new(Rehash::OFF, 3, pool.cells()),
            under_way: DelayLine::new(self.delay, &pool),
            pool,
            meter: Meter::new(&OffenderRules::default(), 0),
        }
    }

    fn rig(self, seen: &mut Seen) -> Rig<'_> {
        let lane = self.managed();
        let ((clients, inner), (outer, servers)) = (cable(self.cable), cable(self.cable));
        let wire = UnmanagedWire::new(self.delay, FramePool::new(self.cells, 9022));
        Rig { clients, servers, gate: Gate::new(Lane::new(lane, seen), wire, inner, outer) }
    }
}

fn send(end: &mut End, frame: &[u8]) {
    end.send(frame).unwrap();
    end.flush().unwrap();
}

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

/// Turns until nothing is left to be done; the time then.
fn settle(rig: &mut Rig<'_>, mut now: Time) -> Time {
    loop {
        match rig.gate.turn(now, &mut Unguarded) {
            Next::Now => {}
            Next::At(then) => now = now.max(then),
            Next::Arrival => return now,
            Next::Renewal => unreachable!("nobody keeps a promise here"),
        }
    }
}

const ECNS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];

fn varied(dice: &mut Rng, number: u32) -> Vec<u8> {
    let len = match dice.below(200) {
        0 => 9014,
        1..100 => 60,
        _ => 60 + dice.below(1455) as usize,
    };
    let (flow, ecn) = (dice.below(40) as u8, ECNS[dice.below(4) as usize]);
    frame(dice, flow, number, ecn, len)
}

#[test]
fn every_kind_of_frame_comes_through_unchanged_and_in_order_in_both_directions() {
    let mut seen = Seen::default();
    let setup =
        Setup { rate: "1 Gbit/s", limit: Size::Packets(5000), cells: 50_000, ..Setup::default() };
    let mut rig = setup.rig(&mut seen);
    let mut dice = Rng::from_seed(3);
    let mut now = at(1);
    for round in 0..20 {
        let batch: Vec<Vec<u8>> = (0..500)
            .map(|i| if i % 50 == 7 { runt(&mut dice) } else { varied(&mut dice, round * 500 + i) })
            .collect();
        batch.iter().for_each(|f| send(&mut rig.clients, f));
        batch.iter().rev().for_each(|f| send(&mut rig.servers, f));
        now = settle(&mut rig, now);
        let there = rig.servers.all().unwrap();
        assert!(there == batch, "forward, round {round}");
        assert!(rig.clients.all().unwrap().iter().eq(batch.iter().rev()), "back, round {round}");
    }
    let account = rig.gate.account();
    assert!(account.managed.balanced() && account.reverse.balanced());
    assert_eq!((account.managed.sent.frames, account.reverse.sent.frames), (10_000, 10_000));
}

#[test]
fn what_was_received_is_sent_or_lost_for_a_reason_or_held_under_every_queue() {
    for row in QUEUES {
        let mut seen = Seen::default();
        // It sorts by codepoint, and a flow stays in order within its two lines unless packets of
        // it are sent to the other.
        let by_codepoint = row.name == "dualpi2";
        let set: &[_] = if by_codepoint { &[("protection", "off")] } else { &[] };
        let delay = Span::from_millis(3);
        let setup = Setup { queue: row.name, set, cells: 900, delay, ..Setup::default() };
        let mut rig = setup.rig(&mut seen);
        let mut dice = Rng::from_seed(5);
        let (mut now, mut offered) = (at(1), Tally::default());
        let (mut last, mut lines) = ([[0u32; 256]; 2], vec![0]);
        let mut arrived = 0;
        for number in 1..=15_000 {
            let frame = varied(&mut dice, number);
            let ecn = Frame::parse(LinkType::Ethernet, &frame, frame.len() as u32).ecn;
            lines.push(usize::from(by_codepoint && matches!(ecn, Ecn::Ect1 | Ecn::Ce)));
            offered.add(frame.len() as u32);
            send(&mut rig.clients, &frame);
            send(&mut rig.servers, &frame);
            // About three times the link's rate in bursts; whoever calls is late now and then.
            if dice.chance(0.3) {
                now += Span::from_nanos(dice.below(700_000));
                rig.gate.turn(now, &mut Unguarded);
                let account = rig.gate.account();
                assert!(
                    account.managed.balanced() && account.reverse.balanced(),
                    "{}: {account:?}",
                    row.name
                );
            }
            for frame in rig.servers.all().unwrap() {
                let (flow, number) = label(&frame).unwrap();
                let last = &mut last[lines[number as usize]][flow as usize];
                // Cebinae's two queues change places while packets of a flow wait in both.
                let in_order = number > *last || row.name == "cebinae";
                assert!(in_order, "{}: flow {flow} out of order", row.name);
                *last = number;
                arrived += 1;
            }
        }
        settle(&mut rig, now);
        arrived += rig.servers.all().unwrap().len();
        let managed = rig.gate.account().managed;
        assert_eq!((managed.received, managed.held), (offered, Tally::default()), "{}", row.name);
        assert_eq!(managed.sent.frames as usize, arrived, "{}", row.name);
        assert!(managed.lost_in_all().frames > 5_000, "{}: the link was not overloaded", row.name);
        drop(rig);
        assert_eq!((seen.sent.len(), seen.lost.len()), (arrived, 15_000 - arrived), "{}", row.name);
        for why in LossReason::all() {
            let told = seen.lost.iter().filter(|(w, _)| *w == why).count();
            assert_eq!(managed.lost(why).frames as usize, told, "{}: {}", row.name, why.name());
        }
    }
}

/// Twenty thousand frames of all flows and codepoints, by turns, into a gate of 20 Mbit/s: what was
/// offered, and what the gate counted on the managed way.
fn overloaded(queue: &'static str, seen: &mut Seen) -> (Vec<Vec<u8>>, DirectionCounters) {
    let setup = Setup { queue, rate: "20 Mbit/s", limit: Size::Packets(200), ..Setup::default() };
    let mut rig = setup.rig(seen);
    let mut dice = Rng::from_seed(9);
    let (mut now, mut offered) = (at(1), Vec::new());
    for number in 0..20_000u32 {
        let flow = dice.below(40) as u8;
        let sent = frame(&mut dice, flow, number, ECNS[number as usize % 4], 1000);
        send(&mut rig.clients, &sent);
        offered.push(sent);
        now += Span::from_micros(300);
        rig.gate.turn(now, &mut Unguarded);
        while let Next::At(then) = rig.gate.turn(now, &mut Unguarded)
            && then <= now
        {}
    }
    settle(&mut rig, now);
    let managed = rig.gate.account().managed;
    (offered, managed)
}

/// `original`, whose IP header is at `ip`, with CE instead of ECT.
fn with_ce(original: &[u8], ip: usize) -> Vec<u8> {
    let mut marked = original.to_vec();
    match marked[ip] >> 4 {
        4 => {
            marked[ip + 1] |= 3;
            let sum = ipv4_checksum(&marked[ip..ip + 20]);
            marked[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
        }
        _ => marked[ip + 1] |= 0x30,
    }
    marked
}

/// What leaves may differ from what arrived in its mark, and in nothing else.
#[test]
fn marks_are_set_where_the_sender_speaks_ecn_and_the_checksum_stays_right() {
    for queue in ["red", "blue", "sfb", "codel", "dualpi2"] {
        let mut seen = Seen::default();
        let (offered, managed) = overloaded(queue, &mut seen);
        let mut marked = 0;
        for (_, _, mark, bytes) in &seen.sent {
            let (flow, number) = label(bytes).unwrap();
            let original = &offered[number as usize];
            marked += mark.is_some() as u64;
            let Some(ip) = kind(flow).ip_at().filter(|_| bytes != original) else {
                assert!(
                    bytes == original && (mark.is_none() || number % 4 == 3),
                    "{queue}: {mark:?} {number}"
                );
                continue;
            };
            assert!(
                mark.is_some() && (number % 4 == 1 || number % 4 == 2),
                "{queue}: ECT(0) or ECT(1) only"
            );
            assert_eq!(*bytes, with_ce(original, ip), "{queue}");
        }
        assert!(marked > 200, "{queue} marked hardly anything: {marked}");
        assert!(
            managed.marked.iter().sum::<u64>() >= marked,
            "{queue}: what was marked may be dropped later"
        );
    }
}

/// Frames of ECT(1), a seventh of the line, beside Not-ECT ones of more than the line: DualPI2
/// sends all of them within a millisecond and a half, unchanged or with a mark, while the others
/// wait for its target. Of a flood of ECT(1) what is too much joins the others' queue, and the
/// seventh still leaves soon.
#[test]
fn frames_of_scalable_senders_wait_for_less() {
    for flood in [Ecn::NotEct, Ecn::Ect1] {
        let mut seen = Seen::default();
        let limit = Size::Packets(1000);
        let mut rig =
            Setup { queue: "dualpi2", rate: "20 Mbit/s", limit, ..Setup::default() }.rig(&mut seen);
        let (mut dice, mut now, mut offered) = (Rng::from_seed(4), at(1), Vec::new());
        for number in 0..20_000u32 {
            let (flow, ecn) = if number % 8 == 0 { (0, Ecn::Ect1) } else { (1, flood) };
            let sent = frame(&mut dice, flow, number, ecn, 1000);
            send(&mut rig.clients, &sent);
            offered.push(sent);
            now += Span::from_micros(330);
            while let Next::At(then) = rig.gate.turn(now, &mut Unguarded)
                && then <= now
            {}
        }
        settle(&mut rig, now);
        drop(rig);
        // The controller overshoots in the first second.
        let late = |bytes: &[u8]| label(bytes).is_some_and(|(flow, n)| flow == 0 && n >= 4_000);
        let lost = seen.lost.iter().filter(|(_, bytes)| late(bytes)).count();
        assert!(lost == 0 || flood == Ecn::Ect1, "{lost} of a scalable sender's");
        let (mut waits, mut marks) = ([vec![], vec![]], 0);
        for (_, waited, mark, bytes) in &seen.sent[1_000..] {
            let (flow, number) = label(bytes).unwrap();
            waits[flow as usize].push(waited.as_secs());
            let original = &offered[number as usize];
            let ecn = |bytes: &[u8]| Frame::parse(LinkType::Ethernet, bytes, 1000).ecn;
            match mark {
                None => assert_eq!(bytes, original),
                Some(_) => assert_eq!((ecn(original), ecn(bytes)), (Ecn::Ect1, Ecn::Ce)),
            }
            marks += u64::from(mark.is_some());
        }
        let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
        let means = [mean(&waits[0]), mean(&waits[1])];
        let least = if flood == Ecn::NotEct { 0.01 } else { 0.002 };
        assert!(means[0] < 0.0015 && means[1] > least, "{flood:?}: {means:?}");
        assert!(marks > 100, "{flood:?}: {marks} marks");
    }
}

/// The schedule in exact arithmetic: each frame leaves at max(end of the one before, arrival);
/// while frames wait, fractions of a nanosecond are carried.
fn schedule(arrivals: &[(u64, u32)], rate: u64) -> Vec<u64> {
    let (mut begun, mut work) = (0u64, 0u128);
    let mut free = 0u64;
    arrivals
        .iter()
        .map(|&(arrival, len)| {
            // An idle link begins anew. A frame that comes in the instant in which it falls free
            // still follows on.
            if arrival > free {
                (begun, work) = (arrival, 0);
            }
            let departure = begun + (work / rate as u128) as u64;
            work += len as u128 * 8_000_000_000;
            free = begun + (work / rate as u128) as u64;
            departure
        })
        .collect()
}

#[test]
fn departures_follow_the_computed_schedule_however_late_the_caller_is() {
    for (rate, overhead) in [
        ("10 Mbit/s", "0 B"),
        ("100 Mbit/s", "ethernet"),
        ("333333333 bit/s", "24 B"),
        ("24 Mbit/s", "ip + 40 B, mpu 64 B, atm"),
    ] {
        for tardy in [1, 2_000_000] {
            let overhead: Overhead = overhead.parse().unwrap();
            let mut seen = Seen::default();
            let setup = Setup {
                rate,
                overhead,
                limit: Size::Packets(100_000),
                cells: 700_000,
                ..Setup::default()
            };
            let mut rig = setup.rig(&mut seen);
            let mut dice = Rng::from_seed(11);
            let (mut now, mut arrivals) = (at(1), Vec::new());
            let bits = rate.parse::<Rate>().unwrap().as_bps();
            for number in 0..20_000 {
                let len = 60 + dice.below(1455) as usize;
                let sent = frame(&mut dice, 0, number, Ecn::NotEct, len);
                // A load of 0.9 of the link, so that it falls idle again and again.
                let gap = dice.exponential(8e9 * 830.0 / 0.9 / bits as f64);
                let due = now + Span::from_nanos(gap as u64);
                while let Next::At(then) = rig.gate.turn(now, &mut Unguarded)
                    && then <= due
                {
                    now = now.max(then) + Span::from_nanos(dice.below(tardy));
                }
                now = now.max(due);
                send(&mut rig.clients, &sent);
                arrivals.push((now.as_nanos(), overhead.on_wire(sent.len() as u32)));
                rig.gate.turn(now, &mut Unguarded);
            }
            settle(&mut rig, now);
            drop(rig);
            let left: Vec<u64> = seen.sent.iter().map(|(at, ..)| at.as_nanos()).collect();
            assert_eq!(left, schedule(&arrivals, bits), "{rate}, {overhead}, {tardy}");
            for ((at, waited, ..), (arrival, _)) in seen.sent.iter().zip(&arrivals) {
                assert_eq!(waited.as_nanos(), at.as_nanos() - arrival);
            }
        }
    }
}

#[test]
fn delay_lines_hold_frames_for_their_time_in_both_directions() {
    let mut seen = Seen::default();
    let mut rig =
        Setup { rate: "8 Mbit/s", delay: Span::from_millis(20), ..Setup::default() }.rig(&mut seen);
    for byte in 0..2 {
        send(&mut rig.clients, &[byte; 1000]);
    }
    send(&mut rig.servers, &[9; 60]);
    assert_eq!(rig.gate.turn(at(5), &mut Unguarded), Next::Now);
    let mut due = Vec::new();
    let mut now = at(5);
    while let Next::At(then) = rig.gate.turn(now, &mut Unguarded) {
        now = then;
        rig.gate.turn(now, &mut Unguarded);
        for (far, end) in [(false, &mut rig.servers), (true, &mut rig.clients)] {
            due.extend(end.all().unwrap().into_iter().map(|frame| (now.as_nanos(), far, frame[0])));
        }
    }
    assert_eq!(due, [(20_000_005, false, 0), (20_000_005, true, 9), (21_000_005, false, 1)]);
    drop(rig);
    assert_eq!(seen.sent[1].1, Span::from_millis(1), "the delay line is no waiting");
}

#[test]
fn what_cannot_be_sent_is_lost_for_its_own_reason() {
    let mut seen = Seen::default();
    let mut rig =
        Setup { cells: 12, cable: Cable { longest: 1514, ..Cable::default() }, ..Setup::default() }
            .rig(&mut seen);
    rig.clients.send_cut_off(&[1; 60], 9000);
    rig.clients.send_unfinished(&[2; 60]);
    // The first of these is on its way at once, so that its cells are free again when the last
    // come.
    for byte in 3..10 {
        send(&mut rig.clients, &[byte; 1000]);
    }
    rig.gate.turn(at(1), &mut Unguarded);
    let managed = rig.gate.account().managed;
    assert_eq!(
        (managed.lost(LossReason::CutOff), managed.unfinished),
        (Tally { frames: 1, bytes: 9000 }, 1)
    );
    assert!(managed.balanced());
    settle(&mut rig, at(2));
    let managed = rig.gate.account().managed;
    assert_eq!(managed.lost(LossReason::NoMemory).frames, 5, "{managed:?}");

    // A cable that is pulled out while frames wait for it.
    rig.servers.set_up(false);
    send(&mut rig.clients, &[20; 500]);
    settle(&mut rig, at(1_000_000_000));
    let [inner, outer] = rig.gate.trouble();
    assert!(inner.is_none() && outer.is_some());
    rig.servers.set_up(true);
    send(&mut rig.clients, &[21; 500]);
    settle(&mut rig, at(2_000_000_000));
    let managed = rig.gate.account().managed;
    assert_eq!(managed.lost(LossReason::Unsent), Tally { frames: 1, bytes: 500 });
    assert!(managed.balanced());
    assert_eq!(rig.servers.all().unwrap(), [[21; 500]]);
}

#[test]
fn a_frame_for_which_the_other_side_is_too_narrow_is_too_long() {
    let mut seen = Seen::default();
    let link =
        Link::new(Rate::from_bps(1_000_000), Size::Packets(10), "1000 B".parse().unwrap()).unwrap();
    let pool = FramePool::new(1000, 1518);
    let managed = LaneParts {
        queue: catalog::config("drop_tail", None, &link)
            .unwrap()
            .build(link, Rng::from_seed(1))
            .unwrap(),
        link,
        sorter: Sorter::new(
            FlowHasher::new(FlowKey::FiveTuple, [1, 2]),
            Overhead::default(),
            &[],
            &[],
        ),
        keys: Keys::new(Rehash::OFF, 3, pool.cells()),
        under_way: DelayLine::new(Span::ZERO, &pool),
        pool,
        meter: Meter::new(&OffenderRules::default(), 0),
    };
    let (mut clients, inner) = cable(Cable { longest: 9014, ..Cable::default() });
    let (outer, _servers) = cable(Cable { longest: 1000, ..Cable::default() });
    let mut gate = Gate::new(
        Lane::new(managed, &mut seen),
        UnmanagedWire::new(Span::ZERO, FramePool::new(0, 1518)),
        inner,
        outer,
    );
    for len in [1000, 1001, 9000] {
        send(&mut clients, &vec![0; len]);
    }
    gate.turn(at(1), &mut Unguarded);
    gate.turn(at(100_000_000), &mut Unguarded);
    let managed = gate.account().managed;
    assert_eq!(
        (managed.sent.frames, managed.lost(LossReason::TooLong)),
        (1, Tally { frames: 2, bytes: 10_001 })
    );
    assert!(managed.balanced());
}

#[test]
fn more_frames_than_the_device_takes_at_once_are_sent_all_the_same() {
    let mut seen = Seen::default();
    let cable = Cable { longest: 1514, arrived: 5000, taken: 3 };
    let mut rig = Setup { cable, rate: "1 Gbit/s", limit: Size::Packets(2000), ..Setup::default() }
        .rig(&mut seen);
    for _ in 0..1000 {
        send(&mut rig.clients, &[0; 100]);
        send(&mut rig.servers, &[0; 100]);
    }
    rig.gate.turn(at(1), &mut Unguarded);
    for now in [1, 1_000_000_000] {
        while rig.gate.turn(at(now), &mut Unguarded) == Next::Now {}
    }
    assert_eq!((rig.servers.all().unwrap().len(), rig.clients.all().unwrap().len()), (1000, 1000));
}

/// A promise that lapses when the test says so.
struct Lapsing {
    holds: bool,
    promise: PromiseState,
}

impl Guard for Lapsing {
    fn beat(&mut self) -> PromiseState {
        self.holds = true;
        std::mem::replace(&mut self.promise, PromiseState::Kept)
    }
    fn ours(&mut self) -> bool {
        self.holds
    }
    fn leave(&mut self) {
        self.holds = false;
    }
}

#[test]
fn after_a_lapse_what_the_kernel_has_forwarded_or_overtaken_is_thrown_away_and_nothing_else() {
    let mut seen = Seen::default();
    let mut rig = Setup::default().rig(&mut seen);
    let mut guard = Lapsing { holds: true, promise: PromiseState::Kept };
    send(&mut rig.clients, &[1; 1000]);
    send(&mut rig.clients, &[2; 1000]);
    assert_eq!(rig.gate.turn(at(1), &mut guard), Next::Now);
    guard = Lapsing { holds: false, promise: PromiseState::Lapsed };
    for _ in 0..300 {
        send(&mut rig.clients, &[3; 1000]);
        send(&mut rig.servers, &[4; 1000]);
    }
    assert_eq!(rig.gate.turn(at(1_000_000_000), &mut guard), Next::Renewal);
    assert_eq!(guard.beat(), PromiseState::Lapsed);
    assert_eq!(rig.gate.discard(at(1_000_000_001)), 600);
    send(&mut rig.clients, &[5; 1000]);
    while rig.gate.turn(at(1_000_000_002), &mut guard) == Next::Now {}
    // The second had waited when the kernel sent all the threes: it would come after them.
    assert_eq!(rig.servers.all().unwrap().iter().map(|frame| frame[0]).collect::<Vec<_>>(), [1, 5]);
    let account = rig.gate.account();
    assert_eq!(
        (
            account.managed.lost(LossReason::Lapsed).frames,
            account.reverse.lost(LossReason::Lapsed).frames
        ),
        (301, 300)
    );
    assert!(account.managed.balanced() && account.reverse.balanced());
}

/// A thread that is stopped between its clock and its devices takes late what came meanwhile, and
/// delays it in full.
#[test]
fn what_arrives_after_it_was_counted_is_received_next_time_with_the_time_of_then() {
    let mut seen = Seen::default();
    let mut rig = Setup { delay: Span::from_millis(5), ..Setup::default() }.rig(&mut seen);
    send(&mut rig.clients, &[1; 1000]);
    rig.gate.count();
    send(&mut rig.clients, &[2; 1000]);
    send(&mut rig.servers, &[3; 1000]);
    // The second and the third came after the clock was read.
    assert_eq!(rig.gate.turn(at(0), &mut Unguarded), Next::Now);
    assert_eq!(rig.gate.account().managed.received.frames, 1);
    assert_eq!(rig.gate.account().reverse.received.frames, 0);
    rig.gate.count();
    assert_eq!(rig.gate.turn(at(4_000_000), &mut Unguarded), Next::Now);
    assert_eq!(rig.gate.account().managed.received.frames, 2);
    assert_eq!(rig.gate.account().reverse.received.frames, 1);
    // The second need not wait for the link, which was free from .8 ms on.
    let mut told = vec![];
    for now in (5_000_000..11_000_000).step_by(100_000) {
        rig.gate.turn(at(now), &mut Unguarded);
        let there = rig.servers.all().unwrap().len();
        let back = rig.clients.all().unwrap().len();
        told.extend((0..there).map(|_| ("there", now)).chain((0..back).map(|_| ("back", now))));
    }
    assert_eq!(told, [("there", 5_000_000), ("there", 9_000_000), ("back", 9_000_000)]);
}

/// What was counted and is thrown away must not count for what comes then.
#[test]
fn a_count_ends_when_what_was_counted_is_thrown_away() {
    let mut seen = Seen::default();
    let mut rig = Setup::default().rig(&mut seen);
    for _ in 0..3 {
        send(&mut rig.clients, &[1; 1000]);
    }
    rig.gate.count();
    assert_eq!(rig.gate.discard(at(0)), 3);
    assert_eq!(rig.gate.turn(at(1), &mut Unguarded), Next::Arrival);
    send(&mut rig.clients, &[2; 1000]);
    assert_eq!(rig.gate.turn(at(2), &mut Unguarded), Next::Now);
    let managed = rig.gate.account().managed;
    assert_eq!((managed.received.frames, managed.lost(LossReason::Lapsed).frames), (4, 3));
    assert!(managed.balanced());
}

/// A device that fills frames in by several hands: the first that waits is not finished for the
/// time being.
struct Unfinished {
    end: End,
    first: Rc<Cell<bool>>,
}

impl Port for Unfinished {
    fn waiting(&mut self, most: usize) -> usize {
        if self.first.get() { 0 } else { self.end.waiting(most) }
    }
    fn begun(&mut self) -> usize {
        self.end.begun()
    }
    fn receive(
        &mut self,
        most: usize,
        take: &mut impl FnMut(ReceivedFrame<'_>),
    ) -> std::io::Result<usize> {
        if self.first.get() { Ok(0) } else { self.end.receive(most, take) }
    }
    fn send(&mut self, frame: &[u8]) -> Result<(), Unsent> {
        self.end.send(frame)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.end.flush()
    }
    fn missed(&mut self) -> u64 {
        self.end.missed()
    }
    fn unsent(&self) -> Tally {
        self.end.unsent()
    }
}

#[test]
fn what_stands_behind_an_unfinished_frame_is_thrown_away_too() {
    for beginning in [false, true] {
        let ((mut clients, inner), (outer, mut servers)) =
            (cable(Cable::default()), cable(Cable::default()));
        let first = Rc::new(Cell::new(true));
        let inner = Unfinished { end: inner, first: first.clone() };
        let mut seen = Seen::default();
        let lane = Lane::new(Setup::default().managed(), &mut seen);
        let mut gate =
            Gate::new(lane, UnmanagedWire::new(Span::ZERO, FramePool::new(0, 1514)), inner, outer);
        for _ in 0..3 {
            send(&mut clients, &[1; 1000]);
        }
        if beginning {
            gate.begin()
        } else {
            assert_eq!(gate.discard(at(1)), 3)
        }
        send(&mut clients, &[2; 1000]);
        first.set(false);
        while gate.turn(at(1_000_000_000), &mut Unguarded) == Next::Now {}
        assert_eq!(servers.all().unwrap(), [[2; 1000]]);
        let account = gate.account();
        assert_eq!(
            (account.managed.received.frames, account.managed.lost(LossReason::Lapsed).frames),
            (4, 3)
        );
    }
}

#[test]
fn what_comes_while_the_gate_leaves_is_counted_and_what_waits_still_leaves() {
    let mut seen = Seen::default();
    let mut rig = Setup::default().rig(&mut seen);
    for _ in 0..3 {
        send(&mut rig.clients, &[1; 1000]);
    }
    while rig.gate.turn(at(1), &mut Unguarded) == Next::Now {}
    send(&mut rig.clients, &[2; 1000]);
    send(&mut rig.servers, &[3; 1000]);
    assert_eq!(rig.gate.decline(at(2)), 2);
    while let Some(then) = rig.gate.drain(at(1_000_000_000)) {
        assert!(then > at(2));
    }
    let account = rig.gate.account();
    let lapsed =
        [account.managed, account.reverse].map(|counters| counters.lost(LossReason::Lapsed).frames);
    assert_eq!(
        (account.managed.sent.frames, lapsed, account.held()),
        (3, [1, 1], 0),
        "{account:?}"
    );
    assert!(account.managed.balanced() && account.reverse.balanced());
    assert!(rig.servers.all().unwrap().iter().all(|frame| frame[0] == 1));
}

#[test]
fn what_arrived_before_the_gate_began_is_not_in_the_account() {
    let mut seen = Seen::default();
    let mut rig = Setup::default().rig(&mut seen);
    for _ in 0..5000 {
        send(&mut rig.clients, &[1; 1000]);
    }
    rig.gate.begin();
    send(&mut rig.clients, &[2; 1000]);
    while rig.gate.turn(at(1), &mut Unguarded) == Next::Now {}
    let managed = rig.gate.account().managed;
    assert_eq!(
        (rig.servers.all().unwrap(), managed.received.frames, managed.missed),
        (vec![vec![2; 1000]], 1, 0)
    );
}

#[test]
fn after_a_lapse_the_delay_lines_and_every_queue_are_empty() {
    for row in QUEUES {
        let mut seen = Seen::default();
        let setup = Setup { queue: row.name, delay: Span::from_millis(20), ..Setup::default() };
        let mut rig = setup.rig(&mut seen);
        let (mut dice, mut now) = (Rng::from_seed(17), at(1));
        for number in 0..200u32 {
            send(&mut rig.clients, &frame(&mut dice, (number % 9) as u8, number, Ecn::Ect0, 1000));
            send(&mut rig.servers, &frame(&mut dice, (number % 9) as u8, number, Ecn::Ect0, 1000));
            now += Span::from_micros(200);
            while rig.gate.turn(now, &mut Unguarded) == Next::Now {}
        }
        let before = rig.gate.account();
        assert!(
            before.managed.held.frames > 20 && before.reverse.held.frames > 20,
            "{}: {before:?}",
            row.name
        );
        assert_eq!(rig.gate.discard(now), 0);
        let after = rig.gate.account();
        assert_eq!(
            (after.managed.held, after.reverse.held),
            (Tally::default(), Tally::default()),
            "{}",
            row.name
        );
        assert!(after.managed.balanced() && after.reverse.balanced(), "{}", row.name);
        assert!(after.reverse.lost(LossReason::Lapsed) == before.reverse.held, "{}", row.name);
        send(&mut rig.clients, &frame(&mut dice, 0, 0, Ecn::Ect0, 1000));
        settle(&mut rig, now + Span::from_millis(200));
        assert!(rig.gate.account().managed.balanced(), "{}", row.name);
    }
}

/// Five seconds of a queue that marks, offered `times` its link's rate, all of it ECN-capable.
fn capable_flood(
    queue: &'static str,
    set: &'static [(&'static str, &'static str)],
    times: u64,
) -> tidegate_gateway::watch::counters::DirectionCounters {
    let mut seen = Seen::default();
    let setup =
        Setup { queue, set, rate: "8 Mbit/s", limit: Size::Packets(100), ..Setup::default() };
    let mut rig = setup.rig(&mut seen);
    let (mut dice, mut now) = (Rng::from_seed(19), at(1));
    for number in 0..5000 * times as u32 {
        send(&mut rig.clients, &frame(&mut dice, 0, number, Ecn::Ect0, 1000));
        now += Span::from_nanos(1_000_000 / times);
        while rig.gate.turn(now, &mut Unguarded) == Next::Now {}
    }
    rig.gate.account().managed
}

#[test]
fn a_flood_that_claims_to_speak_ecn_is_dropped_when_it_heeds_no_mark() {
    // RFC 7567 §4.2.1. BLUE marks more and more while the buffer stays full, and here in big steps.
    let flooded = capable_flood("blue", &[("d1", "0.2")], 2);
    assert!(flooded.lost(LossReason::Overload).frames > 2000, "{flooded:?}");
    assert!(flooded.balanced());
}

#[test]
fn marks_that_are_a_signal_stay_marks() {
    let account = capable_flood("codel", &[], 1);
    assert_eq!(account.lost(LossReason::Overload), Tally::default(), "{account:?}");
    let mut seen = Seen::default();
    let setup =
        Setup { queue: "red", rate: "20 Mbit/s", limit: Size::Packets(200), ..Setup::default() };
    let mut rig = setup.rig(&mut seen);
    let (mut dice, mut now) = (Rng::from_seed(13), at(1));
    for number in 0..20_000 {
        send(&mut rig.clients, &frame(&mut dice, 0, number, Ecn::Ect0, 1000));
        now += Span::from_micros(if number % 400 < 200 { 350 } else { 450 });
        while rig.gate.turn(now, &mut Unguarded) == Next::Now {}
    }
    let managed = rig.gate.account().managed;
    assert!(managed.marked[MarkReason::Early as usize] > 200, "{managed:?}");
    assert_eq!(managed.lost(LossReason::Overload), Tally::default(), "{managed:?}");
}

#[test]
fn not_ect_is_dropped_where_others_are_marked() {
    let mut seen = Seen::default();
    let setup =
        Setup { queue: "red", rate: "20 Mbit/s", limit: Size::Packets(200), ..Setup::default() };
    let mut rig = setup.rig(&mut seen);
    let mut dice = Rng::from_seed(13);
    let mut now = at(1);
    for number in 0..20_000 {
        send(&mut rig.clients, &frame(&mut dice, 0, number, Ecn::NotEct, 1000));
        now += Span::from_micros(350);
        while rig.gate.turn(now, &mut Unguarded) == Next::Now {}
    }
    let managed = rig.gate.account().managed;
    assert_eq!(managed.marked, [0, 0]);
    assert!(managed.lost(LossReason::Queue(DropReason::Early)).frames > 200, "{managed:?}");
}
