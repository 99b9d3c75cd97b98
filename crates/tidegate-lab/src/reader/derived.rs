//! Values that are derived from others: `2 × network.rate`, `1 bdp`, `(10 ms + 2 ms) / 3`.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = factor { ("×" | "*" | "/" | "÷") factor }
//! factor  = "-" factor | ( NUMBER | "(" sum ")" ) [ UNIT ] | PATH | "bdp" | "rtt"
//! ```
//! A unit binds tightest, and `bdp` and `rtt` may stand where one does. A minus in a name is part
//! of it, so that subtraction needs a space.
use std::ops::Range;

use super::quantity::{Dimension, UnitValue, WantedKind};
use super::{Node, Reader, TomlValue};

mod parser;

/// The longest expression, in bytes.
const LENGTH_LIMIT: usize = 500;
/// The tables of a scenario, with which a path begins.
const TABLES: [&str; 6] = ["run", "network", "link", "queue", "compare", "group"];

/// A value that is to be derived.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The path of its key.
    pub field: String,
    /// What its key wants.
    pub wanted: WantedKind,
    /// The value as it is written.
    pub node: Node,
}

impl Request {
    /// The expression.
    pub fn text(&self) -> &str {
        written(&self.node).unwrap_or_default()
    }
}

/// The text that `node` has.
fn written(node: &Node) -> Option<&str> {
    match &node.kind {
        TomlValue::Text(text) | TomlValue::Bare(text) => Some(text),
        _ => None,
    }
}

impl Reader<'_> {
    /// Takes down `node`, or those of its entries, that derive a value of this kind; whether there
    /// are any.
    pub(super) fn derives(&mut self, node: &Node, field: &str, kind: &str) -> bool {
        let (Some(requests), Some(wanted)) = (&mut self.derived, WantedKind::of(kind)) else {
            return false;
        };
        let items = match &node.kind {
            TomlValue::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let before = requests.len();
        let meant = items.iter().filter(|item| written(item).is_some_and(|t| is_meant(t, wanted)));
        requests.extend(meant.map(|item| Request {
            field: field.into(),
            wanted,
            node: item.clone(),
        }));
        requests.len() > before
    }
}

/// Whether `text`, which is no plain value, is meant to be derived.
fn is_meant(text: &str, wanted: WantedKind) -> bool {
    let Ok(expression) = Expression::parse(text) else {
        return looks_derived(&text.chars().take(LENGTH_LIMIT).collect::<String>());
    };
    // A value with its unit is a plain one, and wrong, unless it is a time for a length of queue.
    let value = match &expression.term {
        Term::Negative(inner) => &inner.term,
        term => term,
    };
    match value {
        Term::Quantity(quantity) => {
            wanted == WantedKind::Length && quantity.dimension == Dimension::TIME
        }
        _ => true,
    }
}

/// Whether `text`, which cannot be read, looks more like an expression than like anything else.
fn looks_derived(text: &str) -> bool {
    let call = text.match_indices('(').any(|(i, _)| text[..i].ends_with(char::is_alphabetic));
    if call || text.contains([',', '"', ':']) || text.contains("..") {
        return false;
    }
    let words = || text.split(|c: char| !is_word(c));
    text.contains(['×', '÷', '*', '(', ')', '−'])
        || [" + ", " - ", " / "].iter().any(|sign| text.contains(sign))
        || words().any(is_of_the_path)
        || words().filter_map(|word| word.split_once('.')).any(|(table, _)| TABLES.contains(&table))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '-')
}

/// Whether `word` is the bandwidth-delay product or the round trip.
fn is_of_the_path(word: &str) -> bool {
    matches!(word, "bdp" | "rtt" | "BDP" | "RTT")
}

/// What is wrong, and where in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExpressionFault {
    pub at: Range<usize>,
    pub why: String,
}

/// Why a name has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// For this reason.
    Because(String),
    /// What it is derived from is wrong, which is reported there.
    Elsewhere,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expression {
    at: Range<usize>,
    term: Term,
}

#[derive(Clone, Debug, PartialEq)]
enum Term {
    Quantity(UnitValue),
    /// The path of a key, `bdp` or `rtt`.
    Name(String),
    /// In parentheses.
    Group(Box<Expression>),
    Negative(Box<Expression>),
    Two(Box<Expression>, Sign, Box<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Plus,
    Minus,
    Times,
    Over,
}

impl Expression {
    /// Its value; `known` has those of names.
    ///
    /// # Errors
    /// Units that do not go together, a division by zero, a name without a value. `None` for what
    /// is reported elsewhere.
    pub fn value(
        &self,
        known: &mut dyn FnMut(&str) -> Result<UnitValue, Unknown>,
    ) -> Result<UnitValue, Option<ExpressionFault>> {
        let fault = |why| Some(ExpressionFault { at: self.at.clone(), why });
        match &self.term {
            Term::Quantity(quantity) => Ok(quantity.clone()),
            Term::Name(name) => known(name).map_err(|unknown| match unknown {
                Unknown::Because(why) => fault(why),
                Unknown::Elsewhere => None,
            }),
            Term::Group(inner) => inner.value(known),
            Term::Negative(inner) => inner.value(known).map(UnitValue::negated),
            Term::Two(left, sign, right) => {
                let (left, right) = (left.value(known)?, right.value(known)?);
                combined(&left, *sign, &right).map_err(fault)
            }
        }
    }

    /// Whether it is made of amounts of data alone, so that its value is meant in bytes: `name`
    /// says whether a name is such an amount.
    pub fn counts_bytes(&self, is_data: &mut dyn FnMut(&str) -> bool) -> bool {
        match &self.term {
            Term::Quantity(quantity) => {
                [Dimension::DATA, Dimension::NUMBER].contains(&quantity.dimension)
            }
            Term::Name(name) => is_data(name),
            Term::Group(inner) | Term::Negative(inner) => inner.counts_bytes(is_data),
            Term::Two(left, _, right) => left.counts_bytes(is_data) && right.counts_bytes(is_data),
        }
    }
}

fn combined(left: &UnitValue, sign: Sign, right: &UnitValue) -> Result<UnitValue, String> {
    let (one, other) = (|| left.words(), || right.words());
    match sign {
        Sign::Plus => {
            left.plus(right, false).ok_or_else(|| format!("cannot add {} and {}", one(), other()))
        }
        Sign::Minus => left
            .plus(right, true)
            .ok_or_else(|| format!("cannot subtract {} from {}", other(), one())),
        Sign::Times => Ok(left.times(right)),
        Sign::Over => left.over(right).ok_or_else(|| "divides by zero".into()),
    }
}

#[cfg(test)]
mod tests;
