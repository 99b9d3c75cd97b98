//! PIE's law (pan2017 §4 and §5): a probability that steers the delay of a line.
//!
//! The owner says what waits, when a packet left and how long it had waited; the law says which
//! arrivals are to be signalled. It holds no packet, so one line may follow it or a thousand.
//!
//! ```
//! use tidegate::{Rng, Span, parts::pie_law::*};
//! let law = PieLaw {
//!     target: 0.015, // seconds
//!     tupdate: Span::from_millis(15),
//!     max_burst: Span::from_millis(150),
//!     alpha: 0.125,
//!     beta: 1.25,
//!     spared: 2000, // bytes
//!     derandomize: Derandomize::On,
//!     cap: Cap::On,
//!     decay: Decay::Idle,
//!     ceiling: 1.0,
//! };
//! let (mut line, mut dice) = (PieControl::new(&law), Rng::from_seed(1));
//! line.left(Some(Span::from_millis(35)));
//! assert!(!line.is_due(&law, 50_000, &mut dice), "a burst passes");
//! line.updates(&law, 4000); // a minute above the target
//! assert!(line.probability() > 0.9 && line.burst() == Span::ZERO);
//! ```
use crate::choices;
use crate::rng::Rng;
use crate::units::Span;

choices! {
    /// Whether the gaps between signals are evened out (pan2017 §5.4).
    pub enum Derandomize {
        /// No signal before the probabilities since the last one add up to .85, one for certain at
        /// 8.5.
        On = "on",
        /// Each packet's die is its own.
        Off = "off",
    }
}

choices! {
    /// Whether a step up is limited while the probability is high (pan2017 §5.5).
    pub enum Cap {
        /// At 10 % and above no step is larger than 2 %.
        On = "on",
        /// Steps are as the law gives them.
        Off = "off",
    }
}

choices! {
    /// When the probability decays; the RFC gives both.
    pub enum Decay {
        /// While there is no delay at all, now and at the last update (pan2017 §4.2, appendix A).
        Idle = "idle",
        /// While the delay is below half the target, now and at the last update (appendix B).
        Calm = "calm",
    }
}

/// The constants of the law.
#[derive(Clone, Debug)]
pub struct PieLaw {
    /// The delay aimed at, in seconds.
    pub target: f64,
    /// Time between two updates of the probability.
    pub tupdate: Span,
    /// How long a burst may last before packets are signalled.
    pub max_burst: Span,
    /// Weight of the delay's distance from the target, per second.
    pub alpha: f64,
    /// Weight of the delay's change since the last update, per second.
    pub beta: f64,
    /// With no more bytes waiting, nothing is signalled.
    pub spared: u64,
    /// Whether the gaps between signals are evened out.
    pub derandomize: Derandomize,
    /// Whether a step up is limited while the probability is high.
    pub cap: Cap,
    /// When the probability decays.
    pub decay: Decay,
    /// The most that the probability can be. Above 1 it says how long the delay was too long, and
    /// takes as long to come back.
    pub ceiling: f64,
}

/// Below a probability, the step of an update is divided by this (pan2017 §4.2): small
/// probabilities take small steps.
const SCALING: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
/// What is left of the probability in an update in which it decays (§4.2).
const DECAY: f64 = 0.98;
/// Between these sums of probabilities since the last signal the die decides (§5.4).
const ACCUMULATED: (f64, f64) = (0.85, 8.5);
/// At and above the first, no step up is larger than the second (§5.5).
const CAPPED: (f64, f64) = (0.1, 0.02);
/// With a low delay, a probability below this signals nothing (§4.1).
const CALM: f64 = 0.2;
/// Updates that are made one by one, however many are overdue. With the paper's constants 210 take
/// the probability from 1 to 0 on an idle link, so nothing is cut off. The rest changes nothing, or
/// would with constants as far from these.
const MOST_UPDATES: u64 = 4096;

/// What the law remembers of one line.
#[derive(Clone, Debug)]
pub struct PieControl {
    probability: f64,
    /// How long the last packet that left had waited, in seconds; 0 when the line is empty.
    delay: f64,
    /// `delay` at the last update.
    delay_old: f64,
    /// What is left of the allowance for a burst.
    burst: Span,
    /// Probabilities since the last signal, added up.
    accumulated: f64,
}

impl PieControl {
    /// A line that has seen nothing yet.
    pub fn new(law: &PieLaw) -> PieControl {
        let burst = law.max_burst;
        PieControl { probability: 0.0, delay: 0.0, delay_old: 0.0, burst, accumulated: 0.0 }
    }

    /// The probability with which packets are signalled.
    #[inline]
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// How long the last packet that left had waited, in seconds; 0 when the line is empty.
    #[inline]
    pub fn delay(&self) -> f64 {
        self.delay
    }

    /// What is left of the allowance for a burst.
    pub fn burst(&self) -> Span {
        self.burst
    }

    /// Makes `overdue` updates of the probability, as far as they change anything.
    #[cold]
    pub fn updates(&mut self, law: &PieLaw, overdue: u64) {
        for _ in 0..overdue.min(MOST_UPDATES) {
            let before = (self.probability, self.delay_old, self.burst);
            self.update(law);
            if before == (self.probability, self.delay_old, self.burst) {
                break; // and so it would be for all that are left
            }
        }
    }

    /// One update of the probability (§4.2), with the delay of now.
    fn update(&mut self, law: &PieLaw) {
        let mut step =
            law.alpha * (self.delay - law.target) + law.beta * (self.delay - self.delay_old);
        if let Some((_, divisor)) = SCALING.iter().find(|(below, _)| self.probability < *below) {
            step /= divisor;
        }
        if law.cap == Cap::On && self.probability >= CAPPED.0 {
            step = step.min(CAPPED.1);
        }
        self.probability += step;
        let longest = if self.delay > self.delay_old { self.delay } else { self.delay_old };
        let decays = match law.decay {
            Decay::Idle => longest == 0.0,
            Decay::Calm => longest < law.target / 2.0,
        };
        if decays {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, law.ceiling);
        self.delay_old = self.delay;
        self.burst = self.burst - law.tupdate;
    }

    /// Whether an arriving packet is to be signalled; `waits` bytes are before it (§4.1, §4.4,
    /// §5.4).
    #[inline]
    pub fn is_due(&mut self, law: &PieLaw, waits: u64, dice: &mut Rng) -> bool {
        let half_target = law.target / 2.0;
        let calm = self.delay_old < half_target;
        if calm && self.probability == 0.0 && self.delay < half_target {
            self.burst = law.max_burst;
        }
        if self.burst > Span::ZERO || calm && self.probability < CALM || waits <= law.spared {
            return false;
        }
        if law.derandomize == Derandomize::On {
            // A probability of 0 begins the sum anew.
            self.accumulated =
                if self.probability == 0.0 { 0.0 } else { self.accumulated + self.probability };
            if self.accumulated < ACCUMULATED.0 {
                return false;
            }
            if self.accumulated >= ACCUMULATED.1 {
                return true;
            }
        }
        dice.chance(self.probability)
    }

    /// A packet was signalled, or found no room: the next one is a gap away.
    #[inline]
    pub fn signalled(&mut self) {
        self.accumulated = 0.0;
    }

    /// A packet left that had `waited` so long; `None`: nothing waits behind it.
    #[inline]
    pub fn left(&mut self, waited: Option<Span>) {
        self.delay = waited.map_or(0.0, Span::as_secs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(derandomize: Derandomize) -> PieLaw {
        PieLaw {
            target: 0.015,
            tupdate: Span::from_millis(15),
            max_burst: Span::ZERO,
            alpha: 0.125,
            beta: 1.25,
            spared: 0,
            derandomize,
            cap: Cap::On,
            decay: Decay::Calm,
            ceiling: 1.0,
        }
    }

    /// How many of a thousand packets are due that all find the control as it is.
    fn due(control: &PieControl, law: &PieLaw) -> usize {
        let due = |seed| control.clone().is_due(law, 1, &mut Rng::from_seed(seed));
        (0..1000).filter(|&seed| due(seed)).count()
    }

    /// The die decides from a sum of .85 on (§5.4), and in calm from a probability of .2 on (§4.1):
    /// at the borders themselves, too, and not just below.
    #[test]
    fn the_die_decides_at_the_borders() {
        let with = |probability, delay_old| {
            let law = law(Derandomize::Off);
            PieControl { probability, delay_old, ..PieControl::new(&law) }
        };
        let (on, off) = (law(Derandomize::On), law(Derandomize::Off));
        assert!((800..900).contains(&due(&with(0.85, 1.0), &on)));
        assert_eq!(due(&with(0.849, 1.0), &on), 0);
        assert!((150..250).contains(&due(&with(0.2, 0.0), &off)));
        assert_eq!(due(&with(0.199, 0.0), &off), 0);
    }

    /// With a delay of half the target at both updates, the probability only takes its step.
    #[test]
    fn half_the_target_is_not_calm() {
        let law = law(Derandomize::On);
        for (delay, decay) in [(0.0075, 1.0), (0.0074, DECAY)] {
            let mut control = PieControl { probability: 0.5, ..PieControl::new(&law) };
            (control.delay, control.delay_old) = (delay, delay);
            control.update(&law);
            let expected = decay * (0.5 + 0.125 * (delay - 0.015));
            assert!((control.probability() - expected).abs() < 1e-12, "{delay}");
        }
    }
}
