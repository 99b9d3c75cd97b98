//! Quantities with their units: no bare number with a unit crosses a function boundary.
//!
//! Text in, text out: `"10 Mbit/s"`, `"50 ms"`, `"200 kB"`, `"40 packets"`. Prefixes are decimal (1
//! kB = 1000 B, 1 Mbit/s = 10^6 bit/s); `KiB` and `MiB` are binary. A number without a unit is
//! refused, and so is `10 mbps`, which means megabits to most people and megabytes to `tc`.
//!
//! ```
//! use tidegate::{Rate, Span, Bytes};
//! let rate: Rate = "10 Mbit/s".parse()?;
//! assert_eq!(rate.time_to_send(Bytes::new(1000)), "800 us".parse::<Span>()?);
//! assert_eq!(rate.to_string(), "10 Mbit/s");
//! assert!("10 mbps".parse::<Rate>().is_err());
//! # Ok::<(), tidegate::units::UnitError>(())
//! ```
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::ops::{Add, AddAssign, Sub, SubAssign};
use core::str::FromStr;

/// A point in time, in nanoseconds since the driver's origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

/// An amount of data, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

/// A rate, in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// A probability, in 0 ..= 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Prob(f64);

/// A length of queue: counted in packets or in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// So many packets, whatever their length.
    Packets(u64),
    /// So many bytes.
    Bytes(u64),
}

const NANOS: f64 = 1e9;

impl Time {
    /// The driver's origin.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const MAX: Time = Time(u64::MAX);

    /// The point `nanos` nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the origin.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / NANOS
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Span {
        Span(nanos)
    }

    /// `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Span {
        Span(micros * 1_000)
    }

    /// `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Span {
        Span(millis * 1_000_000)
    }

    /// `secs` seconds, to the nearest nanosecond; zero if negative or not a number.
    pub fn from_secs(secs: f64) -> Span {
        Span((secs * NANOS + 0.5) as u64)
    }

    /// In nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// In seconds.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / NANOS
    }

    /// In milliseconds.
    pub fn as_millis(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Bytes {
    /// `bytes` bytes.
    pub const fn new(bytes: u64) -> Bytes {
        Bytes(bytes)
    }

    /// As a number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// As a number of bits.
    pub const fn bits(self) -> u64 {
        self.0 * 8
    }
}

impl Rate {
    /// `bits` per second.
    pub const fn from_bps(bits: u64) -> Rate {
        Rate(bits)
    }

    /// In bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// How long `data` takes at this rate, rounded down to a nanosecond; a driver that sends packet
    /// after packet carries the remainder (see [`Pacer`]). `Span` of 2^64 − 1 ns at rate zero.
    pub const fn time_to_send(self, data: Bytes) -> Span {
        if self.0 == 0 {
            return Span(u64::MAX);
        }
        Span((data.0 as u128 * 8_000_000_000 / self.0 as u128) as u64)
    }

    /// How many bytes fit into `span` at this rate, rounded down.
    pub const fn bytes_in(self, span: Span) -> Bytes {
        Bytes((span.0 as u128 * self.0 as u128 / 8_000_000_000) as u64)
    }
}

/// Transmission times at one rate with the remainder carried, so that a thousand packets take
/// exactly a thousand times as long as one, however the rate divides.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    rate: u64,
    /// What the last division left, in bit·s⁻¹·ns (a fraction of a nanosecond, times the rate).
    remainder: u64,
}

impl Pacer {
    /// A pacer at `rate`, with nothing carried yet. The rate must not be zero.
    pub const fn new(rate: Rate) -> Pacer {
        assert!(rate.0 > 0);
        Pacer { rate: rate.0, remainder: 0 }
    }

    /// The time on the wire of the next `len` bytes.
    #[inline]
    pub fn next(&mut self, len: u32) -> Span {
        const BIT_NANOS: u64 = 8_000_000_000;
        // 2^32 bytes × 8·10^9 does not fit 64 bits; frames of up to 2^31 / 8 bytes do.
        match (len as u64).checked_mul(BIT_NANOS).and_then(|x| x.checked_add(self.remainder)) {
            Some(work) => {
                self.remainder = work % self.rate;
                Span(work / self.rate)
            }
            None => {
                let work = len as u128 * BIT_NANOS as u128 + self.remainder as u128;
                self.remainder = (work % self.rate as u128) as u64;
                Span((work / self.rate as u128) as u64)
            }
        }
    }

    /// Forgets what was carried: the line fell idle.
    pub fn reset(&mut self) {
        self.remainder = 0;
    }
}

impl Prob {
    /// Never.
    pub const ZERO: Prob = Prob(0.0);
    /// Always.
    pub const ONE: Prob = Prob(1.0);

    /// `p` clipped to 0 ..= 1; not-a-number becomes 0.
    pub fn clip(p: f64) -> Prob {
        Prob(if p > 0.0 { p.min(1.0) } else { 0.0 })
    }

    /// As a number in 0 ..= 1.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Size {
    /// The length in packets, a byte count divided by `mean_packet`.
    pub fn in_packets(self, mean_packet: Bytes) -> f64 {
        match self {
            Size::Packets(n) => n as f64,
            Size::Bytes(b) => b as f64 / mean_packet.0.max(1) as f64,
        }
    }

    /// The length in bytes, a packet count times `mean_packet`.
    pub fn in_bytes(self, mean_packet: Bytes) -> u64 {
        match self {
            Size::Packets(n) => n.saturating_mul(mean_packet.0),
            Size::Bytes(b) => b,
        }
    }

    /// This length times `factor`, in the same unit, rounded to the nearest.
    pub fn scale(self, factor: f64) -> Size {
        match self {
            Size::Packets(n) => Size::Packets((n as f64 * factor + 0.5) as u64),
            Size::Bytes(b) => Size::Bytes((b as f64 * factor + 0.5) as u64),
        }
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Bytes) {
        self.0 -= other.0;
    }
}

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
type Unit = (&'static str, f64);

const TIME_UNITS: &[Unit] = &[
    ("s", 1e9),
    ("ms", 1e6),
    ("us", 1e3),
    ("ns", 1.0),
    ("min", 60e9),
    ("h", 3600e9),
    ("µs", 1e3),
    ("μs", 1e3),
];
const BYTE_UNITS: &[Unit] = &[
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
const RATE_UNITS: &[Unit] = &[
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
const PACKET_UNITS: &[Unit] = &[("packets", 1.0), ("packet", 1.0), ("pkts", 1.0), ("pkt", 1.0)];

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
        _ => Err(refuse(text, "does not begin with a number")),
    }
}

fn refuse(text: &str, why: impl Into<String>) -> UnitError {
    UnitError { text: text.trim().into(), why: why.into() }
}

/// The number of base units in `text`, a whole number, at most 2^63.
fn parse_units(text: &str, what: &str, units: &[Unit], example: &str) -> Result<u64, UnitError> {
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
fn wrong_unit(value: f64, unit: &str, what: &str, units: &[Unit]) -> String {
    let bits = match unit {
        "bps" => Some(("bit/s", "B/s")),
        "kbps" | "Kbps" => Some(("kbit/s", "kB/s")),
        "mbps" | "Mbps" | "MBps" => Some(("Mbit/s", "MB/s")),
        "gbps" | "Gbps" | "GBps" => Some(("Gbit/s", "GB/s")),
        _ => None,
    };
    if let (Some((bit, byte)), true) = (bits, core::ptr::eq(units, RATE_UNITS)) {
        return format!(
            "`{unit}` is ambiguous (tc reads it as bytes per second): write \"{value} {bit}\" or \"{value} {byte}\""
        );
    }
    if let Some((name, _)) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) {
        return format!("`{unit}` is not a unit of {what}; did you mean \"{value} {name}\"?");
    }
    let known: String = units.iter().take(SHOWN).map(|(name, _)| format!("{name}, ")).collect();
    format!("`{unit}` is not a unit of {what}; use {}", known.trim_end_matches(", "))
}

/// The value in the largest unit of `units` that leaves no more than `digits` decimals.
fn write_units(f: &mut fmt::Formatter<'_>, value: u64, units: &[Unit]) -> fmt::Result {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_text_out() {
        for (text, out) in [
            ("10 Mbit/s", "10 Mbit/s"),
            ("100mbit", "100 Mbit/s"),
            ("1.5 Gbit/s", "1.5 Gbit/s"),
            ("2 MB/s", "16 Mbit/s"),
        ] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), out);
        }
        for (text, out) in [
            ("50 ms", "50 ms"),
            ("1e-3 s", "1 ms"),
            ("1.5s", "1.5 s"),
            ("90 ns", "90 ns"),
            ("0 s", "0 ns"),
        ] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), out);
        }
        for (text, out) in [
            ("200 kB", "200 kB"),
            ("40 packets", "40 packets"),
            ("1 pkt", "1 packet"),
            ("1 KiB", "1.024 kB"),
        ] {
            assert_eq!(text.parse::<Size>().unwrap().to_string(), out);
        }
        assert_eq!("4 %".parse::<Prob>().unwrap().get(), 0.04);
    }

    #[test]
    fn refusals_say_what_was_meant() {
        let rate = |t: &str| t.parse::<Rate>().unwrap_err().why;
        assert!(rate("10 mbps").contains("\"10 Mbit/s\" or \"10 MB/s\""));
        assert!(rate("10 MBIT/S").contains("did you mean \"10 Mbit/s\""));
        assert!(rate("-1 Mbit/s").contains("negative"));
        assert!(rate("10").contains("needs a unit"));
        assert!(rate("fast").contains("does not begin with a number"));
        assert!(rate("1e30 bit/s").contains("too large"));
        assert!("50 packets".parse::<Span>().is_err());
        assert!("5 cats".parse::<Size>().unwrap_err().why.ends_with("packets"));
        assert!("0.4 packets".parse::<Size>().unwrap_err().why.contains("whole number"));
        assert!("1.5 packets".parse::<Size>().unwrap_err().why.contains("whole number"));
        assert!("-1 packets".parse::<Size>().unwrap_err().why.contains("negative"));
        assert_eq!("2.0 packets".parse(), Ok(Size::Packets(2)));
        assert!("1.1".parse::<Prob>().is_err());
    }

    #[test]
    fn a_pacer_carries_the_remainder() {
        let mut pacer = Pacer::new(Rate::from_bps(3));
        let total: u64 = (0..9).map(|_| pacer.next(1).as_nanos()).sum();
        assert_eq!(total, 24_000_000_000);
    }
}
