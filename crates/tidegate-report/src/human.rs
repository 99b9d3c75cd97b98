//! Numbers as people read them: three digits, a unit, and the interval in the same unit.
//!
//! ```
//! use tidegate_report::{Figure, human};
//! assert_eq!(human::rate(Figure::new(4.213e6, Some(3.1e4))), "4.21 Mbit/s ± 0.03");
//! assert_eq!(human::ratio(Figure::exact(0.0312)), "3.12 %");
//! assert_eq!(human::rate(None), "–");
//! ```
use crate::figure::Figure;
use crate::parts::Counts;

/// What stands where a figure does not apply.
pub const NONE: &str = "–";

const RATES: [(f64, &str); 4] = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")];

/// A rate in bit/s.
pub fn rate(figure: Option<Figure>) -> String {
    write(figure, |mean| unit_of(mean, &RATES))
}

/// A rate in bit/s without its interval.
pub fn rate_mean(figure: Option<Figure>) -> String {
    rate(bare(figure))
}

/// A ratio as a percentage.
pub fn ratio(figure: Option<Figure>) -> String {
    write(figure, |_| (0.01, "%"))
}

/// A ratio as a percentage, without its interval and without decimals from 10 % on: for sentences.
pub fn percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    match percent {
        p if p >= 9.95 => format!("{p:.0} %"),
        p if p >= 0.05 || p == 0.0 => format!("{} %", trim(&format!("{p:.1}"))),
        _ => "less than 0.1 %".into(),
    }
}

/// A ratio of rare events as a percentage, `events` of so many packets over all replications. What
/// never happened is bounded by the rule of three: `none in 384 000, <0.0008 %`. What happened too
/// seldom for an interval has its count beside it.
///
/// ```
/// use tidegate_report::{Figure, human};
/// assert_eq!(human::rare(Figure::exact(0.0), Some((0, 384_000))), "none in 384 000, <0.0008 %");
/// assert_eq!(human::rare(Figure::exact(3e-5), Some((12, 384_000))), "0.003 % (12 in 384 000)");
/// let often = Figure::new(0.02, Some(0.001));
/// assert_eq!(human::rare(often, Some((7_680, 384_000))), "2.00 % ± 0.10");
/// ```
pub fn rare(figure: Option<Figure>, events: Option<(u64, u64)>) -> String {
    match (figure, events) {
        (Some(_), Some((0, of))) if of > 0 => {
            format!("none in {}, <{} %", count(of), bound(3.0 / of as f64))
        }
        (Some(f), Some((n, of))) if f.ci95().is_none() && n < SELDOM => {
            format!("{} % ({} in {})", bound(f.mean()), count(n), count(of))
        }
        _ => ratio(figure),
    }
}

/// A group's loss, its interval shown or hidden as `figure` has it; `half` is the interval that it
/// has in truth.
pub fn loss(figure: Option<Figure>, packets: Option<Counts>, half: Option<f64>) -> String {
    let events = packets.map(|p| (p.dropped, p.offered));
    // What has an interval is not rare, whether it is shown or not.
    if half.is_some() { ratio(figure) } else { rare(figure, events) }
}

/// So few events are counted beside their ratio.
const SELDOM: u64 = 30;

/// A small ratio in per cent with one digit, rounded up, so that a bound stays one; from 1 % on
/// with two.
fn bound(ratio: f64) -> String {
    let percent = ratio * 100.0;
    if percent >= 1.0 || percent <= 0.0 {
        return trim(&format!("{percent:.1}")).into();
    }
    let decimals = (-percent.log10().floor()) as usize;
    let step = 10f64.powi(decimals as i32);
    // A hair less, so that what has one digit keeps it in spite of its rounding.
    format!("{:.decimals$}", (percent * step * (1.0 - 1e-12)).ceil() / step)
}

/// A mean number of few things: `2`, `1.8`.
pub fn few(mean: f64) -> String {
    match format!("{mean:.1}") {
        text if text == "0.0" && mean > 0.0 => "<0.1".into(),
        text if text.ends_with(".0") => text.trim_end_matches(".0").into(),
        text => text,
    }
}

/// A time in milliseconds.
pub fn millis(figure: Option<Figure>) -> String {
    write(figure, |mean| if mean.abs() < 0.1 && mean != 0.0 { (1e-3, "us") } else { (1.0, "ms") })
}

/// A time in seconds.
pub fn time(figure: Option<Figure>) -> String {
    write(figure, |_| (1.0, "s"))
}

/// A rate in kbit/s.
pub fn kilobits(figure: Option<Figure>) -> String {
    write(figure, |_| (1.0, "kbit/s"))
}

/// An amount in bytes.
pub fn bytes(figure: Option<Figure>) -> String {
    write(figure, |mean| unit_of(mean, &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")]))
}

/// `figure` without its interval.
pub fn bare(figure: Option<Figure>) -> Option<Figure> {
    figure.and_then(|f| Figure::exact(f.mean()))
}

/// A pure number.
pub fn number(figure: Option<Figure>) -> String {
    write(figure, |_| (1.0, ""))
}

/// A count with its thousands apart: `3 456 789`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Seconds with three digits, without zeros behind the point: `50 s`, `6.09 s`.
pub fn seconds(seconds: f64) -> String {
    let text = format!("{seconds:.*}", decimals(seconds));
    format!("{} s", if text.contains('.') { trim(&text) } else { &text })
}

/// Text that is safe on a terminal: without control characters, which a label may carry and a
/// terminal would obey.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '·' } else { c }).collect()
}

fn unit_of(mean: f64, units: &[(f64, &'static str)]) -> (f64, &'static str) {
    // 999.6 kbit/s would be written as 1000 kbit/s: half a unit in the third digit goes to the next
    // one.
    let fits = |&&(factor, _): &&(f64, &str)| mean.abs() >= factor * 0.9995;
    *units.iter().find(fits).unwrap_or(&units[units.len() - 1])
}

fn write(figure: Option<Figure>, unit: impl Fn(f64) -> (f64, &'static str)) -> String {
    let Some(figure) = figure else { return NONE.into() };
    let (factor, unit) = unit(figure.mean());
    let mean = figure.mean() / factor;
    let decimals = decimals(mean);
    let space = if unit.is_empty() { "" } else { " " };
    let mut text = format!("{mean:.decimals$}{space}{unit}");
    if let Some(half) = figure.ci95() {
        text.push_str(&interval(half / factor, decimals));
    }
    text
}

/// Decimals for three digits in all, at most three.
fn decimals(value: f64) -> usize {
    match value.abs() {
        v if v == 0.0 || v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        _ => 3,
    }
}

/// The half-width with as many decimals as its mean; what rounds to zero is said to be less than
/// the last digit.
fn interval(half: f64, decimals: usize) -> String {
    let text = format!("{half:.decimals$}");
    let rounds_to_zero = text.chars().all(|c| c == '0' || c == '.');
    match rounds_to_zero && half > 0.0 {
        true if decimals == 0 => " ± <1".into(),
        true => format!(" ± <0.{}1", "0".repeat(decimals - 1)),
        false if rounds_to_zero => " ± 0".into(),
        false => format!(" ± {text}"),
    }
}

/// Without zeros behind the point.
fn trim(text: &str) -> &str {
    text.trim_end_matches('0').trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn three_digits_and_the_interval_in_the_same_unit() {
        assert_eq!(rate(Figure::new(42.84e6, Some(0.64e6))), "42.8 Mbit/s ± 0.6");
        assert_eq!(rate(Figure::new(999_600.0, None)), "1.00 Mbit/s");
        assert_eq!(rate(Figure::new(380_000.0, Some(5_700.0))), "380 kbit/s ± 6");
        assert_eq!(rate(Figure::new(380_000.0, Some(3.0))), "380 kbit/s ± <1");
        assert_eq!(rate(Figure::new(1.234e9, Some(1e3))), "1.23 Gbit/s ± <0.01");
        assert_eq!(rate(Figure::exact(0.0)), "0 bit/s");
        assert_eq!(rate(Figure::new(0.0, Some(0.0))), "0 bit/s ± 0");
    }

    #[test]
    fn ratios_times_and_numbers() {
        assert_eq!(ratio(Figure::new(0.9917, Some(0.002))), "99.2 % ± 0.2");
        assert_eq!(ratio(Figure::exact(1.0)), "100 %");
        assert_eq!(percent(0.973), "97 %");
        assert_eq!(percent(0.0308), "3.1 %");
        assert_eq!(percent(0.03), "3 %");
        assert_eq!(percent(0.0001), "less than 0.1 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(millis(Figure::exact(9.1)), "9.10 ms");
        assert_eq!(millis(Figure::exact(0.013)), "13.0 us");
        assert_eq!(number(Figure::new(0.8571, Some(0.01))), "0.857 ± 0.010");
        assert_eq!(count(3_456_789), "3 456 789");
        assert_eq!(count(12), "12");
        assert_eq!(seconds(6.090298339), "6.09 s");
        assert_eq!((seconds(50.0), seconds(100.0)), ("50 s".into(), "100 s".into()));
        assert_eq!(plain("a\x1b[31mb"), "a·[31mb");
    }

    /// What a text of a figure says: mean and half its interval, times its unit.
    fn read(text: &str) -> (f64, Option<f64>) {
        const UNITS: [(&str, f64); 12] = [
            ("Gbit/s", 1e9),
            ("Mbit/s", 1e6),
            ("kbit/s", 1e3),
            ("bit/s", 1.0),
            ("GB", 1e9),
            ("MB", 1e6),
            ("kB", 1e3),
            ("B", 1.0),
            ("us", 1e-3),
            ("ms", 1.0),
            ("%", 0.01),
            ("", 1.0),
        ];
        let (mean, half) = text.split_once(" ± ").map_or((text, None), |(m, h)| (m, Some(h)));
        let (number, unit) = mean.split_once(' ').unwrap_or((mean, ""));
        let factor = UNITS.iter().find(|(name, _)| *name == unit).expect(unit).1;
        let of = |text: &str| text.trim_start_matches('<').parse::<f64>().expect(text) * factor;
        (of(number), half.map(of))
    }

    /// How many digits stand in a text from its first one that is not 0.
    fn digits(text: &str) -> usize {
        let mean = text.split_once(" ± ").map_or(text, |(mean, _)| mean);
        let number = mean.split(' ').next().unwrap_or(mean);
        let digits = number.chars().filter(char::is_ascii_digit);
        digits.skip_while(|digit| *digit == '0').count()
    }

    proptest! {
        /// Three digits say a figure to half a per cent, its interval to half of the last digit.
        #[test]
        fn what_is_written_can_be_read_back(power in -0.5..11.9f64, part in 0.001..0.9f64) {
            let mean = 10f64.powf(power);
            let figure = Figure::new(mean, Some(part * mean));
            for write in [rate, bytes] {
                let text = write(figure);
                let (read_mean, half) = read(&text);
                prop_assert!((read_mean / mean - 1.0).abs() <= 0.005 + 1e-9, "{mean}: {text}");
                let off = (half.unwrap() - part * mean).abs();
                prop_assert!(off <= 0.011 * mean, "{figure:?}: {text}");
                prop_assert!(mean >= 999.5e9 || digits(&text) == 3 || mean < 1.0, "{mean}: {text}");
                prop_assert_eq!(read(&write(bare(figure))), (read_mean, None));
            }
        }

        #[test]
        fn times_and_ratios_can_be_read_back(power in -3.0..4.0f64) {
            let value = 10f64.powf(power);
            let figure = Figure::exact(value);
            let near = |text: String, digits: f64| (read(&text).0 / value - 1.0).abs() <= digits;
            prop_assert!(near(millis(figure), 0.005 + 1e-9), "{value}: {}", millis(figure));
            prop_assert!(value < 0.1 || near(number(figure), 0.006), "{value}: {}", number(figure));
            prop_assert!(!(0.01..=1.0).contains(&value) || near(ratio(figure), 0.006));
        }

        #[test]
        fn a_count_is_in_threes_and_loses_no_digit(n in any::<u64>()) {
            let text = count(n);
            prop_assert_eq!(text.replace(' ', "").parse::<u64>().unwrap(), n);
            let mut parts = text.split(' ');
            prop_assert!((1..4).contains(&parts.next().unwrap().len()));
            prop_assert!(parts.all(|part| part.len() == 3), "{text}");
        }

        /// The rule of three is a bound: what is written is never less than it, and near it.
        #[test]
        fn a_bound_is_never_rounded_down(offered in 4..u64::MAX) {
            let text = rare(Figure::exact(0.0), Some((0, offered)));
            let bound = text.split('<').nth(1).unwrap().trim_end_matches(" %");
            let (bound, true_one) = (bound.parse::<f64>().unwrap() / 100.0, 3.0 / offered as f64);
            // From 1 % on there are two digits, half a tenth of a per cent off at most.
            let least = if true_one < 0.01 { true_one * (1.0 - 1e-9) } else { true_one - 0.000_51 };
            prop_assert!(bound >= least, "{offered}: {text}");
            prop_assert!(bound <= 2.0 * true_one, "{offered}: {text}");
        }

        #[test]
        fn no_text_commands_a_terminal(text in any::<String>()) {
            let plain = plain(&text);
            prop_assert!(plain.chars().all(|c| !c.is_control()));
            prop_assert_eq!(plain.chars().count(), text.chars().count());
            let kept = plain.chars().zip(text.chars()).all(|(ours, c)| ours == c || c.is_control());
            prop_assert!(kept, "{plain:?} of {text:?}");
        }
    }

    #[test]
    fn what_happened_seldom_is_counted_where_it_has_no_interval() {
        let (seldom, often) = (Figure::exact(2.9e-5), Figure::exact(3.0e-5));
        assert_eq!(rare(seldom, Some((29, 1_000_000))), "0.003 % (29 in 1 000 000)");
        assert_eq!(rare(often, Some((30, 1_000_000))), "0.003 %", "thirty are not seldom");
        assert_eq!(rare(Figure::exact(0.25), Some((1, 4))), "25 % (1 in 4)");
        assert_eq!(rare(Figure::exact(0.0), Some((0, 0))), "0 % (0 in 0)");
        assert_eq!(rare(None, Some((0, 10))), NONE);
        assert_eq!(rare(Figure::exact(0.5), None), "50.0 %");
        // A loss that has an interval in truth is no rare one, though it is not shown.
        let counts = Some(Counts { offered: 100, dropped: 5, ..Counts::default() });
        assert_eq!(loss(Figure::exact(0.05), counts, Some(0.01)), "5.00 %");
        assert_eq!(loss(Figure::exact(0.05), counts, None), "5 % (5 in 100)");
        assert_eq!(loss(Figure::exact(0.05), None, None), "5.00 %");
    }

    #[test]
    fn few_things_and_none() {
        for (mean, text) in [(2.0, "2"), (1.84, "1.8"), (0.04, "<0.1"), (0.0, "0"), (19.96, "20")] {
            assert_eq!(few(mean), text);
        }
        for none in [rate, ratio, millis, time, kilobits, bytes, number, rate_mean] {
            assert_eq!(none(None), NONE);
        }
        assert_eq!(kilobits(Figure::new(38_000.0, Some(12.0))), "38000 kbit/s ± 12");
        assert_eq!(time(Figure::new(3.5, Some(0.25))), "3.50 s ± 0.25");
        assert_eq!(bytes(Figure::exact(1.5e6)), "1.50 MB");
        assert_eq!(rate(Figure::exact(-4e6)), "-4.00 Mbit/s", "a difference may be below zero");
        assert_eq!(millis(Figure::exact(0.0)), "0 ms", "nothing needs no smaller unit");
    }
}
