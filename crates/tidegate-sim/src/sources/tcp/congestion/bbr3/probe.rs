//! When to probe for bandwidth, and how fast the long-term bound rises meanwhile (§5.3.3).
use tidegate::{Rng, Span, Time};

/// Of so many round trips at the most Reno would need between two losses; then it probes, too
/// (§5.3.3.5).
const RENO_ROUNDS: f64 = 63.0;
/// Between two probes pass at least so long, and a second more at the most.
const WAIT: f64 = 2.0;
/// The bound rises by so many powers of two at the most.
const STEEPEST: u32 = 30;

/// What acknowledgements tell of (BBR.ack_phase).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// Neither of a probe's beginning nor of its end.
    #[default]
    Quiet,
    /// What was sent before the probe.
    Starting,
    /// The probe.
    Feedback,
    /// What is left of the probe.
    Stopping,
}

/// The probing of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Probe {
    pub acks: AckPhase,
    /// Round trips since the last probe: BBR.rounds_since_bw_probe.
    pub rounds: u32,
    /// Whether losses are still to teach the long-term bound: BBR.bw_probe_samples.
    pub sampling: bool,
    /// When the phases began, and how long until the next probe: BBR.cycle_stamp,
    /// BBR.bw_probe_wait.
    since: Time,
    wait: Span,
    /// How many round trips the bound has been rising, how many acknowledged segments raise it by
    /// one, and how many were: BBR.bw_probe_up_rounds, BBR.probe_up_cnt, BBR.bw_probe_up_acks.
    raised: u32,
    price: f64,
    paid: f64,
}

impl Probe {
    /// A probe is over: the next comes in two to three seconds, or in as many round trips as Reno
    /// needs (BBRPickProbeWait).
    pub fn pause(&mut self, now: Time, dice: &mut Rng) {
        self.rounds = dice.below(2) as u32;
        self.wait = Span::from_secs(dice.between(WAIT, WAIT + 1.0));
        self.since = now;
        self.price = f64::INFINITY;
    }

    /// Whether the next is due for a flow that may have `target` in flight (BBRIsTimeToProbeBW).
    pub fn is_due(&self, now: Time, target: f64) -> bool {
        now.since(self.since) > self.wait || self.rounds as f64 >= target.min(RENO_ROUNDS)
    }

    /// The pipe is filled before a probe.
    pub fn refill(&mut self) {
        (self.raised, self.paid) = (0, 0.0);
    }

    /// The bound rises faster, twice as much each round trip (BBRRaiseInflightLongtermSlope).
    pub fn steepen(&mut self, cwnd: f64) {
        let growth = (1u64 << self.raised) as f64;
        self.raised = (self.raised + 1).min(STEEPEST);
        self.price = (cwnd / growth).max(1.0);
    }

    /// `news` segments are acknowledged: by how many the bound rises.
    pub fn raise(&mut self, news: u32) -> f64 {
        self.paid += news as f64;
        if self.paid < self.price {
            return 0.0;
        }
        let steps = libm::floor(self.paid / self.price);
        self.paid -= steps * self.price;
        steps
    }
}
