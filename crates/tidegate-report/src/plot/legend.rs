//! Which series is which: rows of samples above the panels, where they cover nothing.
use super::Kind;
use super::canvas::{Anchor, Canvas, Rect, Words, fitted, width_of};
use super::style::{Look, Series, Stroke};

/// Width of a sample with the gap behind it, in the font's size.
const SAMPLE: f64 = 2.9;
/// Gap behind a name.
const GAP: f64 = 1.1;
/// Height of a row.
pub(super) const ROW: f64 = 1.45;

/// A legend in rows.
pub(super) struct Legend {
    rows: Vec<Vec<Entry>>,
}

struct Entry {
    x: f64,
    name: String,
    look: Look,
}

impl Legend {
    /// Of these series within a width in the font's size.
    pub(super) fn of(names: &[Series], width: f64) -> Legend {
        let mut rows: Vec<Vec<Entry>> = vec![];
        let mut x = f64::INFINITY;
        for Series { name, look } in names {
            let name = fitted(name, width - SAMPLE);
            let wide = SAMPLE + width_of(&name);
            if x + wide > width {
                rows.push(vec![]);
                x = 0.0;
            }
            if let Some(row) = rows.last_mut() {
                row.push(Entry { x, name, look: *look });
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
    pub(super) fn draw(&self, (left, top): (f64, f64), font: f64, kind: Kind, canvas: &mut Canvas) {
        for (number, row) in self.rows.iter().enumerate() {
            let y = top + (number as f64 + 0.5) * ROW * font;
            for entry in row {
                let x = left + entry.x * font;
                sample((x, y), font, kind, entry.look, canvas);
                let at = (x + SAMPLE * font, y + 0.35 * font);
                canvas.words(at, &entry.name, Words::at(Anchor::Start));
            }
        }
    }
}

/// Draws how a series looks, its left end at this place.
fn sample((x, y): (f64, f64), font: f64, kind: Kind, look: Look, canvas: &mut Canvas) {
    let (middle, end) = (x + 1.2 * font, x + 2.4 * font);
    let mark = |canvas: &mut Canvas| {
        canvas.marker(look.marker, (middle, y), 0.24 * font, look.colour);
    };
    match kind {
        Kind::Lines => {
            canvas.line(&[(x, y), (end, y)], look.line(1.0));
            mark(canvas);
        }
        Kind::Cdf => canvas.line(&[(x, y), (end, y)], look.line(1.0)),
        Kind::Box => {
            let height = 0.7 * font;
            let rect =
                Rect { x: middle - 0.6 * font, y: y - height / 2.0, width: 1.2 * font, height };
            canvas.rectangle(rect, "#fff", Some(look.edge(0.7)));
            let line = [(middle - 0.6 * font, y), (middle + 0.6 * font, y)];
            canvas.line(&line, Stroke::thin(look.colour, 1.4));
            canvas.marker(look.marker, (middle, y), 0.2 * font, look.colour);
        }
        Kind::Ellipses => {
            canvas.ellipse(
                (middle, y),
                (1.1 * font, 0.45 * font),
                0.0,
                look.colour,
                look.line(0.9),
            );
            mark(canvas);
        }
        Kind::Strip | Kind::Heat => mark(canvas),
    }
}
