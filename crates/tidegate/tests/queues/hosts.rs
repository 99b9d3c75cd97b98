//! Hosts before flows, in every scheduler that has the parameter `isolation`.
use crate::support::{self, Heard};
use crate::twinned::{self, Twinned};
use tidegate::catalog::{AnyQueue, QUEUES};
use tidegate::entry::{FOREVER, HashTable};
use tidegate::{Ecn, Hosts, Link, Packet, Qdisc, Rng, Span, Time};

/// Every queue of the catalog that can serve hosts before flows.
fn schedulers() -> Vec<&'static str> {
    QUEUES.iter().filter(|row| row.has("isolation")).map(|row| row.name).collect()
}

fn link() -> Link {
    support::link("8 Mbit/s", "1000 packets", "1000 B")
}

fn build(name: &str, settings: &[(&str, &str)]) -> AnyQueue {
    support::config(name, Some("auto"), settings, &link()).build(link(), Rng::from_seed(3)).unwrap()
}

/// What each flow gets of a line of 8 Mbit/s if twenty of its packets wait at any time, as far as
/// the queue lets them.
fn contend(queue: &mut AnyQueue, flows: &[Packet], from: u64, seconds: u64) -> Vec<f64> {
    let (mut sent, mut waiting) = (vec![0_u64; flows.len()], vec![0; flows.len()]);
    let (from, settled) = (from * 1_000, from * 1_000 + seconds * 200);
    for ms in from..from + seconds * 1_000 {
        let (now, mut heard) = (Time::from_nanos(ms * 1_000_000), Heard::default());
        for (n, flow) in flows.iter().enumerate() {
            for _ in waiting[n]..20 {
                queue.enqueue(now, flow.with_slot(n as u32), &mut heard);
                waiting[n] += 1;
            }
        }
        if let Some(pkt) = queue.dequeue(now, &mut heard) {
            // The first fifth of the time is for the queue to find out.
            sent[pkt.slot as usize] += u64::from(ms >= settled);
            waiting[pkt.slot as usize] -= 1;
        }
        heard.lost.iter().for_each(|(pkt, _)| waiting[pkt.slot as usize] -= 1);
    }
    let all: u64 = sent.iter().sum();
    assert!(all >= seconds * 790, "{all}");
    sent.iter().map(|&n| n as f64 / all as f64).collect()
}

fn flow(n: u64, source: u16, destination: u16) -> Packet {
    let pkt = Packet::new(tidegate::rng::mix(n + 1), 1000).with_ecn(Ecn::Ect0);
    pkt.with_hosts(Hosts::new(source, destination))
}

/// One host with a flow, another with sixteen; from them or, where `to`, to them.
fn one_and_sixteen(to: bool) -> Vec<Packet> {
    let host = |n: u64| if n == 0 { 1 } else { 2 };
    let flow =
        |n| if to { flow(n, 10 + n as u16, host(n)) } else { flow(n, host(n), 10 + n as u16) };
    (0..17).map(flow).collect()
}

/// Asserts who has how much, to so many parts of it.
fn assert_shares(what: &str, got: &[f64], expected: impl Fn(usize) -> f64, within: f64) {
    for (n, part) in got.iter().enumerate() {
        assert!((part / expected(n) - 1.0).abs() < within, "{what}, flow {n}: {part}, {got:?}");
    }
}

/// By flows, unless somebody asks for more: a host with sixteen has sixteen shares.
#[test]
fn without_it_a_host_has_a_share_for_each_flow() {
    for name in schedulers() {
        let flows = one_and_sixteen(false);
        let got = contend(&mut build(name, &[("isolation", "flows")]), &flows, 0, 20);
        assert_shares(name, &got, |_| 1.0 / 17.0, 0.03);
    }
}

/// Each host has half of the line, and within a host flows are equal, whatever the packets are.
#[test]
fn a_host_has_one_share_and_its_flows_divide_it() {
    for name in schedulers() {
        let sides = [
            ("dual-srchost", false),
            ("dual-dsthost", true),
            ("triple-isolate", false),
            ("triple-isolate", true),
        ];
        for (isolation, to) in sides {
            let mut queue = build(name, &[("isolation", isolation)]);
            let got = contend(&mut queue, &one_and_sixteen(to), 0, 20);
            let expected = |n| if n == 0 { 0.5 } else { 0.5 / 16.0 };
            assert_shares(&format!("{name} {isolation}"), &got, expected, 0.03);
        }
    }
}

/// Where the whole host is one flow, both have half, and where all is one nobody has a line of his
/// own.
#[test]
fn a_host_can_be_one_flow() {
    for name in schedulers() {
        for (isolation, to) in [("srchost", false), ("dsthost", true)] {
            let mut queue = build(name, &[("isolation", isolation)]);
            let got = contend(&mut queue, &one_and_sixteen(to), 0, 20);
            assert!((got[0] - 0.5).abs() < 0.03, "{name} {isolation}: {}", got[0]);
        }
        assert!(build(name, &[("isolation", "flowblind")]).backlog().packets == 0);
    }
}

/// When flows of a host end, those that are left divide its share.
#[test]
fn a_share_is_divided_among_those_who_have_something_to_send() {
    for name in schedulers() {
        let mut queue = build(name, &[("isolation", "dual-srchost")]);
        contend(&mut queue, &one_and_sixteen(false), 0, 10);
        let mut seconds = 10;
        while queue.backlog().packets > 0 {
            queue.dequeue(Time::from_nanos(seconds * 1_000_000_000), &mut Heard::default());
            seconds += 1;
        }
        let got = contend(&mut queue, &one_and_sixteen(false)[..3], seconds, 20);
        let expected = |n| if n == 0 { 0.5 } else { 0.25 };
        assert_shares(name, &got, expected, 0.03);
    }
}

/// Hosts divide shares only where flows are hashed.
#[test]
fn classes_of_the_driver_have_no_hosts() {
    for name in ["drr", "sfq", "wfq"] {
        let config = support::config(
            name,
            Some("auto"),
            &[("map", "class"), ("isolation", "triple-isolate")],
            &link(),
        );
        let error = config.build(link(), Rng::from_seed(1)).unwrap_err().to_string();
        assert!(error.contains("needs map = flow"), "{error}");
    }
}

/// Beside the twin, in every mode.
fn beside<T: Twinned>(name: &str, settings: &[(&str, &str)]) {
    let link = support::link("10 Mbit/s", "200 kB", "770 B");
    for isolation in ["flowblind", "srchost", "dsthost", "hosts"] {
        let settings = [settings, &[("isolation", isolation)]].concat();
        twinned::restless::<T>(
            &support::config(name, Some("auto"), &settings, &link),
            &link,
            12_000,
        );
    }
    for isolation in ["dual-srchost", "dual-dsthost", "triple-isolate"] {
        let settings = [settings, &[("isolation", isolation)]].concat();
        twinned::restless::<T>(
            &support::config(name, Some("auto"), &settings, &link),
            &link,
            36_000,
        );
    }
}

#[test]
fn twins_agree_in_every_mode() {
    beside::<twinned::drr::Twinned>("drr", &[("classes", "32")]);
    beside::<twinned::drr::Twinned>(
        "drr",
        &[("classes", "32"), ("quantum", "300 B"), ("overflow", "longest_tail")],
    );
    beside::<twinned::fq_codel::Twinned>("fq_codel", &[("flows", "32")]);
    beside::<twinned::fq_codel::Twinned>("fq_codel", &[("flows", "32"), ("quantum", "256 B")]);
    beside::<twinned::fq_pie::Twinned>("fq_pie", &[("flows", "32")]);
    beside::<twinned::sfq::Twinned>("sfq", &[("bins", "32"), ("perturb", "500 ms")]);
    beside::<twinned::sfq_red::Twinned>("sfq_red", &[("bins", "32")]);
    for order in ["wf2q+", "scfq"] {
        beside::<twinned::wfq::Twinned>("wfq", &[("classes", "16"), ("order", order)]);
    }
}

/// Who hashes flows states the table, and for how long a flow stays in its bucket; classes of the
/// driver are hashed nowhere. Hosts are asked for where they divide shares.
#[test]
fn tables_and_wishes_are_stated() {
    let table = |buckets, ways| Some(HashTable { buckets, ways });
    let ten = Some(Span::from_millis(10_000));
    for (name, settings, hashed, lifetime) in [
        ("drr", &[("classes", "32"), ("ways", "4")][..], table(32, 4), Some(FOREVER)),
        ("drr", &[("map", "class")], None, None),
        ("sfq", &[("bins", "32")], table(32, 1), Some(FOREVER)),
        ("sfq", &[("bins", "32"), ("perturb", "10 s")], table(32, 1), ten),
        ("sfq", &[("map", "class")], None, None),
    ] {
        let config = support::config(name, Some("paper"), settings, &link());
        let stated = (config.hash_table(), config.bucket_lifetime());
        assert_eq!(stated, (hashed, lifetime), "{name} {settings:?}");
    }
    for name in ["drr", "sfq", "sfq_red"] {
        let asks = |isolation| {
            let settings = [("isolation", isolation)];
            support::config(name, Some("paper"), &settings, &link()).asks().hosts
        };
        assert!(asks("dual-srchost") && !asks("flows"), "{name}");
    }
    let hashed = support::config("sfq_red", Some("paper"), &[], &link());
    assert_eq!(hashed.bucket_lifetime(), Some(FOREVER));
}
