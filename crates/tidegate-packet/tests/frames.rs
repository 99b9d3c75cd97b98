//! Frames against an independent reader and writer of headers (etherparse), and against arbitrary
//! bytes.
use etherparse::{
    IpAuthHeader, IpFragOffset, IpHeaders, IpNumber, Ipv4Extensions, Ipv4Header, Ipv6Extensions,
    Ipv6FragmentHeader, Ipv6Header, Ipv6RawExtHeader, Ipv6RoutingExtensions, LaxSlicedPacket,
    NetSlice, PacketBuilder, SlicedPacket, TransportSlice, VlanId,
};
use proptest::prelude::*;
use tidegate::Ecn;
use tidegate_packet::{
    Address, Ends, FlowHasher, FlowKey, Frame, LinkType, Mark, Transport, ipv4_checksum, set_ce,
};

/// A frame to be built: everything a frame may have.
#[derive(Clone, Debug)]
struct Recipe {
    macs: ([u8; 6], [u8; 6]),
    tags: u8,
    ip: IpHeaders,
    transport: u8,
    ports: (u16, u16),
    payload: Vec<u8>,
}

impl Recipe {
    fn build(&self) -> Vec<u8> {
        let builder = PacketBuilder::ethernet2(self.macs.0, self.macs.1);
        let id = VlanId::try_new(7).unwrap();
        let builder = match self.tags {
            0 => builder.ip(self.ip.clone()),
            1 => builder.single_vlan(id).ip(self.ip.clone()),
            _ => builder.double_vlan(id, id).ip(self.ip.clone()),
        };
        let mut frame = Vec::new();
        match self.transport {
            0 => builder.udp(self.ports.0, self.ports.1).write(&mut frame, &self.payload).unwrap(),
            1 => builder
                .tcp(self.ports.0, self.ports.1, 1, 2)
                .write(&mut frame, &self.payload)
                .unwrap(),
            _ => builder.write(&mut frame, IpNumber(200), &self.payload).unwrap(),
        }
        frame
    }
}

fn ipv4() -> impl Strategy<Value = IpHeaders> {
    let fragment = prop_oneof![3 => Just((0, false)), 1 => (0u16..0x2000, any::<bool>())];
    (any::<[u8; 4]>(), any::<[u8; 4]>(), any::<u8>(), any::<u16>(), fragment, 0usize..=10).prop_map(
        |(source, destination, tos, id, (offset, more), option_words)| {
            let mut header = Ipv4Header::new(0, 64, IpNumber(0), source, destination).unwrap();
            header.dscp = (tos >> 2).try_into().unwrap();
            header.ecn = (tos & 3).try_into().unwrap();
            header.identification = id;
            header.fragment_offset = IpFragOffset::try_new(offset).unwrap();
            header.more_fragments = more;
            header.options = vec![1u8; option_words * 4].as_slice().try_into().unwrap();
            IpHeaders::Ipv4(header, Ipv4Extensions::default())
        },
    )
}

fn raw_extension() -> impl Strategy<Value = Option<Ipv6RawExtHeader>> {
    proptest::option::of(
        (0usize..4)
            .prop_map(|n| Ipv6RawExtHeader::new_raw(IpNumber(0), &vec![0; 6 + 8 * n]).unwrap()),
    )
}

fn ipv6() -> impl Strategy<Value = IpHeaders> {
    // Now and then a fragment that is the whole packet.
    let offset = prop_oneof![1 => Just((0, false)), 2 => (0u16..0x2000, any::<bool>())];
    let fragment = proptest::option::of(
        (offset, any::<u32>()).prop_map(|((offset, more), id)| (offset, more, id)),
    );
    let auth = proptest::option::of((0usize..6).prop_map(|words| {
        // In IPv6 the header is a multiple of eight bytes.
        IpAuthHeader::new(IpNumber(0), 1, 2, &vec![0; 4 + 8 * words]).unwrap()
    }));
    let routing = proptest::option::of((raw_extension(), raw_extension()));
    let extensions = (raw_extension(), raw_extension(), routing, fragment, auth);
    (any::<[u8; 16]>(), any::<[u8; 16]>(), any::<u8>(), extensions).prop_map(
        |(source, destination, traffic_class, (hop_by_hop, options, routing, fragment, auth))| {
            let header = Ipv6Header { traffic_class, source, destination, ..Default::default() };
            let fragment = fragment.map(|(offset, more, id)| {
                Ipv6FragmentHeader::new(
                    IpNumber(0),
                    IpFragOffset::try_new(offset).unwrap(),
                    more,
                    id,
                )
            });
            let routing = routing.and_then(|(routing, final_destination_options)| {
                Some(Ipv6RoutingExtensions { routing: routing?, final_destination_options })
            });
            let extensions = Ipv6Extensions {
                hop_by_hop_options: hop_by_hop,
                destination_options: options,
                routing,
                fragment,
                auth,
            };
            IpHeaders::Ipv6(header, extensions)
        },
    )
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let ip = prop_oneof![ipv4(), ipv6()];
    let payload = proptest::collection::vec(any::<u8>(), 0..80);
    (any::<([u8; 6], [u8; 6])>(), 0u8..3, ip, 0u8..3, any::<(u16, u16)>(), payload).prop_map(
        |(macs, tags, ip, transport, ports, payload)| Recipe {
            macs,
            tags,
            ip,
            transport,
            ports,
            payload,
        },
    )
}

/// What etherparse makes of a whole frame.
fn expected(frame: &[u8]) -> (Ecn, Ends) {
    let sliced = SlicedPacket::from_ethernet(frame).unwrap();
    let fragment = sliced.is_ip_payload_fragmented();
    let number = sliced.ip_payload().unwrap().ip_number.0;
    let (ecn, source, destination, fragments) = match sliced.net.as_ref().unwrap() {
        NetSlice::Ipv4(ip) => {
            let header = ip.header();
            let (from, to) = (Address::V4(header.source()), Address::V4(header.destination()));
            (header.ecn().value(), from, to, header.protocol().0)
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header();
            let (from, to) = (Address::V6(header.source()), Address::V6(header.destination()));
            (header.ecn().value(), from, to, 44)
        }
        other => panic!("{other:?}"),
    };
    let transport = match sliced.transport {
        _ if fragment => Transport::Fragment { protocol: fragments },
        Some(TransportSlice::Udp(udp)) => Transport::Ports {
            protocol: 17,
            source: udp.source_port(),
            destination: udp.destination_port(),
        },
        Some(TransportSlice::Tcp(tcp)) => Transport::Ports {
            protocol: 6,
            source: tcp.source_port(),
            destination: tcp.destination_port(),
        },
        _ => Transport::Portless { protocol: number },
    };
    (Ecn::from_bits(ecn), Ends { source, destination, transport })
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_whole_frame_reads_as_etherparse_reads_it(recipe in recipe(), padding in 0usize..20) {
        let mut bytes = recipe.build();
        let expected = expected(&bytes);
        // Short Ethernet frames are padded; the padding must not be taken for ports.
        bytes.resize(bytes.len() + padding, 0xee);
        let frame = Frame::parse(LinkType::Ethernet, &bytes, 9999);
        prop_assert_eq!((frame.ecn, frame.ends), expected);
        prop_assert_eq!(frame.len, 9999);
        // The same packet without its link header is the same packet.
        let at = frame.ip_offset().unwrap();
        prop_assert_eq!(at, 14 + 4 * recipe.tags as usize);
        let raw = Frame::parse(LinkType::Raw, &bytes[at..], 9999);
        prop_assert_eq!((raw.ecn, raw.ends), expected);
    }

    #[test]
    fn a_frame_cut_short_says_less_but_nothing_else(
        recipe in recipe(), cut in any::<prop::sample::Index>(),
    ) {
        let whole = recipe.build();
        let full = Frame::parse(LinkType::Ethernet, &whole, whole.len() as u32);
        let bytes = &whole[..cut.index(whole.len() + 1)];
        let frame = Frame::parse(LinkType::Ethernet, bytes, whole.len() as u32);
        let (ends, all) = (frame.ends, full.ends);
        prop_assert_eq!(frame.len as usize, whole.len());
        let Some(at) = frame.ip_offset() else {
            let (Address::Mac(source), Transport::NotIp { .. }) = (ends.source, ends.transport)
            else {
                panic!("{frame:?}")
            };
            prop_assert!(source == recipe.macs.0 || bytes.len() < 12);
            let ip_header = if matches!(recipe.ip, IpHeaders::Ipv4(..)) { 20 } else { 40 };
            prop_assert!(bytes.len() < full.ip_offset().unwrap() + ip_header);
            return Ok(());
        };
        prop_assert_eq!(Some(at), full.ip_offset());
        prop_assert_eq!(frame.ecn, full.ecn);
        prop_assert_eq!((ends.source, ends.destination), (all.source, all.destination));
        if ends.transport == all.transport {
            return Ok(());
        }
        // What is lost is lost to etherparse too; a fragment header cut in two may be any
        // fragment's.
        let lost = matches!(
            ends.transport,
            Transport::Portless { .. } | Transport::Fragment { protocol: 44 }
        );
        let theirs = LaxSlicedPacket::from_ethernet(bytes).unwrap().transport;
        prop_assert!(lost && theirs.is_none(), "{:?}", frame);
    }

    #[test]
    fn a_mark_changes_the_codepoint_and_the_checksum_and_nothing_else(recipe in recipe()) {
        let before = recipe.build();
        let frame = Frame::parse(LinkType::Ethernet, &before, 0);
        let mut after = before.clone();
        let mark = set_ce(&mut after, &frame);
        let at = frame.ip_offset().unwrap();
        match frame.ecn {
            Ecn::NotEct => prop_assert_eq!(mark, Mark::NotCapable),
            Ecn::Ce => prop_assert_eq!(mark, Mark::Already),
            Ecn::Ect0 | Ecn::Ect1 => {
                prop_assert_eq!(mark, Mark::Set);
                let marked = Frame::parse(LinkType::Ethernet, &after, 0);
                prop_assert_eq!((marked.ecn, marked.ends), (Ecn::Ce, frame.ends));
            }
        }
        if let Some(NetSlice::Ipv4(ip)) = SlicedPacket::from_ethernet(&after.clone()).unwrap().net {
            let header = ip.header();
            prop_assert_eq!(header.header_checksum(), header.to_header().calc_header_checksum());
            prop_assert_eq!(header.header_checksum(), ipv4_checksum(header.slice()));
            after[at + 10..at + 12].copy_from_slice(&before[at + 10..at + 12]);
            after[at + 1] = after[at + 1] & !0x03 | before[at + 1] & 0x03;
        } else {
            after[at + 1] = after[at + 1] & !0x30 | before[at + 1] & 0x30;
        }
        prop_assert_eq!(before, after);
    }

    #[test]
    fn no_bytes_make_it_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        link in 0usize..4,
        shape in 0u8..4,
    ) {
        let mut bytes = bytes;
        // Random bytes are hardly ever IP: help them on.
        if let (Some(head), 1..) = (bytes.get_mut(12..16), shape) {
            let ethertype = if shape == 1 { [0x08, 0x00, 0x45] } else { [0x86, 0xdd, 0x60] };
            head[..3].copy_from_slice(&ethertype);
        }
        let links =
            [LinkType::Ethernet, LinkType::Raw, LinkType::LinuxSll, LinkType::LinuxSll2];
        let link = links[link];
        let frame = Frame::parse(link, &bytes, u32::MAX);
        let mut marked = bytes.clone();
        let mark = set_ce(&mut marked, &frame);
        prop_assert_eq!(mark == Mark::Set, marked != bytes);
        prop_assert_eq!(mark == Mark::NotIp, frame.ip_offset().is_none());
        let _ = frame.ends.to_string();
    }
}

/// An IPv4 packet's every ECN and TOS value against a full recomputation, wrong checksums staying
/// as wrong as they were.
#[test]
fn a_wrong_checksum_stays_wrong() {
    for tos in 0..=255u8 {
        for error in [0u16, 1, 0x8000, 0xfffe] {
            let mut bytes = [0x45, tos, 0, 20, 1, 2, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            let wrong = ipv4_checksum(&bytes) ^ error;
            bytes[10..12].copy_from_slice(&wrong.to_be_bytes());
            let frame = Frame::parse(LinkType::Raw, &bytes, 20);
            set_ce(&mut bytes, &frame);
            let right = ipv4_checksum(&bytes) == u16::from_be_bytes([bytes[10], bytes[11]]);
            assert_eq!(right, error == 0, "tos {tos} error {error:#x}");
        }
    }
}

/// Every checksum there is, the two zeros of this arithmetic included, and every codepoint.
#[test]
fn a_right_checksum_stays_right() {
    for id in 0..=0xffffu16 {
        for tos in [1, 2] {
            let [high, low] = id.to_be_bytes();
            let mut bytes =
                [0x45, tos, 0, 20, high, low, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            let right = ipv4_checksum(&bytes);
            bytes[10..12].copy_from_slice(&right.to_be_bytes());
            let frame = Frame::parse(LinkType::Raw, &bytes, 20);
            assert_eq!(set_ce(&mut bytes, &frame), Mark::Set);
            assert_eq!(
                ipv4_checksum(&bytes),
                u16::from_be_bytes([bytes[10], bytes[11]]),
                "id {id} tos {tos}"
            );
        }
    }
}

#[test]
fn padding_is_not_taken_for_ports() {
    let mut empty = ipv4_fragment(1, 0, &[]);
    empty.resize(60, 0xee);
    assert_eq!(ends(&empty).transport, Transport::Portless { protocol: 17 });
    // A length of zero stands in segments that a network card is to cut up: everything there is
    // belongs to it.
    let mut segment = ipv4_fragment(1, 0, UDP);
    segment[16..18].copy_from_slice(&[0, 0]);
    assert!(matches!(
        ends(&segment).transport,
        Transport::Ports { source: 5001, destination: 53, .. }
    ));
    // IPv6: no next header but UDP, and a payload shorter than its ports.
    let mut short = ipv6_fragment(17, 0, &[]);
    short.resize(80, 0xee);
    assert_eq!(ends(&short).transport, Transport::Portless { protocol: 17 });
}

fn ethernet(ethertype: [u8; 2], rest: &[&[u8]]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, ethertype[0], ethertype[1]];
    rest.iter().for_each(|part| frame.extend_from_slice(part));
    frame
}

fn ends(frame: &[u8]) -> Ends {
    Frame::parse(LinkType::Ethernet, frame, frame.len() as u32).ends
}

const UDP: &[u8] = &[0x13, 0x89, 0, 53, 0, 8, 0, 0];

fn ipv4_fragment(id: u8, flags_offset: u16, payload: &[u8]) -> Vec<u8> {
    let [high, low] = flags_offset.to_be_bytes();
    let total = 20 + payload.len() as u8;
    ethernet(
        [0x08, 0],
        &[&[0x45, 0, 0, total, 0, id, high, low, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2], payload],
    )
}

/// A fragment of an IPv6 packet. Its fragment header says that `next` follows, which RFC 8200 §4.5
/// allows to differ.
fn ipv6_fragment(next: u8, offset_more: u16, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![0x60, 0, 0, 0, 0, 8 + payload.len() as u8, 44, 64];
    header.extend_from_slice(&[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    header.extend_from_slice(&[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    let [high, low] = offset_more.to_be_bytes();
    ethernet([0x86, 0xdd], &[&header, &[next, 0, high, low, 0, 0, 0, 1], payload])
}

#[test]
fn all_fragments_of_a_packet_go_to_one_flow_under_every_key() {
    const MORE: u16 = 0x2000;
    const DONT: u16 = 0x4000;
    let v4 = [
        ipv4_fragment(1, MORE, UDP),
        ipv4_fragment(1, MORE | 1, UDP),
        ipv4_fragment(1, 2, &[1]),
        ipv4_fragment(2, MORE, UDP),
        ipv4_fragment(2, DONT | 0x1fff, &[]),
    ];
    let options = [17, 0, 0, 0, 0, 0, 0, 0];
    let v6 = [
        ipv6_fragment(60, 1, &[&options, UDP].concat()),
        ipv6_fragment(60, 8 | 1, UDP),
        ipv6_fragment(17, 16, &[1, 2, 3]),
    ];
    for key in
        ["five-tuple", "source", "destination", "pair", "source-prefix/24", "source-prefix/0"]
    {
        let hasher = FlowHasher::new(key.parse::<FlowKey>().unwrap(), [3, 4]);
        for fragments in [&v4[..], &v6[..]] {
            let hashes: Vec<u64> = fragments.iter().map(|f| hasher.hash(&ends(f))).collect();
            assert!(hashes.iter().all(|&h| h == hashes[0]), "{key}: {hashes:x?}");
        }
    }
    let ports = Transport::Ports { protocol: 17, source: 5001, destination: 53 };
    assert_eq!(ends(&ipv4_fragment(1, 0, UDP)).transport, ports);
    assert_eq!(ends(&ipv4_fragment(1, DONT, UDP)).transport, ports);
    // Alone in its packet, an IPv6 fragment is the packet.
    assert_eq!(ends(&ipv6_fragment(60, 0, &[&options, UDP].concat())).transport, ports);
}

#[test]
fn cut_off_fragments_stay_together() {
    for whole in [ipv6_fragment(17, 1, UDP), ipv6_fragment(17, 8, UDP)] {
        for cut in 54..whole.len() {
            assert_eq!(
                ends(&whole[..cut]).transport,
                Transport::Fragment { protocol: 44 },
                "{cut}"
            );
        }
    }
}

#[test]
fn what_is_not_ip_goes_by_mac_addresses() {
    let arp = ends(&ethernet([0x08, 0x06], &[&[0; 28]]));
    assert_eq!(arp.to_string(), "02:00:00:00:00:01 -> 02:00:00:00:00:09 arp");
    let tagged = ends(&ethernet([0x81, 0], &[&[0, 7, 0x08, 0x06], &[0; 28]]));
    assert_eq!(tagged, arp);
    // IEEE 802.3 frames carry their length where the EtherType would be.
    assert_eq!(ends(&ethernet([0, 38], &[&[0x42; 38]])), ends(&ethernet([0, 39], &[&[0x42; 39]])));
    // No IP header although the EtherType promises one.
    assert_eq!(
        ends(&ethernet([0x08, 0], &[&[0x45; 19]])).transport,
        Transport::NotIp { ethertype: 0x0800 }
    );
    assert_eq!(
        ends(&ethernet([0x08, 0], &[&[0x65; 40]])).transport,
        Transport::NotIp { ethertype: 0x0800 }
    );
    assert_eq!(
        ends(&ethernet([0x08, 0], &[&[0x44; 40]])).transport,
        Transport::NotIp { ethertype: 0x0800 }
    );
    assert_eq!(ends(&[]).to_string(), "00:00:00:00:00:00 -> 00:00:00:00:00:00 no type");
}

#[test]
fn cooked_captures() {
    let packet = &ipv4_fragment(1, 0, UDP)[14..];
    let sll = [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0x08, 0], packet].concat();
    let sll2 = [&[0x08, 0, 0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0], packet].concat();
    let expected = "10.0.0.1:5001 -> 10.0.0.2:53 udp";
    assert_eq!(Frame::parse(LinkType::LinuxSll, &sll, 44).ends.to_string(), expected);
    assert_eq!(Frame::parse(LinkType::LinuxSll2, &sll2, 48).ends.to_string(), expected);
    let sll = [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0x08, 6][..], &[0; 28]].concat();
    let sll2 =
        [&[0x08, 6, 0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0][..], &[0; 28]].concat();
    for (link, arp) in [(LinkType::LinuxSll, sll), (LinkType::LinuxSll2, sll2)] {
        let label = Frame::parse(link, &arp, 44).ends.to_string();
        assert_eq!(label, "02:00:00:00:00:01 -> 00:00:00:00:00:00 arp");
    }
}

#[test]
fn an_unknown_link_type_is_named() {
    let error = LinkType::from_code(195).unwrap_err().to_string();
    assert!(error.starts_with("link type 195 (IEEE 802.15.4) cannot be read"), "{error}");
    assert!(
        LinkType::from_code(9999)
            .unwrap_err()
            .to_string()
            .starts_with("link type 9999 cannot be read")
    );
}
