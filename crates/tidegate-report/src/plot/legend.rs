//! Which series is which: rows of samples above the panels, where they cover nothing.
use super::PlotKind;
use super::canvas::{Anchor, Canvas, Rect, TextStyle, fitted, width_of};
use super::style::{LegendSeries, SeriesStyle, Stroke};

/// Width of a sample with the gap behind it, in the font's size.
const SAMPLE: f64 = 2.9;
/// Gap behind a name.
const GAP: f64 = 1.1;
/// Height of a row.
pub(super) const ROW: f64 = 1.45;

/// A legend in rows.
pub(super) struct Legend {
    rows: Vec<Vec<LegendEntry>>,
}

struct LegendEntry {
    x: f64,
    name: String,
    look: SeriesStyle,
}

impl Legend {
    /// Of these series within a width in the font's size.
    pub(super) fn of(names: &[LegendSeries], width: f64) -> Legend {
        let mut rows: Vec<Vec<LegendEntry>> = vec![];
        let mut x = f64::INFINITY;
        for LegendSeries { name, look } in names {
            let name = fitted(name, width - SAMPLE);
            let wide = SAMPLE + width_of(&name);
            if x + wide > width {
                rows.push(vec![]);
                x = 0.0;
            }
            if let Some(row) = rows.last_mut() {
                row.push(LegendEntry { x, name, look: *look });
            }
            x += wide + GAP;
        }
        Legend { rows }
    }

    /// How many rows it has.
    pub(super) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Draws it with its upper left corner at this place.
    pub(super) fn draw(
        &self,
        (left, top): (f64, f64),
        font: f64,
        kind: PlotKind,
        canvas: &mut Canvas,
    ) {
        for (number, row) in self.rows.iter().enumerate() {
            let y = top + (number as f64 + 0.5) * ROW * font;
            for entry in row {
                let x = left + entry.x * font;
                sample((x, y), font, kind, entry.look, canvas);
                let at = (x + SAMPLE * font, y + 0.35 * font);
                canvas.words(at, &entry.name, TextStyle::at(Anchor::Start));
            }
        }
    }
}

/// Draws how a series looks, its left end at this place.
fn sample((x, y): (f64, f64), font: f64, kind: PlotKind, look: SeriesStyle, canvas: &mut Canvas) {
    let (middle, end) = (x + 1.2 * font, x + 2.4 * font);
    let mark = |canvas: &mut Canvas| {
        canvas.marker(look.marker, (middle, y), 0.24 * font, look.colour);
    };
    match kind {
        PlotKind::Lines => {
            canvas.line(&[(x, y), (end, y)], look.line(1.0));
            mark(canvas);
        }
        PlotKind::Cdf => canvas.line(&[(x, y), (end, y)], look.line(1.0)),
        PlotKind::Box => {
            let height = 0.7 * font;
            let rect =
                Rect { x: middle - 0.6 * font, y: y - height / 2.0, width: 1.2 * font, height };
            canvas.rectangle(rect, "#fff", Some(look.edge(0.7)));
            let line = [(middle - 0.6 * font, y), (middle + 0.6 * font, y)];
            canvas.line(&line, Stroke::thin(look.colour, 1.4));
            canvas.marker(look.marker, (middle, y), 0.2 * font, look.colour);
        }
        PlotKind::Ellipses => {
            canvas.ellipse(
                (middle, y),
                (1.1 * font, 0.45 * font),
                0.0,
                look.colour,
                look.line(0.9),
            );
            mark(canvas);
        }
        PlotKind::Strip | PlotKind::Heat => mark(canvas),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Entries stand in their order, none over another, none beyond the edge.
        #[test]
        fn names_stand_beside_each_other_within_the_width(
            names in prop::collection::vec("[a-z]{1,30}", 0..20),
            width in 8.0..60.0f64,
        ) {
            let named = |(n, name): (usize, &String)| {
                LegendSeries { name: name.clone(), look: SeriesStyle::of(n) }
            };
            let series: Vec<LegendSeries> = names.iter().enumerate().map(named).collect();
            let legend = Legend::of(&series, width);
            let entries: Vec<&LegendEntry> = legend.rows.iter().flatten().collect();
            prop_assert_eq!(entries.len(), names.len());
            for (entry, (n, name)) in entries.iter().zip(names.iter().enumerate()) {
                let whole = entry.name == *name;
                let cut = entry.name.strip_suffix('…').is_some_and(|cut| name.starts_with(cut));
                prop_assert!(whole || cut, "{} is not {name}", entry.name);
                prop_assert_eq!(entry.look.colour, SeriesStyle::of(n).colour);
            }
            for row in &legend.rows {
                prop_assert!(!row.is_empty() && row[0].x == 0.0);
                let end = |entry: &LegendEntry| entry.x + SAMPLE + width_of(&entry.name);
                prop_assert!(row.iter().all(|entry| end(entry) <= width + 1e-9));
                prop_assert!(row.windows(2).all(|two| end(&two[0]) + GAP <= two[1].x + 1e-9));
            }
            prop_assert_eq!(legend.rows(), legend.rows.len());
        }
    }

    /// A sample of each kind has the series' colour, and none is wider than its room.
    #[test]
    fn every_kind_has_a_sample_of_its_series() {
        let series = [LegendSeries { name: "red".into(), look: SeriesStyle::of(1) }];
        for kind in PlotKind::ALL {
            let mut canvas = Canvas::new((100.0, 20.0), "sans", 10.0);
            Legend::of(&series, 40.0).draw((5.0, 2.0), 10.0, kind, &mut canvas);
            let svg = canvas.finish();
            assert!(
                svg.contains(SeriesStyle::of(1).colour) && svg.contains(">red</text>"),
                "{kind:?}"
            );
            assert!(svg.contains("<text x=\"34\""), "the name stands behind the sample: {svg}");
        }
    }
}
