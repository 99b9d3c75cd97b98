//! What a queue knows of a packet: 32 bytes, copied about; the payload stays with the driver.
use crate::rng::mix;
use crate::units::Time;

/// The two ECN bits of an IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// The sender does not speak ECN: a mark is impossible.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, codepoint ECT(1).
    Ect1 = 0b01,
    /// ECN-capable, codepoint ECT(0).
    Ect0 = 0b10,
    /// Congestion experienced: marked, here or upstream.
    Ce = 0b11,
}

impl Ecn {
    /// Whether a mark can be set (or is set already).
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }

    /// The codepoint in the low two bits of `tos`.
    pub const fn from_bits(tos: u8) -> Ecn {
        match tos & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
}

/// The hosts that a packet goes between, each by a number or a keyed hash of its address.
///
/// A packet carries them in its [`tag`](Packet::tag) until a queue takes it, so that it stays as
/// small for those that do not ask for hosts. 16 bits are few. Of 100 hosts by hash two are taken
/// for one in one case of 13, and then divide a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hosts {
    /// Who sends.
    pub source: u16,
    /// Who receives.
    pub destination: u16,
}

impl Hosts {
    /// From `source` to `destination`.
    pub const fn new(source: u16, destination: u16) -> Hosts {
        Hosts { source, destination }
    }
}

/// What a queue asks a driver to fill in besides the flow; what it does not ask for costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Asks {
    /// [`Packet::with_hosts`].
    pub hosts: bool,
    /// [`Packet::dscp`].
    pub dscp: bool,
    /// An [`Ack`](crate::Ack) beside each packet that is one
    /// ([`Qdisc::enqueue_ack`](crate::Qdisc::enqueue_ack)).
    pub acks: bool,
}

impl Asks {
    /// Nothing besides the flow.
    pub const NOTHING: Asks = Asks { hosts: false, dscp: false, acks: false };

    /// The same, and `hosts` or not.
    pub const fn with_hosts(self, hosts: bool) -> Asks {
        Asks { hosts, ..self }
    }

    /// The same, and `dscp` or not.
    pub const fn with_dscp(self, dscp: bool) -> Asks {
        Asks { dscp, ..self }
    }

    /// The same, and `acks` or not.
    pub const fn with_acks(self, acks: bool) -> Asks {
        Asks { acks, ..self }
    }
}

/// A packet as a queue sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The flow: a keyed hash of whatever the driver's flow key is. Equal for all packets of a
    /// flow.
    pub flow: u64,
    /// When it was enqueued; [`Qdisc::enqueue`](crate::Qdisc::enqueue) sets it.
    pub arrived: Time,
    /// Length on the wire, in bytes.
    pub len: u32,
    /// The driver's own: where it keeps the rest of the packet. No queue reads it.
    pub slot: u32,
    /// The queue's own, from enqueue to dequeue (SFB keeps its epoch here). No driver reads it. To
    /// a queue that asks for [`Hosts`] a driver gives them here.
    pub tag: u32,
    /// The class of service the driver gave it; queues without classes ignore it.
    pub class: u16,
    /// The ECN codepoint; a queue that marks sets [`Ecn::Ce`].
    pub ecn: Ecn,
    /// The DiffServ code point, 0 to 63, for queues that ask for it.
    pub dscp: u8,
}

const _: () = assert!(core::mem::size_of::<Packet>() == 32);

impl Packet {
    /// A Not-ECT packet of `len` bytes of flow `flow`, class 0, code point 0, slot 0.
    pub const fn new(flow: u64, len: u32) -> Packet {
        Packet {
            flow,
            arrived: Time::ZERO,
            len,
            slot: 0,
            tag: 0,
            class: 0,
            ecn: Ecn::NotEct,
            dscp: 0,
        }
    }

    /// The same packet between `hosts`, for a queue that asks for them.
    pub const fn with_hosts(self, hosts: Hosts) -> Packet {
        Packet { tag: (hosts.source as u32) << 16 | hosts.destination as u32, ..self }
    }

    /// The hosts that a driver gave; where it gave none, such as are the flow's own.
    #[inline]
    pub const fn hosts(&self) -> Hosts {
        let both = if self.tag == 0 { mix(self.flow) as u32 } else { self.tag };
        Hosts { source: (both >> 16) as u16, destination: both as u16 }
    }

    /// The same packet with the DiffServ code point `dscp`.
    pub const fn with_dscp(self, dscp: u8) -> Packet {
        Packet { dscp, ..self }
    }

    /// The same packet with ECN codepoint `ecn`.
    pub const fn with_ecn(self, ecn: Ecn) -> Packet {
        Packet { ecn, ..self }
    }

    /// The same packet in class `class`.
    pub const fn with_class(self, class: u16) -> Packet {
        Packet { class, ..self }
    }

    /// The same packet with the driver's `slot`.
    pub const fn with_slot(self, slot: u32) -> Packet {
        Packet { slot, ..self }
    }
}
