//! Arbitrary bytes as a capture file, packed by gzip or not, and as a frame of every link type.
//! Nothing panics, time does not run back, limits hold. A mark leaves a checksum that the full sum
//! agrees with.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use tidegate::{Ecn, Time};
use tidegate_packet::capture::MAX_FRAME;
use tidegate_packet::{
    Capture, Fault, FlowHasher, FlowKey, Frame, LinkType, Mark, Within, ipv4_checksum, set_ce,
};

fuzz_target!(|data: &[u8]| {
    for link in LinkType::ALL {
        check_frame(link, data, data.len() as u32);
    }
    let whole = read(data);
    // What is packed reads as it does unpacked. (Packing everything would be slow, and what is
    // packed twice is not read.)
    if !data.starts_with(&[0x1f, 0x8b]) && data.len() < 1 << 12 {
        assert_eq!(read(&packed(data)), whole);
    }
});

/// Without compression, so that the fuzzer's time goes into reading.
fn packed(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// Packets read, packets skipped, and the sort and the place of the error.
type Seen = (u64, u64, Option<(Fault, u64)>);

fn read(data: &[u8]) -> Seen {
    let mut capture = match Capture::from_reader(data) {
        Ok(capture) => capture,
        Err(error) => return (0, 0, Some((error.fault, error.offset))),
    };
    let mut packets = 0;
    let mut last = Time::ZERO;
    let error = loop {
        match capture.next_packet() {
            Ok(Some(packet)) => {
                packets += 1;
                assert!(packet.time >= last, "time ran back");
                assert!(
                    packet.bytes.len() <= MAX_FRAME as usize
                        && packet.bytes.len() <= packet.wire_len as usize
                );
                last = packet.time;
                check_frame(packet.link, packet.bytes, packet.wire_len);
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    assert_eq!(capture.packets(), packets);
    assert!(capture.backward() <= packets);
    let named: u64 = capture.skipped().named().iter().map(|s| s.packets).sum();
    assert!(named <= capture.skipped().packets() && capture.skipped().named().len() <= 32);
    if let Some(error) = &error {
        assert_eq!(error.packets, packets, "{error}");
        assert!(error.within == Within::Gzip || error.offset <= data.len() as u64, "{error}");
        assert!(capture.next_packet().unwrap().is_none(), "nothing after the error");
    }
    (packets, capture.skipped().packets(), error.map(|error| (error.fault, error.offset)))
}

fn check_frame(link: LinkType, bytes: &[u8], wire_len: u32) {
    let frame = Frame::parse(link, bytes, wire_len);
    assert!(frame.len <= wire_len);
    for key in [
        FlowKey::FiveTuple,
        FlowKey::Source,
        FlowKey::Destination,
        FlowKey::Pair,
        FlowKey::SourcePrefix(24),
    ] {
        let hasher = FlowHasher::new(key, [1, 2]);
        assert!(!hasher.flow(&frame.ends).to_string().is_empty());
        std::hint::black_box(hasher.hash(&frame.ends));
    }
    check_mark(link, bytes, &frame);
}

fn check_mark(link: LinkType, bytes: &[u8], frame: &Frame) {
    let mut marked = bytes.to_vec();
    let mark = set_ce(&mut marked, frame);
    let again = Frame::parse(link, &marked, frame.len);
    match mark {
        Mark::Set => assert_eq!((again.ecn, again.ends), (Ecn::Ce, frame.ends)),
        Mark::Already | Mark::NotCapable | Mark::NotIp => assert_eq!(marked, bytes),
    }
    let Some(at) = frame.ip_offset().filter(|_| mark == Mark::Set) else { return };
    let header_len = (bytes[at] & 0x0f) as usize * 4;
    if bytes[at] >> 4 == 4 && bytes.len() >= at + header_len {
        let right = |bytes: &[u8]| {
            ipv4_checksum(&bytes[at..at + header_len])
                == u16::from_be_bytes([bytes[at + 10], bytes[at + 11]])
        };
        // 0xffff and 0 are both zero in this arithmetic; only the latter is ever a full sum.
        let other_zero = bytes[at + 10..at + 12] == [0xff, 0xff];
        assert!(
            right(bytes) == right(&marked) || other_zero,
            "the checksum is no longer what it was"
        );
    }
    let changed =
        bytes.iter().zip(&marked).enumerate().filter(|(_, (a, b))| a != b).map(|(i, _)| i);
    let allowed = [at + 1, at + 10, at + 11];
    assert!(
        { changed }.all(|i| allowed.contains(&i)),
        "more changed than the codepoint and the checksum"
    );
}
