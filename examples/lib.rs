//! What the examples share: the loop of the book's page "Test your own stack", with a rival. Each
//! example puts a published transport into it, in fewer than eighty lines.
use std::error::Error;
use std::ops::RangeInclusive;

use tidegate::{Bottleneck, Link, Packet, Span, Time};

/// How long a transfer is watched.
const WATCHED: Span = Span::from_millis(10_000);

/// 20 Mbit/s.
const FLOOD: (Packet, Span) = (Packet::new(2, 1_000), Span::from_micros(400));

/// The queues of the page's table, with what an upload is to get behind each, in Mbit/s: next to
/// nothing, or about the half of the link that is fair.
const TABLE: [(&str, RangeInclusive<f64>); 5] = [
    ("drop_tail", 0.0..=0.5),
    ("fq_codel", 4.0..=6.0),
    ("drr", 4.0..=6.0),
    ("sfb", 3.5..=6.0),
    ("purge", 2.0..=6.0),
];

/// One end of a conversation.
pub trait End {
    /// Does what is due at `now`, and gives packets and their payloads to `send`.
    fn act(&mut self, now: Time, send: &mut dyn FnMut(Packet, Vec<u8>));
    /// Takes a payload that has come, and the packet with any mark.
    fn receive(&mut self, now: Time, packet: Packet, payload: Vec<u8>);
    /// When it must act, if nothing comes before.
    fn timer(&mut self, now: Time) -> Option<Time>;
}

/// How much of 10 Mbit/s the first of `ends` gets through to the second in ten seconds, in Mbit/s,
/// over 40 ms there and back, behind the queue written as `name` and beside a flood of 20 Mbit/s.
///
/// # Errors
/// No such queue.
pub fn beside_a_flood(name: &str, mut ends: [impl End; 2]) -> Result<f64, Box<dyn Error>> {
    let link = Link::new("10 Mbit/s".parse()?, "100 packets".parse()?, "1200 B".parse()?)?;
    let way = Bottleneck::of(name, link, Span::from_millis(20), 1)?;
    let (mut ways, mut now, mut flood, mut got) = ([way.clone(), way], Time::ZERO, Time::ZERO, 0);
    while now < Time::ZERO + WATCHED {
        for (end, way) in ends.iter_mut().zip(&mut ways) {
            end.act(now, &mut |packet, payload| way.offer(now, packet, payload));
        }
        if flood <= now {
            ways[0].offer(now, FLOOD.0, vec![]);
            flood = now + FLOOD.1;
        }
        let timers = ends.iter_mut().filter_map(|end| end.timer(now));
        let wakes = timers.chain(ways.iter().filter_map(Bottleneck::next_wake));
        now = wakes.fold(flood, Time::min).max(now);
        for (to, (end, way)) in ends.iter_mut().rev().zip(&mut ways).enumerate() {
            while let Some(arrived) = way.poll(now) {
                if arrived.packet.flow == FLOOD.0.flow {
                    continue;
                }
                got += if to == 0 { arrived.payload.len() } else { 0 };
                end.receive(now, arrived.packet, arrived.payload);
            }
        }
    }
    Ok(got as f64 * 8.0 / WATCHED.as_secs() / 1e6)
}

/// Prints what `upload` gets behind each queue of the page's table, in Mbit/s.
///
/// # Panics
/// A rate is out of its range.
pub fn row(stack: &str, upload: impl Fn(&str) -> Result<f64, Box<dyn Error>>) {
    let rates = TABLE.map(|(queue, range)| (queue, upload(queue).unwrap(), range));
    let cells = rates.each_ref().map(|(queue, rate, _)| format!("{queue} {rate:.2}"));
    println!("{stack}: {}", cells.join(", "));
    for (queue, rate, range) in rates {
        assert!(range.contains(&rate), "{rate:.2} Mbit/s behind {queue}");
    }
}
