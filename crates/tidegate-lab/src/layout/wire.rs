//! One way of a link of a scenario that is laid out.
use tidegate::{Rate, Size, Span, Time};
use tidegate_sim as sim;

/// A directed link.
#[derive(Clone, Debug)]
pub(crate) struct DirectedLink {
    pub from: u32,
    pub to: u32,
    pub rate: Rate,
    pub delay: Span,
    /// With a limit it has a queue.
    pub limit: Option<Size>,
    /// What it does besides.
    pub medium: Option<Box<sim::Medium>>,
}

impl DirectedLink {
    /// One way of a link.
    pub fn new(
        (from, to): (u32, u32),
        (rate, delay): (Rate, Span),
        limit: Option<Size>,
    ) -> DirectedLink {
        DirectedLink { from, to, rate, delay, limit, medium: None }
    }

    /// Whether it loses packets behind its queue.
    pub fn loses(&self) -> bool {
        self.medium.as_ref().is_some_and(|medium| medium.loss.is_some())
    }

    /// What it can carry on average from `begin` to `end`, in bit/s.
    pub fn mean_rate(&self, [begin, end]: [Time; 2]) -> f64 {
        let capacity = self.medium.as_ref().and_then(|medium| medium.capacity.as_ref());
        capacity.map_or(self.rate.as_bps() as f64, |capacity| {
            capacity.bits_between(begin, end) / end.since(begin).as_secs()
        })
    }
}
