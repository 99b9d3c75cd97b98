//! Telephone calls on a group's lines: when each line is busy.
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tidegate::{Rng, Time};
use tidegate_sim::sources::{Law, Period};

/// Calls on lines.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Calls {
    /// When each line is busy, in order.
    pub lines: Vec<Vec<Period>>,
    /// How many calls were offered.
    pub offered: u64,
    /// How many of them found every line busy and were lost.
    pub lost: u64,
}

impl Calls {
    /// Calls that come as a Poisson process, `erlangs` at a time on average, each as long as
    /// `length` says, to so many `lines` up to `end`. At time zero the process has been going
    /// on for ever (with exponential calls; others in progress then have their whole length
    /// before them). A call takes the line that was free for longest.
    pub fn new(erlangs: f64, length: &Law, lines: u32, end: Time, dice: &mut Rng) -> Calls {
        let mut calls = Calls { lines: vec![vec![]; lines as usize], offered: 0, lost: 0 };
        let mut exchange = Exchange { free: (0..lines).collect(), busy: BinaryHeap::new() };
        for _ in 0..poisson(erlangs, dice) {
            calls.offer(Time::ZERO, length, &mut exchange, dice);
        }
        let gap = length.mean() / erlangs;
        let mut now = dice.exponential(gap);
        while now < end.as_nanos() as f64 {
            calls.offer(Time::from_nanos(now as u64), length, &mut exchange, dice);
            now += dice.exponential(gap);
        }
        calls
    }

    fn offer(&mut self, now: Time, length: &Law, exchange: &mut Exchange, dice: &mut Rng) {
        self.offered += 1;
        let until = now + tidegate::Span::from_nanos(length.draw(dice, self.offered - 1).max(1));
        match exchange.seize(now, until) {
            Some(line) => self.lines[line as usize].push((now, until)),
            None => self.lost += 1,
        }
    }
}

/// Which lines are free and which busy until when.
struct Exchange {
    free: VecDeque<u32>,
    busy: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Exchange {
    fn seize(&mut self, now: Time, until: Time) -> Option<u32> {
        while let Some(&Reverse((over, line))) = self.busy.peek()
            && over <= now
        {
            self.busy.pop();
            self.free.push_back(line);
        }
        let line = self.free.pop_front()?;
        self.busy.push(Reverse((until, line)));
        Some(line)
    }
}

/// A Poisson number: how many exponential times of mean one fit into `mean`.
fn poisson(mean: f64, dice: &mut Rng) -> u64 {
    let (mut sum, mut count) = (dice.exponential(1.0), 0);
    while sum < mean {
        sum += dice.exponential(1.0);
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Erlang's formula B by its recursion.
    fn erlang_b(erlangs: f64, lines: u32) -> f64 {
        (1..=lines).fold(1.0, |b, n| erlangs * b / (n as f64 + erlangs * b))
    }

    #[test]
    fn calls_are_lost_as_erlang_says() {
        let length = Law::Exponential { mean: 180_000_000_000 };
        for (erlangs, lines) in [(10.0, 10), (100.0, 105), (3.0, 30)] {
            let (mut lost, mut offered, mut busy) = (0, 0, 0.0);
            let end = Time::from_nanos(3_600_000_000_000);
            let runs = 60;
            for seed in 0..runs {
                let calls = Calls::new(erlangs, &length, lines, end, &mut Rng::from_seed(seed));
                lost += calls.lost;
                offered += calls.offered;
                let within = |&(from, to): &Period| to.min(end).since(from).as_secs();
                busy += calls.lines.iter().flatten().map(within).sum::<f64>();
                assert!(
                    calls.lines.iter().all(|l| l.windows(2).all(|w| w[0].1 <= w[1].0)),
                    "one call at a time"
                );
            }
            // At time zero the lines were filled without loss before, so the first of the 20
            // holding times is left out of the slack: 3 % of the calls. Five deviations
            // of the number lost, overdispersed by at most the number of lines.
            let hours = runs as f64;
            let wanted = erlangs * 20.0 * hours;
            let arrivals = offered as f64 - erlangs * hours;
            assert!(
                (arrivals - wanted).abs() < 5.0 * wanted.sqrt() + 5.0 * (erlangs * hours).sqrt(),
                "{arrivals} {wanted}"
            );
            let b = erlang_b(erlangs, lines);
            let ratio = lost as f64 / offered as f64;
            let slack = 5.0 * (b * 10.0 / offered as f64).sqrt() + 0.03 * b + 1e-6;
            assert!(
                (ratio - b).abs() < slack,
                "{erlangs} on {lines}: {ratio} is not {b}, slack {slack}"
            );
            let mean = busy / (3600.0 * hours);
            let carried = erlangs * (1.0 - b);
            // Variance of the mean of M/M/∞ over T: 2 E h / T.
            assert!(
                (mean - carried).abs() < 5.0 * (2.0 * erlangs / 20.0 / hours).sqrt(),
                "{mean} is not {carried}"
            );
        }
    }
}
