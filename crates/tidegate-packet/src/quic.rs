//! Whether a datagram begins a QUIC connection: all that its encryption leaves to see.
use crate::ends::Transport;
use crate::frame::Frame;
use crate::header::array;

const UDP: u8 = 17;
const HEADER: usize = 8;
/// The first two bits of a long header (RFC 8999 §5.1, RFC 9000 §17.2).
const LONG: u8 = 0xc0;

/// Whether the datagram in `frame`, which was read from `bytes`, has a long header of QUIC version
/// 1 (RFC 9000) or 2 (RFC 9369), or of a draft of them. Only the first packets of a connection do.
pub fn opens(frame: &Frame, bytes: &[u8]) -> bool {
    let is_udp = matches!(frame.ends.transport, Transport::Ports { protocol: UDP, .. });
    let at = frame.ip.filter(|_| is_udp).and_then(|ip| ip.transport(bytes, frame.len));
    let begins: Option<[u8; 5]> = at.and_then(|(at, _)| array(bytes, at + HEADER));
    let Some([first, version @ ..]) = begins else { return false };
    let version = u32::from_be_bytes(version);
    let known = matches!(version, 1 | 0x6b33_43cf | 0xff00_0000..=0xff00_00ff);
    first & LONG == LONG && known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::LinkType;

    #[test]
    fn long_headers_of_known_versions_only() {
        let datagram = |payload: &[u8]| {
            let total = 28 + payload.len() as u16;
            let mut bytes = vec![0x45, 0];
            bytes.extend(total.to_be_bytes());
            bytes.extend([0, 0, 0, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            bytes.extend([0, 80, 1, 187, 0, 0, 0, 0]);
            bytes.extend(payload);
            opens(&Frame::parse(LinkType::Raw, &bytes, total.into()), &bytes)
        };
        assert!(datagram(&[0xc3, 0, 0, 0, 1, 8]));
        assert!(datagram(&[0xd0, 0x6b, 0x33, 0x43, 0xcf]));
        assert!(!datagram(&[0x43, 0, 0, 0, 1, 8]), "a short header");
        assert!(!datagram(&[0xc3, 0, 0, 0, 7, 8]), "no version of QUIC");
        assert!(!datagram(&[0xc3, 0, 0, 0]), "cut short");
    }
}
