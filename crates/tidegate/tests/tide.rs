//! Tide against its specification: the naive twin, and what the page of proofs claims.
mod naive;
mod support;
mod twinned;

use support::Heard;
use support::twin::OPERATIONS;
use tidegate::catalog::{self, AnyQueue};
use tidegate::queues::Tide;
use tidegate::{Link, NullSink, Packet, Qdisc, Rng, Time};
use twinned::tide::Twinned;

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn tide(settings: &[(&str, &str)], link: Link, seed: u64) -> Tide {
    match support::config("tide", None, settings, &link).build(link, Rng::from_seed(seed)).unwrap()
    {
        AnyQueue::Tide(queue) => queue,
        other => panic!("{other:?}"),
    }
}

fn drive(settings: &[(&str, &str)], limit: &str, operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", limit, "770 B");
    let config = support::config("tide", None, settings, &link);
    twinned::restless(&config, &link, operations)
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
    drive(&[("cells", "4096"), ("rows", "1"), ("slowest", "1")], "1400 B", 50_000);
}
