//! Which packets are one flow, and the 64-bit hash under which a queue knows it.
//!
//! ```
//! use tidegate::Seed;
//! use tidegate_packet::{Ends, FlowHasher, FlowKey};
//! let per_client: FlowKey = "source".parse()?;
//! let hasher = FlowHasher::seeded(per_client, Seed::new(1));
//! let web = Ends::simulated(0x0a000001, 0x0a000102, 5001, 80);
//! let mail = Ends::simulated(0x0a000001, 0x0a000103, 5002, 25);
//! assert_eq!(hasher.hash(&web), hasher.hash(&mail)); // a client with many connections is one flow
//! assert_eq!(per_client.flow(&web).to_string(), "10.0.0.1");
//! assert_eq!(FlowKey::FiveTuple.flow(&web).to_string(), "10.0.0.1:5001 -> 10.0.1.2:80");
//! # Ok::<(), tidegate::units::UnitError>(())
//! ```
use core::fmt;
use core::str::FromStr;

use siphasher::sip::SipHasher13;
use tidegate::units::UnitError;
use tidegate::{Ack, Asks, Hosts, Packet, Seed};

use crate::ends::{Address, Ends, Transport};
use crate::frame::Frame;
use crate::service::Dscp;
use crate::tcp;

/// Which packets are one flow.
///
/// Whatever the key, all fragments of a packet are in one flow. Ports distinguish no fragment, not
/// even the first, so all fragments between two hosts (and, for IPv4, of one protocol) are one
/// flow. Under `five-tuple` it is a flow of its own beside those of whole packets; under the other
/// keys, the same flow. A frame that is not IP goes by its MAC addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlowKey {
    /// Addresses, protocol and ports alike (`five-tuple`). Frames that are not IP: MAC addresses
    /// and EtherType.
    #[default]
    FiveTuple,
    /// The sender's address alike (`source`): a client is one flow, however many connections it
    /// opens.
    Source,
    /// The receiver's address alike (`destination`).
    Destination,
    /// Both addresses alike, in this direction (`pair`).
    Pair,
    /// The first so many bits of the sender's address alike (`source-prefix/24`), 0 to 128. An IPv4
    /// address has 32 and is taken whole from there on, so that `source-prefix/64` is one flow
    /// per IPv6 network and per IPv4 host; IPv4 and IPv6 are never one flow. A MAC address is
    /// always taken whole.
    SourcePrefix(u8),
}

/// One flow under some [`FlowKey`]: what its packets have alike. Its text is a label for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Flow {
    /// Under `five-tuple`.
    FiveTuple(Ends),
    /// Under `source`.
    Source(Address),
    /// Under `destination`.
    Destination(Address),
    /// Under `pair`: source and destination.
    Pair(Address, Address),
    /// Under `source-prefix`: the address with all bits beyond the prefix zero, and the prefix's
    /// length in bits.
    SourcePrefix(Address, u8),
}

impl FlowKey {
    /// The flow of a packet with these `ends`.
    pub fn flow(self, ends: &Ends) -> Flow {
        match self {
            FlowKey::FiveTuple => Flow::FiveTuple(*ends),
            FlowKey::Source => Flow::Source(ends.source),
            FlowKey::Destination => Flow::Destination(ends.destination),
            FlowKey::Pair => Flow::Pair(ends.source, ends.destination),
            FlowKey::SourcePrefix(bits) => Flow::SourcePrefix(ends.source.prefix(bits), bits),
        }
    }
}

/// Hashes flows to the 64 bits a queue sees: SipHash-1-3 under a secret key, so that nobody who
/// does not know the key can choose addresses that fall into one bin with somebody else's.
#[derive(Clone, Copy, Debug)]
pub struct FlowHasher {
    key: FlowKey,
    sip: SipHasher13,
}

impl FlowHasher {
    /// A hasher for flows under `key`, with the hash's own `secret`: the same secret gives the same
    /// hashes on every machine.
    pub fn new(key: FlowKey, secret: [u64; 2]) -> FlowHasher {
        FlowHasher { key, sip: SipHasher13::new_with_keys(secret[0], secret[1]) }
    }

    /// A hasher whose secret is drawn from the run's seed, for simulations and replays: the same
    /// seed, the same hashes.
    pub fn seeded(key: FlowKey, seed: Seed) -> FlowHasher {
        let mut dice = seed.stream("flow hash");
        FlowHasher::new(key, [dice.bits(), dice.bits()])
    }

    /// The key.
    pub fn key(&self) -> FlowKey {
        self.key
    }

    /// The flow of a packet with these `ends`.
    pub fn flow(&self, ends: &Ends) -> Flow {
        self.key.flow(ends)
    }

    /// The hash of the flow of a packet with these `ends`, for
    /// [`Packet::flow`](tidegate::Packet::flow).
    pub fn hash(&self, ends: &Ends) -> u64 {
        let mut encoded = Encoded { bytes: [0; 48], len: 0 };
        encoded.flow(&self.key.flow(ends));
        self.sip.hash(encoded.bytes())
    }

    /// The hosts of a packet with these `ends`, whatever the flow key is, for
    /// [`Packet::with_hosts`](tidegate::Packet::with_hosts).
    pub fn hosts(&self, ends: &Ends) -> Hosts {
        let host = |address| {
            let mut encoded = Encoded { bytes: [0; 48], len: 0 };
            encoded.flow(&Flow::Source(address));
            self.sip.hash(encoded.bytes()) as u16
        };
        Hosts::new(host(ends.source), host(ends.destination))
    }

    /// What `frame`, whose bytes are `bytes`, acknowledges, if a queue `asks` for that
    /// ([`Qdisc::offer`](tidegate::Qdisc::offer)). Its connection is addresses and ports, whatever
    /// the flow key is.
    #[inline]
    pub fn ack(&self, asks: Asks, frame: &Frame, bytes: &[u8]) -> Option<Ack> {
        if asks.acks { self.acknowledged(frame, bytes) } else { None }
    }

    fn acknowledged(&self, frame: &Frame, bytes: &[u8]) -> Option<Ack> {
        let mut encoded = Encoded { bytes: [0; 48], len: 0 };
        encoded.flow(&Flow::FiveTuple(frame.ends));
        tcp::ack(frame, bytes, self.sip.hash(encoded.bytes()))
    }

    /// `packet` with what a queue `asks` for of `frame`, whose bytes are `bytes`.
    #[inline]
    pub fn answer(&self, asks: Asks, mut packet: Packet, frame: &Frame, bytes: &[u8]) -> Packet {
        if asks.hosts {
            packet = packet.with_hosts(self.hosts(&frame.ends));
        }
        if asks.dscp {
            packet.dscp = frame.dscp(bytes).map_or(0, Dscp::get);
        }
        packet
    }
}

/// A flow as bytes: two different flows never have the same. Every part begins with a byte that
/// tells its kind, which tells its length.
struct Encoded {
    bytes: [u8; 48],
    len: usize,
}

impl Encoded {
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The longest flow has 1 + 17 + 17 + 6 bytes.
    fn put(&mut self, kind: u8, data: &[u8]) {
        self.bytes[self.len] = kind;
        self.bytes[self.len + 1..][..data.len()].copy_from_slice(data);
        self.len += 1 + data.len();
    }

    fn flow(&mut self, flow: &Flow) {
        match *flow {
            Flow::FiveTuple(ends) => {
                self.put(1, &[]);
                self.address(ends.source);
                self.address(ends.destination);
                self.transport(ends.transport);
            }
            Flow::Source(source) => {
                self.put(2, &[]);
                self.address(source);
            }
            Flow::Destination(destination) => {
                self.put(3, &[]);
                self.address(destination);
            }
            Flow::Pair(source, destination) => {
                self.put(4, &[]);
                self.address(source);
                self.address(destination);
            }
            Flow::SourcePrefix(source, bits) => {
                self.put(5, &[bits]);
                self.address(source);
            }
        }
    }

    fn address(&mut self, address: Address) {
        match address {
            Address::Mac(bytes) => self.put(1, &bytes),
            Address::V4(bytes) => self.put(2, &bytes),
            Address::V6(bytes) => self.put(3, &bytes),
        }
    }

    fn transport(&mut self, transport: Transport) {
        let ports = |source: u16, destination: u16| {
            ((source as u32) << 16 | destination as u32).to_be_bytes()
        };
        match transport {
            Transport::Ports { protocol, source, destination } => {
                let [a, b, c, d] = ports(source, destination);
                self.put(1, &[protocol, a, b, c, d]);
            }
            Transport::Portless { protocol } => self.put(2, &[protocol]),
            Transport::Fragment { protocol } => self.put(3, &[protocol]),
            Transport::NotIp { ethertype } => self.put(4, &ethertype.to_be_bytes()),
            Transport::Simulated { source, destination } => {
                self.put(5, &ports(source, destination))
            }
        }
    }
}

impl FromStr for FlowKey {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<FlowKey, UnitError> {
        match text {
            "five-tuple" => return Ok(FlowKey::FiveTuple),
            "source" => return Ok(FlowKey::Source),
            "destination" => return Ok(FlowKey::Destination),
            "pair" => return Ok(FlowKey::Pair),
            _ => {}
        }
        if let Some(bits) = text.strip_prefix("source-prefix/") {
            // `parse` alone would let "+24" pass.
            let digits = bits.bytes().all(|b| b.is_ascii_digit());
            return match bits.parse::<u8>() {
                Ok(bits @ 0..=128) if digits => Ok(FlowKey::SourcePrefix(bits)),
                _ => Err(refuse(
                    text,
                    format!(
                        "the prefix is `{bits}`, but must be a whole number from 0 to 128 bits"
                    ),
                )),
            };
        }
        Err(refuse(text, unknown(text)))
    }
}

fn refuse(text: &str, why: String) -> UnitError {
    UnitError { text: text.into(), why }
}

/// The sentence for a text that is no flow key: a guess where the mistake is a usual one.
fn unknown(text: &str) -> String {
    let plain = text.trim().to_ascii_lowercase().replace(['_', ' '], "-");
    let guess = match plain.as_str() {
        "five-tuple" | "5-tuple" | "5tuple" | "fivetuple" | "tuple" | "flow" => "five-tuple",
        "source" | "src" | "source-address" | "src-ip" | "source-ip" | "client" | "host" => {
            "source"
        }
        "destination"
        | "dest"
        | "dst"
        | "dst-ip"
        | "destination-address"
        | "destination-ip"
        | "server" => "destination",
        "pair" | "host-pair" | "address-pair" | "src-dst" | "source-destination" => "pair",
        p if p.starts_with("source-prefix")
            || p.starts_with("src-prefix")
            || p.starts_with("prefix") =>
        {
            "source-prefix/24"
        }
        _ => {
            return "must be one of five-tuple | source | destination | pair | source-prefix/N (N \
                 from 0 to 128 bits)"
                .into();
        }
    };
    format!("no such flow key; did you mean `{guess}`?")
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FlowKey::FiveTuple => f.write_str("five-tuple"),
            FlowKey::Source => f.write_str("source"),
            FlowKey::Destination => f.write_str("destination"),
            FlowKey::Pair => f.write_str("pair"),
            FlowKey::SourcePrefix(bits) => write!(f, "source-prefix/{bits}"),
        }
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flow::FiveTuple(ends) => write!(f, "{ends}"),
            Flow::Source(address) | Flow::Destination(address) => write!(f, "{address}"),
            Flow::Pair(source, destination) => write!(f, "{source} -> {destination}"),
            Flow::SourcePrefix(address @ Address::Mac(_), _) => write!(f, "{address}"),
            Flow::SourcePrefix(address @ Address::V4(_), bits) if *bits >= 32 => {
                write!(f, "{address}")
            }
            Flow::SourcePrefix(address, bits) => write!(f, "{address}/{bits}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web() -> Ends {
        let transport = Transport::Ports { protocol: 6, source: 5001, destination: 80 };
        Ends {
            source: Address::V4([10, 0, 0, 1]),
            destination: Address::V4([10, 0, 0, 2]),
            transport,
        }
    }

    fn v6() -> Ends {
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8, 0xab, 0xcd]);
        bytes[15] = 7;
        Ends { source: Address::V6(bytes), destination: Address::V6(bytes), ..web() }
    }

    #[test]
    fn the_hash_is_siphash_1_3_of_the_documented_bytes() {
        // Expected values: CPython 3.11's hash() of the same bytes, which is SipHash-1-3, under a
        // key of zeros.
        assert_eq!(FlowHasher::new(FlowKey::Source, [0, 0]).hash(&web()), 0xe415_da75_ca4b_7420);
        assert_eq!(FlowHasher::new(FlowKey::FiveTuple, [0, 0]).hash(&web()), 0xc6f4_bbdb_4d50_0d1f);
    }

    #[test]
    fn the_secret_matters_and_comes_from_the_seed() {
        let hash = |seed| FlowHasher::seeded(FlowKey::FiveTuple, Seed::new(seed)).hash(&web());
        assert_eq!(hash(1), hash(1));
        assert_ne!(hash(1), hash(2));
    }

    #[test]
    fn each_key_tells_apart_what_it_names_and_nothing_else() {
        let keys = ["five-tuple", "source", "destination", "pair", "source-prefix/24"];
        let differs = |change: fn(&mut Ends)| {
            let mut other = web();
            change(&mut other);
            keys.map(|key| {
                let hasher = FlowHasher::new(key.parse().unwrap(), [1, 2]);
                assert_eq!(
                    hasher.flow(&web()) == hasher.flow(&other),
                    hasher.hash(&web()) == hasher.hash(&other)
                );
                hasher.hash(&web()) != hasher.hash(&other)
            })
        };
        let port = |e: &mut Ends| {
            e.transport = Transport::Ports { protocol: 6, source: 5001, destination: 81 }
        };
        let protocol = |e: &mut Ends| {
            e.transport = Transport::Ports { protocol: 17, source: 5001, destination: 80 }
        };
        assert_eq!(differs(port), [true, false, false, false, false]);
        assert_eq!(differs(protocol), [true, false, false, false, false]);
        assert_eq!(
            differs(|e| e.source = Address::V4([10, 0, 0, 9])),
            [true, true, false, true, false]
        );
        assert_eq!(
            differs(|e| e.source = Address::V4([10, 0, 9, 1])),
            [true, true, false, true, true]
        );
        assert_eq!(
            differs(|e| e.destination = Address::V4([10, 0, 0, 9])),
            [true, false, true, true, false]
        );
        let turned = |e: &mut Ends| std::mem::swap(&mut e.source, &mut e.destination);
        assert_eq!(differs(turned), [true, true, true, true, false]);
    }

    #[test]
    fn no_two_kinds_of_flow_share_a_hash() {
        let transports = [
            Transport::Ports { protocol: 17, source: 0, destination: 0 },
            Transport::Simulated { source: 0, destination: 0 },
            Transport::Portless { protocol: 17 },
            Transport::Fragment { protocol: 17 },
            Transport::NotIp { ethertype: 17 },
        ];
        let hash = |key: FlowKey, ends| FlowHasher::new(key, [1, 2]).hash(&ends);
        let mut hashes: Vec<u64> = transports
            .iter()
            .map(|&transport| hash(FlowKey::FiveTuple, Ends { transport, ..web() }))
            .collect();
        let network = Ends { source: Address::V4([10, 0, 0, 0]), ..web() };
        for key in ["source", "destination", "pair", "source-prefix/24", "source-prefix/25"] {
            hashes.push(hash(key.parse().unwrap(), network));
        }
        let kinds = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), kinds);
    }

    #[test]
    fn prefixes_at_their_bounds() {
        let address = |ends: Ends, bits| match FlowKey::SourcePrefix(bits).flow(&ends) {
            Flow::SourcePrefix(address, _) => address.to_string(),
            other => panic!("{other:?}"),
        };
        for (bits, v4, v6_prefix) in [
            (0, "0.0.0.0", "::"),
            (7, "10.0.0.0", "2000::"),
            (31, "10.0.0.0", "2001:db8::"),
            (32, "10.0.0.1", "2001:db8::"),
            (33, "10.0.0.1", "2001:db8:8000::"),
            (127, "10.0.0.1", "2001:db8:abcd::6"),
            (128, "10.0.0.1", "2001:db8:abcd::7"),
        ] {
            assert_eq!(address(web(), bits), v4, "{bits}");
            assert_eq!(address(v6(), bits), v6_prefix, "{bits}");
        }
    }

    #[test]
    fn labels() {
        let label = |key: &str, ends: Ends| key.parse::<FlowKey>().unwrap().flow(&ends).to_string();
        assert_eq!(label("five-tuple", web()), "10.0.0.1:5001 -> 10.0.0.2:80 tcp");
        assert_eq!(
            label("five-tuple", v6()),
            "[2001:db8:abcd::7]:5001 -> [2001:db8:abcd::7]:80 tcp"
        );
        assert_eq!(label("source", web()), "10.0.0.1");
        assert_eq!(label("destination", web()), "10.0.0.2");
        assert_eq!(label("pair", web()), "10.0.0.1 -> 10.0.0.2");
        assert_eq!(label("source-prefix/24", web()), "10.0.0.0/24");
        assert_eq!(label("source-prefix/64", web()), "10.0.0.1");
        assert_eq!(label("source-prefix/48", v6()), "2001:db8:abcd::/48");
        assert_eq!(
            label("pair", Ends::simulated(0x0a00_0001, 0xc0a8_0102, 1, 2)),
            "10.0.0.1 -> 192.168.1.2"
        );
        let with = |transport| label("five-tuple", Ends { transport, ..web() });
        assert_eq!(
            with(Transport::Fragment { protocol: 17 }),
            "10.0.0.1 -> 10.0.0.2 udp fragments"
        );
        assert_eq!(
            with(Transport::Portless { protocol: 200 }),
            "10.0.0.1 -> 10.0.0.2 protocol 200"
        );
        assert_eq!(with(Transport::NotIp { ethertype: 0x0806 }), "10.0.0.1 -> 10.0.0.2 arp");
    }

    #[test]
    fn keys_as_text() {
        for text in
            ["five-tuple", "source", "destination", "pair", "source-prefix/0", "source-prefix/128"]
        {
            assert_eq!(text.parse::<FlowKey>().unwrap().to_string(), text);
        }
        let error = |text: &str| text.parse::<FlowKey>().unwrap_err().to_string();
        assert_eq!(error("5-tuple"), "`5-tuple`: no such flow key; did you mean `five-tuple`?");
        assert_eq!(error("Source"), "`Source`: no such flow key; did you mean `source`?");
        assert_eq!(
            error("source_prefix/24"),
            "`source_prefix/24`: no such flow key; did you mean `source-prefix/24`?"
        );
        assert!(
            error("").contains(
                "must be one of five-tuple | source | destination | pair | source-prefix/N"
            )
        );
        for bad in [
            "source-prefix/129",
            "source-prefix/",
            "source-prefix/-1",
            "source-prefix/+24",
            "source-prefix/300",
        ] {
            assert!(
                error(bad).contains("must be a whole number from 0 to 128 bits"),
                "{}",
                error(bad)
            );
        }
    }
}
