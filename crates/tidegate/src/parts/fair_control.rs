//! How much traffic is a fair amount: AFD's controller (pan2003 §3.3), which EWFQ (lu2012) shares.
//! At every step m_fair += α (q_old − q_target) − β (q − q_target). A queue that is too long or
//! grows means that too much is admitted.
//!
//! ```
//! use tidegate::parts::fair_control::FairControl;
//! let (m_fair, q_old, target, range) = (100.0, 60.0, 50.0, (1.0, 500.0));
//! let mut control = FairControl { m_fair, q_old, alpha: 1.7, beta: 1.8, target, range };
//! control.step(70.0);
//! assert!((control.m_fair - 81.0).abs() < 1e-12);
//! assert_eq!(control.drop(160.0), 1.0 - 81.0 / 160.0);
//! ```

/// The controller. Queue lengths in any unit, as long as α and β turn it into m_fair's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FairControl {
    /// What a flow may send in an interval.
    pub m_fair: f64,
    /// The queue at the step before.
    pub q_old: f64,
    /// What a queue at its target has to do with it (α).
    pub alpha: f64,
    /// What the queue of the moment has to do with it (β).
    pub beta: f64,
    /// The queue aimed at.
    pub target: f64,
    /// The least and the greatest m_fair.
    pub range: (f64, f64),
}

impl FairControl {
    /// A step, with `q` waiting.
    #[inline]
    pub fn step(&mut self, q: f64) {
        let change = self.alpha * (self.q_old - self.target) - self.beta * (q - self.target);
        self.m_fair = (self.m_fair + change).clamp(self.range.0, self.range.1);
        self.q_old = q;
    }

    /// `count` steps during which the queue stays as it is. From the second on each changes m_fair
    /// by the same amount, so that they are one product.
    pub fn steps(&mut self, q: f64, count: u64) {
        if count == 0 {
            return;
        }
        self.step(q);
        let change = (self.alpha - self.beta) * (q - self.target) * (count - 1) as f64;
        self.m_fair = (self.m_fair + change).clamp(self.range.0, self.range.1);
    }

    /// The share of its packets that a flow loses which sends `m` in an interval and heeds nothing:
    /// (1 − m_fair / m)+.
    #[inline]
    pub fn drop(&self, m: f64) -> f64 {
        if m > self.m_fair { 1.0 - self.m_fair / m } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const AFD: FairControl = FairControl {
        m_fair: 100.0,
        q_old: 60.0,
        alpha: 1.7,
        beta: 1.8,
        target: 50.0,
        range: (1.0, 500.0),
    };

    /// pan2003's constants in packets and lu2012's in bytes; a flow that sends 160 with a fair 100
    /// loses three in eight.
    #[test]
    fn golden() {
        let mut afd = AFD;
        assert_eq!(afd.drop(160.0), 0.375);
        assert_eq!([0.0, 99.0, 100.0].map(|m| afd.drop(m)), [0.0; 3]);
        afd.step(70.0);
        assert!((afd.m_fair - 81.0).abs() < 1e-12 && afd.q_old == 70.0);
        let mut ewfq = FairControl {
            m_fair: 208_333.0,
            q_old: 14_000.0,
            alpha: 0.85,
            beta: 0.9,
            target: 15_000.0,
            range: (1000.0, 625_000.0),
        };
        assert!((ewfq.drop(600_000.0) - 0.65278).abs() < 5e-6);
        ewfq.step(16_000.0);
        assert!((ewfq.m_fair - (208_333.0 - 1_750.0)).abs() < 1e-9);
    }

    /// Many steps at once are as many one by one, at both ends of the range too.
    #[test]
    fn steps_at_once() {
        let mut dice = Rng::from_seed(5);
        for _ in 0..2_000 {
            let start = FairControl {
                m_fair: dice.between(1.0, 500.0),
                q_old: dice.between(0.0, 100.0),
                ..AFD
            };
            let (q, count) = (dice.between(0.0, 100.0), dice.below(300));
            let (mut one_by_one, mut at_once) = (start, start);
            (0..count).for_each(|_| one_by_one.step(q));
            at_once.steps(q, count);
            assert!((one_by_one.m_fair - at_once.m_fair).abs() < 1e-9, "{start:?} {q} {count}");
            assert_eq!(one_by_one.q_old, at_once.q_old);
        }
    }
}
