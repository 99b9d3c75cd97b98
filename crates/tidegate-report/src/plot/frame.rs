//! A panel's frame: where values stand on the paper, grid and ticks.
use super::axis::{AxisTick, Numbers, PlotAxis};
use super::canvas::{Anchor, At, Canvas, Rect, TextStyle, fitted};
use super::style::Stroke;

/// A panel on the paper with its axes.
pub(super) struct PanelFrame<'a> {
    pub rect: Rect,
    pub x: &'a PlotAxis,
    pub y: &'a PlotAxis,
    /// The axis of shades.
    pub z: Option<&'a Numbers>,
    /// The font's size.
    pub font: f64,
}

/// Colour and width of what is not data.
const EDGE: Stroke<'static> = Stroke { colour: "#444", width: 0.5, dash: "" };
const GRID: Stroke<'static> = Stroke { colour: "#e4e4e4", width: 0.4, dash: "" };
/// Length of a tick.
const TICK: f64 = 2.0;

/// What stands beside a panel.
pub(super) struct PanelSides<'a> {
    /// Ticks below, if they have their texts there.
    pub below: Option<&'a [AxisTick]>,
    /// Ticks to the left, if they have their texts there.
    pub left: Option<&'a [AxisTick]>,
    /// Whether texts below are turned.
    pub turned: bool,
}

impl PanelFrame<'_> {
    /// Where the values are on the paper; what is far outside is moved to just outside.
    pub(super) fn at(&self, x: f64, y: f64) -> At {
        self.at_places(self.x.place(x), self.y.place(y))
    }

    /// Where places from 0 to 1 are on the paper.
    pub(super) fn at_places(&self, x: f64, y: f64) -> At {
        // Below all of a logarithmic axis lies what is not positive: it reaches down to the edge.
        let near = |place: f64| if place.is_finite() { place.clamp(-0.5, 1.5) } else { 0.0 };
        (self.rect.x + near(x) * self.rect.width, self.rect.bottom() - near(y) * self.rect.height)
    }

    /// Draws the grid behind the data.
    pub(super) fn grid(&self, across: &[AxisTick], upwards: &[AxisTick], canvas: &mut Canvas) {
        if let PlotAxis::Numbers(_) = self.x {
            for tick in across {
                let line = [self.at_places(tick.place, 0.0), self.at_places(tick.place, 1.0)];
                canvas.line(&line, GRID);
            }
        }
        if let PlotAxis::Numbers(_) = self.y {
            for tick in upwards {
                let line = [self.at_places(0.0, tick.place), self.at_places(1.0, tick.place)];
                canvas.line(&line, GRID);
            }
        }
    }

    /// Draws the edge with its ticks over the data.
    pub(super) fn edge(&self, beside: &PanelSides, canvas: &mut Canvas) {
        canvas.rectangle(self.rect, "none", Some(EDGE));
        let bottom = self.rect.bottom();
        for place in self.x.minor() {
            let (x, _) = self.at_places(place, 0.0);
            canvas.line(&[(x, bottom), (x, bottom + TICK / 2.0)], EDGE);
        }
        for place in self.y.minor() {
            let (_, y) = self.at_places(0.0, place);
            canvas.line(&[(self.rect.x, y), (self.rect.x - TICK / 2.0, y)], EDGE);
        }
        for tick in beside.below.unwrap_or_default() {
            let (x, _) = self.at_places(tick.place, 0.0);
            canvas.line(&[(x, bottom), (x, bottom + TICK)], EDGE);
            self.below(x, &tick.text, beside.turned, canvas);
        }
        for tick in beside.left.unwrap_or_default() {
            let (_, y) = self.at_places(0.0, tick.place);
            canvas.line(&[(self.rect.x, y), (self.rect.x - TICK, y)], EDGE);
            let at = (self.rect.x - TICK - 1.5, y + 0.35 * self.font);
            canvas.words(at, &tick.text, TextStyle::at(Anchor::End));
        }
    }

    fn below(&self, x: f64, text: &str, turned: bool, canvas: &mut Canvas) {
        let bottom = self.rect.bottom() + TICK;
        if turned {
            let at = (x + 0.3 * self.font, bottom + 0.8 * self.font);
            canvas.words(at, text, TextStyle { turn: -40.0, ..TextStyle::at(Anchor::End) });
        } else {
            canvas.words((x, bottom + self.font), text, TextStyle::at(Anchor::Middle));
        }
    }

    /// Writes what the panel is of above it.
    pub(super) fn head(&self, text: &str, canvas: &mut Canvas) {
        let text = fitted(text, self.rect.width / self.font + 1.0);
        let at = (self.rect.x + self.rect.width / 2.0, self.rect.y - 0.35 * self.font);
        canvas.words(at, &text, TextStyle::at(Anchor::Middle));
    }

    /// Writes what a row of panels is of to its right.
    pub(super) fn side(&self, text: &str, canvas: &mut Canvas) {
        let text = fitted(text, self.rect.height / self.font + 1.0);
        let at = (self.rect.right() + 0.4 * self.font, self.rect.y + self.rect.height / 2.0);
        canvas.words(at, &text, TextStyle { turn: 90.0, ..TextStyle::at(Anchor::Middle) });
    }
}
