//! A packet on its way, and where the rest of a queued packet is kept.
use std::collections::VecDeque;

use tidegate::{Ecn, Packet};

use crate::sources::tcp::Reports;

/// A packet on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Flight {
    /// When it comes out of the link it is on, in nanoseconds.
    pub time: u64,
    /// Position in the route table of what it does next.
    pub hop: u32,
    /// The flow it belongs to.
    pub flow: u32,
    /// What its ends say to each other.
    pub body: Body,
}

const _: () = assert!(core::mem::size_of::<Flight>() == 32);

/// What the ends of a flow say to each other, in two words: a packet is handed from step to step in
/// registers, for what is written into memory piece by piece and read at once as a whole has to
/// wait until it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Body {
    /// When it left its sender, in nanoseconds; of an acknowledgement, when the packet did that it
    /// answers.
    pub born: u64,
    /// From the lowest bit: number (32 bits), length (16), flags (8), connection (8).
    word: u64,
}

/// Bits of [`Body::flags`].
pub(crate) mod flag {
    /// The ECN codepoint.
    pub const ECN: u8 = 0b11;
    /// Not data, but an acknowledgement.
    pub const ACK: u8 = 1 << 2;
    /// Congestion experienced, echoed (ECE).
    pub const ECHO: u8 = 1 << 3;
    /// Congestion window reduced (CWR).
    pub const REDUCED: u8 = 1 << 4;
    /// Sent before.
    pub const AGAIN: u8 = 1 << 5;
    /// A selective acknowledgement: what it says is kept in
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

    /// Its number; of an acknowledgement, the number expected next, or with [`flag::BLOCKS`] the
    /// place of its report.
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

    /// Which of its flow's connections it belongs to, modulo 256.
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
    fn with_ecn(self, ecn: Ecn) -> Body {
        let word = self.word & !((flag::ECN as u64) << Body::FLAGS) | (ecn as u64) << Body::FLAGS;
        Body { word, ..self }
    }
}

/// What queues see of a packet's flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label {
    /// [`Packet::flow`].
    pub flow: u64,
    /// [`Packet::class`].
    pub class: u16,
}

/// Packets that wait in queues: what the queue does not need to know, found by [`Packet::slot`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    flights: Vec<Flight>,
    /// Slots to be used anew: that of a packet just dropped, then that which has been free
    /// longest. So the packets of a queue that serves in order lie in order.
    free: VecDeque<u32>,
    /// The slot that was given up last by a packet that went on.
    left: u32,
    /// What selective acknowledgements say, waiting or under way.
    pub reports: Reports,
}

impl Waiting {
    /// Keeps `flight`; the packet for the queue.
    #[inline]
    pub fn keep(&mut self, flight: Flight, label: Label) -> Packet {
        let slot = match self.free.pop_front() {
            Some(slot) => {
                self.flights[slot as usize] = flight;
                slot
            }
            None => {
                self.flights.push(flight);
                // Some day all of them may be free.
                self.free.reserve(self.flights.len());
                self.flights.len() as u32 - 1
            }
        };
        Packet::new(label.flow, flight.body.len())
            .with_class(label.class)
            .with_ecn(flight.body.ecn())
            .with_slot(slot)
    }

    /// What was kept for `packet`.
    #[inline]
    pub fn look(&self, packet: &Packet) -> &Flight {
        &self.flights[packet.slot as usize]
    }

    /// What was kept for `packet`, which a queue has dropped; nothing of it is kept any longer.
    #[inline]
    pub fn lose(&mut self, packet: &Packet) -> Flight {
        self.free.push_front(packet.slot);
        let flight = self.with_mark(packet);
        if flight.body.flags() & flag::BLOCKS != 0 {
            self.reports.take(flight.body.seq());
        }
        flight
    }

    /// What was kept for `packet`, for the last time, with the mark that a queue may have set.
    #[inline]
    pub fn take(&mut self, packet: &Packet) -> Flight {
        self.free.push_back(packet.slot);
        self.left = packet.slot;
        self.with_mark(packet)
    }

    /// Who may well be so many places behind the packet that went on last: a guess, for what may be
    /// asked for ahead.
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
