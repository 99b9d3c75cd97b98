//! Arbitrary bytes as a capture file, and as a frame: nothing panics, time does not run back, limits hold, a mark
//! leaves a checksum that the full sum agrees with.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate::{Ecn, Time};
use tidegate_packet::capture::MAX_FRAME;
use tidegate_packet::{Capture, FlowHasher, FlowKey, Frame, LinkType, Mark, ipv4_checksum, set_ce};

fuzz_target!(|data: &[u8]| {
    for link in [LinkType::Ethernet, LinkType::Raw, LinkType::LinuxSll, LinkType::LinuxSll2] {
        check_frame(link, data, data.len() as u32);
    }
    let Ok(mut capture) = Capture::from_reader(data) else { return };
    let mut packets = 0;
    let mut last = Time::ZERO;
    let error = loop {
        match capture.next_packet() {
            Ok(Some(packet)) => {
                packets += 1;
                assert!(packet.time >= last, "time ran back");
                assert!(packet.bytes.len() <= MAX_FRAME as usize && packet.bytes.len() <= packet.wire_len as usize);
                last = packet.time;
                check_frame(packet.link, packet.bytes, packet.wire_len);
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    assert_eq!(capture.packets(), packets);
    assert!(capture.backward() <= packets);
    if let Some(error) = error {
        assert!(error.offset <= data.len() as u64 && error.packets == packets, "{error}");
        assert!(capture.next_packet().unwrap().is_none(), "nothing after the error");
    }
});

fn check_frame(link: LinkType, bytes: &[u8], wire_len: u32) {
    let frame = Frame::parse(link, bytes, wire_len);
    assert_eq!(frame.len, wire_len);
    for key in [FlowKey::FiveTuple, FlowKey::Source, FlowKey::Destination, FlowKey::Pair, FlowKey::SourcePrefix(24)] {
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
            ipv4_checksum(&bytes[at..at + header_len]) == u16::from_be_bytes([bytes[at + 10], bytes[at + 11]])
        };
        // 0xffff and 0 are both zero in this arithmetic; only the latter is ever a full sum.
        let other_zero = bytes[at + 10..at + 12] == [0xff, 0xff];
        assert!(right(bytes) == right(&marked) || other_zero, "the checksum is no longer what it was");
    }
    let changed = bytes.iter().zip(&marked).enumerate().filter(|(_, (a, b))| a != b).map(|(i, _)| i);
    let allowed = [at + 1, at + 10, at + 11];
    assert!({ changed }.all(|i| allowed.contains(&i)), "more changed than the codepoint and the checksum");
}
