//! What stands before an IP header on each kind of link, written by hand from each format's
//! description, and read by tcpdump, an independent reader, where it reads the same.
use std::process::Command;

use etherparse::PacketBuilder;
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use tidegate::Ecn;
use tidegate_packet::{Capture, Frame, LinkType, Mark, Transport, ipv4_checksum, set_ce};

/// A UDP datagram from 10.1.2.3 port 4000 to 10.4.5.6 port 53, with ECT(0).
fn v4() -> Vec<u8> {
    let mut ip =
        etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber::UDP, [10, 1, 2, 3], [10, 4, 5, 6])
            .unwrap();
    ip.ecn = 2.try_into().unwrap();
    built(PacketBuilder::ip(etherparse::IpHeaders::Ipv4(ip, Default::default())))
}

/// The same by IPv6.
fn v6() -> Vec<u8> {
    let (mut from, mut to) = ([0x20; 16], [0xfd; 16]);
    (from[15], to[15]) = (1, 2);
    built(PacketBuilder::ipv6(from, to, 64))
}

fn built(builder: etherparse::PacketBuilderStep<etherparse::IpHeaders>) -> Vec<u8> {
    let mut packet = Vec::new();
    builder.udp(4000, 53).write(&mut packet, b"twelve bytes").unwrap();
    packet
}

const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// LLC and SNAP of RFC 1042, up to the EtherType.
const SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];
/// Radiotap's least header: version 0, 8 bytes, no field.
const RADIOTAP: [u8; 8] = [0, 0, 8, 0, 0, 0, 0, 0];
const A: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
const B: [u8; 6] = [2, 0, 0, 0, 0, 0xb];
const C: [u8; 6] = [2, 0, 0, 0, 0, 0xc];
const D: [u8; 6] = [2, 0, 0, 0, 0, 0xd];

/// IEEE 802.11: frame control, duration, three addresses, sequence control (fragment 0).
fn wifi(control: [u8; 2]) -> Vec<u8> {
    [&control[..], &[0x2c, 0], &A, &B, &C, &[0x10, 0]].concat()
}

const DATA: [u8; 2] = [0x08, 0];
const QOS: [u8; 2] = [0x88, 0];

/// A radiotap header with what it needs to name its flags: with the time (eight bytes, aligned) or
/// without, and one or two sets.
fn radiotap(flags: u8, with_time: bool, sets: usize) -> Vec<u8> {
    let more = u32::from(sets > 1) << 31;
    let mut header = vec![0, 0, 0, 0];
    header.extend((2 | u32::from(with_time) | more).to_le_bytes());
    (1..sets).for_each(|set| header.extend((u32::from(set + 1 < sets) << 31).to_le_bytes()));
    if with_time {
        header.resize(header.len().next_multiple_of(8), 0xee);
        header.extend([0x77; 8]);
    }
    header.push(flags);
    header[2] = header.len() as u8;
    header
}

/// What stands before the packet: a name, the link type's code, the header, and how much of it was
/// never sent.
type Header = (&'static str, u16, Vec<u8>, u32);

/// Headers that are followed by an IPv4 packet.
fn before_v4() -> Vec<Header> {
    let qos = |bytes: &[u8]| [wifi(QOS), bytes.to_vec(), SNAP.to_vec(), IPV4.to_vec()].concat();
    let data = |control: [u8; 2], more: &[u8]| [&wifi(control)[..], more, &SNAP, &IPV4].concat();
    let tapped = |frame: Vec<u8>| [RADIOTAP.to_vec(), frame].concat();
    let flagged = |tap: Vec<u8>, frame: Vec<u8>| [tap, frame].concat();
    vec![
        ("loopback, little-endian", 0, vec![2, 0, 0, 0], 4),
        ("loopback, big-endian", 0, vec![0, 0, 0, 2], 4),
        ("loopback of OpenBSD", 108, vec![0, 0, 0, 2], 4),
        ("ppp", 9, vec![0, 0x21], 0),
        ("ppp in hdlc", 9, vec![0xff, 3, 0, 0x21], 0),
        ("ppp, protocol of one byte", 9, vec![0x21], 0),
        ("ppp in hdlc, serial", 50, vec![0xff, 3, 0, 0x21], 0),
        ("cisco's hdlc in ppp serial", 50, vec![0x0f, 0, 8, 0], 0),
        ("cisco's hdlc", 104, vec![0x0f, 0, 8, 0], 0),
        ("802.11 data", 105, data(DATA, &[]), 0),
        ("radiotap, 802.11 data", 127, tapped(data(DATA, &[])), 8),
        ("radiotap, to the system", 127, tapped(data([8, 1], &[])), 8),
        ("radiotap, from the system", 127, tapped(data([8, 2], &[])), 8),
        ("radiotap, four addresses", 127, tapped(data([8, 3], &D)), 8),
        ("radiotap, quality of service", 127, tapped(qos(&[0, 0])), 8),
        (
            "radiotap, quality and four addresses",
            127,
            tapped(data([0x88, 3], &[&D[..], &[0, 0]].concat())),
            8,
        ),
        ("radiotap, high throughput", 127, tapped(data([0x88, 0x80], &[0, 0, 1, 2, 3, 4])), 8),
        ("radiotap, more fragments follow", 127, tapped(data([8, 4], &[])), 8),
        ("radiotap with flags", 127, flagged(radiotap(0x10, false, 1), data(DATA, &[])), 9),
        ("radiotap with padding", 127, flagged(radiotap(0x20, false, 1), qos(&[0, 0, 0, 0])), 9),
        (
            "radiotap with time and padding",
            127,
            flagged(radiotap(0x20, true, 1), qos(&[0, 0, 0, 0])),
            17,
        ),
        (
            "radiotap with two sets, time, padding",
            127,
            flagged(radiotap(0x20, true, 2), qos(&[0, 0, 0, 0])),
            25,
        ),
        (
            "radiotap with three sets, padding",
            127,
            flagged(radiotap(0x20, false, 3), qos(&[0, 0, 0, 0])),
            17,
        ),
    ]
}

/// Headers that are followed by an IPv6 packet.
fn before_v6() -> Vec<Header> {
    let loopback = |family: u8| ("loopback", 0, vec![family, 0, 0, 0], 4);
    vec![
        loopback(24),
        loopback(28),
        loopback(30),
        ("loopback of OpenBSD", 108, vec![0, 0, 0, 24], 4),
        ("ppp", 9, vec![0, 0x57], 0),
        ("ppp in hdlc, serial", 50, vec![0xff, 3, 0, 0x57], 0),
        ("cisco's hdlc", 104, vec![0x8f, 0, 0x86, 0xdd], 0),
        ("radiotap", 127, [&RADIOTAP[..], &wifi(DATA), &SNAP, &IPV6].concat(), 8),
    ]
}

fn link(code: u16) -> LinkType {
    LinkType::from_code(code.into()).unwrap()
}

#[test]
fn every_link_type_leads_to_the_packet() {
    for (headers, packet) in [(before_v4(), v4()), (before_v6(), v6())] {
        let bare = Frame::parse(LinkType::Raw, &packet, packet.len() as u32);
        assert!(matches!(
            bare.ends.transport,
            Transport::Ports { protocol: 17, source: 4000, destination: 53 }
        ));
        for (name, code, header, unsent) in headers {
            let bytes = [header.clone(), packet.clone()].concat();
            let frame = Frame::parse(link(code), &bytes, bytes.len() as u32);
            assert_eq!((frame.ends, frame.ecn), (bare.ends, bare.ecn), "{name}");
            assert_eq!(frame.len, bytes.len() as u32 - unsent, "{name}");
            assert_eq!(frame.ip_offset(), Some(header.len()), "{name}");
            // Cut off within its headers it is something, and no panic.
            (0..bytes.len())
                .for_each(|cut| assert!(Frame::parse(link(code), &bytes[..cut], 1500).len <= 1500));
        }
    }
}

#[test]
fn a_mark_behind_any_header_is_the_packets() {
    for (name, code, header, _) in before_v4() {
        let at = header.len();
        let mut bytes = [header.clone(), v4()].concat();
        let frame = Frame::parse(link(code), &bytes, bytes.len() as u32);
        assert_eq!(set_ce(&mut bytes, &frame), Mark::Set, "{name}");
        assert_eq!(Frame::parse(link(code), &bytes, frame.len).ecn, Ecn::Ce, "{name}");
        assert_eq!(bytes[..at], header, "{name}");
        let sum = u16::from_be_bytes([bytes[at + 10], bytes[at + 11]]);
        assert_eq!(ipv4_checksum(&bytes[at..at + 20]), sum, "{name}");
    }
}

#[test]
fn wireless_frames_without_a_readable_packet_go_by_their_addresses() {
    let shown = |control: [u8; 2], more: &[u8]| {
        let bytes = [&RADIOTAP[..], &wifi(control), more, &SNAP, &IPV4, &v4()].concat();
        let frame = Frame::parse(LinkType::Radiotap, &bytes, bytes.len() as u32);
        assert_eq!(frame.ip_offset(), None);
        frame.ends.to_string()
    };
    let (a, b, c, d) =
        ("02:00:00:00:00:0a", "02:00:00:00:00:0b", "02:00:00:00:00:0c", "02:00:00:00:00:0d");
    // Encrypted, in each direction: the destination and the source of IEEE 802.11-2020, table 9-30.
    assert_eq!(shown([8, 0x40], &[]), format!("{b} -> {a} no type"));
    assert_eq!(shown([8, 0x41], &[]), format!("{b} -> {c} no type"));
    assert_eq!(shown([8, 0x42], &[]), format!("{c} -> {a} no type"));
    assert_eq!(shown([8, 0x43], &D), format!("{d} -> {c} no type"));
    // No data; a beacon; an acknowledgement, which has its receiver alone; a request to send.
    assert_eq!(shown([0x48, 0], &[]), format!("{b} -> {a} no type"));
    assert_eq!(shown([0xc8, 0], &[0, 0]), format!("{b} -> {a} no type"));
    assert_eq!(shown([0x80, 0], &[]), format!("{b} -> {a} no type"));
    assert_eq!(shown([0xd4, 0], &[]), format!("00:00:00:00:00:00 -> {a} no type"));
    assert_eq!(shown([0xb4, 0], &[]), format!("{b} -> {a} no type"));
    // A later fragment has no header.
    let mut later = [&RADIOTAP[..], &wifi(DATA), &SNAP, &IPV4, &v4()].concat();
    later[8 + 22] |= 1;
    assert_eq!(Frame::parse(LinkType::Radiotap, &later, 100).ip_offset(), None);
    // What was received with a wrong check sum is not believed.
    let broken = [radiotap(0x40, true, 1), wifi(DATA), SNAP.to_vec(), IPV4.to_vec(), v4()].concat();
    let broken = Frame::parse(LinkType::Radiotap, &broken, 100);
    assert_eq!(
        (broken.ip_offset(), broken.ends.to_string()),
        (None, format!("{b} -> {a} no type"))
    );
}

#[test]
fn of_several_packets_in_a_wireless_frame_the_first_counts() {
    // IEEE 802.11-2020 §9.3.2.2: destination, source, length; bit 7 of the quality field says that
    // it is so.
    let inner = [&D[..], &C, &[0, 48], &SNAP, &IPV4, &v4()].concat();
    let bytes = [&RADIOTAP[..], &wifi(QOS), &[0x80, 0], &inner, &[0; 2], &inner].concat();
    let frame = Frame::parse(LinkType::Radiotap, &bytes, bytes.len() as u32);
    assert_eq!(frame.ends.to_string(), "10.1.2.3:4000 -> 10.4.5.6:53 udp");
    let arp = [&D[..], &C, &[0, 48], &SNAP, &[8, 6]].concat();
    let bytes = [&RADIOTAP[..], &wifi(QOS), &[0x80, 0], &arp].concat();
    let frame = Frame::parse(LinkType::Radiotap, &bytes, bytes.len() as u32);
    assert_eq!(frame.ends.to_string(), "02:00:00:00:00:0c -> 02:00:00:00:00:0d arp");
}

#[test]
fn headers_that_make_no_sense_are_no_ip() {
    for (code, bytes) in [
        (0, vec![7, 0, 0, 0]),
        (9, vec![0xc0, 0x21]),
        (50, vec![0x0f, 0, 8]),
        (127, vec![1, 0, 8, 0, 0, 0, 0, 0]),
        (127, vec![0, 0, 0xff, 0xff, 0, 0, 0, 0]),
        (127, vec![0, 0, 8, 0, 0xff, 0xff, 0xff, 0xff]),
        (105, vec![0x0b, 0, 0, 0]),
    ] {
        let bytes = [bytes, v4()].concat();
        let frame = Frame::parse(link(code), &bytes, bytes.len() as u32);
        assert_eq!(frame.ip_offset(), None, "{code}: {bytes:02x?}");
        assert!(frame.len > 0);
    }
}

/// What tcpdump says of the packets of the file `path`.
fn tcpdump(path: &std::path::Path) -> String {
    let out = Command::new("tcpdump").args(["-nn", "-t", "-r"]).arg(path).output();
    let out = out.expect("tcpdump, which `make test` installs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn tcpdump_sees_the_same_packets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("link.pcap");
    for (headers, packet) in [(before_v4(), v4()), (before_v6(), v6())] {
        for (name, code, header, _) in headers {
            let bytes = [header, packet.clone()].concat();
            // The file is written by a library that is not ours.
            let file = std::fs::File::create(&path).unwrap();
            let head =
                PcapHeader { datalink: DataLink::from(code as u32), ..PcapHeader::default() };
            let mut writer = PcapWriter::with_header(file, head).unwrap();
            let time = std::time::Duration::from_micros(3);
            writer.write_packet(&PcapPacket::new(time, bytes.len() as u32, &bytes)).unwrap();
            drop(writer);

            let mut capture = Capture::open(&path).unwrap();
            let seen = capture.next_packet().unwrap().unwrap();
            assert_eq!((seen.link, seen.bytes), (link(code), &bytes[..]), "{name}");
            let ours = seen.frame().ends.to_string();
            // tcpdump writes a port behind a dot.
            let theirs = ours.replace(['[', ']'], "").replace(" udp", ":");
            let theirs =
                theirs.replace(":4000 ", ".4000 ").replace(":53:", ".53:").replace("->", ">");
            let text = tcpdump(&path);
            // It does not know the field of high throughput (IEEE 802.11-2020 §9.2.4.6), which is
            // read here by the standard alone.
            if name == "radiotap, high throughput" {
                continue;
            }
            assert!(text.contains(&theirs), "{name}: tcpdump says {text}, we say {ours}");
        }
    }
}
