//! From a frame to what a queue needs: who sends to whom, the length on the wire, the ECN
//! codepoint.
//!
//! ```
//! use tidegate_packet::{Frame, LinkType, Transport};
//! // Two MAC addresses, EtherType IPv4, and an IPv4 header that a snap length has cut off from its
//! // TCP header.
//! let mut bytes = [0u8; 34];
//! bytes[12..14].copy_from_slice(&[0x08, 0x00]);
//! bytes[14..16].copy_from_slice(&[0x45, 0x02]); // version 4, five words; ECT(0)
//! bytes[16..18].copy_from_slice(&[0x05, 0xdc]); // 1500 bytes in all
//! bytes[23] = 6;
//! let frame = Frame::parse(LinkType::Ethernet, &bytes, 1514);
//! assert_eq!((frame.len, frame.ecn), (1514, tidegate::Ecn::Ect0));
//! assert_eq!(frame.ends.transport, Transport::Portless { protocol: 6 });
//! ```
use core::fmt;

use tidegate::Ecn;

use crate::ends::{Address, Ends, Transport};
use crate::header::{LinkHeader, MacPair, NextHeader, array, be16};
use crate::ip::{self, Ip};
use crate::wifi;

/// What stands before the network header of a frame: the `LINKTYPE_` values of the capture formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkType {
    /// Ethernet, with any number (up to eight) of VLAN tags: code 1.
    Ethernet,
    /// Nothing: the frame begins with its IPv4 or IPv6 header. Codes 101, 228, 229, and 12 and 14
    /// of some systems.
    Raw,
    /// Linux "cooked" captures, version 1: code 113.
    LinuxSll,
    /// Linux "cooked" captures, version 2: code 276.
    LinuxSll2,
    /// BSD's loopback, macOS's too: the address family in four bytes, in the order of the machine
    /// that captured it (code 0) or of the network (code 108).
    Loopback,
    /// PPP, bare or in the framing of HDLC, and Cisco's HDLC, which the first byte tells apart:
    /// codes 9, 50 and 104.
    Ppp,
    /// IEEE 802.11 (wireless): code 105.
    Ieee80211,
    /// The same behind a radiotap header: code 127.
    Radiotap,
}

/// A link type whose frames cannot be read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsupportedLinkType(
    /// Its code in the capture formats.
    pub u32,
);

impl LinkType {
    /// Every link type that can be read.
    pub const ALL: [LinkType; 8] = [
        LinkType::Ethernet,
        LinkType::Raw,
        LinkType::LinuxSll,
        LinkType::LinuxSll2,
        LinkType::Loopback,
        LinkType::Ppp,
        LinkType::Ieee80211,
        LinkType::Radiotap,
    ];

    /// The link type with this code in the capture formats.
    ///
    /// # Errors
    /// When its frames cannot be read here.
    pub fn from_code(code: u32) -> Result<LinkType, UnsupportedLinkType> {
        match code {
            0 | 108 => Ok(LinkType::Loopback),
            1 => Ok(LinkType::Ethernet),
            9 | 50 | 104 => Ok(LinkType::Ppp),
            105 => Ok(LinkType::Ieee80211),
            127 => Ok(LinkType::Radiotap),
            12 | 14 | 101 | 228 | 229 => Ok(LinkType::Raw),
            113 => Ok(LinkType::LinuxSll),
            276 => Ok(LinkType::LinuxSll2),
            _ => Err(UnsupportedLinkType(code)),
        }
    }
}

impl UnsupportedLinkType {
    /// The name of the link type, where it is one that is met in practice.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            6 => "Token Ring",
            10 => "FDDI",
            51 => "PPPoE",
            119 => "IEEE 802.11 with Prism header",
            147..=162 => "a private one",
            163 => "IEEE 802.11 with AVS header",
            187 | 201 => "Bluetooth HCI",
            189 | 220 => "USB",
            192 => "PPI",
            195 | 230 => "IEEE 802.15.4",
            227 => "SocketCAN",
            249 => "USBPcap",
            253 => "Netlink",
            _ => return None,
        })
    }
}

impl fmt::Display for UnsupportedLinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link type {}", self.0)?;
        if let Some(name) = self.name() {
            write!(f, " ({name})")?;
        }
        f.write_str(
            " cannot be read; Ethernet (1), raw IP (101), Linux cooked captures (113, 276), BSD \
             loopback (0, 108), PPP (9, 50), Cisco HDLC (104) and IEEE 802.11 (105, with radiotap \
             127) can",
        )
    }
}

impl core::error::Error for UnsupportedLinkType {}

/// What a queue needs to know of a frame, and where its IP header stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// Length on the wire, in bytes, link header included; without what the capturing machine put
    /// before it (the headers of radiotap and of BSD's loopback).
    pub len: u32,
    /// ECN codepoint of the (outermost) IP header; Not-ECT for what is not IP.
    pub ecn: Ecn,
    /// Who sends to whom.
    pub ends: Ends,
    /// The IP header, if there is a whole one.
    pub(crate) ip: Option<Ip>,
}

impl Frame {
    /// Reads `bytes`, the captured beginning of a frame of `wire_len` bytes on a link of type
    /// `link`.
    ///
    /// It refuses no frame: what cannot be read for want of bytes or of sense counts as what was
    /// read up to there. An IP header that is cut short or malformed leaves a frame that is not IP.
    /// A TCP or UDP header that is cut off leaves an IP packet without ports. VLAN tags are passed
    /// over and are no part of a flow.
    pub fn parse(link: LinkType, bytes: &[u8], wire_len: u32) -> Frame {
        let LinkHeader { macs, next, unsent } = match link {
            LinkType::Ethernet => ethernet(bytes),
            _ => other_than_ethernet(link, bytes),
        };
        // A header that claims to be longer than its frame is not believed.
        let len = wire_len.checked_sub(unsent).unwrap_or(wire_len);
        let next = behind_tags(bytes, next);
        let parsed = match next.ethertype {
            Some(IPV4) => ip::v4(bytes, next.at),
            Some(IPV6) => ip::v6(bytes, next.at),
            _ => None,
        };
        match parsed {
            Some((ip, ecn, ends)) => Frame { len, ecn, ends, ip: Some(ip) },
            None => {
                // A length in place of a type (IEEE 802.3) differs from frame to frame and names no
                // protocol.
                let ethertype = next.ethertype.filter(|&e| e >= LEAST_ETHERTYPE).unwrap_or(0);
                let transport = Transport::NotIp { ethertype };
                let ends = Ends {
                    source: Address::Mac(macs.source),
                    destination: Address::Mac(macs.destination),
                    transport,
                };
                Frame { len, ecn: Ecn::NotEct, ends, ip: None }
            }
        }
    }

    /// Where the IP header begins, in bytes from the beginning of the frame; `None` for a frame
    /// that is not IP.
    pub fn ip_offset(&self) -> Option<usize> {
        self.ip.map(|ip| ip.at())
    }
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// IEEE 802.3: smaller values are lengths.
const LEAST_ETHERTYPE: u16 = 0x0600;
/// IEEE 802.1Q, 802.1ad (QinQ), and the type QinQ had before it had one.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// More tags than any network stacks; a frame of nothing but tags is not worth the walk.
const MOST_TAGS: usize = 8;

/// Apart, so that what the gateway asks of every frame stays as small as it is.
#[inline(never)]
fn other_than_ethernet(link: LinkType, bytes: &[u8]) -> LinkHeader {
    match link {
        LinkType::Ethernet => ethernet(bytes),
        LinkType::Raw => raw(bytes),
        LinkType::LinuxSll => cooked(bytes, 6, NextHeader { ethertype: be16(bytes, 14), at: 16 }),
        LinkType::LinuxSll2 => cooked(bytes, 12, NextHeader { ethertype: be16(bytes, 0), at: 20 }),
        LinkType::Loopback => loopback(bytes),
        LinkType::Ppp => ppp(bytes),
        LinkType::Ieee80211 => wifi::bare(bytes),
        LinkType::Radiotap => wifi::radiotap(bytes),
    }
}

fn ethernet(bytes: &[u8]) -> LinkHeader {
    let macs = MacPair {
        destination: array(bytes, 0).unwrap_or_default(),
        source: array(bytes, 6).unwrap_or_default(),
    };
    LinkHeader { macs, next: NextHeader { ethertype: be16(bytes, 12), at: 14 }, unsent: 0 }
}

/// A cooked capture keeps the sender's address only, at `at`; shorter ones are padded with zeros.
fn cooked(bytes: &[u8], at: usize, next: NextHeader) -> LinkHeader {
    let macs = MacPair { source: array(bytes, at).unwrap_or_default(), destination: [0; 6] };
    LinkHeader { macs, next, unsent: 0 }
}

fn raw(bytes: &[u8]) -> LinkHeader {
    let ethertype = match bytes.first().map(|b| b >> 4) {
        Some(4) => Some(IPV4),
        Some(6) => Some(IPV6),
        _ => None,
    };
    LinkHeader { next: NextHeader { ethertype, at: 0 }, ..LinkHeader::default() }
}

/// The number of IPv4's family is the same everywhere. IPv6's is NetBSD's and OpenBSD's, FreeBSD's,
/// macOS's, or that of Linux or Windows.
fn loopback(bytes: &[u8]) -> LinkHeader {
    let ethertype = array(bytes, 0).and_then(|family| {
        // Families are small numbers: whichever order makes one of it is the machine's.
        match u32::from_le_bytes(family).min(u32::from_be_bytes(family)) {
            2 => Some(IPV4),
            24 | 28 | 30 | 10 | 23 => Some(IPV6),
            _ => None,
        }
    });
    LinkHeader { next: NextHeader { ethertype, at: 4 }, unsent: 4, ..LinkHeader::default() }
}

/// RFC 1661 and 1662: perhaps two bytes of framing, then a protocol of two bytes, or of one, which
/// is odd then. Cisco's HDLC has other framing and an EtherType (RFC 1547 §4.3.1).
fn ppp(bytes: &[u8]) -> LinkHeader {
    let next = match array(bytes, 0) {
        Some([0x0f | 0x8f, 0]) => NextHeader { ethertype: be16(bytes, 2), at: 4 },
        Some([0xff, 3]) => behind_ppp(bytes, 2),
        _ => behind_ppp(bytes, 0),
    };
    LinkHeader { next, ..LinkHeader::default() }
}

fn behind_ppp(bytes: &[u8], at: usize) -> NextHeader {
    let (protocol, len) = match bytes.get(at) {
        Some(&byte) if byte & 1 == 1 => (Some(byte as u16), 1),
        _ => (be16(bytes, at), 2),
    };
    let ethertype = match protocol {
        Some(0x0021) => Some(IPV4),
        Some(0x0057) => Some(IPV6),
        _ => None, // its own protocols have numbers that are no EtherTypes
    };
    NextHeader { ethertype, at: at + len }
}

/// Passes over VLAN tags: two bytes of tag, then the EtherType of what follows.
fn behind_tags(bytes: &[u8], mut next: NextHeader) -> NextHeader {
    for _ in 0..MOST_TAGS {
        if !next.ethertype.is_some_and(is_tag) {
            break;
        }
        let Some(inner) = be16(bytes, next.at + 2) else { break };
        next = NextHeader { ethertype: Some(inner), at: next.at + 4 };
    }
    next
}

/// Whether this type says that a VLAN tag follows.
pub(crate) fn is_tag(ethertype: u16) -> bool {
    TAGS.contains(&ethertype)
}
