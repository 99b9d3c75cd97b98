//! Means over seeds with their intervals, along a setting.
use super::axis::{PlotAxis, usable};
use super::canvas::{At, Canvas};
use super::extents::Extents;
use super::factor::Factor;
use super::frame::PanelFrame;
use super::select::{Panel, Selection};
use super::style::{LegendSeries, SeriesStyle, of_series};
use super::{PlotKind, Scale};
use crate::tidy::{Column, Values};
use crate::{Aggregate, Figure, Flow, Group, Metric, Pool};

/// The lines of a panel.
pub(super) struct LinesPanel {
    lines: Vec<PanelLine>,
    scales: (Scale, Scale),
}

struct PanelLine {
    series: usize,
    points: Vec<LinePoint>,
}

struct LinePoint {
    x: f64,
    figure: Figure,
}

/// From so many points on, intervals are a band and points have no markers.
const BAND: usize = 25;
/// Half the width of a whisker's end, of the font's size.
const CAP: f64 = 0.2;

/// How replications of a quantity are taken together: as its declaration has it.
pub(super) fn pool_of(column: &Column) -> Pool {
    let name = column.name.as_str();
    let (tables, name): (&[&[Metric]], &str) = match name.strip_prefix("link_") {
        Some(name) => (&[Aggregate::METRICS], name),
        None => (&[Group::METRICS, Flow::METRICS], name),
    };
    let mut all = tables.iter().copied().flatten();
    let found = all.find(|metric| metric.columns().any(|column| column == name));
    match found.map(|metric| metric.pool) {
        None | Some(Pool::Sum) => Pool::Mean,
        Some(pool) => pool,
    }
}

impl LinesPanel {
    /// Of a panel's rows: `y` along `x`.
    pub(super) fn of(selection: &Selection, panel: &Panel, x: &Factor, y: &Column) -> LinesPanel {
        let seeds = selection.by_seed(
            &panel.rows,
            |row| Some((selection.series(row), x.level(row)?)),
            |row| Some([y.number(row).filter(|value| usable(*value))?]),
        );
        let text = matches!(x.column.values, Values::Text(_));
        let place = |level: usize| match &x.levels[level] {
            super::factor::Level::Number(number) if !text => Some(*number),
            _ => text.then_some(level as f64),
        };
        let pool = pool_of(y);
        let mut lines: Vec<PanelLine> = vec![];
        for ((series, level), values) in seeds {
            let figure = pool.figure(values.iter().map(|[value]| Some(*value)));
            let (Some(x), Some(figure)) = (place(level), figure) else { continue };
            if lines.last().is_none_or(|line| line.series != series) {
                lines.push(PanelLine { series, points: vec![] });
            }
            if let Some(line) = lines.last_mut() {
                line.points.push(LinePoint { x, figure });
            }
        }
        debug_assert_eq!(selection.plot.kind, PlotKind::Lines);
        LinesPanel { lines, scales: (selection.plot.x_scale, selection.plot.y_scale) }
    }

    fn shown(&self, point: &LinePoint) -> bool {
        self.scales.0.holds(point.x) && self.scales.1.holds(point.figure.mean())
    }

    /// Takes its values into `extents`.
    pub(super) fn reach(&self, extents: &mut Extents) {
        for point in self.lines.iter().flat_map(|line| &line.points) {
            if !self.shown(point) {
                extents.not_positive += 1;
                continue;
            }
            extents.drawn += 1;
            extents.x.add(point.x);
            let (low, high) = ends(point);
            extents.y.add(point.figure.mean());
            extents.y.add(high);
            if self.scales.1.holds(low) {
                extents.y.add(low);
            }
            if point.figure.ci95().is_none() {
                extents.single += 1;
            }
        }
    }

    /// Draws it within `frame`.
    pub(super) fn draw(&self, frame: &PanelFrame, names: &[LegendSeries], canvas: &mut Canvas) {
        // The first stands in front, as it does in the legend.
        for line in self.lines.iter().rev() {
            let (name, look) = of_series(names, line.series);
            let points: Vec<&LinePoint> =
                line.points.iter().filter(|point| self.shown(point)).collect();
            let at: Vec<At> = points.iter().map(|p| frame.at(p.x, p.figure.mean())).collect();
            let band = points.len() >= BAND;
            canvas.open("series", name);
            self.intervals(&points, frame, look, canvas);
            if let PlotAxis::Numbers(_) = frame.x {
                canvas.line(&at, look.line(1.0));
            }
            for &at in at.iter().filter(|_| !band) {
                canvas.marker(look.marker, at, 0.24 * frame.font, look.colour);
            }
            canvas.close();
        }
    }

    fn intervals(
        &self,
        points: &[&LinePoint],
        frame: &PanelFrame,
        look: SeriesStyle,
        canvas: &mut Canvas,
    ) {
        let spans: Vec<(f64, (f64, f64))> = points
            .iter()
            .filter(|point| point.figure.ci95().is_some_and(|half| half > 0.0))
            .map(|point| (point.x, ends(point)))
            .collect();
        if points.len() >= BAND {
            let upper = spans.iter().map(|&(x, (_, high))| frame.at(x, high));
            let lower = spans.iter().rev().map(|&(x, (low, _))| frame.at(x, low));
            canvas.area(&upper.chain(lower).collect::<Vec<_>>(), look.colour, 0.18);
            return;
        }
        for (x, (low, high)) in spans {
            let cap = CAP * frame.font;
            let mut whisker = vec![[frame.at(x, low), frame.at(x, high)]];
            for end in [low, high].into_iter().filter(|end| self.scales.1.holds(*end)) {
                let (x, y) = frame.at(x, end);
                whisker.push([(x - cap, y), (x + cap, y)]);
            }
            canvas.lines(&whisker, look.edge(0.7));
        }
    }
}

/// The ends of a point's interval.
fn ends(point: &LinePoint) -> (f64, f64) {
    let half = point.figure.ci95().unwrap_or(0.0);
    (point.figure.mean() - half, point.figure.mean() + half)
}
