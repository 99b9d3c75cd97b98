//! A packet in flight, and the store of what a queued packet carries.
use std::collections::VecDeque;

use tidegate::{Ack, Ecn, Hosts, Packet};

use crate::sources::tcp::Reports;

/// A packet in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Flight {
    /// When it reaches the end of the current link, in nanoseconds.
    pub time: u64,
    /// The index of its next step in the route table.
    pub hop: u32,
    /// The flow it belongs to.
    pub flow: u32,
    /// The header.
    pub body: Body,
}

const _: () = assert!(core::mem::size_of::<Flight>() == 32);

/// The packet header, in two words, so that it travels in registers. A wide load right after
/// several narrow stores would stall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Body {
    /// When it left its sender, in nanoseconds. In an acknowledgement, when the packet left that it
    /// answers.
    pub born: u64,
    /// From the lowest bit: number (32 bits), length (16), flags (8), connection (8).
    word: u64,
}

/// Bits of [`Body::flags`].
pub(crate) mod flag {
    /// The ECN codepoint.
    pub const ECN: u8 = 0b11;
    /// An acknowledgement, not data.
    pub const ACK: u8 = 1 << 2;
    /// Congestion experienced, echoed (ECE).
    pub const ECHO: u8 = 1 << 3;
    /// Congestion window reduced (CWR).
    pub const REDUCED: u8 = 1 << 4;
    /// A retransmission.
    pub const AGAIN: u8 = 1 << 5;
    /// Of an acknowledgement: it is of a part of the segment expected next.
    pub const PART: u8 = AGAIN;
    /// An acknowledgement that says more than its number; its report is kept in
    /// [`Reports`](crate::sources::tcp::Reports).
    pub const BLOCKS: u8 = 1 << 6;
}

impl Body {
    /// Where the length, the flags and the connection begin.
    const LEN: u32 = 32;
    const FLAGS: u32 = 48;
    const LIFE: u32 = 56;

    #[inline]
    pub fn new(born: u64, seq: u32, len: u16, flags: u8, life: u8) -> Body {
        let (len, flags, life) =
            ((len as u64) << Body::LEN, (flags as u64) << Body::FLAGS, (life as u64) << Body::LIFE);
        Body { born, word: seq as u64 | len | flags | life }
    }

    /// Its sequence number. In an acknowledgement, the number expected next, or with
    /// [`flag::BLOCKS`] the index of its report.
    #[inline]
    pub fn seq(&self) -> u32 {
        self.word as u32
    }

    /// Length on the wire, in bytes.
    #[inline]
    pub fn len(&self) -> u32 {
        (self.word >> Body::LEN) as u16 as u32
    }

    /// See [`flag`].
    #[inline]
    pub fn flags(&self) -> u8 {
        (self.word >> Body::FLAGS) as u8
    }

    /// The number of its connection within the flow, modulo 256.
    #[inline]
    pub fn life(&self) -> u8 {
        (self.word >> Body::LIFE) as u8
    }

    /// Whether it carries data, rather than an acknowledgement.
    #[inline]
    pub fn is_data(&self) -> bool {
        self.flags() & flag::ACK == 0
    }

    /// Its ECN codepoint.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.flags())
    }

    /// The same with another ECN codepoint.
    #[inline]
    pub fn with_ecn(self, ecn: Ecn) -> Body {
        let word = self.word & !((flag::ECN as u64) << Body::FLAGS) | (ecn as u64) << Body::FLAGS;
        Body { word, ..self }
    }
}

/// The flow key and class that queues see, and what those that ask see besides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label {
    /// [`Packet::flow`].
    pub flow: u64,
    /// [`Packet::class`].
    pub class: u16,
    /// [`Packet::with_hosts`], for queues that ask.
    pub hosts: Option<Hosts>,
    /// [`Packet::dscp`], for queues that ask.
    pub dscp: u8,
    /// Whether it is an acknowledgement of TCP, for queues that ask.
    pub acknowledges: bool,
}

/// What queued packets carry and the queue does not need, found by [`Packet::slot`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    flights: Vec<Flight>,
    /// Free slots. A slot whose packet was just dropped is reused first, then the one free longest.
    /// The packets of a FIFO queue thus lie in order.
    free: VecDeque<u32>,
    /// The slot freed by the last packet that went on.
    left: u32,
    /// The blocks of selective acknowledgements, queued or in flight.
    pub reports: Reports,
}

impl Waiting {
    /// Stores `flight`, and returns the packet to offer to the queue.
    #[inline]
    pub fn keep(&mut self, flight: Flight, label: Label) -> Packet {
        let slot = match self.free.pop_front() {
            Some(slot) => {
                self.flights[slot as usize] = flight;
                slot
            }
            None => {
                self.flights.push(flight);
                // All slots may be free at once.
                self.free.reserve(self.flights.len());
                self.flights.len() as u32 - 1
            }
        };
        let packet = Packet::new(label.flow, flight.body.len())
            .with_class(label.class)
            .with_ecn(flight.body.ecn())
            .with_slot(slot)
            .with_dscp(label.dscp);
        label.hosts.map_or(packet, |hosts| packet.with_hosts(hosts))
    }

    /// What `flight`, an acknowledgement of TCP, says. Numbers count segments; a part of one is not
    /// all that such a packet says.
    #[cold]
    pub fn ack(&self, flight: &Flight) -> Ack {
        let Flight { flow, body, .. } = *flight;
        let connection = u64::from(flow) << 8 | u64::from(body.life());
        let flags = body.flags();
        let ack = if flags & flag::BLOCKS == 0 {
            Ack::new(connection, body.seq())
        } else {
            let report = self.reports.look(body.seq());
            let blocks = report.blocks.iter().filter(|block| block.from < block.to);
            let blocks: Vec<[u32; 2]> = blocks.map(|block| [block.from, block.to]).collect();
            Ack::new(connection, report.ack).with_blocks(&blocks)
        };
        let ack = ack.with_echo(u8::from(flags & flag::ECHO != 0));
        if flags & flag::PART == 0 { ack } else { ack.saying_more() }
    }

    /// The flight stored for `packet`.
    #[inline]
    pub fn look(&self, packet: &Packet) -> &Flight {
        &self.flights[packet.slot as usize]
    }

    /// Removes the flight of `packet`, which a queue has dropped, together with its report.
    #[inline]
    pub fn lose(&mut self, packet: &Packet) -> Flight {
        self.free.push_front(packet.slot);
        let flight = self.with_mark(packet);
        self.forget(&flight);
        flight
    }

    /// What `flight`, which has left its queue and is lost, carried is needed no more.
    #[inline]
    pub fn forget(&mut self, flight: &Flight) {
        if flight.body.flags() & flag::BLOCKS != 0 {
            self.reports.take(flight.body.seq());
        }
    }

    /// Removes the flight of `packet`, which goes on, with any mark that the queue has set.
    #[inline]
    pub fn take(&mut self, packet: &Packet) -> Flight {
        self.free.push_back(packet.slot);
        self.left = packet.slot;
        self.with_mark(packet)
    }

    /// A guess at the packet `behind` places behind the last one that went on, for prefetching.
    #[inline]
    pub fn likely(&self, behind: usize) -> Option<&Flight> {
        self.flights.get(self.left as usize + behind)
    }

    #[inline]
    fn with_mark(&self, packet: &Packet) -> Flight {
        let flight = self.flights[packet.slot as usize];
        Flight { body: flight.body.with_ecn(packet.ecn), ..flight }
    }
}
