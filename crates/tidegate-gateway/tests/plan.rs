//! What a plan refuses, and that the memory it lays out is enough for what it promises.
use tidegate::{DropReason, Link, Span, Time, catalog};
use tidegate_gateway::counters::Loss;
use tidegate_gateway::gate::{Gate, Next};
use tidegate_gateway::guard::Unguarded;
use tidegate_gateway::memory::{Cable, cable};
use tidegate_gateway::plan::{Plan, Settings};
use tidegate_gateway::pool::Pool;
use tidegate_gateway::port::Port;

fn settings(limit: &str, delay: Span) -> Settings {
    let link = Link::new("100 Mbit/s".parse().unwrap(), limit.parse().unwrap(), "1000 B".parse().unwrap()).unwrap();
    Settings {
        inner: "if1".into(),
        outer: "if2".into(),
        link,
        queue: catalog::config("drop_tail", None, &link).unwrap(),
        label: "drop_tail".into(),
        flow_key: Default::default(),
        overhead: Default::default(),
        delay,
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_field_and_the_bound() {
    let refused = |change: &dyn Fn(&mut Settings), mtu| {
        let mut settings = settings("100 packets", Span::ZERO);
        change(&mut settings);
        Plan::new(settings, mtu).unwrap_err().to_string()
    };
    assert_eq!(refused(&|s| s.outer = "if1".into(), 1500), "out = if1: must be another interface than `in`");
    for name in ["", "../mtu", "..", "a b", "sixteen-letters-", "eth0:1"] {
        let why = refused(&|s| s.inner = name.into(), 1500);
        assert_eq!(why, format!("in = {name}: must be the name of an interface, 1 to 15 bytes"));
    }
    assert_eq!(refused(&|s| s.delay = Span::from_millis(2001), 1500), "delay = 2.001 s: must be at most 2 s");
    assert_eq!(refused(&|_| (), 67), "mtu = 67: must lie in 68 to 65535 bytes");
    let large = |s: &mut Settings| *s = settings("16000000 packets", Span::ZERO);
    let why = refused(&large, 9000);
    assert!(
        why.starts_with("limit = 16000000 packets: with delay 0 ns needs ") && why.ends_with("at most 8 GB"),
        "{why}"
    );
    assert!(Plan::new(settings("16000000 packets", Span::ZERO), 200).is_ok(), "they are shorter");
}

fn end_of(len: usize) -> Time {
    Time::from_nanos(if len > 1514 { 700_000_000 } else { 200_000_000 })
}

#[test]
fn a_full_queue_and_a_full_delay_line_find_memory_whatever_the_frames_are() {
    for (limit, len) in [("300 packets", 1514), ("300 packets", 9014), ("200 kB", 60), ("200 kB", 1514), ("30 kB", 257)]
    {
        let plan = Plan::new(settings(limit, Span::from_millis(30)), 9000).unwrap();
        let (lane, wire) = plan.lanes([1, 2], 3, ()).unwrap();
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
        assert_eq!(account.managed.lost(Loss::NoMemory).frames, 0, "{limit}, {len}");
        assert_eq!(account.reverse.lost_in_all().frames, 0, "{limit}, {len}");
        assert!(account.managed.lost(Loss::Queue(DropReason::Overlimit)).frames > 50, "{limit}, {len}: never full");
        assert!(account.managed.balanced() && account.reverse.balanced());
    }
}

#[test]
fn the_memory_it_states_bounds_what_is_laid_out() {
    let plan = Plan::new(settings("1000 packets", Span::ZERO), 1500).unwrap();
    // A thousand frames of six cells, and a little.
    let bound = plan.memory();
    assert!((Pool::memory(6000)..Pool::memory(6100)).contains(&bound), "{bound}");
    let stated = plan.lines().into_iter().find(|(name, _)| *name == "memory_at_most").unwrap().1;
    assert_eq!(stated.parse::<tidegate::Bytes>().unwrap().get(), bound);
}
