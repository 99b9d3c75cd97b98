//! A reader that knows where it is, and unpacks what gzip has packed.
use std::io::{self, Chain, Cursor, Read};

use flate2::read::MultiGzDecoder;

use super::error::{CaptureError, Fault, Within};

/// What a file of gzip's begins with (RFC 1952).
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];

#[derive(Debug)]
pub(super) struct CaptureSource<R> {
    stream: CaptureStream<R>,
    /// Bytes of the capture, unpacked.
    offset: u64,
}

/// The bytes of a capture. Unpacking takes a window of 32 kB and buffers, however long the file and
/// whatever it says.
#[derive(Debug)]
enum CaptureStream<R> {
    Plain(WholeFile<R>),
    /// One or several packed streams, one behind the other, as gzip itself reads them.
    Packed(Box<MultiGzDecoder<WholeFile<R>>>),
}

/// A file from its beginning: the bytes that said what it is, then the others.
type WholeFile<R> = Chain<Cursor<Vec<u8>>, CountingReader<R>>;

/// A reader that counts.
#[derive(Debug)]
struct CountingReader<R> {
    reader: R,
    count: u64,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let got = self.reader.read(into)?;
        self.count += got as u64;
        Ok(got)
    }
}

/// The order of bytes in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endianness {
    Little,
    Big,
}

impl Endianness {
    /// The 16-bit number at `at`, which must be within `bytes`.
    pub(super) fn u16<const N: usize>(self, bytes: &[u8; N], at: usize) -> u16 {
        let pair = [bytes[at], bytes[at + 1]];
        match self {
            Endianness::Little => u16::from_le_bytes(pair),
            Endianness::Big => u16::from_be_bytes(pair),
        }
    }

    /// The 32-bit number at `at`, which must be within `bytes`.
    pub(super) fn u32<const N: usize>(self, bytes: &[u8; N], at: usize) -> u32 {
        let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            Endianness::Little => u32::from_le_bytes(four),
            Endianness::Big => u32::from_be_bytes(four),
        }
    }
}

impl<R: Read> CaptureSource<R> {
    /// Looks at the first two bytes of `reader` to see whether the rest is packed.
    pub(super) fn new(reader: R) -> Result<CaptureSource<R>, CaptureError> {
        let mut counted = CountingReader { reader, count: 0 };
        let mut first = Vec::with_capacity(GZIP.len());
        (&mut counted)
            .take(GZIP.len() as u64)
            .read_to_end(&mut first)
            .map_err(|e| failed(&e, 0, Within::File))?;
        let packed = first == GZIP;
        let whole = Cursor::new(first).chain(counted);
        let stream = if packed {
            CaptureStream::Packed(Box::new(MultiGzDecoder::new(whole)))
        } else {
            CaptureStream::Plain(whole)
        };
        Ok(CaptureSource { stream, offset: 0 })
    }

    /// Bytes of the capture read so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of the file read so far; of a packed one some ahead.
    pub(super) fn file_offset(&self) -> u64 {
        match &self.stream {
            CaptureStream::Plain(_) => self.offset,
            CaptureStream::Packed(packed) => packed.get_ref().get_ref().1.count,
        }
    }

    /// Where offsets count.
    pub(super) fn within(&self) -> Within {
        match &self.stream {
            CaptureStream::Plain(_) => Within::File,
            CaptureStream::Packed(_) => Within::Gzip,
        }
    }

    /// Reads until `into` is full or the file ends; how many bytes there were.
    pub(super) fn read(&mut self, into: &mut [u8]) -> Result<usize, CaptureError> {
        let mut got = 0;
        while got < into.len() {
            let read = match &mut self.stream {
                CaptureStream::Plain(file) => file.read(&mut into[got..]),
                CaptureStream::Packed(packed) => packed.read(&mut into[got..]),
            };
            match read {
                Ok(0) => break,
                Ok(n) => {
                    got += n;
                    self.offset += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(failed(&e, self.offset, self.within())),
            }
        }
        Ok(got)
    }

    /// Reads `N` bytes, the beginning of `what`, or `None` where the file ends before the first of
    /// them.
    pub(super) fn next<const N: usize>(
        &mut self,
        what: &str,
    ) -> Result<Option<[u8; N]>, CaptureError> {
        let at = self.offset;
        let mut bytes = [0; N];
        match self.read(&mut bytes)? {
            0 => Ok(None),
            got if got < N => Err(self.cut_short(at, what)),
            _ => Ok(Some(bytes)),
        }
    }

    /// Reads `N` bytes of `what`, which began at byte `at`.
    pub(super) fn take<const N: usize>(
        &mut self,
        at: u64,
        what: &str,
    ) -> Result<[u8; N], CaptureError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, at, what)?;
        Ok(bytes)
    }

    /// Fills `into` from `what`, which began at byte `at`.
    pub(super) fn fill(
        &mut self,
        into: &mut [u8],
        at: u64,
        what: &str,
    ) -> Result<(), CaptureError> {
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

/// What a failing read means: of a packed file it is the unpacking, too, that fails.
fn failed(error: &io::Error, offset: u64, within: Within) -> CaptureError {
    let (fault, why) = match (within, error.kind()) {
        (Within::Gzip, io::ErrorKind::UnexpectedEof) => {
            (Fault::CutShort, "the file, packed by gzip, ends before what is packed in it".into())
        }
        (Within::Gzip, io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
            (Fault::Damaged, format!("the file, packed by gzip, is damaged: {error}"))
        }
        _ => (Fault::Read, format!("cannot be read: {error}")),
    };
    CaptureError::new(fault, offset, why)
}
