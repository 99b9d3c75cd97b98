//! What a sender by RACK-TLP (RFC 8985) knows of every segment under way: when it was sent last,
//! and what has become of it.
//!
//! A segment is lost if one that was sent after it has arrived and it has not within the round-trip
//! time; that holds for segments sent again, too. We differ in two points, since nothing in the
//! simulator reorders a flow's packets. The window for reordering does not adapt (§6.2 step 4), and
//! no round trip counts as too short for what was sent again (§6.2 step 2).
use std::collections::VecDeque;

use tidegate::Time;

use crate::sources::tcp::report::{Report, SackBlock};
use crate::sources::tcp::rto::UNMEASURED;

/// How many segments beyond a hole make it unnecessary to wait for reordering (RFC 8985 §6.2 step
/// 4, DupThresh).
const EVIDENCE: u32 = 3;

/// What is known of a segment: bits of [`SentSegment::state`].
mod state {
    /// The receiver holds it.
    pub const HELD: u8 = 1;
    /// It counts as lost, at least as sent first.
    pub const LOST: u8 = 2;
    /// It is under way again.
    pub const AGAIN: u8 = 4;
}

/// A segment sent and not acknowledged.
#[derive(Clone, Copy, Debug, Default)]
struct SentSegment {
    /// When it was sent last, in nanoseconds, and the how-manieth transmission that was: several
    /// bear one time.
    sent: u64,
    serial: u64,
    state: u8,
}

/// The segments under way of one connection.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    /// The first segment not acknowledged, and one past the greatest sent.
    una: u32,
    max: u32,
    /// Each at its number modulo the length.
    segments: Vec<SentSegment>,
    /// How many of them are held; of the others, how many count as lost, and how many are under
    /// way again; how many wait for that.
    held: u32,
    lost: u32,
    again: u32,
    waiting: u32,
    /// How many have been found lost, in all.
    pub found_lost: u32,
    /// Transmissions by their serial numbers, and the next of these; of a segment sent again only
    /// the last counts.
    order: VecDeque<(u64, u32)>,
    serial: u64,
    /// No segment below waits to be sent again.
    hole: u32,
    /// Of the segments that have arrived, the one sent last: one past its serial number, and how
    /// long it took (RACK.rtt).
    latest: u64,
    rtt: u64,
    /// The least round-trip time, [`UNMEASURED`] before the first.
    min_rtt: u64,
}

impl Default for Segments {
    fn default() -> Segments {
        Segments {
            una: 0,
            max: 0,
            segments: Vec::new(),
            held: 0,
            lost: 0,
            again: 0,
            waiting: 0,
            found_lost: 0,
            order: VecDeque::new(),
            serial: 0,
            hole: 0,
            latest: 0,
            rtt: 0,
            min_rtt: UNMEASURED,
        }
    }
}

impl Segments {
    fn at(&mut self, seq: u32) -> &mut SentSegment {
        let at = seq as usize & (self.segments.len() - 1);
        &mut self.segments[at]
    }

    /// Segment `seq` is sent at `now`, for the first time or again.
    pub fn sent(&mut self, seq: u32, now: Time) {
        let now = now.as_nanos();
        if seq - self.una >= self.segments.len() as u32 {
            self.widen(seq);
        }
        if seq == self.max {
            self.max += 1;
            self.at(seq).state = 0;
        } else {
            let before = self.at(seq).state;
            self.put(seq, before | state::AGAIN);
        }
        let serial = self.serial;
        self.serial += 1;
        let segment = self.at(seq);
        (segment.sent, segment.serial) = (now, serial);
        self.order.push_back((serial, seq));
    }

    /// `seq` is in state `new` now.
    fn put(&mut self, seq: u32, new: u8) {
        let old = std::mem::replace(&mut self.at(seq).state, new);
        let waits = |state: u8| (state & (state::LOST | state::AGAIN) == state::LOST) as u32;
        let count = |state: u8, bit: u8| (state & bit != 0) as u32;
        self.held = self.held + count(new, state::HELD) - count(old, state::HELD);
        self.lost = self.lost + count(new, state::LOST) - count(old, state::LOST);
        self.again = self.again + count(new, state::AGAIN) - count(old, state::AGAIN);
        self.waiting = self.waiting + waits(new) - waits(old);
    }

    /// Makes room up to `seq`; the receiver's window bounds it.
    #[cold]
    fn widen(&mut self, seq: u32) {
        let room = ((seq - self.una) as usize + 1).next_power_of_two().max(64);
        let mut wider = vec![SentSegment::default(); room];
        for seq in self.una..self.max {
            wider[seq as usize & (room - 1)] = *self.at(seq);
        }
        self.segments = wider;
    }

    /// Takes in what an acknowledgement that comes at `now` says: how many segments have arrived
    /// that were not known to have.
    pub fn update(&mut self, now: Time, report: &Report) -> u32 {
        self.update_telling(now, report, |_| {})
    }

    /// The same; calls `arrived` with each of them.
    pub fn update_telling(
        &mut self,
        now: Time,
        report: &Report,
        mut arrived: impl FnMut(u32),
    ) -> u32 {
        let mut news = 0;
        let mut take = |rack: &mut Segments, seq| {
            if rack.arrived(now, seq) {
                news += 1;
                arrived(seq);
            }
        };
        while self.una < report.ack.min(self.max) {
            take(self, self.una);
            self.held -= 1;
            self.una += 1;
        }
        self.hole = self.hole.max(self.una);
        for SackBlock { from, to } in report.blocks {
            for seq in from.max(self.una)..to.min(self.max) {
                take(self, seq);
            }
        }
        news
    }

    /// The receiver has `seq`: whether that is news.
    fn arrived(&mut self, now: Time, seq: u32) -> bool {
        let SentSegment { sent, serial, state: before } = *self.at(seq);
        if before & state::HELD != 0 {
            return false;
        }
        self.put(seq, state::HELD);
        if serial >= self.latest {
            self.latest = serial + 1;
            self.rtt = now.as_nanos() - sent;
            self.min_rtt = self.min_rtt.min(self.rtt);
        }
        true
    }

    /// Finds what is lost by now: how many segments, and when to look again; [`Time::MAX`] for
    /// never. `repairing` says that losses are known of already.
    pub fn detect(&mut self, now: Time, repairing: bool) -> (u32, Time) {
        let tolerance = if repairing || self.held >= EVIDENCE { 0 } else { self.min_rtt / 4 };
        let before = self.waiting;
        let mut again_at = Time::MAX;
        while let Some(&(serial, seq)) = self.order.front() {
            if self.is_under_way(serial, seq) {
                if serial >= self.latest {
                    break;
                }
                let due = Time::from_nanos(self.at(seq).sent + self.rtt + tolerance);
                if due > now {
                    again_at = due;
                    break;
                }
                self.lose(seq);
            }
            self.order.pop_front();
        }
        (self.waiting - before, again_at)
    }

    /// Whether `seq` is under way by transmission `serial`.
    fn is_under_way(&mut self, serial: u64, seq: u32) -> bool {
        if seq < self.una {
            return false;
        }
        let segment = *self.at(seq);
        let lost = segment.state & (state::LOST | state::AGAIN) == state::LOST;
        segment.serial == serial && segment.state & state::HELD == 0 && !lost
    }

    fn lose(&mut self, seq: u32) {
        let before = self.at(seq).state;
        self.put(seq, before & !state::AGAIN | state::LOST);
        self.found_lost += 1;
        self.hole = self.hole.min(seq);
    }

    /// The timer has run out: the first segment is lost, and all that was sent a round trip ago or
    /// earlier (RFC 8985 §6.3).
    pub fn time_out(&mut self, now: Time) {
        for seq in self.una..self.max {
            let SentSegment { sent, state, .. } = *self.at(seq);
            let old = sent + self.rtt <= now.as_nanos();
            if state & state::HELD == 0 && (seq == self.una || old) {
                self.lose(seq);
            }
        }
    }

    /// The next lost segment that is not under way again.
    pub fn next_lost(&mut self) -> Option<u32> {
        if self.waiting == 0 {
            return None;
        }
        while self.at(self.hole).state & (state::LOST | state::AGAIN) != state::LOST {
            self.hole += 1;
        }
        Some(self.hole)
    }

    /// Whether a lost segment has not arrived, under way again or not.
    pub fn has_missing(&self) -> bool {
        self.lost > 0
    }

    /// Whether a lost segment is not under way again.
    pub fn has_lost(&self) -> bool {
        self.waiting > 0
    }

    /// How many segments are under way again.
    pub fn again(&self) -> u32 {
        self.again
    }

    /// How many segments are under way.
    pub fn pipe(&self) -> u32 {
        self.max - self.una - self.held - self.lost + self.again
    }

    /// Whether nothing is known to be missing.
    pub fn is_open(&self) -> bool {
        self.held == 0 && self.lost == 0
    }

    /// Whether one segment alone is not acknowledged.
    pub fn is_single(&self) -> bool {
        self.max - self.una == 1
    }
}

#[cfg(test)]
#[path = "segments_tests.rs"]
mod tests;
