//! The units in which papers print.
use std::fmt;
use std::str::FromStr;

/// What kind of number a quantity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// Bits per second.
    Rate,
    /// A pure number from 0 to 1, or about 1.
    Ratio,
    /// Milliseconds.
    Delay,
    /// Seconds.
    Time,
    /// A count of something.
    Count,
}

/// A unit of a printed number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintedUnit {
    /// Mbit/s of a group, or of all.
    Mbit,
    /// kbit/s of a group, or of all.
    Kbit,
    /// Mbit/s of a flow of the group.
    MbitEach,
    /// kbit/s of a flow of the group.
    KbitEach,
    /// Per cent of the group's fair share.
    OfFair,
    /// None: a ratio.
    Pure,
    /// Per cent.
    Percent,
    /// Milliseconds.
    Millis,
    /// Seconds.
    Seconds,
    /// Flows.
    Flows,
    /// Bytes.
    Bytes,
    /// 1000 bytes.
    Kilobytes,
}

/// How each is written, and what it can measure.
const UNITS: [(&str, PrintedUnit, NumberKind); 12] = [
    ("Mbit/s", PrintedUnit::Mbit, NumberKind::Rate),
    ("kbit/s", PrintedUnit::Kbit, NumberKind::Rate),
    ("Mbit/s each", PrintedUnit::MbitEach, NumberKind::Rate),
    ("kbit/s each", PrintedUnit::KbitEach, NumberKind::Rate),
    ("% of fair share", PrintedUnit::OfFair, NumberKind::Rate),
    ("", PrintedUnit::Pure, NumberKind::Ratio),
    ("%", PrintedUnit::Percent, NumberKind::Ratio),
    ("ms", PrintedUnit::Millis, NumberKind::Delay),
    ("s", PrintedUnit::Seconds, NumberKind::Time),
    ("flows", PrintedUnit::Flows, NumberKind::Count),
    ("bytes", PrintedUnit::Bytes, NumberKind::Count),
    ("kB", PrintedUnit::Kilobytes, NumberKind::Count),
];

impl PrintedUnit {
    /// What it measures.
    pub fn dimension(self) -> NumberKind {
        UNITS
            .iter()
            .find(|(_, unit, _)| *unit == self)
            .map_or(NumberKind::Ratio, |(.., dimension)| *dimension)
    }

    /// How many of it are one of what a quantity is counted in (bit/s, ms, s, 1); `count` and
    /// `fair_bps` are of the group.
    pub fn per_base(self, count: f64, fair_bps: f64) -> f64 {
        match self {
            PrintedUnit::Mbit => 1e-6,
            PrintedUnit::Kbit => 1e-3,
            PrintedUnit::MbitEach => 1e-6 / count,
            PrintedUnit::KbitEach => 1e-3 / count,
            PrintedUnit::OfFair => 100.0 / fair_bps,
            PrintedUnit::Percent => 100.0,
            PrintedUnit::Kilobytes => 1e-3,
            PrintedUnit::Pure
            | PrintedUnit::Millis
            | PrintedUnit::Seconds
            | PrintedUnit::Flows
            | PrintedUnit::Bytes => 1.0,
        }
    }

    /// Digits behind the point that we write.
    pub fn digits(self) -> usize {
        match self {
            PrintedUnit::Pure => 4,
            PrintedUnit::OfFair | PrintedUnit::Percent => 2,
            PrintedUnit::Flows | PrintedUnit::Bytes => 1,
            _ => 3,
        }
    }

    /// The units of `dimension`, as they are written.
    pub fn of(dimension: NumberKind) -> Vec<&'static str> {
        UNITS.iter().filter(|row| row.2 == dimension).map(|row| row.0).collect()
    }
}

impl fmt::Display for PrintedUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(UNITS.iter().find(|row| row.1 == *self).map_or("", |row| row.0))
    }
}

impl FromStr for PrintedUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<PrintedUnit, String> {
        let known = || {
            UNITS
                .iter()
                .map(|row| row.0)
                .filter(|name| !name.is_empty())
                .collect::<Vec<_>>()
                .join(" | ")
        };
        let found = UNITS.iter().find(|row| row.0 == text).map(|row| row.1);
        found.ok_or_else(|| format!("must be empty or one of {}", known()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_written_and_read_again() {
        for (text, unit, dimension) in UNITS {
            assert_eq!(unit.to_string(), text);
            assert_eq!(text.parse(), Ok(unit), "{text}");
            assert_eq!(unit.dimension(), dimension, "{text}");
            assert!(PrintedUnit::of(dimension).contains(&text), "{text}");
        }
        let error = "Mbits".parse::<PrintedUnit>().unwrap_err();
        assert!(error.starts_with("must be empty or one of Mbit/s | kbit/s |"), "{error}");
    }

    /// 3 Mbit/s of a group of four whose fair share is 2 Mbit/s.
    #[test]
    fn a_rate_in_each_unit_by_hand() {
        let said = |unit: PrintedUnit| 3e6 * unit.per_base(4.0, 2e6);
        for (unit, number) in [
            (PrintedUnit::Mbit, 3.0),
            (PrintedUnit::Kbit, 3000.0),
            (PrintedUnit::MbitEach, 0.75),
            (PrintedUnit::KbitEach, 750.0),
            (PrintedUnit::OfFair, 150.0),
        ] {
            assert!((said(unit) - number).abs() < 1e-9, "{unit}: {} is not {number}", said(unit));
        }
        assert_eq!(0.125 * PrintedUnit::Percent.per_base(4.0, 2e6), 12.5);
        assert_eq!(1500.0 * PrintedUnit::Kilobytes.per_base(4.0, 2e6), 1.5);
        assert_eq!(7.0 * PrintedUnit::Millis.per_base(4.0, 2e6), 7.0);
    }
}
