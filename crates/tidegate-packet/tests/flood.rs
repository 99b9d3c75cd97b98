//! The recorded capture holds what its README says, and is a capture of packets as they are on a
//! wire.
use std::collections::BTreeMap;

use tidegate::Ecn;
use tidegate_packet::{Capture, FlowHasher, FlowKey, ipv4_checksum};

const FLOOD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/flood.pcapng");

/// Packets and bytes on the wire of each flow under `key`, by its label.
fn tally(key: &str) -> BTreeMap<String, (u64, u64)> {
    let hasher = FlowHasher::new(key.parse::<FlowKey>().unwrap(), [1, 2]);
    let mut labels = BTreeMap::new();
    let mut flows = BTreeMap::new();
    let mut capture = Capture::open(FLOOD).unwrap();
    while let Some(packet) = capture.next_packet().unwrap() {
        let frame = packet.frame();
        let label = hasher.flow(&frame.ends).to_string();
        let known = labels.entry(hasher.hash(&frame.ends)).or_insert_with(|| label.clone());
        assert_eq!(*known, label, "one hash, one flow");
        let (packets, bytes) = flows.entry(label).or_insert((0, 0));
        *packets += 1;
        *bytes += frame.len as u64;
    }
    assert_eq!(labels.len(), flows.len());
    flows
}

#[test]
fn packets_as_they_are_on_a_wire() {
    let mut capture = Capture::open(FLOOD).unwrap();
    let (mut seconds, mut v4, mut v6, mut capable) = (0.0, 0, 0, 0);
    while let Some(packet) = capture.next_packet().unwrap() {
        assert!(packet.bytes.len() <= 96 && packet.wire_len <= 1514, "no offloads");
        seconds = packet.time.as_secs();
        let frame = packet.frame();
        let Some(at) = frame.ip_offset() else { continue };
        capable += u64::from(frame.ecn != Ecn::NotEct);
        if packet.bytes[at] >> 4 == 6 {
            v6 += 1;
            continue;
        }
        v4 += 1;
        let header = &packet.bytes[at..at + (packet.bytes[at] & 0xf) as usize * 4];
        assert_eq!(ipv4_checksum(header), u16::from_be_bytes([header[10], header[11]]));
    }
    assert!((6.0..6.5).contains(&seconds), "{seconds} s");
    assert_eq!((capture.packets(), v4, v6, capable), (9200, 9095, 99, 653));
    assert_eq!(capture.backward(), 22, "stamps of two processors");
}

#[test]
fn its_senders() {
    let senders = tally("source");
    let expected = [
        ("10.0.1.1", 1028, 1_546_672),
        ("10.0.1.2", 114, 166_800),
        ("10.0.1.3", 206, 306_088),
        ("10.0.1.4", 1045, 1_576_334),
        ("10.0.1.7", 168, 174_160),
        ("10.0.1.9", 2783, 3_997_158),
        ("10.0.1.66", 3751, 3_908_542),
        ("2001:db8:1::1", 93, 127_930),
    ];
    for (sender, packets, bytes) in expected {
        assert_eq!(senders.get(sender), Some(&(packets, bytes)), "{sender}");
    }
}

#[test]
fn the_client_with_many_connections_is_one_flow_or_twenty() {
    let of_client =
        |key| tally(key).into_keys().filter(|label| label.starts_with("10.0.1.9")).count();
    assert_eq!([of_client("five-tuple"), of_client("source"), of_client("pair")], [20, 1, 1]);
    let tuples = tally("five-tuple");
    assert_eq!(tuples.keys().filter(|label| label.ends_with(" tcp")).count(), 25);
    assert_eq!(tuples.get("10.0.1.7 -> 10.0.2.1 udp fragments"), Some(&(168, 174_160)));
    assert_eq!(tally("source-prefix/24").get("10.0.1.0/24").map(|t| t.0), Some(9095));
}
