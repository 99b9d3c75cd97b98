//! Capture files, packet by packet, in memory that does not grow with the file.
//!
//! | format | what is read |
//! |---|---|
//! | pcap | both byte orders, stamps in microseconds or nanoseconds |
//! | pcapng | both byte orders, any number of sections and interfaces (4096 to a section), each with its own link type, resolution (`if_tsresol`) and offset (`if_tsoffset`) of stamps; enhanced, simple and obsolete packet blocks; all other blocks are passed over |
//! | gzip | either of them, packed; several packed streams one behind the other; unpacked as it is read |
//!
//! Link types: see [`LinkType`]. Packets of an interface whose link type cannot be read are passed
//! over, and [`Capture::skipped`] counts and names them. Where there are no others, that is an
//! error at the end.
//!
//! **Time** is counted from the first packet. It never runs back: a packet stamped earlier than the
//! one before it gets that one's time, and [`Capture::backward`] counts it. A simple packet block
//! has no stamp and gets the time of the packet before it.
//!
//! **Lengths.** A frame may have up to [`MAX_FRAME`] captured bytes. The length on the wire is what
//! the file says, but never less than what was captured.
//!
//! **A damaged file** gives every packet before the damage, then one [`CaptureError`] that says at
//! which byte what is wrong, then nothing.
//!
//! ```
//! use tidegate_packet::Capture;
//! let file = [
//!     &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0][..], // microseconds
//!     &[0, 0, 0, 0, 96, 0, 0, 0, 1, 0, 0, 0], // Ethernet
//!     &[10, 0, 0, 0, 5, 0, 0, 0, 14, 0, 0, 0, 60, 0, 0, 0], // at 10.000005 s, 14 of 60 bytes
//!     &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x08, 0x06],
//!     &[10, 0, 0, 0, 9, 0], // the file ends in the midst of a record
//! ]
//! .concat();
//! let mut capture = Capture::from_reader(&file[..])?;
//! let packet = capture.next_packet()?.expect("there is one");
//! assert_eq!((packet.time.as_nanos(), packet.wire_len), (0, 60));
//! assert_eq!(packet.frame().ends.to_string(), "02:00:00:00:00:01 -> ff:ff:ff:ff:ff:ff arp");
//! let error = capture.next_packet().unwrap_err();
//! assert_eq!(error.offset, 54);
//! assert_eq!(error.to_string(), "the file ends 6 bytes into a record header (at byte 54, after 1 packet)");
//! # Ok::<(), tidegate_packet::CaptureError>(())
//! ```
mod clock;
mod error;
mod pcap;
mod pcapng;
mod skips;
mod source;

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use tidegate::Time;

use crate::frame::{Frame, LinkType};
use clock::Clock;
pub use error::{CaptureError, Fault, Within};
use pcap::Pcap;
use pcapng::PcapNg;
pub use skips::{Skipped, Skips};
use source::{CaptureSource, GZIP};

/// The most captured bytes a frame may have: what capturing programs allow for a snap length.
pub const MAX_FRAME: u32 = 262_144;
/// A length on the wire that no link has; a file that says more is damaged.
const MAX_WIRE_LEN: u32 = 1 << 24;
/// Reads from a file this many bytes at a time.
const READ_AHEAD: usize = 1 << 16;

/// A capture being read.
#[derive(Debug)]
pub struct Capture<R> {
    source: CaptureSource<R>,
    format: CaptureFormat,
    clock: Clock,
    /// The bytes of the current frame; at most [`MAX_FRAME`].
    frame: Vec<u8>,
    packets: u64,
    skips: Skips,
    state: State,
}

#[derive(Debug)]
enum CaptureFormat {
    Pcap(Pcap),
    PcapNg(PcapNg),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    Over,
}

/// A packet of a capture.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CapturedPacket<'a> {
    /// When it was captured, counted from the first packet.
    pub time: Time,
    /// What its frame begins with.
    pub link: LinkType,
    /// Its length on the wire, in bytes.
    pub wire_len: u32,
    /// What was captured of it.
    pub bytes: &'a [u8],
}

impl CapturedPacket<'_> {
    /// What a queue needs to know of it.
    pub fn frame(&self) -> Frame {
        Frame::parse(self.link, self.bytes, self.wire_len)
    }
}

/// What the formats have in common: a packet whose bytes are in the frame buffer.
struct Record {
    /// Nanoseconds since 1970; `None` where the format keeps no stamp.
    stamp: Option<i128>,
    link: LinkType,
    wire_len: u32,
    /// Where its header begins in the file.
    at: u64,
}

impl Capture<BufReader<File>> {
    /// Opens the capture file at `path`.
    ///
    /// # Errors
    /// When there is no such file, it cannot be read, or it does not begin as a capture does.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
        let path = path.as_ref();
        let cannot = |e: std::io::Error| CaptureError::open(path, e);
        if std::fs::metadata(path).map_err(cannot)?.is_dir() {
            return Err(CaptureError::directory(path));
        }
        let file = File::open(path).map_err(cannot)?;
        Capture::from_reader(BufReader::with_capacity(READ_AHEAD, file))
    }
}

impl<R: Read> Capture<R> {
    /// Begins to read a capture from `reader`, which had better be buffered.
    ///
    /// # Errors
    /// When it cannot be read or does not begin as a capture does.
    pub fn from_reader(reader: R) -> Result<Self, CaptureError> {
        let mut source = CaptureSource::new(reader)?;
        let format = read_format(&mut source).map_err(|error| error.after(0, source.within()))?;
        let (clock, skips) = (Clock::default(), Skips::default());
        Ok(Capture {
            source,
            format,
            clock,
            frame: Vec::new(),
            packets: 0,
            skips,
            state: State::Reading,
        })
    }

    /// The next packet; `None` at the end, and after an error.
    ///
    /// # Errors
    /// When the file is damaged, cut short or cannot be read, or all its packets are of link types
    /// that are not of [`LinkType`].
    pub fn next_packet(&mut self) -> Result<Option<CapturedPacket<'_>>, CaptureError> {
        if self.state == State::Over {
            return Ok(None);
        }
        match self.advance() {
            Ok(Some((time, record))) => {
                self.packets += 1;
                let Record { link, wire_len, .. } = record;
                Ok(Some(CapturedPacket { time, link, wire_len, bytes: &self.frame }))
            }
            Ok(None) => {
                self.state = State::Over;
                if self.packets == 0 && self.skips.packets() > 0 {
                    Err(self.nothing_readable())
                } else {
                    Ok(None)
                }
            }
            Err(error) => {
                self.state = State::Over;
                Err(error.after(self.packets, self.source.within()))
            }
        }
    }

    fn advance(&mut self) -> Result<Option<(Time, Record)>, CaptureError> {
        let record = match &mut self.format {
            CaptureFormat::Pcap(pcap) => pcap.next(&mut self.source, &mut self.frame)?,
            CaptureFormat::PcapNg(pcapng) => {
                pcapng.next(&mut self.source, &mut self.frame, &mut self.skips)?
            }
        };
        let Some(mut record) = record else { return Ok(None) };
        if record.wire_len > MAX_WIRE_LEN {
            let why =
                format!("a packet of {} bytes, above the limit of {MAX_WIRE_LEN}", record.wire_len);
            return Err(CaptureError::new(Fault::Damaged, record.at, why));
        }
        record.wire_len = record.wire_len.max(self.frame.len() as u32);
        let time = self
            .clock
            .read(record.stamp)
            .map_err(|why| CaptureError::new(Fault::Damaged, record.at, why))?;
        Ok(Some((time, record)))
    }

    /// A capture without a packet that can be read: the first interface's link type says why.
    fn nothing_readable(&self) -> CaptureError {
        let link = self.skips.named().first().map(|s| format!("; {}", s.link)).unwrap_or_default();
        let why = format!("{}{link}", self.skips);
        CaptureError::new(Fault::Unsupported, self.source.offset(), why)
            .after(0, self.source.within())
    }

    /// How many packets have been read.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// How many bytes of the file have been read: how far a reader has come.
    pub fn offset(&self) -> u64 {
        self.source.file_offset()
    }

    /// The packets that were passed over because their interface's link type cannot be read.
    pub fn skipped(&self) -> &Skips {
        &self.skips
    }

    /// How many packets were stamped earlier than the one before them.
    pub fn backward(&self) -> u64 {
        self.clock.backward()
    }

    /// When the first packet was captured, in nanoseconds since 1970; `None` before there was a
    /// stamp.
    pub fn started(&self) -> Option<i128> {
        self.clock.started()
    }
}

/// Reads the beginning of a file, which says what it is.
fn read_format<R: Read>(source: &mut CaptureSource<R>) -> Result<CaptureFormat, CaptureError> {
    let mut magic = [0; 4];
    let got = source.read(&mut magic)?;
    match magic {
        _ if got == 0 => Err(CaptureError::new(Fault::NotACapture, 0, "the file is empty".into())),
        _ if got < 4 => Err(CaptureError::new(
            Fault::NotACapture,
            0,
            format!("no capture: the file has only {got} bytes"),
        )),
        pcapng::MAGIC => PcapNg::read_header(source).map(CaptureFormat::PcapNg),
        _ => match Pcap::from_magic(magic) {
            Some(pcap) => pcap.read_header(source).map(CaptureFormat::Pcap),
            None => Err(CaptureError::new(Fault::NotACapture, 0, not_a_capture(magic))),
        },
    }
}

/// The sentence for a file that is no capture: a guess where its beginning is a known one.
fn not_a_capture(magic: [u8; 4]) -> String {
    if magic.starts_with(&GZIP) {
        return "packed by gzip once more; unpack it once".into();
    }
    let compressed = match magic {
        [0x28, 0xb5, 0x2f, 0xfd] => Some("zstd"),
        [b'B', b'Z', b'h', _] => Some("bzip2"),
        [0xfd, b'7', b'z', b'X'] => Some("xz"),
        _ => None,
    };
    if let Some(program) = compressed {
        return format!("the file is compressed with {program}; decompress it first");
    }
    match magic {
        [0x34, 0xcd, 0xb2, 0xa1] | [0xa1, 0xb2, 0xcd, 0x34] => {
            "a pcap file in a variant of 1999 that cannot be read; convert it to pcapng".into()
        }
        [b's', b'n', b'o', b'o'] => "a snoop file, not pcap or pcapng; convert it to pcapng".into(),
        [a, b, c, d] => {
            format!(
                "neither pcap nor pcapng: the file begins with the bytes {a:02x} {b:02x} {c:02x} \
                 {d:02x}"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A capture without end, made as it is read: the largest frame, over and over.
    struct Endless {
        record: Vec<u8>,
        at: usize,
    }

    impl Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let n = into.len().min(self.record.len() - self.at);
            into[..n].copy_from_slice(&self.record[self.at..self.at + n]);
            self.at = (self.at + n) % self.record.len();
            Ok(n)
        }
    }

    #[test]
    fn memory_does_not_grow_with_the_file() {
        let header =
            [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
        let length = MAX_FRAME.to_le_bytes();
        let record = [&[0; 8][..], &length, &length, &vec![7; MAX_FRAME as usize]].concat();
        let mut capture =
            Capture::from_reader((&header[..]).chain(Endless { record, at: 0 })).unwrap();
        capture.next_packet().unwrap().unwrap();
        let before = capture.frame.capacity();
        for _ in 0..400 {
            assert_eq!(capture.next_packet().unwrap().unwrap().bytes.len(), MAX_FRAME as usize);
        }
        assert_eq!(capture.frame.capacity(), before);
        assert_eq!(capture.packets(), 401);
        // Besides the frame nothing can grow but the table of interfaces, which has its own limit
        // and test.
        assert!(before <= 2 * MAX_FRAME as usize && size_of_val(&capture) < 512);
    }
}
