//! An axis: which place a value has, and what is written beside it.
use super::Scale;
use super::canvas::width_of;
use super::unit::Unit;

/// Whether `value` is a quantity: a number, and none so large that reckoning with it overflows.
pub(super) fn usable(value: f64) -> bool {
    value.abs() < 1e100
}

/// What stands on an axis, gathered over all panels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    low: f64,
    high: f64,
}

impl Default for Extent {
    fn default() -> Extent {
        Extent { low: f64::INFINITY, high: f64::NEG_INFINITY }
    }
}

impl Extent {
    /// Takes in a value.
    pub(super) fn add(&mut self, value: f64) {
        if usable(value) {
            self.low = self.low.min(value);
            self.high = self.high.max(value);
        }
    }

    /// Whether nothing was taken in.
    pub(super) fn is_empty(&self) -> bool {
        self.low > self.high
    }

    /// The size of the values, which chooses the unit: their middle on a logarithmic axis, else the
    /// greatest.
    pub(super) fn size(&self, scale: Scale) -> f64 {
        match scale {
            _ if self.is_empty() => 0.0,
            Scale::Log => (self.low * self.high).sqrt(),
            Scale::Linear => self.high.abs().max(self.low.abs()),
        }
    }
}

/// A mark beside an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AxisTick {
    /// From 0, where the axis begins, to 1.
    pub place: f64,
    pub text: String,
}

/// An axis of numbers or of levels.
#[derive(Clone, Debug)]
pub(super) enum PlotAxis {
    Numbers(Numbers),
    /// As many levels side by side, with what each is called.
    Levels(Vec<String>),
}

/// An axis of numbers.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    scale: Scale,
    unit: Unit,
    /// The ends, in the scale's own measure.
    low: f64,
    high: f64,
    /// Values that have been set: the best ticks.
    set: Vec<f64>,
}

impl Scale {
    /// A value in the measure in which the axis is even.
    pub(super) fn even(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log => value.log10(),
        }
    }

    /// The value at a place of the even measure.
    pub(super) fn back(self, even: f64) -> f64 {
        match self {
            Scale::Linear => even,
            Scale::Log => 10f64.powf(even),
        }
    }

    /// Whether the axis has a place for `value`.
    pub(super) fn holds(self, value: f64) -> bool {
        usable(value) && (self == Scale::Linear || value > 0.0)
    }
}

/// How far a text below an axis may reach beyond its ends, in the font's size.
pub(super) const OVERHANG: f64 = 0.8;
/// The most ticks of an axis whose values were not set.
const MOST_STEPS: i64 = 8;
/// What part of its length an axis is longer than what stands on it, at either end.
const MARGIN: f64 = 0.05;

impl Numbers {
    /// An axis for `extent`, ticks at the values `set` if they have room. Without negative values
    /// and with a least that is small it begins at zero.
    pub(super) fn new(extent: Extent, scale: Scale, unit: Unit, set: Vec<f64>) -> Numbers {
        let (mut low, mut high) = (scale.even(extent.low), scale.even(extent.high));
        if extent.is_empty() || !(high - low).is_finite() {
            (low, high) = (0.0, 1.0);
        }
        let zero = scale == Scale::Linear && low >= 0.0 && low <= high / 2.0 && set.is_empty();
        let span = if high - low > high.abs() * 1e-9 { high - low } else { spread(high, scale) };
        let (free, whole) = (MARGIN * span, high - low >= span);
        low = match (zero, whole) {
            (true, _) => 0.0,
            (false, true) => low - free,
            (false, false) => low - span / 2.0,
        };
        high += if whole { free } else { span / 2.0 };
        Numbers { scale, unit, low, high, set }
    }

    /// The same with these ends exactly.
    pub(super) fn between(low: f64, high: f64) -> Numbers {
        let unit = Unit { factor: 1.0, name: String::new() };
        Numbers { scale: Scale::Linear, unit, low, high, set: vec![] }
    }

    /// The same with no more than what stands on it.
    pub(super) fn tight(mut self, extent: Extent) -> Numbers {
        let (low, high) = (self.scale.even(extent.low), self.scale.even(extent.high));
        if high - low > high.abs() * 1e-9 {
            (self.low, self.high) = (low, high);
        }
        self
    }

    /// Where `value` is, from 0 to 1 if it is on the axis.
    pub(super) fn place(&self, value: f64) -> f64 {
        self.even_place(self.scale.even(value))
    }

    /// Where a place of the even measure is.
    pub(super) fn even_place(&self, even: f64) -> f64 {
        (even - self.low) / (self.high - self.low)
    }

    /// Its ends.
    pub(super) fn ends(&self) -> [f64; 2] {
        [self.low, self.high].map(|end| self.scale.back(end))
    }

    /// Its unit.
    pub(super) fn unit(&self) -> &Unit {
        &self.unit
    }

    /// How long one unit of the even measure is, of the axis' whole length.
    pub(super) fn stretch(&self) -> f64 {
        1.0 / (self.high - self.low)
    }

    /// Its ticks: `room` tells whether texts at these places have room.
    fn ticks(&self, room: &dyn Fn(&[AxisTick]) -> bool) -> Vec<AxisTick> {
        let tried = |values: Vec<f64>| {
            let ticks = self.named(&values);
            (room(&ticks) && ticks.len() > 1).then_some(ticks)
        };
        let set = self.named(&self.set);
        if !set.is_empty() && room(&set) {
            return set;
        }
        let found = match self.scale {
            Scale::Linear => self.steps().into_iter().find_map(tried),
            Scale::Log => self.decades().into_iter().find_map(tried),
        };
        // Where not even two have room, the first alone says something.
        found.unwrap_or_else(|| {
            let mut last = self.named(&self.steps().pop().unwrap_or_default());
            last.truncate(1);
            last
        })
    }

    fn named(&self, values: &[f64]) -> Vec<AxisTick> {
        let [low, high] = self.ends();
        let texts = self.unit.plain(values, high - low);
        let ticks = values.iter().zip(texts);
        let ticks = ticks.map(|(&value, text)| AxisTick { place: self.place(value), text });
        ticks.filter(|tick| (-1e-9..=1.0 + 1e-9).contains(&tick.place)).collect()
    }

    /// Even steps of 1, 2 or 5 in the unit, the finest first.
    fn steps(&self) -> Vec<Vec<f64>> {
        let (low, high) = (self.scale.back(self.low), self.scale.back(self.high));
        let [low, high] = [low, high].map(|end| end / self.unit.factor);
        let finest = ((high - low) / MOST_STEPS as f64).log10().floor();
        let mut sets = vec![];
        for power in 0..4 {
            for lead in [1.0, 2.0, 5.0] {
                let step = lead * 10f64.powf(finest + f64::from(power));
                let first = (low / step - 1e-9).ceil() as i64;
                let last = (high / step + 1e-9).floor() as i64;
                if (0..MOST_STEPS).contains(&(last - first)) {
                    let at = |n: i64| n as f64 * step * self.unit.factor;
                    sets.push((first..=last).map(at).collect());
                }
            }
        }
        sets
    }

    /// Leads of decades, the densest first; within one decade even steps do as well.
    fn decades(&self) -> Vec<Vec<f64>> {
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        let of = |leads: &[f64], every: i32| -> Vec<f64> {
            let powers = (first..=last).filter(|power| power.rem_euclid(every) == 0);
            powers.flat_map(|power| leads.iter().map(move |l| l * 10f64.powi(power))).collect()
        };
        let inside = |set: &Vec<f64>| self.named(set).len();
        let mut sets: Vec<Vec<f64>> = vec![];
        if self.high - self.low < 2.0 {
            sets.push(of(&[1.0, 2.0, 5.0], 1));
        }
        if self.high - self.low < 4.0 {
            sets.push(of(&[1.0, 3.0], 1));
        }
        sets.extend((1..=12).map(|every| of(&[1.0], every)));
        if sets.first().is_none_or(|set| inside(set) < 3) {
            sets.splice(0..0, self.steps());
        }
        sets
    }

    /// Places without text: the other leads of each decade.
    fn minor(&self) -> Vec<f64> {
        if self.scale == Scale::Linear || self.high - self.low > 6.0 {
            return vec![];
        }
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        let values = (first..=last)
            .flat_map(|power| (1..10).map(move |lead| f64::from(lead) * 10f64.powi(power)));
        values.map(|v| self.place(v)).filter(|place| (0.0..=1.0).contains(place)).collect()
    }
}

/// How long an axis is when all its values are the same.
fn spread(value: f64, scale: Scale) -> f64 {
    match scale {
        Scale::Log => 0.5,
        Scale::Linear if value == 0.0 => 1.0,
        Scale::Linear => value.abs() * 0.4,
    }
}

impl PlotAxis {
    /// Where level number `n` has its middle.
    pub(super) fn level(&self, n: usize) -> f64 {
        match self {
            PlotAxis::Levels(names) => (n as f64 + 0.5) / names.len().max(1) as f64,
            PlotAxis::Numbers(_) => 0.0,
        }
    }

    /// Where `value` is; of an axis of levels, the level of that number.
    pub(super) fn place(&self, value: f64) -> f64 {
        match self {
            PlotAxis::Levels(_) => self.level(value as usize),
            PlotAxis::Numbers(numbers) => numbers.place(value),
        }
    }

    /// Marks with text along a horizontal axis of this length, in the font's size.
    pub(super) fn across(&self, length: f64) -> Vec<AxisTick> {
        self.ticks(&|ticks| {
            let ends = ticks.iter().map(|tick| {
                let half = width_of(&tick.text) / 2.0;
                (tick.place * length - half, tick.place * length + half)
            });
            let ends: Vec<(f64, f64)> = ends.collect();
            let apart = ends.windows(2).all(|two| two[0].1 + 0.6 <= two[1].0);
            apart && ends.iter().all(|end| end.0 >= -OVERHANG && end.1 <= length + OVERHANG)
        })
    }

    /// Marks with text along a vertical axis of this length, in the font's size.
    pub(super) fn upwards(&self, length: f64) -> Vec<AxisTick> {
        self.ticks(&|ticks| {
            ticks.windows(2).all(|two| (two[1].place - two[0].place) * length >= 1.7)
        })
    }

    /// Marks without text.
    pub(super) fn minor(&self) -> Vec<f64> {
        match self {
            PlotAxis::Levels(_) => vec![],
            PlotAxis::Numbers(numbers) => numbers.minor(),
        }
    }

    fn ticks(&self, room: &dyn Fn(&[AxisTick]) -> bool) -> Vec<AxisTick> {
        match self {
            PlotAxis::Numbers(numbers) => numbers.ticks(room),
            PlotAxis::Levels(names) => {
                let tick = |(n, text): (usize, &String)| AxisTick {
                    place: self.level(n),
                    text: text.clone(),
                };
                names.iter().enumerate().map(tick).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests;
