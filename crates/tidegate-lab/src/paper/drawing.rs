//! `[[figure]]`: what is drawn, read and checked; closed forms are worked out here, as are points
//! measured elsewhere.
use crate::reader::Table;

use super::book::Paper;
use super::drawn::{FigureKind, FigureSpec, KnownLine};
use super::quantity::Quantity;
use super::unit::PrintedUnit;
use crate::folder::{Description, filled};

/// The most points of a closed form.
const MOST_POINTS: u64 = 10_000;
/// The keys of a figure.
const KEYS: [&str; 14] = [
    "experiment",
    "id",
    "title",
    "kind",
    "x",
    "quantity",
    "unit",
    "setting",
    "reading",
    "line",
    "vary",
    "range",
    "file",
    "command",
];
/// The columns of a file of points.
const COLUMNS: &str = "line,x,y";

/// A figure's text with the place on its axis filled in.
fn at(text: &str, x: &str) -> String {
    text.replace("{x}", x)
}

impl FigureSpec {
    /// The quantity at a place of the axis, which its text may name as `{x}`.
    pub fn quantity_at(&self, x: f64) -> Quantity {
        at(&self.text, &x.to_string()).parse().unwrap_or_else(|_| self.quantity.clone())
    }

    /// What the vertical axis is called.
    pub fn y(&self) -> String {
        let text = at(&self.text, "x");
        let name = match self.kind {
            FigureKind::Known { .. } => {
                text.split('(').next().unwrap_or_default().replace('_', " ")
            }
            _ => text,
        };
        let unit = self.unit.to_string();
        if unit.is_empty() { name } else { format!("{name}, {unit}") }
    }
}

impl Description<'_, '_, '_> {
    pub(super) fn figure(&mut self, table: &Table<'_>, paper: &Paper) -> Option<FigureSpec> {
        self.reader.only(table, "a [[figure]]", &KEYS);
        let experiment = self.text(table, "experiment");
        if paper.experiment(&experiment).is_none() {
            self.unknown_experiment(table, &experiment, paper);
        }
        let unit: PrintedUnit = self.parsed(table, "unit")?;
        let text = self.text(table, "quantity");
        let kind = self.kind(table, &text, unit)?;
        if let FigureKind::Time { setting } | FigureKind::Flows { setting } = &kind
            && paper.run(&experiment, setting).is_none()
        {
            self.reader.refuse_key(table, "setting", "no run of the experiment is called that");
        }
        let first = at(&text, "1");
        let quantity: Quantity = match &kind {
            FigureKind::Known { .. } => Quantity::elsewhere(&text),
            _ => first
                .parse()
                .map_err(|why: String| self.reader.refuse_key(table, "quantity", why))
                .ok()?,
        };
        if !quantity.measured_in(unit) {
            let units = PrintedUnit::of(quantity.dimension()).join(" | ");
            self.reader.refuse_key(table, "unit", format!("`{quantity}` is measured in {units}"));
        }
        let id = self.figure_id(table, paper);
        let title = self.text(table, "title");
        let x = self.reader.text(table, "x").unwrap_or_default();
        let reading = self.reader.text(table, "reading").unwrap_or_default();
        Some(FigureSpec { experiment, id, title, kind, x, reading, unit, quantity, text })
    }

    fn kind(&mut self, table: &Table<'_>, text: &str, unit: PrintedUnit) -> Option<FigureKind> {
        let setting = self.reader.text(table, "setting").unwrap_or_default();
        match self.reader.text(table, "kind").as_deref() {
            None | Some("sweep") => Some(FigureKind::Sweep),
            Some("time") => Some(FigureKind::Time { setting }),
            Some("flows") => Some(FigureKind::Flows { setting }),
            Some("formula") => self.formula(table, text, unit),
            Some("measured") => self.measured(table),
            Some(_) => {
                self.reader.refuse_key(
                    table,
                    "kind",
                    "must be one of sweep | time | flows | formula | measured",
                );
                None
            }
        }
    }

    /// A figure's name, which no other figure of the paper has.
    fn figure_id(&mut self, table: &Table<'_>, paper: &Paper) -> String {
        let id = self.text(table, "id");
        if id.is_empty()
            || !id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
            || paper.figures.iter().any(|f| f.id == id)
        {
            self.reader.refuse_key(
                table,
                "id",
                "must be a name of its own, of letters, digits and -",
            );
        }
        id
    }

    /// A closed form over whole numbers `{x}`, a line for each entry of `vary`.
    fn formula(&mut self, table: &Table<'_>, text: &str, unit: PrintedUnit) -> Option<FigureKind> {
        let range: Option<Vec<u64>> =
            self.strings(table, "range").iter().map(|n| n.parse().ok()).collect();
        let (from, to, step) = match range.as_deref() {
            Some(&[from, to, step])
                if from < to && step > 0 && (to - from) / step < MOST_POINTS =>
            {
                (from, to, step as usize)
            }
            _ => {
                self.reader.refuse_key(
                    table,
                    "range",
                    "must be [FROM, TO, STEP], whole and rising",
                );
                return None;
            }
        };
        let (name, vary) = (self.text(table, "line"), self.vary(table));
        let mut lines = vec![];
        for i in 0..vary.first().map_or(1, |(_, values)| values.len()) {
            let text = filled(text, &vary, i);
            let point = |x: u64| {
                let quantity: Quantity = at(&text, &x.to_string()).parse()?;
                let value =
                    quantity.closed().ok_or_else(|| format!("`{quantity}` is no closed form"))?;
                if !quantity.measured_in(unit) {
                    return Err(format!(
                        "`{quantity}` is measured in {}",
                        PrintedUnit::of(quantity.dimension()).join(" | ")
                    ));
                }
                Ok((x as f64, value * unit.per_base(1.0, 1.0)))
            };
            let points: Result<Vec<(f64, f64)>, String> =
                (from..=to).step_by(step).map(point).collect();
            let points =
                points.map_err(|why| self.reader.refuse_key(table, "quantity", why)).ok()?;
            lines.push(KnownLine { name: filled(&name, &vary, i), points });
        }
        Some(FigureKind::Known { lines, command: None })
    }

    /// Points that no simulation gives, from a file of the folder, and the command that measures
    /// them again.
    fn measured(&mut self, table: &Table<'_>) -> Option<FigureKind> {
        let (file, command) = (self.text(table, "file"), self.text(table, "command"));
        let Some(lines) = self.folder.file(&file).and_then(lines) else {
            self.reader.refuse_key(
                table,
                "file",
                format!("must be a file of the folder, with the columns {COLUMNS}"),
            );
            return None;
        };
        Some(FigureKind::Known { lines, command: Some(command) })
    }
}

/// The lines of a file of points; none if it is none.
fn lines(text: &str) -> Option<Vec<KnownLine>> {
    let mut rows = text.lines();
    rows.next().filter(|head| *head == COLUMNS)?;
    let mut lines: Vec<KnownLine> = vec![];
    for row in rows.filter(|row| !row.is_empty()) {
        let number = |text: &str| text.parse().ok().filter(|n: &f64| n.is_finite());
        let (name, point) = row.split_once(',')?;
        let (x, y) = point.split_once(',')?;
        let point = (number(x)?, number(y)?);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(KnownLine { name: name.into(), points: vec![point] }),
        }
    }
    (!lines.is_empty()).then_some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_points_is_read_line_by_line() {
        let read = lines("line,x,y\na,1,2.5\nb,1,3\na,2,4\n").unwrap();
        let line = |name: &str, points: &[(f64, f64)]| KnownLine {
            name: name.into(),
            points: points.into(),
        };
        assert_eq!(read, [line("a", &[(1.0, 2.5), (2.0, 4.0)]), line("b", &[(1.0, 3.0)])]);
        for wrong in [
            "",
            "line,x,y\n",
            "name,x,y\na,1,2\n",
            "line,x,y\na,1\n",
            "line,x,y\na,1,inf\n",
            "line,x,y\na,b,2\n",
        ] {
            assert_eq!(lines(wrong), None, "{wrong}");
        }
    }
}
