//! What a sender knows of the segments beyond the first hole: the scoreboard of RFC 6675, in
//! segments.
//!
//! The RFC's procedures walk over all that is outstanding. Here they are counters: which segments
//! the receiver holds is a bit each; below `lost` every other segment counts as lost, and below
//! `resent` each has been sent again.
use crate::sources::tcp::report::{Report, SackBlock};

/// How many segments the receiver must hold beyond one that is to count as lost (RFC 6675 §2,
/// DupThresh).
const EVIDENCE: usize = 3;

/// The scoreboard of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    /// The first segment not acknowledged.
    una: u32,
    /// One bit a segment that the receiver holds beyond `una`, at its number modulo the length.
    bits: Vec<u64>,
    /// How many of them are set, how many of these lie at or above `lost`, and how many below
    /// `resent`.
    held: u32,
    held_above: u32,
    held_below: u32,
    /// What the receiver does not hold below this counts as lost. It may lie below `una`; then
    /// nothing does.
    lost: u32,
    /// What the receiver does not hold below this has been sent again (one past the RFC's
    /// HighRxt); at least `una`.
    resent: u32,
    /// The greatest numbers that the receiver has reported, in falling order; 0 for none.
    top: [u32; EVIDENCE],
    /// How many segments acknowledgements have shown to be lost, in all.
    pub found_lost: u32,
    /// The rescue retransmission waits until more than this is acknowledged (RFC 6675 §2,
    /// RescueRxt).
    rescued: u32,
}

impl Scoreboard {
    fn room(&self) -> u32 {
        self.bits.len() as u32 * 64
    }

    fn place(&self, seq: u32) -> (usize, u64) {
        let at = seq & (self.room() - 1);
        ((at / 64) as usize, 1 << (at % 64))
    }

    /// Whether the receiver holds `seq`, which is not below the first segment not acknowledged.
    fn holds(&self, seq: u32) -> bool {
        if seq - self.una >= self.room() {
            return false;
        }
        let (word, bit) = self.place(seq);
        self.bits[word] & bit != 0
    }

    /// Takes in what an acknowledgement says: how many segments the receiver is now known to hold
    /// that it was not.
    #[inline]
    pub fn update(&mut self, report: &Report) -> u32 {
        self.update_telling(report, |_| {})
    }

    /// The same; calls `arrived` for each segment that is now known to have arrived.
    #[inline]
    pub fn update_telling(&mut self, report: &Report, mut arrived: impl FnMut(u32)) -> u32 {
        self.advance(report.ack, &mut arrived);
        let before = self.held;
        report.blocks.iter().for_each(|block| self.mark(*block, &mut arrived));
        if self.top[EVIDENCE - 1] > self.lost {
            self.raise(self.top[EVIDENCE - 1]);
        }
        self.held - before
    }

    /// Everything below `ack` is acknowledged.
    #[inline]
    fn advance(&mut self, ack: u32, arrived: &mut impl FnMut(u32)) {
        while self.una < ack && self.held > 0 {
            let (word, bit) = self.place(self.una);
            if self.bits[word] & bit != 0 {
                self.bits[word] &= !bit;
                self.held -= 1;
                self.held_above -= (self.una >= self.lost) as u32;
                self.held_below -= (self.una < self.resent) as u32;
            } else {
                arrived(self.una);
            }
            self.una += 1;
        }
        (self.una..ack).for_each(arrived);
        self.una = self.una.max(ack);
        self.resent = self.resent.max(self.una);
    }

    #[inline]
    fn mark(&mut self, block: SackBlock, arrived: &mut impl FnMut(u32)) {
        if block.to > self.una && block.to - self.una > self.room() {
            self.widen(block.to);
        }
        let mut seq = block.from.max(self.una);
        while seq < block.to {
            let (word, bit) = self.place(seq);
            // What is known is passed over a word at a time.
            let from = bit.trailing_zeros();
            let known = (!(self.bits[word] >> from)).trailing_zeros().min(64 - from);
            if known > 0 {
                seq += known;
                continue;
            }
            self.bits[word] |= bit;
            self.held += 1;
            self.held_above += (seq >= self.lost) as u32;
            self.held_below += (seq < self.resent) as u32;
            self.rank(seq);
            arrived(seq);
            seq += 1;
        }
    }

    fn rank(&mut self, mut seq: u32) {
        for top in &mut self.top {
            if seq > *top {
                std::mem::swap(top, &mut seq);
            }
        }
    }

    /// Makes room up to `end`; the receiver's window bounds it.
    #[cold]
    fn widen(&mut self, end: u32) {
        let mut wider = Scoreboard {
            bits: vec![0; ((end - self.una) as usize / 64 + 1).next_power_of_two()],
            ..*self
        };
        for seq in (self.una..self.una + self.room()).filter(|&seq| self.holds(seq)) {
            let (word, bit) = wider.place(seq);
            wider.bits[word] |= bit;
        }
        *self = wider;
    }

    /// What the receiver does not hold below `to` is lost.
    fn raise(&mut self, to: u32) {
        for seq in self.lost.max(self.una)..to {
            let held = self.holds(seq) as u32;
            self.held_above -= held;
            self.found_lost += 1 - held;
        }
        self.lost = to;
    }

    /// How many segments are under way, `max` having been sent: those not lost, and those sent
    /// again (RFC 6675 §4, SetPipe).
    pub fn pipe(&self, max: u32) -> u32 {
        let first = max - self.lost.max(self.una) - self.held_above;
        first + (self.resent - self.una) - self.held_below
    }

    /// Whether the first segment not acknowledged is lost (RFC 6675 §4, IsLost).
    pub fn sees_loss(&self) -> bool {
        self.lost > self.una
    }

    /// How many segments the receiver holds beyond the first hole.
    pub fn held(&self) -> u32 {
        self.held
    }

    /// A recovery begins.
    pub fn begin(&mut self) {
        self.rescued = self.una;
        self.resent = self.una;
        self.held_below = 0;
    }

    /// The timer has run out with `max` sent: what the receiver does not hold is lost, and so is
    /// what was sent again.
    pub fn lose_all(&mut self, max: u32) {
        self.lost = max;
        self.held_above = 0;
        self.resent = self.una;
        self.held_below = 0;
    }

    /// All reports of the receiver are forgotten; everything below `una` is acknowledged.
    pub fn forget(&mut self, una: u32) {
        if self.held > 0 {
            self.bits.fill(0);
        }
        *self = Scoreboard {
            bits: std::mem::take(&mut self.bits),
            una,
            resent: una,
            ..Scoreboard::default()
        };
    }

    /// The first segment not acknowledged is sent again, if it was not.
    pub fn first_sent_again(&mut self) {
        self.resent = self.resent.max(self.una + 1);
    }

    /// The first segment not held from what was last sent again, if it lies below `limit`.
    fn hole(&mut self, limit: u32) -> Option<u32> {
        while self.resent < limit && self.holds(self.resent) {
            self.resent += 1;
            self.held_below += 1;
        }
        (self.resent < limit).then_some(self.resent)
    }

    /// The next lost segment that has not been sent again, below `limit` (NextSeg rule 1).
    pub fn next_lost(&mut self, limit: u32) -> Option<u32> {
        self.hole(self.lost.min(limit))
    }

    /// The next segment that has not been sent again and is missing below something held, lost or
    /// not (NextSeg rule 3).
    pub fn next_missing(&mut self) -> Option<u32> {
        self.hole(self.top[0])
    }

    /// What [`Scoreboard::next_lost`] or [`Scoreboard::next_missing`] said is sent again.
    pub fn sent_again(&mut self) {
        self.resent += 1;
    }

    /// The last segment of the `max` sent that is not held (NextSeg rule 4): once a recovery, and
    /// not before more than its first retransmission is acknowledged.
    pub fn rescue(&mut self, max: u32) -> Option<u32> {
        if self.una <= self.rescued.saturating_add(1) {
            return None;
        }
        self.rescued = max;
        (self.una..max).rev().find(|&seq| !self.holds(seq))
    }
}

#[cfg(test)]
#[path = "scoreboard_tests.rs"]
mod tests;
