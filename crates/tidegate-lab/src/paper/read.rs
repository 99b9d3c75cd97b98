//! From a folder's files to a paper: `paper.toml` read, its scenarios read with all that is set in
//! them.
use tidegate::catalog::QUEUES;
use tidegate_report::papers::Experiment;

use crate::problem::{Problem, Problems};
use crate::reader::{Node, Reader, Table, TomlDocument, TomlValue as Toml, scalar};

use super::book::{Fitted, Paper, PaperRun};
use super::claim::{self, ClaimsFile};
use super::{CLAIMS, DESCRIPTION, Folder, consistent, explained};
use crate::folder::{Description, Vary, filled};

/// The keys of `paper.toml`.
const KEYS: [&str; 10] =
    ["key", "title", "authors", "venue", "seeds", "experiment", "run", "fitted", "figure", "board"];
/// The most runs of a paper.
const MOST_RUNS: usize = 1000;

impl Paper {
    /// Reads the paper in `folder`.
    ///
    /// # Errors
    /// A file is missing or is not what it should be, or two of them contradict each other; with
    /// the place of each mistake.
    pub fn read(folder: &Folder<'_>) -> Result<Paper, Problems> {
        let file = format!("{}/{DESCRIPTION}", folder.name);
        let missing = |name: &str| {
            let place = crate::problem::Place::File(format!("{}/{name}", folder.name));
            let why = "there is no such file, and a paper needs one".into();
            Problems::one(Problem { place, field: "".into(), value: "".into(), why })
        };
        let text = folder.file(DESCRIPTION).ok_or_else(|| missing(DESCRIPTION))?;
        let rows = folder.file(CLAIMS).ok_or_else(|| missing(CLAIMS))?;
        let doc = TomlDocument { file: &file, text, sets: &[] };
        let several = |found| Problems::new(found).expect("a failure has at least one problem");
        let root = doc.read().map_err(several)?;
        let mut reader = Reader::new(&doc);
        let mut paper = Description { reader: &mut reader, folder }.paper(&root);
        let claims_file = format!("{}/{CLAIMS}", folder.name);
        paper.claims = claim::read(rows, &claims_file, &mut reader.problems);
        let mut problems = reader.problems;
        explained::read(folder, &mut paper, &mut problems);
        if problems.is_empty() {
            consistent::consistent(
                &paper,
                &ClaimsFile { text: rows, file: &claims_file },
                &mut problems,
            );
        }
        match Problems::new(problems) {
            Some(problems) => Err(problems),
            None => Ok(paper),
        }
    }
}

impl Description<'_, '_, '_> {
    fn paper(&mut self, root: &Node) -> Paper {
        let table = self.reader.table(root, "");
        self.reader.only(&table, "a paper", &KEYS);
        let seeds = self.whole(&table, "seeds", 1, 10_000).unwrap_or(1) as u32;
        let (experiments, shared) = self.experiments(&table);
        let mut paper = Paper {
            folder: self.folder.name.to_string(),
            key: self.text(&table, "key"),
            title: self.text(&table, "title"),
            authors: self.strings(&table, "authors"),
            venue: self.reader.text(&table, "venue").unwrap_or_default(),
            experiments,
            runs: vec![],
            fitted: vec![],
            figures: vec![],
            boards: vec![],
            claims: vec![],
            explanations: vec![],
            readings: vec![],
        };
        for table in self.tables(&table, "run") {
            let runs = self.runs(&table, &paper, &shared, seeds);
            paper.runs.extend(runs);
        }
        for table in self.tables(&table, "fitted") {
            self.reader.only(&table, "[[fitted]]", &["name", "parameter"]);
            paper.fitted.push(Fitted {
                name: self.text(&table, "name"),
                parameter: self.text(&table, "parameter"),
            });
        }
        for table in self.tables(&table, "figure") {
            let figure = self.figure(&table, &paper);
            paper.figures.extend(figure);
        }
        for table in self.tables(&table, "board") {
            let board = self.board(&table, &paper);
            paper.boards.extend(board);
        }
        paper
    }

    /// The experiments, and what the runs of each share.
    fn experiments(&mut self, root: &Table<'_>) -> (Vec<Experiment>, Vec<Shared>) {
        let mut experiments = vec![];
        let mut shared: Vec<Shared> = vec![];
        for table in self.tables(root, "experiment") {
            let (experiment, common) = self.experiment(&table);
            if experiments.iter().any(|known: &Experiment| known.id == experiment.id) {
                self.reader.refuse_key(&table, "id", "another experiment is called that too");
            }
            experiments.push(experiment);
            shared.push(common);
        }
        (experiments, shared)
    }

    fn experiment(&mut self, table: &Table<'_>) -> (Experiment, Shared) {
        let known = ["id", "place", "title", "remarks", "unchecked", "quick", "every"];
        self.reader.only(table, "an [[experiment]]", &known);
        let id = self.text(table, "id");
        if !id.is_empty() && !id.chars().all(|c| c.is_ascii_alphanumeric()) {
            self.reader.refuse_key(table, "id", "must be letters and digits, as in B5");
        }
        let experiment = Experiment {
            id,
            place: self.text(table, "place"),
            title: self.text(table, "title"),
            remarks: self.reader.text(table, "remarks").unwrap_or_default(),
            unchecked: self.reader.text(table, "unchecked"),
        };
        let every = self.reader.text(table, "every").map(|preset| {
            let queues = QUEUES.iter().map(|row| format!("\"{0}/{preset} as {0}\"", row.name));
            format!("compare.queues=[{}]", queues.collect::<Vec<_>>().join(", "))
        });
        (
            experiment,
            Shared { set: every.into_iter().collect(), quick: self.strings(table, "quick") },
        )
    }

    /// The runs of a table: one, or one for each entry of the lists in `vary`.
    fn runs(
        &mut self,
        table: &Table<'_>,
        paper: &Paper,
        shared: &[Shared],
        seeds: u32,
    ) -> Vec<PaperRun> {
        let known =
            ["experiment", "setting", "scenario", "set", "vary", "x", "reading", "quick", "tested"];
        self.reader.only(table, "a [[run]]", &known);
        let before = self.reader.problems.len();
        let experiment = self.text(table, "experiment");
        let place = paper.experiments.iter().position(|e| e.id == experiment);
        if place.is_none() {
            self.unknown_experiment(table, &experiment, paper);
        }
        let vary = self.vary(table);
        let shared = place.map(|i| shared[i].clone()).unwrap_or_default();
        let own = self.strings(table, "quick");
        let draft = RunDraft {
            setting: self.text(table, "setting"),
            reading: self.reader.text(table, "reading").unwrap_or_default(),
            scenario: self.text(table, "scenario"),
            set: [shared.set, self.strings(table, "set")].concat(),
            quick: if own.is_empty() { shared.quick } else { own },
            x: table.get("x").and_then(scalar).unwrap_or_default(),
            tested: matches!(table.get("tested"), Some(Node { kind: Toml::Flag(true), .. })),
        };
        if let Some(Node { kind, .. }) = table.get("tested")
            && !matches!(kind, Toml::Flag(_))
        {
            self.reader.refuse_key(table, "tested", "must be true or false");
        }
        if self.reader.problems.len() > before {
            return vec![];
        }
        let count = vary.first().map_or(1, |(_, values)| values.len());
        if paper.runs.len() + count > MOST_RUNS {
            self.reader.refuse_key(table, "vary", format!("a paper has at most {MOST_RUNS} runs"));
            return vec![];
        }
        (0..count)
            .filter_map(|i| self.run(table, &experiment, &draft.filled(&vary, i), paper, seeds))
            .collect()
    }

    fn run(
        &mut self,
        table: &Table<'_>,
        experiment: &str,
        draft: &RunDraft,
        paper: &Paper,
        seeds: u32,
    ) -> Option<PaperRun> {
        if paper.run(experiment, &draft.setting).is_some() {
            self.reader.refuse_key(
                table,
                "setting",
                "another run of the experiment is called that too",
            );
        }
        let x = match draft.x.as_str() {
            "" => None,
            text => match text.parse::<f64>() {
                Ok(x) if x.is_finite() => Some(x),
                _ => {
                    self.reader.refuse_key(
                        table,
                        "x",
                        "must be a number, or {NAME} of a list of numbers in `vary`",
                    );
                    None
                }
            },
        };
        let mut run = self.simulated(table, &draft.scenario, &draft.set, &draft.quick, seeds)?;
        run.experiment = experiment.into();
        run.under = experiment.into();
        run.setting.clone_from(&draft.setting);
        run.reading.clone_from(&draft.reading);
        (run.x, run.tested) = (x, draft.tested);
        Some(run)
    }
}

/// What the runs of an experiment share.
#[derive(Clone, Default)]
struct Shared {
    set: Vec<String>,
    quick: Vec<String>,
}

/// A `[[run]]` before its placeholders are filled.
#[derive(Clone)]
struct RunDraft {
    setting: String,
    reading: String,
    scenario: String,
    set: Vec<String>,
    quick: Vec<String>,
    x: String,
    tested: bool,
}

impl RunDraft {
    /// With `{NAME}` replaced by entry `index` of the list of that name.
    fn filled(&self, vary: &Vary, index: usize) -> RunDraft {
        let fill = |text: &String| filled(text, vary, index);
        RunDraft {
            setting: fill(&self.setting),
            scenario: fill(&self.scenario),
            set: self.set.iter().map(fill).collect(),
            quick: self.quick.iter().map(fill).collect(),
            x: fill(&self.x),
            ..self.clone()
        }
    }
}
