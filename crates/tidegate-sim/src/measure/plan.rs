//! What to run: how long, and what to keep.
use tidegate::{ConfigError, Span, Time};

/// The most readings of a series, over all groups.
const MOST_READINGS: u64 = 10_000_000;

/// What to run: how long, and what to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The end of the warm-up; nothing before it counts.
    pub warmup: Time,
    /// The end of the run.
    pub end: Time,
    /// The grid of the series, counted from time zero; `None` for no series.
    pub step: Option<Span>,
    /// Whose queueing delays are kept as histograms.
    pub delays: Delays,
    /// The length τ of the windows in which each flow's rate is taken, counted from the end of the
    /// warm-up; `None` for none.
    pub rate_window: Option<Span>,
}

tidegate::choices! {
    /// Whose queueing delays are kept as histograms (means are always kept).
    pub enum Delays {
        /// Nobody's.
        Off = "off",
        /// Each queued link's and each group's.
        Groups = "groups",
        /// Each flow's as well: 836 bytes a flow.
        Flows = "flows",
    }
}

impl Plan {
    /// From time zero to `end`, no warm-up, no series, every delay kept.
    pub const fn until(end: Time) -> Plan {
        Plan { warmup: Time::ZERO, end, step: None, delays: Delays::Flows, rate_window: None }
    }

    /// Whether it can be run with so many groups.
    ///
    /// # Errors
    /// Names the field, its value and the bound.
    pub(crate) fn check(&self, groups: usize) -> Result<(), ConfigError> {
        if self.warmup >= self.end {
            return Err(ConfigError::new(
                "warmup",
                self.warmup,
                format!("must be before the end, {}", self.end),
            ));
        }
        if self.end > Time::ZERO + Span::from_secs(1e9) {
            return Err(ConfigError::new("end", self.end, "must be at most 10^9 s"));
        }
        if let Some(step) = self.step {
            let points = self.end.as_nanos() / step.as_nanos().max(1);
            if step == Span::ZERO || points.saturating_mul(groups.max(1) as u64) > MOST_READINGS {
                return Err(ConfigError::new(
                    "step",
                    step,
                    "must be above 0 and give at most 10^7 readings",
                ));
            }
        }
        if self.rate_window == Some(Span::ZERO) {
            return Err(ConfigError::new("rate_window", Span::ZERO, "must be above 0"));
        }
        Ok(())
    }

    /// The length of the measuring window.
    pub const fn window(&self) -> Span {
        self.end.since(self.warmup)
    }

    /// How many points the grid has: every step up to the end, the end included.
    pub(crate) fn grid_points(&self) -> usize {
        self.step.map_or(0, |step| (self.end.as_nanos() / step.as_nanos().max(1)) as usize)
    }

    /// The points of the grid.
    pub(crate) fn grid(&self) -> impl Iterator<Item = Time> {
        let step = self.step.unwrap_or_default().as_nanos();
        (1..=self.grid_points() as u64).map(move |i| Time::from_nanos(i * step))
    }
}
