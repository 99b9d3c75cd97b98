//! Quantities as text: a number and its unit, both ways.
use super::*;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

/// Why a text is no quantity: what was read, what was expected, and where one can guess it, what
/// was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// The text that was refused.
    pub text: String,
    /// What is wrong with it, and what would be right, in one sentence without a full stop.
    pub why: String,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.text, self.why)
    }
}

impl core::error::Error for UnitError {}

/// How many units a message lists; the usual ones come first in the tables.
const SHOWN: usize = 6;

/// One unit: how it is written, and how many of the base unit it is.
type UnitName = (&'static str, f64);

const TIME_UNITS: &[UnitName] = &[
    ("s", 1e9),
    ("ms", 1e6),
    ("us", 1e3),
    ("ns", 1.0),
    ("min", 60e9),
    ("h", 3600e9),
    ("µs", 1e3),
    ("μs", 1e3),
];
const BYTE_UNITS: &[UnitName] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1048576.0),
    ("KB", 1e3),
    ("GiB", 1073741824.0),
    ("bytes", 1.0),
    ("byte", 1.0),
];
const RATE_UNITS: &[UnitName] = &[
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("Mb/s", 1e6),
    ("MB/s", 8e6),
    ("b/s", 1.0),
    ("kb/s", 1e3),
    ("Gb/s", 1e9),
    ("bit", 1.0),
    ("kbit", 1e3),
    ("mbit", 1e6),
    ("gbit", 1e9),
    ("Mbit", 1e6),
    ("Gbit", 1e9),
    ("B/s", 8.0),
    ("kB/s", 8e3),
    ("GB/s", 8e9),
];
const PACKET_UNITS: &[UnitName] = &[("packets", 1.0), ("packet", 1.0), ("pkts", 1.0), ("pkt", 1.0)];

/// Splits `"10 Mbit/s"` into its number and its unit.
fn split(text: &str) -> Result<(f64, &str), UnitError> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|&(i, c)| {
            let exponent = (c == 'e' || c == 'E')
                && text[i + 1..]
                    .trim_start_matches(['+', '-'])
                    .starts_with(|d: char| d.is_ascii_digit());
            let sign = (c == '+' || c == '-') && (i == 0 || text[..i].ends_with(['e', 'E']));
            !(c.is_ascii_digit() || c == '.' || c == '_' || exponent || sign)
        })
        .map_or(text.len(), |(i, _)| i);
    let (number, unit) = (&text[..end], text[end..].trim());
    let digits: String = number.chars().filter(|&c| c != '_').collect();
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((value, unit)),
        Ok(_) => Err(refuse(text, "the number is too large to be meant")),
        _ if text.is_empty() => Err(refuse(text, "a number is missing")),
        _ => Err(refuse(text, "does not begin with a number")),
    }
}

fn refuse(text: &str, why: impl Into<String>) -> UnitError {
    UnitError { text: text.trim().into(), why: why.into() }
}

/// The number of base units in `text`, a whole number, at most 2^63.
fn parse_units(
    text: &str,
    what: &str,
    units: &[UnitName],
    example: &str,
) -> Result<u64, UnitError> {
    let (value, unit) = split(text)?;
    if unit.is_empty() {
        return Err(refuse(text, format!("{what} needs a unit, as in \"{example}\"")));
    }
    let Some(&(_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        return Err(refuse(text, wrong_unit(value, unit, what, units)));
    };
    whole(text, value * factor, what)
}

fn whole(text: &str, value: f64, what: &str) -> Result<u64, UnitError> {
    if value < 0.0 {
        return Err(refuse(text, format!("{what} cannot be negative")));
    }
    if value > 9.0e18 {
        return Err(refuse(text, format!("{what} is too large to be meant")));
    }
    Ok((value + 0.5) as u64)
}

/// The sentence for a unit that is not one of `units`: a guess where the mistake is a usual one.
fn wrong_unit(value: f64, unit: &str, what: &str, units: &[UnitName]) -> String {
    let bits = match unit {
        "bps" => Some(("bit/s", "B/s")),
        "kbps" | "Kbps" => Some(("kbit/s", "kB/s")),
        "mbps" | "Mbps" | "MBps" => Some(("Mbit/s", "MB/s")),
        "gbps" | "Gbps" | "GBps" => Some(("Gbit/s", "GB/s")),
        _ => None,
    };
    if let Some((bit, byte)) = bits
        && units.iter().any(|(name, _)| *name == bit)
    {
        return format!(
            "`{unit}` is ambiguous (tc reads it as bytes per second): write \"{value} {bit}\" or \
             \"{value} {byte}\""
        );
    }
    if let Some((name, _)) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) {
        return format!("`{unit}` is not a unit of {what}; did you mean \"{value} {name}\"?");
    }
    let known: String = units.iter().take(SHOWN).map(|(name, _)| format!("{name}, ")).collect();
    format!("`{unit}` is not a unit of {what}; use {}", known.trim_end_matches(", "))
}

/// The value in the largest unit of `units` that leaves no more than `digits` decimals.
fn write_units(f: &mut fmt::Formatter<'_>, value: u64, units: &[UnitName]) -> fmt::Result {
    for &(name, factor) in units {
        let scaled = value as f64 / factor;
        if scaled >= 1.0 {
            let text = format!("{scaled}");
            // At most six decimals keep a value readable; a value that needs more goes to a smaller
            // unit.
            if text.split_once('.').is_none_or(|(_, d)| d.len() <= 6) {
                return write!(f, "{text} {name}");
            }
        }
    }
    let (name, _) = units[units.len() - 1];
    write!(f, "{value} {name}")
}

macro_rules! quantity {
    ($type:ident, $units:ident, $what:literal, $example:literal, $write:expr) => {
        impl FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                parse_units(text, $what, $units, $example).map($type)
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_units(f, self.0, $write)
            }
        }
    };
}

quantity!(
    Span,
    TIME_UNITS,
    "a time",
    "50 ms",
    &[("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)]
);
quantity!(
    Time,
    TIME_UNITS,
    "a time",
    "50 ms",
    &[("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)]
);
quantity!(
    Bytes,
    BYTE_UNITS,
    "an amount of data",
    "200 kB",
    &[("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)]
);
quantity!(
    Rate,
    RATE_UNITS,
    "a rate",
    "10 Mbit/s",
    &[("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)]
);

impl FromStr for Prob {
    type Err = UnitError;
    /// `"0.04"` or `"4 %"`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (value, unit) = split(text)?;
        let p = match unit {
            "" => value,
            "%" => value / 100.0,
            _ => return Err(refuse(text, "a probability is written \"0.04\" or \"4 %\"")),
        };
        if (0.0..=1.0).contains(&p) {
            Ok(Prob(p))
        } else {
            Err(refuse(text, "a probability lies in 0 to 1"))
        }
    }
}

impl fmt::Display for Prob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Size {
    type Err = UnitError;
    /// `"200 kB"` or `"40 packets"`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (value, unit) = split(text)?;
        if PACKET_UNITS.iter().any(|(name, _)| *name == unit) {
            let packets = whole(text, value, "a length")?;
            // Half a packet would be rounded to one more or none, which nobody meant.
            return if packets as f64 == value {
                Ok(Size::Packets(packets))
            } else {
                Err(refuse(text, "a length in packets is a whole number"))
            };
        }
        if unit.is_empty() {
            return Err(refuse(
                text,
                "a queue length needs a unit, as in \"200 kB\" or \"40 packets\"",
            ));
        }
        match parse_units(text, "a queue length", BYTE_UNITS, "200 kB") {
            Ok(b) => Ok(Size::Bytes(b)),
            Err(error) if error.why.contains("; use ") => {
                Err(UnitError { why: error.why + ", packets", ..error })
            }
            Err(error) => Err(error),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Packets(1) => f.write_str("1 packet"),
            Size::Packets(n) => write!(f, "{n} packets"),
            Size::Bytes(b) => Bytes(*b).fmt(f),
        }
    }
}

/// A number without a unit, as text in, for parameters that are pure numbers.
pub(crate) fn parse_number(text: &str) -> Result<f64, UnitError> {
    match split(text)? {
        (value, "") => Ok(value),
        (_, unit) => {
            Err(refuse(text, format!("this is a pure number, without a unit such as `{unit}`")))
        }
    }
}

/// `n` as text; a whole number without a decimal point.
pub(crate) fn write_number(n: f64) -> String {
    n.to_string()
}
