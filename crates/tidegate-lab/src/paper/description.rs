//! What is a paper's alone while its folder is read.
use crate::folder::{Description, Sets};
use crate::nearest::did_you_mean;
use crate::reader::Table;

use super::book::{Paper, PaperRun};

impl Description<'_, '_, '_> {
    /// What is simulated with `set` in the scenario `file`, and what is cut short by `shorter`; not
    /// yet whose run it is.
    pub fn simulated(
        &mut self,
        table: &Table<'_>,
        file: &str,
        set: &[String],
        shorter: &[String],
        seeds: u32,
    ) -> Option<PaperRun> {
        let sets = Sets { table, key: "set", sets: set };
        let full = self.scenario(table, file, &[sets], seeds)?;
        if full.compare.is_empty() {
            self.reader.refuse_key(table, "scenario", "the scenario lists no queues to compare");
            return None;
        }
        let quick = Sets { table, key: "quick", sets: shorter };
        let quick = self.scenario(table, file, &[sets, quick], seeds)?;
        Some(PaperRun {
            experiment: String::new(),
            under: String::new(),
            setting: String::new(),
            x: None,
            reading: String::new(),
            scenario_file: file.into(),
            sets: set.to_vec(),
            full,
            quick,
            shorter: shorter.to_vec(),
            tested: false,
        })
    }

    pub fn unknown_experiment(&mut self, table: &Table<'_>, id: &str, paper: &Paper) {
        let known: Vec<&str> = paper.experiments.iter().map(|e| e.id.as_str()).collect();
        let near = did_you_mean(id, &known).unwrap_or_default();
        let why = format!("there is no such [[experiment]]; known are {}{near}", known.join(", "));
        self.reader.refuse_key(table, "experiment", why);
    }
}
