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
mod text;

use core::ops::{Add, AddAssign, Sub, SubAssign};
use core::time::Duration;

pub use text::UnitError;
pub(crate) use text::{parse_number, write_number};

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

/// At most 2^64 − 1 ns, 584 years.
impl From<Duration> for Span {
    fn from(duration: Duration) -> Span {
        Span(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Duration {
        Duration::from_nanos(span.0)
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
        assert_eq!(rate(" "), "a number is missing");
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
    fn spans_are_durations() {
        assert_eq!(Duration::from(Span::from_millis(1)), Duration::from_millis(1));
        assert_eq!(Span::from(Duration::from_micros(7)), Span::from_micros(7));
        assert_eq!(Span::from(Duration::MAX), Span(u64::MAX));
    }

    #[test]
    fn a_pacer_carries_the_remainder() {
        let mut pacer = Pacer::new(Rate::from_bps(3));
        let total: u64 = (0..9).map(|_| pacer.next(1).as_nanos()).sum();
        assert_eq!(total, 24_000_000_000);
    }
}
