//! Times and sizes that are drawn, as text: `"10 ms"`, `"uniform(0 s, 1 s)"`, `"pareto(1.2, 10 kB)
//! in ..10 MB"`.
mod law;

use std::fmt;
use std::marker::PhantomData;

use tidegate::config::{SEPARATOR, Value};
use tidegate::units::UnitError;
use tidegate::{Bytes, Span};
use tidegate_sim::sources::Law;

/// A time or a size: one for all, a list dealt out in turn, or drawn by a law.
///
/// ```
/// use tidegate::{Span, config::Value};
/// use tidegate_lab::scenario::Drawn;
/// let start: Drawn<Span> = Drawn::read("exponential(10 s) in ..60 s")?;
/// assert_eq!(start.write(), "exponential(10 s) in ..60 s");
/// let refused = Drawn::<Span>::read("normal(10 ms, 5 ms)").unwrap_err();
/// assert!(refused.why.contains("can be negative"));
/// # Ok::<(), tidegate::units::UnitError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn<U> {
    /// By what law, in nanoseconds or bytes.
    pub law: Law,
    unit: PhantomData<U>,
}

/// What a drawn amount is counted in.
pub trait DrawnUnit: Sized {
    /// What kind of text it takes.
    const KIND: &'static str;
    /// What it is called in messages.
    const NAME: &'static str;
    /// Reads an amount of it.
    ///
    /// # Errors
    /// When `text` is none.
    fn base(text: &str) -> Result<u64, UnitError>;
    /// Writes it.
    fn text(base: u64) -> String;
}

impl DrawnUnit for Span {
    const KIND: &'static str = "time, list of times or distribution";
    const NAME: &'static str = "time";
    fn base(text: &str) -> Result<u64, UnitError> {
        text.parse().map(Span::as_nanos)
    }
    fn text(base: u64) -> String {
        Span::from_nanos(base).to_string()
    }
}

impl DrawnUnit for Bytes {
    const KIND: &'static str = "size, list of sizes or distribution";
    const NAME: &'static str = "size";
    fn base(text: &str) -> Result<u64, UnitError> {
        text.parse().map(Bytes::get)
    }
    fn text(base: u64) -> String {
        Bytes::new(base).to_string()
    }
}

/// How deep distributions may stand in one another.
const DEPTH: u32 = 4;
/// The most values in a list.
const MOST: usize = 1024;
fn refuse(text: &str, why: impl Into<String>) -> UnitError {
    UnitError { text: text.trim().chars().take(60).collect(), why: why.into() }
}

impl<U: DrawnUnit> Drawn<U> {
    /// By `law`.
    pub const fn by(law: Law) -> Drawn<U> {
        Drawn { law, unit: PhantomData }
    }
}

impl Drawn<Span> {
    /// Always `span`.
    pub const fn always(span: Span) -> Drawn<Span> {
        Drawn::by(Law::Constant(span.as_nanos()))
    }

    /// Uniformly from `least` to `most`.
    pub const fn uniform(least: Span, most: Span) -> Drawn<Span> {
        Drawn::by(Law::Uniform { least: least.as_nanos(), most: most.as_nanos() })
    }
}

impl<U: DrawnUnit> Value for Drawn<U> {
    const KIND: &'static str = U::KIND;

    fn read(text: &str) -> Result<Self, UnitError> {
        let entries: Vec<&str> = text.split(SEPARATOR).collect();
        let law = match entries.as_slice() {
            [one] => law::law::<U>(one, DEPTH)?,
            several if several.len() > MOST => {
                return Err(refuse(
                    text,
                    format!("has {} values; at most {MOST} can be", several.len()),
                ));
            }
            several => {
                Law::InTurn(several.iter().map(|text| U::base(text)).collect::<Result<_, _>>()?)
            }
        };
        Ok(Drawn::by(law))
    }

    fn write(&self) -> String {
        LawText::<U>(&self.law, PhantomData).to_string()
    }

    fn magnitude(&self) -> f64 {
        self.extent().1
    }

    /// A law without a bound is clipped to what its key allows when it is drawn.
    fn extent(&self) -> (f64, f64) {
        let least = self.law.least() as f64;
        (least, self.law.most().map_or(least, |most| most as f64))
    }

    fn write_bound(magnitude: f64) -> String {
        U::text(magnitude as u64)
    }
}

/// A law as text.
struct LawText<'l, U>(&'l Law, PhantomData<U>);

impl<U: DrawnUnit> fmt::Display for LawText<'_, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = |n: &u64| U::text(*n);
        let inner = |law| LawText::<U>(law, PhantomData);
        match self.0 {
            Law::InTurn(amounts) => {
                let texts: Vec<String> = amounts.iter().map(amount).collect();
                f.write_str(&texts.join(SEPARATOR))
            }
            Law::Uniform { least, most } => {
                write!(f, "uniform({}, {})", amount(least), amount(most))
            }
            Law::Normal { mean, deviation } => {
                write!(f, "normal({}, {})", amount(mean), amount(deviation))
            }
            Law::Mix(first, laws) => {
                write!(f, "mix({first}, {}, {})", inner(&laws[0]), inner(&laws[1]))
            }
            Law::Within(law, least, most) => {
                let least = if *least == 0 { String::new() } else { amount(least) };
                let most = if *most == u64::MAX { String::new() } else { amount(most) };
                write!(f, "{} in {least}..{most}", inner(law))
            }
            Law::Scaled(law, by) => by_scale(f, law, &inner(by).to_string()),
            Law::Exponential { mean: scale }
            | Law::Pareto { least: scale, .. }
            | Law::LogNormal { median: scale, .. }
            | Law::LogLogistic { median: scale, .. } => by_scale(f, self.0, &amount(scale)),
            Law::Constant(constant) => f.write_str(&amount(constant)),
        }
    }
}

fn by_scale(f: &mut fmt::Formatter<'_>, law: &Law, scale: &str) -> fmt::Result {
    match law {
        Law::Pareto { shape, .. } => write!(f, "pareto({shape}, {scale})"),
        Law::LogNormal { sigma, .. } => write!(f, "lognormal({scale}, {sigma})"),
        Law::LogLogistic { shape, .. } => write!(f, "loglogistic({scale}, {shape})"),
        _ => write!(f, "exponential({scale})"),
    }
}

/// When the flows of a group start.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// Each on its own.
    Each(Drawn<Span>),
    /// One after the other, with such times between them: of exponential ones, a Poisson process.
    Every(Drawn<Span>),
}

impl Default for Start {
    /// Within the first second.
    fn default() -> Start {
        Start::Each(Drawn::uniform(Span::ZERO, Span::from_millis(1000)))
    }
}

impl Start {
    /// The earliest start of the first flow, and the latest of the last if that is known.
    pub fn range(&self) -> (Span, Option<Span>) {
        let (Start::Each(drawn) | Start::Every(drawn)) = self;
        let last = if let Start::Each(_) = self { drawn.law.most() } else { None };
        (Span::from_nanos(drawn.law.least()), last.map(Span::from_nanos))
    }
}

impl Value for Start {
    const KIND: &'static str = "time, list of times, distribution or every(TIME)";

    fn read(text: &str) -> Result<Self, UnitError> {
        match text.trim().strip_prefix("every(").and_then(|rest| rest.strip_suffix(')')) {
            Some(gap) => Drawn::read(gap).map(Start::Every),
            None => Drawn::read(text).map(Start::Each),
        }
    }

    fn write(&self) -> String {
        match self {
            Start::Each(drawn) => drawn.write(),
            Start::Every(drawn) => format!("every({})", drawn.write()),
        }
    }

    fn magnitude(&self) -> f64 {
        self.extent().1
    }

    fn extent(&self) -> (f64, f64) {
        let (Start::Each(drawn) | Start::Every(drawn)) = self;
        drawn.extent()
    }

    fn write_bound(magnitude: f64) -> String {
        Span::text(magnitude as u64)
    }
}
