//! Captures that are replayed: which packets are read, and how flows are dealt out.
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use tidegate::{Ecn, Span, Time};
use tidegate_lab::Scenario;
use tidegate_lab::scenario::{Arrivals, Source};
use tidegate_sim::sources::Arrival;

use crate::wire::Wire;

/// The arrivals of a group that replays `wire`, and the group's demand in bit/s.
fn replayed(wire: &mut Wire, more: &str) -> (Arrivals, u64) {
    let dir = tempfile::tempdir().unwrap();
    wire.write(&dir.path().join("a.pcap"));
    let scenario = read(dir.path(), more).unwrap();
    let group = &scenario.groups[0];
    let Source::Replay(_, arrivals) = &group.source else { panic!("a replay") };
    let demand = group.demand(scenario.run.duration).unwrap();
    ((**arrivals).clone(), demand.as_bps())
}

fn read(dir: &Path, more: &str) -> Result<Scenario, String> {
    let text = format!(
        "[network]\nrate = \"1 Gbit/s\"\nlimit = \"9 packets\"\n[[group]]\nname = \"g\"\nsource = \
         \"replay\"\ncapture = \"a.pcap\"\n{more}\n"
    );
    // A capture is looked for beside its scenario.
    let file = dir.join("s.toml");
    Scenario::parse(text.as_bytes(), file.to_str().unwrap(), &[]).map_err(|e| e.to_string())
}

#[test]
fn packets_are_read_with_their_times_and_lengths() {
    // 1000 bytes each 10 ms for a second, 500 each 100 ms for half of one.
    let mut wire = Wire::default();
    wire.udp(1, 800_000, 1000, (0, 1000)).udp(2, 40_000, 500, (200, 700));
    let (arrivals, demand) = replayed(&mut wire, "");
    let counts: Vec<usize> = arrivals.flows.iter().map(|flow| flow.len()).collect();
    assert_eq!(counts, [100, 5], "in the order in which they begin");
    assert_eq!((arrivals.bytes, arrivals.longest), (102_500, 1000));
    // Host 1 begins after one nanosecond, host 2 after two; times count from the first packet.
    assert_eq!(arrivals.duration, Span::from_millis(990));
    let gaps = |flow: usize| -> Vec<Span> {
        arrivals.flows[flow].windows(2).map(|pair| pair[1].at - pair[0].at).collect()
    };
    assert_eq!(gaps(0), [Span::from_millis(10); 99]);
    assert_eq!(gaps(1), [Span::from_millis(100); 4]);
    assert_eq!(arrivals.flows[0][0].at, Span::ZERO);
    assert_eq!(arrivals.flows[1][0].at, Span::from_nanos(200_000_001));
    assert_eq!(demand, (102_500.0 * 8.0 / 0.99) as u64);
    assert_eq!(Time::ZERO + arrivals.duration, Time::from_nanos(990_000_000));
}

#[test]
fn flows_are_dealt_out_and_what_is_left_goes_along() {
    let mut wire = Wire::default();
    for host in 1..=5 {
        wire.udp(host, 80_000, 1000, (0, 100 * u64::from(host)));
    }
    let (arrivals, whole) = replayed(&mut wire, "");
    assert_eq!(arrivals.flows.len(), 5);
    let lengths = |count: usize| -> Vec<usize> {
        (0..count).map(|index| arrivals.of(index, count).len()).collect()
    };
    // One to five packets of the five.
    assert_eq!(lengths(5), [1, 2, 3, 4, 5]);
    assert_eq!(lengths(2), [1 + 3 + 5, 2 + 4]);
    assert_eq!(lengths(3), [1 + 4, 2 + 5, 3]);
    assert_eq!(lengths(1), [15]);
    // The demand is spread over the flows.
    let (_, third) = replayed(&mut wire, "count = 3");
    assert!(third.abs_diff(whole / 3) <= 1, "{third} {whole}");
}

#[test]
fn another_capture_is_told_apart() {
    let of = |length: u32, to: u64| {
        let mut wire = Wire::default();
        replayed(wire.udp(1, 800_000, length, (0, to)), "").0.fingerprint
    };
    assert_eq!(of(1000, 500), of(1000, 500));
    assert_ne!(of(1000, 500), of(1000, 510));
    assert_ne!(of(1000, 500), of(1001, 500));
}

#[test]
fn captures_that_cannot_be() {
    let dir = tempfile::tempdir().unwrap();
    let told = |why: &str| {
        let error = read(dir.path(), "").unwrap_err();
        let path = dir.path().join("a.pcap").display().to_string();
        let first = error.lines().next().unwrap().to_string();
        let words = format!(":7:12: group.g.capture = a.pcap: {path}: {why}");
        assert!(first.contains(&words), "{first}\nlacks {words}");
    };
    told("No such file or directory");
    std::fs::create_dir(dir.path().join("a.pcap")).unwrap();
    told("is no file");
    std::fs::remove_dir(dir.path().join("a.pcap")).unwrap();
    Wire::default().write(&dir.path().join("a.pcap"));
    told("the capture has no packets");
    std::fs::write(dir.path().join("a.pcap"), "no capture").unwrap();
    told("");
}

/// Flows of packets at drawn times, each flow in order.
fn flows() -> impl Strategy<Value = Vec<Arc<[Arrival]>>> {
    let packet = (0u64..1_000_000, 1u16..1500);
    let flow = prop::collection::vec(packet, 1..8).prop_map(|mut packets| {
        packets.sort_unstable();
        let arrival = |(at, len)| Arrival { at: Span::from_nanos(at), len, ecn: Ecn::NotEct };
        packets.into_iter().map(arrival).collect::<Vec<_>>().into()
    });
    prop::collection::vec(flow, 1..9)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Every packet goes with one flow, and each flow's go in order.
    #[test]
    fn dealing_out_loses_nothing(flows in flows(), count in 1usize..9) {
        let count = count.min(flows.len());
        let arrivals = Arrivals { flows: flows.clone(), ..Arrivals::default() };
        let mut dealt = vec![];
        for index in 0..count {
            let mine = arrivals.of(index, count);
            prop_assert!(mine.windows(2).all(|pair| pair[0].at <= pair[1].at));
            dealt.extend(mine.iter().map(|a| (a.at, a.len)));
        }
        let packets = flows.iter().flat_map(|flow| flow.iter());
        let mut all: Vec<_> = packets.map(|a| (a.at, a.len)).collect();
        all.sort_unstable();
        dealt.sort_unstable();
        prop_assert_eq!(dealt, all);
    }
}
