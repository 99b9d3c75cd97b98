//! The pcapng format: blocks, each with its length before and behind it, in sections with their own
//! byte order.
use std::io::Read;

use super::error::{CaptureError, Fault};
use super::skips::Skips;
use super::source::{CaptureSource, Endianness};
use super::{MAX_FRAME, Record};
use crate::frame::{LinkType, UnsupportedLinkType};

/// The type of a section header block, the same in both byte orders.
pub(super) const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;

/// No program writes larger blocks; a length above it is damage, and is not worth skipping
/// gigabytes for.
const MAX_BLOCK: u32 = 1 << 24;
/// Of a longer name of an interface the beginning is kept.
const MAX_NAME: u32 = 64;
/// The only table that grows while reading.
const MAX_INTERFACES: usize = 4096;

#[derive(Debug)]
pub(super) struct PcapNg {
    order: Endianness,
    /// Of the current section.
    interfaces: Vec<PcapngInterface>,
}

#[derive(Clone, Debug)]
struct PcapngInterface {
    link: Result<LinkType, UnsupportedLinkType>,
    /// The most bytes it captures of a frame; 0 for no limit.
    snap_len: u32,
    resolution: Resolution,
    /// Seconds to be added to each stamp.
    offset: i64,
    /// Kept where the link type cannot be read, to say whose packets are passed over.
    name: Option<String>,
}

/// What a stamp counts.
#[derive(Clone, Copy, Debug)]
enum Resolution {
    /// 10^-n seconds.
    Decimal(u32),
    /// 2^-n seconds.
    Binary(u32),
}

impl Resolution {
    fn from_option(value: u8) -> Resolution {
        let exponent = (value & 0x7f) as u32;
        if value & 0x80 == 0 { Resolution::Decimal(exponent) } else { Resolution::Binary(exponent) }
    }

    /// A stamp in nanoseconds, rounded down.
    fn nanos(self, stamp: u64) -> i128 {
        // 2^64 × 10^9 is below 2^94, so nothing here overflows.
        let nanos = match self {
            Resolution::Decimal(n @ 0..=9) => stamp as u128 * 10u128.pow(9 - n),
            Resolution::Decimal(n) => {
                10u128.checked_pow(n - 9).map_or(0, |parts| stamp as u128 / parts)
            }
            Resolution::Binary(n) => (stamp as u128 * 1_000_000_000) >> n,
        };
        nanos as i128
    }
}

/// The block being read.
struct PcapngBlock {
    /// Where it begins in the file.
    at: u64,
    /// Its length, all in all.
    len: u32,
    /// What has not been read of it yet, without the length behind it.
    left: u32,
    what: &'static str,
}

impl PcapngBlock {
    fn damaged<T>(&self, why: String) -> Result<T, CaptureError> {
        Err(CaptureError::new(Fault::Damaged, self.at, why))
    }

    /// The block that begins at byte `at` and says that it is `len` long; `read` of it have been
    /// read.
    fn new(at: u64, len: u32, read: u32, what: &'static str) -> Result<PcapngBlock, CaptureError> {
        let block = PcapngBlock { at, len, left: len.saturating_sub(read + 4), what };
        if len < read + 4 || !len.is_multiple_of(4) {
            return block.damaged(format!(
                "{what} of {len} bytes, where at least {} and a multiple of 4 are due",
                read + 4
            ));
        }
        if len > MAX_BLOCK {
            return block.damaged(format!("{what} of {len} bytes, above the limit of {MAX_BLOCK}"));
        }
        Ok(block)
    }

    /// Counts `len` bytes as read.
    fn reserve(&mut self, len: u32) -> Result<(), CaptureError> {
        match self.left.checked_sub(len) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => self.damaged(format!(
                "{} of {} bytes has not the room for what it says it holds",
                self.what, self.len
            )),
        }
    }

    fn take<const N: usize, R: Read>(
        &mut self,
        source: &mut CaptureSource<R>,
    ) -> Result<[u8; N], CaptureError> {
        self.reserve(N as u32)?;
        source.take(self.at, self.what)
    }

    fn skip<R: Read>(
        &mut self,
        source: &mut CaptureSource<R>,
        len: u32,
    ) -> Result<(), CaptureError> {
        self.reserve(len)?;
        source.skip(len, self.at, self.what)
    }

    /// Reads a frame of `len` bytes.
    fn frame<R: Read>(
        &mut self,
        source: &mut CaptureSource<R>,
        frame: &mut Vec<u8>,
        len: u32,
    ) -> Result<(), CaptureError> {
        if len > MAX_FRAME {
            return self.damaged(format!("a frame of {len} bytes, above the limit of {MAX_FRAME}"));
        }
        self.reserve(len)?;
        frame.resize(len as usize, 0);
        source.fill(frame, self.at, self.what)
    }

    /// Passes over the rest and checks the length behind it.
    fn finish<R: Read>(
        mut self,
        source: &mut CaptureSource<R>,
        order: Endianness,
    ) -> Result<(), CaptureError> {
        self.skip(source, self.left)?;
        let behind = order.u32(&source.take::<4>(self.at, self.what)?, 0);
        if behind != self.len {
            return self.damaged(format!(
                "{} of {} bytes at its beginning, {behind} at its end",
                self.what, self.len
            ));
        }
        Ok(())
    }
}

impl PcapNg {
    /// Reads the first section header behind its first four bytes.
    pub(super) fn read_header<R: Read>(
        source: &mut CaptureSource<R>,
    ) -> Result<PcapNg, CaptureError> {
        let len = source.take(0, "the first section header")?;
        let mut pcapng = PcapNg { order: Endianness::Little, interfaces: Vec::new() };
        pcapng.section(source, 0, len)?;
        Ok(pcapng)
    }

    /// Reads blocks up to the next packet, its bytes into `frame`.
    pub(super) fn next<R: Read>(
        &mut self,
        source: &mut CaptureSource<R>,
        frame: &mut Vec<u8>,
        skips: &mut Skips,
    ) -> Result<Option<Record>, CaptureError> {
        loop {
            let at = source.offset();
            let Some(header) = source.next::<8>("a block header")? else { return Ok(None) };
            let (kind, len) = (self.order.u32(&header, 0), self.order.u32(&header, 4));
            match kind {
                SECTION => {
                    self.section(source, at, [header[4], header[5], header[6], header[7]])?
                }
                INTERFACE => {
                    self.interface(source, PcapngBlock::new(at, len, 8, "an interface block")?)?
                }
                ENHANCED_PACKET | OBSOLETE_PACKET => {
                    let block = PcapngBlock::new(at, len, 8, "a packet block")?;
                    match self.packet(source, block, kind, frame, skips)? {
                        Some(record) => return Ok(Some(record)),
                        None => continue,
                    }
                }
                SIMPLE_PACKET => {
                    let block = PcapngBlock::new(at, len, 8, "a simple packet block")?;
                    match self.simple_packet(source, block, frame, skips)? {
                        Some(record) => return Ok(Some(record)),
                        None => continue,
                    }
                }
                _ => PcapngBlock::new(at, len, 8, "a block")?.finish(source, self.order)?,
            }
        }
    }

    /// Reads a section header from its byte-order mark on. What was said of interfaces no longer
    /// holds.
    fn section<R: Read>(
        &mut self,
        source: &mut CaptureSource<R>,
        at: u64,
        len: [u8; 4],
    ) -> Result<(), CaptureError> {
        let what = "a section header";
        self.order = match source.take(at, what)? {
            [0x4d, 0x3c, 0x2b, 0x1a] => Endianness::Little,
            [0x1a, 0x2b, 0x3c, 0x4d] => Endianness::Big,
            mark => {
                let why =
                    format!("a section header with {mark:02x?} in place of the byte-order mark");
                return Err(CaptureError::new(Fault::Damaged, at, why));
            }
        };
        let mut block = PcapngBlock::new(at, self.order.u32(&len, 0), 12, what)?;
        let version: [u8; 4] = block.take(source)?;
        let (major, minor) = (self.order.u16(&version, 0), self.order.u16(&version, 2));
        if major != 1 {
            let why = format!("pcapng version {major}.{minor} cannot be read; 1.0 can");
            return Err(CaptureError::new(Fault::Unsupported, at, why));
        }
        self.interfaces.clear();
        block.finish(source, self.order)
    }

    fn interface<R: Read>(
        &mut self,
        source: &mut CaptureSource<R>,
        mut block: PcapngBlock,
    ) -> Result<(), CaptureError> {
        if self.interfaces.len() == MAX_INTERFACES {
            return block.damaged(format!("more than {MAX_INTERFACES} interfaces in a section"));
        }
        let fixed: [u8; 8] = block.take(source)?;
        let mut interface = PcapngInterface {
            link: LinkType::from_code(self.order.u16(&fixed, 0) as u32),
            snap_len: self.order.u32(&fixed, 4),
            resolution: Resolution::Decimal(6),
            offset: 0,
            name: None,
        };
        while block.left >= 4 {
            let option: [u8; 4] = block.take(source)?;
            let (code, len) = (self.order.u16(&option, 0), self.order.u16(&option, 2) as u32);
            match (code, len) {
                (0, _) => break,
                (IF_TSRESOL, 1) => {
                    let [value, ..] = block.take::<4, R>(source)?;
                    interface.resolution = Resolution::from_option(value);
                }
                (IF_TSOFFSET, 8) => {
                    let value: [u8; 8] = block.take(source)?;
                    interface.offset = match self.order {
                        Endianness::Little => i64::from_le_bytes(value),
                        Endianness::Big => i64::from_be_bytes(value),
                    };
                }
                (IF_NAME, _) if interface.link.is_err() => {
                    let kept = len.min(MAX_NAME);
                    let mut name = vec![0; kept as usize];
                    block.reserve(kept)?;
                    source.fill(&mut name, block.at, block.what)?;
                    block.skip(source, len.next_multiple_of(4) - kept)?;
                    interface.name = Some(String::from_utf8_lossy(&name).into_owned());
                }
                (IF_TSRESOL | IF_TSOFFSET, _) => {
                    return block.damaged(format!("option {code} with {len} bytes"));
                }
                _ => block.skip(source, len.next_multiple_of(4))?,
            }
        }
        self.interfaces.push(interface);
        block.finish(source, self.order)
    }

    fn packet<R: Read>(
        &self,
        source: &mut CaptureSource<R>,
        mut block: PcapngBlock,
        kind: u32,
        frame: &mut Vec<u8>,
        skips: &mut Skips,
    ) -> Result<Option<Record>, CaptureError> {
        let fixed: [u8; 20] = block.take(source)?;
        let index = match kind {
            OBSOLETE_PACKET => self.order.u16(&fixed, 0) as u32,
            _ => self.order.u32(&fixed, 0),
        };
        let [high, low, captured, wire_len] = [4, 8, 12, 16].map(|i| self.order.u32(&fixed, i));
        let Some((interface, link)) = self.interface_of(&block, index, skips)? else {
            return block.finish(source, self.order).map(|()| None);
        };
        block.frame(source, frame, captured)?;
        let units = (high as u64) << 32 | low as u64;
        let stamp = interface.resolution.nanos(units) + interface.offset as i128 * 1_000_000_000;
        let at = block.at;
        block.finish(source, self.order)?;
        Ok(Some(Record { stamp: Some(stamp), link, wire_len, at }))
    }

    /// A simple packet block belongs to the first interface and does not say how much of it was
    /// captured.
    fn simple_packet<R: Read>(
        &self,
        source: &mut CaptureSource<R>,
        mut block: PcapngBlock,
        frame: &mut Vec<u8>,
        skips: &mut Skips,
    ) -> Result<Option<Record>, CaptureError> {
        let wire_len = self.order.u32(&block.take::<4, R>(source)?, 0);
        let Some((interface, link)) = self.interface_of(&block, 0, skips)? else {
            return block.finish(source, self.order).map(|()| None);
        };
        let snap_len = if interface.snap_len == 0 { u32::MAX } else { interface.snap_len };
        block.frame(source, frame, wire_len.min(snap_len))?;
        let at = block.at;
        block.finish(source, self.order)?;
        Ok(Some(Record { stamp: None, link, wire_len, at }))
    }

    /// The interface of that number in the section; `None`, and counted, where its link type cannot
    /// be read.
    fn interface_of(
        &self,
        block: &PcapngBlock,
        index: u32,
        skips: &mut Skips,
    ) -> Result<Option<(&PcapngInterface, LinkType)>, CaptureError> {
        let Some(interface) = self.interfaces.get(index as usize) else {
            let known = self.interfaces.len();
            return block
                .damaged(format!("a packet of interface {index}, where the section has {known}"));
        };
        match interface.link {
            Ok(link) => Ok(Some((interface, link))),
            Err(link) => {
                skips.count(index, interface.name.as_deref(), link);
                Ok(None)
            }
        }
    }
}
