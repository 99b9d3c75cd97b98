//! PIE read straight from pan2017 (RFC 8033 §4 and §5, and the listings of its appendices), in
//! floats and seconds.
//!
//! The driver says what waits and for how long, and the twin keeps everything else; the die is the
//! queue's, the verdict the twin's.

/// What PIE does with an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said {
    /// It enters without a die.
    Pass,
    /// It is signalled without a die (§5.4: the accumulated probability has reached its upper end).
    Sure,
    /// It is signalled with this probability.
    Die(f64),
}

#[derive(Clone, Debug)]
pub struct NaivePie {
    /// QDELAY_REF in seconds, alpha and beta in 1/s (§4.2).
    pub target: f64,
    pub alpha: f64,
    pub beta: f64,
    /// T_UPDATE and MAX_BURST in milliseconds, because they are counted down to exactly 0 (§4.4).
    pub update: f64,
    pub max_burst: f64,
    pub mean_packet: f64,
    /// §5.4 and §5.5, the optional enhancements.
    pub derandomize: bool,
    pub cap: bool,
    /// Decay below half the target (appendix B) instead of without any delay (§4.2, appendix A).
    pub decay_when_calm: bool,
    /// Where the probability ends: 1 (§4.2).
    pub ceiling: f64,
    pub drop_prob: f64,
    pub qdelay_old: f64,
    pub burst_allowance: f64,
    pub accu_prob: f64,
}

impl NaivePie {
    /// The constants of §4 and §5.
    pub fn new(mean_packet: f64) -> NaivePie {
        NaivePie {
            target: 0.015,
            alpha: 0.125,
            beta: 1.25,
            update: 15.0,
            max_burst: 150.0,
            mean_packet,
            derandomize: true,
            cap: true,
            decay_when_calm: false,
            ceiling: 1.0,
            drop_prob: 0.0,
            qdelay_old: 0.0,
            burst_allowance: 150.0,
            accu_prob: 0.0,
        }
    }

    /// §4.1, §4.4, §5.4: a packet arrives and finds `bytes` waiting; the delay of now is `qdelay`.
    pub fn arrive(&mut self, bytes: f64, qdelay: f64) -> Said {
        // §4.4: the allowance is whole again once the congestion is gone.
        if self.drop_prob == 0.0
            && qdelay < self.target / 2.0
            && self.qdelay_old < self.target / 2.0
        {
            self.burst_allowance = self.max_burst;
        }
        if self.burst_allowance > 0.0 {
            return Said::Pass;
        }
        // §4.1: work conserving, and calm while the delay is low.
        if self.qdelay_old < self.target / 2.0 && self.drop_prob < 0.2
            || bytes <= 2.0 * self.mean_packet
        {
            return Said::Pass;
        }
        if !self.derandomize {
            return Said::Die(self.drop_prob);
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        if self.accu_prob < 0.85 {
            return Said::Pass;
        }
        if self.accu_prob >= 8.5 {
            return Said::Sure;
        }
        Said::Die(self.drop_prob)
    }

    /// The packet was to be dropped (or marked), or there was no room for it.
    pub fn signalled(&mut self) {
        self.accu_prob = 0.0;
    }

    /// §4.2, §4.4, §5.5: every T_UPDATE, with the delay of now.
    pub fn update(&mut self, qdelay: f64) {
        let mut p = self.alpha * (qdelay - self.target) + self.beta * (qdelay - self.qdelay_old);
        // §4.2: smaller steps while the probability is small.
        let table = [
            (0.000001, 2048.0),
            (0.00001, 512.0),
            (0.0001, 128.0),
            (0.001, 32.0),
            (0.01, 8.0),
            (0.1, 2.0),
        ];
        for (below, divisor) in table {
            if self.drop_prob < below {
                p /= divisor;
                break;
            }
        }
        // §5.5: no leaps once the probability is high.
        if self.cap && self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        // §4.2: decays by 2 % when there is no delay at all; in appendix B, while there is little.
        let idle = qdelay == 0.0 && self.qdelay_old == 0.0;
        let calm = qdelay < self.target / 2.0 && self.qdelay_old < self.target / 2.0;
        if if self.decay_when_calm { calm } else { idle } {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, self.ceiling);
        // §4.4: the allowance runs down.
        self.burst_allowance = (self.burst_allowance - self.update).max(0.0);
        self.qdelay_old = qdelay;
    }
}
