//! What a kind makes of the rows of a panel: something with an extent that can be drawn.
use super::canvas::Canvas;
use super::cdf::Cdf;
use super::ellipses::Ellipses;
use super::extents::Extents;
use super::factor::Factor;
use super::frame::PanelFrame;
use super::heat::Heat;
use super::lines::LinesPanel;
use super::select::{Panel, Selection, conditions, numbers};
use super::spread::SpreadPanel;
use super::style::LegendSeries;
use super::{PlotKind, PlotRefused};
use crate::tidy::Column;

/// What a panel shows.
pub(super) enum Shape {
    Lines(LinesPanel),
    Heat(Heat),
    Cdf(Cdf),
    Spread(SpreadPanel),
    Ellipses(Ellipses),
}

/// The columns that a plot draws: settings where it needs them, else quantities.
pub(super) enum PanelColumns<'t> {
    /// A quantity over a setting.
    Over(Factor<'t>, &'t Column),
    /// A quantity over two settings.
    Grid(Factor<'t>, Factor<'t>, &'t Column),
    /// A quantity alone.
    Alone(&'t Column),
    /// Two quantities.
    Two(&'t Column, &'t Column),
}

impl<'t> PanelColumns<'t> {
    /// Of a plot.
    pub(super) fn of(selection: &Selection<'t>) -> Result<PanelColumns<'t>, PlotRefused> {
        let (plot, tidy) = (selection.plot, selection.tidy);
        let setting = |field| {
            let name = plot.named(field)?;
            if conditions(tidy).contains(&name) || tidy.column(name).is_none() {
                return selection.factor(field, name);
            }
            let why = format!(
                "is measured, and {} needs a setting here: one of {}",
                plot.kind.name(),
                conditions(tidy).join(", ")
            );
            Err(PlotRefused::new(field, name, why))
        };
        let measured = |field| numbers(tidy, field, plot.named(field)?);
        Ok(match plot.kind {
            PlotKind::Heat => PanelColumns::Grid(setting("x")?, setting("y")?, measured("z")?),
            PlotKind::Cdf => PanelColumns::Alone(measured("x")?),
            PlotKind::Ellipses => PanelColumns::Two(measured("x")?, measured("y")?),
            PlotKind::Lines | PlotKind::Box | PlotKind::Strip => {
                PanelColumns::Over(setting("x")?, measured("y")?)
            }
        })
    }
}

impl Shape {
    /// Of a panel.
    pub(super) fn of(selection: &Selection, columns: &PanelColumns, panel: &Panel) -> Shape {
        match columns {
            PanelColumns::Grid(x, y, z) => Shape::Heat(Heat::of(selection, panel, (x, y), z)),
            PanelColumns::Alone(x) => Shape::Cdf(Cdf::of(selection, panel, x)),
            PanelColumns::Two(x, y) => Shape::Ellipses(Ellipses::of(selection, panel, x, y)),
            PanelColumns::Over(x, y) if selection.plot.kind == PlotKind::Lines => {
                Shape::Lines(LinesPanel::of(selection, panel, x, y))
            }
            PanelColumns::Over(x, y) => Shape::Spread(SpreadPanel::of(selection, panel, x, y)),
        }
    }

    /// Takes its values into `extents`.
    pub(super) fn reach(&self, extents: &mut Extents) {
        match self {
            Shape::Lines(lines) => lines.reach(extents),
            Shape::Heat(heat) => heat.reach(extents),
            Shape::Cdf(cdf) => cdf.reach(extents),
            Shape::Spread(spread) => spread.reach(extents),
            Shape::Ellipses(ellipses) => ellipses.reach(extents),
        }
    }

    /// Draws it within `frame`.
    pub(super) fn draw(&self, frame: &PanelFrame, names: &[LegendSeries], canvas: &mut Canvas) {
        match self {
            Shape::Lines(lines) => lines.draw(frame, names, canvas),
            Shape::Heat(heat) => heat.draw(frame, canvas),
            Shape::Cdf(cdf) => cdf.draw(frame, names, canvas),
            Shape::Spread(spread) => spread.draw(frame, names, canvas),
            Shape::Ellipses(ellipses) => ellipses.draw(frame, names, canvas),
        }
    }
}
