//! The pcap format: a file header of 24 bytes, then records of 16 bytes and the frame.
use std::io::Read;

use super::error::{CaptureError, Fault};
use super::source::{CaptureSource, Endianness};
use super::{MAX_FRAME, Record};
use crate::frame::LinkType;

#[derive(Debug)]
pub(super) struct Pcap {
    order: Endianness,
    fraction: Fraction,
    link: LinkType,
}

/// What the second half of a stamp counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fraction {
    Micros,
    Nanos,
}

impl Fraction {
    /// In one second, and the nanoseconds in one.
    const fn scale(self) -> (u32, u32) {
        match self {
            Fraction::Micros => (1_000_000, 1_000),
            Fraction::Nanos => (1_000_000_000, 1),
        }
    }
}

impl Pcap {
    /// What the first four bytes of a file tell; `None` when they are not pcap's.
    pub(super) fn from_magic(magic: [u8; 4]) -> Option<Pcap> {
        let (order, fraction) = match magic {
            [0xd4, 0xc3, 0xb2, 0xa1] => (Endianness::Little, Fraction::Micros),
            [0xa1, 0xb2, 0xc3, 0xd4] => (Endianness::Big, Fraction::Micros),
            [0x4d, 0x3c, 0xb2, 0xa1] => (Endianness::Little, Fraction::Nanos),
            [0xa1, 0xb2, 0x3c, 0x4d] => (Endianness::Big, Fraction::Nanos),
            _ => return None,
        };
        Some(Pcap { order, fraction, link: LinkType::Ethernet })
    }

    /// Reads the file header behind the first four bytes.
    pub(super) fn read_header<R: Read>(
        self,
        source: &mut CaptureSource<R>,
    ) -> Result<Pcap, CaptureError> {
        let rest: [u8; 20] = source.take(0, "the file header")?;
        let version = (self.order.u16(&rest, 0), self.order.u16(&rest, 2));
        if version.0 != 2 {
            let why = format!("pcap version {}.{} cannot be read; 2.4 can", version.0, version.1);
            return Err(CaptureError::new(Fault::Unsupported, 4, why));
        }
        // The upper bits tell of a frame check sequence, which is part of the frame's length and
        // otherwise unread.
        let code = self.order.u32(&rest, 16) & 0xffff;
        let link = LinkType::from_code(code)
            .map_err(|e| CaptureError::new(Fault::Unsupported, 20, e.to_string()))?;
        Ok(Pcap { link, ..self })
    }

    /// Reads the next record, its bytes into `frame`.
    pub(super) fn next<R: Read>(
        &mut self,
        source: &mut CaptureSource<R>,
        frame: &mut Vec<u8>,
    ) -> Result<Option<Record>, CaptureError> {
        let at = source.offset();
        let Some(header) = source.next::<16>("a record header")? else { return Ok(None) };
        let [seconds, fraction, captured, wire_len] =
            [0, 4, 8, 12].map(|i| self.order.u32(&header, i));
        let damaged = |why| Err(CaptureError::new(Fault::Damaged, at, why));
        let (per_second, nanos) = self.fraction.scale();
        if fraction >= per_second {
            return damaged(format!(
                "a stamp with {fraction} of the {per_second} parts of a second"
            ));
        }
        if captured > MAX_FRAME {
            return damaged(format!(
                "a record of {captured} bytes, above the limit of {MAX_FRAME}"
            ));
        }
        frame.resize(captured as usize, 0);
        source.fill(frame, at, "a record")?;
        let stamp = Some(seconds as i128 * 1_000_000_000 + (fraction * nanos) as i128);
        Ok(Some(Record { stamp, link: self.link, wire_len, at }))
    }
}
