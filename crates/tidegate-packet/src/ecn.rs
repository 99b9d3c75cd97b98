//! Marking a real frame: the ECN codepoint set to CE, the IPv4 header checksum with it.
use crate::frame::Frame;
use crate::ip::Ip;

/// What came of an attempt to mark a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The codepoint was ECT(0) or ECT(1) and is CE now.
    Set,
    /// It was CE already; nothing has changed.
    Already,
    /// The sender does not speak ECN; nothing has changed.
    NotCapable,
    /// The frame has no IP header; nothing has changed.
    NotIp,
}

/// Sets the ECN codepoint of `bytes` to CE. `frame` is what [`Frame::parse`] made of these same
/// bytes.
///
/// The IPv4 header checksum is updated by difference (RFC 1624, equation 3), so that one that was
/// wrong before is wrong after and the receiver still sees the damage. IPv6 has none, and no
/// transport checksum covers the field.
///
/// ```
/// use tidegate_packet::{Frame, LinkType, Mark, set_ce};
/// let mut bytes = *b"\x45\x02\0\x28\0\0\x40\0\x40\x06\x26\xcd\x0a\0\0\x01\x0a\0\0\x02";
/// let frame = Frame::parse(LinkType::Raw, &bytes, 40);
/// assert_eq!(set_ce(&mut bytes, &frame), Mark::Set);
/// assert_eq!(bytes[..2], [0x45, 0x03]);
/// assert_eq!(bytes[10..12], [0x26, 0xcc]);
/// ```
pub fn set_ce(bytes: &mut [u8], frame: &Frame) -> Mark {
    match frame.ip {
        None => Mark::NotIp,
        Some(Ip::V4 { at }) => match bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            Some(header) => set_ce_v4(header),
            None => Mark::NotIp,
        },
        Some(Ip::V6 { at }) => match bytes.get_mut(at + 1) {
            Some(byte) => set_bits(byte, 0x30),
            None => Mark::NotIp,
        },
    }
}

fn set_ce_v4(header: &mut [u8; 20]) -> Mark {
    let old = u16::from_be_bytes([header[0], header[1]]);
    let mark = set_bits(&mut header[1], 0x03);
    if mark == Mark::Set {
        let new = u16::from_be_bytes([header[0], header[1]]);
        let checksum = u16::from_be_bytes([header[10], header[11]]);
        header[10..12].copy_from_slice(&updated(checksum, old, new).to_be_bytes());
    }
    mark
}

fn set_bits(byte: &mut u8, mask: u8) -> Mark {
    match *byte & mask {
        0 => Mark::NotCapable,
        bits if bits == mask => Mark::Already,
        _ => {
            *byte |= mask;
            Mark::Set
        }
    }
}

/// The checksum after a word it covers changed from `old` to `new`: HC' = ~(~HC + ~m + m').
fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = !checksum as u32 + !old as u32 + new as u32;
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16)
}

/// The checksum of an IPv4 `header` from all its words, the checksum field itself taken as zero
/// (RFC 1071). `header` is cut or extended to whole words with zeros.
pub fn ipv4_checksum(header: &[u8]) -> u16 {
    let mut sum = 0u32;
    for (i, pair) in header.chunks(2).enumerate() {
        if i != 5 {
            sum += u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]) as u32;
            sum = (sum & 0xffff) + (sum >> 16);
        }
    }
    !(sum as u16)
}
