//! What two ends of a capture send each other, in memory that has a bound.
use tidegate::{Ecn, Span, Time};
use tidegate_packet::{Ends, Frame, Segment};

use super::round_trip::RoundTrips;
use super::sequence::{SegmentKind, Sequence};
use super::sides::SenderPlace;

/// What passed within a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TimeBin {
    /// Which stretch.
    pub(super) index: u32,
    pub(super) packets: u32,
    pub(super) bytes: u64,
    /// Of the packets, those that had been lost before, here or elsewhere.
    pub(super) again: u32,
}

/// What one end sent.
#[derive(Clone, Debug, Default)]
pub(super) struct SentWay {
    pub(super) packets: u64,
    /// On the wire.
    pub(super) bytes: u64,
    /// Of TCP, bytes of data.
    pub(super) data: u64,
    pub(super) data_packets: u64,
    pub(super) longest: u32,
    pub(super) first: Time,
    pub(super) last: Time,
    /// Packets that may be marked, and those that are.
    pub(super) capable: u64,
    pub(super) marked: u64,
    pub(super) cells: Vec<TimeBin>,
    pub(super) sequence: Sequence,
    /// When it asked for a connection.
    pub(super) opened: Option<Time>,
    /// When it ended one.
    pub(super) ended: Option<Time>,
}

/// Two ends and what they send each other.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    /// As of its first packet.
    pub(super) ends: Ends,
    /// Where the sender of the first packet is.
    pub(super) place: Option<u32>,
    /// What the first packet's sender sent, and what the other one did.
    pub(super) ways: [SentWay; 2],
    pub(super) round_trips: RoundTrips,
    /// Whether a datagram was a beginning of QUIC.
    pub(super) quic: bool,
}

impl SentWay {
    /// Takes down a packet of `length` bytes in the stretch `index`; whether it needed a new cell.
    pub(super) fn pass(&mut self, now: Time, index: u32, length: u32, ecn: Ecn) -> bool {
        if self.packets == 0 {
            self.first = now;
        }
        self.last = now;
        self.packets += 1;
        self.bytes += u64::from(length);
        self.longest = self.longest.max(length);
        self.capable += u64::from(ecn != Ecn::NotEct);
        self.marked += u64::from(ecn == Ecn::Ce);
        let fresh = self.cells.last().is_none_or(|cell| cell.index != index);
        if fresh {
            self.cells.push(TimeBin { index, ..TimeBin::default() });
        }
        if let Some(cell) = self.cells.last_mut() {
            cell.packets += 1;
            cell.bytes += u64::from(length);
        }
        fresh
    }

    /// Takes down the last packet's segment.
    fn segment(&mut self, now: Time, segment: &Segment) -> Option<SegmentKind> {
        if segment.opens {
            self.opened.get_or_insert(now);
        }
        if segment.ends {
            self.ended.get_or_insert(now);
        }
        if segment.payload == 0 {
            return None;
        }
        self.data += u64::from(segment.payload);
        self.data_packets += 1;
        let kind = self.sequence.pass(now, segment.seq, segment.payload);
        if matches!(kind, SegmentKind::Again | SegmentKind::Filled)
            && let Some(cell) = self.cells.last_mut()
        {
            cell.again += 1;
        }
        Some(kind)
    }

    /// Makes one cell of every two; how many there are fewer.
    pub(super) fn halve(&mut self) -> usize {
        let before = self.cells.len();
        let mut merged: Vec<TimeBin> = Vec::with_capacity(before.div_ceil(2));
        for cell in &self.cells {
            let index = cell.index / 2;
            match merged.last_mut().filter(|last| last.index == index) {
                Some(last) => {
                    last.packets += cell.packets;
                    last.bytes += cell.bytes;
                    last.again += cell.again;
                }
                None => merged.push(TimeBin { index, ..*cell }),
            }
        }
        self.cells = merged;
        before - self.cells.len()
    }

    /// Bytes of data, each counted once though it may have passed again.
    pub(super) fn once(&self) -> u64 {
        let again = self.sequence.again.min(self.data_packets);
        self.data - self.data * again / self.data_packets.max(1)
    }

    /// Segments that were lost, as far as that shows.
    pub(super) fn lost(&self) -> u64 {
        self.sequence.again + self.sequence.filled
    }
}

impl Conversation {
    pub(super) fn new(ends: Ends, place: Option<u32>) -> Conversation {
        let (ways, round_trips) = Default::default();
        Conversation { ends, place, ways, round_trips, quic: false }
    }

    /// Takes down a packet from the end `from` (0 or 1); whether it needed a new cell.
    pub(super) fn pass(
        &mut self,
        now: Time,
        from: usize,
        index: u32,
        (frame, bytes): (&Frame, &[u8]),
    ) -> bool {
        let fresh = self.ways[from].pass(now, index, frame.len, frame.ecn);
        if let Some(segment) = Segment::of(frame, bytes) {
            self.round_trips.pass(now, from, &segment);
            let kind = self.ways[from].segment(now, &segment);
            if matches!(kind, Some(SegmentKind::Again | SegmentKind::Filled)) {
                self.round_trips.again(from);
            }
        } else if !self.quic && self.ways[from].packets <= QUIC_WITHIN {
            self.quic = tidegate_packet::quic::opens(frame, bytes);
        }
        fresh
    }
}

/// Packets within which a connection of QUIC has shown what it is.
const QUIC_WITHIN: u64 = 16;

/// Which stretch of time is which.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeGrid {
    pub(super) step: Span,
}

impl TimeGrid {
    pub(super) fn index(self, now: Time) -> u32 {
        (now.as_nanos() / self.step.as_nanos()) as u32
    }

    pub(super) fn seconds(self) -> f64 {
        self.step.as_secs()
    }
}

/// A way of a conversation in the loaded direction, and the way back.
#[derive(Clone, Copy, Debug)]
pub(super) struct DirectedFlow<'a> {
    pub(super) conversation: &'a Conversation,
    /// Which of its ends sends.
    pub(super) from: usize,
}

impl<'a> DirectedFlow<'a> {
    pub(super) fn way(self) -> &'a SentWay {
        &self.conversation.ways[self.from]
    }

    pub(super) fn back(self) -> &'a SentWay {
        &self.conversation.ways[1 - self.from]
    }

    /// When an end of it opened the connection, if that was seen.
    pub(super) fn opened(self) -> Option<Time> {
        self.way().opened.or(self.back().opened)
    }

    /// When the first of its ends ended the connection, if one has.
    pub(super) fn ended(self) -> Option<Time> {
        [self.way().ended, self.back().ended].into_iter().flatten().min()
    }

    /// Its ends, the sender first.
    pub(super) fn ends(self) -> Ends {
        match self.from {
            0 => self.conversation.ends,
            _ => self.conversation.ends.turned(),
        }
    }
}

/// Where the sender of a way is, if that is known.
pub(super) fn place_of(place: SenderPlace, from: usize) -> SenderPlace {
    match from {
        0 => place,
        _ => SenderPlace { side: place.side.turned(), ..place },
    }
}
