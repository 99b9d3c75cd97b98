//! What a TCP segment says to somebody who watches its connection pass.
//!
//! ```
//! use tidegate_packet::{Frame, LinkType, tcp::Segment};
//! let mut bytes = [0u8; 40];
//! bytes[0] = 0x45; // IPv4, five words
//! bytes[3] = 140; // bytes in all, of which 40 were captured
//! bytes[9] = 6;
//! bytes[27] = 7; // sequence number
//! (bytes[32], bytes[33]) = (0x50, 0x10); // five words; ACK
//! let frame = Frame::parse(LinkType::Raw, &bytes, 140);
//! let segment = Segment::of(&frame, &bytes).unwrap();
//! assert_eq!((segment.seq, segment.payload, segment.ack), (7, 100, Some(0)));
//! ```
use tidegate::Ack;

use crate::ends::Transport;
use crate::frame::Frame;
use crate::header::array;

/// A TCP segment's numbers. Sequence numbers and time stamps wrap around at 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The sequence number of its first byte.
    pub seq: u32,
    /// Up to which byte the sender has received everything, if it says so.
    pub ack: Option<u32>,
    /// Bytes of data.
    pub payload: u32,
    /// Whether it opens a connection (SYN).
    pub opens: bool,
    /// Whether it ends one (FIN or RST).
    pub ends: bool,
    /// Its time stamp and the one that it echoes (RFC 7323): TSval and TSecr.
    pub stamps: Option<(u32, u32)>,
}

const TCP: u8 = 6;
const LEAST_HEADER: usize = 20;
const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;
/// ECE and CWR are the two bits from here on (RFC 3168 §6.1).
const ECHO: u32 = 6;
/// Reserved bits of the byte that has the header's length.
const RESERVED: u8 = 0xf;
// Kinds of options: the two without a length, and the time stamps.
const END: u8 = 0;
const PAD: u8 = 1;
const STAMPS: u8 = 8;
// Selective acknowledgements (RFC 2018), and a signature (RFC 2385), which says nothing.
const BLOCKS: u8 = 5;
const SIGNATURE: u8 = 19;

impl Segment {
    /// The segment in `frame`, which was read from `bytes`; `None` if it is not TCP, or its header
    /// is cut short.
    pub fn of(frame: &Frame, bytes: &[u8]) -> Option<Segment> {
        if !matches!(frame.ends.transport, Transport::Ports { protocol: TCP, .. }) {
            return None;
        }
        let (at, whole) = frame.ip?.transport(bytes, frame.len)?;
        let header: [u8; LEAST_HEADER] = array(bytes, at)?;
        let header_len = (header[12] >> 4) as usize * 4;
        if header_len < LEAST_HEADER {
            return None;
        }
        let number = |at: usize| u32::from_be_bytes(array(&header, at).unwrap_or_default());
        let flags = header[13];
        let options = bytes.get(at + LEAST_HEADER..bytes.len().min(at + header_len));
        Some(Segment {
            seq: number(4),
            ack: (flags & ACK != 0).then(|| number(8)),
            payload: whole.saturating_sub(header_len) as u32,
            opens: flags & SYN != 0,
            ends: flags & (FIN | RST) != 0,
            stamps: stamps(options.unwrap_or_default()),
        })
    }
}

/// What the TCP segment in `frame`, which was read from `bytes`, acknowledges, as one of
/// `connection`; `None` if it opens one or acknowledges nothing.
///
/// It says more if it has data, flags beside ACK, ECE and CWR, reserved bits, or an option that is
/// not a time stamp, a signature or selective acknowledgements.
pub(crate) fn ack(frame: &Frame, bytes: &[u8], connection: u64) -> Option<Ack> {
    let segment = Segment::of(frame, bytes)?;
    let number = segment.ack.filter(|_| !segment.opens)?;
    let (at, _) = frame.ip?.transport(bytes, frame.len)?;
    let [length, flags]: [u8; 2] = array(bytes, at + 12)?;
    let whole = bytes.get(at + LEAST_HEADER..at + (length >> 4) as usize * 4);
    let mut blocks = [[0; 2]; 4];
    let count = whole.and_then(|options| known(options, &mut blocks));
    let ack = Ack::new(connection, number)
        .with_echo(flags >> ECHO)
        .with_stamps(segment.stamps.map(|(own, echoed)| [own, echoed]))
        .with_blocks(&blocks[..count.unwrap_or(0)]);
    let plain = segment.payload == 0
        && length & RESERVED == 0
        && flags & ((1 << ECHO) - 1) == ACK
        && count.is_some();
    Some(if plain { ack } else { ack.saying_more() })
}

/// How many `blocks` a header's `options` acknowledge; `None` if some option is not known.
fn known(options: &[u8], blocks: &mut [[u32; 2]; 4]) -> Option<usize> {
    let mut options = Options(options);
    let mut count = 0;
    for (kind, data) in options.by_ref() {
        let data = data?;
        match (kind, data.len()) {
            (STAMPS, 8) | (SIGNATURE, 16) => {}
            (BLOCKS, bytes) if bytes % 8 == 0 => {
                for block in data.chunks_exact(8) {
                    let number = |at| array(block, at).map(u32::from_be_bytes);
                    *blocks.get_mut(count)? = [number(0)?, number(4)?];
                    count += 1;
                }
            }
            _ => return None,
        }
    }
    options.are_read().then_some(count)
}

/// The time stamps among a header's `options`.
fn stamps(options: &[u8]) -> Option<(u32, u32)> {
    let data = Options(options)
        .find_map(|(kind, data)| data.filter(|data| kind == STAMPS && data.len() == 8))?;
    let number = |at| array(data, at).map(u32::from_be_bytes);
    Some((number(0)?, number(4)?))
}

/// A header's options with a length, by kind, each with its data, or none if the length is
/// impossible. They end at the end of options, or at one that is cut off.
struct Options<'a>(&'a [u8]);

impl Options<'_> {
    /// Whether nothing is left but padding.
    fn are_read(&self) -> bool {
        matches!(self.0, [] | [END, ..])
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u8, Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        while let [PAD, rest @ ..] = self.0 {
            self.0 = rest;
        }
        let (kind, length) = match *self.0 {
            [] | [END, ..] | [_] => return None,
            [kind, length, ..] => (kind, length as usize),
        };
        let (option, rest) = self.0.split_at_checked(length.max(2))?;
        self.0 = rest;
        Some((kind, (length >= 2).then(|| &option[2..])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::LinkType;

    /// An IPv4 segment of `payload` bytes with these flags and options, its payload cut off.
    fn packet(flags: u8, options: &[u8], payload: u16) -> Vec<u8> {
        let words = 5 + options.len().div_ceil(4);
        let total = 20 + words as u16 * 4 + payload;
        let mut bytes = vec![0x45, 0];
        bytes.extend(total.to_be_bytes());
        bytes.extend([0, 0, 0, 0, 64, TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend([0, 80, 1, 0, 0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 9]);
        bytes.extend([(words as u8) << 4, flags, 0, 0, 0, 0, 0, 0]);
        bytes.extend(options);
        bytes.resize(20 + words * 4, 0);
        bytes
    }

    fn read(bytes: &[u8], wire: u32) -> Option<Segment> {
        Segment::of(&Frame::parse(LinkType::Raw, bytes, wire), bytes)
    }

    #[test]
    fn numbers_flags_and_stamps() {
        let options = [PAD, PAD, STAMPS, 10, 0, 0, 1, 0, 0, 0, 0, 5];
        let segment = read(&packet(ACK, &options, 1000), 1052).unwrap();
        let expected = Segment {
            seq: 0xffff_fff0,
            ack: Some(9),
            payload: 1000,
            opens: false,
            ends: false,
            stamps: Some((256, 5)),
        };
        assert_eq!(segment, expected);
        let syn = read(&packet(SYN, &[2, 4, 5, 180], 0), 44).unwrap();
        assert_eq!((syn.opens, syn.ends, syn.ack, syn.stamps), (true, false, None, None));
        assert!(read(&packet(RST, &[], 0), 40).unwrap().ends);
        assert!(read(&packet(FIN | ACK, &[], 0), 40).unwrap().ends);
    }

    fn ack_of(bytes: &[u8], wire: u32) -> Option<Ack> {
        ack(&Frame::parse(LinkType::Raw, bytes, wire), bytes, 7)
    }

    #[test]
    fn what_is_acknowledged() {
        assert_eq!(ack_of(&packet(ACK, &[], 0), 60), Some(Ack::new(7, 9)));
        let stamps = [PAD, PAD, STAMPS, 10, 0, 0, 1, 0, 0, 0, 0, 5];
        let stamped = Ack::new(7, 9).with_stamps(Some([256, 5]));
        assert_eq!(ack_of(&packet(ACK, &stamps, 0), 60), Some(stamped));
        assert_eq!(ack_of(&packet(ACK, &stamps, 8), 60), Some(stamped.saying_more()));
        let echo = Ack::new(7, 9).with_echo(1);
        assert_eq!(ack_of(&packet(ACK | 0x40, &[], 0), 60), Some(echo));
        let blocks = [PAD, PAD, BLOCKS, 18, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0];
        let selective = Ack::new(7, 9).with_blocks(&[[256, 512], [768, 1024]]);
        assert_eq!(ack_of(&packet(ACK, &blocks, 0), 60), Some(selective));
    }

    /// Whatever is not known to say nothing says more; what opens a connection acknowledges
    /// nothing.
    #[test]
    fn what_says_more_than_it_acknowledges() {
        for flags in [FIN, RST, 8, 32] {
            assert!(!ack_of(&packet(ACK | flags, &[], 0), 60).unwrap().is_pure(), "{flags}");
        }
        for options in
            [&[253, 4, 0, 0][..], &[BLOCKS, 6, 0, 0, 0, 0], &[STAMPS, 0], &[2, 4, 5, 180]]
        {
            assert!(!ack_of(&packet(ACK, options, 0), 60).unwrap().is_pure(), "{options:?}");
        }
        let mut reserved = packet(ACK, &[], 0);
        reserved[32] |= 1;
        assert!(!ack_of(&reserved, 60).unwrap().is_pure());
        assert_eq!(ack_of(&packet(ACK | SYN, &[], 0), 60), None);
        assert_eq!(ack_of(&packet(RST, &[], 0), 60), None);
        // Options that a snap length has cut off.
        let cut = packet(ACK, &[PAD, PAD, STAMPS, 10, 0, 0, 1, 0, 0, 0, 0, 5], 0);
        assert!(!ack_of(&cut[..44], 60).unwrap().is_pure());
    }

    #[test]
    fn padding_is_no_payload_and_a_header_cut_short_no_segment() {
        let bytes = packet(ACK, &[], 0);
        assert_eq!(read(&bytes, 60).unwrap().payload, 0, "as Ethernet pads short frames");
        for cut in 24..bytes.len() {
            assert_eq!(read(&bytes[..cut], 60), None);
        }
        let odd = packet(ACK, &[STAMPS, 10, 0, 0], 0);
        assert_eq!(read(&odd, 60).unwrap().stamps, None);
        let endless = packet(ACK, &[3, 0, 3, 0], 0);
        assert_eq!(read(&endless, 60).unwrap().stamps, None);
    }
}
