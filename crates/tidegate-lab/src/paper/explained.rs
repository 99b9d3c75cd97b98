//! `explained.toml`: why claims differ, and the same claims under other readings of the text.
use tidegate_report::papers::Explanation;

use crate::problem::{Place, Problem};
use crate::reader::{Reader, Table, TomlDocument};

use super::book::{Paper, PaperRun, Reading, Readings};
use super::{EXPLAINED, Folder};
use crate::folder::{Description, filled};

/// The most replications of a reading.
const MOST_SEEDS: i64 = 10_000;
/// The least for a reading under which claims may hold.
const LEAST_SEEDS: u32 = 3;

/// Reads the file, if the folder has one, into `paper`.
pub(super) fn read(folder: &Folder<'_>, paper: &mut Paper, problems: &mut Vec<Problem>) {
    let Some(text) = folder.file(EXPLAINED) else { return };
    let file = format!("{}/{EXPLAINED}", folder.name);
    let doc = TomlDocument { file: &file, text, sets: &[] };
    let root = match doc.read() {
        Ok(root) => root,
        Err(found) => return problems.extend(found),
    };
    let mut reader = Reader::new(&doc);
    let mut description = Description { reader: &mut reader, folder };
    let table = description.reader.table(&root, "");
    description.reader.only(&table, "the file", &["explanation", "readings", "reading"]);
    for table in description.tables(&table, "explanation") {
        let explanation = description.explanation(&table);
        paper.explanations.push(explanation);
    }
    let mut seeds = vec![];
    for table in description.tables(&table, "readings") {
        let (readings, count) = description.readings(&table, paper);
        paper.readings.push(readings);
        seeds.push(count);
    }
    for table in description.tables(&table, "reading") {
        let id = description.text(&table, "of");
        let Some(place) = paper.readings.iter().position(|known| known.id == id) else {
            description.reader.refuse_key(&table, "of", "there is no such [[readings]] above");
            continue;
        };
        let found = description.several(&table, paper, &paper.readings[place], seeds[place]);
        paper.readings[place].readings.extend(found);
    }
    twice(
        &file,
        "[[explanation]]",
        paper.explanations.iter().map(|e| e.name.as_str()),
        &mut reader.problems,
    );
    twice(
        &file,
        "[[readings]]",
        paper.readings.iter().map(|r| r.id.as_str()),
        &mut reader.problems,
    );
    problems.extend(reader.problems);
}

/// No two may have one name.
fn twice<'n>(
    file: &str,
    what: &str,
    names: impl Iterator<Item = &'n str>,
    problems: &mut Vec<Problem>,
) {
    let mut known: Vec<&str> = vec![];
    for name in names {
        if known.contains(&name) {
            let why = format!("two {what} have this name");
            let place = Place::File(file.into());
            problems.push(Problem { place, field: "name".into(), value: name.into(), why });
        }
        known.push(name);
    }
}

impl Description<'_, '_, '_> {
    fn explanation(&mut self, table: &Table<'_>) -> Explanation {
        self.reader.only(table, "an [[explanation]]", &["name", "why", "evidence"]);
        let name = self.name(table, "name");
        Explanation {
            name,
            why: self.text(table, "why"),
            evidence: self.strings(table, "evidence"),
        }
    }

    /// A table of readings without its readings, and how many replications those have.
    fn readings(&mut self, table: &Table<'_>, paper: &Paper) -> (Readings, u32) {
        let known = ["id", "experiment", "title", "finding", "settings", "queues", "seeds"];
        self.reader.only(table, "a [[readings]]", &known);
        let experiment = self.text(table, "experiment");
        if paper.experiment(&experiment).is_none() {
            self.unknown_experiment(table, &experiment, paper);
        }
        let mut settings = self.strings(table, "settings");
        if settings.is_empty() {
            let mine = paper.runs.iter().filter(|run| run.experiment == experiment);
            settings = mine.map(|run| run.setting.clone()).collect();
        }
        for setting in settings.iter().filter(|setting| paper.run(&experiment, setting).is_none()) {
            let why = format!("no run of the experiment is called `{setting}`");
            self.reader.refuse_key(table, "settings", why);
        }
        let readings = Readings {
            id: self.name(table, "id"),
            experiment,
            title: self.text(table, "title"),
            finding: self.text(table, "finding"),
            settings,
            queues: self.strings(table, "queues"),
            readings: vec![],
        };
        (readings, self.whole(table, "seeds", 1, MOST_SEEDS).unwrap_or(1) as u32)
    }

    /// The readings of a `[[reading]]`: one, or one for each entry of the lists in `vary`.
    fn several(
        &mut self,
        table: &Table<'_>,
        paper: &Paper,
        of: &Readings,
        seeds: u32,
    ) -> Vec<Reading> {
        self.reader.only(
            table,
            "a [[reading]]",
            &["of", "name", "scenario", "set", "vary", "contradicted"],
        );
        let contradicted = self.reader.text(table, "contradicted");
        if contradicted.is_some() && seeds < LEAST_SEEDS {
            let why = format!(
                "claims hold under it from means of {LEAST_SEEDS} replications at least; \
                 [[readings]] has seeds = {seeds}"
            );
            self.reader.refuse_key(table, "contradicted", why);
        }
        let (name, set) = (self.text(table, "name"), self.strings(table, "set"));
        let scenario = self.reader.text(table, "scenario");
        let vary = self.vary(table);
        let count = vary.first().map_or(1, |(_, values)| values.len());
        let mut readings = vec![];
        for i in 0..count {
            let name = filled(&name, &vary, i);
            let set: Vec<String> = set.iter().map(|text| filled(text, &vary, i)).collect();
            let under = format!("{}/{name}", of.id);
            let mut runs = vec![];
            for base in of.settings.iter().filter_map(|setting| paper.run(&of.experiment, setting))
            {
                let file = scenario.as_ref().unwrap_or(&base.scenario_file);
                let sets = [&base.sets[..], &set].concat();
                let Some(run) = self.simulated(table, file, &sets, &base.shorter, seeds) else {
                    continue;
                };
                let (experiment, setting) = (base.experiment.clone(), base.setting.clone());
                let (under, reading) = (under.clone(), base.reading.clone());
                runs.push(PaperRun { experiment, under, setting, reading, ..run });
            }
            readings.push(Reading { name, contradicted: contradicted.clone(), runs });
        }
        readings
    }

    /// A name of small letters, digits and hyphens.
    fn name(&mut self, table: &Table<'_>, key: &str) -> String {
        let name = self.text(table, key);
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !name.chars().all(plain) {
            self.reader.refuse_key(table, key, "must be small letters, digits and -");
        }
        name
    }
}
