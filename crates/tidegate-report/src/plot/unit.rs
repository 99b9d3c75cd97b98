//! Units that people read, and what an axis is called.

/// A unit as drawn: how many of the column's make one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit {
    pub factor: f64,
    pub name: String,
}

impl Unit {
    /// For values of about this size in the column's `unit`.
    pub(super) fn of(unit: &str, size: f64) -> Unit {
        let steps: &[(f64, &str)] = match unit {
            "bit/s" => &[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")],
            "s" => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us")],
            "ms" => &[(1e3, "s"), (1.0, "ms"), (1e-3, "us")],
            "bytes" | "B" => &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes")],
            _ => &[],
        };
        let fits = |(factor, _): &&(f64, &str)| size >= *factor * 0.9995;
        match steps.iter().find(fits).or(steps.last()) {
            Some(&(factor, name)) if size > 0.0 => Unit { factor, name: name.into() },
            _ => Unit { factor: 1.0, name: unit.into() },
        }
    }

    /// Values of the column as they are written, their unit left out. They have as many digits as
    /// tell them apart, and places that are `within` so much of each other; four if that is enough.
    pub(super) fn plain(&self, values: &[f64], within: f64) -> Vec<String> {
        let values: Vec<f64> = values.iter().map(|value| value / self.factor).collect();
        let mut rising = values.clone();
        rising.sort_by(f64::total_cmp);
        let gaps = rising.windows(2).map(|two| two[1] - two[0]).filter(|gap| *gap > 0.0);
        let gap = gaps.fold(within / self.factor, f64::min);
        let near = |value: f64, text: &str| {
            let off = text.parse().map_or(0.0, |read: f64| (read - value).abs());
            off <= (1e-3 * gap).max(1e-12 * value.abs())
        };
        let texts = |digits| values.iter().map(|value| written(*value, digits)).collect();
        let told = |texts: &Vec<String>| values.iter().zip(texts).all(|(v, text)| near(*v, text));
        (DIGITS..MOST_DIGITS).map(texts).find(told).unwrap_or_else(|| texts(MOST_DIGITS))
    }
}

/// As many digits a number has alone.
const DIGITS: usize = 4;
/// As many it has where others are near it.
const MOST_DIGITS: usize = 15;

/// A number with four digits at most, in full from 0.0001 to 999 999.
pub(super) fn number(value: f64) -> String {
    written(value, DIGITS)
}

fn written(value: f64, most: usize) -> String {
    let rounded: f64 = format!("{value:.*e}", most - 1).parse().unwrap_or(value);
    let size = rounded.abs();
    if size == 0.0 {
        return "0".into();
    }
    if (1e-4..1e6).contains(&size) { format!("{rounded}") } else { format!("{rounded:e}") }
}

/// What a column is called in a picture: the unit that its name bears left out, and of a path what
/// every scenario has.
pub(super) fn title_of(column: &str) -> String {
    let path = ["network.", "run.", "group."].iter().find_map(|lead| column.strip_prefix(lead));
    let mut title = String::new();
    let mut comma = false;
    for word in path.unwrap_or(column).split(['_', '.']).filter(|word| !word.is_empty()) {
        if matches!(word, "bps" | "ms") && !title.is_empty() {
            comma = true;
            continue;
        }
        if !title.is_empty() {
            title.push_str(if std::mem::take(&mut comma) { ", " } else { " " });
        }
        title.push_str(word);
    }
    title
}

/// A title with its unit behind it.
pub(super) fn with_unit(title: &str, unit: &Unit) -> String {
    if unit.name.is_empty() { title.into() } else { format!("{title} ({})", unit.name) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn units_fit_the_size_of_values() {
        for (unit, size, factor, name) in [
            ("bit/s", 9.5e6, 1e6, "Mbit/s"),
            ("bit/s", 1e6, 1e6, "Mbit/s"),
            ("bit/s", 0.0, 1.0, "bit/s"),
            ("s", 0.1, 1e-3, "ms"),
            ("s", 2.0, 1.0, "s"),
            ("ms", 1500.0, 1e3, "s"),
            ("bytes", 64_000.0, 1e3, "kB"),
            ("packets", 1e7, 1.0, "packets"),
            ("", 0.5, 1.0, ""),
        ] {
            assert_eq!(Unit::of(unit, size), Unit { factor, name: name.into() }, "{unit} {size}");
        }
        assert_eq!(Unit::of("s", 0.1).plain(&[0.005], f64::INFINITY), ["5"]);
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.1 + 0.2, "0.3"),
            (-0.0, "0"),
            (1234.56, "1235"),
            (1e6, "1e6"),
            (2.5e-5, "2.5e-5"),
            (0.05, "0.05"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn titles_are_words() {
        for (column, title) in [
            ("network.delay", "delay"),
            ("group.tcp.count", "tcp count"),
            ("throughput_bps", "throughput"),
            ("delay_ms_p95", "delay, p95"),
            ("queue_delay_ms_mean", "queue delay, mean"),
            ("ms", "ms"),
            ("jain", "jain"),
        ] {
            assert_eq!(title_of(column), title);
        }
    }

    #[test]
    fn numbers_that_are_near_have_the_digits_that_tell_them_apart() {
        let bare = Unit { factor: 1.0, name: String::new() };
        for (values, texts) in [
            (&[12_345.0, 12_346.0][..], &["12345", "12346"][..]),
            (&[12_345.0, 45_678.0], &["12340", "45680"]),
            (&[0.999_91, 0.999_95, 1.0], &["0.99991", "0.99995", "1"]),
            (&[1_000_001.0, 1_000_002.0], &["1.000001e6", "1.000002e6"]),
            (&[1.0 / 3.0, 2.0 / 3.0], &["0.3333", "0.6667"]),
            (&[5.0, 5.0], &["5", "5"]),
            (&[0.1 + 0.2], &["0.3"]),
            (&[], &[]),
        ] {
            assert_eq!(bare.plain(values, f64::INFINITY), texts);
        }
        // A quotient that misses by its last digit has no more digits for that.
        let milli = Unit::of("s", 0.05);
        assert_eq!(milli.plain(&[0.01, 0.02, 0.07], 0.1), ["10", "20", "70"]);
        assert_eq!(bare.plain(&[12_345.0], 8.0), ["12345"], "its axis is as short as that");
    }

    proptest! {
        #[test]
        fn a_number_says_its_value_to_four_digits(power in -12.0..15.0f64, minus in any::<bool>()) {
            let value = if minus { -10f64.powf(power) } else { 10f64.powf(power) };
            let text = number(value);
            let read: f64 = text.parse().unwrap();
            prop_assert!((read / value - 1.0).abs() <= 5e-4 + 1e-12, "{value}: {text}");
            prop_assert!(text.len() <= 10, "{value}: {text}");
        }

        /// A value that a unit is chosen by has one to three digits before the point.
        #[test]
        fn the_unit_makes_a_value_easy_to_read(power in -5.9..11.9f64) {
            let size = 10f64.powf(power);
            for unit in ["bit/s", "s", "ms", "bytes"] {
                let Unit { factor, name } = Unit::of(unit, size);
                let least = Unit::of(unit, 1e-30).factor;
                let most = Unit::of(unit, 1e30).factor;
                prop_assert!(size / factor >= 0.9995 || factor == least, "{size} {unit}: {name}");
                prop_assert!(size / factor < 1000.0 || factor == most, "{size} {unit}: {name}");
            }
        }
    }
}
