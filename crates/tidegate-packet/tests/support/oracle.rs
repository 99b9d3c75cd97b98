//! What etherparse, an independent reader of headers, makes of an Ethernet frame, and that ours
//! makes the same of it.
//!
//! Where the two differ on purpose, the oracle says what ours is to say instead:
//! - The EtherType decides between IPv4 and IPv6; etherparse goes by the version in the header and
//!   passes over the type.
//! - MACsec is not read, and up to eight VLAN tags are passed over; etherparse reads MACsec, and
//!   three tags.
//! - An IPv4 header whose options are cut off, and one that claims a total length below its own, is
//!   IP without ports.
//! - Every fragment is a fragment, whatever its payload begins with; an IPv6 fragment goes by the
//!   number of its header, 44.
//! - Of IPsec the outermost header alone is read in IPv4; in IPv6 the authentication header is an
//!   extension like others.
//! - Mobility, host identity and shim6 headers, and hop-by-hop options that do not come first, are
//!   passed over, too.
//! - Ports are read from the first four bytes of TCP, UDP, UDP-Lite, DCCP and SCTP, whatever is
//!   wrong or missing behind them.
//! - Behind sixteen extension headers no more are looked for.
//! - Extension headers that are cut short leave the addresses and no ports: under which protocol
//!   such a packet goes is not compared. Behind an authentication header that is too short to be
//!   one nothing is.
use etherparse::checksum::Sum16BitWords;
use etherparse::err::ip_auth::HeaderSliceError;
use etherparse::{
    IpAuthHeaderSlice, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice,
    Ipv6RawExtHeaderSlice, LaxLinkExtSlice, LaxSlicedPacket, LinkSlice, SingleVlanSlice,
    TransportSlice,
};
use tidegate::Ecn;
use tidegate_packet::{
    Address, Dscp, Ends, Frame, LinkType, Mark, Transport, set_ce, vlan_priority,
};

/// What there is to know of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its addresses, protocol and ports.
    pub ends: Ends,
    /// Code point of congestion notification.
    pub ecn: Ecn,
    /// Code point of differentiated services, 0 to 63, if it is IP.
    pub dscp: Option<u8>,
    /// Priority in the outermost VLAN tag.
    pub priority: Option<u8>,
    /// Where the IP header begins, if there is one.
    pub at: Option<usize>,
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// As many tags as etherparse reads.
const TAGS_READ: usize = LaxSlicedPacket::LINK_EXTS_CAP;
/// As many extension headers as ours passes over.
const MOST_EXTENSIONS: usize = 16;
const AUTHENTICATION: u8 = 51;
const FRAGMENT: u8 = 44;
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];

/// The protocol that a packet goes under, as far as it can be known.
enum Under {
    Known(Transport),
    /// Behind so many extension headers the next one is taken for the protocol, whatever it is.
    Enough(Transport),
    /// Headers are cut short: no ports are to be seen.
    NoPorts,
    /// Headers contradict themselves.
    Anything,
}

/// Asserts that ours and etherparse see the same in the frame `bytes`, and mark it alike. What they
/// see; `None` for a frame with more VLAN tags than etherparse reads.
pub fn agree(bytes: &[u8]) -> Option<Seen> {
    let frame = Frame::parse(LinkType::Ethernet, bytes, bytes.len() as u32);
    let ours = Seen {
        ends: frame.ends,
        ecn: frame.ecn,
        dscp: frame.dscp(bytes).map(Dscp::get),
        priority: vlan_priority(bytes),
        at: frame.ip_offset(),
    };
    let theirs = see(bytes, &ours)?;
    assert_eq!(ours, theirs, "{bytes:02x?}");
    mark(bytes, &frame, &theirs);
    if let Some(at) = ours.at {
        let raw = Frame::parse(LinkType::Raw, &bytes[at..], 0);
        assert_eq!(
            (raw.ends, raw.ecn, raw.ip_offset()),
            (ours.ends, ours.ecn, Some(0)),
            "without its link header"
        );
    }
    Some(theirs)
}

/// What etherparse sees; `ours` only says what stands where nothing can be known.
fn see(bytes: &[u8], ours: &Seen) -> Option<Seen> {
    let Ok(sliced) = LaxSlicedPacket::from_ethernet(bytes) else {
        let none = Transport::NotIp { ethertype: 0 };
        assert_eq!((ours.ends.transport, ours.at), (none, None), "shorter than an Ethernet header");
        return Some(*ours);
    };
    let Some(LinkSlice::Ethernet2(ethernet)) = &sliced.link else {
        unreachable!("it was asked for Ethernet")
    };
    let tags: Vec<_> = sliced.link_exts.iter().map_while(tag).collect();
    let ethertype = tags.last().map_or(ethernet.ether_type().0, |tag| tag.ether_type().0);
    if tags.len() == TAGS_READ && TAGS.contains(&ethertype) {
        return None;
    }
    let seen = Seen {
        priority: match tags.first() {
            Some(tag) => Some(tag.priority_code_point().value()),
            // One that is cut off behind its first four bytes, which etherparse wants whole.
            None => ours.priority.filter(|_| TAGS.contains(&ethertype)),
        },
        ends: Ends {
            source: Address::Mac(ethernet.source()),
            destination: Address::Mac(ethernet.destination()),
            transport: Transport::NotIp {
                ethertype: if ethertype < 0x0600 { 0 } else { ethertype },
            },
        },
        ecn: Ecn::NotEct,
        dscp: None,
        at: None,
    };
    let at = 14 + 4 * tags.len();
    let found = match ethertype {
        IPV4 => v4(&bytes[at..]),
        IPV6 => v6(&bytes[at..]),
        _ => None,
    };
    let Some((source, destination, ecn, dscp, under)) = found else { return Some(seen) };
    // Where we differ from etherparse its ports say nothing.
    let differs = ethertype == IPV4 && is_said_otherwise(&bytes[at..]);
    let theirs = transport_of(&sliced).filter(|_| !differs);
    let transport = transport_under(under, ours.ends.transport, theirs, bytes);
    let ends = Ends { source, destination, transport };
    Some(Seen { ends, ecn: Ecn::from_bits(ecn), dscp: Some(dscp), at: Some(at), ..seen })
}

/// What a packet goes under, where `ours` may say what cannot be known; `theirs` are the ports that
/// etherparse has read.
fn transport_under(
    under: Under,
    ours: Transport,
    theirs: Option<Transport>,
    bytes: &[u8],
) -> Transport {
    match under {
        Under::Known(transport) => {
            assert!(
                theirs.is_none_or(|theirs| theirs == transport),
                "{theirs:?} is not {transport:?}: {bytes:02x?}"
            );
            transport
        }
        Under::NoPorts => {
            let none = matches!(
                ours,
                Transport::Portless { .. } | Transport::Fragment { protocol: FRAGMENT }
            );
            assert!(none, "{ours:?}: {bytes:02x?}");
            ours
        }
        Under::Enough(transport) => transport,
        Under::Anything => ours,
    }
}

/// A VLAN tag; what is behind MACsec is not asked for.
fn tag<'a>(extension: &LaxLinkExtSlice<'a>) -> Option<SingleVlanSlice<'a>> {
    match extension {
        LaxLinkExtSlice::Vlan(tag) => Some(tag.clone()),
        _ => None,
    }
}

/// The ports that etherparse has read in whole headers.
fn transport_of(sliced: &LaxSlicedPacket) -> Option<Transport> {
    let (protocol, source, destination) = match sliced.transport.as_ref()? {
        TransportSlice::Udp(udp) => (17, udp.source_port(), udp.destination_port()),
        TransportSlice::Tcp(tcp) => (6, tcp.source_port(), tcp.destination_port()),
        _ => return None,
    };
    Some(Transport::Ports { protocol, source, destination })
}

/// Whether this is IPv4 where we differ: IPsec, or a total length below the header's.
fn is_said_otherwise(ip: &[u8]) -> bool {
    let (header, total) = ((ip[0] & 0x0f) as u16 * 4, u16::from_be_bytes([ip[2], ip[3]]));
    ip[9] == AUTHENTICATION || (total > 0 && total < header)
}

/// Sender, receiver, ECN, DSCP, and what is behind.
type Found = (Address, Address, u8, u8, Under);

fn v4(bytes: &[u8]) -> Option<Found> {
    // What is missing of the options is made up: nobody looks at it.
    let words = bytes.first().map_or(0, |first| (first & 0x0f) as usize);
    let cut_off = bytes.len() >= 20 && bytes.len() < words * 4;
    let whole = if cut_off { [bytes, &[0; 40]].concat() } else { bytes.to_vec() };
    let header = Ipv4HeaderSlice::from_slice(&whole).ok()?;
    let protocol = header.protocol().0;
    let total = header.total_len() as usize;
    let end = if total == 0 { bytes.len() } else { total.min(bytes.len()) };
    let payload = bytes.get(header.slice().len()..end).unwrap_or_default();
    let transport = if header.is_fragmenting_payload() {
        Transport::Fragment { protocol }
    } else {
        ports(protocol, payload)
    };
    let (from, to) = (Address::V4(header.source()), Address::V4(header.destination()));
    Some((from, to, header.ecn().value(), header.dcp().value(), Under::Known(transport)))
}

fn v6(bytes: &[u8]) -> Option<Found> {
    let header = Ipv6HeaderSlice::from_slice(bytes).ok()?;
    let behind = &bytes[40..];
    let length = header.payload_length() as usize;
    let payload = if length == 0 { behind } else { &behind[..length.min(behind.len())] };
    let under = behind_extensions(header.next_header().0, payload);
    let (from, to) = (Address::V6(header.source()), Address::V6(header.destination()));
    Some((from, to, header.ecn().value(), header.dscp().value(), under))
}

/// Header by header: etherparse's own walk over several reads beyond the end of one that is cut
/// short (0.21.0).
fn behind_extensions(mut next: u8, mut rest: &[u8]) -> Under {
    for _ in 0..MOST_EXTENSIONS {
        let (following, length) = match next {
            0 | 43 | 60 | 135 | 139 | 140 => match Ipv6RawExtHeaderSlice::from_slice(rest) {
                Ok(header) => (header.next_header(), header.slice().len()),
                Err(_) => return Under::NoPorts,
            },
            FRAGMENT => match Ipv6FragmentHeaderSlice::from_slice(rest) {
                Ok(header) if header.is_fragmenting_payload() => {
                    return Under::Known(Transport::Fragment { protocol: FRAGMENT });
                }
                Ok(header) => (header.next_header(), header.slice().len()),
                Err(_) => return Under::NoPorts,
            },
            AUTHENTICATION => match IpAuthHeaderSlice::from_slice(rest) {
                Ok(header) => (header.next_header(), header.slice().len()),
                Err(HeaderSliceError::Len(_)) => return Under::NoPorts,
                Err(HeaderSliceError::Content(_)) => return Under::Anything,
            },
            _ => return Under::Known(ports(next, rest)),
        };
        (next, rest) = (following.0, &rest[length..]);
    }
    Under::Enough(ports(next, rest))
}

fn ports(protocol: u8, payload: &[u8]) -> Transport {
    match *payload {
        [a, b, c, d, ..] if WITH_PORTS.contains(&protocol) => {
            let (source, destination) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            Transport::Ports { protocol, source, destination }
        }
        _ => Transport::Portless { protocol },
    }
}

/// Marking changes the code point to CE where it can be, and the checksum so that it is as right or
/// wrong as before.
fn mark(bytes: &[u8], frame: &Frame, seen: &Seen) {
    let mut marked = bytes.to_vec();
    let mark = set_ce(&mut marked, frame);
    let expected = match (seen.at, seen.ecn) {
        (None, _) => Mark::NotIp,
        (_, Ecn::NotEct) => Mark::NotCapable,
        (_, Ecn::Ce) => Mark::Already,
        (_, Ecn::Ect0 | Ecn::Ect1) => Mark::Set,
    };
    assert_eq!(mark, expected, "{bytes:02x?}");
    let mut expected = bytes.to_vec();
    if let (Some(at), Mark::Set) = (seen.at, mark) {
        if bytes[at] >> 4 == 4 {
            expected[at + 1] |= 0x03;
            let length = (bytes[at] & 0x0f) as usize * 4;
            let before = checksum(&bytes[at..], length);
            let after = checksum(&marked[at..], length);
            // 0xffff and 0 are both zero in this arithmetic; only the latter is ever a full sum.
            let ambiguous = bytes[at + 10..at + 12] == [0xff, 0xff];
            assert!(
                before == after || ambiguous,
                "right before: {before:?}, after: {after:?}: {bytes:02x?}"
            );
            expected[at + 10..at + 12].copy_from_slice(&marked[at + 10..at + 12]);
        } else {
            expected[at + 1] |= 0x30;
        }
    }
    assert_eq!(marked, expected, "more has changed than the code point");
}

/// Whether the checksum of the IPv4 header at the beginning of `ip` is right; `None` for one that
/// is cut off.
fn checksum(ip: &[u8], length: usize) -> Option<bool> {
    let header = ip.get(..length)?;
    let sum = Sum16BitWords::new()
        .add_slice(&header[..10])
        .add_slice(&header[12..])
        .ones_complement()
        .to_be();
    Some(sum == u16::from_be_bytes([header[10], header[11]]))
}
