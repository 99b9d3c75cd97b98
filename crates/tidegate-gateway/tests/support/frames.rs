//! Frames of every kind that a wire carries, made by hand from the headers' definitions.
#![allow(dead_code, reason = "each test takes what it needs")]
use tidegate::{Ecn, Rng};

/// Bytes at the end of a frame that say which flow it belongs to, and which of its frames it is.
pub const LABEL: usize = 6;

/// What a flow's frames are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Udp4,
    Tcp4,
    Udp6,
    HopByHop6,
    Tagged4,
    DoubleTagged6,
    Fragment4,
    Fragment6,
    Arp,
    Unknown,
    Length8023,
}

impl Kind {
    pub const ALL: [Kind; 11] = [
        Kind::Udp4,
        Kind::Tcp4,
        Kind::Udp6,
        Kind::HopByHop6,
        Kind::Tagged4,
        Kind::DoubleTagged6,
        Kind::Fragment4,
        Kind::Fragment6,
        Kind::Arp,
        Kind::Unknown,
        Kind::Length8023,
    ];

    /// Where the IP header of such a frame begins.
    pub fn ip_at(self) -> Option<usize> {
        match self {
            Kind::Udp4
            | Kind::Tcp4
            | Kind::Fragment4
            | Kind::Udp6
            | Kind::HopByHop6
            | Kind::Fragment6 => Some(14),
            Kind::Tagged4 => Some(18),
            Kind::DoubleTagged6 => Some(22),
            Kind::Arp | Kind::Unknown | Kind::Length8023 => None,
        }
    }
}

/// The kind of flow number `flow`.
pub fn kind(flow: u8) -> Kind {
    Kind::ALL[flow as usize % Kind::ALL.len()]
}

/// Frame number `number` of flow `flow`, about `len` bytes long: no shorter than its headers and
/// its label.
pub fn frame(dice: &mut Rng, flow: u8, number: u32, ecn: Ecn, len: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 1, flow, 2, 0, 0, 0, 2, flow];
    let kind = kind(flow);
    match kind {
        Kind::Tagged4 => frame.extend([0x81, 0x00, 0x60, 0x07, 0x08, 0x00]),
        Kind::DoubleTagged6 => {
            frame.extend([0x88, 0xa8, 0x00, 0x05, 0x81, 0x00, 0x20, 0x06, 0x86, 0xdd])
        }
        Kind::Udp4 | Kind::Tcp4 | Kind::Fragment4 => frame.extend([0x08, 0x00]),
        Kind::Udp6 | Kind::HopByHop6 | Kind::Fragment6 => frame.extend([0x86, 0xdd]),
        Kind::Arp => frame.extend([0x08, 0x06]),
        Kind::Unknown => frame.extend([0x12, 0x34]),
        Kind::Length8023 => frame.extend([0x00, 0x26]),
    }
    let ip_len = len.saturating_sub(frame.len());
    match kind {
        Kind::Udp4 | Kind::Tagged4 => ipv4(&mut frame, flow, ecn, 17, 0, ip_len),
        Kind::Tcp4 => ipv4(&mut frame, flow, ecn, 6, 0, ip_len),
        Kind::Fragment4 => ipv4(&mut frame, flow, ecn, 17, 0x2010, ip_len),
        Kind::Udp6 | Kind::DoubleTagged6 => ipv6(&mut frame, flow, ecn, &[], 17, ip_len),
        Kind::HopByHop6 => ipv6(&mut frame, flow, ecn, &[0, 17, 0, 1, 4, 0, 0, 0, 0], 17, ip_len),
        Kind::Fragment6 => {
            ipv6(&mut frame, flow, ecn, &[44, 17, 0, 0x05, 0xb9, 0, 0, 0, 9], 17, ip_len)
        }
        Kind::Arp | Kind::Unknown | Kind::Length8023 => {}
    }
    while frame.len() + LABEL < len {
        frame.push(dice.bits() as u8);
    }
    frame.push(0xaa);
    frame.push(flow);
    frame.extend(number.to_be_bytes());
    frame
}

/// A frame too short for any label: an Ethernet header and up to seven bytes.
pub fn runt(dice: &mut Rng) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 1, 0, 2, 0, 0, 0, 2, 0, 0x12, 0x34];
    frame.extend((0..dice.below(8)).map(|_| dice.bits() as u8));
    frame
}

/// The flow and the number that a frame's label says.
pub fn label(frame: &[u8]) -> Option<(u8, u32)> {
    let [0xaa, flow, number @ ..] = *frame.last_chunk::<LABEL>()? else { return None };
    Some((flow, u32::from_be_bytes(number)))
}

fn ipv4(frame: &mut Vec<u8>, flow: u8, ecn: Ecn, protocol: u8, fragment: u16, len: usize) {
    let begin = frame.len();
    let total = (len.max(28 + LABEL) as u16).to_be_bytes();
    let [high, low] = fragment.to_be_bytes();
    frame.extend([0x45, ecn as u8, total[0], total[1], 0, flow, high, low, 64, protocol, 0, 0]);
    frame.extend([10, 0, 0, flow, 10, 0, 1, 1]);
    let sum: u32 = frame[begin..].chunks(2).map(|w| u16::from_be_bytes([w[0], w[1]]) as u32).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !(((folded & 0xffff) + (folded >> 16)) as u16);
    frame[begin + 10..begin + 12].copy_from_slice(&checksum.to_be_bytes());
    frame.extend([0x13, flow, 0x00, 0x35, 0, 0, 0, 0]);
}

fn ipv6(frame: &mut Vec<u8>, flow: u8, ecn: Ecn, extension: &[u8], protocol: u8, len: usize) {
    let payload = (len.saturating_sub(40).max(extension.len() + 8 + LABEL) as u16).to_be_bytes();
    let next = extension.first().copied().unwrap_or(protocol);
    frame.extend([0x60, (ecn as u8) << 4, 0, 0, payload[0], payload[1], next, 64]);
    let address = |host: u8| [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host];
    frame.extend(address(flow));
    frame.extend(address(1));
    frame.extend(extension.get(1..).unwrap_or_default());
    frame.extend([0x13, flow, 0x00, 0x35, 0, 0, 0, 0]);
}
