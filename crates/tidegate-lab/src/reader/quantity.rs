//! Quantities as exact fractions of any unit that sums and products of ours can have.
use std::fmt::Write;

use num::{BigInt, BigRational, Signed, ToPrimitive, Zero};
use tidegate::config::Value;
use tidegate::{Bytes, Prob, Rate, Size, Span};

/// The exponents of a unit: nanoseconds, bits, packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dimension {
    pub time: i32,
    pub data: i32,
    pub packets: i32,
}

impl Dimension {
    pub const NUMBER: Dimension = Dimension { time: 0, data: 0, packets: 0 };
    pub const TIME: Dimension = Dimension { time: 1, ..Dimension::NUMBER };
    pub const DATA: Dimension = Dimension { data: 1, ..Dimension::NUMBER };
    pub const RATE: Dimension = Dimension { time: -1, data: 1, packets: 0 };
    pub const PACKETS: Dimension = Dimension { packets: 1, ..Dimension::NUMBER };

    fn combine(self, other: Dimension, sign: i32) -> Dimension {
        Dimension {
            time: self.time + sign * other.time,
            data: self.data + sign * other.data,
            packets: self.packets + sign * other.packets,
        }
    }
}

/// A value with its unit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UnitValue {
    /// In nanoseconds, bits, packets and what these make together.
    pub value: BigRational,
    pub dimension: Dimension,
}

/// What kind of value is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WantedKind {
    Rate,
    Time,
    /// An amount of data.
    Data,
    /// The length of a queue, in packets or bytes.
    Length,
    /// A number without a unit.
    Number,
}

/// The largest value in base units, as plain texts have it.
const MOST: u64 = 9_000_000_000_000_000_000;
const TOO_LARGE: &str = "is too large to be meant";
/// The most powers of ten in a number, either way.
const EXPONENT_LIMIT: usize = 400;

impl WantedKind {
    /// What a parameter of this kind wants; `None` for one that cannot be derived.
    pub fn of(kind: &str) -> Option<WantedKind> {
        match kind {
            _ if kind == Rate::KIND => Some(WantedKind::Rate),
            _ if kind == Bytes::KIND || kind.starts_with("size, ") => Some(WantedKind::Data),
            _ if kind == Size::KIND => Some(WantedKind::Length),
            _ if kind == Span::KIND || kind.starts_with("time, ") => Some(WantedKind::Time),
            _ if [f64::KIND, u64::KIND, Prob::KIND].contains(&kind) => Some(WantedKind::Number),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            WantedKind::Rate => "a rate",
            WantedKind::Time => "a time",
            WantedKind::Data => "an amount of data",
            WantedKind::Length => "a queue length",
            WantedKind::Number => "a number",
        }
    }

    /// `quantity` as the text of a plain value, rounded to the base unit.
    ///
    /// # Errors
    /// It has another unit, is negative or too large.
    pub fn plain(self, quantity: &UnitValue) -> Result<String, String> {
        self.text(quantity).unwrap_or_else(|| {
            Err(format!("is {} where {} is wanted", quantity.words(), self.name()))
        })
    }

    /// `quantity` as such a text; `None` if it has another unit.
    fn text(self, quantity: &UnitValue) -> Option<Result<String, String>> {
        let value = &quantity.value;
        Some(match (self, quantity.dimension) {
            (WantedKind::Rate, Dimension::RATE) => {
                self.whole(&(value * ratio(NANOS))).map(|bps| Rate::from_bps(bps).to_string())
            }
            (WantedKind::Time, Dimension::TIME) => {
                self.whole(value).map(|nanos| Span::from_nanos(nanos).to_string())
            }
            (WantedKind::Data | WantedKind::Length, Dimension::DATA) => {
                self.whole(&(value / ratio(8))).map(|bytes| Bytes::new(bytes).to_string())
            }
            (WantedKind::Length, Dimension::PACKETS) => {
                self.whole(&value.ceil()).map(|n| Size::Packets(n.max(1)).to_string())
            }
            (WantedKind::Number, Dimension::NUMBER) => match value.to_f64() {
                Some(number) if number.is_finite() => Ok(number.to_string()),
                _ => Err(TOO_LARGE.into()),
            },
            _ => return None,
        })
    }

    /// `value` to the nearest whole number.
    fn whole(self, value: &BigRational) -> Result<u64, String> {
        if value.is_negative() {
            return Err(format!("comes out negative; {} cannot be", self.name()));
        }
        let half = BigRational::new(1.into(), 2.into());
        let whole = (value + half).floor().to_integer().to_u64();
        whole.filter(|&whole| whole <= MOST).ok_or_else(|| TOO_LARGE.into())
    }
}

/// Nanoseconds in a second.
const NANOS: u64 = 1_000_000_000;

fn ratio(whole: u64) -> BigRational {
    BigRational::from_integer(BigInt::from(whole))
}

impl UnitValue {
    pub fn number(value: BigRational) -> UnitValue {
        UnitValue { value, dimension: Dimension::NUMBER }
    }

    pub fn time(span: Span) -> UnitValue {
        UnitValue { value: ratio(span.as_nanos()), dimension: Dimension::TIME }
    }

    pub fn data(bytes: Bytes) -> UnitValue {
        UnitValue { value: ratio(bytes.get()) * ratio(8), dimension: Dimension::DATA }
    }

    pub fn rate(rate: Rate) -> UnitValue {
        UnitValue { value: ratio(rate.as_bps()) / ratio(NANOS), dimension: Dimension::RATE }
    }

    fn size(size: Size) -> UnitValue {
        match size {
            Size::Packets(n) => UnitValue { value: ratio(n), dimension: Dimension::PACKETS },
            Size::Bytes(n) => UnitValue::data(Bytes::new(n)),
        }
    }

    /// The quantity of one `unit`; `None` for a word that is none.
    pub fn unit(unit: &str) -> Option<UnitValue> {
        if unit == "%" {
            return Some(UnitValue::number(BigRational::new(1.into(), 100.into())));
        }
        UnitValue::with_unit(&format!("1 {unit}"))
    }

    /// The value that a plain text has for the reader of a scenario; `None` if it is no quantity.
    pub fn plain(text: &str) -> Option<UnitValue> {
        match text.trim().strip_suffix('%') {
            Some(part) => Some(UnitValue {
                value: decimal(part.trim())? / ratio(100),
                dimension: Dimension::NUMBER,
            }),
            None => UnitValue::with_unit(text).or_else(|| decimal(text).map(UnitValue::number)),
        }
    }

    fn with_unit(text: &str) -> Option<UnitValue> {
        let time = || text.parse().ok().map(UnitValue::time);
        let rate = || text.parse().ok().map(UnitValue::rate);
        time().or_else(rate).or_else(|| text.parse().ok().map(UnitValue::size))
    }

    /// The sum, or the difference; `None` for quantities that cannot be added.
    pub fn plus(&self, other: &UnitValue, negative: bool) -> Option<UnitValue> {
        let value = if negative { &self.value - &other.value } else { &self.value + &other.value };
        (self.dimension == other.dimension).then_some(UnitValue { value, ..*self })
    }

    pub fn times(&self, other: &UnitValue) -> UnitValue {
        let dimension = self.dimension.combine(other.dimension, 1);
        UnitValue { value: &self.value * &other.value, dimension }
    }

    /// The quotient; `None` if `other` is zero.
    pub fn over(&self, other: &UnitValue) -> Option<UnitValue> {
        if other.value.is_zero() {
            return None;
        }
        let dimension = self.dimension.combine(other.dimension, -1);
        Some(UnitValue { value: &self.value / &other.value, dimension })
    }

    pub fn negated(self) -> UnitValue {
        UnitValue { value: -self.value, ..self }
    }

    /// What it is, for a message: `a rate (20 Mbit/s)`.
    pub fn words(&self) -> String {
        let kinds = [
            WantedKind::Rate,
            WantedKind::Time,
            WantedKind::Data,
            WantedKind::Length,
            WantedKind::Number,
        ];
        let magnitude = UnitValue { value: self.value.abs(), ..*self };
        let sign = if self.value.is_negative() { "-" } else { "" };
        for kind in kinds {
            match kind.text(&magnitude) {
                Some(Ok(text)) => return format!("{} ({sign}{text})", kind.name()),
                Some(Err(_)) => return kind.name().into(),
                None => {}
            }
        }
        format!("a quantity in {}", self.dimension.unit())
    }
}

impl Dimension {
    /// As in `bit^2/s`.
    fn unit(self) -> String {
        let parts = [("bit", self.data), ("packets", self.packets), ("s", self.time)];
        let powers = |sign: i32| {
            let mut text = String::new();
            for (name, power) in parts.map(|(name, power)| (name, power * sign)) {
                if power > 0 {
                    text += if text.is_empty() { name } else { " " };
                    if text.ends_with(' ') {
                        text += name;
                    }
                    if power > 1 {
                        let _ = write!(text, "^{power}");
                    }
                }
            }
            text
        };
        match (powers(1), powers(-1)) {
            (above, below) if below.is_empty() => above,
            (above, below) if above.is_empty() => format!("1/({below})"),
            (above, below) => format!("{above}/({below})"),
        }
    }
}

/// A decimal number, exactly; `None` if it is none, or too large or small to be meant.
pub(crate) fn decimal(text: &str) -> Option<BigRational> {
    let digits = text.trim().replace('_', "");
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (digits.as_str(), 0),
    };
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let plain = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
    let small = exponent.unsigned_abs() as usize + part.len() <= EXPONENT_LIMIT;
    if whole.len() + part.len() == 0 || !plain(whole) || !plain(part) || !small {
        return None;
    }
    let number: BigInt = format!("{whole}{part}").parse().ok()?;
    let shift = exponent - part.len() as i32;
    let power = num::pow(BigInt::from(10), shift.unsigned_abs() as usize);
    let value = if shift < 0 {
        BigRational::new(number, power)
    } else {
        BigRational::from_integer(number * power)
    };
    Some(if negative { -value } else { value })
}
