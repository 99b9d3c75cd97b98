//! Drawing the plots of a study into its directory.
use std::path::Path;

use tidegate_report::plot::{Format, Plot, Rows, Wanted, draw};
use tidegate_report::tidy::Values;

use crate::nearest::did_you_mean;
use crate::print::{Fonts, Unprinted};
use crate::problem::{Place, Problem, Problems};

use super::file::Study;
use super::prepared::Prepared;
use super::store::StoreError;
use super::tables::Tables;
use super::written::whole;

/// What became of a plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DrawnPlot {
    /// The plot's name.
    pub name: String,
    /// The files that were written.
    pub files: Vec<String>,
    /// What a reader of the picture cannot see in it.
    pub notes: Vec<String>,
    /// Why there is no picture.
    pub refused: Option<String>,
}

impl Study {
    /// Whether a plot needs the column `name`.
    pub fn draws(&self, name: &str) -> bool {
        let condition = matches!(name, "seed" | "scenario" | "queue" | "group" | "conduct");
        let set = self.axes.iter().flat_map(|axis| &axis.settings).any(|set| set.column == name);
        let plotted = |plot: &Plot| {
            plot.columns().any(|(_, column)| column == name)
                || plot.filters.iter().any(|filter| filter.column == name)
        };
        !self.plots.is_empty() && (condition || set || self.plots.iter().any(plotted))
    }

    fn wrong(&self, plot: &Plot, field: &str, value: &str, why: String) -> Problem {
        Problem {
            place: Place::File(self.file.clone()),
            field: format!("plot.{}.{field}", plot.name),
            value: value.into(),
            why,
        }
    }
}

impl Prepared {
    /// Checks what a plot needs and its file does not say. Its groups must be in the scenarios, and
    /// this machine must have its font where it goes into a PDF or PNG.
    ///
    /// # Errors
    /// The plots that fail this.
    pub fn drawable(&self) -> Result<(), Problems> {
        let study = &self.study;
        let mut found = vec![];
        if study.plots.is_empty() {
            return Ok(());
        }
        let groups = self.groups()?;
        let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
        for plot in &study.plots {
            let of_groups = plot.filters.iter().filter(|filter| filter.column == "group");
            for wanted in of_groups.flat_map(|filter| &filter.values) {
                if let Wanted::Text(group) = wanted
                    && !groups.contains(&group.as_str())
                {
                    let near = did_you_mean(group, &groups).unwrap_or_default();
                    let why = format!("no such group; known are {}{near}", groups.join(", "));
                    found.push(study.wrong(plot, "group", group, why));
                }
            }
        }
        let printed = |plot: &&Plot| plot.formats.iter().any(|format| *format != Format::Svg);
        let mut printed = study.plots.iter().filter(printed).peekable();
        if printed.peek().is_some() {
            let fonts = Fonts::installed();
            for plot in printed {
                if let Err(error) = fonts.check(&plot.font) {
                    found.push(study.wrong(plot, "font", &plot.font, error.to_string()));
                }
            }
        }
        Problems::new(found).map_or(Ok(()), Err)
    }

    /// The groups of all scenarios.
    fn groups(&self) -> Result<Vec<String>, Problems> {
        let study = &self.study;
        let each = (study.cells() / study.scenarios.len().max(1) as u64) as usize;
        let mut groups: Vec<String> = vec![];
        for scenario in 0..study.scenarios.len() {
            let scenario = study.scenario(&study.cell(scenario * each))?;
            let names = scenario.groups.iter().map(|group| group.name.clone());
            groups.extend(names.filter(|name| !groups.contains(name)).collect::<Vec<_>>());
        }
        Ok(groups)
    }
}

/// Draws the plots of `study` from its tables into `dir`, each file whole or not at all. A plot
/// that cannot be drawn says why and does not keep the others.
///
/// # Errors
/// The disk fails.
pub fn plots(study: &Study, tables: &Tables, dir: &Path) -> Result<Vec<DrawnPlot>, StoreError> {
    let mut fonts = None;
    let mut all = vec![];
    for plot in &study.plots {
        let table = match plot.rows {
            Rows::Groups => &tables.groups,
            Rows::Flows => &tables.flows,
        };
        let mut drawn = DrawnPlot { name: plot.name.clone(), ..DrawnPlot::default() };
        match draw(plot, table) {
            Ok(picture) => {
                drawn.notes = picture.notes;
                for format in &plot.formats {
                    let file = format!("{}.{}", plot.name, format.name());
                    let fonts = fonts.get_or_insert_with(Fonts::installed);
                    match printed(*format, &picture.svg, plot, fonts) {
                        Ok(bytes) => {
                            whole(dir, &file, &bytes)?;
                            drawn.files.push(file);
                        }
                        Err(error) => drawn.refused = Some(error.to_string()),
                    }
                }
            }
            Err(refused) => drawn.refused = Some(refused.to_string()),
        }
        all.push(drawn);
    }
    Ok(all)
}

fn printed(format: Format, svg: &str, plot: &Plot, fonts: &Fonts) -> Result<Vec<u8>, Unprinted> {
    match format {
        Format::Svg => Ok(svg.as_bytes().to_vec()),
        Format::Pdf => fonts.pdf(svg, &plot.font),
        Format::Png => fonts.png(svg, &plot.font),
    }
}

/// The values that a study gives the setting `name`, as far as its file says them.
pub(super) fn levels(study: &Study, name: &str) -> Option<Values> {
    let texts =
        |all: Vec<String>| Values::Text(all.iter().map(|t| Some(t.as_str().into())).collect());
    match name {
        "queue" => Some(texts((0..study.queues.len()).map(|k| study.label(k)).collect())),
        "scenario" => Some(texts(study.scenarios.iter().map(|base| base.name.clone()).collect())),
        _ => {
            let mut settings = study.axes.iter().flat_map(|axis| &axis.settings);
            settings.find(|setting| setting.column == name).map(|setting| setting.typed.values())
        }
    }
}
