//! What a sender or a network asks for a packet by: the code point of differentiated services (RFC
//! 2474) and the priority in a VLAN tag (IEEE 802.1Q).
use core::fmt;
use core::str::FromStr;

use tidegate::units::UnitError;

use crate::frame::{Frame, is_tag};
use crate::ip::Ip;

/// A code point of differentiated services, 0 to 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dscp(u8);

/// Their names (RFC 2474, 2597, 3246, 5865, 8622).
const NAMES: [(&str, u8); 23] = [
    ("CS0", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];

impl Dscp {
    /// How many there are.
    pub const COUNT: usize = 64;

    /// The code point as a number, 0 to 63.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl FromStr for Dscp {
    type Err = UnitError;

    /// A number from 0 to 63, or a name such as `EF`, `AF41`, `CS1`.
    fn from_str(text: &str) -> Result<Dscp, UnitError> {
        let named =
            NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, value)| *value);
        let number = || {
            text.parse::<u8>()
                .ok()
                .filter(|&n| (n as usize) < Dscp::COUNT && !text.starts_with('+'))
        };
        match named.or_else(number) {
            Some(value) => Ok(Dscp(value)),
            None => {
                let why = "must be a number from 0 to 63, or a name: CS0 to CS7, AF11 to AF43, EF, \
                     VA or LE";
                Err(UnitError { text: text.into(), why: why.into() })
            }
        }
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, value)| *value == self.0) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl Frame {
    /// The code point in the IP header, of whose frame these are the `bytes`; `None` for a frame
    /// that is not IP.
    #[inline]
    pub fn dscp(&self, bytes: &[u8]) -> Option<Dscp> {
        let at = self.ip_offset()?;
        let (first, second) = (*bytes.get(at)?, *bytes.get(at + 1)?);
        Some(Dscp(match self.ip? {
            Ip::V4 { .. } => second >> 2,
            Ip::V6 { .. } => (first & 0xf) << 2 | second >> 6,
        }))
    }
}

/// The priority, 0 to 7, in the outermost VLAN tag of an Ethernet frame; `None` without a tag.
#[inline]
pub fn vlan_priority(frame: &[u8]) -> Option<u8> {
    let [high, low, first, _] = *frame.get(12..16)? else { return None };
    is_tag(u16::from_be_bytes([high, low])).then_some(first >> 5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::LinkType;

    #[test]
    fn names_and_numbers() {
        for (text, value, out) in
            [("EF", 46, "EF"), ("af41", 34, "AF41"), ("0", 0, "CS0"), ("63", 63, "63")]
        {
            let dscp: Dscp = text.parse().unwrap();
            assert_eq!((dscp.get(), dscp.to_string().as_str()), (value, out));
        }
        for text in ["64", "-1", "+3", "AF44", "voice", ""] {
            assert!(text.parse::<Dscp>().unwrap_err().why.contains("0 to 63"), "{text}");
        }
        for (name, value) in NAMES {
            assert_eq!(name.parse::<Dscp>().unwrap(), Dscp(value));
        }
    }

    #[test]
    fn code_points_and_priorities_stand_where_the_headers_have_them() {
        let tag = [0x81, 0x00, 5 << 5, 7];
        for (tags, priority) in [(&[][..], None), (&tag[..], Some(5))] {
            for v6 in [false, true] {
                let mut frame = [&[2; 12][..], tags].concat();
                if v6 {
                    frame.extend([0x86, 0xdd, 0x60 | 46 >> 2, (46 & 3) << 6 | 0x10, 0, 0])
                } else {
                    frame.extend([0x08, 0x00, 0x45, 46 << 2 | 1, 0, 20])
                }
                frame.resize(80, 0);
                let parsed = Frame::parse(LinkType::Ethernet, &frame, 80);
                assert_eq!(
                    (parsed.dscp(&frame), vlan_priority(&frame)),
                    (Some(Dscp(46)), priority)
                );
                assert_eq!(parsed.dscp(&frame[..parsed.ip_offset().unwrap()]), None, "cut off");
            }
        }
        let arp = [&[2; 12][..], &[0x08, 0x06], &[0; 46]].concat();
        assert_eq!(Frame::parse(LinkType::Ethernet, &arp, 60).dscp(&arp), None);
        assert_eq!(
            (vlan_priority(&arp), vlan_priority(&arp[..15]), vlan_priority(&[])),
            (None, None, None)
        );
    }
}
