//! FQ-CoDel against hoeiland2018 (RFC 8290): the naive twin, and the RFC's sentences.
use crate::support::stats;
use crate::support::twin::OPERATIONS;
use crate::twinned::fq_codel::{Heard, Twinned};
use crate::{support, twinned};
use tidegate::queues::FqCodel;
use tidegate::{Backlog, Link, NullSink, Packet, Qdisc, Rng, Span, Time, catalog};

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn fq_codel(settings: &[(&str, &str)], link: Link, seed: u64) -> FqCodel {
    match support::config("fq_codel", None, settings, &link)
        .build(link, Rng::from_seed(seed))
        .unwrap()
    {
        catalog::AnyQueue::FqCodel(queue) => queue,
        other => panic!("{other:?}"),
    }
}

/// Thirty flows in eight queues, load above and below the rate and idle times; the twin must do the
/// same at every step.
fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let settings = [&[("flows", "8")], settings].concat();
    let config = support::config("fq_codel", None, &settings, &link);
    twinned::restless(&config, &link, operations)
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let seen = drive(&[], "200 packets", OPERATIONS * 5 / 4);
    assert!(seen.operations >= OPERATIONS, "{}", seen.operations);
    assert!(
        seen.drops.min(seen.marks).min(seen.by_limit) > 1_000,
        "{} {} {}",
        seen.drops,
        seen.marks,
        seen.by_limit
    );
    assert!(seen.longest > 30, "{}", seen.longest);
}

#[test]
fn twin_agrees_in_every_mode() {
    let off = drive(&[("ecn", "off"), ("interval", "2 ms"), ("target", "1 ms")], "100 kB", 100_000);
    assert!(off.drops > 1_000 && off.marks == 0, "{}", off.drops);
    let small = drive(&[("quantum", "256 B"), ("drop_batch", "3")], "50 packets", 100_000);
    assert_eq!(small.longest, 3);
    let tiny = drive(&[("drop_batch", "1")], "2 kB", 50_000);
    assert!(tiny.itself > 100 && tiny.longest > 1, "{} {}", tiny.itself, tiny.longest);
    drive(&[], "1400 B", 20_000);
    drive(&[("quantum", "20000 B")], "1000 packets", 100_000);
    let linux = [("root", "newton"), ("half", "bytes"), ("counts", "all")];
    drive(&linux, "6 kB", 50_000);
    let linux = drive(&linux, "200 packets", 200_000);
    assert!(linux.drops.min(linux.marks) > 1_000, "{} {}", linux.drops, linux.marks);
}

/// nichols2018 §4.4, §5.6: a packet that waited too long is spared only when no more than one MTU
/// is left for the link to send. The others' backlog counts: here one queue never holds more than
/// one packet, and yet has signals.
#[test]
fn the_backlog_of_all_queues_counts() {
    for (others, signalled) in [(1, false), (2, true)] {
        let mut queue = fq_codel(&[], support::link("8 Mbit/s", "1000 packets", "1000 B"), 1);
        let flows = apart(&queue, 3);
        let mut heard = Heard::default();
        // One packet of each flow waits at a time, and the turns are so slow that all wait longer
        // than the target.
        for round in 0..100 {
            for &flow in &flows[..1 + others] {
                if queue.queue_backlog(queue.queue_of(flow)).packets == 0 {
                    queue.enqueue(at(round * 20_000_000), Packet::new(flow, 1000), &mut heard);
                }
            }
            assert!(queue.dequeue(at(round * 20_000_000 + 19_000_000), &mut heard).is_some());
        }
        assert_eq!(heard.did.dropped.len() > 5, signalled, "{}", heard.did.dropped.len());
        assert!(signalled || heard.did.dropped.is_empty());
    }
}

fn link() -> Link {
    support::link("8 Mbit/s", "1000 packets", "1000 B")
}

/// `count` flows that hash to queues of their own.
fn apart(queue: &FqCodel, count: usize) -> Vec<u64> {
    support::apart(count, |flow| queue.queue_of(flow))
}

/// §4.2: a flow that becomes active goes before all that are being served, and for a quantum only.
#[test]
fn new_flows_go_first() {
    let mut queue = fq_codel(&[], link(), 1);
    let flows = apart(&queue, 6);
    for _ in 0..100 {
        for &flow in &flows[..5] {
            queue.enqueue(at(0), Packet::new(flow, 1000), &mut NullSink);
        }
    }
    // Two packets each and the old ones have used up their first quantum.
    for _ in 0..10 {
        queue.dequeue(at(0), &mut NullSink);
    }
    for _ in 0..20 {
        queue.enqueue(at(0), Packet::new(flows[5], 1000), &mut NullSink);
    }
    let next: Vec<u64> =
        (0..20).map(|_| queue.dequeue(at(0), &mut NullSink).unwrap().flow).collect();
    // 1514 bytes are begun with the second packet; then it is a flow among others.
    assert_eq!(next[..2], [flows[5]; 2]);
    assert!(!next[2..8].contains(&flows[5]), "{next:?}");
    assert_eq!(next.iter().filter(|&&f| f == flows[5]).count(), 5, "{next:?}");
}

/// §1.3, §4.2: a flow that sends less than a quantum in a round finds no standing queue. The next
/// packet is its own, however much the others have waiting, and it loses nothing. (The others keep
/// their backlog: with the usual interval their CoDels would empty some of their queues, and those
/// would be new flows, too.)
#[test]
fn a_sparse_flow_sees_no_standing_queue() {
    let mut queue = fq_codel(&[("interval", "600 s")], link(), 1);
    let flows = apart(&queue, 21);
    let (bulk, sparse) = (&flows[..20], flows[20]);
    let mut dice = stats::dice("sparse", 0);
    let mut heard = Heard::default();
    let (mut longest, mut least_backlog) = (Span::ZERO, u32::MAX);
    let mut seen = 0;
    // 1000 bytes a millisecond; twenty flows offer twice that; the sparse one 200 bytes in 50 ms,
    // at any time.
    for ms in 0..20_000_u64 {
        for n in 0..2 {
            let flow = bulk[((2 * ms + n) % 20) as usize];
            queue.enqueue(at(ms * 1_000_000), Packet::new(flow, 1000), &mut heard);
        }
        // From the third second on: at first all flows are new.
        if ms >= 2_000 && ms % 50 == 7 {
            let when = ms * 1_000_000 + dice.below(900_000);
            queue.enqueue(at(when), Packet::new(sparse, 200), &mut heard);
            least_backlog = least_backlog.min(queue.backlog().packets);
        }
        let asked = at(ms * 1_000_000 + 999_999);
        let pkt = queue.dequeue(asked, &mut heard).unwrap();
        if pkt.flow == sparse {
            longest = longest.max(asked.since(pkt.arrived));
            seen += 1;
        }
    }
    assert!(least_backlog > 900, "in a FIFO it would have waited 900 ms: {least_backlog}");
    assert_eq!(seen, 360);
    assert!(longest < Span::from_millis(1), "{longest}");
    assert!(!heard.flows.contains(&sparse));
}

/// §4.2: a queue that is refilled each time it is empty does not stay new for ever: it shares with
/// the others.
#[test]
fn an_empty_new_queue_waits_for_a_round() {
    let mut queue = fq_codel(&[], link(), 1);
    let flows = apart(&queue, 2);
    for _ in 0..500 {
        queue.enqueue(at(0), Packet::new(flows[0], 1500), &mut NullSink);
    }
    let mut sent = [0, 0];
    for _ in 0..600 {
        if queue.backlog().packets == 0 {
            break;
        }
        let mine = queue.queue_of(flows[1]);
        if queue.queue_backlog(mine).packets == 0 {
            queue.enqueue(at(0), Packet::new(flows[1], 1500), &mut NullSink);
        }
        let pkt = queue.dequeue(at(0), &mut NullSink).unwrap();
        sent[(pkt.flow == flows[1]) as usize] += 1;
    }
    assert!(i32::abs(sent[0] - sent[1]) <= 2, "{sent:?}");
}

/// §3, §4.2: turns are counted in bytes: flows with packets of any length get equal bytes, to
/// within a quantum and a packet.
#[test]
fn shares_are_equal_in_bytes() {
    let wide = support::link("8 Mbit/s", "100 MB", "1000 B");
    let mut queue = fq_codel(&[], wide, 1);
    let flows = apart(&queue, 4);
    let lengths = [64, 300, 777, 1500];
    for (&flow, &len) in flows.iter().zip(&lengths) {
        for _ in 0..3_000_000 / len {
            queue.enqueue(at(0), Packet::new(flow, len), &mut NullSink);
        }
    }
    let mut bytes = [0_i64; 4];
    for n in 0..10_000 {
        let pkt = queue.dequeue(at(0), &mut NullSink).unwrap();
        bytes[flows.iter().position(|&f| f == pkt.flow).unwrap()] += pkt.len as i64;
        let (most, least) = (bytes.iter().max().unwrap(), bytes.iter().min().unwrap());
        assert!(most - least <= 1514 + 2 * 1500, "after {n}: {bytes:?}");
    }
}

/// §1.3, §4.1: the drops of one flow never meet another below its share, not by CoDel and not at
/// the limit. A flood of ten times the rate, nine flows at half of theirs.
#[test]
fn a_flood_harms_itself_only() {
    let small = support::link("8 Mbit/s", "200 packets", "1000 B");
    let mut queue = fq_codel(&[], small, 1);
    let flows = apart(&queue, 10);
    let (mut heard, mut dice) = (Heard::default(), stats::dice("flood", 0));
    let mut sent = 0;
    for n in 0..200_000_u64 {
        let now = at(n * 100_000);
        queue.enqueue(now, Packet::new(flows[0], 1000), &mut heard);
        // Nine shares of 1/10 each of the rate, half of them used: 0.45 in ten arrivals of the
        // flood.
        if dice.chance(0.045) {
            queue.enqueue(now, Packet::new(flows[1 + dice.below(9) as usize], 1000), &mut heard);
        }
        if n % 10 == 0 {
            sent += queue.dequeue(now, &mut heard).is_some() as u64;
        }
    }
    assert_eq!(sent, 20_000);
    assert!(heard.by_limit.len() > 100_000);
    assert!(heard.flows.iter().all(|&flow| flow == flows[0]), "only the flood loses");
}

/// §4.1: one packet above the limit, and half of the fattest queue, at most a batch of 64, goes
/// from its head.
#[test]
fn a_batch_goes_from_the_head_of_the_fattest() {
    for (fat, lost) in [(40, 20), (128, 64), (500, 64)] {
        let small = support::link("8 Mbit/s", "1000 packets", "1000 B");
        let mut queue = fq_codel(&[], small, 1);
        let flows = apart(&queue, 300);
        // Few but long packets: fattest is who has the most bytes.
        for slot in 0..fat {
            queue.enqueue(at(0), Packet::new(flows[0], 1500).with_slot(slot), &mut NullSink);
        }
        let mut slot = fat;
        while queue.backlog().packets < 1000 {
            queue.enqueue(
                at(0),
                Packet::new(flows[1 + slot as usize % 20], 200).with_slot(slot),
                &mut NullSink,
            );
            slot += 1;
        }
        let mut heard = Heard::default();
        queue.enqueue(at(0), Packet::new(flows[299], 100).with_slot(slot), &mut heard);
        assert_eq!(heard.by_limit, (0..lost).collect::<Vec<_>>());
        assert_eq!(queue.backlog().packets, 1001 - lost);
    }
}

/// Packets without length, which a capture may have: no queue is the fattest, and one of the
/// arrival's own is dropped.
#[test]
fn packets_without_length() {
    let mut queue = fq_codel(&[], support::link("8 Mbit/s", "3 packets", "1000 B"), 1);
    let flows = apart(&queue, 4);
    let mut heard = Heard::default();
    for (slot, flow) in [0, 1, 2, 3, 1].into_iter().enumerate() {
        queue.enqueue(at(0), Packet::new(flows[flow], 0).with_slot(slot as u32), &mut heard);
    }
    assert_eq!(
        heard.by_limit,
        [3, 1],
        "an arrival that is alone in its queue, then the head of its queue"
    );
    assert_eq!(queue.backlog(), Backlog { packets: 3, bytes: 0 });
}

/// §4.1, §5.3: flows are spread evenly over the queues, differently for each random number
/// (chi-square, false alarm 1e-6 each).
#[test]
fn flows_are_spread_evenly() {
    let mut layouts = Vec::new();
    for index in 0..10 {
        let queue = fq_codel(&[("flows", "50")], link(), stats::seed("spread", index).get());
        let mut counts = [0; 50];
        for flow in 0..50_000 {
            counts[queue.queue_of(flow)] += 1;
        }
        stats::assert_counts("queues", &counts, &[1_000.0; 50]);
        layouts.push((0..20).map(|flow| queue.queue_of(flow)).collect::<Vec<_>>());
    }
    layouts.sort();
    layouts.dedup();
    assert_eq!(layouts.len(), 10);
}

/// Ten million flows: the pool of packets holds the limit and one, the queues are those of the
/// start.
#[test]
fn ten_million_flows() {
    let small = support::link("8 Mbit/s", "100 packets", "1000 B");
    let mut queue = fq_codel(&[], small, 1);
    for n in 0..10_000_000_u64 {
        queue.enqueue(at(n * 500_000), Packet::new(tidegate::rng::mix(n), 1000), &mut NullSink);
        if n % 2 == 0 {
            queue.dequeue(at(n * 500_000), &mut NullSink).unwrap();
        }
    }
    assert_eq!(queue.places(), 101);
    let mut lists = 0.0;
    queue.probe(&mut |g| lists += if g.name == "fattest" { 0.0 } else { g.value });
    assert!(lists <= 1024.0);
}
