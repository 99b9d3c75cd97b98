//! Means by two settings, as shades.
use super::Scale;
use super::axis::{PlotAxis, usable};
use super::canvas::{Anchor, Canvas, Rect, TextStyle, width_of};
use super::extents::Extents;
use super::factor::Factor;
use super::frame::PanelFrame;
use super::lines::pool_of;
use super::select::{Panel, Selection};
use super::style::{Stroke, shade};
use super::unit::number;
use crate::tidy::{Column, Values};

/// The cells of a panel: level of each setting, and the mean.
pub(super) struct Heat {
    cells: Vec<(usize, usize, f64)>,
    scale: Scale,
    /// How many levels go down rather than up, as texts do.
    downwards: Option<usize>,
}

/// Whether the levels of a vertical axis go down: texts, as one reads them.
pub(super) fn goes_down(y: &Factor) -> bool {
    matches!(y.column.values, Values::Text(_))
}

impl Heat {
    /// Of a panel's rows: `z` at each level of `x` and `y`.
    pub(super) fn of(
        selection: &Selection,
        panel: &Panel,
        (x, y): (&Factor, &Factor),
        z: &Column,
    ) -> Heat {
        let seeds = selection.by_seed(
            &panel.rows,
            |row| Some((x.level(row)?, y.level(row)?)),
            |row| Some([z.number(row).filter(|value| usable(*value))?]),
        );
        let pool = pool_of(z);
        let mean = |values: Vec<[f64; 1]>| pool.figure(values.iter().map(|[value]| Some(*value)));
        let cells =
            seeds.into_iter().filter_map(|((x, y), values)| Some((x, y, mean(values)?.mean())));
        Heat {
            cells: cells.collect(),
            scale: selection.plot.z_scale,
            downwards: goes_down(y).then_some(y.levels.len()),
        }
    }

    /// Takes its values into `extents`.
    pub(super) fn reach(&self, extents: &mut Extents) {
        for &(_, _, value) in &self.cells {
            if self.scale.holds(value) {
                extents.z.add(value);
                extents.drawn += 1;
            } else {
                extents.not_positive += 1;
            }
        }
    }

    /// Draws it within `frame`: a shade for each cell, and its number where that has room.
    pub(super) fn draw(&self, frame: &PanelFrame, canvas: &mut Canvas) {
        let (PlotAxis::Levels(columns), PlotAxis::Levels(rows)) = (frame.x, frame.y) else {
            return;
        };
        let Some(z) = frame.z else { return };
        let width = frame.rect.width / columns.len().max(1) as f64;
        let height = frame.rect.height / rows.len().max(1) as f64;
        let ends = z.ends().map(|end| end / z.unit().factor);
        let decimals = decimals_for(ends[0].abs().max(ends[1].abs()));
        let text = |value: f64| match decimals {
            Some(decimals) => format!("{:.decimals$}", value / z.unit().factor),
            None => number(value / z.unit().factor),
        };
        let widest = z.ends().map(|end| width_of(&text(end))).into_iter().fold(0.0, f64::max);
        let room = (widest + 0.4) * frame.font <= width && 1.3 * frame.font <= height;
        for &(x, y, value) in self.cells.iter().filter(|cell| self.scale.holds(cell.2)) {
            let row = self.downwards.map_or(y, |rows| rows - 1 - y);
            let (left, bottom) =
                (frame.rect.x + x as f64 * width, frame.rect.bottom() - row as f64 * height);
            let (colour, ink) = shade(z.place(value));
            let rect = Rect { x: left, y: bottom - height, width, height };
            canvas.rectangle(rect, &colour, Some(Stroke::thin("#fff", 0.4)));
            if room {
                let at = (left + width / 2.0, bottom - height / 2.0 + 0.35 * frame.font);
                let words = TextStyle { colour: ink, ..TextStyle::at(Anchor::Middle) };
                canvas.words(at, &text(value), words);
            }
        }
    }
}

/// Decimals that give the greatest value about three digits; none where it is written with an
/// exponent.
fn decimals_for(greatest: f64) -> Option<usize> {
    match greatest {
        g if !(1e-4..1e6).contains(&g) => None,
        g => Some((2.0 - g.log10().floor()).clamp(0.0, 6.0) as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three digits of the greatest value, whatever its size; beyond, exponents.
    #[test]
    fn cells_have_about_three_digits() {
        for (greatest, text) in
            [(0.5, "0.500"), (1.0, "1.00"), (44.4, "44.4"), (812.0, "812"), (65_000.0, "65000")]
        {
            let decimals = decimals_for(greatest).unwrap();
            assert_eq!(format!("{greatest:.decimals$}"), text);
        }
        assert_eq!(decimals_for(0.000_2), Some(6), "no more than six decimals");
        assert_eq!([0.0, 1e-5, 1e6, f64::NAN].map(decimals_for), [None; 4]);
    }

    #[test]
    fn texts_go_down_and_numbers_up() {
        let text = Column::new("queue", "", "", Values::Text(vec![Some("red".into())]));
        let number = Column::new("rate", "", "", Values::Number(vec![Some(1.0)]));
        let [text, number] = [&text, &number].map(|column| goes_down(&Factor::of(column, &[0])));
        assert!(text && !number);
    }
}
