//! IPv4 and IPv6 headers: addresses, protocol, ports, fragments, ECN.
use tidegate::Ecn;

use crate::ends::{Address, Ends, Transport};
use crate::header::{array, be16};

/// Where the IP header of a frame begins, and which one it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ip {
    V4 { at: usize },
    V6 { at: usize },
}

impl Ip {
    pub(crate) fn at(self) -> usize {
        match self {
            Ip::V4 { at } | Ip::V6 { at } => at,
        }
    }

    /// Where the header after this one begins in `bytes`, and how long what begins there is; of a
    /// frame of `frame_len` bytes. `None` behind IPv6's extension headers, and for a header that is
    /// not whole.
    pub(crate) fn transport(self, bytes: &[u8], frame_len: u32) -> Option<(usize, usize)> {
        let at = self.at();
        let (header, stated) = match self {
            Ip::V4 { .. } => ((*bytes.get(at)? & 0x0f) as usize * 4, be16(bytes, at + 2)? as usize),
            Ip::V6 { .. } if !matches!(bytes.get(at + 6)?, 6 | 17) => return None,
            Ip::V6 { .. } => (40, be16(bytes, at + 4)? as usize),
        };
        let length = match (self, stated) {
            // A segment that a network card is to cut up does not say how long it is.
            (_, 0) => (frame_len as usize).saturating_sub(at + header),
            (Ip::V4 { .. }, total) => total.saturating_sub(header),
            (Ip::V6 { .. }, payload) => payload,
        };
        Some((at + header, length))
    }
}

/// The protocol number of IPv6's fragment header, under which every fragment of an IPv6 packet
/// goes.
const IPV6_FRAGMENT: u8 = 44;
/// More extension headers than a packet has any use for (RFC 8200 §4.1 knows of seven); the walk
/// stops there.
const MOST_EXTENSIONS: usize = 16;

/// Reads the IPv4 header at `at`; `None` when it is cut short or malformed.
pub(crate) fn v4(bytes: &[u8], at: usize) -> Option<(Ip, Ecn, Ends)> {
    let header: [u8; 20] = array(bytes, at)?;
    let header_len = (header[0] & 0x0f) as usize * 4;
    if header[0] >> 4 != 4 || header_len < 20 {
        return None;
    }
    let protocol = header[9];
    let total = u16::from_be_bytes([header[2], header[3]]) as usize;
    let fragment = u16::from_be_bytes([header[6], header[7]]);
    // More fragments follow, or this is not the first.
    let transport = if fragment & 0x3fff != 0 {
        Transport::Fragment { protocol }
    } else {
        transport(within(bytes, at, total), at + header_len, protocol)
    };
    let ends = Ends {
        source: Address::V4([header[12], header[13], header[14], header[15]]),
        destination: Address::V4([header[16], header[17], header[18], header[19]]),
        transport,
    };
    Some((Ip::V4 { at }, Ecn::from_bits(header[1]), ends))
}

/// Reads the IPv6 header at `at` and the extension headers behind it; `None` when it is cut short
/// or malformed.
pub(crate) fn v6(bytes: &[u8], at: usize) -> Option<(Ip, Ecn, Ends)> {
    let header: [u8; 40] = array(bytes, at)?;
    if header[0] >> 4 != 6 {
        return None;
    }
    let payload = u16::from_be_bytes([header[4], header[5]]) as usize;
    let total = if payload == 0 { 0 } else { 40 + payload };
    let ends = Ends {
        source: Address::V6(array(&header, 8)?),
        destination: Address::V6(array(&header, 24)?),
        transport: behind_extensions(within(bytes, at, total), at + 40, header[6]),
    };
    Some((Ip::V6 { at }, Ecn::from_bits(header[1] >> 4), ends))
}

/// `bytes` up to the end of the packet that begins at `at` and is `total` long: what follows is
/// padding. A length of zero stands in packets longer than the field can say (jumbograms, segments
/// a network card is to cut up).
fn within(bytes: &[u8], at: usize, total: usize) -> &[u8] {
    if total == 0 {
        return bytes;
    }
    &bytes[..bytes.len().min(at + total)]
}

fn behind_extensions(bytes: &[u8], mut at: usize, mut next: u8) -> Transport {
    for _ in 0..MOST_EXTENSIONS {
        if next == IPV6_FRAGMENT && !is_whole(bytes, at) {
            return Transport::Fragment { protocol: IPV6_FRAGMENT };
        }
        let Some([following, length]) = array(bytes, at) else { break };
        let header_len = match next {
            // Hop-by-hop options, routing, destination options, mobility, host identity, shim6.
            0 | 43 | 60 | 135 | 139 | 140 => (length as usize + 1) * 8,
            // The authentication header counts in other units (RFC 4302 §2.2).
            51 => (length as usize + 2) * 4,
            IPV6_FRAGMENT => 8,
            _ => break,
        };
        (at, next) = (at + header_len, following);
    }
    transport(bytes, at, next)
}

/// Whether the fragment header at `at` belongs to a "fragment" that is the whole packet (RFC 6946).
fn is_whole(bytes: &[u8], at: usize) -> bool {
    be16(bytes, at + 2).is_some_and(|fragment| fragment & 0xfff9 == 0)
}

/// The ports, for the protocols that begin with them (TCP, UDP, DCCP, SCTP, UDP-Lite).
fn transport(bytes: &[u8], at: usize, protocol: u8) -> Transport {
    let ports = match protocol {
        6 | 17 | 33 | 132 | 136 => be16(bytes, at).zip(be16(bytes, at + 2)),
        _ => None,
    };
    match ports {
        Some((source, destination)) => Transport::Ports { protocol, source, destination },
        None => Transport::Portless { protocol },
    }
}
