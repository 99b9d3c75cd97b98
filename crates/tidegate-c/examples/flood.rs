//! The same as flood.c, in Rust: their answers are compared by a test, and their time by hand.
#![allow(clippy::disallowed_macros, reason = "an example answers")]
use std::error::Error;

use tidegate::{Bottleneck, Ecn, Link, Packet, Seed, Span, Time, written::Written};

const GAP: Span = Span::from_micros(400);
const NAMES: [&str; 3] = ["", "flood", "sender"];

#[derive(Default)]
struct Counts {
    delivered: [u64; 3],
    marked: [u64; 3],
    dropped: [u64; 3],
    last: u64,
}

fn poll(way: &mut Bottleneck<u64>, now: Time, counts: &mut Counts) {
    while let Some(fate) = way.poll_fate(now) {
        let flow = fate.packet.flow as usize;
        if fate.is_delivered() {
            counts.delivered[flow] += 1;
            counts.marked[flow] += (fate.packet.ecn == Ecn::Ce) as u64;
            counts.last = fate.payload;
        } else {
            counts.dropped[flow] += 1;
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let queue = arguments.next().unwrap_or("fq_codel".into());
    let packets = arguments.next().map_or(Ok(100_000), |text| text.parse())?;
    let link = Link::new("10 Mbit/s".parse()?, "100 packets".parse()?, "1000 B".parse()?)?;
    let queue = Written::read(&queue)?.config(&link)?.build(link, Seed::new(1).stream("queue"))?;
    let mut way = Bottleneck::new(link.rate, Span::from_millis(20), queue)?;

    let (mut counts, mut now, mut number) = (Counts::default(), Time::ZERO, 0);
    for slot in 0u64.. {
        if number >= packets {
            break;
        }
        for flow in 1..=if slot % 4 == 0 { 2 } else { 1 } {
            let ecn = if flow == 2 { Ecn::Ect0 } else { Ecn::NotEct };
            way.offer(now, Packet::new(flow, 1000).with_ecn(ecn), number);
            number += 1;
        }
        poll(&mut way, now, &mut counts);
        now += GAP;
    }
    poll(&mut way, Time::MAX, &mut counts);

    for (flow, name) in NAMES.iter().enumerate().skip(1) {
        let (delivered, marked) = (counts.delivered[flow], counts.marked[flow]);
        let dropped = counts.dropped[flow];
        println!("{name}: {delivered} delivered, {marked} of them marked, {dropped} dropped");
    }
    println!("the last to come was packet {}", counts.last);
    Ok(())
}
