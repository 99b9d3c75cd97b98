//! Draws a plot: rows to shapes, shapes to axes, and all of it onto the paper.
use super::axis::{AxisTick, Extent, Numbers, PlotAxis};
use super::canvas::{Anchor, Canvas, Rect, TextStyle, fitted, width_of};
use super::extents::Extents;
use super::factor::Factor;
use super::frame::{PanelFrame, PanelSides};
use super::heat::goes_down;
use super::layout::{Layout, RoomNeeds, TICKS, legend_width};
use super::legend::Legend;
use super::select::{Panel, Selection};
use super::shape::{PanelColumns, Shape};
use super::style::{LegendSeries, Stroke, shade};
use super::unit::{Unit, title_of, with_unit};
use super::{Picture, Plot, PlotKind, PlotRefused, Scale};
use crate::tidy::{Column, Tidy, Values};

/// Draws `plot` from `table`. The same table yields the same bytes.
///
/// # Errors
/// A column or a value that is not in the table, nothing to draw, too little room: the field, its
/// value and why.
pub fn draw(plot: &Plot, table: &Tidy) -> Result<Picture, PlotRefused> {
    plot.check()?;
    let selection = Selection::of(plot, table)?;
    let columns = PanelColumns::of(&selection)?;
    let panels = selection.panels();
    let shapes: Vec<Shape> =
        panels.iter().map(|panel| Shape::of(&selection, &columns, panel)).collect();
    let mut extents = Extents::default();
    shapes.iter().for_each(|shape| shape.reach(&mut extents));
    if extents.drawn == 0 {
        return Err(nothing(plot, &extents));
    }
    let axes = Axes::of(plot, &columns, &extents);
    let sheet = Sheet::of(&selection, &axes)?;
    Ok(Picture { svg: sheet.draw(&panels, &shapes), notes: notes(&extents, panels.len(), plot) })
}

/// Why there is nothing to draw.
fn nothing(plot: &Plot, extents: &Extents) -> PlotRefused {
    let field = if plot.kind == PlotKind::Heat { "z" } else { "y" };
    let named = plot.columns().find(|(known, _)| *known == field);
    let (field, name) = named.or_else(|| plot.columns().next()).unwrap_or(("", ""));
    let why = if extents.not_positive > 0 {
        "no value is above 0, and a logarithmic axis has no place for others"
    } else {
        "the rows have no value of it"
    };
    PlotRefused::new(field, name, why)
}

/// What cannot be seen in the picture.
fn notes(extents: &Extents, panels: usize, plot: &Plot) -> Vec<String> {
    let mut notes = vec![];
    if extents.not_positive > 0 {
        let n = extents.not_positive;
        notes.push(format!("{n} values of 0 or less have no place on the logarithmic axis"));
    }
    if extents.single == extents.drawn && matches!(plot.kind, PlotKind::Lines | PlotKind::Ellipses)
    {
        let what = if plot.kind == PlotKind::Lines { "intervals" } else { "ellipses" };
        notes.push(format!("no {what}: of one seed there are none, and of rare events few"));
    }
    if plot.facets.is_empty() && panels > 1 {
        notes.push(format!("{panels} panels, one for each setting that is on no axis"));
    }
    notes
}

/// The axes that all panels have in common, and what they are called.
struct Axes {
    x: PlotAxis,
    y: PlotAxis,
    z: Option<Numbers>,
    labels: [String; 3],
}

impl Axes {
    fn of(plot: &Plot, columns: &PanelColumns, extents: &Extents) -> Axes {
        let measured = |column: &Column, extent: Extent, scale: Scale| {
            Numbers::new(extent, scale, Unit::of(&column.unit, extent.size(scale)), vec![])
        };
        let named = |told: &Option<String>, column: &Column, unit: &Unit| {
            told.clone().unwrap_or_else(|| with_unit(&title_of(&column.name), unit))
        };
        let name_of = |column: &Column, axis: &Numbers, told: &Option<String>| {
            named(told, column, axis.unit())
        };
        let levels = |factor: &Factor, told| named(told, factor.column, &factor.unit());
        match columns {
            PanelColumns::Alone(x) => {
                let across = measured(x, extents.x, plot.x_scale);
                let parts = plot.y_label.clone().unwrap_or_else(|| "part of values".into());
                let labels = [name_of(x, &across, &plot.x_label), parts, String::new()];
                let y = PlotAxis::Numbers(Numbers::between(0.0, 1.0));
                Axes { x: PlotAxis::Numbers(across), y, z: None, labels }
            }
            PanelColumns::Two(x, y) => {
                let across = measured(x, extents.x, plot.x_scale);
                let up = measured(y, extents.y, plot.y_scale);
                let labels = [
                    name_of(x, &across, &plot.x_label),
                    name_of(y, &up, &plot.y_label),
                    String::new(),
                ];
                Axes { x: PlotAxis::Numbers(across), y: PlotAxis::Numbers(up), z: None, labels }
            }
            PanelColumns::Over(x, y) => {
                let up = measured(y, extents.y, plot.y_scale);
                let labels =
                    [levels(x, &plot.x_label), name_of(y, &up, &plot.y_label), String::new()];
                let x = along(x, plot, extents);
                Axes { x, y: PlotAxis::Numbers(up), z: None, labels }
            }
            PanelColumns::Grid(x, y, z) => {
                let shades = measured(z, extents.z, plot.z_scale).tight(extents.z);
                let labels = [
                    levels(x, &plot.x_label),
                    levels(y, &plot.y_label),
                    name_of(z, &shades, &plot.z_label),
                ];
                let mut rows = y.names();
                if goes_down(y) {
                    rows.reverse();
                }
                let (x, y) = (PlotAxis::Levels(x.names()), PlotAxis::Levels(rows));
                Axes { x, y, z: Some(shades), labels }
            }
        }
    }
}

/// The axis of a setting: of numbers for lines, else of levels.
fn along(x: &Factor, plot: &Plot, extents: &Extents) -> PlotAxis {
    match (&x.column.values, plot.kind) {
        (Values::Text(_), _) | (_, PlotKind::Box | PlotKind::Strip) => PlotAxis::Levels(x.names()),
        _ => PlotAxis::Numbers(Numbers::new(extents.x, plot.x_scale, x.unit(), x.numbers())),
    }
}

/// The paper with what stands where.
struct Sheet<'a> {
    selection: &'a Selection<'a>,
    axes: &'a Axes,
    legend: Legend,
    layout: Layout,
    across: Vec<AxisTick>,
    upwards: Vec<AxisTick>,
    bar: Vec<AxisTick>,
    /// Whether texts below the axes are turned, for want of room.
    turned: bool,
}

/// A first guess of the width of texts beside an axis, in the font's size.
const GUESS: f64 = 3.0;

impl<'a> Sheet<'a> {
    fn of(selection: &'a Selection<'a>, axes: &'a Axes) -> Result<Sheet<'a>, PlotRefused> {
        let plot = selection.plot;
        let names = Self::series(selection);
        let legend = Legend::of(&names, legend_width(plot));
        let mut needs = RoomNeeds {
            facets: selection.facets.iter().map(|facet| facet.levels.len()).collect(),
            legend: legend.rows(),
            left: GUESS,
            below: 1.0,
            bar: axes.z.as_ref().map(|_| GUESS + 2.5),
            tall: match &axes.y {
                PlotAxis::Levels(rows) => 1.6 * rows.len() as f64,
                PlotAxis::Numbers(_) => 0.0,
            },
        };
        // How tall a panel is decides its ticks, and their texts how wide it is: once round is
        // enough, since only the width changes.
        let first = Layout::of(plot, &needs)?;
        let bar = axes
            .z
            .as_ref()
            .map(|z| PlotAxis::Numbers(z.clone()).upwards(first.grid.height / first.font));
        let bar = bar.unwrap_or_default();
        needs.left = widest(&axes.y.upwards(first.tall()));
        needs.bar = axes.z.as_ref().map(|_| widest(&bar) + 3.0);
        let second = Layout::of(plot, &needs)?;
        let across = axes.x.across(second.wide());
        let turned = matches!(axes.x, PlotAxis::Levels(_)) && !fit(&across, second.wide());
        if turned {
            needs.below = 0.65 * widest(&across) + 0.7;
        }
        let layout = Layout::of(plot, &needs)?;
        let upwards = axes.y.upwards(layout.tall());
        Ok(Sheet { selection, axes, legend, layout, across, upwards, bar, turned })
    }

    /// The series that a legend is needed for.
    fn series(selection: &Selection) -> Vec<LegendSeries> {
        let plot = selection.plot;
        let on_axis = |name: &str| plot.columns().any(|(_, column)| column == name);
        let colour = selection.colour.as_ref();
        let needed = colour.filter(|c| c.levels.len() > 1 && !on_axis(&c.column.name));
        let needed = needed.filter(|_| plot.kind != PlotKind::Heat);
        needed.map(|_| selection.names()).unwrap_or_default()
    }

    fn draw(&self, panels: &[Panel], shapes: &[Shape]) -> String {
        let plot = self.selection.plot;
        let mut canvas = Canvas::new(self.layout.size, &plot.font, plot.font_size_pt);
        let names = self.selection.names();
        for (number, (panel, shape)) in panels.iter().zip(shapes).enumerate() {
            let Some(&rect) = self.layout.panels.get(number) else { continue };
            let frame = PanelFrame {
                rect,
                x: &self.axes.x,
                y: &self.axes.y,
                z: self.axes.z.as_ref(),
                font: self.layout.font,
            };
            canvas.open("panel", &self.heads(panel).join(", "));
            frame.grid(&self.across, &self.upwards, &mut canvas);
            canvas.open_clipped(rect.grown(0.3 * self.layout.font));
            shape.draw(&frame, &names, &mut canvas);
            canvas.close();
            self.around(&frame, number, panel, &mut canvas);
            canvas.close();
        }
        self.labels(&mut canvas);
        canvas.finish()
    }

    /// Edge, ticks and heading of panel `number`.
    fn around(&self, frame: &PanelFrame, number: usize, panel: &Panel, canvas: &mut Canvas) {
        let columns = self.layout.columns;
        let lowest = number + columns >= self.layout.panels.len();
        let beside = PanelSides {
            below: lowest.then_some(&self.across),
            left: number.is_multiple_of(columns).then_some(&self.upwards),
            turned: self.turned,
        };
        frame.edge(&beside, canvas);
        let heads = self.heads(panel);
        let two = heads.len() == 2;
        if let Some(head) = heads.first().filter(|_| !two || number < columns) {
            frame.head(head, canvas);
        }
        if let Some(side) = heads.get(1).filter(|_| number % columns == columns - 1) {
            frame.side(side, canvas);
        }
    }

    /// What a panel is of, shortened if it must be.
    fn heads(&self, panel: &Panel) -> Vec<String> {
        let facets = self.selection.facets.iter().zip(&panel.of).enumerate();
        let head = |(number, (facet, &level)): (usize, (&Factor, &usize))| {
            let name = facet.full_names().swap_remove(level);
            if let Values::Text(_) = facet.column.values {
                return name;
            }
            let whole = format!("{} {name}", title_of(&facet.column.name));
            let room = if number == 0 { self.layout.wide() } else { self.layout.tall() };
            if width_of(&whole) <= room + 1.0 { whole } else { name }
        };
        facets.map(head).collect()
    }

    /// Title, legend, bar of shades, and what the axes are called.
    fn labels(&self, canvas: &mut Canvas) {
        let (plot, layout) = (self.selection.plot, &self.layout);
        let (font, grid, (width, height)) = (layout.font, layout.grid, layout.size);
        let middle = (grid.x + grid.width / 2.0, grid.y + grid.height / 2.0);
        let words = TextStyle::at(Anchor::Middle);
        if let Some(title) = &plot.title {
            let bold = TextStyle { bold: true, ..words };
            canvas.words((width / 2.0, layout.title), &fitted(title, width / font - 1.0), bold);
        }
        self.legend.draw(layout.legend, font, plot.kind, canvas);
        let [x, y, z] = &self.axes.labels;
        let below = height - 2.5 - 0.3 * font;
        canvas.words((middle.0, below), &fitted(x, width / font - 1.0), words);
        let (turned, room) = (TextStyle { turn: -90.0, ..words }, height / font - 1.0);
        canvas.words((2.5 + 0.9 * font, middle.1), &fitted(y, room), turned);
        if let Some(bar) = layout.bar {
            self.shades(bar, canvas);
            canvas.words((width - 2.5 - 0.3 * font, middle.1), &fitted(z, room), turned);
        }
    }

    /// The bar that tells what shades mean.
    fn shades(&self, bar: Rect, canvas: &mut Canvas) {
        const STEPS: usize = 48;
        for step in 0..STEPS {
            let (colour, _) = shade((step as f64 + 0.5) / STEPS as f64);
            let height = bar.height / STEPS as f64;
            let y = bar.bottom() - (step + 1) as f64 * height;
            // A hair more, so that nothing shines through between two.
            let part = Rect { x: bar.x, y, width: bar.width, height: height + 0.2 };
            canvas.rectangle(part, &colour, None);
        }
        canvas.rectangle(bar, "none", Some(Stroke::thin("#444", 0.5)));
        for tick in &self.bar {
            let y = bar.bottom() - tick.place * bar.height;
            canvas.line(&[(bar.right(), y), (bar.right() + 2.0, y)], Stroke::thin("#444", 0.5));
            let at = (bar.right() + TICKS, y + 0.35 * self.layout.font);
            canvas.words(at, &tick.text, TextStyle::at(Anchor::Start));
        }
    }
}

/// The widest text of some ticks.
fn widest(ticks: &[AxisTick]) -> f64 {
    ticks.iter().map(|tick| width_of(&tick.text)).fold(0.0, f64::max)
}

/// Whether texts below an axis of this length keep apart.
fn fit(ticks: &[AxisTick], length: f64) -> bool {
    let end = |tick: &AxisTick, side: f64| tick.place * length + side * width_of(&tick.text) / 2.0;
    ticks.windows(2).all(|two| end(&two[0], 1.0) + 0.5 <= end(&two[1], -1.0))
        && ticks.iter().all(|tick| end(tick, 1.0) <= length + 0.8 && end(tick, -1.0) >= -0.8)
}
