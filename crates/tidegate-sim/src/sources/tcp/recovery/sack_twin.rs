//! RFC 6675 to the letter, in segments: §4's procedures walk over all that is outstanding, §5's
//! steps stand in their order. The sender is held against it, segment by segment, over drawn losses
//! of data and of acknowledgements, with packets out of order.
//!
//! Where the RFC leaves a choice, ours is in the twin too. The window grows by RFC 5681. Every
//! acknowledgement looks for a loss, not only duplicates. A loss halves the data in flight, but
//! counts at most a window of them.
use std::collections::{BTreeSet, VecDeque};

use proptest::prelude::{
    Just, Strategy, TestCaseError, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use proptest::strategy::ValueTree;
use tidegate::{Rng, Span};

use super::*;
use crate::sources::tcp::report::Report;
use crate::sources::tcp::{AckArrival, Receiver, Tcp, TcpSender};

/// What the RFC calls DupThresh.
const DUP_THRESH: usize = 3;

/// The sender of the RFC. Segment 0 is the first, and what is acknowledged before it is −1.
#[derive(Debug)]
struct Letter {
    high_ack: i64,
    high_data: i64,
    high_rxt: i64,
    rescue_rxt: i64,
    /// While in loss recovery.
    recovery_point: Option<i64>,
    dup_acks: u32,
    sacked: BTreeSet<i64>,
    pipe: i64,
    cwnd: f64,
    ssthresh: f64,
    /// One past the last segment that there is to send.
    end: i64,
    /// What limited transmit has sent since the last new acknowledgement (RFC 5681 §3.2 step 2).
    limited: i64,
    /// Segments sent since the last look.
    out: Vec<i64>,
    /// How often each rule of NextSeg has chosen, and how many recoveries there were.
    rules: [u32; 4],
    recoveries: u32,
}

impl Letter {
    fn new(cwnd: u32, ssthresh: u32, end: u32) -> Letter {
        Letter {
            high_ack: -1,
            high_data: -1,
            high_rxt: -1,
            rescue_rxt: -1,
            recovery_point: None,
            dup_acks: 0,
            sacked: BTreeSet::new(),
            pipe: 0,
            cwnd: cwnd as f64,
            ssthresh: ssthresh as f64,
            end: end as i64,
            limited: 0,
            out: vec![],
            rules: [0; 4],
            recoveries: 0,
        }
    }

    fn update(&mut self, report: &Report) {
        self.high_ack = self.high_ack.max(report.ack as i64 - 1);
        report
            .blocks
            .iter()
            .for_each(|block| self.sacked.extend(block.from as i64..block.to as i64));
        self.sacked.retain(|&seq| seq > self.high_ack);
    }

    /// As many runs, or more segments than one less, are held above it.
    fn is_lost(&self, seq: i64) -> bool {
        let above: Vec<i64> = self.sacked.range(seq + 1..).copied().collect();
        let runs = above.iter().filter(|&&s| !above.contains(&(s - 1))).count();
        runs >= DUP_THRESH || above.len() > DUP_THRESH - 1
    }

    fn set_pipe(&mut self) {
        self.pipe = 0;
        for seq in self.high_ack + 1..=self.high_data {
            if !self.sacked.contains(&seq) {
                self.pipe += !self.is_lost(seq) as i64 + (seq <= self.high_rxt) as i64;
            }
        }
    }

    fn unsent(&self) -> Option<i64> {
        (self.high_data + 1 < self.end).then_some(self.high_data + 1)
    }

    /// The next segment, and the rule that gave it.
    fn next_seg(&self) -> Option<(i64, usize)> {
        let top = self.sacked.last().copied().unwrap_or(-1);
        let missing = |seq: &i64| !self.sacked.contains(seq);
        let mut holes = (self.high_ack.max(self.high_rxt) + 1..top).filter(missing);
        if let Some(seq) = holes.clone().find(|&seq| self.is_lost(seq)) {
            return Some((seq, 1));
        }
        if let Some(seq) = self.unsent() {
            return Some((seq, 2));
        }
        if let Some(seq) = holes.next() {
            return Some((seq, 3));
        }
        let last = (self.high_ack + 1..=self.high_data).rev().find(missing)?;
        (self.high_ack > self.rescue_rxt).then_some((last, 4))
    }

    fn has_room(&self) -> bool {
        self.cwnd as i64 - self.pipe >= 1
    }

    fn send_new(&mut self) {
        self.set_pipe();
        while let Some(seq) = self.unsent()
            && self.has_room()
        {
            self.out.push(seq);
            self.high_data = seq;
            self.set_pipe();
        }
    }

    fn hear(&mut self, report: &Report) {
        let (known, acked) = (self.sacked.clone(), report.ack as i64 - 1 > self.high_ack);
        self.update(report);
        if acked {
            (self.dup_acks, self.limited) = (0, 0);
        }
        if let Some(point) = self.recovery_point {
            if self.high_ack < point {
                self.set_pipe(); // (B)
                return self.step_c();
            }
            self.recovery_point = None; // (A)
            self.cwnd = self.ssthresh;
        }
        if acked {
            self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
        }
        let duplicate = self.sacked.iter().any(|seq| !known.contains(seq));
        self.dup_acks += duplicate as u32;
        if self.high_ack < self.high_data
            && (self.dup_acks as usize >= DUP_THRESH || self.is_lost(self.high_ack + 1))
        {
            return self.step_4();
        }
        if duplicate {
            self.high_rxt = self.high_ack; // (3.1)
        }
        let before = self.high_data;
        self.send_new();
        let beyond = before.max(self.high_ack + self.cwnd as i64);
        self.limited += (self.high_data - beyond).max(0);
    }

    fn step_4(&mut self) {
        self.recoveries += 1;
        self.recovery_point = Some(self.high_data);
        let flight = (self.high_data - self.high_ack - self.limited).min(self.cwnd as i64);
        self.ssthresh = (flight as f64 / 2.0).max(2.0);
        self.cwnd = self.ssthresh;
        self.out.push(self.high_ack + 1);
        (self.high_rxt, self.rescue_rxt) = (self.high_ack + 1, self.high_ack + 1);
        self.set_pipe();
        self.step_c();
    }

    fn step_c(&mut self) {
        while self.has_room() {
            let Some((seq, rule)) = self.next_seg() else { return };
            self.rules[rule - 1] += 1;
            self.out.push(seq);
            match rule {
                2 => self.high_data = seq,
                4 => self.rescue_rxt = self.recovery_point.unwrap_or_default(),
                _ => self.high_rxt = seq,
            }
            self.pipe += 1;
        }
    }
}

/// What becomes of a segment or of an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Fate {
    lost: bool,
    ack_lost: bool,
    /// How many segments sent after it come before it.
    late: usize,
}

fn fate() -> impl Strategy<Value = Fate> {
    let late = prop_oneof![8 => Just(0), 1 => 1usize..3];
    (prop::bool::weighted(0.15), prop::bool::weighted(0.1), late)
        .prop_map(|(lost, ack_lost, late)| Fate { lost, ack_lost, late })
}

/// Runs both until nothing is under way: how often each rule chose, and the recoveries.
fn both(
    (cwnd, ssthresh, data): (u32, u32, u32),
    fates: &[Fate],
) -> Result<([u32; 4], u32), TestCaseError> {
    let tcp = Tcp { initial_window: cwnd as f64, data: Some(data), ..Tcp::sack() };
    let mut dice = Rng::from_seed(1);
    let mut sender = TcpSender::new(&tcp, &mut dice);
    sender.connection.window.ssthresh = ssthresh as f64;
    let (mut receiver, mut out) = (Receiver::new(&tcp), vec![]);
    let mut letter = Letter::new(cwnd, ssthresh, data);
    sender.wake(Time::ZERO, &mut dice, &mut out);
    letter.send_new();
    let (mut fates, mut network) = (fates.iter().copied(), VecDeque::new());
    for step in 0u64.. {
        let sent: Vec<i64> = out.drain(..).map(|output| output.seq as i64).collect();
        prop_assert_eq!(&sent, &letter.out, "step {}: {:?}", step, letter);
        prop_assert!(
            (sender.connection.window.cwnd - letter.cwnd).abs() < 1e-9,
            "step {}: {} {:?}",
            step,
            sender.connection.window.cwnd,
            letter
        );
        prop_assert_eq!(
            sender.connection.phase == Phase::Recovery,
            letter.recovery_point.is_some(),
            "step {}",
            step
        );
        letter.out.clear();
        let none = Fate { lost: false, ack_lost: false, late: 0 };
        for seq in sent {
            let fate = fates.next().unwrap_or(none);
            let place = network.len().saturating_sub(fate.late);
            network.insert(place, (seq as u32, fate));
        }
        let Some((seq, fate)) = network.pop_front() else { break };
        if fate.lost {
            continue;
        }
        let received = receiver.receive(seq, false, false);
        if fate.ack_lost {
            continue;
        }
        let report = receiver.report().unwrap_or(Report::plain(received.ack));
        let now = Time::ZERO + Span::from_millis(100 + step);
        let arrival = AckArrival { report: &report, echo: false, part: false, answers: Time::ZERO };
        sender.on_ack(now, &arrival, &mut dice, &mut out);
        letter.hear(&report);
    }
    Ok((letter.rules, letter.recoveries))
}

proptest! {
    #[test]
    fn every_segment_is_the_rfc_s(
        begin in (1u32..40, 2u32..60, 1u32..300),
        fates in prop::collection::vec(fate(), 0..300),
    ) {
        both(begin, &fates)?;
    }
}

/// The property above is about something: over drawn courses every rule chooses, often.
#[test]
fn every_rule_chooses() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let courses = prop::collection::vec(fate(), 300);
    let (mut rules, mut recoveries) = ([0; 4], 0);
    for i in 0..200 {
        let fates = courses.new_tree(&mut runner).unwrap().current();
        let (used, begun) = both((1 + i % 40, 2 + i % 60, 50 + i), &fates).unwrap();
        (0..4).for_each(|rule| rules[rule] += used[rule]);
        recoveries += begun;
    }
    assert!(rules.iter().all(|&n| n > 20) && recoveries > 100, "{rules:?} {recoveries}");
}
