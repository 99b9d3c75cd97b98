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

    /// A value of the column as it is written: at most four digits, its unit left out.
    pub(super) fn plain(&self, value: f64) -> String {
        number(value / self.factor)
    }
}

/// A number with four digits at most, in full from 0.0001 to 999 999.
pub(super) fn number(value: f64) -> String {
    let digits = format!("{value:.3e}");
    let rounded: f64 = digits.parse().unwrap_or(value);
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
        assert_eq!(Unit::of("s", 0.1).plain(0.005), "5");
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
}
