//! Tide against its specification: the naive twin, and what the page of proofs claims.
use std::collections::BTreeSet;

use crate::support::Heard;
use crate::support::twin::OPERATIONS;
use crate::support::workload::Workload;
use crate::twinned::Twinned as _;
use crate::twinned::tide::Twinned;
use crate::{support, twinned};
use tidegate::catalog::AnyQueue;
use tidegate::queues::Tide;
use tidegate::{Asks, DropReason, Ecn, Hosts, Link, NullSink, Packet, Qdisc, Rng, Span, Time};

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn tide(settings: &[(&str, &str)], link: Link, seed: u64) -> Tide {
    match support::config("tide", Some("auto"), settings, &link)
        .build(link, Rng::from_seed(seed))
        .unwrap()
    {
        AnyQueue::Tide(queue) => queue,
        other => panic!("{other:?}"),
    }
}

fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let config = support::config("tide", Some("auto"), settings, &link);
    let mut twinned = Twinned::beside(&config, link, Rng::from_seed(7)).unwrap();
    let mut workload = Workload::restless(operations);
    workload.classes = 4;
    workload.run(&mut twinned, &link, &mut Rng::from_seed(11), &mut NullSink);
    twinned
}

#[test]
fn twin_agrees_over_a_million_operations() {
    let seen = drive(&[], "200 packets", OPERATIONS * 5 / 4);
    assert!(seen.operations >= OPERATIONS, "{}", seen.operations);
    assert!(seen.unfair.min(seen.signals) > 1_000, "{} {}", seen.unfair, seen.signals);
}

#[test]
fn twin_agrees_in_every_mode() {
    let few = drive(&[("cells", "4"), ("rows", "3"), ("ecn", "off")], "100 packets", 100_000);
    assert!(few.unfair > 1_000, "{}", few.unfair);
    let bytes = drive(&[("first", "0"), ("step", "1"), ("horizon", "0 s")], "30 kB", 100_000);
    assert!(bytes.unfair.min(bytes.signals) > 1_000, "{} {}", bytes.unfair, bytes.signals);
    let full =
        drive(&[("aim", "1 s"), ("fastest", "4"), ("interval", "1 ms")], "50 packets", 50_000);
    assert!(full.no_room > 1_000, "{}", full.no_room);
    let one = drive(&[("cells", "4096"), ("rows", "1"), ("slowest", "1")], "6 kB", 50_000);
    assert!(one.signals > 100, "{}", one.signals);
}

/// Weights, hosts in place of flows, and hosts that divide a share, alone and together.
#[test]
fn twin_agrees_with_factors() {
    let weights = ("weights", "100:.1:7");
    for isolation in ["flows", "srchost", "hosts", "dual-srchost", "dual-dsthost", "triple-isolate"]
    {
        let by = ("isolation", isolation);
        let seen = drive(&[weights, by], "200 packets", 100_000);
        assert!(seen.unfair + seen.signals > 1_000, "{} {}", seen.unfair, seen.signals);
        let few = drive(&[by, ("cells", "16"), ("rows", "2")], "30 kB", 100_000);
        assert!(few.unfair > 1_000, "{}", few.unfair);
    }
    // Of a host with more flows than are counted: 4000 on 4096 cells, all ahead.
    let link = support::link("10 Mbit/s", "5000 packets", "770 B");
    let settings =
        [("isolation", "dual-srchost"), ("cells", "4096"), ("rows", "1"), ("aim", "10 s")];
    let config = support::config("tide", Some("auto"), &settings, &link);
    let mut twinned = Twinned::beside(&config, link, Rng::from_seed(7)).unwrap();
    for n in 0..4_500_u32 {
        let pkt = Packet::new(flow(n as usize), 1000).with_slot(n).with_hosts(Hosts::new(7, 8));
        twinned.enqueue(at(u64::from(n) * 10_000), pkt, &mut NullSink);
    }
}

fn gauge(queue: &Tide, name: &str) -> f64 {
    let mut found = f64::NAN;
    queue.probe(&mut |gauge| found = if gauge.name == name { gauge.value } else { found });
    found
}

/// Offers flows, of so many packets of 1000 bytes a millisecond each, to a line that sends one.
struct Line {
    queue: Tide,
    ms: u64,
    owed: Vec<f64>,
    sent: Vec<u64>,
    heard: Heard,
    ecn: Ecn,
    /// The class and the hosts of each flow, where they matter.
    who: Vec<(u16, Hosts)>,
}

impl Line {
    fn new(queue: Tide, flows: usize) -> Line {
        Line {
            queue,
            ms: 0,
            owed: vec![0.0; flows],
            sent: vec![0; flows],
            heard: Heard::default(),
            ecn: Ecn::NotEct,
            who: vec![(0, Hosts::new(0, 0)); flows],
        }
    }

    /// What each flow gets of the line, after ten seconds, in sixty.
    fn shares(&mut self, offers: &[f64]) -> Vec<f64> {
        self.run(10_000, offers);
        self.sent.fill(0);
        self.run(60_000, offers);
        self.sent.iter().map(|&packets| packets as f64 / 60_000.0).collect()
    }

    fn run(&mut self, ms: u64, offers: &[f64]) {
        for _ in 0..ms {
            let now = at(self.ms * 1_000_000);
            // A turn further each millisecond, so that nobody is always first.
            for n in (0..offers.len()).map(|n| (n + self.ms as usize) % offers.len()) {
                self.owed[n] += offers[n];
                while self.owed[n] >= 1.0 {
                    self.owed[n] -= 1.0;
                    let (waits, lost) = (self.queue.backlog().bytes, self.heard.lost.len());
                    let (class, hosts) = self.who[n];
                    let pkt = Packet::new(flow(n), 1000).with_ecn(self.ecn);
                    let pkt = pkt.with_class(class).with_hosts(hosts);
                    self.queue.enqueue(now, pkt, &mut self.heard);
                    // The fourth claim: below a tenth of the aim, 15 kB, nothing is dropped.
                    assert!(self.heard.lost.len() == lost || waits >= 1_500, "{waits}");
                }
            }
            if let Some(pkt) = self.queue.dequeue(now, &mut self.heard) {
                self.sent[(0..offers.len()).find(|&n| flow(n) == pkt.flow).unwrap()] += 1;
            }
            self.ms += 1;
        }
    }
}

/// The keyed hash that a driver makes of the flow's number.
fn flow(n: usize) -> u64 {
    tidegate::rng::mix(n as u64 + 1)
}

fn line() -> Link {
    support::link("8 Mbit/s", "100 kB", "1000 B")
}

/// Whether the flow `one` has a cell to itself among so many.
fn has_its_own(queue: &Tide, one: usize, flows: usize) -> bool {
    let places = |n| queue.rule().places_of(&Packet::new(flow(n), 1000)).collect::<Vec<_>>();
    let own = places(one);
    (0..4).any(|row| (0..flows).all(|n| n == one || places(n)[row] != own[row]))
}

/// Flows that offer .05, .1, .15, .3, .6 and 2 of the line get max-min shares.
#[test]
fn shares_are_max_min() {
    let offers = [0.05, 0.1, 0.15, 0.3, 0.6, 2.0];
    let mut line = Line::new(tide(&[], line(), 1), 6);
    line.run(10_000, &offers);
    line.sent.fill(0);
    line.run(50_000, &offers);
    let fair = (1.0 - 0.3) / 3.0;
    for (n, offer) in offers.into_iter().enumerate() {
        let got = line.sent[n] as f64 / 50_000.0;
        assert!((got - f64::min(offer, fair)).abs() < 0.02, "{n}: {got}");
    }
    let thin = |pkt: &Packet| (0..3).any(|n| flow(n) == pkt.flow);
    assert!(line.heard.lost.iter().all(|(pkt, _)| !thin(pkt)));
}

/// Flows of the weights 1, 2 and 4 share as 1 : 2 : 4, and one that wants less has what it wants.
#[test]
fn shares_go_by_weights() {
    let queue = tide(&[("weights", "1:2:4")], line(), 1);
    let mut line = Line::new(queue, 4);
    (0..3).for_each(|n| line.who[n].0 = n as u16);
    let got = line.shares(&[1.5, 1.5, 1.5, 0.05]);
    for (n, part) in [1.0, 2.0, 4.0].into_iter().enumerate() {
        let due = 0.95 * part / 7.0;
        assert!((got[n] / due - 1.0).abs() < 0.06, "{n}: {} for {due}", got[n]);
    }
    assert!(got[3] > 0.0495, "{}", got[3]);
    assert!(got.iter().sum::<f64>() > 0.998, "{got:?}");
}

/// A flow alone has the whole line, whatever its weight.
#[test]
fn a_lone_flow_of_any_weight_has_the_whole_line() {
    for class in 0..3 {
        let mut line = Line::new(tide(&[("weights", "1:30:100")], line(), 1), 1);
        line.who[0].0 = class;
        let got = line.shares(&[3.0]);
        assert!(got[0] > 0.998, "class {class}: {}", got[0]);
    }
}

/// A host with 1 flow, one with 4 and one with 40 have a third each, by source and by destination;
/// a thin flow of the busiest loses nothing.
#[test]
fn hosts_share_and_their_flows_divide() {
    let hosts = [("dual-srchost", true), ("dual-dsthost", false), ("triple-isolate", true)];
    for (isolation, by_source) in hosts {
        let mut line = Line::new(tide(&[("isolation", isolation)], line(), 2), 46);
        let host_of = |n: usize| if n == 0 { 1 } else { 2 + u16::from(n > 4) };
        for (n, (_, hosts)) in line.who.iter_mut().enumerate() {
            let apart = 100 + n as u16;
            let host = host_of(n);
            *hosts = if by_source { Hosts::new(host, apart) } else { Hosts::new(apart, host) };
        }
        let mut offers = [0.5; 46];
        offers[45] = 0.002;
        let got = line.shares(&offers);
        for host in 1..=3 {
            let share: f64 = (0..46).filter(|&n| host_of(n) == host).map(|n| got[n]).sum();
            assert!((share - 1.0 / 3.0).abs() < 0.04, "{isolation}, host {host}: {share}");
        }
        assert!(got[45] > 0.0019, "{isolation}: {}", got[45]);
        assert!(got.iter().sum::<f64>() > 0.99, "{isolation}: {}", got.iter().sum::<f64>());
    }
}

/// A thousand flows with forged sources to one host: by destination it has one share, beside three
/// users who send to others. By flows the users get next to nothing.
#[test]
fn a_destination_key_holds_forged_sources() {
    for (isolation, least, most) in [("dsthost", 0.24, 0.26), ("flows", 0.0, 0.02)] {
        let mut line = Line::new(tide(&[("isolation", isolation)], line(), 2), 1_003);
        for (n, (_, hosts)) in line.who.iter_mut().enumerate() {
            *hosts = Hosts::new(n as u16, if n < 3 { n as u16 } else { 9 });
        }
        let mut offers = vec![0.01; 1_003];
        offers[..3].fill(1.0);
        // Not all in the same millisecond.
        line.owed.iter_mut().enumerate().for_each(|(n, owed)| *owed = (n % 100) as f64 / 100.0);
        let got = line.shares(&offers);
        for user in &got[..3] {
            assert!((least..most).contains(user), "{isolation}: {:?}", &got[..3]);
        }
    }
}

/// Packets of a flow leave in the order in which they came, however many flows share a cell, and
/// also after another queue's packets were taken over.
#[test]
fn no_packet_overtakes_one_of_its_flow() {
    for (seed, cells, least) in [(1, "2", 1), (2, "8", 1_000), (3, "64", 1_000), (4, "512", 1_000)]
    {
        let fresh = || tide(&[("cells", cells)], line(), seed);
        let (mut queue, mut dice) = (fresh(), Rng::from_seed(seed));
        let (mut seen, mut express) = ([0; 40], 0);
        for n in 0..200_000_u32 {
            // Two at a time.
            let now = at(u64::from(n / 2) * 1_000_000);
            let who = if dice.chance(0.7) { dice.below(4) } else { dice.below(40) };
            let pkt = Packet::new(flow(who as usize), 1000).with_slot(n + 1);
            queue.enqueue(now, pkt, &mut NullSink);
            if n % 2 == 0
                && let Some(pkt) = queue.dequeue(now, &mut NullSink)
            {
                let who = (0..40).find(|&who| flow(who) == pkt.flow).unwrap();
                assert!(pkt.slot > seen[who], "{} after {}", pkt.slot, seen[who]);
                seen[who] = pkt.slot;
                express += u32::from(pkt.slot > n.saturating_sub(3));
            }
            if n % 20_011 == 0 {
                let mut next = fresh();
                assert!(next.inherit(&mut queue));
                queue = next;
            }
        }
        assert!(express >= least, "{cells} cells: {express}");
    }
}

/// A flow of a third of its share waits for no more than the packet under way, beside nine that
/// fill the line. Without an express line it waits as they do.
#[test]
fn who_sends_little_does_not_wait() {
    for (express, most, least) in [("on", 1, 0), ("off", 30, 8)] {
        let mut queue = tide(&[("express", express)], line(), 4);
        let (mut worst, mut came) = (0, 0);
        for ms in 0..20_000_u64 {
            let now = at(ms * 1_000_000);
            for n in 1..10 {
                queue.enqueue(now, Packet::new(flow(n), 1000), &mut NullSink);
            }
            if ms % 30 == 0 {
                queue.enqueue(now, Packet::new(flow(0), 1000), &mut NullSink);
            }
            if let Some(pkt) = queue.dequeue(now, &mut NullSink).filter(|pkt| pkt.flow == flow(0))
                && ms > 5_000
            {
                worst = worst.max(now.since(pkt.arrived).as_nanos() / 1_000_000);
                came += 1;
            }
        }
        assert!((499..=501).contains(&came), "{express}: {came} of 500 came");
        assert!((least..=most).contains(&worst), "{express}: {worst} ms");
    }
}

/// A flow alone has the whole line, however much it offers.
#[test]
fn one_flow_has_the_whole_line() {
    let mut line = Line::new(tide(&[], line(), 1), 1);
    line.run(20_000, &[5.0]);
    assert!(line.sent[0] >= 19_990, "{}", line.sent[0]);
}

/// The fourth claim, where r is a twentieth of the line because nineteen flows have just gone.
#[test]
fn a_nearly_empty_queue_refuses_nothing() {
    let mut line = Line::new(tide(&[], line(), 1), 20);
    line.run(5_000, &[0.5; 20]);
    line.sent.fill(0);
    line.run(2_000, &[vec![5.0], vec![0.0; 19]].concat());
    let others = line.sent[1..].iter().sum::<u64>();
    assert!(line.sent[0] + others >= 1_950 && line.sent[0] > 1_800, "{:?}", line.sent);
}

/// The first claim of docs/tide/proofs.md: a burst of half of what it may, then .29 of a fair rate.
#[test]
fn who_stays_below_the_slowest_round_loses_nothing() {
    let mut judged = 0;
    for seed in 0..40 {
        let floods = 1 + seed as usize * 2;
        let queue = tide(&[], line(), seed);
        if !has_its_own(&queue, 0, floods + 1) {
            continue;
        }
        judged += 1;
        let mut offers = vec![10.0 / floods as f64; floods + 1];
        offers[0] = 0.0;
        let mut line = Line::new(queue, floods + 1);
        line.ecn = if seed % 2 == 0 { Ecn::NotEct } else { Ecn::Ect0 };
        line.run(2_000, &offers);
        let may = gauge(&line.queue, "allowance").min(36_000.0);
        line.owed[0] = (may / 2_000.0).floor();
        assert!(line.owed[0] >= 6.0, "{may}");
        offers[0] = 0.29 / (floods + 1) as f64;
        line.run(20_000, &offers);
        let heard = &line.heard;
        let own = |pkt: &Packet| pkt.flow == flow(0);
        let lost = heard.lost.iter().filter(|(pkt, _)| own(pkt)).count();
        let marked = heard.marked.iter().filter(|pkt| own(pkt)).count();
        assert_eq!((lost, marked), (0, 0), "{floods} floods");
        assert!(heard.lost.len() > 100_000);
    }
    assert!(judged > 35, "{judged}");
}

/// The second claim, with any numbers. Beside m flows that want more than their share k offenders
/// take at most k of k + m shares, and what the proof leaves to the beginning.
#[test]
fn offenders_take_their_shares() {
    const MS: u64 = 30_000;
    let mut dice = support::stats::dice("offenders beside others", 0);
    for seed in 0..24 {
        let [offenders, others] = [40, 20].map(|most| 1 + dice.below(most) as usize);
        let flows = offenders + others;
        let queue = tide(&[], line(), seed);
        if !(0..flows).all(|n| has_its_own(&queue, n, flows)) {
            continue;
        }
        let mut offers = vec![dice.between(2.0, 30.0) / offenders as f64; flows];
        offers[..others].fill(dice.between(1.4, 2.4) / flows as f64);
        let mut line = Line::new(queue, flows);
        line.run(10_000, &offers);
        let before = gauge(&line.queue, "allowance");
        line.sent.fill(0);
        line.run(MS, &offers);
        // In packets: each offender's allowance, the others' at the beginning, and what may wait.
        let allowance = before.max(gauge(&line.queue, "allowance")) / 1000.0;
        let [k, m] = [offenders, others].map(|count| count as f64);
        let most = k / (k + m) * (MS as f64 + 100.0 + m * allowance) + k * allowance;
        let taken = line.sent[others..].iter().sum::<u64>() as f64;
        assert!(taken < most, "{offenders} beside {others}: {taken}, at most {most}");
        let exact = MS as f64 * k / (k + m);
        assert!(
            (taken / exact - 1.0).abs() < 0.03,
            "{offenders} beside {others}: {taken}, {exact}"
        );
    }
}

/// The third claim, with any numbers: N is right two passes after flows came, and after the longest
/// debt and some time constants when they have gone.
#[test]
fn the_fair_rate_follows() {
    let mut dice = support::stats::dice("flows that come and go", 0);
    for seed in 0..16 {
        let [stay, come] = [9, 40].map(|most| 2 + dice.below(most) as usize);
        let all = stay + come;
        let mut line = Line::new(tide(&[], line(), seed), all);
        // More than the fastest round, which turns at 1.3 times the old rate.
        let offer = dice.between(1.5, 2.5) / stay as f64;
        let some = |busy: usize| [vec![offer; busy], vec![0.0; all - busy]].concat();
        let count = |line: &Line, flows: usize, why: &str| {
            let found = gauge(&line.queue, "flows");
            let off = (found - flows as f64).abs();
            assert!(off < 0.3 + 0.03 * flows as f64, "{why}: {found} for {flows} of {all}");
            let rate = gauge(&line.queue, "fair_rate") / 8e6;
            assert!((rate * found - 1.0).abs() < 0.01, "{why}: {rate} for {found}");
        };
        line.run(6_000, &some(stay));
        count(&line, stay, "alone");
        // Each of the new has sent something when a packet's time has passed. Passes are every
        // 10 ms.
        line.run((1.0 / offer).ceil() as u64 + 20, &some(all));
        count(&line, all, "come");
        line.run(6_000, &some(all));
        count(&line, all, "together");
        // In packets and ms: the allowance turns away at .3 of the rate; 5.3 times 30 ms leave a
        // two-hundredth of the count.
        let rate = gauge(&line.queue, "fair_rate") / 8e6;
        let debt = gauge(&line.queue, "allowance") / 1000.0 / (0.3 * rate);
        line.run(debt as u64 + 160 + 10, &some(stay));
        count(&line, stay, "gone");
    }
}

/// After 64 passes without an arrival N is what they make of it; after 65 all is forgotten.
#[test]
fn a_long_silence_is_forgotten() {
    for (ms, forgotten) in [(3_639, false), (3_640, true)] {
        let mut line = Line::new(tide(&[("memory", "60 s")], line(), 1), 8);
        line.run(3_000, &[1.0; 8]);
        assert!(gauge(&line.queue, "flows") > 7.0);
        line.ms = ms;
        line.run(1, &[1.0; 8]);
        let flows = gauge(&line.queue, "flows");
        assert_eq!(flows == 1.0, forgotten, "{ms}: {flows}");
    }
}

/// A flow that climbs is signalled once for each step: marked if it can be, else dropped. One that
/// is near its allowance is marked at each packet, and beyond it dropped in any case.
#[test]
fn signals_come_by_steps() {
    for (ecn, setting) in [(Ecn::Ect0, "on"), (Ecn::Ect0, "off"), (Ecn::NotEct, "on")] {
        let wide = support::link("8 Mbit/s", "1 MB", "1000 B");
        let mut queue = tide(&[("ecn", setting)], wide, 1);
        let (mut signals, mut unfair) = (Vec::new(), Vec::new());
        let marks = ecn.is_capable() && setting == "on";
        for n in 0..1_500 {
            let mut heard = Heard::default();
            queue.enqueue(at(n), Packet::new(7, 1000).with_ecn(ecn), &mut heard);
            let because = |reason| heard.lost.iter().any(|(_, why)| *why == reason);
            if because(DropReason::Unfair) {
                unfair.push(n);
            }
            if because(DropReason::Forced) || !heard.marked.is_empty() {
                signals.push(n);
                assert_eq!(heard.marked.is_empty(), !marks);
            }
        }
        // M is above a second of the line. So what it may is the room, which it fills itself.
        let first = unfair[0];
        assert!((495..515).contains(&first), "{first}");
        let steps = signals.iter().filter(|&&n| n < 460).count();
        assert!((3..12).contains(&steps), "{signals:?}");
        let near = signals.iter().filter(|&&n| (470..490).contains(&n)).count();
        assert_eq!(near == 20, marks, "{signals:?}");
    }
}

/// A length that no packet on a line has is charged as 2^30 bytes, and nothing runs over.
#[test]
fn no_length_runs_over() {
    let link = support::link("10 Mbit/s", "1000 packets", "1500 B");
    for len in [u32::MAX, 1 << 31, (1 << 30) + 1, 1 << 30] {
        let config = support::config("tide", Some("auto"), &[], &link);
        let mut both: Twinned = twinned::Twinned::beside(&config, link, Rng::from_seed(1)).unwrap();
        for n in 0..40 {
            let len = if n % 3 == 0 { len } else { 1500 };
            both.enqueue(at(n), Packet::new(n / 20, len).with_slot(n as u32), &mut NullSink);
        }
        assert!(both.unfair > 20, "{}", both.unfair);
    }
}

/// Hosts are spread over the 512 places of each row, and no row has places of the other: of 200
/// hosts at random 166 have different ones.
#[test]
fn hosts_are_spread_over_both_rows() {
    let queue = tide(&[("isolation", "triple-isolate")], line(), 1);
    for (side, row) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let place = |n: u16| {
            let hosts = if side == 0 { Hosts::new(n, 0) } else { Hosts::new(0, n) };
            queue.rule().hosts_of(&Packet::new(1, 1000).with_hosts(hosts))[side].unwrap()[row]
        };
        let taken: BTreeSet<usize> = (0..200).map(place).collect();
        assert!((145..190).contains(&taken.len()), "{side} {row}: {}", taken.len());
        assert!(taken.iter().all(|place| place / 512 == row), "{side} {row}: {taken:?}");
    }
}

/// By hand, besides the queue's own fields: 8 bytes a cell, 4 for each count of cells from none to
/// all, 4 in each of two rows for the last packet in the main line. With factors there are 4 a
/// class and 4 a cell of the first row. For each side there are 2 a cell and 1024 places of 4.
#[test]
fn what_it_states_is_right_to_the_byte() {
    let stated = |settings: &[(&str, &str)]| {
        let config = support::config("tide", Some("auto"), settings, &line());
        config.state_bytes(&line()) - size_of::<Tide>() as u64
    };
    assert_eq!(stated(&[("rows", "3"), ("cells", "100")]), 2_400 + 404 + 800);
    assert_eq!(stated(&[("rows", "1"), ("cells", "100")]), 800 + 404 + 400);
    let few = [("rows", "1"), ("cells", "100"), ("express", "off")];
    assert_eq!(stated(&few), 800 + 404);
    let with = |setting| stated(&[few[0], few[1], few[2], setting]) - stated(&few);
    assert_eq!(with(("weights", "1:2:4")), 12 + 400);
    assert_eq!(with(("isolation", "dual-srchost")), 4 + 400 + 200 + 4_096);
    assert_eq!(with(("isolation", "triple-isolate")), 4 + 400 + 2 * (200 + 4_096));
}

/// Hosts are asked for where they say which packets are a flow, or divide a share.
#[test]
fn hosts_are_asked_for_where_they_matter() {
    for (isolation, hosts) in [("flows", false), ("dsthost", true), ("dual-srchost", true)] {
        let config = support::config("tide", None, &[("isolation", isolation)], &line());
        assert_eq!(config.asks(), Asks::NOTHING.with_hosts(hosts), "{isolation}");
    }
}

/// The table of the specification, worked out by hand.
#[test]
fn parameters_follow_from_the_line() {
    for (rate, limit, expected) in [
        ("512 kbit/s", "12800 B", [66_666_666, 93_333_333, 46_875_000, 187_500_000]),
        ("10 Mbit/s", "100 kB", [15_000_000, 45_500_000, 10_000_000, 30_000_000]),
        ("10 Gbit/s", "25 MB", [6_666_666, 9_333_333, 10_000_000, 30_000_000]),
    ] {
        let link = support::link(rate, limit, "1000 B");
        let config = support::config("tide", Some("auto"), &[], &link);
        let nanos =
            |name: &str| config.get(name).unwrap().parse::<Span>().unwrap().as_nanos() as i64;
        for (name, due) in ["aim", "drain", "interval", "memory"].into_iter().zip(expected) {
            assert!((nanos(name) - due).abs() <= 1_000, "{rate}: {name} is {}", nanos(name));
        }
    }
}

/// By hand, where packets are longer than usual: one of 9000 bytes takes 7.2 ms.
#[test]
fn long_packets_lengthen_the_times() {
    let link = support::link("10 Mbit/s", "1 MB", "9000 B");
    let config = support::config("tide", Some("auto"), &[], &link);
    let times = [("aim", "21.6 ms"), ("drain", "172.8 ms"), ("interval", "14.4 ms")];
    for (name, due) in [("packet", "9 kB"), ("memory", "57.6 ms")].into_iter().chain(times) {
        assert_eq!(config.get(name).unwrap(), due, "{name}");
    }
}

/// A line of 10 Gbit/s with 1.6 ms of buffer: the aim lies within it, so flows are counted, and the
/// hard limit refuses nobody.
#[test]
fn a_short_buffer_holds_the_aim() {
    let short = support::link("10 Gbit/s", "2 MB", "1000 B");
    let mut queue = tide(&[], short, 1);
    let mut heard = Heard::default();
    for n in 0..400_000_u64 {
        let now = at(n * 400);
        if n == 200_000 {
            heard = Heard::default();
        }
        queue.enqueue(now, Packet::new(flow(n as usize % 500), 1000), &mut heard);
        if n % 2 == 0 {
            queue.dequeue(now, &mut NullSink);
        }
    }
    let flows = gauge(&queue, "flows");
    assert!((400.0..600.0).contains(&flows), "{flows}");
    assert!(heard.lost.len() > 90_000, "{}", heard.lost.len());
    assert!(heard.lost.iter().all(|(_, why)| *why != DropReason::Overlimit));
}

/// What the round may not outrun is refused, with the reason.
#[test]
fn an_interval_too_long_for_the_line_is_refused() {
    let fast = support::link("1000 Gbit/s", "1 GB", "1500 B");
    let config = support::config("tide", Some("auto"), &[("interval", "1 s")], &fast);
    let error = config.build(fast, Rng::from_seed(1)).unwrap_err().to_string();
    assert!(error.contains("interval") && error.contains("1000 Gbit/s"), "{error}");
    assert!(support::config("tide", None, &[], &fast).build(fast, Rng::from_seed(1)).is_ok());
    // A byte each nanosecond, 2^30 bytes at most.
    let even = support::link("8 Gbit/s", "1 GB", "1500 B");
    for (interval, fits) in [("1073741824 ns", true), ("1073741825 ns", false)] {
        let settings = [("interval", interval), ("fastest", "1")];
        let config = support::config("tide", Some("auto"), &settings, &even);
        assert_eq!(config.build(even, Rng::from_seed(1)).is_ok(), fits, "{interval}");
    }
}
