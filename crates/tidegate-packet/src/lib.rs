//! Real packets for Tidegate: what a queue needs to know of a frame, which frames are one flow, and
//! the capture files that frames come from. Nothing here reads a clock, opens a socket or panics on
//! any input.
//!
//! | module | what it reads |
//! |---|---|
//! | [`frame`] | Ethernet (VLAN, QinQ), raw IP, Linux cooked captures, BSD loopback, PPP, IEEE 802.11 with or without radiotap; IPv4, IPv6 with extension headers; TCP, UDP, UDP-Lite, DCCP and SCTP ports; fragments; frames cut off by a snap length; anything else by its MAC addresses |
//! | [`flow`] | flow keys (`five-tuple`, `source`, `destination`, `pair`, `source-prefix/N`), their keyed hash and their labels |
//! | [`capture`] | pcap and pcapng files, in gzip too, streamed |
//! | [`prefix`], [`service`] | prefixes of addresses and sets of them; code points (DSCP) and VLAN priorities |
//! | [`tcp`], [`quic`] | a TCP segment's numbers; whether a datagram begins a QUIC connection |
//! | [`ecn`] | the ECN codepoint set to CE, and the IPv4 checksum with it |
#![forbid(unsafe_code)]

pub mod capture;
pub mod ecn;
pub mod ends;
pub mod flow;
pub mod frame;
mod header;
mod ip;
pub mod prefix;
pub mod quic;
pub mod service;
pub mod tcp;
mod wifi;

pub use capture::{Capture, CaptureError, CapturedPacket, Fault, Skipped, Skips, Within};
pub use ecn::{Mark, ipv4_checksum, set_ce};
pub use ends::{Address, Ends, Transport};
pub use flow::{Flow, FlowHasher, FlowKey};
pub use frame::{Frame, LinkType, UnsupportedLinkType};
pub use prefix::{Prefix, PrefixSet};
pub use service::{Dscp, vlan_priority};
pub use tcp::Segment;

/// The example of the README, compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
