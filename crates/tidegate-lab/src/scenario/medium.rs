//! What a managed link does besides carrying packets at its rate, as text.
use tidegate::bottleneck::{MOST_STEPS, Steps, Trace};
use tidegate::config::{SEPARATOR, Value};
use tidegate::units::UnitError;
use tidegate::{Prob, Rate, Rng, Size, Span, Time, params};
use tidegate_sim as sim;
use tidegate_sim::{Bleach, Reorder};

use super::drawn::Drawn;
use crate::spec::QueueSpec;

params! {
    /// Keys of a managed link: what it does besides carrying packets at its rate.
    pub struct Medium {
        /// Its rate over time: `fixed`; a list of `RATE from TIME`, with `rate` before the first;
        /// `walk(LEAST, MOST, STEP, EVERY)`, which from `rate` on adds a number drawn from −STEP to
        /// STEP each time; or `trace(FILE)`, a file of `mm-link` from the scenario's directory.
        capacity: Capacity = Capacity::Fixed, "", 0 ..= 1_000_000_000_000u64;
        /// How packets are lost behind the queue: with a probability, or in bursts by
        /// `gilbert_elliott(P, R)` or `gilbert_elliott(P, R, BAD, GOOD)`.
        loss: Loss = Loss(None), "", 0 ..= 1;
        /// How much longer each packet takes; a distribution.
        jitter: Drawn<Span> = Drawn::always(Span::ZERO), "", 0 ..= 10_000_000_000u64;
        /// Whether packets with different `jitter` overtake one another.
        reorder: Reorder = Reorder::Off, "", 0 ..= 0;
        /// Where ECN is cleared: nowhere, before the queue or behind it.
        bleach: Bleach = Bleach::Off, "", 0 ..= 0;
    }
}

/// What a managed link does besides, and its way back where that is not the same without a queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ways {
    /// What it does besides.
    pub medium: Medium,
    /// The way back; `None` for one of the same rate and delay that never drops.
    pub back: Option<Box<Back>>,
}

/// `back`: the way back of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Back {
    /// Its rate.
    pub rate: Rate,
    /// Its delay.
    pub delay: Span,
    /// With a limit it has a managed queue.
    pub limit: Option<Size>,
    /// The queue there, if not the scenario's.
    pub queue: Option<QueueSpec>,
    /// What it does besides.
    pub medium: Medium,
}

/// A link's rate over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Capacity {
    /// Always the same.
    #[default]
    Fixed,
    /// From each time on another.
    Steps(Vec<(Span, Rate)>),
    /// A random walk.
    Walk(Walk),
    /// By a trace: the file's name, and what was in it.
    Trace(String, Option<Trace>),
}

/// A random walk between two rates, where it turns back: a mirror at each.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// The least rate.
    pub least: Rate,
    /// The greatest.
    pub most: Rate,
    /// The most that one step changes, up or down.
    pub step: Rate,
    /// The time between steps.
    pub every: Span,
}

impl Capacity {
    /// What a link of `rate` carries up to `end`, with a walk's steps drawn from `dice`; `None`
    /// for always the same.
    pub fn over(
        &self,
        rate: Rate,
        end: Span,
        dice: impl FnOnce() -> Rng,
    ) -> Option<tidegate::bottleneck::Capacity> {
        let steps = match self {
            Capacity::Fixed => return None,
            Capacity::Trace(_, trace) => return trace.clone().map(Into::into),
            Capacity::Steps(changes) => {
                let changes = changes.iter().map(|&(at, rate)| (Time::ZERO + at, rate));
                // A change at the very beginning takes the place of the rate.
                let first = self.first().is_none_or(|at| at > Span::ZERO);
                first.then_some((Time::ZERO, rate)).into_iter().chain(changes).collect()
            }
            Capacity::Walk(walk) => walk.over(rate, end, &mut dice()),
        };
        Steps::new(steps).ok().map(Into::into)
    }

    fn first(&self) -> Option<Span> {
        match self {
            Capacity::Steps(changes) => changes.first().map(|change| change.0),
            _ => None,
        }
    }
}

impl Walk {
    /// How many steps there are up to `end`.
    pub fn steps(&self, end: Span) -> u64 {
        end.as_nanos() / self.every.as_nanos().max(1)
    }

    fn over(&self, rate: Rate, end: Span, dice: &mut Rng) -> Vec<(Time, Rate)> {
        let [least, most, step] = [self.least, self.most, self.step].map(Rate::as_bps);
        let (mut rate, mut steps) = (rate.as_bps().clamp(least, most), vec![]);
        for i in 0..=self.steps(end).min(MOST_STEPS as u64 - 1) {
            if i > 0 {
                let there = (rate + dice.below(2 * step + 1)) as i128 - step as i128;
                rate = mirrored(there, [least, most].map(i128::from)) as u64;
            }
            let at = Time::from_nanos(self.every.as_nanos().saturating_mul(i));
            steps.push((at, Rate::from_bps(rate)));
        }
        steps
    }
}

/// `there` folded back into `[least, most]`, however far outside it lies.
fn mirrored(there: i128, [least, most]: [i128; 2]) -> i128 {
    // Whole numbers turn half a unit beyond the ends, so that each is hit as often as the others.
    let count = most - least + 1;
    let within = (there - least).rem_euclid(2 * count);
    least + within.min(2 * count - 1 - within)
}

impl Value for Capacity {
    const KIND: &'static str =
        "fixed, list of `RATE from TIME`, walk(LEAST, MOST, STEP, EVERY) or trace(FILE)";

    fn read(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        if text == "fixed" {
            return Ok(Capacity::Fixed);
        }
        if let Some(file) = inner(text, "trace") {
            if file.is_empty() || file.contains('\0') {
                return Err(refuse(text, "is written trace(FILE)"));
            }
            return Ok(Capacity::Trace(file.into(), None));
        }
        match inner(text, "walk") {
            Some(values) => walk(text, values).map(Capacity::Walk),
            None => steps(text).map(Capacity::Steps),
        }
    }

    fn write(&self) -> String {
        match self {
            Capacity::Fixed => "fixed".into(),
            Capacity::Trace(file, _) => format!("trace({file})"),
            Capacity::Walk(Walk { least, most, step, every }) => {
                format!("walk({least}, {most}, {step}, {every})")
            }
            Capacity::Steps(changes) => {
                let text = |(at, rate): &(Span, Rate)| format!("{rate} from {at}");
                changes.iter().map(text).collect::<Vec<_>>().join(SEPARATOR)
            }
        }
    }

    fn magnitude(&self) -> f64 {
        self.extent().1
    }

    fn extent(&self) -> (f64, f64) {
        let all: Vec<f64> = match self {
            Capacity::Fixed | Capacity::Trace(..) => vec![0.0],
            Capacity::Walk(walk) => vec![walk.least.as_bps() as f64, walk.most.as_bps() as f64],
            Capacity::Steps(changes) => changes.iter().map(|c| c.1.as_bps() as f64).collect(),
        };
        (all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(0.0, f64::max))
    }

    fn write_bound(magnitude: f64) -> String {
        Rate::from_bps(magnitude as u64).to_string()
    }
}

/// What stands in the brackets behind `name`.
fn inner<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(name)?.trim_start().strip_prefix('(')?;
    rest.strip_suffix(')').map(str::trim)
}

fn refuse(text: &str, why: impl Into<String>) -> UnitError {
    UnitError { text: text.chars().take(60).collect(), why: why.into() }
}

fn steps(text: &str) -> Result<Vec<(Span, Rate)>, UnitError> {
    let mut changes: Vec<(Span, Rate)> = vec![];
    for entry in text.split(SEPARATOR).map(str::trim) {
        let Some((rate, from)) = entry.split_once(" from ") else {
            let why = format!(
                "a change is written RATE from TIME, as in \"2 Mbit/s from 10 s\"; else {}",
                "fixed, walk(LEAST, MOST, STEP, EVERY) or trace(FILE)"
            );
            return Err(refuse(entry, why));
        };
        let (rate, from): (Rate, Span) = (rate.trim().parse()?, from.trim().parse()?);
        if let Some(&(before, _)) = changes.last()
            && from <= before
        {
            return Err(refuse(entry, format!("must be later than the one before, at {before}")));
        }
        changes.push((from, rate));
    }
    match changes.last() {
        Some((from, rate)) if rate.as_bps() == 0 => {
            let entry = format!("{rate} from {from}");
            Err(refuse(&entry, "the last rate holds for ever and must be above 0 bit/s"))
        }
        _ => Ok(changes),
    }
}

fn walk(text: &str, values: &str) -> Result<Walk, UnitError> {
    let values: Vec<&str> = values.split(',').map(str::trim).collect();
    let [least, most, step, every] = values[..] else {
        return Err(refuse(text, "is written walk(LEAST, MOST, STEP, EVERY)"));
    };
    let walk = Walk {
        least: least.parse()?,
        most: most.parse()?,
        step: step.parse()?,
        every: every.parse()?,
    };
    if walk.least.as_bps() == 0 || walk.least > walk.most {
        return Err(refuse(text, "a walk goes from a rate above 0 bit/s to one no less"));
    }
    if walk.step.as_bps() == 0 || walk.step > walk.most {
        let why = format!("a step must lie above 0 bit/s, up to {}", walk.most);
        return Err(refuse(text, why));
    }
    if walk.every < LEAST_EVERY {
        return Err(refuse(text, format!("there must be {LEAST_EVERY} at least between steps")));
    }
    Ok(walk)
}

/// The least time between steps of a walk.
const LEAST_EVERY: Span = Span::from_micros(100);

/// How packets are lost behind a queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loss(pub Option<sim::Loss>);

impl Value for Loss {
    const KIND: &'static str = "probability or gilbert_elliott(P, R, BAD, GOOD)";

    fn read(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        let Some(values) = inner(text, "gilbert_elliott") else {
            if text.starts_with(|c: char| c.is_alphabetic()) {
                let forms =
                    "a probability, as 0.01 or \"1 %\", or gilbert_elliott(P, R, BAD, GOOD)";
                return Err(refuse(text, format!("must be {forms}")));
            }
            let p: Prob = text.parse()?;
            return Ok(Loss((p.get() > 0.0).then_some(sim::Loss::Random(p))));
        };
        let values: Vec<Prob> =
            values.split(',').map(|value| value.trim().parse()).collect::<Result<_, _>>()?;
        let (p, r, bad, good) = match values[..] {
            [p, r] => (p, r, Prob::clip(1.0), Prob::ZERO),
            [p, r, bad] => (p, r, bad, Prob::ZERO),
            [p, r, bad, good] => (p, r, bad, good),
            _ => return Err(refuse(text, "is written gilbert_elliott(P, R, BAD, GOOD)")),
        };
        Ok(Loss(Some(sim::Loss::GilbertElliott { p, r, bad, good })))
    }

    fn write(&self) -> String {
        match &self.0 {
            None => "0".into(),
            Some(sim::Loss::GilbertElliott { p, r, bad, good }) => {
                format!("gilbert_elliott({p}, {r}, {bad}, {good})")
            }
            Some(sim::Loss::Random(p)) => p.to_string(),
            Some(_) => unreachable!("no other is read"),
        }
    }

    fn magnitude(&self) -> f64 {
        self.0.as_ref().map_or(0.0, sim::Loss::mean)
    }

    fn write_bound(magnitude: f64) -> String {
        magnitude.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_and_written() {
        for text in [
            "fixed",
            "2 Mbit/s from 10 s:0 bit/s from 20 s:10 Mbit/s from 21 s",
            "walk(1 Mbit/s, 20 Mbit/s, 500 kbit/s, 100 ms)",
            "trace(lte up.trace)",
        ] {
            assert_eq!(Capacity::read(text).unwrap().write(), text);
        }
        for (text, written) in [
            ("0", "0"),
            ("1 %", "0.01"),
            ("gilbert_elliott(1 %, 0.3)", "gilbert_elliott(0.01, 0.3, 1, 0)"),
            ("gilbert_elliott(0.01,0.3,0.5,0.001)", "gilbert_elliott(0.01, 0.3, 0.5, 0.001)"),
        ] {
            assert_eq!(Loss::read(text).unwrap().write(), written);
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let error = |text: &str| Capacity::read(text).unwrap_err().why;
        assert!(error("10 s").starts_with("a change is written RATE from TIME"));
        assert_eq!(
            error("1 Mbit/s from 5 s:2 Mbit/s from 5 s"),
            "must be later than the one before, at 5 s"
        );
        let last = "the last rate holds for ever and must be above 0 bit/s";
        assert_eq!(error("0 bit/s from 5 s"), last);
        assert_eq!(error("walk(1 Mbit/s)"), "is written walk(LEAST, MOST, STEP, EVERY)");
        assert_eq!(
            error("walk(2 Mbit/s, 1 Mbit/s, 1 kbit/s, 1 s)"),
            "a walk goes from a rate above 0 bit/s to one no less"
        );
        assert_eq!(
            error("walk(1 Mbit/s, 2 Mbit/s, 1 kbit/s, 1 ns)"),
            "there must be 100 us at least between steps"
        );
        assert_eq!(error("trace()"), "is written trace(FILE)");
        let error = |text: &str| Loss::read(text).unwrap_err().why;
        assert!(error("gilbert(0.1)").starts_with("must be a probability"));
        assert_eq!(error("1.5"), "a probability lies in 0 to 1");
        assert_eq!(error("gilbert_elliott(0.1)"), "is written gilbert_elliott(P, R, BAD, GOOD)");
    }

    /// Steps even in both directions and mirrors leave every rate as likely as any other. Ten
    /// parts, every hundredth value: 9 degrees of freedom, 10⁻⁶ quantile 44.8.
    #[test]
    fn a_walk_is_as_often_at_every_rate() {
        let text = "walk(1 kbit/s, 1099 bit/s, 40 bit/s, 1 ms)";
        let capacity = Capacity::read(text).unwrap();
        let Capacity::Walk(walk) = &capacity else { unreachable!() };
        let end = Span::from_millis(900_000);
        let steps = walk.over(Rate::from_bps(1050), end, &mut Rng::from_seed(1));
        assert_eq!(steps.len(), 900_001);
        assert_eq!(steps[0], (Time::ZERO, Rate::from_bps(1050)));
        let mut counts = [0u32; 10];
        steps.iter().step_by(100).for_each(|(_, rate)| {
            counts[(rate.as_bps() as usize - 1000) / 10] += 1;
        });
        let expected = 9000.0;
        let n = counts.iter().sum::<u32>() as f64 / 10.0;
        assert!((n - expected / 10.0).abs() < 1.0);
        let chi: f64 = counts.iter().map(|&c| (c as f64 - n) * (c as f64 - n) / n).sum();
        assert!(chi < 44.8, "{counts:?}");
        for pair in steps.windows(2) {
            assert_eq!(pair[1].0.since(pair[0].0), Span::from_millis(1));
            assert!(pair[1].1.as_bps().abs_diff(pair[0].1.as_bps()) <= 40);
        }
    }

    #[test]
    fn mirrors_by_hand() {
        let at = |there| mirrored(there, [10, 20]);
        let folded = [9, 10, 15, 20, 21, 22, 31, 32, 8].map(at);
        assert_eq!(folded, [10, 10, 15, 20, 20, 19, 10, 10, 11]);
    }

    #[test]
    fn a_change_at_the_beginning_takes_the_place_of_the_rate() {
        let capacity = |text: &str| {
            let read = Capacity::read(text).unwrap();
            let dice = || unreachable!("no dice are rolled");
            read.over(Rate::from_bps(7), Span::from_secs(9.0), dice)
        };
        let rates = |text: &str| match capacity(text) {
            Some(tidegate::bottleneck::Capacity::Steps(steps)) => {
                steps.pieces().iter().map(|(_, rate)| rate.as_bps()).collect::<Vec<_>>()
            }
            _ => vec![],
        };
        assert_eq!(rates("5 bit/s from 1 s"), [7, 5]);
        assert_eq!(rates("5 bit/s from 0 s:6 bit/s from 1 s"), [5, 6]);
        assert_eq!(capacity("fixed"), None);
    }
}
