//! Whether the groups had settled when the warm-up ended.
//!
//! A group has not settled if two pieces of the measured time differ: its throughput in the first
//! quarter, and in the second half. They must differ by a part that matters, and by more than
//! chance gives over the seeds. Both pieces are fixed beforehand, so the test has the level that it
//! says. A better warm-up is then what MSER (White 1997) finds on the mean over the seeds. It is
//! the truncation that leaves the mean of the rest with the least marginal standard error. It
//! stands if the rest passes the same test.
use tidegate_report::{Unsettled, interval};

use super::job::{Job, grid_is_cheap};
use super::sample::Sample;
use super::stats;
use crate::scenario::Group;

/// With fewer pieces in the measured time, nothing is said.
const LEAST: usize = 20;
/// A change below this part of the later throughput does not matter; nor does one below a fifth of
/// that part of a fair share.
const MATTERS: f64 = 0.05;
/// How often a result whose groups all are steady is called unsteady, at most.
const LEVEL: f64 = 0.01;

/// The groups that had not settled. None if there is a single seed, which cannot show it.
pub(crate) fn unsettled(job: &Job, samples: &[Sample]) -> Vec<Unsettled> {
    let groups = &job.scenario.groups;
    if !grid_is_cheap(&job.scenario) {
        return vec![];
    }
    let of = |(index, group): (usize, &Group)| {
        let runs: Vec<&[f64]> =
            samples.iter().filter_map(|s| s.course.rates.get(index).map(Vec::as_slice)).collect();
        let fair: Vec<f64> =
            samples.iter().filter_map(|s| s.groups.get(index)?.metrics.fair_share_bps).collect();
        let piece_s = samples.first()?.course.piece_s;
        let look = GroupRates {
            runs: &runs,
            fair: stats::mean(&fair)?,
            tail: LEVEL / groups.len() as f64 / 2.0,
        };
        let warmup = pieces(job.scenario.run.warmup.as_secs(), piece_s);
        let (early_bps, late_bps) = look.change(warmup)?;
        let better = look.better(warmup).map(|piece| piece as f64 * piece_s);
        Some(Unsettled { group: group.name.clone(), early_bps, late_bps, warmup_s: better })
    };
    groups.iter().enumerate().filter_map(of).collect()
}

/// So many pieces hold the first `seconds`.
fn pieces(seconds: f64, piece_s: f64) -> usize {
    // Without the hair, 10 s of pieces of 0.1 s would be 101.
    (seconds / piece_s - 1e-6).ceil().max(0.0) as usize
}

/// One group's rates, a slice for each seed.
struct GroupRates<'r> {
    runs: &'r [&'r [f64]],
    /// Its fair share.
    fair: f64,
    /// The probability of each tail.
    tail: f64,
}

impl GroupRates<'_> {
    /// Its rates early and late after `warmup` pieces, where they differ. None where it is steady,
    /// or where that is unknown.
    fn change(&self, warmup: usize) -> Option<(f64, f64)> {
        let both: Vec<(f64, f64)> =
            self.runs.iter().filter_map(|run| early_and_late(run.get(warmup..)?)).collect();
        let early = stats::mean(&both.iter().map(|b| b.0).collect::<Vec<_>>())?;
        let late = stats::mean(&both.iter().map(|b| b.1).collect::<Vec<_>>())?;
        let changes: Vec<f64> = both.iter().map(|(early, late)| early - late).collect();
        let change = interval::Estimate::of(&changes)?;
        let much = (early - late).abs() >= MATTERS * late.max(self.fair / 5.0);
        (much && change.beyond(self.tail)).then_some((early, late))
    }

    /// The first piece from which on it is steady, at most half of the run.
    fn better(&self, warmup: usize) -> Option<usize> {
        let length = self.runs.iter().map(|run| run.len()).min()?;
        let mean = |piece: usize| {
            self.runs.iter().map(|run| run[piece]).sum::<f64>() / self.runs.len() as f64
        };
        let course: Vec<f64> = (0..length).map(mean).collect();
        let step = (length / LEAST).max(1);
        let from = mser(&course).max(warmup + step);
        (from..=length / 2)
            .step_by(step)
            .find(|&piece| length - piece >= LEAST && self.change(piece).is_none())
    }
}

/// The mean over the first quarter and over the second half; none of too little.
fn early_and_late(measured: &[f64]) -> Option<(f64, f64)> {
    let length = measured.len();
    let enough = length >= LEAST;
    enough.then(|| {
        Some((stats::mean(&measured[..length / 4])?, stats::mean(&measured[length / 2..])?))
    })?
}

/// How many of `values` to leave out: where the sum of squares around the mean of the rest, over
/// the square of its number, is least. At most half of them.
fn mser(values: &[f64]) -> usize {
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (place, value) in values.iter().enumerate().rev() {
        sum += value;
        squares += value * value;
        let n = (values.len() - place) as f64;
        let marginal = (squares - sum * sum / n).max(0.0) / (n * n);
        // Of places that are as good, the first.
        if place <= values.len() / 2 && marginal <= best.0 {
            best = (marginal, place);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::Rng;

    /// `seeds` runs of 200 pieces around 1 with noise, that begin `above` higher and come down
    /// within `over` pieces.
    fn runs(dice: &mut Rng, seeds: usize, above: f64, over: f64) -> Vec<Vec<f64>> {
        let mut noise = move || (0..12).map(|_| dice.uniform()).sum::<f64>() - 6.0;
        let of = |_| {
            (0..200)
                .map(|i| 1.0 + above * (1.0 - i as f64 / over).max(0.0) + 0.1 * noise())
                .collect()
        };
        (0..seeds).map(of).collect::<Vec<Vec<f64>>>()
    }

    fn look<T>(runs: &[Vec<f64>], of: impl Fn(&GroupRates<'_>) -> T) -> T {
        let runs: Vec<&[f64]> = runs.iter().map(Vec::as_slice).collect();
        of(&GroupRates { runs: &runs, fair: 1.0, tail: LEVEL / 2.0 })
    }

    #[test]
    fn a_slow_start_is_found_and_a_better_warmup_named() {
        let mut dice = Rng::from_seed(1);
        for seeds in [3, 5, 10] {
            let slow = runs(&mut dice, seeds, 1.0, 60.0);
            let (early, late) = look(&slow, |l| l.change(10)).expect("not steady");
            assert!(early > 1.2 && (late - 1.0).abs() < 0.05, "{early} {late}");
            let better = look(&slow, |l| l.better(10)).expect("it settles at 60");
            assert!((40..=75).contains(&better), "{better}");
            assert_eq!(look(&slow, |l| l.change(better)), None);
        }
    }

    #[test]
    fn what_never_settles_has_no_warmup() {
        let drifting = runs(&mut Rng::from_seed(2), 5, 2.0, 200.0);
        assert!(look(&drifting, |l| l.change(10)).is_some());
        assert_eq!(look(&drifting, |l| l.better(10)), None);
    }

    #[test]
    fn steady_runs_are_rarely_called_unsteady() {
        // Without the bound below which a change does not matter: one in a hundred, and no more
        // than chance above that.
        let mut dice = Rng::from_seed(3);
        let alarms = (0..2000).filter(|_| {
            let steady = runs(&mut dice, 5, 0.0, 1.0);
            let runs: Vec<&[f64]> = steady.iter().map(Vec::as_slice).collect();
            let changes: Vec<f64> =
                runs.iter().map(|r| early_and_late(r).unwrap()).map(|(e, l)| e - l).collect();
            interval::Estimate::of(&changes).unwrap().beyond(LEVEL / 2.0)
        });
        let alarms = alarms.count();
        assert!((8..=34).contains(&alarms), "{alarms} of 2000");
    }

    #[test]
    fn of_one_seed_or_too_short_a_run_nothing_is_said() {
        let slow = runs(&mut Rng::from_seed(4), 3, 1.0, 60.0);
        assert_eq!(look(&slow[..1], |l| l.change(10)), None);
        assert_eq!(look(&slow, |l| l.change(190)), None);
    }

    #[test]
    fn mser_by_hand() {
        assert_eq!(mser(&[9.0, 5.0, 1.0, 1.1, 0.9, 1.0, 1.0, 1.1]), 2);
        assert_eq!(mser(&[1.0, 1.0, 1.0, 1.0]), 0);
        assert_eq!(pieces(10.0, 0.1), 100);
    }
}
