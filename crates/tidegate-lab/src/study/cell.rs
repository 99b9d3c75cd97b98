//! A cell: one scenario with one value of each axis.
use crate::problem::{Problem, Problems};
use crate::reader::{Origin, Override, TomlDocument};
use crate::scenario::Scenario;
use crate::spec::QueueSpec;

use super::axis::Setting;
use super::file::Study;
use super::substitute::{Binding, in_braces, in_expression};

/// One scenario with one value of each axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its place in the study, from 0.
    pub index: usize,
    /// Its scenario's place.
    pub scenario: usize,
    /// The place of its value on each axis.
    pub steps: Vec<usize>,
}

impl Study {
    /// The cell of this index, below [`Study::cells`].
    pub fn cell(&self, index: usize) -> Cell {
        let mut rest = index;
        let mut steps = vec![0; self.axes.len()];
        for (step, axis) in steps.iter_mut().zip(&self.axes).rev() {
            (*step, rest) = (rest % axis.len(), rest / axis.len());
        }
        Cell { index, scenario: rest, steps }
    }

    /// The values of `cell`, by their names.
    fn bindings(&self, cell: &Cell) -> Vec<Binding<'_>> {
        let axes = self.axes.iter().zip(&cell.steps);
        axes.flat_map(|(axis, step)| {
            axis.names().map(|(name, s)| (name, s.values[*step].0.as_str()))
        })
        .collect()
    }

    /// What is set in the scenario of `cell`, each with its place in the study's file.
    pub(super) fn sets(&self, cell: &Cell) -> Vec<(Override, Origin)> {
        let bindings = self.bindings(cell);
        let variables: Vec<Binding<'_>> =
            bindings.iter().copied().filter(|(name, _)| !name.contains('.')).collect();
        let set = |setting: &Setting, step: usize| {
            let (text, origin) = &setting.values[step];
            let path = setting.path.clone()?;
            Some((Override { path, value: in_expression(text, &variables) }, *origin))
        };
        let fixed = self.set.iter().filter_map(|setting| set(setting, 0));
        let varied = self.axes.iter().zip(&cell.steps);
        let varied = varied.flat_map(|(axis, step)| axis.settings.iter().map(move |s| (s, *step)));
        fixed.chain(varied.filter_map(|(setting, step)| set(setting, step))).collect()
    }

    /// The scenario of `cell`.
    ///
    /// # Errors
    /// What an axis sets does not exist or cannot be; the place is that in the study's file.
    pub fn scenario(&self, cell: &Cell) -> Result<Scenario, Problems> {
        let base = &self.scenarios[cell.scenario];
        let (sets, origins): (Vec<Override>, Vec<Origin>) = self.sets(cell).into_iter().unzip();
        Scenario::parse(&base.bytes, &base.file, &sets)
            .map_err(|problems| self.placed(cell, &sets, &origins, problems))
    }

    /// The queue of index `queue` in `cell`.
    ///
    /// # Errors
    /// It is no queue once the axes' values stand in it.
    pub fn queue(&self, cell: &Cell, queue: usize) -> Result<QueueSpec, Problems> {
        let text = in_braces(&self.queues[queue], &self.bindings(cell));
        text.parse().map_err(|error: tidegate::ConfigError| {
            Problems::one(Problem {
                place: self.place_of(queue),
                field: "queues".into(),
                value: error.value,
                why: format!("{} (in {})", error.why, self.named(cell)),
            })
        })
    }

    /// `problems` of overrides, with the place of what set them.
    fn placed(
        &self,
        cell: &Cell,
        sets: &[Override],
        origins: &[Origin],
        problems: Problems,
    ) -> Problems {
        let document = TomlDocument { file: &self.file, text: &self.text, sets };
        let place = |problem: &Problem| {
            let at = sets
                .iter()
                .enumerate()
                .position(|(index, _)| document.place(Origin::Set(index)) == problem.place);
            let Some(at) = at else { return problem.clone() };
            let field =
                if problem.field.is_empty() { &sets[at].path } else { &problem.field }.clone();
            let place = document.place(origins[at]);
            let why = format!("{} (in {})", problem.why, self.named(cell));
            Problem { place, field, why, ..problem.clone() }
        };
        Problems::new(problems.list().iter().map(place).collect()).unwrap_or(problems)
    }

    /// What `cell` is called in messages.
    pub fn named(&self, cell: &Cell) -> String {
        let values = self.axes.iter().zip(&cell.steps).map(|(axis, step)| {
            let values =
                axis.settings.iter().map(|s| format!("{} = {}", s.column, s.values[*step].0));
            values.collect::<Vec<_>>().join(", ")
        });
        let lead = std::iter::once(self.scenarios[cell.scenario].name.clone());
        lead.chain(values).collect::<Vec<_>>().join(", ")
    }
}
