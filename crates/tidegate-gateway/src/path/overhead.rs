//! What a frame takes on the wire beyond its own bytes.
use std::fmt;
use std::str::FromStr;

use tidegate::Bytes;
use tidegate::units::UnitError;

/// The framing overhead that is added to a frame's length before it is paced and shown to the queue
/// (as `tc`'s `stab` does), for a managed link whose own framing is to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overhead {
    /// So many bytes for every frame; none by default: the length of the Ethernet frame without its
    /// check sequence.
    Fixed(u32),
    /// A full Ethernet: padded to 60 bytes, then check sequence (4), preamble and start of frame
    /// (8), gap (12).
    Ethernet,
    /// Less than nothing: the packet alone counts, without the Ethernet header.
    Ip,
}

/// The most bytes of overhead that are meant seriously.
const MOST: u64 = 1000;
/// The least frame of Ethernet without its check sequence (IEEE 802.3 §3.2.8), and what surrounds a
/// frame.
const ETHERNET: (u32, u32) = (60, 24);
/// The header of an Ethernet frame without tags.
const HEADER: u32 = 14;

impl Overhead {
    /// What a frame of `len` bytes takes on the wire, in bytes.
    #[inline]
    pub const fn on_wire(self, len: u32) -> u32 {
        match self {
            Overhead::Fixed(bytes) => len + bytes,
            Overhead::Ethernet if len < ETHERNET.0 => ETHERNET.0 + ETHERNET.1,
            Overhead::Ethernet => len + ETHERNET.1,
            Overhead::Ip if len > HEADER => len - HEADER,
            Overhead::Ip => 1,
        }
    }
}

impl Default for Overhead {
    fn default() -> Overhead {
        Overhead::Fixed(0)
    }
}

impl fmt::Display for Overhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Overhead::Fixed(bytes) => write!(f, "{}", Bytes::new(*bytes as u64)),
            Overhead::Ethernet => f.write_str("ethernet"),
            Overhead::Ip => f.write_str("ip"),
        }
    }
}

impl FromStr for Overhead {
    type Err = UnitError;

    /// `"24 B"`, `"ethernet"`, or `"ip"`.
    fn from_str(text: &str) -> Result<Overhead, UnitError> {
        match text {
            "ethernet" => return Ok(Overhead::Ethernet),
            "ip" => return Ok(Overhead::Ip),
            _ => {}
        }
        match text.parse::<Bytes>() {
            Ok(bytes) if bytes.get() <= MOST => Ok(Overhead::Fixed(bytes.get() as u32)),
            Ok(_) => Err(UnitError { text: text.into(), why: format!("must be at most {MOST} B") }),
            Err(error) => Err(UnitError {
                why: format!("{}; or write `ethernet` or `ip`", error.why),
                ..error
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_text_out_and_what_it_adds() {
        for (text, out, short, long) in [
            ("0 B", "0 B", 14, 1514),
            ("24B", "24 B", 38, 1538),
            ("ethernet", "ethernet", 84, 1538),
            ("ip", "ip", 1, 1500),
        ] {
            let overhead: Overhead = text.parse().unwrap();
            assert_eq!(overhead.to_string(), out);
            assert_eq!((overhead.on_wire(14), overhead.on_wire(1514)), (short, long));
        }
        assert!("2 kB".parse::<Overhead>().unwrap_err().why.contains("at most 1000 B"));
        assert!("24".parse::<Overhead>().unwrap_err().why.contains("needs a unit"));
        assert!("atm".parse::<Overhead>().unwrap_err().why.contains("or write `ethernet`"));
    }
}
