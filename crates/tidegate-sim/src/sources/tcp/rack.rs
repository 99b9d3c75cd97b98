//! What a sender by RACK-TLP (RFC 8985) knows of every segment under way: when it was sent last,
//! and what has become of it.
//!
//! A segment is lost if one that was sent after it has arrived and it has not within the round-trip
//! time; that holds for segments sent again, too. Where we differ: nothing in the simulator
//! reorders a flow's packets, so that the window for reordering does not adapt (§6.2 step 4) and no
//! round trip counts as too short for what was sent again (§6.2 step 2).
use std::collections::VecDeque;

use tidegate::{Span, Time};

use super::report::{Block, Report};

/// How many segments beyond a hole make it unnecessary to wait for reordering (RFC 8985 §6.2 step
/// 4, DupThresh).
const EVIDENCE: u32 = 3;

/// What is known of a segment: bits of [`Segment::state`].
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
struct Segment {
    /// When it was sent last, in nanoseconds, and the how-manieth transmission that was: several
    /// bear one time.
    sent: u64,
    serial: u64,
    state: u8,
}

/// The segments under way of one connection.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// The first segment not acknowledged, and one past the greatest sent.
    una: u32,
    max: u32,
    /// Each at its number modulo the length.
    segments: Vec<Segment>,
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
    /// The least round-trip time, `u64::MAX` before the first.
    min_rtt: u64,
    /// When to look for losses without an acknowledgement, and when to send a probe; [`Time::MAX`]
    /// for never.
    pub reorder_at: Time,
    pub probe_at: Time,
    /// The probe that is under way.
    pub probe: Option<Probe>,
    pub reduction: Reduction,
    pub doubt: Doubt,
}

/// Whether the last timeout may have been in vain (F-RTO, RFC 5682), as Linux doubts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Doubt {
    /// It was not, or that has been tried.
    #[default]
    None,
    /// The first acknowledgement after it lets new data out.
    Doubted,
    /// It has come.
    Trying,
}

/// A tail loss probe (RFC 8985 §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    /// One past the greatest number sent when it was.
    pub end: u32,
    /// Whether it repeats a segment.
    pub again: bool,
}

/// Proportional rate reduction (RFC 9937), in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reduction {
    /// The window before it (RecoverFS).
    prior: f64,
    /// How many segments have arrived since, and how many have been sent.
    delivered: u32,
    pub sent: u32,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
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
            min_rtt: u64::MAX,
            reorder_at: Time::MAX,
            probe_at: Time::MAX,
            probe: None,
            reduction: Reduction::default(),
            doubt: Doubt::None,
        }
    }
}

impl Rack {
    fn at(&mut self, seq: u32) -> &mut Segment {
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
        let mut wider = vec![Segment::default(); room];
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

    /// The same; each of them is told to `arrived`.
    pub fn update_telling(
        &mut self,
        now: Time,
        report: &Report,
        mut arrived: impl FnMut(u32),
    ) -> u32 {
        let mut news = 0;
        let mut take = |rack: &mut Rack, seq| {
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
        for Block { from, to } in report.blocks {
            for seq in from.max(self.una)..to.min(self.max) {
                take(self, seq);
            }
        }
        news
    }

    /// The receiver has `seq`: whether that is news.
    fn arrived(&mut self, now: Time, seq: u32) -> bool {
        let Segment { sent, serial, state: before } = *self.at(seq);
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

    /// Finds what is lost by now: how many segments. `repairing` says that losses are known of
    /// already. If some will be unless they arrive before, that is when to look again.
    pub fn detect(&mut self, now: Time, repairing: bool) -> u32 {
        let tolerance = if repairing || self.held >= EVIDENCE { 0 } else { self.min_rtt / 4 };
        let before = self.waiting;
        self.reorder_at = Time::MAX;
        while let Some(&(serial, seq)) = self.order.front() {
            if self.is_under_way(serial, seq) {
                if serial >= self.latest {
                    break;
                }
                let due = Time::from_nanos(self.at(seq).sent + self.rtt + tolerance);
                if due > now {
                    self.reorder_at = due;
                    break;
                }
                self.lose(seq);
            }
            self.order.pop_front();
        }
        self.waiting - before
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
            let Segment { sent, state, .. } = *self.at(seq);
            let old = sent + self.rtt <= now.as_nanos();
            if state & state::HELD == 0 && (seq == self.una || old) {
                self.lose(seq);
            }
        }
        (self.reorder_at, self.probe_at, self.probe) = (Time::MAX, Time::MAX, None);
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

    /// When a probe is due of what is sent or acknowledged at `now`, no later than the timer at
    /// `timeout` (RFC 8985 §7.2); `alone` is what an acknowledgement of a single segment may
    /// wait for another.
    pub fn set_probe(&mut self, now: Time, srtt: u64, timeout: Time, alone: Span) {
        let delay = if srtt == 0 { Span::from_secs(1.0) } else { Span::from_nanos(2 * srtt) };
        let delay = if self.max - self.una == 1 { delay + alone } else { delay };
        self.probe_at = (now + delay).min(timeout);
    }

    /// A reduction from `prior` begins.
    pub fn begin(&mut self, prior: f64) {
        self.reduction = Reduction { prior, delivered: 0, sent: 0 };
    }

    /// `news` segments have arrived and `lost` are found lost, with the cumulative acknowledgement
    /// `advanced` or not: the window on its way to `ssthresh` (RFC 9937 §6.2).
    pub fn reduce(&mut self, news: u32, lost: u32, advanced: bool, ssthresh: f64) -> f64 {
        let pipe = self.pipe() as f64;
        let Reduction { prior, delivered, sent } = &mut self.reduction;
        *delivered += news;
        let (delivered, sent) = (*delivered as f64, *sent as f64);
        let more = if pipe > ssthresh {
            // The quotient of two whole numbers is rounded up; what is sent is whole.
            libm::ceil(delivered * ssthresh / *prior) - sent
        } else {
            let bound = (delivered - sent).max(news as f64) + (advanced && lost == 0) as u32 as f64;
            bound.min(ssthresh - pipe)
        };
        // The first repair goes out whatever is under way.
        pipe + more.max((sent == 0.0) as u32 as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use tidegate::rng::mix;

    /// What became of a segment: its last transmission, whether it arrived, whether it is lost,
    /// whether under way again.
    #[derive(Clone, Copy, Default)]
    struct Known {
        at: u64,
        serial: usize,
        held: bool,
        lost: bool,
        again: bool,
    }

    /// Against a map that is walked through for every acknowledgement: counts, losses, and what is
    /// to be sent again next.
    #[test]
    fn it_agrees_with_a_map() {
        let (mut rack, mut map) = (Rack::default(), BTreeMap::<u32, Known>::new());
        let (mut una, mut max, mut now, mut serial) = (0u32, 0u32, 0u64, 0);
        let (mut latest, mut rtt, mut losses) = (None, 0, 0);
        for i in 0..20_000u64 {
            let dice = mix(i);
            now += dice % 3 * 1_000_000;
            if rack.pipe() < 40 {
                let seq = rack.next_lost().unwrap_or(max);
                rack.sent(seq, Time::from_nanos(now));
                let before = map.get(&seq).copied().unwrap_or_default();
                map.insert(seq, Known { at: now, serial, again: seq < max, ..before });
                max = max.max(seq + 1);
                serial += 1;
                continue;
            }
            // One that is under way arrives, mostly of those sent first; with what is held up to
            // the first hole.
            let mut under_way: Vec<(usize, u32)> = map
                .iter()
                .filter(|(_, k)| !k.held && (!k.lost || k.again))
                .map(|(&seq, k)| (k.serial, seq))
                .collect();
            under_way.sort_unstable();
            let (number, seq) = under_way[(dice >> 32) as usize % under_way.len().min(8)];
            let known = map.get_mut(&seq).unwrap();
            known.held = true;
            if latest.is_none_or(|l| number > l) {
                (latest, rtt) = (Some(number), now - known.at);
            }
            while map.get(&una).is_some_and(|k| k.held) {
                map.remove(&una);
                una += 1;
            }
            let mut report = Report::plain(una);
            if seq >= una {
                report.blocks[0] = Block { from: seq, to: seq + 1 };
            }
            assert_eq!(rack.update(Time::from_nanos(now), &report), 1);
            let lost = rack.detect(Time::from_nanos(now), true);
            let mut found = 0;
            for known in map.values_mut().filter(|k| !k.held && (!k.lost || k.again)) {
                if Some(known.serial) < latest && known.at + rtt <= now {
                    (known.lost, known.again) = (true, false);
                    found += 1;
                }
            }
            assert_eq!(lost, found, "{i}");
            losses += lost;
            let waits =
                map.iter().find(|(_, k)| !k.held && k.lost && !k.again).map(|(&seq, _)| seq);
            let pipe = map.values().filter(|k| !k.held && (!k.lost || k.again)).count() as u32;
            assert_eq!((rack.next_lost(), rack.pipe()), (waits, pipe), "{i}");
        }
        assert!(una > 2_000 && losses > 1_000, "{una} acknowledged, {losses} lost");
    }
}
