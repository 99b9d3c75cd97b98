//! From a folder's files to a suite: `suite.toml` read, its scenarios read with all that is set in
//! them.
use tidegate::Span;
use tidegate::config::Value;

use crate::folder::{Description, Folder, Sets, Vary, filled, stray};
use crate::nearest::did_you_mean;
use crate::problem::{Place, Problem, Problems};
use crate::reader::{Node, Reader, Table, TomlDocument, TomlValue};
use crate::scenario::{Network, Scenario};

use super::DESCRIPTION;
use super::book::{Suite, SuiteCell, Test};
use super::figure::CellFigure;

/// The keys of `suite.toml`.
const KEYS: [&str; 9] =
    ["title", "version", "frozen", "seeds", "bound", "figures", "quick", "test", "cell"];
const TEST: [&str; 6] = ["id", "title", "asks", "source", "figures", "ellipses"];
const CELL: [&str; 13] = [
    "test",
    "name",
    "scenario",
    "set",
    "vary",
    "quick",
    "quick_set",
    "users",
    "light",
    "attack",
    "bound",
    "target",
    "count_as",
];
/// The most cells of a suite.
const MOST_CELLS: usize = 1000;
/// The fewest replications that have an interval.
const LEAST_SEEDS: i64 = 2;
/// The longest delay that queues are aimed at: what any queue takes as its target.
const MOST_TARGET: Span = Span::from_millis(60_000);

impl Suite {
    /// Reads the suite in `folder`.
    ///
    /// # Errors
    /// A file is missing or is not what it should be, with the place of each mistake.
    pub fn read(folder: &Folder<'_>) -> Result<Suite, Problems> {
        Suite::read_as(folder, &format!("{}/{DESCRIPTION}", folder.name))
    }

    /// The same, where messages call its description `file`.
    pub(super) fn read_as(folder: &Folder<'_>, file: &str) -> Result<Suite, Problems> {
        let missing = || {
            let why = "there is no such file, and a suite needs one".into();
            let place = Place::File(file.into());
            Problems::one(Problem { place, field: "".into(), value: "".into(), why })
        };
        let text = folder.file(DESCRIPTION).ok_or_else(missing)?;
        let doc = TomlDocument { file, text, sets: &[] };
        let several = |found| Problems::new(found).expect("a failure has at least one problem");
        let root = doc.read().map_err(several)?;
        let mut reader = Reader::new(&doc);
        let suite = Description { reader: &mut reader, folder }.suite(&root);
        match Problems::new(reader.problems) {
            Some(problems) => Err(problems),
            None => Ok(Suite { file: file.into(), ..suite }),
        }
    }
}

/// What a quick run changes, and where that is said.
struct Quick<'q> {
    seeds: u32,
    set: Vec<String>,
    table: Option<Table<'q>>,
}

impl Description<'_, '_, '_> {
    fn suite(&mut self, root: &Node) -> Suite {
        let table = self.reader.table(root, "");
        self.reader.only(&table, "a suite", &KEYS);
        let seeds = self.whole(&table, "seeds", LEAST_SEEDS, 10_000).unwrap_or(2) as u32;
        let quick = self.quick(&table);
        let bound = self.bound(&table);
        let mut figures = self.figures(&table);
        if figures.is_empty() {
            figures = CellFigure::named();
        }
        let mut suite = Suite {
            name: self.folder.name.to_string(),
            file: String::new(),
            title: self.text(&table, "title"),
            version: self.whole(&table, "version", 1, 1_000_000).unwrap_or(1) as u32,
            frozen: self.reader.flag(&table, "frozen"),
            seeds,
            quick_seeds: quick.seeds,
            bound,
            figures,
            tests: vec![],
            cells: vec![],
        };
        let tests = self.tables(&table, "test");
        for table in &tests {
            let test = self.test(table);
            if suite.tests.iter().any(|known| known.id.eq_ignore_ascii_case(&test.id)) {
                self.reader.refuse_key(table, "id", "another test is called that too");
            }
            suite.tests.push(test);
        }
        for table in self.tables(&table, "cell") {
            self.cells(&table, &mut suite, &quick);
        }
        if suite.cells.is_empty() && self.reader.problems.is_empty() {
            self.reader.missing(&table, "cell", "a suite needs at least one [[cell]]");
        }
        suite.cells.sort_by_key(|cell| cell.test);
        if self.reader.problems.is_empty() {
            self.told(&table, &tests, &suite);
        }
        suite
    }

    fn quick<'n>(&mut self, root: &Table<'n>) -> Quick<'n> {
        let Some(node) = root.get("quick") else {
            return Quick { seeds: LEAST_SEEDS as u32, set: vec![], table: None };
        };
        let table = self.reader.table(node, "quick.");
        self.reader.only(&table, "[quick]", &["seeds", "set"]);
        let seeds = self.whole(&table, "seeds", LEAST_SEEDS, 10_000).unwrap_or(LEAST_SEEDS) as u32;
        Quick { seeds, set: self.strings(&table, "set"), table: Some(table) }
    }

    fn test(&mut self, table: &Table<'_>) -> Test {
        self.reader.only(table, "a [[test]]", &TEST);
        let id = self.text(table, "id");
        if !id.is_empty() && !id.chars().all(|c| c.is_ascii_alphanumeric() || ".-".contains(c)) {
            self.reader.refuse_key(
                table,
                "id",
                "must be letters, digits, dots and dashes, as in P1",
            );
        }
        Test {
            id,
            title: self.text(table, "title"),
            asks: self.text(table, "asks"),
            source: self.text(table, "source"),
            figures: self.figures(table),
            ellipses: self.strings(table, "ellipses"),
        }
    }

    fn figures(&mut self, table: &Table<'_>) -> Vec<CellFigure> {
        let mut figures = vec![];
        for text in self.strings(table, "figures") {
            match text.parse() {
                Ok(figure) => figures.push(figure),
                Err(why) => self.reader.refuse_key(table, "figures", why),
            }
        }
        figures
    }

    fn bound(&mut self, table: &Table<'_>) -> Option<f64> {
        let bound = match table.get("bound")?.kind {
            TomlValue::Number(bound) => bound,
            TomlValue::Whole(bound) => bound as f64,
            _ => f64::NAN,
        };
        if (0.0..=1.0).contains(&bound) {
            return Some(bound);
        }
        self.reader.refuse_key(table, "bound", "must be a number from 0 to 1");
        None
    }

    /// The cells of a table: one, or one for each entry of the lists in `vary`.
    fn cells(&mut self, table: &Table<'_>, suite: &mut Suite, quick: &Quick<'_>) {
        self.reader.only(table, "a [[cell]]", &CELL);
        let before = self.reader.problems.len();
        let id = self.text(table, "test");
        let Some(test) = suite.tests.iter().position(|test| test.id == id) else {
            let known: Vec<&str> = suite.tests.iter().map(|test| test.id.as_str()).collect();
            let near = did_you_mean(&id, &known).unwrap_or_default();
            let why = format!("there is no such [[test]]; known are {}{near}", known.join(", "));
            return self.reader.refuse_key(table, "test", why);
        };
        let vary = self.vary(table);
        let own = self.strings(table, "quick_set");
        let (quick_set, quick_from) = match quick.table {
            Some(of_all) if own.is_empty() => (quick.set.clone(), (of_all, "set")),
            _ => (own, (*table, "quick_set")),
        };
        let draft = CellDraft {
            test,
            name: self.text(table, "name"),
            file: self.text(table, "scenario"),
            set: self.strings(table, "set"),
            quick_set,
            quick_from,
            quick: self.in_quick(table, &vary),
            bound: self.bound_of(table, suite),
            target: table.get("target").map(|_| self.text(table, "target")),
        };
        self.placeholders(table, &draft, &vary);
        let count = vary.first().map_or(1, |(_, values)| values.len());
        if suite.cells.len() + count > MOST_CELLS {
            let why = format!("a suite has at most {MOST_CELLS} cells");
            self.reader.refuse_key(table, "vary", why);
        }
        if self.reader.problems.len() > before {
            return;
        }
        for at in 0..count {
            let Some(cell) = self.cell(table, &draft, (&vary, at), suite.seeds) else { continue };
            let twin = |known: &SuiteCell| known.test == cell.test && known.name == cell.name;
            if suite.cells.iter().any(twin) {
                let why = "another cell of the test is called that too";
                self.reader.refuse_key(table, "name", why);
            }
            suite.cells.push(cell);
        }
    }

    /// Refuses what is to be filled in and has no list.
    fn placeholders(&mut self, table: &Table<'_>, draft: &CellDraft<'_>, vary: &Vary) {
        let one = std::slice::from_ref::<String>;
        let mut texts = vec![
            ("name", one(&draft.name)),
            ("scenario", one(&draft.file)),
            ("set", &draft.set[..]),
            ("target", draft.target.as_slice()),
        ];
        if draft.quick_from.1 == "quick_set" {
            texts.push(("quick_set", &draft.quick_set));
        }
        for (key, texts) in texts {
            if let Some(name) = texts.iter().find_map(|text| stray(text, vary)) {
                let known: Vec<&str> = vary.iter().map(|(name, _)| name.as_str()).collect();
                let near = did_you_mean(name, &known).unwrap_or_default();
                let why = format!("`{{{name}}}` is no list in `vary`{near}");
                self.reader.refuse_key(table, key, why);
            }
        }
    }

    /// The bound of a cell: its own or the suite's.
    fn bound_of(&mut self, table: &Table<'_>, suite: &Suite) -> Option<f64> {
        let own = self.bound(table);
        if own.is_some() && suite.bound.is_none() {
            let why = "the suite has no `bound`, so none of its cells is judged";
            self.reader.refuse_key(table, "bound", why);
        }
        own.or(suite.bound)
    }

    /// Which entries of `vary` a quick run has.
    fn in_quick(&mut self, table: &Table<'_>, vary: &Vary) -> Vec<bool> {
        let count = vary.first().map_or(1, |(_, values)| values.len());
        match table.get("quick").map(|node| &node.kind) {
            None => vec![false; count],
            Some(TomlValue::Flag(all)) => vec![*all; count],
            Some(_) => {
                let values = self.values(table, "quick");
                let Some((name, known)) = vary.first() else {
                    let why = "must be true or false, or values of the first list in `vary`";
                    self.reader.refuse_key(table, "quick", why);
                    return vec![false];
                };
                if let Some(stray) = values.iter().find(|value| !known.contains(value)) {
                    let why = format!("{stray} is no value of `vary.{name}`");
                    self.reader.refuse_key(table, "quick", why);
                }
                known.iter().map(|value| values.contains(value)).collect()
            }
        }
    }

    fn cell(
        &mut self,
        table: &Table<'_>,
        draft: &CellDraft<'_>,
        (vary, at): (&Vary, usize),
        seeds: u32,
    ) -> Option<SuiteCell> {
        let fill = |text: &String| filled(text, vary, at);
        let file = fill(&draft.file);
        let sets: Vec<String> = draft.set.iter().map(fill).collect();
        let of_both = Sets { table, key: "set", sets: &sets };
        let mut full = self.scenario(table, &file, &[of_both], seeds)?;
        let quick_sets: Vec<String> = draft.quick_set.iter().map(fill).collect();
        let (from, key) = &draft.quick_from;
        let of_quick = Sets { table: from, key, sets: &quick_sets };
        let mut quick = if draft.quick[at] {
            Some(self.scenario(table, &file, &[of_both, of_quick], seeds)?)
        } else {
            None
        };
        let roles = self.roles(table, &full)?;
        let timed = self.attacked(table, &full, &roles)?;
        for scenario in std::iter::once(&mut full).chain(&mut quick) {
            scenario.compare.clear();
            if timed && let Err(why) = super::attack::period(scenario, &roles) {
                self.reader.refuse_key(table, "attack", why);
                return None;
            }
        }
        let name = fill(&draft.name);
        let (test, bound) = (draft.test, draft.bound);
        let target = match &draft.target {
            Some(text) => Some(self.target(table, &fill(text), &full)?),
            None => None,
        };
        Some(SuiteCell { test, name, file, sets, full, quick, roles, timed, bound, target })
    }

    /// The delay that queues are aimed at.
    fn target(&mut self, table: &Table<'_>, text: &str, scenario: &Scenario) -> Option<Span> {
        let why = match Span::read(text) {
            Ok(span) if span == Span::ZERO || span > MOST_TARGET => {
                format!("must be above 0 and at most {MOST_TARGET}")
            }
            Ok(_) if !matches!(scenario.network, Network::Dumbbell(..)) => {
                "a queue can be aimed in a dumbbell only".into()
            }
            Ok(span) => return Some(span),
            Err(error) => error.to_string(),
        };
        self.reader.refuse_key(table, "target", why);
        None
    }
}

/// A `[[cell]]` before its placeholders are filled.
struct CellDraft<'q> {
    test: usize,
    name: String,
    file: String,
    set: Vec<String>,
    quick_set: Vec<String>,
    /// The table and the key that say what a quick run sets.
    quick_from: (Table<'q>, &'static str),
    quick: Vec<bool>,
    bound: Option<f64>,
    target: Option<String>,
}
