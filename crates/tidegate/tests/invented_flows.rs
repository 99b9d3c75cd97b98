//! Ten million flows of a packet each, as forged sources send them: no queue takes more memory than
//! it says. In a binary of its own, because the allocator counts for all.
mod support;

use support::scales::{Weighing, heaviest};
use tidegate::{Backlog, Link, NullSink, Packet, Qdisc, Rng, Span, Time, catalog, rng};

#[global_allocator]
static WEIGHING: Weighing = Weighing;

#[test]
fn the_scales_weigh() {
    let (bytes, kept) = heaviest(|| {
        drop(std::hint::black_box(vec![1_u8; 3000]));
        let zeroed = vec![0_u8; 5000];
        drop(std::hint::black_box(vec![1_u8; 200]));
        zeroed
    });
    assert_eq!((bytes, kept.len()), (5200, 5000));
}

const FLOWS: u64 = 10_000_000;

/// Offers each flow's packet at 1.25 times the link's rate, so that a queue meets both want of room
/// and room.
fn flood(queue: &mut catalog::AnyQueue, link: &Link) -> Backlog {
    let gap = Span::from_nanos(link.rate.time_to_send(link.mean_packet).as_nanos() * 4 / 5);
    let mut now = Time::ZERO;
    let mut most = Backlog::default();
    for n in 0..FLOWS {
        now += gap;
        queue.enqueue(now, Packet::new(rng::mix(n), 1000), &mut NullSink);
        if n % 5 != 0 {
            queue.dequeue(now, &mut NullSink);
        }
        most.packets = most.packets.max(queue.backlog().packets);
    }
    most
}

/// State and packets: what `state_bytes` says, and twice 32 bytes for each packet that can wait
/// (lines double as they grow, and hold both halves for the moment).
#[test]
fn ten_million_flows_stay_within_the_stated_memory() {
    let link = support::link("10 Gbit/s", "1000 packets", "1000 B");
    for row in catalog::QUEUES {
        let config = catalog::config(row.name, None, &link).unwrap();
        let stated = config.state_bytes(&link);
        let (bytes, most) = heaviest(|| {
            let mut queue = config.build(link, Rng::from_seed(1)).unwrap();
            flood(&mut queue, &link)
        });
        let packets = 1024 * size_of::<Packet>() as u64;
        assert!(most.packets > 0 && most.packets <= 1000, "{}: {most:?}", row.name);
        assert!(bytes <= stated + 2 * packets, "{}: {bytes} bytes held, {stated} stated", row.name);
    }
}
