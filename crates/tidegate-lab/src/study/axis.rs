//! An axis: what is varied, and its values with their type.
use tidegate::{Bytes, Rate, Size, Span};
use tidegate_report::tidy::Values;

use crate::reader::Origin;

/// What is varied. An axis has one setting, or several that go in step.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Its name: the path that it sets, or one of its own.
    pub name: String,
    /// What it sets; all have as many values.
    pub settings: Vec<Setting>,
}

/// A value of the scenario, or a variable, that an axis varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The path in the scenario, as `--set` has it; none for a variable that expressions use.
    pub path: Option<String>,
    /// Its name in tables: the path, or the variable's name.
    pub column: String,
    /// Its values as text, each with its place in the file.
    pub values: Vec<(String, Origin)>,
    /// The values with their type.
    pub typed: Typed,
}

/// Values of one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Typed {
    /// Texts.
    Text(Vec<String>),
    /// Whole numbers.
    Whole(Vec<i64>),
    /// Numbers, with the unit that they are counted in; empty for pure numbers.
    Number(&'static str, Vec<f64>),
}

impl Typed {
    /// Whether the values at two places are equal.
    pub(super) fn same(&self, one: usize, other: usize) -> bool {
        match self {
            Typed::Text(all) => all.get(one) == all.get(other),
            Typed::Whole(all) => all.get(one) == all.get(other),
            Typed::Number(_, all) => all.get(one) == all.get(other),
        }
    }

    /// The values as those of a table's column.
    pub(super) fn values(&self) -> Values {
        match self {
            Typed::Text(all) => {
                Values::Text(all.iter().map(|text| Some(text.as_str().into())).collect())
            }
            Typed::Whole(all) => Values::Whole(all.iter().copied().map(Some).collect()),
            Typed::Number(_, all) => Values::Number(all.iter().copied().map(Some).collect()),
        }
    }
}

impl Axis {
    /// How many values it has.
    pub fn len(&self) -> usize {
        self.settings.first().map_or(0, |setting| setting.values.len())
    }

    /// Whether it has none; such an axis is refused.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names that stand for its values, each with its setting: the columns, and its own name
    /// where that is no column. The name of what goes in step stands for no single value.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, &Setting)> {
        let own = match &self.settings[..] {
            [only] if only.column != self.name => Some((self.name.as_str(), only)),
            _ => None,
        };
        own.into_iter().chain(self.settings.iter().map(|s| (s.column.as_str(), s)))
    }
}

/// A quantity: its value and the unit that it is counted in.
pub(super) fn quantity(text: &str) -> Option<(f64, &'static str)> {
    if let Ok(rate) = text.parse::<Rate>() {
        return Some((rate.as_bps() as f64, "bit/s"));
    }
    if let Ok(span) = text.parse::<Span>() {
        return Some((span.as_nanos() as f64 / 1e9, "s"));
    }
    if let Ok(bytes) = text.parse::<Bytes>() {
        return Some((bytes.get() as f64, "B"));
    }
    if let Ok(Size::Packets(packets)) = text.parse::<Size>() {
        return Some((packets as f64, "packets"));
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite()).map(|value| (value, ""))
}

/// The quantity of `value` in `unit` as text that reads as the same again.
pub(super) fn written(value: f64, unit: &str) -> String {
    match unit {
        "bit/s" => Rate::from_bps(value.round() as u64).to_string(),
        "s" => Span::from_nanos((value * 1e9).round() as u64).to_string(),
        "B" => Bytes::new(value.round() as u64).to_string(),
        "packets" => Size::Packets(value.round() as u64).to_string(),
        _ => value.to_string(),
    }
}

impl Typed {
    /// `texts` with their type.
    ///
    /// # Errors
    /// The index of a text whose unit is not that of the first, and what the units are.
    pub(super) fn of(texts: &[&str]) -> Result<Typed, (usize, String)> {
        let whole: Option<Vec<i64>> = texts.iter().map(|text| text.parse().ok()).collect();
        if let Some(whole) = whole {
            return Ok(Typed::Whole(whole));
        }
        let found: Vec<Option<(f64, &'static str)>> = texts.iter().map(|t| quantity(t)).collect();
        let Some((_, unit)) = found.iter().flatten().next().copied() else {
            return Ok(Typed::Text(texts.iter().map(|text| text.to_string()).collect()));
        };
        // A text among quantities, such as a derived value, makes texts of all.
        if found.iter().any(Option::is_none) {
            return Ok(Typed::Text(texts.iter().map(|text| text.to_string()).collect()));
        }
        match found.iter().flatten().position(|(_, other)| *other != unit) {
            None => Ok(Typed::Number(unit, found.iter().flatten().map(|(v, _)| *v).collect())),
            Some(at) => {
                Err((at, format!("{}, while the first {}", said(&found[at]), said(&found[0]))))
            }
        }
    }
}

fn said(found: &Option<(f64, &'static str)>) -> String {
    match found {
        Some((_, "")) => "is a pure number".into(),
        Some((_, "bit/s")) => "is a rate".into(),
        Some((_, "s")) => "is a time".into(),
        Some((_, "B")) => "is an amount of data".into(),
        Some((_, unit)) => format!("is counted in {unit}"),
        None => "is a text".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_type_that_all_share() {
        let of = |texts: &[&str]| Typed::of(texts);
        assert_eq!(of(&["5", "10"]), Ok(Typed::Whole(vec![5, 10])));
        assert_eq!(of(&["0.5", "1"]), Ok(Typed::Number("", vec![0.5, 1.0])));
        assert_eq!(of(&["5 ms", "1 s"]), Ok(Typed::Number("s", vec![0.005, 1.0])));
        assert_eq!(of(&["1 Mbit/s", "8 kbit/s"]), Ok(Typed::Number("bit/s", vec![1e6, 8e3])));
        assert_eq!(of(&["40 packets"]), Ok(Typed::Number("packets", vec![40.0])));
        assert_eq!(of(&["2 kB"]), Ok(Typed::Number("B", vec![2000.0])));
        assert_eq!(of(&["on", "off"]), Ok(Typed::Text(vec!["on".into(), "off".into()])));
        assert_eq!(
            of(&["1 bdp", "40 packets"]),
            Ok(Typed::Text(vec!["1 bdp".into(), "40 packets".into()]))
        );
        let (at, why) = of(&["5 ms", "6 ms", "7 Mbit/s"]).unwrap_err();
        assert_eq!((at, why.as_str()), (2, "is a rate, while the first is a time"));
        assert!(of(&["5 ms", "7"]).unwrap_err().1.contains("pure number"));
    }

    #[test]
    fn values_are_the_same_however_they_are_written() {
        let of = |texts: &[&str]| Typed::of(texts).unwrap();
        assert!(of(&["1 Mbit/s", "1000 kbit/s"]).same(0, 1));
        assert!(of(&["0.5", "1", "5e-1"]).same(0, 2));
        assert!(!of(&["1 ms", "2 ms"]).same(0, 1));
        assert!(!of(&["1 bdp", "2 bdp"]).same(0, 1));
    }

    #[test]
    fn what_is_written_reads_as_the_same() {
        for text in ["1234567 bit/s", "1500 us", "12 kB", "7 packets", "0.25"] {
            let (value, unit) = quantity(text).unwrap();
            assert_eq!(quantity(&written(value, unit)), Some((value, unit)), "{text}");
        }
    }
}
