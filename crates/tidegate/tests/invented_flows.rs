//! Ten million flows of a packet each, as forged sources send them: no queue takes more memory than it says. In a binary
//! of its own, because the allocator counts for all.
mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use tidegate::{Backlog, Link, NullSink, Packet, Qdisc, Rng, Span, Time, catalog, rng};

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
    static MOST: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, with the bytes that this thread holds and has held at most.
struct Weighing;

fn weigh(bytes: i64) {
    HELD.with(|held| {
        held.set(held.get() + bytes);
        MOST.with(|most| most.set(most.get().max(held.get())));
    });
}

#[allow(unsafe_code, reason = "an allocator cannot be written without; it only weighs and passes on")]
unsafe impl GlobalAlloc for Weighing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        weigh(layout.size() as i64);
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        weigh(layout.size() as i64);
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        weigh(-(layout.size() as i64));
        unsafe { System.dealloc(ptr, layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        weigh(size as i64 - layout.size() as i64);
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static WEIGHING: Weighing = Weighing;

/// How many bytes `work` held at most, beyond what was held before.
fn heaviest<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let before = HELD.with(Cell::get);
    MOST.with(|most| most.set(before));
    let result = work();
    ((MOST.with(Cell::get) - before) as u64, result)
}

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

/// Offers each flow's packet at 1.25 times the link's rate, so that a queue meets both want of room and room.
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

/// State and packets: what `state_bytes` says, and twice 32 bytes for each packet that can wait (lines double as they
/// grow, and hold both halves for the moment).
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

/// The bound is no larger than it need be: a queue that says what it keeps has it from the start, besides its own fixed
/// fields; only FQ-CoDel's lines take two words more for each packet that may come to wait. (Schedulers with classes keep
/// places for packets from the start, which are not counted as state.)
#[test]
fn what_is_stated_is_kept() {
    let link = support::link("10 Gbit/s", "1000 packets", "1000 B");
    let presets = support::every_preset(&link).into_iter();
    for (row, preset, config) in presets.filter(|(row, ..)| !["drop_tail", "wfq", "ewfq"].contains(&row.name)) {
        let words = if row.name == "fq_codel" { 8 * 1000 } else { 0 };
        let tables = row.params.iter().filter(|param| TABLES.contains(&param.name));
        let sizes = tables.flat_map(|param| ["3", "5000"].map(|size| (param.name, size)));
        for (table, size) in [("preset", preset)].into_iter().chain(sizes) {
            let mut config = config.clone();
            if table != "preset" && config.set(table, size).is_err() {
                continue;
            }
            let (bytes, built) = heaviest(|| config.build(link, Rng::from_seed(1)));
            let (Ok(_), stated) = (built, config.state_bytes(&link)) else { continue };
            let what = format!("{}/{preset} {table} {size}: {bytes} bytes held, {stated} stated", row.name);
            assert!((bytes + words + 32..=bytes + words + 1024).contains(&stated), "{what}");
        }
    }
}

/// Parameters that say how large a table is.
const TABLES: [&str; 9] =
    ["flows", "occasions", "flow_occasions", "cache", "buckets", "minima", "bins", "levels", "shadow"];
