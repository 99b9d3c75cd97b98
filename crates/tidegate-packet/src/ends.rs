//! Who sends to whom: the addresses and ports of a packet, real or simulated.
use core::fmt;
use std::net::Ipv6Addr;

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// Of a network card; zeros where the capture does not say.
    Mac([u8; 6]),
    /// IPv4, in network order.
    V4([u8; 4]),
    /// IPv6, in network order.
    V6([u8; 16]),
}

/// What a packet says beyond its addresses of the conversation that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Transport {
    /// A protocol with ports (TCP, UDP, DCCP, SCTP, UDP-Lite).
    Ports {
        /// IP protocol number.
        protocol: u8,
        /// Port of the sender.
        source: u16,
        /// Port of the receiver.
        destination: u16,
    },
    /// A protocol without ports, or one whose ports are cut off.
    Portless {
        /// IP protocol number.
        protocol: u8,
    },
    /// A fragment of an IP packet. Only the first fragment has ports, so ports distinguish none.
    Fragment {
        /// IP protocol number; for IPv6 that of the fragment header, 44, in every fragment.
        protocol: u8,
    },
    /// Not IP, or no whole IP header.
    NotIp {
        /// EtherType of the innermost header read; 0 when there is none.
        ethertype: u16,
    },
    /// A flow of a simulator.
    Simulated {
        /// Port of the sender.
        source: u16,
        /// Port of the receiver.
        destination: u16,
    },
}

/// Who sends to whom. [`FlowKey`](crate::FlowKey) says which packets with which ends are one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ends {
    /// The sender.
    pub source: Address,
    /// The receiver.
    pub destination: Address,
    /// Protocol and ports.
    pub transport: Transport,
}

impl Ends {
    /// The ends of a simulated flow between two hosts.
    ///
    /// A host's number is the number of its made-up IPv4 address (0x0a000001 is 10.0.0.1), so that
    /// prefixes mean something. Give the hosts of one site numbers that share their upper bits.
    pub const fn simulated(
        source_host: u32,
        destination_host: u32,
        source_port: u16,
        destination_port: u16,
    ) -> Ends {
        Ends {
            source: Address::V4(source_host.to_be_bytes()),
            destination: Address::V4(destination_host.to_be_bytes()),
            transport: Transport::Simulated { source: source_port, destination: destination_port },
        }
    }

    /// The ends of an answer: receiver and sender change places.
    pub const fn turned(self) -> Ends {
        let transport = match self.transport {
            Transport::Ports { protocol, source, destination } => {
                Transport::Ports { protocol, source: destination, destination: source }
            }
            Transport::Simulated { source, destination } => {
                Transport::Simulated { source: destination, destination: source }
            }
            portless => portless,
        };
        Ends { source: self.destination, destination: self.source, transport }
    }
}

impl Address {
    /// The address with all but its first `bits` bits zero. An IPv4 address is taken whole from 32
    /// bits on, a MAC address always: what its bits share says nothing about who shares a line.
    pub fn prefix(self, bits: u8) -> Address {
        match self {
            Address::Mac(_) => self,
            Address::V4(bytes) => {
                Address::V4(masked(u32::from_be_bytes(bytes) as u128, 32, bits).1)
            }
            Address::V6(bytes) => Address::V6(masked(u128::from_be_bytes(bytes), 128, bits).0),
        }
    }
}

/// The first `bits` of the `width` low bits of `value`, as 16 bytes and as the last 4 of them.
fn masked(value: u128, width: u32, bits: u8) -> ([u8; 16], [u8; 4]) {
    let cleared = width.saturating_sub(bits as u32);
    // A shift by all 128 bits is none in Rust; it is meant to leave nothing.
    let kept = value.checked_shr(cleared).map_or(0, |upper| upper << cleared);
    (kept.to_be_bytes(), (kept as u32).to_be_bytes())
}

/// The usual word for an IP protocol number.
const fn protocol_name(protocol: u8) -> Option<&'static str> {
    Some(match protocol {
        1 => "icmp",
        2 => "igmp",
        4 => "ipip",
        6 => "tcp",
        17 => "udp",
        33 => "dccp",
        41 => "ipv6",
        47 => "gre",
        50 => "esp",
        58 => "icmpv6",
        89 => "ospf",
        132 => "sctp",
        136 => "udplite",
        _ => return None,
    })
}

const fn ethertype_name(ethertype: u16) -> Option<&'static str> {
    Some(match ethertype {
        0 => "no type",
        0x0800 => "broken ipv4",
        0x0806 => "arp",
        0x86dd => "broken ipv6",
        0x8847 | 0x8848 => "mpls",
        0x8863 | 0x8864 => "pppoe",
        0x88cc => "lldp",
        0x88f7 => "ptp",
        _ => return None,
    })
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Mac([a, b, c, d, e, g]) => {
                write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
            }
            Address::V4([a, b, c, d]) => write!(f, "{a}.{b}.{c}.{d}"),
            Address::V6(bytes) => write!(f, "{}", Ipv6Addr::from(*bytes)),
        }
    }
}

struct Protocol(u8);

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match protocol_name(self.0) {
            Some(name) => f.write_str(name),
            None => write!(f, "protocol {}", self.0),
        }
    }
}

struct WithPort(Address, u16);

impl fmt::Display for WithPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Address::V6(_) => write!(f, "[{}]:{}", self.0, self.1),
            _ => write!(f, "{}:{}", self.0, self.1),
        }
    }
}

/// `10.0.0.1:5001 -> 10.0.0.2:80 tcp`
impl fmt::Display for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ends { source: from, destination: to, transport } = *self;
        match transport {
            Transport::Ports { protocol, source, destination } => {
                write!(
                    f,
                    "{} -> {} {}",
                    WithPort(from, source),
                    WithPort(to, destination),
                    Protocol(protocol)
                )
            }
            Transport::Simulated { source, destination } => {
                write!(f, "{} -> {}", WithPort(from, source), WithPort(to, destination))
            }
            Transport::Portless { protocol } => write!(f, "{from} -> {to} {}", Protocol(protocol)),
            Transport::Fragment { protocol: 44 } => write!(f, "{from} -> {to} fragments"),
            Transport::Fragment { protocol } => {
                write!(f, "{from} -> {to} {} fragments", Protocol(protocol))
            }
            Transport::NotIp { ethertype } => match ethertype_name(ethertype) {
                Some(name) => write!(f, "{from} -> {to} {name}"),
                None => write!(f, "{from} -> {to} ethertype 0x{ethertype:04x}"),
            },
        }
    }
}
