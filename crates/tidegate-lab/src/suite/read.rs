//! From a folder's files to a suite: `suite.toml` read, its scenarios read with all that is set in
//! them.
use tidegate::Span;
use tidegate::config::Value;

use crate::folder::{Description, Folder, Vary, filled};
use crate::problem::{Place, Problem, Problems};
use crate::reader::{Document, Kind, Node, Reader, Table};
use crate::scenario::{Group, Network, Scenario};

use super::DESCRIPTION;
use super::book::{Cell, Roles, Suite, Test};
use super::figure::Figure;

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
        let doc = Document { file, text, sets: &[] };
        let several = |found| Problems::new(found).expect("a failure has at least one problem");
        let root = doc.read().map_err(several)?;
        let mut reader = Reader::new(&doc);
        let suite = Description { reader: &mut reader, folder }.suite(&root);
        match Problems::new(reader.problems) {
            Some(problems) => Err(problems),
            None => Ok(suite),
        }
    }
}

/// What a quick run changes.
#[derive(Default)]
struct Quick {
    seeds: u32,
    set: Vec<String>,
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
            figures = Figure::named();
        }
        let mut suite = Suite {
            name: self.folder.name.to_string(),
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
        for table in self.tables(&table, "test") {
            let test = self.test(&table);
            if suite.tests.iter().any(|known| known.id.eq_ignore_ascii_case(&test.id)) {
                self.reader.refuse_key(&table, "id", "another test is called that too");
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
        suite
    }

    fn quick(&mut self, root: &Table<'_>) -> Quick {
        let Some(node) = root.get("quick") else { return Quick { seeds: 2, ..Quick::default() } };
        let table = self.reader.table(node, "quick.");
        self.reader.only(&table, "[quick]", &["seeds", "set"]);
        let seeds = self.whole(&table, "seeds", LEAST_SEEDS, 10_000).unwrap_or(2) as u32;
        Quick { seeds, set: self.strings(&table, "set") }
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

    fn figures(&mut self, table: &Table<'_>) -> Vec<Figure> {
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
            Kind::Number(bound) => bound,
            Kind::Whole(bound) => bound as f64,
            _ => f64::NAN,
        };
        if (0.0..=1.0).contains(&bound) {
            return Some(bound);
        }
        self.reader.refuse_key(table, "bound", "must be a number from 0 to 1");
        None
    }

    /// The cells of a table: one, or one for each entry of the lists in `vary`.
    fn cells(&mut self, table: &Table<'_>, suite: &mut Suite, quick: &Quick) {
        self.reader.only(table, "a [[cell]]", &CELL);
        let before = self.reader.problems.len();
        let id = self.text(table, "test");
        let Some(test) = suite.tests.iter().position(|test| test.id == id) else {
            let known: Vec<&str> = suite.tests.iter().map(|test| test.id.as_str()).collect();
            let near = crate::nearest::did_you_mean(&id, &known).unwrap_or_default();
            let why = format!("there is no such [[test]]; known are {}{near}", known.join(", "));
            return self.reader.refuse_key(table, "test", why);
        };
        let vary = self.vary(table);
        let own = self.strings(table, "quick_set");
        let draft = Draft {
            test,
            name: self.text(table, "name"),
            file: self.text(table, "scenario"),
            set: self.strings(table, "set"),
            quick_set: if own.is_empty() { quick.set.clone() } else { own },
            quick: self.in_quick(table, &vary),
            bound: self.bound(table).or(suite.bound),
            target: table.get("target").map(|_| self.text(table, "target")),
        };
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
            let twin = |known: &Cell| known.test == cell.test && known.name == cell.name;
            if suite.cells.iter().any(twin) {
                let why = "another cell of the test is called that too";
                self.reader.refuse_key(table, "name", why);
            }
            suite.cells.push(cell);
        }
    }

    /// Which entries of `vary` a quick run has.
    fn in_quick(&mut self, table: &Table<'_>, vary: &Vary) -> Vec<bool> {
        let count = vary.first().map_or(1, |(_, values)| values.len());
        match table.get("quick").map(|node| &node.kind) {
            None => vec![false; count],
            Some(Kind::Flag(all)) => vec![*all; count],
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
        draft: &Draft,
        (vary, at): (&Vary, usize),
        seeds: u32,
    ) -> Option<Cell> {
        let fill = |text: &String| filled(text, vary, at);
        let file = fill(&draft.file);
        let sets: Vec<String> = draft.set.iter().map(fill).collect();
        let mut full = self.scenario(table, &file, &sets, seeds)?;
        let quick_sets: Vec<String> = draft.quick_set.iter().map(fill).collect();
        let all = [&sets[..], &quick_sets].concat();
        let mut quick =
            if draft.quick[at] { Some(self.scenario(table, &file, &all, seeds)?) } else { None };
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
        Some(Cell { test, name, file, sets, full, quick, roles, timed, bound, target })
    }

    /// The delay that queues are aimed at.
    fn target(&mut self, table: &Table<'_>, text: &str, scenario: &Scenario) -> Option<Span> {
        let why = match Span::read(text) {
            Ok(Span::ZERO) => "must be above 0".into(),
            Ok(_) if !matches!(scenario.network, Network::Dumbbell(..)) => {
                "a queue can be aimed in a dumbbell only".into()
            }
            Ok(span) => return Some(span),
            Err(error) => error.to_string(),
        };
        self.reader.refuse_key(table, "target", why);
        None
    }

    /// Who is who: by `users` and `light`, or else by how groups' names begin.
    fn roles(&mut self, table: &Table<'_>, scenario: &Scenario) -> Option<Roles> {
        let names: Vec<&str> = scenario.groups.iter().map(|group| group.name.as_str()).collect();
        let mut of = |key: &str| -> Option<Vec<String>> {
            let named = self.strings(table, key);
            if table.get(key).is_none() {
                let begins = names.iter().filter(|name| name.starts_with(key));
                return Some(begins.map(|name| name.to_string()).collect());
            }
            if let Some(stray) = named.iter().find(|name| !names.contains(&name.as_str())) {
                let near = crate::nearest::did_you_mean(stray, &names).unwrap_or_default();
                let why = format!(
                    "the scenario has no group `{stray}`; those are {}{near}",
                    names.join(", ")
                );
                self.reader.refuse_key(table, key, why);
                return None;
            }
            Some(named)
        };
        let (users, light) = (of("users")?, of("light")?);
        if users.is_empty() {
            let why = "no group of the scenario is a user: call one users…, or name it here";
            self.reader.refuse_key(table, "users", why);
            return None;
        }
        let others = |name: &&&str| !users.iter().chain(&light).any(|known| known == **name);
        let attackers = names.iter().filter(others).map(|name| name.to_string()).collect();
        let count_as = table.get("count_as").map(|_| self.whole(table, "count_as", 1, 1_000_000));
        let count_as = count_as.flatten().map(|count| count as u32);
        Some(Roles { users, light, attackers, count_as })
    }

    /// Whether times to detect and to recover are asked.
    fn attacked(&mut self, table: &Table<'_>, scenario: &Scenario, roles: &Roles) -> Option<bool> {
        let timed = self.reader.flag(table, "attack");
        let of = |group: &&Group| roles.attackers.contains(&group.name);
        if timed && !scenario.groups.iter().any(|group| of(&group)) {
            self.reader.refuse_key(table, "attack", "no group of the scenario attacks");
            return None;
        }
        Some(timed)
    }
}

/// A `[[cell]]` before its placeholders are filled.
struct Draft {
    test: usize,
    name: String,
    file: String,
    set: Vec<String>,
    quick_set: Vec<String>,
    quick: Vec<bool>,
    bound: Option<f64>,
    target: Option<String>,
}
