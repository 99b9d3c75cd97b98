//! IEEE 802.11 frames, with and without the radiotap header that capturing programs put before
//! them.
//!
//! Read by IEEE 802.11-2020 §9.2 to 9.3 (frames), RFC 1042 (what stands before an IP header) and
//! radiotap.org (its header). Data frames that are whole and not encrypted are read down to their
//! packet; of several packets in one frame (A-MSDU) the first stands for all. Everything else is
//! known by its addresses.
use crate::header::{LinkHeader, MacPair, NextHeader, array, be16};

/// What radiotap says of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Remarks {
    /// The frame's header is filled up to a multiple of four bytes.
    padded: bool,
    /// The check sum was wrong, so nothing behind the addresses is worth reading.
    broken: bool,
}

/// Radiotap: version 0, a byte of padding, the header's length, a set of the fields that follow.
pub(crate) fn radiotap(bytes: &[u8]) -> LinkHeader {
    let (Some(0), Some(len)) = (bytes.first(), le16(bytes, 2)) else {
        return LinkHeader::default();
    };
    let beginning = wifi(bytes, len as usize, remarks(&bytes[..bytes.len().min(len as usize)]));
    // The header was made by whoever captured the frame; it took no time on the air.
    LinkHeader { unsent: len as u32, ..beginning }
}

/// A frame without a header before it.
pub(crate) fn bare(bytes: &[u8]) -> LinkHeader {
    wifi(bytes, 0, Remarks::default())
}

/// The field of flags, the second of the set, within the radiotap header `header`.
fn remarks(header: &[u8]) -> Remarks {
    const ANOTHER_SET: u32 = 1 << 31;
    const TIME: u32 = 1;
    const FLAGS: u32 = 2;
    let mut at = 4;
    let first = le32(header, at).unwrap_or(0);
    let mut set = first;
    at += 4;
    while set & ANOTHER_SET != 0 {
        let Some(next) = le32(header, at) else { return Remarks::default() };
        set = next;
        at += 4;
    }
    if first & TIME != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    match header.get(at) {
        Some(flags) if first & FLAGS != 0 => {
            Remarks { padded: flags & 0x20 != 0, broken: flags & 0x40 != 0 }
        }
        _ => Remarks::default(),
    }
}

const MANAGEMENT: u8 = 0;
const CONTROL: u8 = 1;
const DATA: u8 = 2;
/// Frames that have the receiver's address alone: clear to send, acknowledgement.
const WITHOUT_SENDER: [u8; 2] = [12, 13];

/// The frame that begins at `at`.
fn wifi(bytes: &[u8], at: usize, remarks: Remarks) -> LinkHeader {
    let Some([control, flags]) = array(bytes, at) else { return LinkHeader::default() };
    let address = |n: usize| array(bytes, at + n).unwrap_or_default();
    let (kind, subtype) = (control >> 2 & 3, control >> 4);
    let pair = |destination, source| MacPair { destination, source };
    match kind {
        _ if control & 3 != 0 => LinkHeader::default(), // another version of the protocol
        CONTROL if WITHOUT_SENDER.contains(&subtype) => {
            LinkHeader::known_by(pair(address(4), [0; 6]))
        }
        MANAGEMENT | CONTROL => LinkHeader::known_by(pair(address(4), address(10))),
        DATA => {
            let (to_system, from_system) = (flags & 1 != 0, flags & 2 != 0);
            let macs = match (to_system, from_system) {
                (false, false) => pair(address(4), address(10)),
                (false, true) => pair(address(4), address(16)),
                (true, false) => pair(address(16), address(10)),
                (true, true) => pair(address(16), address(24)),
            };
            let next = if remarks.broken { None } else { payload(bytes, at, remarks.padded) };
            match next {
                Some((next, inner)) => LinkHeader { macs: inner.unwrap_or(macs), next, unsent: 0 },
                None => LinkHeader::known_by(macs),
            }
        }
        _ => LinkHeader::default(),
    }
}

/// What the data frame at `at` carries, and between whom if it says so again; `None` where that
/// cannot be read.
fn payload(bytes: &[u8], at: usize, padded: bool) -> Option<(NextHeader, Option<MacPair>)> {
    let [control, flags] = array(bytes, at)?;
    let empty = control & 0x40 != 0;
    let encrypted = flags & 0x40 != 0;
    let later_fragment = le16(bytes, at + 22)? & 0xf != 0;
    if empty || encrypted || later_fragment {
        return None;
    }
    let with_quality = control & 0x80 != 0;
    let quality_at: usize = if flags & 3 == 3 { 30 } else { 24 };
    let header = match (with_quality, flags & 0x80 != 0) {
        (false, _) => quality_at,
        (true, false) => quality_at + 2,
        (true, true) => quality_at + 6, // the field of high throughput, too
    };
    let body = at + if padded { header.next_multiple_of(4) } else { header };
    let several = with_quality && bytes.get(at + quality_at)? & 0x80 != 0;
    if !several {
        return Some((behind_llc(bytes, body)?, None));
    }
    // Each packet of several has addresses and a length before it.
    let macs = MacPair { destination: array(bytes, body)?, source: array(bytes, body + 6)? };
    Some((behind_llc(bytes, body + 14)?, Some(macs)))
}

/// Behind LLC and SNAP (RFC 1042, or the bridge tunnel of IEEE 802.1H): an EtherType.
fn behind_llc(bytes: &[u8], at: usize) -> Option<NextHeader> {
    match array(bytes, at)? {
        [0xaa, 0xaa, 3, 0, 0, 0 | 0xf8] => {
            Some(NextHeader { ethertype: Some(be16(bytes, at + 6)?), at: at + 8 })
        }
        _ => None,
    }
}

fn le16(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}
