//! The counters against the RFC's procedures, which walk over a set.
use std::collections::BTreeSet;

use super::*;
use tidegate::rng::mix;

/// RFC 6675 §4 to the letter, in segments.
#[derive(Default)]
struct Naive {
    una: u32,
    held: BTreeSet<u32>,
    /// One past HighRxt.
    resent: u32,
    /// After a timeout: everything that is not held below this is lost.
    all_lost: u32,
}

impl Naive {
    fn update(&mut self, report: &Report) {
        self.una = self.una.max(report.ack);
        report.blocks.iter().for_each(|b| self.held.extend(b.from..b.to));
        self.held.retain(|&s| s >= self.una);
        self.resent = self.resent.max(self.una);
    }

    fn lost(&self, seq: u32) -> bool {
        self.held.iter().rev().nth(EVIDENCE - 1).is_some_and(|&third| third > seq)
            || seq < self.all_lost
    }

    fn pipe(&self, max: u32) -> u32 {
        let out = (self.una..max).filter(|s| !self.held.contains(s));
        out.map(|s| !self.lost(s) as u32 + (s < self.resent) as u32).sum()
    }

    fn next_lost(&self, limit: u32) -> Option<u32> {
        (self.resent..limit).find(|&s| !self.held.contains(&s) && self.lost(s))
    }

    fn next_missing(&self) -> Option<u32> {
        (self.resent..*self.held.last()?).find(|s| !self.held.contains(s))
    }
}

/// A random course of losses, reordered reports and timeouts, at both.
#[derive(Default)]
struct Course {
    board: Scoreboard,
    naive: Naive,
    max: u32,
    /// The segments that arrived.
    there: BTreeSet<u32>,
    /// How often a recovery began, a timer ran out, a segment was sent again.
    recoveries: u32,
    timeouts: u32,
    again: u32,
    /// Where we are, for messages.
    at: String,
}

impl Course {
    fn step(&mut self, dice: u64) {
        self.send(dice);
        let report = self.report(dice);
        self.update(&report);
        self.begin_or_lose_all(dice);
        self.compare();
        self.send_again(dice);
    }

    /// Of what is sent, a fifth is lost; repairs of the first holes arrive.
    fn send(&mut self, dice: u64) {
        let Course { naive, max, there, .. } = self;
        let sent = (dice % 12) as u32;
        there.extend((*max..*max + sent).filter(|s| !mix(*s as u64 ^ dice).is_multiple_of(5)));
        *max += sent;
        for _ in 0..dice >> 40 & 3 {
            let first = (naive.una..*max).find(|s| !there.contains(s));
            there.extend(first);
        }
    }

    /// What the receiver reports now, or an old report that comes late.
    fn report(&self, dice: u64) -> Report {
        let Course { naive, max, there, .. } = self;
        let ack = (naive.una..).find(|s| !there.contains(s)).unwrap().min(*max);
        let mut blocks = [SackBlock::default(); 3];
        for (k, block) in blocks.iter_mut().enumerate() {
            let around = ack + (dice >> (8 + 9 * k)) as u32 % (max - ack + 1);
            if around > ack && there.contains(&around) {
                let from = (ack..=around).rev().take_while(|s| there.contains(s)).last().unwrap();
                let to = (around..).find(|s| !there.contains(s)).unwrap();
                *block = SackBlock { from, to };
            }
        }
        let ack = if dice >> 60 == 0 { naive.una } else { ack };
        Report { blocks, ..Report::plain(ack) }
    }

    /// Both take the report in. Each segment that arrived is reported once, and those that it shows
    /// to be lost are counted.
    fn update(&mut self, report: &Report) {
        let Course { board, naive, at, .. } = self;
        let before = naive.held.len() as u32;
        let unknown: Vec<u32> = (naive.una..self.max).filter(|s| !naive.held.contains(s)).collect();
        let sound: Vec<u32> = unknown.iter().copied().filter(|&s| !naive.lost(s)).collect();
        naive.update(report);
        let (mut told, found_lost) = (vec![], board.found_lost);
        let gone =
            before + board.update_telling(report, |seq| told.push(seq)) - naive.held.len() as u32;
        assert!(gone <= before, "no more can leave than were there");
        let arrived = |s: &u32| *s < naive.una || naive.held.contains(s);
        told.sort_unstable();
        let expected = unknown.into_iter().filter(arrived).collect::<Vec<_>>();
        assert_eq!(told, expected, "each is told once");
        let lost = sound.iter().filter(|s| !arrived(s) && naive.lost(**s)).count();
        assert_eq!((board.found_lost - found_lost) as usize, lost, "{at}");
    }

    fn begin_or_lose_all(&mut self, dice: u64) {
        if dice >> 56 & 15 == 0 {
            self.recoveries += 1;
            self.board.begin();
            self.naive.resent = self.naive.una;
        } else if dice >> 50 & 31 == 0 {
            self.timeouts += 1;
            self.board.lose_all(self.max);
            (self.naive.all_lost, self.naive.resent) = (self.max, self.naive.una);
        }
    }

    fn compare(&self) {
        let Course { board, naive, max, at, .. } = self;
        assert_eq!((board.una, board.held() as usize), (naive.una, naive.held.len()));
        assert_eq!(board.sees_loss(), naive.una < *max && naive.lost(naive.una), "{at}");
        assert_eq!(board.pipe(*max), naive.pipe(*max), "{at}");
    }

    fn send_again(&mut self, dice: u64) {
        let Course { board, naive, max, .. } = self;
        let limit = if dice >> 30 & 3 == 0 { naive.una + 20 } else { u32::MAX };
        let limit = limit.min(*max);
        assert_eq!(board.next_lost(limit), naive.next_lost(limit));
        assert_eq!(board.next_missing(), naive.next_missing().filter(|&s| s >= naive.una));
        let next = if dice >> 20 & 1 == 0 { board.next_lost(limit) } else { board.next_missing() };
        if let Some(seq) = next {
            self.again += 1;
            board.sent_again();
            naive.resent = seq + 1;
            assert_eq!(board.pipe(*max), naive.pipe(*max));
        }
    }
}

#[test]
fn the_counters_are_the_rfcs_procedures() {
    let (mut recoveries, mut timeouts, mut again) = (0, 0, 0);
    for number in 0..60u64 {
        let mut course = Course::default();
        for i in 0..300u64 {
            course.at = format!("course {number}, step {i}");
            course.step(mix(number << 20 | i));
        }
        recoveries += course.recoveries;
        timeouts += course.timeouts;
        again += course.again;
    }
    assert!(recoveries > 500 && timeouts > 200 && again > 1_000, "{recoveries} {timeouts} {again}");
}

#[test]
fn the_rescue_is_the_last_one_missing_once_and_not_at_once() {
    let mut board = Scoreboard::default();
    board.update(&Report {
        blocks: [SackBlock { from: 1, to: 8 }, SackBlock { from: 9, to: 10 }, SackBlock::default()],
        ..Report::plain(0)
    });
    board.begin();
    assert_eq!(board.rescue(10), None, "the first retransmission may yet bring all along");
    board.update(&Report {
        blocks: [SackBlock { from: 9, to: 10 }, SackBlock::default(), SackBlock::default()],
        ..Report::plain(8)
    });
    assert_eq!((board.rescue(12), board.rescue(12)), (Some(11), None));
}
