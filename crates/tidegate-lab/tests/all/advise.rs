//! Captures whose truth is known, and what is made of them.
use crate::wire::{FULL, THERE_MS, Taken, Tcp, Wire};
use tidegate_lab::advise::{
    Advice, Advise, AdviseError, Conclusion, GroupConduct, Senders, advise,
};
use tidegate_lab::{Progress, QueueSpec, Watch};

/// The answer on `wire`, a link of `rate`.
fn answer(wire: &mut Wire, rate: &str) -> Advice {
    answer_of(&["drop_tail", "drr", "fq_codel"], wire, rate)
}

fn answer_of(queues: &[&str], wire: &mut Wire, rate: &str) -> Advice {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("made.pcap");
    wire.write(&path);
    let queues: Vec<QueueSpec> = queues.iter().map(|name| name.parse().unwrap()).collect();
    let job = Advise {
        queues,
        seeds: Some(2),
        one_direction: true,
        ..Advise::new(path, rate.parse().unwrap())
    };
    advise(&job, &()).unwrap().advice
}

fn group<'a>(advice: &'a Advice, name: &str) -> &'a Senders {
    let names = || advice.senders.iter().map(|g| &g.name).collect::<Vec<_>>();
    advice.senders.iter().find(|g| g.name == name).unwrap_or_else(|| panic!("{:?}", names()))
}

fn near(value: f64, expected: f64, part: f64) -> bool {
    (value - expected).abs() <= part * expected
}

/// Three users with other round trips, and a flood of twice the line from the third second on.
fn flooded(both: bool, taken: Taken) -> Wire {
    let mut wire = Wire::default();
    for (host, rtt_ms) in [(1, 20), (2, 48), (3, 80)] {
        let window = (3 + rtt_ms / 20, 8 + rtt_ms / 20);
        wire.tcp(Tcp { rtt_ms, window, both, taken, ..Tcp::new(host) });
    }
    let rate = if taken == Taken::Before { 20_000_000 } else { 3_200_000 };
    wire.udp(9, rate, 1000, (3000, 10_000));
    wire
}

#[test]
fn users_round_trips_and_the_flood_are_found() {
    let advice = answer(&mut flooded(true, Taken::Before), "10 Mbit/s");
    let users = group(&advice, "users");
    assert_eq!((users.count, users.conduct, users.ecn), (3, GroupConduct::Users, false));
    for (found, truth) in users.round_trips_ms.iter().zip([20.0, 48.0, 80.0]) {
        assert!(near(*found, truth, 0.02), "{:?}", users.round_trips_ms);
    }
    let flood = group(&advice, "flood");
    assert_eq!((flood.count, flood.conduct, flood.packet), (1, GroupConduct::Flood, 1000));
    assert!(near(flood.rate_bps, 20e6, 0.02) && flood.duty == 1.0, "{flood:?}");
    assert_eq!(flood.who, ["10.0.0.9:5000 -> 10.0.1.200:443 udp"]);
    let (from, to) = advice.seen.window_s.unwrap();
    assert!(near(from, 3.0, 0.05) && near(to, 10.0, 0.05), "the time of the flood: {from} {to}");
    assert_eq!(advice.verdict, Conclusion::Change);
    let choice = advice.choice.as_ref().unwrap();
    assert!(["drr", "fq_codel"].contains(&choice.queue.as_str()), "{choice:?}");
    let promise = |name: &str| advice.tried.iter().find(|p| p.queue == name).unwrap();
    assert!(promise("drop_tail").users.unwrap().mean() < 0.2);
    assert!(promise("drr").worst.unwrap().mean() > 0.9);
    assert!(promise("drr").users.unwrap().ci95().is_some(), "with an interval");
}

#[test]
fn a_queue_of_ones_own_name_is_advised_by_it() {
    let queues = ["drop_tail", "drr,quantum=3000 B as mine"];
    let advice = answer_of(&queues, &mut flooded(true, Taken::Before), "10 Mbit/s");
    let choice = advice.choice.unwrap();
    assert_eq!(choice.queue, "mine");
    assert!(advice.tried.iter().any(|promise| promise.queue == choice.queue));
    assert!(choice.gate_toml.contains("drr"), "{}", choice.gate_toml);
}

#[test]
fn behind_the_queue_a_flood_sends_more_than_was_seen() {
    let advice = answer(&mut flooded(true, Taken::Behind), "11 Mbit/s");
    let flood = group(&advice, "flood");
    assert!(flood.rate_bps > 3.23e6, "{flood:?}");
    assert!(advice.unknown.iter().any(|n| n.contains("behind the queue")), "{:?}", advice.unknown);
}

#[test]
fn users_that_a_flood_leaves_nothing_are_still_users() {
    let mut wire = Wire::default();
    for host in [1, 2, 3] {
        wire.tcp(Tcp { to_ms: 2900, window: (4, 9), taken: Taken::Behind, ..Tcp::new(host) });
    }
    wire.udp(9, 9_900_000, 1000, (3000, 9000));
    let advice = answer(&mut wire, "10 Mbit/s");
    assert_eq!((group(&advice, "users").count, group(&advice, "flood").count), (3, 1));
    assert_eq!(advice.now.unwrap().worst.unwrap().mean(), 0.0);
}

#[test]
fn one_direction_is_enough_for_the_handshake() {
    let advice = answer(&mut flooded(false, Taken::Before), "10 Mbit/s");
    let users = group(&advice, "users");
    for (found, truth) in users.round_trips_ms.iter().zip([20.0, 48.0, 80.0]) {
        assert!(near(*found, truth, 0.001), "{:?}", users.round_trips_ms);
    }
    assert!(advice.unknown[0].starts_with("One direction only"), "{:?}", advice.unknown);
}

/// Connections of a round trip of 80 ms that were open before and have no time stamps: what is on
/// the senders' side shows nowhere.
#[test]
fn half_a_round_trip_is_filled_by_the_others_or_told_to_be_half() {
    let open = |wire: &mut Wire| {
        for host in [1, 2, 3] {
            wire.tcp(Tcp { rtt_ms: 80, window: (30, 40), timed: false, ..Tcp::new(host) });
        }
        wire.udp(9, 9_000_000, 1000, (3000, 10_000));
    };
    let told = |advice: &Advice, words: &str| {
        assert!(advice.unknown.iter().any(|note| note.contains(words)), "{:?}", advice.unknown);
    };
    let mut alone = Wire::default();
    open(&mut alone);
    let advice = answer(&mut alone, "10 Mbit/s");
    let trips = &group(&advice, "users").round_trips_ms;
    assert_eq!(trips, &[40.0; 3], "more than {THERE_MS} ms, and no other connection says more");
    told(&advice, "Of 3 connections of 3 the round trip is known on one side only");

    let mut among = Wire::default();
    open(&mut among);
    for host in [4, 5] {
        among.tcp(Tcp { rtt_ms: 60, window: (4, 9), ..Tcp::new(host) });
    }
    let advice = answer(&mut among, "10 Mbit/s");
    let trips = &group(&advice, "users").round_trips_ms;
    let like_the_others = trips.iter().all(|ms| near(*ms, 60.0, 0.02));
    assert!(trips.len() == 5 && like_the_others, "{trips:?}");
    told(&advice, "3 round trips of 5 by one side's answers alone");
}

/// Under a flood that leaves them little, transfers stall: they are not taken for users, nor for
/// smaller than those that came to their end before.
#[test]
fn transfers_that_stall_are_as_large_as_those_that_ended() {
    let mut wire = flooded(true, Taken::Before);
    let transfer = |n: u64, from_ms, data, to_ms| Tcp {
        port: 50_000 + n as u16,
        from_ms,
        to_ms,
        data,
        window: (5, 99),
        ..Tcp::new(4)
    };
    // The last of these ends just when the flood begins.
    for n in 0..20 {
        wire.tcp(transfer(n, 800 + n * 106, Some(40), 10_000));
    }
    for n in 20..50 {
        wire.tcp(transfer(n, 1000 + n * 150, None, 1080 + n * 150));
    }
    let advice = answer(&mut wire, "10 Mbit/s");
    assert_eq!(group(&advice, "users").count, 3);
    let transfers = group(&advice, "transfers");
    assert!(transfers.count >= 30, "{transfers:?}");
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("made.pcap");
    wire.write(&path);
    let job = Advise {
        queues: vec![QueueSpec::named("drr")],
        seeds: Some(2),
        ..Advise::new(path, "10 Mbit/s".parse().unwrap())
    };
    let (scenario, _) = advise(&job, &()).unwrap().tried.unwrap();
    let text = scenario.resolved();
    let (_, transfers) = text.split_once("name = \"transfers\"").unwrap();
    let sizes = transfers.lines().find(|line| line.starts_with("data = ")).unwrap();
    // Forty packets with their headers; those that stall had sent five.
    assert!(sizes.contains("60.56 kB") && !sizes.contains("7.57 kB"), "{sizes}");
}

#[test]
fn without_congestion_there_is_nothing_to_mend() {
    let advice = answer(&mut flooded(true, Taken::Before), "1 Gbit/s");
    assert_eq!((advice.verdict, advice.choice), (Conclusion::NothingToMend, None));
    assert!(advice.tried.is_empty() && advice.seen.busy == 0.0);
    assert!(near(advice.seen.most_bps, 24e6, 0.25), "{}", advice.seen.most_bps);
}

#[test]
fn a_tcp_that_loses_and_sends_on_is_a_flood() {
    let mut wire = Wire::default();
    wire.tcp(Tcp { window: (12, 13), ..Tcp::new(1) });
    wire.tcp(Tcp { window: (40, 40), lost_each: 12, rtt_ms: 60, ..Tcp::new(2) });
    let advice = answer(&mut wire, "10 Mbit/s");
    assert_eq!(group(&advice, "users").count, 1);
    assert_eq!(group(&advice, "flood").count, 1);
}

#[test]
fn quic_is_taken_to_react_and_said_to_be() {
    let mut wire = flooded(true, Taken::Before);
    wire.datagrams(5, 800_000, 1200, (0, 10_000), &[0xc3, 0, 0, 0, 1, 8]);
    let advice = answer(&mut wire, "10 Mbit/s");
    assert_eq!(group(&advice, "quic").count, 1);
    assert!(advice.unknown.iter().any(|note| note.contains("QUIC")), "{:?}", advice.unknown);
}

#[test]
fn transfers_that_end_are_told_from_users_that_go_on() {
    let mut wire = flooded(true, Taken::Before);
    for n in 0..30 {
        let from_ms = 3000 + n * 200;
        let (data, port) = (Some(20), 50_000 + n as u16);
        wire.tcp(Tcp { port, from_ms, data, window: (10, 99), ..Tcp::new(4) });
    }
    let advice = answer(&mut wire, "10 Mbit/s");
    let transfers = group(&advice, "transfers");
    assert_eq!((transfers.count, transfers.conduct), (30, GroupConduct::Short));
    assert!(near(transfers.arrivals_per_s.unwrap(), 30.0 / 7.0, 0.05), "{transfers:?}");
    assert_eq!(group(&advice, "users").count, 3);
    let drr = advice.tried.iter().find(|p| p.queue == "drr").unwrap();
    assert!(drr.transfer_ms.is_some_and(|ms| (50.0..2000.0).contains(&ms.mean())), "{drr:?}");
}

#[test]
fn a_flood_that_comes_and_goes_and_a_sender_of_little() {
    let mut wire = Wire::default();
    for host in [1, 2, 3] {
        wire.tcp(Tcp { window: (9, 11), ..Tcp::new(host) });
    }
    for second in 0..5 {
        wire.udp(9, 30_000_000, FULL, (second * 2000, second * 2000 + 1000));
    }
    wire.udp(8, 64_000, 200, (0, 10_000));
    let advice = answer(&mut wire, "10 Mbit/s");
    let flood = group(&advice, "flood");
    assert!(near(flood.rate_bps, 30e6, 0.03) && near(flood.duty, 0.5, 0.15), "{flood:?}");
    let thin = group(&advice, "thin");
    assert_eq!(thin.conduct, GroupConduct::Thin);
    assert!(near(thin.rate_bps, 64_000.0, 0.1), "{thin:?}");
}

#[test]
fn ecn_is_told_apart() {
    let mut wire = flooded(true, Taken::Before);
    for host in [11, 12] {
        wire.tcp(Tcp { ecn: true, window: (4, 9), ..Tcp::new(host) });
    }
    let advice = answer(&mut wire, "10 Mbit/s");
    let capable = group(&advice, "users-ecn");
    assert!((capable.count, capable.ecn) == (2, true) && !group(&advice, "users").ecn);
}

#[test]
fn only_floods_leave_nobody_to_help() {
    let advice = answer(Wire::default().udp(9, 20_000_000, 1000, (0, 3000)), "10 Mbit/s");
    assert_eq!(advice.verdict, Conclusion::NobodyToHelp);
}

#[test]
fn invented_flows_are_counted_together() {
    let mut wire = flooded(true, Taken::Before);
    for n in 0..80_000 {
        wire.lone(n, 4_000_000_000 + u64::from(n) * 50_000);
    }
    let advice = answer(&mut wire, "10 Mbit/s");
    assert!(advice.unknown.iter().any(|n| n.contains("conversations")), "{:?}", advice.unknown);
    assert_eq!(group(&advice, "users").count, 3);
}

#[test]
fn what_is_no_capture_or_an_empty_one_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("made.pcap");
    let ask = || advise(&Advise::new(&path, "10 Mbit/s".parse().unwrap()), &()).unwrap_err();
    assert!(matches!(ask(), AdviseError::Capture(_)), "no such file");
    Wire::default().write(&path);
    assert_eq!(ask(), AdviseError::Empty(path.clone()));
    std::fs::write(&path, "This is a letter.").unwrap();
    assert!(ask().to_string().contains("neither pcap nor pcapng"));
}

/// Gives up at once.
struct Impatient;

impl Watch for Impatient {
    fn progress(&self, _: Progress) {}
    fn cancelled(&self) -> bool {
        true
    }
}

#[test]
fn it_can_be_given_up() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("made.pcap");
    flooded(true, Taken::Before).write(&path);
    let job = Advise::new(&path, "10 Mbit/s".parse().unwrap());
    assert_eq!(advise(&job, &Impatient).unwrap_err(), AdviseError::Cancelled);
}
