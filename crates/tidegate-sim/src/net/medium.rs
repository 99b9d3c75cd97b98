//! What a link behind a queue does besides carrying packets at one rate: a capacity that changes,
//! packets lost, delayed and overtaken on the way, ECN cleared.
use tidegate::bottleneck::Capacity;
use tidegate::{ConfigError, Prob, Span};

use crate::sources::Law;

/// The longest extra delay of a packet. What is drawn above it is clipped.
pub const MOST_JITTER: Span = Span::from_millis(10_000);

/// What a link behind a queue does besides. The default is nothing.
///
/// A packet is bleached before the queue, waits, is transmitted, is bleached behind the queue, may
/// be lost and may be delayed, in this order. Loss and delay have dice of their own, `link N loss`
/// and `link N jitter` of the run's seed, and roll them for every packet that was transmitted.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Medium {
    /// What it carries over time; `None` for its rate.
    pub capacity: Option<Capacity>,
    /// How packets are lost behind the queue.
    pub loss: Option<Loss>,
    /// How much longer packets take.
    pub jitter: Option<Jitter>,
    /// Where ECN is cleared.
    pub bleach: Bleach,
}

/// How packets are lost on a link, whatever their flow.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Loss {
    /// Each with this probability.
    Random(Prob),
    /// In bursts: a Markov chain of two states, good to begin with, that takes a step after each
    /// packet (Gilbert 1960; with losses in both states Elliott 1963). Loss and step are drawn in
    /// this order, and both always. Names as in `tc netem`'s `gemodel`.
    GilbertElliott {
        /// From good to bad.
        p: Prob,
        /// From bad to good.
        r: Prob,
        /// Loss in the bad state: 1 − h.
        bad: Prob,
        /// Loss in the good state: 1 − k.
        good: Prob,
    },
}

impl Loss {
    /// The part of the packets that is lost in the long run.
    ///
    /// ```
    /// use tidegate::Prob;
    /// use tidegate_sim::Loss;
    /// let [p, r, bad, good] = [0.01, 0.3, 1.0, 0.0].map(Prob::clip);
    /// let mean = Loss::GilbertElliott { p, r, bad, good }.mean();
    /// assert!((mean - 0.01 / 0.31).abs() < 1e-12);
    /// ```
    pub fn mean(&self) -> f64 {
        match self {
            Loss::Random(p) => p.get(),
            // It never leaves the good state in which it begins.
            Loss::GilbertElliott { p, good, .. } if p.get() == 0.0 => good.get(),
            Loss::GilbertElliott { p, r, bad, good } => {
                (p.get() * bad.get() + r.get() * good.get()) / (p.get() + r.get())
            }
        }
    }
}

/// A delay of each packet beyond the link's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Jitter {
    /// How much, in nanoseconds; at most [`MOST_JITTER`].
    pub law: Law,
    /// Whether packets overtake one another.
    pub reorder: Reorder,
}

tidegate::choices! {
    /// Whether packets overtake one another when their delays differ.
    pub enum Reorder {
        /// A packet comes no earlier than the one before.
        Off = "off",
        /// Each comes when its own delay is over.
        On = "on",
    }
}

tidegate::choices! {
    /// Where a link clears the ECN field of packets (bauer2011, mandalari2018).
    #[derive(Default)]
    pub enum Bleach {
        /// Nowhere.
        #[default]
        Off = "off",
        /// Before the queue, which then sees no packet that it could mark.
        Before = "before",
        /// Behind the queue, whose marks are lost.
        Behind = "behind",
    }
}

impl Medium {
    /// Whether packets may overtake one another.
    pub(crate) fn reorders(&self) -> bool {
        self.jitter.as_ref().is_some_and(|jitter| jitter.reorder == Reorder::On)
    }

    /// Whether it can be; `field` makes the name of a field.
    pub(crate) fn check(&self, field: impl Fn(&str) -> String) -> Result<(), ConfigError> {
        if let Some(Capacity::Rate(rate)) = &self.capacity {
            let why = "must change; a fixed rate is the link's own";
            return Err(ConfigError::new(field("capacity"), rate, why));
        }
        if let Some(Jitter { law: Law::InTurn(amounts), .. }) = &self.jitter
            && amounts.is_empty()
        {
            return Err(ConfigError::new(field("jitter"), "no values", "must have one at least"));
        }
        Ok(())
    }
}
