//! BC-PQP against its authors' account: an example worked out by hand, the naive twin, and what a
//! policer of phantom queues promises.
use crate::naive::bc_pqp::{Control, NaiveBcPqp};
use crate::support::twin::OPERATIONS;
use crate::twinned::bc_pqp::Twinned;
use crate::{support, twinned};
use tidegate::entry::{FOREVER, HashTable};
use tidegate::queues::BcPqp;
use tidegate::{Link, NullSink, Packet, Qdisc, Rng, Time, catalog};

const SECOND: u64 = 1_000_000_000;

#[test]
fn the_twin_gives_what_was_worked_out_by_hand() {
    // 1000 bytes a second, 3000 bytes for each of two, judged every second.
    let mut twin =
        NaiveBcPqp::new(8_000, (3_000, 0), (SECOND, 0.5, Control::Growth), vec![1_000, 1_000]);
    let admitted = [0; 4].map(|one| twin.arrive(0, one, 1_000));
    assert_eq!(admitted, [true, true, true, false]);
    // Half a second later 500 bytes have been served.
    assert!(twin.arrive(SECOND / 2, 0, 500) && !twin.arrive(SECOND / 2, 0, 1));
    // It grew by 2500 and was served 1000: it is filled up, with 500.
    assert!(!twin.arrive(SECOND, 0, 1));
    assert_eq!((twin.phantoms[0].size, twin.phantoms[0].magic), (3_000, 500));
    // It shrank by 1000, all that it was served: the 500 are taken out.
    assert!(!twin.arrive(2 * SECOND, 0, 1_501) && twin.arrive(2 * SECOND, 0, 1_500));
    // Two take turns, 250 bytes each.
    let mut twin =
        NaiveBcPqp::new(8_000, (3_000, 0), (9 * SECOND, 0.5, Control::Off), vec![250, 250]);
    assert!([0, 1].iter().all(|&one| twin.arrive(0, one, 3_000)));
    twin.catch_up(SECOND - 1);
    assert_eq!([0, 1].map(|one| 3_000 - twin.phantoms[one].size), [500, 499]);
}

fn drive(settings: &[(&str, &str)], operations: u64) -> Twinned {
    let link = support::link("10 Mbit/s", "100 packets", "770 B");
    let settings = [&[("classes", "16"), ("phantom_limit", "8 kB")], settings].concat();
    let config = support::config("bc_pqp", Some("paper"), &settings, &link);
    twinned::restless(&config, &link, operations)
}

#[test]
fn the_queue_agrees_with_its_twin() {
    for (control, filled) in [("off", false), ("growth", true), ("share", true)] {
        for more in [&[][..], &[("ways", "4"), ("share", "0.6"), ("quantum", "300 B")]] {
            let settings = [&[("burst_control", control), ("window", "7 ms")], more].concat();
            let seen = drive(&settings, OPERATIONS / 4);
            let least = seen.admitted.min(seen.refused);
            assert!(least > 8_000, "{control}: {} {}", seen.admitted, seen.refused);
            assert!((seen.magic > 0) == filled && seen.busiest > 8, "{control}: {}", seen.busiest);
        }
    }
}

/// Short windows beside long idle times, so that everything is forgotten now and then; and turns so
/// short that whole rounds are made at once.
#[test]
fn it_agrees_after_silence_and_over_many_rounds() {
    for settings in [
        &[("window", "100 us"), ("burst_control", "share")][..],
        &[("quantum", "1 B"), ("weights", "1:7:2.5:0.3")],
        &[("burst", "0 B"), ("share", "0.013"), ("window", "50 ms")],
    ] {
        let seen = drive(settings, OPERATIONS / 4);
        assert!(seen.admitted.min(seen.refused) > 3_000, "{} {}", seen.admitted, seen.refused);
    }
}

/// Three packets of 1000 bytes a millisecond.
fn wide() -> Link {
    support::link("24 Mbit/s", "100 MB", "1000 B")
}

/// Packets of 1000 bytes from each class, so many a millisecond, for so many milliseconds; how many
/// of each were let in.
fn offer(settings: &[(&str, &str)], a_ms: [u64; 2], ms: u64) -> [u64; 2] {
    let two = [("map", "class"), ("classes", "2"), ("burst", "0 B")];
    let settings = [&two, settings].concat();
    let config = support::config("bc_pqp", Some("paper"), &settings, &wide());
    let mut queue = config.build(wide(), Rng::from_seed(1)).unwrap();
    let mut admitted = [0; 2];
    for at in 0..ms {
        let now = Time::from_nanos(at * 1_000_000);
        for (class, packets) in a_ms.into_iter().enumerate() {
            for _ in 0..packets {
                let before = queue.backlog().packets;
                let pkt = Packet::new(class as u64, 1000).with_class(class as u16);
                queue.enqueue(now, pkt, &mut NullSink);
                admitted[class] += u64::from(queue.backlog().packets > before);
            }
        }
    }
    admitted
}

#[test]
fn nobody_gets_more_than_what_is_served_and_what_his_phantom_queue_holds() {
    // 3 packets a ms for 10 s, and 100 packets.
    for control in ["off", "growth", "share"] {
        let settings = [("phantom_limit", "100 kB"), ("burst_control", control)];
        let [alone, none] = offer(&settings, [10, 0], 10_000);
        assert!((29_900..=30_103).contains(&alone) && none == 0, "{control}: {alone}");
        let shared = offer(&settings, [10, 10], 10_000);
        assert!(shared.iter().all(|one| (14_900..=15_103).contains(one)), "{control}: {shared:?}");
    }
}

#[test]
fn what_one_leaves_the_other_gets_and_weights_count() {
    let settings = [("phantom_limit", "100 kB"), ("burst_control", "off")];
    let [flood, thin] = offer(&settings, [10, 1], 10_000);
    assert!((19_900..=20_103).contains(&flood) && thin == 10_000, "{flood} {thin}");
    let weighted = [settings[0], settings[1], ("weights", "3:1")];
    let [three, one] = offer(&weighted, [10, 10], 20_000);
    assert!((44_900..=45_103).contains(&three), "{three}");
    assert!((14_900..=15_103).contains(&one), "{one}");
}

/// By `share` a burst ends when a share and a half were admitted in the window; by `growth` at the
/// window's end; else only when the phantom queue is full.
#[test]
fn a_burst_ends_sooner_with_burst_control() {
    let burst = |control, a_ms| {
        let settings =
            [("phantom_limit", "1 MB"), ("window", "100 ms"), ("burst_control", control)];
        offer(&settings, [a_ms, 0], 500)[0]
    };
    // A window's share is 300 packets. The 451st comes after 45 ms; then as many are admitted as
    // are served, from 46 ms on.
    assert_eq!(burst("share", 10), 451 + 3 * 454);
    // After 90 ms: what is served in the last 10 ms of that window does not end it.
    assert_eq!(burst("share", 5), 451 + 3 * 409);
    // Those of the first window, and what is served from 101 ms on.
    assert_eq!(burst("growth", 10), 1_000 + 3 * 399);
    // What fits, and what is served from 1 ms on.
    assert_eq!(burst("off", 10), 1_000 + 3 * 499);
}

/// A lone Reno that halves at a drop needs BDP^2 / 18 packets of phantom queue, by `auto`'s rule.
#[test]
fn auto_scales_with_the_line() {
    let of = |rate: &str, name: &str| {
        let link = support::link(rate, "100 packets", "1000 B");
        catalog::config("bc_pqp", None, &link).unwrap().get(name).unwrap()
    };
    // 125 packets in flight; 868.06 packets.
    assert_eq!(of("10 Mbit/s", "phantom_limit"), "868.055 kB");
    // At the most ten seconds of the line.
    assert_eq!(of("10 Gbit/s", "phantom_limit"), "12.5 GB");
    assert_eq!(
        (of("10 Mbit/s", "classes"), of("1 Gbit/s", "classes")),
        ("1024".into(), "16384".into())
    );
}

fn queue(settings: &[(&str, &str)], link: Link) -> BcPqp {
    let config = support::config("bc_pqp", Some("paper"), settings, &link);
    match config.build(link, Rng::from_seed(1)).unwrap() {
        catalog::AnyQueue::BcPqp(queue) => queue,
        other => panic!("{other:?}"),
    }
}

/// In two seconds a fast line earns more than 64 bits count. No bit is lost.
#[test]
fn long_times_on_fast_lines_are_counted_to_the_byte() {
    let link = support::link("10 Gbit/s", "100 packets", "1000 B");
    let settings = [("phantom_limit", "1000 GB"), ("quantum", "1 GB"), ("burst_control", "off")];
    let more = [("classes", "1"), ("burst", "0 B"), ("window", "1 h")];
    let mut queue = queue(&[settings, more].concat(), link);
    for _ in 0..5 {
        queue.enqueue(Time::ZERO, Packet::new(7, 4_000_000_000), &mut NullSink);
    }
    // With the rest of the first three nanoseconds the next span is just above 64 bits.
    let fits = u64::MAX / 10_000_000_000;
    for at in [3, 3 + fits, 4 + 2 * fits, 5 + 2 * fits, 6 + 4 * fits, 7 + 4 * fits] {
        queue.advance(Time::from_nanos(at));
        let served = at as u128 * 10_000_000_000 / 8_000_000_000;
        let left = 20_000_000_000 - served;
        assert_eq!(u128::from(queue.policy().phantoms().of(0).size), left, "after {at} ns");
    }
}

/// A new flow gets a phantom queue where nothing waits, and is counted there.
#[test]
fn a_newcomers_phantom_queue_is_known_before_he_comes() {
    let link = support::link("10 Mbit/s", "100 packets", "1000 B");
    let mut queue = queue(&[("classes", "8"), ("ways", "8"), ("burst", "0 B")], link);
    for flow in 0..8 {
        let pkt = Packet::new(flow, 1000);
        let one = queue.policy().class_of(&pkt);
        assert_eq!(queue.policy().phantoms().of(one).size, 0, "{flow}");
        queue.enqueue(Time::ZERO, pkt, &mut NullSink);
        assert_eq!(queue.policy().phantoms().of(one).size, 1000, "{flow}");
    }
}

/// A packet without bytes ends no burst, even after a newcomer has made the share smaller.
#[test]
fn a_packet_without_bytes_ends_no_burst() {
    let settings = [("map", "class"), ("classes", "2"), ("burst_control", "share")];
    let more = [("phantom_limit", "1 MB"), ("window", "100 ms")];
    let mut queue = queue(&[&settings[..], &more].concat(), wide());
    let mut offer = |class: u16, len: u32| {
        let pkt = Packet::new(u64::from(class), len).with_class(class);
        queue.enqueue(Time::ZERO, pkt, &mut NullSink);
        queue.policy().phantoms().of(0).magic > 0
    };
    // A share and a half is 450 packets for one, 225 for one of two.
    assert!((0..400).all(|_| !offer(0, 1000)) && !offer(1, 1000));
    assert!(!offer(0, 0) && offer(0, 1));
}

/// The queue reports its table of flows, and that it is never hashed anew. Given classes are no
/// such table.
#[test]
fn the_table_of_flows_is_told() {
    let config = |map| {
        let settings = [("map", map), ("classes", "32"), ("ways", "2")];
        support::config("bc_pqp", None, &settings, &wide())
    };
    let (flow, class) = (config("flow"), config("class"));
    assert_eq!(flow.hash_table(), Some(HashTable { buckets: 32, ways: 2 }));
    assert_eq!(flow.bucket_lifetime(), Some(FOREVER));
    assert!(class.hash_table().is_none() && class.bucket_lifetime().is_none());
}
