//! What became of every frame, one direction at a time: received = sent + dropped by reason + held.
use serde::{Deserialize, Serialize};
use tidegate::{DropReason, MarkReason};

/// Frames and their bytes, as received: without the framing overhead that they are paced with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Frames.
    pub frames: u64,
    /// Their lengths added up, in bytes.
    pub bytes: u64,
}

impl Tally {
    /// Counts a frame of `len` bytes in.
    #[inline]
    pub fn add(&mut self, len: u32) {
        self.frames += 1;
        self.bytes += len as u64;
    }

    /// Counts a frame of `len` bytes out.
    #[inline]
    pub fn remove(&mut self, len: u32) {
        self.frames -= 1;
        self.bytes -= len as u64;
    }
}

impl std::ops::Add for Tally {
    type Output = Tally;

    fn add(self, other: Tally) -> Tally {
        Tally { frames: self.frames + other.frames, bytes: self.bytes + other.bytes }
    }
}

impl std::ops::Sub for Tally {
    type Output = Tally;

    fn sub(self, other: Tally) -> Tally {
        Tally { frames: self.frames - other.frames, bytes: self.bytes - other.bytes }
    }
}

/// Why a frame was not sent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossReason {
    /// The queue's verdict.
    Queue(DropReason),
    /// The memory for waiting frames was used up.
    NoMemory,
    /// It was longer than the receiving device had room for.
    CutOff,
    /// The sending device carries no frame of this length.
    TooLong,
    /// The sending device did not take it: down, gone, or no room even after what waited there was
    /// sent.
    Unsent,
    /// It was marked while marks went unheeded (RFC 7567 §4.2.1).
    Overload,
    /// We were not to be seen, so that the kernel had sent it on already or had sent newer ones
    /// before it.
    Lapsed,
}

impl LossReason {
    /// The gateway's own reasons, in order; the queue's come before them.
    pub const OWN: [LossReason; 6] = [
        LossReason::NoMemory,
        LossReason::CutOff,
        LossReason::TooLong,
        LossReason::Unsent,
        LossReason::Overload,
        LossReason::Lapsed,
    ];

    /// Every reason, in order.
    pub fn all() -> impl Iterator<Item = LossReason> {
        DropReason::ALL.iter().map(|&why| LossReason::Queue(why)).chain(LossReason::OWN)
    }

    /// The reason as a word, for tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            LossReason::Queue(why) => why.name(),
            LossReason::NoMemory => "no_memory",
            LossReason::CutOff => "cut_off",
            LossReason::TooLong => "too_long",
            LossReason::Unsent => "unsent",
            LossReason::Overload => "overload",
            LossReason::Lapsed => "lapsed",
        }
    }

    const fn index(self) -> usize {
        match self {
            LossReason::Queue(why) => why as usize,
            LossReason::NoMemory => DropReason::ALL.len(),
            LossReason::CutOff => DropReason::ALL.len() + 1,
            LossReason::TooLong => DropReason::ALL.len() + 2,
            LossReason::Unsent => DropReason::ALL.len() + 3,
            LossReason::Overload => DropReason::ALL.len() + 4,
            LossReason::Lapsed => DropReason::ALL.len() + 5,
        }
    }
}

/// What became of the frames of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionCounters {
    /// Taken over from the receiving device.
    pub received: Tally,
    /// Given to the sending device, which took them.
    pub sent: Tally,
    /// Waiting now: in the queue and in the delay line.
    pub held: Tally,
    /// Not sent on, by [`LossReason::index`].
    lost: [Tally; DropReason::ALL.len() + LossReason::OWN.len()],
    /// Marked by the queue, by reason; they are sent too, unless dropped afterwards.
    pub marked: [u64; MarkReason::ALL.len()],
    /// Of those received, the ones that no queue was to judge.
    pub allowed: Tally,
    /// Received with a checksum that the sender left to hardware which is not there. They are sent
    /// on as they are, and their receivers find them damaged.
    pub unfinished: u64,
    /// Arrived, but the kernel had no room for them: never received here.
    pub missed: u64,
}

impl DirectionCounters {
    /// What was lost for this reason.
    pub fn lost(&self, why: LossReason) -> Tally {
        self.lost[why.index()]
    }

    /// What was lost for any reason.
    pub fn lost_in_all(&self) -> Tally {
        self.lost.iter().fold(Tally::default(), |sum, &one| sum + one)
    }

    /// Whether every frame and every byte received is accounted for.
    pub fn balanced(&self) -> bool {
        self.received == self.sent + self.held + self.lost_in_all()
    }

    /// A frame of `len` bytes is lost.
    #[inline]
    pub(crate) fn lose(&mut self, why: LossReason, len: u32) {
        self.lost[why.index()].add(len);
    }

    /// Frames that counted as sent were not sent after all.
    pub(crate) fn take_back(&mut self, unsent: Tally) {
        let lost = &mut self.lost[LossReason::Unsent.index()];
        *lost = *lost + unsent;
        self.sent = self.sent - unsent;
    }
}

/// What became of the frames of both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// From the inner device to the outer, through the queue.
    pub managed: DirectionCounters,
    /// From the outer device to the inner; through a queue if that direction is managed, too.
    pub reverse: DirectionCounters,
}

impl Account {
    /// How many frames wait or are under way.
    pub fn held(&self) -> u64 {
        self.managed.held.frames + self.reverse.held.frames
    }
}

/// What became of the frames of a class, by their length on the wire: received = left + lost +
/// waiting. Lengths are those of the packets that the queue gave or dropped; where another frame of
/// the flow left in one's stead, its own follows later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassTally {
    /// Offered to the queue.
    pub received: Tally,
    /// Left the queue for the link.
    pub left: Tally,
    /// Dropped by the queue.
    pub lost: Tally,
}
