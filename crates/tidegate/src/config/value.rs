//! What types parameters have, and how they are read and written.
use alloc::format;
use alloc::string::{String, ToString};

use super::{ConfigError, Param};
use crate::units::{self, Bytes, Prob, Rate, Size, Span, UnitError};

/// A type that a parameter can have.
pub trait Value: Sized {
    /// What kind of text it takes.
    const KIND: &'static str;
    /// Reads it.
    ///
    /// # Errors
    /// When `text` is no such value.
    fn read(text: &str) -> Result<Self, UnitError>;
    /// Writes it so that [`read`](Value::read) gives it back.
    fn write(&self) -> String;
    /// How large it is, in its base unit, to compare with the bounds.
    fn magnitude(&self) -> f64;
    /// The least and the greatest magnitude in it, for values that are several.
    fn extent(&self) -> (f64, f64) {
        (self.magnitude(), self.magnitude())
    }
    /// A bound as text.
    fn write_bound(magnitude: f64) -> String;
}

macro_rules! value {
    ($type:ty, $kind:literal, $read:expr, $magnitude:expr, $bound:expr) => {
        impl Value for $type {
            const KIND: &'static str = $kind;
            fn read(text: &str) -> Result<Self, UnitError> {
                ($read)(text)
            }
            fn write(&self) -> String {
                self.to_string()
            }
            fn magnitude(&self) -> f64 {
                ($magnitude)(self)
            }
            fn write_bound(magnitude: f64) -> String {
                ($bound)(magnitude)
            }
        }
    };
}

/// What [`read_whole`] says; [`read_error`] adds the parameter's own range.
const NOT_WHOLE: &str = "must be a whole number";

fn read_whole(text: &str, most: f64) -> Result<f64, UnitError> {
    let n = units::parse_number(text)?;
    // Whole means that nothing is left behind the point; there is no `fract` without the host's
    // mathematics.
    if n < 0.0 || n > most || (n as u64) as f64 != n {
        return Err(UnitError { text: text.into(), why: NOT_WHOLE.into() });
    }
    Ok(n)
}

value!(f64, "number", units::parse_number, |v: &f64| *v, units::write_number);
value!(Span, "time", |t: &str| t.parse(), |v: &Span| v.as_nanos() as f64, |m: f64| {
    Span::from_nanos(m as u64).to_string()
});
value!(Bytes, "bytes", |t: &str| t.parse(), |v: &Bytes| v.get() as f64, |m: f64| Bytes::new(
    m as u64
)
.to_string());
value!(Rate, "rate", |t: &str| t.parse(), |v: &Rate| v.as_bps() as f64, |m: f64| Rate::from_bps(
    m as u64
)
.to_string());
value!(Prob, "probability", |t: &str| t.parse(), |v: &Prob| v.get(), units::write_number);
value!(
    u32,
    "whole number",
    |t: &str| read_whole(t, u32::MAX as f64).map(|n| n as u32),
    |v: &u32| *v as f64,
    units::write_number
);
value!(
    u64,
    "whole number",
    |t: &str| read_whole(t, 9.0e15).map(|n| n as u64),
    |v: &u64| *v as f64,
    units::write_number
);
value!(
    Size,
    "queue length",
    |t: &str| t.parse(),
    |v: &Size| match v {
        Size::Packets(n) | Size::Bytes(n) => *n as f64,
    },
    |m: f64| format!("{} packets or bytes", m as u64)
);

/// The error for a text that is no value of `param`'s type.
pub fn read_error(param: &Param, error: UnitError) -> ConfigError {
    let why = match error.why.as_str() {
        NOT_WHOLE => format!("{NOT_WHOLE} from {}", (param.range)()),
        _ => error.why,
    };
    ConfigError::new(param.name, error.text, why)
}
