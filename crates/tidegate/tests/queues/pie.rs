//! PIE against pan2017 (RFC 8033): golden numbers, the naive twin, and the RFC's sentences.
use crate::naive::pie::NaivePie;
use crate::support;
use crate::support::Fate;
use crate::support::stats;
use crate::support::twin::OPERATIONS;
use crate::support::workload::{Phase, Workload};
use crate::twinned::Twinned as _;
use crate::twinned::pie::Twinned;
use tidegate::queues::Pie;
use tidegate::{Ecn, Link, NullSink, Packet, Qdisc, Rng, Span, Time, catalog};

fn pie(settings: &[(&str, &str)], link: Link, dice: Rng) -> Pie {
    match support::config("pie", None, settings, &link).build(link, dice).unwrap() {
        catalog::AnyQueue::Pie(queue) => queue,
        other => panic!("{other:?}"),
    }
}

fn paper() -> NaivePie {
    NaivePie::new(1000.0)
}

/// §4.2: from 15 to 35 ms the law asks for .125 · .02 + 1.25 · .02 = .0275. The table divides it by
/// 2048 at probability 0 and by 2 at .05; at .5 the cap of §5.5 leaves .02. With no delay, 2 %
/// decay comes on top of −.001875.
#[test]
fn the_twin_gives_the_golden_numbers() {
    let step = |from: f64, old: f64, delay: f64| {
        let mut twin = NaivePie { drop_prob: from, qdelay_old: old, ..paper() };
        twin.update(delay);
        twin.drop_prob
    };
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    near(step(0.0, 0.015, 0.035), 0.0275 / 2048.0);
    for (from, divisor) in [(5e-6, 512.0), (5e-5, 128.0), (5e-4, 32.0), (5e-3, 8.0), (0.05, 2.0)] {
        near(step(from, 0.015, 0.035), from + 0.0275 / divisor);
    }
    near(step(0.5, 0.015, 0.035), 0.52);
    near(step(0.5, 0.035, 0.015), 0.475);
    near(step(0.5, 0.0, 0.0), (0.5 - 0.001875) * 0.98);
    // Appendix B decays at 7 ms, too, but not at half the target.
    let mut calm = NaivePie { drop_prob: 0.5, qdelay_old: 0.007, decay_when_calm: true, ..paper() };
    calm.update(0.007);
    near(calm.drop_prob, (0.5 - 0.001) * 0.98);
    near(step(0.5, 0.007, 0.007), 0.5 - 0.001);
    calm = NaivePie { drop_prob: 0.5, qdelay_old: 0.0075, ..calm };
    calm.update(0.0075);
    near(calm.drop_prob, 0.5 - 0.0009375);
    assert_eq!((step(0.0, 0.1, 0.0), step(0.99, 0.0, 0.9)), (0.0, 1.0));
}

/// Load above and below the rate, mixed sizes, idle times of up to twenty seconds (1300 updates).
fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let config = support::config("pie", None, settings, &link);
    let mut twinned = Twinned::beside(&config, link, Rng::from_seed(3)).unwrap();
    let phase = |&(load, idle)| Phase { load, packets: 20_000, idle: Span::from_millis(idle) };
    let stretches =
        [(1.05, 0), (1.6, 0), (0.7, 0), (1.1, 20_000), (0.98, 5), (3.0, 40), (0.3, 200)];
    let phases =
        (0..(operations / 260_000).max(1)).flat_map(|_| stretches.iter().map(phase)).collect();
    Workload::new(20, 1.1, (40, 1500), 0.6, phases).run(
        &mut twinned,
        &link,
        &mut Rng::from_seed(11),
        &mut NullSink,
    );
    twinned.disputes.settle();
    assert!(
        twinned.drops.min(twinned.passed).min(twinned.bursts) > 1_000,
        "{} {}",
        twinned.drops,
        twinned.bursts
    );
    twinned
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let seen = drive(&[], "500 packets", OPERATIONS * 6 / 5);
    assert!(seen.operations >= OPERATIONS, "{}", seen.operations);
    assert!(seen.marks > 500, "{}", seen.marks);
}

#[test]
fn twin_agrees_in_every_mode() {
    let plain = drive(&[("derandomize", "off")], "500 packets", 260_000);
    assert!(plain.marks > 100 && plain.sure == 0);
    drive(&[("cap", "off")], "300 kB", 260_000);
    drive(&[("decay", "calm")], "500 packets", 260_000);
    assert_eq!(drive(&[("ecn", "off")], "100 packets", 260_000).marks, 0);
}

/// 1000 bytes a millisecond, offered `load` times that from `from` on, as the closure sees each
/// fate. Returns the time.
fn offer(
    queue: &mut Pie,
    from: u64,
    load: f64,
    ms: u64,
    ecn: Ecn,
    mut see: impl FnMut(u64, &Pie, &Fate),
) -> u64 {
    let (mut owed, mut now) = (0.0, from);
    for _ in 0..ms {
        owed += load;
        while owed >= 1.0 {
            owed -= 1.0;
            let mut fate = Fate::default();
            queue.enqueue(Time::from_nanos(now), Packet::new(1, 1000).with_ecn(ecn), &mut fate);
            see(now, queue, &fate);
        }
        now += 1_000_000;
        queue.dequeue(Time::from_nanos(now), &mut NullSink);
    }
    now
}

fn link() -> Link {
    support::link("8 Mbit/s", "10000 packets", "1000 B")
}

/// §4.4: a burst of 150 ms passes whole; afterwards packets are signalled. When the congestion has
/// gone, the next burst passes, too.
#[test]
fn bursts_of_150_ms_pass() {
    let mut queue = pie(&[], link(), Rng::from_seed(1));
    let (mut first, mut drops) = (u64::MAX, 0);
    let mut now = offer(&mut queue, 0, 10.0, 1_000, Ecn::NotEct, |at, queue, fate| {
        assert!(queue.policy().burst() == Span::ZERO || *fate == Fate::default());
        first = if fate.dropped.is_some() { first.min(at) } else { first };
        drops += fate.dropped.is_some() as u32;
    });
    assert!(first >= 150_000_000 && drops > 1_000, "{first} {drops}");
    while queue.backlog().packets > 0 {
        now += 1_000_000;
        queue.dequeue(Time::from_nanos(now), &mut NullSink);
    }
    // Five seconds of calm take the probability to nothing and bring the allowance back.
    now = offer(&mut queue, now, 0.1, 5_000, Ecn::NotEct, |_, _, _| ());
    // The last arrival made it whole; an update may have passed since.
    assert!(
        queue.policy().probability() == 0.0 && queue.policy().burst() >= Span::from_millis(135)
    );
    offer(&mut queue, now, 10.0, 140, Ecn::NotEct, |_, _, fate| assert_eq!(*fate, Fate::default()));
}

/// §4.1: PIE is work conserving: with two mean packets or fewer waiting, none is signalled,
/// whatever the probability.
#[test]
fn two_packets_are_always_let_in() {
    let mut queue = pie(&[], link(), Rng::from_seed(1));
    offer(&mut queue, 0, 10.0, 3_000, Ecn::NotEct, |_, _, _| ());
    assert!(queue.policy().probability() > 0.9);
    let now = Time::from_nanos(3_000_000_000);
    while queue.backlog().packets > 2 {
        queue.dequeue(now, &mut NullSink);
    }
    for _ in 0..1_000 {
        let mut fate = Fate::default();
        queue.enqueue(now, Packet::new(1, 1000), &mut fate);
        assert_eq!(fate, Fate::default());
        queue.dequeue(now, &mut NullSink);
    }
}

/// §5.1: below 10 % what can be marked is marked; from there on it is dropped.
#[test]
fn marks_below_ten_per_cent() {
    let mut queue = pie(&[], link(), Rng::from_seed(1));
    let (mut marks, mut drops) = (0, 0);
    offer(&mut queue, 0, 1.5, 20_000, Ecn::Ect0, |_, queue, fate| {
        let below = queue.policy().probability() < 0.1;
        assert!(if below { fate.dropped.is_none() } else { fate.marked.is_none() });
        marks += fate.marked.is_some() as u32;
        drops += fate.dropped.is_some() as u32;
    });
    assert!(marks > 5 && drops > 1_000, "{marks} {drops}");
}

/// §4.2: the controller brings the delay to its target. A source at 1.2 times the rate loses a
/// sixth, and the delay settles at 15 ms, to within a packet's time.
#[test]
fn the_delay_settles_at_the_target() {
    let mut queue =
        pie(&[("ecn", "off")], link(), Rng::from_seed(stats::seed("pie settles", 0).get()));
    let (mut waits, mut drops, mut seen) = (0, 0, 0);
    offer(&mut queue, 0, 1.2, 200_000, Ecn::NotEct, |at, queue, fate| {
        if at >= 100_000_000_000 {
            waits += queue.backlog().packets as u64;
            drops += fate.dropped.is_some() as u64;
            seen += 1;
        }
    });
    let (delay, lost) = (waits as f64 / seen as f64, drops as f64 / seen as f64);
    assert!((delay - 15.0).abs() < 1.0, "{delay} ms");
    assert!((lost - 1.0 / 6.0).abs() < 0.002, "{lost}");
}

/// Appendix B: with a delay that stays below half the target the probability is gone sooner than by
/// §4.2 (where it still falls, because the delay is below the target). Without beta, which would do
/// it at once.
#[test]
fn the_decay_of_appendix_b_begins_earlier() {
    let updates = |decay| {
        let settings = [("decay", decay), ("ecn", "off"), ("max_burst", "0 ns"), ("beta", "0")];
        let mut queue = pie(&settings, link(), Rng::from_seed(1));
        let mut now = offer(&mut queue, 0, 10.0, 3_000, Ecn::NotEct, |_, _, _| ());
        assert!(queue.policy().probability() > 0.9);
        while queue.backlog().packets > 2 {
            queue.dequeue(Time::from_nanos(now), &mut NullSink);
        }
        // Three packets stand (the third always enters), one leaves a millisecond: a delay of 3 ms.
        let began = now;
        while queue.policy().probability() > 0.2 {
            if queue.backlog().packets < 3 {
                queue.enqueue(Time::from_nanos(now), Packet::new(1, 1000), &mut NullSink);
            }
            now += 1_000_000;
            queue.dequeue(Time::from_nanos(now), &mut NullSink);
        }
        (now - began) / 15_000_000
    };
    // From 1 to .2: -.0015 a step takes 533; a factor of .98 as well, ln(.2) / ln(.98) = 80 at the
    // most.
    let (idle, calm) = (updates("idle"), updates("calm"));
    assert!((500..=540).contains(&idle) && (60..=80).contains(&calm), "{idle} {calm}");
}

/// §5.4: with a steady probability no two drops are nearer than .85 / p packets; without, some are
/// next to each other.
#[test]
fn derandomized_gaps_are_even() {
    // 1.2 times the rate: once it has settled, the probability is about a sixth.
    let gaps = |derandomize| {
        let settings = [
            ("derandomize", derandomize),
            ("max_burst", "0 ns"),
            ("ecn", "off"),
            ("target", "10 ms"),
        ];
        let mut queue = pie(&settings, link(), Rng::from_seed(stats::seed("gaps", 0).get()));
        let (mut gaps, mut since, mut low) = (Vec::new(), 0, 1.0_f64);
        offer(&mut queue, 0, 1.2, 60_000, Ecn::NotEct, |at, queue, fate| {
            since += 1;
            low = if at > 20_000_000_000 { low.min(queue.policy().probability()) } else { 1.0 };
            if fate.dropped.is_some() {
                if at > 20_000_000_000 {
                    gaps.push(since);
                }
                since = 0;
            }
        });
        assert!(low > 0.1 && gaps.len() > 1_000, "{low} {}", gaps.len());
        gaps
    };
    let (even, plain): (Vec<u32>, Vec<u32>) = (gaps("on"), gaps("off"));
    assert!(even.iter().all(|&gap| gap >= 3), "p stays below .28");
    assert!(plain.contains(&1), "a die of its own for each packet");
    let spread = |gaps: &[u32]| {
        let mean = gaps.iter().sum::<u32>() as f64 / gaps.len() as f64;
        gaps.iter().map(|&g| (g as f64 - mean) * (g as f64 - mean)).sum::<f64>()
            / gaps.len() as f64
            / (mean * mean)
    };
    assert!(spread(&even) < 0.5 * spread(&plain), "{} {}", spread(&even), spread(&plain));
}

/// The plain rule's signals are as many as the probabilities say, over many seeds (z test, false
/// alarm 1e-6).
#[test]
fn signals_are_as_many_as_the_probabilities_say() {
    let (mut hits, mut expected, mut variance, mut judged) = (0_u64, 0.0, 0.0, 0_u64);
    for seed in 0..40 {
        let dice = Rng::from_seed(stats::seed("signals", seed).get());
        let mut queue =
            pie(&[("derandomize", "off"), ("max_burst", "0 ns"), ("ecn", "off")], link(), dice);
        for n in 0..5_000_u64 {
            let now = Time::from_nanos(n * 800_000);
            let (before, backlog) = (queue.dice().clone(), queue.backlog().packets);
            let mut fate = Fate::default();
            queue.enqueue(now, Packet::new(1, 1000), &mut fate);
            if before != *queue.dice() {
                let p = queue.policy().probability();
                hits += fate.dropped.is_some() as u64;
                (expected, variance, judged) = (expected + p, variance + p * (1.0 - p), judged + 1);
            }
            assert!(backlog > 2 || fate == Fate::default());
            if n % 5 != 0 {
                queue.dequeue(now, &mut NullSink);
            }
        }
    }
    assert!(judged > 10_000, "{judged}");
    let n = judged as f64;
    stats::assert_mean("signals", hits as f64, judged, expected / n, variance / n);
}

/// The longest way down, from certainty on an idle link, takes fewer updates than are made one by
/// one.
#[test]
fn an_idle_link_forgets_within_the_updates_that_are_made() {
    let (mut twin, mut updates) = (NaivePie { drop_prob: 1.0, ..paper() }, 0);
    while twin.drop_prob > 0.0 {
        twin.update(0.0);
        updates += 1;
    }
    assert!((100..400).contains(&updates), "{updates}");
}
