//! Reading the plots of a study.
mod filter;

use tidegate_report::plot::{
    FONT_SIZES_PT, Format, Plot, PlotKind as Shape, Rows, SIZES_MM, Scale,
};
use tidegate_report::tidy::{Column, Tidy, Values};

use crate::nearest::did_you_mean;
use crate::reader::{Node, Reader, Table, TomlValue, cut, scalar};

/// The keys of a plot.
const KEYS: [&str; 23] = [
    "name",
    "kind",
    "rows",
    "x",
    "y",
    "z",
    "colour",
    "facet",
    "pool",
    "group",
    "where",
    "x_scale",
    "y_scale",
    "z_scale",
    "title",
    "x_label",
    "y_label",
    "z_label",
    "width",
    "height",
    "font",
    "font_size",
    "formats",
];
/// The columns that a plot takes from a table.
const AXES: [&str; 3] = ["x", "y", "z"];
/// Units of length, in mm.
const LENGTHS: [(&str, f64); 4] = [("mm", 1.0), ("cm", 10.0), ("in", 25.4), ("pt", 25.4 / 72.0)];
/// The most plots of a study.
const MOST: usize = 200;

/// What a study's tables have: plots are checked against it.
pub(super) struct KnownColumns<'k> {
    /// The columns of groups; rows are not looked at.
    pub groups: &'k Tidy,
    /// The columns of flows, where they are kept.
    pub flows: Option<&'k Tidy>,
    /// The values of a setting, as far as they are known before anything runs.
    pub levels: &'k dyn Fn(&str) -> Option<Values>,
}

impl Reader<'_> {
    /// The plots that `[[plot]]` tables describe.
    pub(super) fn plots_of(&mut self, study: &Table<'_>, known: &KnownColumns<'_>) -> Vec<Plot> {
        let Some(node) = study.get("plot") else { return vec![] };
        let mut plots: Vec<Plot> = vec![];
        let nodes = self.tables(node, "plot");
        if nodes.len() > MOST {
            self.problem(node.origin, "plot", "", format!("there are more than {MOST}"));
            return plots;
        }
        for node in nodes {
            let table = self.table(node, "plot.");
            self.only(&table, "a plot", &KEYS);
            let Some(plot) = self.plot(&table, known) else { continue };
            if plots.iter().any(|other| other.name == plot.name) {
                self.refuse_key(&table, "name", "another plot has this name");
            }
            plots.push(plot);
        }
        plots
    }

    fn plot(&mut self, table: &Table<'_>, known: &KnownColumns<'_>) -> Option<Plot> {
        if table.get("name").is_none() {
            self.missing(table, "name", "this key is required: the name of the plot's files");
        }
        let name = self.name(table, "name");
        let kinds = Shape::ALL.map(|kind| (kind.name(), kind));
        if table.get("kind").is_none() {
            let names = kinds.map(|kind| kind.0).join(", ");
            self.missing(table, "kind", &format!("this key is required: one of {names}"));
        }
        let mut plot = Plot::new(name, self.choice(table, "kind", &kinds)?);
        let rows = [("groups", Rows::Groups), ("flows", Rows::Flows)];
        plot.rows = self.choice(table, "rows", &rows).unwrap_or_default();
        let tidy = match (plot.rows, known.flows) {
            (Rows::Groups, _) => known.groups,
            (Rows::Flows, Some(flows)) => flows,
            (Rows::Flows, None) => {
                self.refuse_key(table, "rows", "flows are not kept; the study needs flows = true");
                return None;
            }
        };
        self.columns(table, &mut plot, tidy);
        self.filters(table, &mut plot, tidy, known);
        self.looks(table, &mut plot, tidy);
        Some(plot)
    }

    /// One of some words.
    fn choice<T: Copy>(&mut self, table: &Table<'_>, key: &str, of: &[(&str, T)]) -> Option<T> {
        let word = self.text(table, key)?;
        let found = of.iter().find(|(known, _)| *known == word);
        if found.is_none() {
            let words: Vec<&str> = of.iter().map(|(word, _)| *word).collect();
            let near = did_you_mean(&word, &words).unwrap_or_default();
            self.refuse_key(table, key, format!("must be one of {}{near}", words.join(", ")));
        }
        found.map(|(_, value)| *value)
    }

    /// What is drawn, and what tells its parts apart.
    fn columns(&mut self, table: &Table<'_>, plot: &mut Plot, tidy: &Tidy) {
        let needs = plot.kind.needs();
        let own = plot.kind.own_columns();
        for (place, key) in AXES.into_iter().enumerate() {
            let set_or_measured = settings_on(plot.kind, key);
            let told = table.get(key).map(|node| (node, self.text(table, key)));
            let usual = own.get(place).copied().flatten();
            let found = match told {
                Some(_) if !needs.contains(&key) => {
                    let why = format!("{} has no such axis", plot.kind.name());
                    self.refuse_key(table, key, why);
                    continue;
                }
                Some((node, Some(name))) => {
                    self.column(node, &table.field(key), &name, tidy, set_or_measured)
                }
                Some((_, None)) => continue,
                None if needs.contains(&key) && usual.is_none() => {
                    let why = format!("this key is required: {}", wanted(set_or_measured, tidy));
                    self.missing(table, key, &why);
                    continue;
                }
                None => continue,
            };
            match key {
                "x" => plot.x = found,
                "y" => plot.y = found,
                _ => plot.z = found,
            }
        }
        plot.colour = self.names_of(table, "colour", tidy).pop();
        plot.facets = self.names_of(table, "facet", tidy);
        plot.pooled = self.names_of(table, "pool", tidy);
        if plot.facets.len() > 2 {
            self.refuse_key(table, "facet", "at most two: one goes across, one down");
        }
        let several = |node: &Node| matches!(&node.kind, TomlValue::List(items) if items.len() > 1);
        if table.get("colour").is_some_and(several) {
            self.refuse_key(table, "colour", "must be one column");
        }
    }

    /// A setting, or several.
    fn names_of(&mut self, table: &Table<'_>, key: &str, tidy: &Tidy) -> Vec<String> {
        let Some(node) = table.get(key) else { return vec![] };
        let field = table.field(key);
        let nodes = match &node.kind {
            TomlValue::List(_) => self.list(node, &field),
            _ => std::slice::from_ref(node),
        };
        let mut found = vec![];
        for node in nodes {
            let (TomlValue::Text(name) | TomlValue::Bare(name)) = &node.kind else {
                let why = format!("must be a column's name in quotes, not {}", node.what());
                self.problem(node.origin, &field, &node.shown(), why);
                continue;
            };
            found.extend(self.column(node, &field, name, tidy, AxisSide::Set));
        }
        found
    }

    /// The column called `name`, if it is of this side.
    fn column(
        &mut self,
        node: &Node,
        field: &str,
        name: &str,
        tidy: &Tidy,
        side: AxisSide,
    ) -> Option<String> {
        let names = names(tidy, side);
        if names.contains(&name) {
            return Some(name.into());
        }
        let near = did_you_mean(name, &names).unwrap_or_default();
        let why = match (tidy.column(name), side) {
            (None, _) => format!("no such column; must be {}{near}", wanted(side, tidy)),
            (Some(_), AxisSide::Set) => {
                format!("is measured; must be {}", wanted(side, tidy))
            }
            (Some(_), AxisSide::Measured) => {
                format!("is a setting; must be {}", wanted(side, tidy))
            }
        };
        self.problem(node.origin, field, &cut(name, 60), why);
        None
    }

    /// Scales, labels, size and font.
    fn looks(&mut self, table: &Table<'_>, plot: &mut Plot, tidy: &Tidy) {
        for key in ["x_scale", "y_scale", "z_scale"] {
            let scales = [("linear", Scale::Linear), ("logarithmic", Scale::Log)];
            let Some(scale) = self.choice(table, key, &scales) else { continue };
            let axis = plot.columns().find(|(axis, _)| key.starts_with(axis));
            let texts = axis.and_then(|(_, name)| tidy.column(name)).is_some_and(is_text);
            if !plot.kind.scaled().contains(&key) || texts {
                let why = format!("{} has no axis of numbers here", plot.kind.name());
                self.refuse_key(table, key, why);
            }
            match key {
                "x_scale" => plot.x_scale = scale,
                "y_scale" => plot.y_scale = scale,
                _ => plot.z_scale = scale,
            }
        }
        plot.title = self.text(table, "title");
        plot.x_label = self.text(table, "x_label");
        plot.y_label = self.text(table, "y_label");
        plot.z_label = self.text(table, "z_label");
        if let Some(width) = self.length(table, "width", "mm", SIZES_MM) {
            plot.width_mm = width;
        }
        plot.height_mm = self.length(table, "height", "mm", SIZES_MM);
        if let Some(size) = self.length(table, "font_size", "pt", FONT_SIZES_PT) {
            plot.font_size_pt = size;
        }
        if let Some(font) = self.text(table, "font") {
            if font.trim().is_empty() {
                self.refuse_key(table, "font", "must be a font's name, as in \"Times New Roman\"");
            }
            plot.font = font;
        }
        self.formats(table, plot);
    }

    fn formats(&mut self, table: &Table<'_>, plot: &mut Plot) {
        let Some(node) = table.get("formats") else { return };
        let nodes = match &node.kind {
            TomlValue::List(_) => self.list(node, &table.field("formats")),
            _ => std::slice::from_ref(node),
        };
        let words = Format::ALL.map(Format::name);
        plot.formats.clear();
        for node in nodes {
            let word = scalar(node).unwrap_or_default();
            match Format::ALL.into_iter().find(|format| format.name() == word) {
                Some(format) if !plot.formats.contains(&format) => plot.formats.push(format),
                Some(_) => {}
                None => {
                    let near = did_you_mean(&word, &words).unwrap_or_default();
                    let why = format!("must be some of {}{near}", words.join(", "));
                    self.problem(node.origin, &table.field("formats"), &node.shown(), why);
                }
            }
        }
    }

    /// A length within bounds, in the unit that bounds have.
    fn length(
        &mut self,
        table: &Table<'_>,
        key: &str,
        unit: &str,
        (least, most): (f64, f64),
    ) -> Option<f64> {
        let text = self.text(table, key)?;
        let parts = text.trim().split_at(text.trim().find(char::is_alphabetic).unwrap_or(0));
        let factor = |unit: &str| LENGTHS.iter().find(|known| known.0 == unit).map(|known| known.1);
        let number: Option<f64> = parts.0.trim().parse().ok();
        let length = number.zip(factor(parts.1)).map(|(number, mm)| number * mm);
        let found = length.zip(factor(unit)).map(|(length, mm)| length / mm);
        match found.filter(|length| (least..=most).contains(length)) {
            Some(length) => Some(length),
            None => {
                let why = format!(
                    "must be a length in mm, cm, in or pt from {least} {unit} to {most} {unit}, as \
                     in \"{} {unit}\"",
                    if unit == "pt" { 8 } else { 88 }
                );
                self.refuse_key(table, key, why);
                None
            }
        }
    }
}

/// Which columns an axis is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AxisSide {
    /// What was set.
    Set,
    /// What came out.
    Measured,
}

/// What stands on an axis of a kind.
fn settings_on(kind: Shape, axis: &str) -> AxisSide {
    match (kind, axis) {
        (Shape::Heat, "x" | "y") | (Shape::Lines | Shape::Box | Shape::Strip, "x") => AxisSide::Set,
        _ => AxisSide::Measured,
    }
}

fn is_text(column: &Column) -> bool {
    matches!(column.values, Values::Text(_))
}

/// The columns of a side. Settings stand before the seed or are texts; the cell's number is none.
fn names(tidy: &Tidy, side: AxisSide) -> Vec<&str> {
    let seed = tidy.columns.iter().position(|column| column.name == "seed").unwrap_or(0);
    let of = |(place, column): (usize, &Column)| match side {
        AxisSide::Set => (place < seed && column.name != "cell") || is_text(column),
        AxisSide::Measured => place > seed && !is_text(column),
    };
    let columns = tidy.columns.iter().enumerate().filter(|(place, column)| of((*place, column)));
    columns.map(|(_, column)| column.name.as_str()).collect()
}

/// What a side's columns are, for a message.
fn wanted(side: AxisSide, tidy: &Tidy) -> String {
    match side {
        AxisSide::Set => format!("a setting: {}", names(tidy, side).join(", ")),
        AxisSide::Measured => {
            "a figure, such as share, throughput_bps or link_queue_delay_ms_mean".into()
        }
    }
}
