//! Plots of a [tidy table](crate::tidy), as SVG of a stated size and font.
//!
//! A [`Plot`] says what is drawn; [`draw`] draws it. Settings that a plot does not name get panels
//! of their own, so that values of different settings are never taken together unawares.
//!
//! ```
//! use tidegate_report::plot::{Plot, PlotKind, draw};
//! use tidegate_report::tidy::{Column, Tidy, Values};
//! let numbers = |name: &str, unit: &str, values: &[f64]| {
//!     Column::new(name, unit, "", Values::Number(values.iter().copied().map(Some).collect()))
//! };
//! let table = Tidy { columns: vec![
//!     numbers("network.delay", "s", &[0.01, 0.01, 0.02, 0.02]),
//!     numbers("seed", "", &[1.0, 2.0, 1.0, 2.0]),
//!     numbers("throughput_bps", "bit/s", &[4e6, 5e6, 3e6, 4e6]),
//! ] };
//! let plot = Plot {
//!     x: Some("network.delay".into()),
//!     y: Some("throughput_bps".into()),
//!     ..Plot::new("rate", PlotKind::Lines)
//! };
//! let picture = draw(&plot, &table)?;
//! assert!(picture.svg.contains("throughput (Mbit/s)") && picture.svg.contains("delay (ms)"));
//! # Ok::<(), tidegate_report::plot::PlotRefused>(())
//! ```
mod axis;
mod canvas;
mod cdf;
mod ellipses;
mod extents;
mod factor;
mod frame;
mod heat;
mod layout;
mod legend;
mod lines;
mod picture;
mod select;
mod shape;
mod spread;
mod style;
mod unit;

use std::fmt;

pub use picture::draw;

/// What a plot shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Its name, and that of its files.
    pub name: String,
    /// Its kind.
    pub kind: PlotKind,
    /// Which table it is drawn from.
    pub rows: Rows,
    /// The column along the horizontal axis.
    pub x: Option<String>,
    /// The column along the vertical axis.
    pub y: Option<String>,
    /// The column that a heat map shades.
    pub z: Option<String>,
    /// The column that series are by; `queue` unless told.
    pub colour: Option<String>,
    /// The columns that panels are by: of two the first goes across, the second down.
    pub facets: Vec<String>,
    /// Columns over whose values the mean is taken, seed by seed.
    pub pooled: Vec<String>,
    /// Which rows are drawn.
    pub filters: Vec<Filter>,
    /// The scale of the horizontal axis.
    pub x_scale: Scale,
    /// The scale of the vertical axis.
    pub y_scale: Scale,
    /// The scale of a heat map's shades.
    pub z_scale: Scale,
    /// What stands above it.
    pub title: Option<String>,
    /// What stands below the horizontal axis, in place of the column's name and unit.
    pub x_label: Option<String>,
    /// What stands beside the vertical axis.
    pub y_label: Option<String>,
    /// What stands beside a heat map's shades.
    pub z_label: Option<String>,
    /// Its width, in mm.
    pub width_mm: f64,
    /// Its height, in mm; fit for its panels unless told.
    pub height_mm: Option<f64>,
    /// The family of its font.
    pub font: String,
    /// The size of its font, in points.
    pub font_size_pt: f64,
    /// The files that are wanted of it.
    pub formats: Vec<Format>,
}

/// A kind of plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotKind {
    /// Means over seeds with their intervals.
    Lines,
    /// Means by two settings, as shades.
    Heat,
    /// The part of values at or below each.
    Cdf,
    /// Median, quartiles and whiskers over seeds.
    Box,
    /// Each seed as a point.
    Strip,
    /// One standard deviation of two quantities over seeds.
    Ellipses,
}

/// How an axis grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// By equal steps.
    #[default]
    Linear,
    /// By equal factors.
    Log,
}

/// A table of a study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    /// A row for each group.
    #[default]
    Groups,
    /// A row for each flow.
    Flows,
}

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text in text, as browsers and editors take it.
    Svg,
    /// As LaTeX takes it.
    Pdf,
    /// Pixels.
    Png,
}

/// Which rows are drawn: those that have one of these values.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// The column.
    pub column: String,
    /// The values.
    pub values: Vec<Wanted>,
}

/// A value that rows are chosen by.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// A text.
    Text(String),
    /// A number, in the column's unit.
    Number(f64),
}

/// A drawn plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The SVG document.
    pub svg: String,
    /// What a reader of the picture cannot see in it, a sentence each.
    pub notes: Vec<String>,
}

/// Why a plot cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlotRefused {
    /// The plot's field; empty for the plot as a whole.
    pub field: String,
    /// What the field says.
    pub value: String,
    /// What is wrong with it.
    pub why: String,
}

/// The bounds of a plot's width and height, in mm.
pub const SIZES_MM: (f64, f64) = (20.0, 1000.0);
/// The bounds of a font's size, in points.
pub const FONT_SIZES_PT: (f64, f64) = (3.0, 36.0);

impl Plot {
    /// A plot of one column's width, 88 mm, with all rows and nothing on its axes yet.
    pub fn new(name: impl Into<String>, kind: PlotKind) -> Plot {
        Plot {
            name: name.into(),
            kind,
            rows: Rows::Groups,
            x: None,
            y: None,
            z: None,
            colour: None,
            facets: vec![],
            pooled: vec![],
            filters: vec![],
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            z_scale: Scale::Linear,
            title: None,
            x_label: None,
            y_label: None,
            z_label: None,
            width_mm: 88.0,
            height_mm: None,
            font: "sans-serif".into(),
            font_size_pt: 7.0,
            formats: vec![Format::Svg],
        }
    }

    /// The columns that its axes and shades need, with the field that names each. A kind's own
    /// choice stands for what was not told.
    pub fn columns(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let of = |field, told: &Option<String>, own: Option<&'static str>| match told {
            Some(_) => Some(field),
            None => own.map(|_| field),
        };
        let own = self.kind.own_columns();
        let fields = [of("x", &self.x, own[0]), of("y", &self.y, own[1]), of("z", &self.z, None)];
        fields.into_iter().flatten().map(move |field| {
            let (told, own) = match field {
                "x" => (&self.x, own[0]),
                "y" => (&self.y, own[1]),
                _ => (&self.z, None),
            };
            (field, told.as_deref().or(own).unwrap_or_default())
        })
    }

    /// The column of a field.
    fn named(&self, field: &'static str) -> Result<&str, PlotRefused> {
        let found = self.columns().find(|(known, _)| *known == field);
        found.map(|(_, column)| column).ok_or_else(|| {
            let why = format!("{} needs a column here", self.kind.name());
            PlotRefused::new(field, "", why)
        })
    }

    /// Checks what does not depend on a table.
    fn check(&self) -> Result<(), PlotRefused> {
        for field in self.kind.needs() {
            self.named(field)?;
        }
        for (field, _) in self.columns() {
            if !self.kind.needs().contains(&field) {
                let why = format!("{} has no such axis", self.kind.name());
                return Err(PlotRefused::new(field, "", why));
            }
        }
        let within = |field, size: f64, (least, most): (f64, f64), unit| {
            if (least..=most).contains(&size) {
                return Ok(());
            }
            let why = format!("must be {least} to {most} {unit}");
            Err(PlotRefused::new(field, &format!("{size} {unit}"), why))
        };
        within("width", self.width_mm, SIZES_MM, "mm")?;
        within("height", self.height_mm.unwrap_or(SIZES_MM.0), SIZES_MM, "mm")?;
        within("font_size", self.font_size_pt, FONT_SIZES_PT, "pt")?;
        if self.facets.len() > 2 {
            let why = "at most two columns make panels: one across, one down";
            return Err(PlotRefused::new("facet", &self.facets.join(", "), why));
        }
        Ok(())
    }
}

impl PlotKind {
    /// All kinds.
    pub const ALL: [PlotKind; 6] = [
        PlotKind::Lines,
        PlotKind::Heat,
        PlotKind::Cdf,
        PlotKind::Box,
        PlotKind::Strip,
        PlotKind::Ellipses,
    ];

    /// Its name, as in a study.
    pub fn name(self) -> &'static str {
        match self {
            PlotKind::Lines => "lines",
            PlotKind::Heat => "heat",
            PlotKind::Cdf => "cdf",
            PlotKind::Box => "box",
            PlotKind::Strip => "strip",
            PlotKind::Ellipses => "ellipses",
        }
    }

    /// The fields that must name a column, or do so by themselves.
    pub fn needs(self) -> &'static [&'static str] {
        match self {
            PlotKind::Heat => &["x", "y", "z"],
            PlotKind::Cdf => &["x"],
            _ => &["x", "y"],
        }
    }

    /// The columns of `x` and `y` unless told.
    pub fn own_columns(self) -> [Option<&'static str>; 2] {
        match self {
            PlotKind::Box | PlotKind::Strip => [Some("queue"), None],
            PlotKind::Ellipses => [Some("delay_ms_mean"), Some("throughput_bps")],
            _ => [None, None],
        }
    }

    /// The fields whose axes have a scale, as far as numbers are on them.
    pub fn scaled(self) -> &'static [&'static str] {
        match self {
            PlotKind::Heat => &["z_scale"],
            PlotKind::Cdf => &["x_scale"],
            PlotKind::Box | PlotKind::Strip => &["y_scale"],
            PlotKind::Lines | PlotKind::Ellipses => &["x_scale", "y_scale"],
        }
    }
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 3] = [Format::Svg, Format::Pdf, Format::Png];

    /// Its name, and the ending of its files.
    pub fn name(self) -> &'static str {
        match self {
            Format::Svg => "svg",
            Format::Pdf => "pdf",
            Format::Png => "png",
        }
    }
}

impl PlotRefused {
    fn new(field: &str, value: &str, why: impl Into<String>) -> PlotRefused {
        PlotRefused { field: field.into(), value: value.into(), why: why.into() }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::Text(text) => f.write_str(text),
            Wanted::Number(number) => write!(f, "{number}"),
        }
    }
}

impl fmt::Display for PlotRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.field.as_str(), self.value.as_str()) {
            ("", _) => f.write_str(&self.why),
            (field, "") => write!(f, "{field}: {}", self.why),
            (field, value) => write!(f, "{field} = {value}: {}", self.why),
        }
    }
}

impl std::error::Error for PlotRefused {}
