//! Two results beside each other.
use comfy_table::Cell;

use super::look::fit;
use super::{Look, align, header, new, text, wrapped};
use crate::diff::{Diff, DiffRow, Likeness, MetricName};
use crate::{Figure, human};

/// The most rows that are shown where not all are asked for.
const SHOWN: usize = 100;

/// Which figures are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Those that differ, [`SHOWN`] at most.
    Different,
    /// All.
    All,
}

/// The figures of `diff` that differ first, and how many do; the results are called A and B. Ends
/// with a line feed.
pub fn diff(diff: &Diff, shown: Shown, look: &Look) -> String {
    let mut rows: Vec<&DiffRow> = diff.rows.iter().collect();
    if shown == Shown::Different {
        let told = |row: &&DiffRow| row.verdict <= Likeness::Differs;
        let any = diff.tested() > 0;
        rows.retain(|row| told(row) || (!any && row.verdict == Likeness::Unknown));
    }
    let listed = if shown == Shown::All { rows.len() } else { rows.len().min(SHOWN) };
    let mut out = wrapped(&summary(diff), look);
    if listed > 0 {
        out += &format!("\n{}\n", table(diff, &rows[..listed], look));
    }
    if listed < rows.len() {
        let more = human::count((rows.len() - listed) as u64);
        out += &format!("and {more} more; --all shows every figure\n");
    }
    if rows.iter().any(|row| row.verdict <= Likeness::Differs) {
        let legend = "** differs also by Holm's correction for so many figures; * differs, as \
                      about one of twenty does by chance. Figures hang together: chance makes many \
                      of them differ at once, or none.";
        out += &wrapped(&format!("\n{legend}"), look);
    }
    out
}

/// How many figures differ, and what that says.
fn summary(diff: &Diff) -> String {
    let count = |n: usize| human::count(n as u64);
    let figures = |n: usize| format!("{} figure{}", count(n), if n == 1 { "" } else { "s" });
    let (certain, all) = (diff.count(Likeness::Certain), diff.rows.len());
    let differ = certain + diff.count(Likeness::Differs);
    let verb = |n: usize, one: &'static str, more: &'static str| if n == 1 { one } else { more };
    let mut said = vec![format!(
        "{} of {} {}.",
        count(differ),
        figures(all),
        verb(differ, "differs", "differ")
    )];
    let tested = diff.tested();
    if tested > 0 {
        let chance = (tested as f64 * 0.05).round().max(1.0) as usize;
        said.push(format!(
            "About {} would by chance alone, of {} with an interval; {} {} by Holm's correction.",
            count(chance),
            count(tested),
            count(certain),
            verb(certain, "stays", "stay")
        ));
    }
    let same = diff.count(Likeness::Same);
    if same > 0 {
        said.push(format!(
            "{} {} the same to the last digit.",
            figures(same),
            verb(same, "is", "are")
        ));
    }
    let unknown = diff.count(Likeness::Unknown);
    if unknown > 0 {
        let have = verb(unknown, "has", "have");
        said.push(format!("{} {have} no interval: one seed, or rare events.", figures(unknown)));
    }
    for (alone, name) in diff.alone.into_iter().zip(["A", "B"]) {
        if alone > 0 {
            let place = verb(alone, "row stands", "rows stand");
            said.push(format!("{} {place} in {name} alone.", count(alone)));
        }
    }
    if diff.one_sided > 0 {
        let is = verb(diff.one_sided, "is", "are");
        said.push(format!("{} {is} known in one result alone.", figures(diff.one_sided)));
    }
    said.join(" ")
}

fn table(diff: &Diff, rows: &[&DiffRow], look: &Look) -> String {
    let varies = |at: usize| rows.iter().any(|row| row.place[at] != rows[0].place[at]);
    let keys: Vec<usize> = (0..diff.keys.len())
        .filter(|at| match diff.keys[*at].as_str() {
            "group" => true,
            "queue" => diff.queues.is_none(),
            _ => varies(*at),
        })
        .collect();
    let mut table = new(look);
    let mut head: Vec<&str> = keys.iter().map(|at| diff.keys[*at].as_str()).collect();
    head.extend(["metric", "A", "B", "B − A", ""]);
    header(&mut table, &head);
    for row in rows {
        let place = keys.iter().map(|at| match row.place[*at].as_str() {
            "" => text("(the link)"),
            value => text(&setting(value, &diff.units[*at])),
        });
        let mut cells: Vec<Cell> = place.collect();
        cells.push(text(&row.metric.name));
        let mark = match row.verdict {
            Likeness::Certain => "**",
            Likeness::Differs => "*",
            Likeness::Unknown => "?",
            Likeness::Alike => "",
            Likeness::Same => "=",
        };
        let difference = difference(row);
        cells.extend(
            [value(&row.metric, row.a), value(&row.metric, row.b), difference, mark.into()]
                .map(Cell::new),
        );
        table.add_row(cells);
    }
    align(&mut table, keys.len() + 1);
    fit(table, look, None)
}

/// What is varied, in a unit that is easily read, to the last digit.
fn setting(value: &str, unit: &str) -> String {
    const RATES: [(f64, &str); 4] =
        [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")];
    const TIMES: [(f64, &str); 3] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us")];
    const BYTES: [(f64, &str); 3] = [(1e6, "MB"), (1e3, "kB"), (1.0, "bytes")];
    let steps: &[(f64, &str)] = match unit {
        "bit/s" => &RATES,
        "s" => &TIMES,
        "bytes" | "B" => &BYTES,
        _ => &[],
    };
    let scaled = value.parse::<f64>().ok().and_then(|number| {
        let (factor, unit) = steps.iter().find(|(factor, _)| number.abs() >= *factor)?;
        // A quotient of decimals may miss one by its last digit.
        let rounded = (number / factor * 1e9).round() / 1e9;
        Some(format!("{rounded} {unit}"))
    });
    scaled.unwrap_or_else(|| format!("{value} {unit}").trim_end().into())
}

/// The second − the first with its interval, and its sign.
fn difference(row: &DiffRow) -> String {
    let bare = Figure::exact(row.b.mean() - row.a.mean());
    let figure = row.compared.map(|compared| compared.difference).or(bare);
    let sign = if figure.is_some_and(|f| f.mean() > 0.0) { "+" } else { "" };
    figure.map_or(human::NONE.into(), |figure| format!("{sign}{}", value(&row.metric, figure)))
}

/// A figure of `metric` in its unit.
fn value(metric: &MetricName, figure: Figure) -> String {
    let figure = Some(figure);
    match metric.unit.as_str() {
        "bit/s" => human::rate(figure),
        "ms" => human::millis(figure),
        "kbit/s" => human::kilobits(figure),
        "bytes" => human::bytes(figure),
        "" if metric.ratio => human::ratio(figure),
        "" => human::number(figure),
        unit => {
            let number = human::number(figure);
            match number.split_once(" ± ") {
                Some((mean, half)) => format!("{mean} {unit} ± {half}"),
                None => format!("{number} {unit}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_varied_keeps_its_digits() {
        for (value, unit, expected) in [
            ("20000000", "bit/s", "20 Mbit/s"),
            ("10010000", "bit/s", "10.01 Mbit/s"),
            ("0.03", "s", "30 ms"),
            ("0.0001", "s", "100 us"),
            ("0", "s", "0 s"),
            ("1500", "bytes", "1.5 kB"),
            ("40", "packets", "40 packets"),
            ("0.25", "", "0.25"),
            ("red", "", "red"),
        ] {
            assert_eq!(setting(value, unit), expected);
        }
    }
}
