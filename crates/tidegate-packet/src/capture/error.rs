//! What can be wrong with a capture file.
use core::fmt;
use std::path::Path;

/// Why a capture cannot be read (any further): at which byte what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaptureError {
    /// What sort of thing is wrong.
    pub fault: Fault,
    /// Where the record, block or header that is wrong begins, in bytes from the beginning of the
    /// capture.
    pub offset: u64,
    /// Whether the capture is the file, or what the file unpacks to.
    pub within: Within,
    /// How many packets were read before.
    pub packets: u64,
    /// What is wrong, in one sentence without a full stop.
    pub why: String,
}

/// What a capture lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Within {
    /// The file itself.
    File,
    /// What gzip has packed into the file.
    Gzip,
}

/// What sort of thing is wrong with a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// The file cannot be opened.
    Open,
    /// Reading failed.
    Read,
    /// It is no capture file.
    NotACapture,
    /// It is a capture that cannot be read here (its version, its link type).
    Unsupported,
    /// It ends in the midst of a packet or a block.
    CutShort,
    /// It contradicts itself or breaks a limit.
    Damaged,
}

impl CaptureError {
    pub(super) fn new(fault: Fault, offset: u64, why: String) -> CaptureError {
        CaptureError { fault, offset, within: Within::File, packets: 0, why }
    }

    pub(super) fn open(path: &Path, error: std::io::Error) -> CaptureError {
        CaptureError::new(Fault::Open, 0, format!("cannot open `{}`: {error}", path.display()))
    }

    pub(super) fn directory(path: &Path) -> CaptureError {
        CaptureError::new(
            Fault::Open,
            0,
            format!("`{}` is a directory, not a capture file", path.display()),
        )
    }

    pub(super) fn after(self, packets: u64, within: Within) -> CaptureError {
        CaptureError { packets, within, ..self }
    }
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)?;
        let plural = if self.packets == 1 { "" } else { "s" };
        let unpacked = match self.within {
            Within::File => "",
            Within::Gzip => " of what gzip unpacks",
        };
        match (self.fault, self.within) {
            (Fault::Open, _) | (Fault::NotACapture, Within::File) => Ok(()),
            (Fault::NotACapture, Within::Gzip) => f.write_str(" (in what gzip unpacks)"),
            _ => write!(
                f,
                " (at byte {}{unpacked}, after {} packet{plural})",
                self.offset, self.packets
            ),
        }
    }
}

impl core::error::Error for CaptureError {}
