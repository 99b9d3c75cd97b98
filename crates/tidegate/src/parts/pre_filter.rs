//! RED-PD's pre-filter for one flow (mahajan2001 §3.2, §3.3): with what probability its packets are
//! dropped before RED sees them, and whether the flow slows down. That probability grows while RED
//! drops too much of the flow, and shrinks when it drops nothing.
//!
//! ```
//! use tidegate::{Prob, Time, parts::pre_filter::{FilterLaw, Monitored}};
//! let [decrease, release, release_unresponsive] = [0.05, 0.005, 0.0025].map(Prob::clip);
//! let law = FilterLaw { decrease, release, release_unresponsive };
//! let mut flow = Monitored::new(0.05, Time::ZERO);
//! flow.tighten(Time::ZERO, 0.03);
//! assert!((flow.probability() - 0.08).abs() < 1e-12);
//! assert!(flow.loosen(Time::ZERO, &law) && (flow.probability() - 0.04).abs() < 1e-12);
//! ```
use crate::units::{Prob, Time};

/// When and by how much a probability falls.
#[derive(Clone, Copy, Debug)]
pub struct FilterLaw {
    /// The most that it falls at once; a small one is halved.
    pub decrease: Prob,
    /// A flow is released at this probability.
    pub release: Prob,
    /// The same for an unresponsive one.
    pub release_unresponsive: Prob,
}

/// How often a flow arrived and was dropped for a while. Pairs of these tell whether it slows down.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowRecord {
    /// Bytes per second.
    pub rate: f64,
    /// Share that was dropped.
    pub loss: f64,
}

/// Records that are kept of a flow.
const RECORDS: usize = 5;

/// A flow that is dropped from before RED sees it.
#[derive(Clone, Copy, Debug)]
pub struct Monitored {
    p: f64,
    /// Packets since the last drop.
    count: f64,
    last_change: Time,
    unresponsive: bool,
    kept: u8,
    records: [FlowRecord; RECORDS],
}

impl Monitored {
    /// A flow, taken for responsive, that is dropped from with probability `p` from `now` on.
    pub fn new(p: f64, now: Time) -> Monitored {
        let records = [FlowRecord::default(); RECORDS];
        Monitored { p, count: 0.0, last_change: now, unresponsive: false, kept: 0, records }
    }

    /// P: the probability with which the flow's packets are dropped.
    pub const fn probability(&self) -> f64 {
        self.p
    }

    /// Packets since the last drop.
    pub const fn count(&self) -> f64 {
        self.count
    }

    /// Whether the flow was found not to slow down.
    pub const fn is_unresponsive(&self) -> bool {
        self.unresponsive
    }

    /// When P was last set.
    pub const fn last_change(&self) -> Time {
        self.last_change
    }

    /// Whether the flow's next packet is dropped. Drops are spread as RED's are, uniformly over 1 …
    /// 1/P packets. On an idle link, one that is not `busy`, nothing of a responsive flow is.
    #[inline]
    pub fn hits(&mut self, die: f64, busy: bool) -> bool {
        let room = 1.0 - self.count * self.p;
        let hit = (room <= 0.0 || die * room < self.p) && (busy || self.unresponsive);
        self.count = if hit { 0.0 } else { self.count + 1.0 };
        hit
    }

    /// Keeps a record, in place of the oldest of five.
    pub fn record(&mut self, record: FlowRecord) {
        if self.kept as usize == RECORDS {
            self.records.copy_within(1.., 0);
            self.kept -= 1;
        }
        self.records[self.kept as usize] = record;
        self.kept += 1;
    }

    /// Finds the flow unresponsive if between most pairs of records its rate fell less than TCP's,
    /// which goes as 1/√p. Pairs whose drop rates are tenfold apart are not looked at.
    pub fn test(&mut self) {
        let records = &self.records[..self.kept as usize];
        let (mut good, mut bad) = (0, 0);
        for one in records {
            for other in
                records.iter().filter(|other| one.loss < other.loss && one.loss > 0.1 * other.loss)
            {
                let slows = other.rate <= one.rate * libm::sqrt(one.loss / other.loss);
                *(if slows { &mut good } else { &mut bad }) += 1;
            }
        }
        self.unresponsive |= match good {
            0 => bad >= 3,
            1 => bad >= 4,
            _ => bad >= 4 * good,
        };
    }

    /// RED alone would have to drop `pre` of it to bring it down to the target: P grows.
    pub fn tighten(&mut self, now: Time, pre: f64) {
        let (factor, part) = if self.unresponsive { (3.0, 2.0) } else { (2.0, 1.0) };
        let p = if pre > self.p { factor * self.p } else { self.p + part * pre };
        self.p = if p > 1.0 { 1.0 - (1.0 - self.p) / factor } else { p };
        self.last_change = now;
    }

    /// It loses nothing to RED: P falls. Whether it is monitored on.
    pub fn loosen(&mut self, now: Time, law: &FilterLaw) -> bool {
        let (release, by) = if self.unresponsive {
            (law.release_unresponsive.get(), 1.5)
        } else {
            (law.release.get(), 2.0)
        };
        let (stays, decrease) = (self.p > release, law.decrease.get());
        self.p = if self.p > by * decrease { self.p - decrease } else { self.p / by };
        self.last_change = now;
        stays
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    fn law() -> FilterLaw {
        FilterLaw {
            decrease: Prob::clip(0.05),
            release: Prob::clip(0.005),
            release_unresponsive: Prob::clip(0.0025),
        }
    }

    fn with(p: f64, unresponsive: bool) -> Monitored {
        Monitored { unresponsive, ..Monitored::new(p, Time::ZERO) }
    }

    #[test]
    fn golden_steps_up() {
        for (p, pre, responsive, unresponsive) in [
            (0.01, 0.03, 0.02, 0.03),
            (0.05, 0.03, 0.08, 0.11),
            (0.03, 0.03, 0.06, 0.09),
            (0.6, 0.7, 0.8, 1.0 - 0.4 / 3.0), // doubled or trebled it were beyond 1
            (0.9, 0.2, 0.95, 1.0 - 0.1 / 3.0),
            (1.0, 0.5, 1.0, 1.0),
        ] {
            for (is, expected) in [(false, responsive), (true, unresponsive)] {
                let mut flow = with(p, is);
                flow.tighten(Time::from_nanos(5), pre);
                assert!(
                    (flow.probability() - expected).abs() < 1e-12,
                    "{p} {pre} {is}: {}",
                    flow.probability()
                );
                assert_eq!(flow.last_change(), Time::from_nanos(5));
            }
        }
    }

    /// Three pairs speak for a flow and seven against it: four times as many would convict it.
    /// Drop rates exactly tenfold apart are not compared.
    #[test]
    fn the_test_at_its_borders() {
        let found = |records: &[(f64, f64)]| {
            let mut flow = with(0.1, false);
            records.iter().for_each(|&(loss, rate)| flow.record(FlowRecord { loss, rate }));
            flow.test();
            flow.unresponsive
        };
        assert!(!found(&[(0.1, 9.0), (0.2, 9.0), (0.3, 9.0), (0.4, 1.0), (0.5, 9.0)]));
        // One pair fewer for it, one more against it.
        assert!(found(&[(0.1, 9.0), (0.2, 9.0), (0.3, 1.0), (0.4, 9.0), (0.5, 9.0)]));
        assert!(!found(&[(0.1, 9.0), (0.1, 9.0), (0.1, 9.0), (1.0, 9.0)]));
        assert!(found(&[(0.1, 9.0), (0.1, 9.0), (0.1, 9.0), (0.9, 9.0)]));
    }

    /// From .3 down to the release.
    #[test]
    fn golden_steps_down() {
        let path = |unresponsive| {
            let (mut flow, mut path) = (with(0.3, unresponsive), vec![]);
            while flow.loosen(Time::ZERO, &law()) {
                path.push(flow.probability());
            }
            path
        };
        let agree = |path: Vec<f64>, expected: &[f64]| {
            assert_eq!(path.len(), expected.len(), "{path:?}");
            assert!(path.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{path:?}");
        };
        agree(path(false), &[0.25, 0.2, 0.15, 0.1, 0.05, 0.025, 0.0125, 0.00625, 0.003125]);
        let last: Vec<f64> = (1..=8)
            .scan(0.05, |p, _| {
                *p /= 1.5;
                Some(*p)
            })
            .collect();
        agree(path(true), &[&[0.25, 0.2, 0.15, 0.1, 0.05], &last[..]].concat());
    }

    /// At P = .05 gaps between drops are uniform on 1 … 20 packets; of a link that is not busy only
    /// unresponsive flows are dropped from.
    #[test]
    fn drops_are_spread_as_reds_are() {
        let (mut flow, mut dice) = (with(0.05, false), crate::rng::Rng::from_seed(1));
        let (mut gaps, mut gap) = ([0_u32; 21], 0);
        for _ in 0..200_000 {
            gap += 1;
            if flow.hits(dice.uniform(), true) {
                gaps[gap] += 1;
                gap = 0;
            }
        }
        let drops: u32 = gaps.iter().sum();
        let expected = drops as f64 / 20.0;
        let chi: f64 = gaps[1..]
            .iter()
            .map(|&n| (n as f64 - expected) * (n as f64 - expected) / expected)
            .sum();
        assert!(
            chi < 63.0 && gaps[0] == 0,
            "19 degrees of freedom, false alarm 1e-6: {chi} {gaps:?}"
        );
        let drops = |mut flow: Monitored| (0..100).filter(|_| flow.hits(0.5, false)).count();
        assert_eq!(drops(with(0.5, false)), 0);
        assert!(drops(with(0.5, true)) > 40);
        let mut idle = with(0.5, false);
        idle.hits(0.0, false);
        assert_eq!(idle.count(), 1.0, "a packet that passes counts");
    }

    /// Records at losses of 1 to 5 %: of a flow that does not slow down, of one that goes as 1/√p,
    /// and mixtures.
    #[test]
    fn the_test_tells_who_slows_down() {
        let found = |records: &[(f64, f64)]| {
            let mut flow = with(0.1, false);
            records.iter().for_each(|&(rate, loss)| flow.record(FlowRecord { rate, loss }));
            flow.test();
            flow.is_unresponsive()
        };
        assert!(!found(&[(1e5, 0.01), (1e5, 0.02)]), "one pair is too little");
        assert!(found(&[(1e5, 0.01), (1e5, 0.02), (1e5, 0.03)]), "three pairs, all bad");
        let tcp: Vec<(f64, f64)> =
            (1..=5).map(|n| (1e4 / libm::sqrt(n as f64 * 0.0100001), n as f64 * 0.01)).collect();
        assert!(!found(&tcp));
        assert!(
            !found(&[(1e5, 0.001), (1e5, 0.02), (1e5, 0.3)]),
            "drop rates tenfold apart and more"
        );
        // One good pair (the first to the second) and four bad ones, or three.
        assert!(found(&[(1e5, 0.01), (5e4, 0.011), (1e5, 0.02), (1e5, 0.021)]));
        assert!(!found(&[(1e5, 0.01), (5e4, 0.011), (1e5, 0.02)]));
        // Only the last five count.
        assert!(!found(&[
            (1e5, 0.01),
            (1e5, 0.02),
            (1e5, 0.03),
            (1.0, 0.5),
            (1.0, 0.5),
            (1.0, 0.5),
            (1.0, 0.5)
        ]));
        // Found once, it stays so.
        let mut flow = with(0.1, true);
        flow.test();
        assert!(flow.is_unresponsive());
    }
}
