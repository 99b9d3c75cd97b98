//! A reader that knows where it is.
use std::io::{self, Read};

use super::error::{CaptureError, Fault};

#[derive(Debug)]
pub(super) struct Source<R> {
    reader: R,
    offset: u64,
}

/// The order of bytes in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    /// The 16-bit number at `at`, which must be within `bytes`.
    pub(super) fn u16<const N: usize>(self, bytes: &[u8; N], at: usize) -> u16 {
        let pair = [bytes[at], bytes[at + 1]];
        match self {
            Order::Little => u16::from_le_bytes(pair),
            Order::Big => u16::from_be_bytes(pair),
        }
    }

    /// The 32-bit number at `at`, which must be within `bytes`.
    pub(super) fn u32<const N: usize>(self, bytes: &[u8; N], at: usize) -> u32 {
        let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            Order::Little => u32::from_le_bytes(four),
            Order::Big => u32::from_be_bytes(four),
        }
    }
}

impl<R: Read> Source<R> {
    pub(super) fn new(reader: R) -> Source<R> {
        Source { reader, offset: 0 }
    }

    /// Bytes read so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads until `into` is full or the file ends; how many bytes there were.
    pub(super) fn read(&mut self, into: &mut [u8]) -> Result<usize, CaptureError> {
        let mut got = 0;
        while got < into.len() {
            match self.reader.read(&mut into[got..]) {
                Ok(0) => break,
                Ok(n) => {
                    got += n;
                    self.offset += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(CaptureError::new(Fault::Read, self.offset, format!("cannot be read: {e}"))),
            }
        }
        Ok(got)
    }

    /// Reads `N` bytes, the beginning of `what`, or `None` where the file ends before the first of them.
    pub(super) fn next<const N: usize>(&mut self, what: &str) -> Result<Option<[u8; N]>, CaptureError> {
        let at = self.offset;
        let mut bytes = [0; N];
        match self.read(&mut bytes)? {
            0 => Ok(None),
            got if got < N => Err(self.cut_short(at, what)),
            _ => Ok(Some(bytes)),
        }
    }

    /// Reads `N` bytes of `what`, which began at byte `at`.
    pub(super) fn take<const N: usize>(&mut self, at: u64, what: &str) -> Result<[u8; N], CaptureError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, at, what)?;
        Ok(bytes)
    }

    /// Fills `into` from `what`, which began at byte `at`.
    pub(super) fn fill(&mut self, into: &mut [u8], at: u64, what: &str) -> Result<(), CaptureError> {
        let got = self.read(into)?;
        if got < into.len() {
            return Err(self.cut_short(at, what));
        }
        Ok(())
    }

    /// Passes over `len` bytes of `what`, which began at byte `at`.
    pub(super) fn skip(&mut self, len: u32, at: u64, what: &str) -> Result<(), CaptureError> {
        let mut left = len as usize;
        let mut scratch = [0; 4096];
        while left > 0 {
            let part = left.min(scratch.len());
            let got = self.read(&mut scratch[..part])?;
            if got < part {
                return Err(self.cut_short(at, what));
            }
            left -= part;
        }
        Ok(())
    }

    fn cut_short(&self, at: u64, what: &str) -> CaptureError {
        let got = self.offset - at;
        CaptureError::new(Fault::CutShort, at, format!("the file ends {got} bytes into {what}"))
    }
}
