//! A distribution from its text.
use std::marker::PhantomData;

use tidegate::config::Value;
use tidegate::units::UnitError;
use tidegate_sim::sources::Law;

use crate::nearest::did_you_mean;

use super::{DrawnUnit, refuse};

/// The distributions: how each is written.
const LAWS: [(&str, &str); 7] = [
    ("uniform", "uniform(LEAST, MOST)"),
    ("exponential", "exponential(MEAN)"),
    ("pareto", "pareto(SHAPE, LEAST)"),
    ("lognormal", "lognormal(MEDIAN, SIGMA)"),
    ("loglogistic", "loglogistic(MEDIAN, SHAPE)"),
    ("normal", "normal(MEAN, DEVIATION) in LEAST..MOST"),
    ("mix", "mix(PROBABILITY, ONE, OTHER)"),
];
/// A range that a law hits less often than this is a mistake.
const RARELY: f64 = 1e-9;

/// A constant or a distribution, in a range or without one; `depth` more may stand in it.
pub(super) fn law<U: DrawnUnit>(text: &str, depth: u32) -> Result<Law, UnitError> {
    let text = text.trim();
    let law = match text.rsplit_once(" in ") {
        Some((law, range)) if !range.contains([',', ')']) => {
            within::<U>(text, one::<U>(law.trim(), depth)?, range)?
        }
        _ => one::<U>(text, depth)?,
    };
    match law {
        Law::Normal { .. } => {
            let why = format!(
                "such a {} can be negative: add a range, as in \"{text} in LEAST..\"",
                U::NAME
            );
            Err(refuse(text, why))
        }
        law => Ok(law),
    }
}

/// `law` in a range `LEAST..MOST`; either end may be left out.
fn within<U: DrawnUnit>(text: &str, law: Law, range: &str) -> Result<Law, UnitError> {
    let Some((least, most)) = range.split_once("..") else {
        return Err(refuse(text, "a range is written LEAST..MOST, LEAST.. or ..MOST"));
    };
    let end = |text: &str, open: u64| if text.trim().is_empty() { Ok(open) } else { U::base(text) };
    let (least, most) = (end(least, 0)?, end(most, u64::MAX)?);
    if matches!(law, Law::Constant(_)) {
        return Err(refuse(text, "a range is for a distribution"));
    }
    if most <= least {
        return Err(refuse(text, "the range ends before it begins"));
    }
    let mass = law.mass(least, most);
    if mass.is_nan() || mass < RARELY {
        return Err(refuse(text, "the distribution hardly ever lies in that range"));
    }
    Ok(Law::Within(Box::new(law), least, most))
}

/// A constant or a distribution without a range.
fn one<U: DrawnUnit>(text: &str, depth: u32) -> Result<Law, UnitError> {
    let Some((name, rest)) = text.split_once('(') else { return U::base(text).map(Law::Constant) };
    let Some(inner) = rest.strip_suffix(')') else {
        return Err(refuse(
            text,
            "a distribution ends with a bracket, as in \"uniform(0 s, 1 s)\"",
        ));
    };
    let name = name.trim();
    let Some((_, form)) = LAWS.iter().find(|law| law.0 == name) else {
        let near = did_you_mean(name, &LAWS.map(|law| law.0)).unwrap_or_default();
        let known = LAWS.map(|law| law.1).join(", ");
        return Err(refuse(text, format!("no such distribution; there are {known}{near}")));
    };
    if depth == 0 {
        return Err(refuse(text, "too many distributions in one another"));
    }
    Read::<U> { text, form, depth, unit: PhantomData }.law(name, &arguments(inner))
}

/// What stands between commas, those in brackets apart.
fn arguments(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut found) = (0i32, 0, vec![]);
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                found.push(text[from..i].trim());
                from = i + 1;
            }
            _ => {}
        }
    }
    found.push(text[from..].trim());
    found
}

/// Reads the arguments of one distribution.
struct Read<'t, U> {
    text: &'t str,
    form: &'t str,
    depth: u32,
    unit: PhantomData<U>,
}

impl<U: DrawnUnit> Read<'_, U> {
    /// The law called `name`.
    fn law(&self, name: &str, args: &[&str]) -> Result<Law, UnitError> {
        match (name, args) {
            ("uniform", [least, most]) => self.uniform(least, most),
            ("exponential", [mean]) => self.scaled(mean, |mean| Law::Exponential { mean }),
            ("pareto", [shape, least]) => {
                let shape = self.number(shape)?;
                self.scaled(least, |least| Law::Pareto { shape, least })
            }
            ("lognormal", [median, sigma]) => {
                let sigma = self.number(sigma)?;
                self.scaled(median, |median| Law::LogNormal { median, sigma })
            }
            ("loglogistic", [median, shape]) => {
                let shape = self.number(shape)?;
                self.scaled(median, |median| Law::LogLogistic { median, shape })
            }
            ("normal", [mean, deviation]) => {
                Ok(Law::Normal { mean: U::base(mean)?, deviation: U::base(deviation)?.max(1) })
            }
            ("mix", [first, a, b]) => {
                let first = first.parse::<tidegate::Prob>()?.get();
                Ok(Law::Mix(
                    first,
                    Box::new([law::<U>(a, self.depth - 1)?, law::<U>(b, self.depth - 1)?]),
                ))
            }
            _ => Err(refuse(self.text, format!("is written {}", self.form))),
        }
    }

    fn uniform(&self, least: &str, most: &str) -> Result<Law, UnitError> {
        let (least, most) = (U::base(least)?, U::base(most)?);
        if least > most {
            let why =
                format!("the range begins at {}, after its end, {}", U::text(least), U::text(most));
            return Err(refuse(self.text, why));
        }
        Ok(Law::Uniform { least, most })
    }

    /// A shape or a sigma.
    fn number(&self, text: &str) -> Result<f64, UnitError> {
        match f64::read(text) {
            Ok(number) if (0.01..=100.0).contains(&number) => Ok(number),
            Ok(_) => Err(refuse(
                text,
                format!("must lie in 0.01 to 100; a distribution is written {}", self.form),
            )),
            Err(error) => {
                Err(refuse(text, format!("{}; a distribution is written {}", error.why, self.form)))
            }
        }
    }

    /// A law by its scale, which may itself be drawn, once for each flow.
    fn scaled(&self, text: &str, law_of: impl Fn(u64) -> Law) -> Result<Law, UnitError> {
        let by = law::<U>(text, self.depth - 1)?;
        if by.least() == 0 {
            return Err(refuse(
                self.text,
                format!("a distribution's scale must be above zero: {}", self.form),
            ));
        }
        Ok(match by {
            Law::Constant(scale) => law_of(scale),
            by => Law::Scaled(Box::new(law_of(1)), Box::new(by)),
        })
    }
}
