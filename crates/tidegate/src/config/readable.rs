//! Values and ranges as a reader wants them: at most three significant digits, large numbers in
//! groups or as powers of ten.
use alloc::format;
use alloc::string::{String, ToString};

use super::Param;

/// Lengths beyond this are no bound that anybody meets.
const NO_BOUND: f64 = 1e9;

/// `value` as text, its decimals cut to three significant digits.
///
/// ```
/// use tidegate::config::readable;
/// assert_eq!(readable::value("0.0007996800853162789"), "0.0008");
/// assert_eq!(readable::value("35.555 kbit/s"), "35.6 kbit/s");
/// assert_eq!(readable::value("1024 packets"), "1024 packets");
/// ```
pub fn value(value: &str) -> String {
    each_number(value, |number| match number.split_once('.') {
        Some(parts) => three_digits(number, parts),
        None => number.into(),
    })
}

/// The range of `param` as text.
///
/// ```
/// use tidegate::{catalog, config::readable};
/// let params = catalog::find("red").unwrap().params;
/// let range = |name| readable::range(params.iter().find(|param| param.name == name).unwrap());
/// assert_eq!(range("max"), "at least 1 packet or byte");
/// assert_eq!(range("weight"), "10^-9 to 1");
/// assert_eq!(range("ecn"), "on, off");
/// ```
pub fn range(param: &Param) -> String {
    let (least, most) = param.bounds;
    if param.kind == "queue length" && most >= NO_BOUND {
        return match least {
            0.0 => "any length".into(),
            1.0 => "at least 1 packet or byte".into(),
            _ => format!("at least {least} packets or bytes"),
        };
    }
    each_number(&(param.range)().replace(" | ", ", "), short)
}

/// `text` with each of its numbers as `say` has it.
fn each_number(text: &str, say: impl Fn(&str) -> String) -> String {
    let mut said = String::new();
    let mut rest = text;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let is_part = |c: char| c.is_ascii_digit() || c == '.';
        let number = rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())].trim_end_matches('.');
        if first.is_ascii_digit() && !before.is_alphanumeric() && before != '_' {
            said += &say(number);
            before = '0';
            rest = &rest[number.len()..];
        } else {
            said.push(first);
            before = first;
            rest = &rest[first.len_utf8()..];
        }
    }
    said
}

/// A number with a point, rounded to three significant digits.
fn three_digits(number: &str, (whole, part): (&str, &str)) -> String {
    let zeros = part.len() - part.trim_start_matches('0').len();
    let decimals = if whole == "0" { zeros + 3 } else { 3usize.saturating_sub(whole.len()) };
    let Ok(value) = number.parse::<f64>() else { return number.into() };
    if part.len() <= decimals {
        return number.into();
    }
    let rounded = format!("{value:.decimals$}");
    if !rounded.contains('.') {
        return rounded;
    }
    rounded.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// A bound: a power of ten as such, other large numbers in groups of three digits.
fn short(number: &str) -> String {
    let zeros = number.len() - number.trim_end_matches('0').len();
    if number.len() > 5 && number.starts_with('1') && zeros + 1 == number.len() {
        return format!("10^{zeros}");
    }
    let part = number.strip_prefix("0.").unwrap_or_default();
    if part.len() > 3 && part.trim_start_matches('0') == "1" {
        return format!("10^-{}", part.len());
    }
    if number.len() < 5 || number.contains('.') {
        return number.into();
    }
    let digits = number.chars().enumerate();
    digits.fold(String::new(), |mut grouped, (i, digit)| {
        if i > 0 && (number.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
        grouped
    })
}
