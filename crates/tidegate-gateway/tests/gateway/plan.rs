//! What a plan refuses, and that the memory it lays out is enough for what it promises.
use tidegate::{DropReason, Link, Span, Time, catalog};
use tidegate_gateway::device::guard::Unguarded;
use tidegate_gateway::device::memory::{Cable, cable};
use tidegate_gateway::device::port::Port;
use tidegate_gateway::path::gate::{Gate, Next};
use tidegate_gateway::path::pool::FramePool;
use tidegate_gateway::run::plan::{GatePlan, Settings};
use tidegate_gateway::run::way::{Secret, Way};
use tidegate_gateway::watch::counters::LossReason;

fn settings(limit: &str, delay: Span) -> Settings {
    let link =
        Link::new("100 Mbit/s".parse().unwrap(), limit.parse().unwrap(), "1000 B".parse().unwrap())
            .unwrap();
    Settings {
        inner: "if1".into(),
        outer: "if2".into(),
        there: Way::new(link, catalog::config("drop_tail", None, &link).unwrap(), "drop_tail"),
        back: None,
        delay,
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_field_and_the_bound() {
    let refused = |change: &dyn Fn(&mut Settings), mtu| {
        let mut settings = settings("100 packets", Span::ZERO);
        change(&mut settings);
        GatePlan::new(settings, mtu).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&|s| s.outer = "if1".into(), 1500),
        "out = if1: must be another interface than `in`"
    );
    for name in ["", "../mtu", "..", "a b", "sixteen-letters-", "eth0:1"] {
        let why = refused(&|s| s.inner = name.into(), 1500);
        assert_eq!(why, format!("in = {name}: must be the name of an interface, 1 to 15 bytes"));
    }
    assert_eq!(
        refused(&|s| s.delay = Span::from_millis(2001), 1500),
        "delay = 2.001 s: must be at most 2 s"
    );
    assert_eq!(refused(&|_| (), 67), "mtu = 67: must lie in 68 to 65535 bytes");
    let large = |s: &mut Settings| *s = settings("16000000 packets", Span::ZERO);
    let why = refused(&large, 9000);
    assert!(
        why.starts_with("limit = 16000000 packets: with delay 0 ns needs ")
            && why.ends_with("at most 8 GB"),
        "{why}"
    );
    assert!(
        GatePlan::new(settings("16000000 packets", Span::ZERO), 200).is_ok(),
        "they are shorter"
    );
}

fn end_of(len: usize) -> Time {
    Time::from_nanos(if len > 1514 { 700_000_000 } else { 200_000_000 })
}

#[test]
fn a_full_queue_and_a_full_delay_line_find_memory_whatever_the_frames_are() {
    for (limit, len) in [
        ("300 packets", 1514),
        ("300 packets", 9014),
        ("200 kB", 60),
        ("200 kB", 1514),
        ("30 kB", 257),
    ] {
        let plan = GatePlan::new(settings(limit, Span::from_millis(30)), 9000).unwrap();
        let (lane, wire) = plan.lanes(Secret { hash: [1, 2], seed: 3 }, ()).unwrap();
        let wide = Cable { longest: 9022, ..Cable::default() };
        let ((mut clients, inner), (outer, mut servers)) = (cable(wide), cable(wide));
        let mut gate = Gate::new(lane, wire, inner, outer);
        let mut now = Time::from_nanos(1);
        // Twice the rate, there and back, for as long as it takes to fill any of these queues.
        let gap = Span::from_nanos(len as u64 * 8 * 5);
        while now < end_of(len) {
            for end in [&mut clients, &mut servers] {
                end.send(&vec![0; len]).unwrap();
                end.flush().unwrap();
            }
            while gate.turn(now, &mut Unguarded) == Next::Now {}
            now += gap;
            servers.all().unwrap();
            clients.all().unwrap();
        }
        let account = gate.account();
        assert_eq!(account.managed.lost(LossReason::NoMemory).frames, 0, "{limit}, {len}");
        assert_eq!(account.reverse.lost_in_all().frames, 0, "{limit}, {len}");
        assert!(
            account.managed.lost(LossReason::Queue(DropReason::Overlimit)).frames > 50,
            "{limit}, {len}: never full"
        );
        assert!(account.managed.balanced() && account.reverse.balanced());
    }
}

#[test]
fn the_memory_it_states_counts_cells_lists_and_rings() {
    let plan = GatePlan::new(settings("1000 packets", Span::ZERO), 1500).unwrap();
    // A thousand frames of six cells, one that arrives, and one at each end of the delay line.
    let cells = 6000 + 3 * 6;
    // For the delay line, and for the order of those that wait, with a line for some four of them.
    let lists = cells * (24 + 32) + 2048 * 16;
    // A slot begins with 128 bytes of the kernel's, has room for 1500 bytes, a header and two tags,
    // and takes an odd number of lines of 64 bytes: 27. In a block of 256 KiB there are 151, so
    // that 4096 take 28 blocks.
    let rings = 2 * (28 * (256 << 10) + 64 * (1500 + 14 + 8 + 8));
    assert_eq!(plan.laid_out(), FramePool::memory(cells) + lists + rings);
    // A record of 32 bytes in a list that may be half empty, and the lists that it has outgrown.
    assert_eq!(plan.memory(), plan.laid_out() + 1000 * 128);
    let stated = plan.lines().into_iter().find(|(name, _)| name == "memory_at_most").unwrap().1;
    assert_eq!(stated.parse::<tidegate::Bytes>().unwrap().get(), plan.memory());

    let delayed = GatePlan::new(settings("1000 packets", Span::from_millis(20)), 1500).unwrap();
    // 250 kB of the managed direction by 60 bytes; 25 MB and 20,000 frames of the other.
    let (managed, reverse) = (250_000_u64.div_ceil(60), 25_000_000 / 256 + 20_000);
    assert_eq!(
        delayed.laid_out() - plan.laid_out(),
        (managed + reverse) * (256 + 9 + 24) + managed * 32 + 2048 * 16
    );
}

/// Which of many frames of many flows a gate lets through whose hash is keyed with `hash`: where
/// flows share queues decides.
fn let_through(hash: [u64; 2]) -> Vec<Vec<u8>> {
    let mut settings = settings("30 packets", Span::ZERO);
    let mut config = catalog::config("fq_codel", Some("paper"), &settings.there.link).unwrap();
    config.set("flows", "16").unwrap();
    settings.there.queue = config;
    let (lane, wire) =
        GatePlan::new(settings, 1500).unwrap().lanes(Secret { hash, seed: 3 }, ()).unwrap();
    let ((mut clients, inner), (outer, mut servers)) =
        (cable(Cable::default()), cable(Cable::default()));
    let mut gate = Gate::new(lane, wire, inner, outer);
    for number in 0..2000_u64 {
        // A datagram of one of 40 flows, which its source port tells apart.
        let mut frame = vec![0; 1000];
        frame[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0]);
        frame[16..18].copy_from_slice(&986_u16.to_be_bytes());
        frame[22..24].copy_from_slice(&[64, 17]);
        frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        frame[35] = (number * number % 40) as u8;
        frame[100..108].copy_from_slice(&number.to_be_bytes());
        clients.send(&frame).unwrap();
        clients.flush().unwrap();
        let now = Time::from_nanos(1 + number * 60_000);
        while gate.turn(now, &mut Unguarded) == Next::Now {}
    }
    servers.all().unwrap()
}

#[test]
fn flows_are_told_apart_alike_within_a_run_and_otherwise_in_the_next() {
    let draw = || tidegate_gateway::machine::clock::random::<2>().unwrap();
    let (one, other) = (draw(), draw());
    assert_ne!(one, other);
    let through = let_through(one);
    assert!((1000..1900).contains(&through.len()), "{}", through.len());
    assert_eq!(through, let_through(one));
    assert_ne!(through, let_through(other));
}
