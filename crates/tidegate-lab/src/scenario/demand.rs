//! When a group sends, and how much it asks for.
use tidegate::{Rate, Span};

use super::lowered::lowered;
use super::model::Group;
use super::sources::Source;

/// By what the times of a group's flows go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// `start` and `stop`.
    Start,
    /// `active`.
    Active,
    /// Calls that come and go.
    Calls,
    /// From `start` to `stop`, connections of drawn lengths.
    Lives,
}

impl Group {
    /// By what the times of its flows go.
    pub(crate) fn when(&self) -> When {
        match &self.source {
            Source::Voip(voip) if voip.erlangs > 0.0 => When::Calls,
            Source::Unresponsive(..) => When::Lives,
            _ if !self.active.is_empty() => When::Active,
            _ => When::Start,
        }
    }

    /// The mean rate of one of its flows while it is active in a run of this length; `None` for
    /// what takes all it gets.
    pub fn demand(&self, duration: Span) -> Option<Rate> {
        let rate = match &self.source {
            Source::Tcp(connection) => connection.rate()?.as_bps() as f64,
            Source::Finite(_) | Source::Web(..) | Source::Tfrc(_) => return None,
            Source::Unresponsive(lives, connection) => {
                connection.rate()?.as_bps() as f64 * lives.on.law.share_beside(&lives.off.law)
            }
            Source::Cbr(cbr) => cbr.rate.as_bps() as f64,
            // The most: what it makes of it hangs on the window that it follows.
            Source::Following(source) => source.rate.as_bps() as f64,
            Source::OnOff(_) | Source::Voip(_) => {
                let tidegate_sim::Source::OnOff(source) = lowered(&self.source) else {
                    return None;
                };
                source.mean_rate() * self.calls_per_line()
            }
            Source::Replay(_, arrivals) => {
                let seconds = arrivals.duration.as_secs().max(1e-3);
                arrivals.bytes as f64 * 8.0 / seconds / self.count as f64
            }
            Source::Oscillating(source) => {
                let share = source.high_during.total(duration).as_secs() / duration.as_secs();
                source.high.as_bps() as f64 * share + source.low.as_bps() as f64 * (1.0 - share)
            }
        };
        Some(Rate::from_bps(rate as u64))
    }

    /// The mean number of calls on each line, if none were lost.
    fn calls_per_line(&self) -> f64 {
        match &self.source {
            Source::Voip(voip) if voip.erlangs > 0.0 => (voip.erlangs / self.count as f64).min(1.0),
            _ => 1.0,
        }
    }
}
