//! Flows that come and go: one connection after the other, with pauses between them.
use tidegate::{Rng, Span, Time};
use tidegate_sim::sources::Period;

use crate::scenario::Source;

/// A connection lasts this long at least.
const LEAST: u64 = 1_000_000;
/// Longer than any run, so that sums of times stay in range.
const LONGEST: u64 = 1_000_000_000_000_000_000;

/// When flow number `flow` of a group of `source` is there, from `from` up to `end`; never for
/// sources that do not come and go.
pub(crate) fn lives(
    source: &Source,
    (from, end): (Time, Time),
    flow: u32,
    dice: &mut Rng,
) -> Vec<Period> {
    let Source::Unresponsive(lives, _) = source else { return vec![] };
    let [on, off] = [&lives.on, &lives.off].map(|drawn| drawn.law.settle(dice, flow as u64));
    let (mut periods, mut from) = (vec![], from);
    while from < end {
        let turn = periods.len() as u64;
        let until = from + Span::from_nanos(on.draw(dice, turn).clamp(LEAST, LONGEST));
        periods.push((from, until.min(end)));
        from = until + Span::from_nanos(off.draw(dice, turn).min(LONGEST));
    }
    periods
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Connection, Drawn, Unresponsive};

    fn at(seconds: f64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn connections_and_pauses_take_turns() {
        let every = |seconds: f64| Drawn::always(Span::from_secs(seconds));
        let source = Source::Unresponsive(
            Unresponsive { on: every(2.0), off: every(3.0) },
            Connection::default(),
        );
        let periods = lives(&source, (at(1.0), at(12.0)), 0, &mut Rng::from_seed(1));
        assert_eq!(periods, [(at(1.0), at(3.0)), (at(6.0), at(8.0)), (at(11.0), at(12.0))]);
    }

    /// Exponential times of a mean m each: a half of a time T, with a variance of m / (4 T).
    #[test]
    fn by_default_they_are_there_for_half_of_the_time() {
        let source = Source::Unresponsive(Unresponsive::default(), Connection::default());
        let end = 100_000.0;
        let periods = lives(&source, (Time::ZERO, at(end)), 0, &mut Rng::from_seed(1));
        let there: f64 = periods.iter().map(|(from, to)| to.since(*from).as_secs()).sum();
        let slack = 5.0 * (10.0 / (4.0 * end)).sqrt();
        assert!((there / end - 0.5).abs() < slack, "{}", there / end);
        assert!(periods.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }
}
