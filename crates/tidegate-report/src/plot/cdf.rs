//! The part of values at or below each.
use super::Scale;
use super::axis::usable;
use super::canvas::{At, Canvas};
use super::extents::Extents;
use super::frame::PanelFrame;
use super::select::{Panel, Selection};
use super::style::{LegendSeries, of_series};
use crate::tidy::Column;

/// The distributions of a panel.
pub(super) struct Cdf {
    /// Series with their values, rising.
    series: Vec<(usize, Vec<f64>)>,
    scale: Scale,
}

/// The most steps of a line: more are finer than it is wide.
const STEPS: usize = 200;

impl Cdf {
    /// Of all rows of a panel.
    pub(super) fn of(selection: &Selection, panel: &Panel, x: &Column) -> Cdf {
        let mut series: std::collections::BTreeMap<usize, Vec<f64>> = Default::default();
        for &row in &panel.rows {
            if let Some(value) = x.number(row).filter(|value| usable(*value)) {
                series.entry(selection.series(row)).or_default().push(value);
            }
        }
        series.values_mut().for_each(|values| values.sort_by(f64::total_cmp));
        Cdf { series: series.into_iter().collect(), scale: selection.plot.x_scale }
    }

    /// Takes its values into `extents`.
    pub(super) fn reach(&self, extents: &mut Extents) {
        for &value in self.series.iter().flat_map(|(_, values)| values) {
            if self.scale.holds(value) {
                extents.x.add(value);
                extents.drawn += 1;
            } else {
                extents.not_positive += 1;
            }
        }
    }

    /// Draws it within `frame`.
    pub(super) fn draw(&self, frame: &PanelFrame, names: &[LegendSeries], canvas: &mut Canvas) {
        for (series, values) in self.series.iter().rev() {
            let (name, look) = of_series(names, *series);
            canvas.open("series", name);
            canvas.line(&self.steps(values, frame), look.line(1.0));
            canvas.close();
        }
    }

    /// The line: up at each value, to the part of values that it ends.
    fn steps(&self, values: &[f64], frame: &PanelFrame) -> Vec<At> {
        let all = values.len();
        let first = values.iter().position(|value| self.scale.holds(*value)).unwrap_or(all);
        let mut line: Vec<At> = vec![];
        // What a logarithmic axis has no place for lies to its left.
        let mut below = first as f64 / all.max(1) as f64;
        if first > 0 && first < all {
            let (_, height) = frame.at(values[first], below);
            line.push((frame.rect.x, height));
        }
        let steps = (all - first).min(STEPS);
        for step in 1..=steps {
            let end = first + (all - first) * step / steps;
            let value = values[end - 1];
            line.push(frame.at(value, below));
            below = end as f64 / all as f64;
            line.push(frame.at(value, below));
        }
        line
    }
}
