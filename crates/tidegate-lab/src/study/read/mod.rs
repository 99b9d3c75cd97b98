//! Reading a study's file.
mod axes;
mod names;
mod seeds;

use std::path::Path;

use crate::nearest::did_you_mean;
use crate::problem::Problems;
use crate::reader::{FileKind, Node, Origin, Reader, Table, TomlDocument, TomlValue, scalar};
use crate::spec::QueueSpec;

use super::axis::{Axis, Setting};
use super::drawn::levels;
use super::file::{Base, Study};
use super::plot::KnownColumns;
use super::rows;
use super::seeds::Seeds;
use super::substitute::names;
use super::tables::behind;
use tidegate_report::plot::Plot;

/// What a study's file is.
const FILE: FileKind = FileKind { kind: "a study", least: "a scenario" };
/// The keys of a study.
const KEYS: [&str; 11] = [
    "title",
    "description",
    "scenario",
    "scenarios",
    "queues",
    "seeds",
    "seed",
    "flows",
    "set",
    "axes",
    "plot",
];

/// What the file says.
struct StudyDraft {
    title: String,
    scenarios: Vec<Base>,
    queues: Vec<(String, Origin)>,
    set: Vec<Setting>,
    axes: Vec<Axis>,
    seeds: Seeds,
    first_seed: u64,
    flows: bool,
}

impl Study {
    /// Reads the study in `bytes`, which messages call `file`. Its scenarios are files beside it,
    /// or shipped ones.
    ///
    /// # Errors
    /// It is no UTF-8, no TOML, or says what cannot be.
    pub fn parse(bytes: &[u8], file: &str) -> Result<Study, Problems> {
        Study::read(bytes, file, None)
    }

    /// Reads the study in `bytes`, whose scenarios are at hand: on another machine, say, that has
    /// not their files.
    ///
    /// # Errors
    /// As [`Study::parse`].
    pub fn parse_with(bytes: &[u8], file: &str, scenarios: Vec<Base>) -> Result<Study, Problems> {
        Study::read(bytes, file, Some(scenarios))
    }

    fn read(bytes: &[u8], file: &str, scenarios: Option<Vec<Base>>) -> Result<Study, Problems> {
        let text = FILE.text(bytes, file)?;
        let doc = TomlDocument { file, text, sets: &[] };
        let several = |found| Problems::new(found).expect("a failure has at least one problem");
        let root = doc.read().map_err(several)?;
        let mut reader = Reader::new(&doc);
        let mut study = StudyDraft::read(&mut reader, &root, scenarios).finish(file, text);
        study.plots = reader.plots_of_study(&root, &study);
        study.plots.iter_mut().for_each(|plot| pool_steps(plot, &study.axes));
        if let Some(problems) = Problems::new(reader.problems) {
            return Err(problems);
        }
        study.bounded()?;
        Ok(study)
    }

    /// Reads the study in the file `path`.
    ///
    /// # Errors
    /// The file cannot be read; as [`Study::parse`].
    pub fn open(path: &Path) -> Result<Study, Problems> {
        Study::parse(&FILE.bytes(path)?, &path.display().to_string())
    }
}

/// Pools what goes in step with what `plot` pools: both stand for the same cells.
fn pool_steps(plot: &mut Plot, axes: &[Axis]) {
    for axis in axes {
        let names = || axis.settings.iter().map(|setting| &setting.column);
        if names().any(|name| plot.pooled.contains(name)) {
            let others = names().filter(|name| !plot.pooled.contains(name)).cloned();
            let others: Vec<String> = others.collect();
            plot.pooled.extend(others);
        }
    }
}

impl StudyDraft {
    fn read(reader: &mut Reader<'_>, root: &Node, scenarios: Option<Vec<Base>>) -> StudyDraft {
        let table = reader.table(root, "");
        reader.only(&table, "a study", &KEYS);
        let scenarios = scenarios.unwrap_or_else(|| reader.scenarios_of(&table));
        let axes = reader.axes(&table);
        let draft = StudyDraft {
            title: reader.text(&table, "title").unwrap_or_default(),
            queues: reader.queues_of(&table, &axes),
            set: reader.set_of(&table),
            seeds: reader.seeds_of(&table),
            first_seed: reader.whole_of(&table, "seed", 0, 4_000_000_000_000_000).unwrap_or(1)
                as u64,
            flows: reader.flag(&table, "flows"),
            scenarios,
            axes,
        };
        reader.unused(&draft);
        reader.clashes(&draft);
        draft
    }

    fn finish(self, file: &str, text: &str) -> Study {
        let (queues, queues_at) = self.queues.into_iter().unzip();
        let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Study {
            name: stem.unwrap_or_else(|| file.into()),
            title: self.title,
            text: text.into(),
            file: file.into(),
            scenarios: self.scenarios,
            queues,
            queues_at,
            set: self.set,
            axes: self.axes,
            seeds: self.seeds,
            first_seed: self.first_seed,
            flows: self.flows,
            plots: vec![],
        }
    }
}

impl Reader<'_> {
    /// The plots, checked by the columns that the study's tables will have.
    fn plots_of_study(&mut self, root: &Node, study: &Study) -> Vec<Plot> {
        let groups = behind(study, &rows::groups());
        let flows = study.flows.then(|| behind(study, &rows::flows()));
        let levels = |name: &str| levels(study, name);
        let known = KnownColumns { groups: &groups, flows: flows.as_ref(), levels: &levels };
        let table = self.table(root, "");
        self.plots_of(&table, &known)
    }

    fn scenarios_of(&mut self, table: &Table<'_>) -> Vec<Base> {
        let (key, node) = match (table.get("scenario"), table.get("scenarios")) {
            (Some(node), None) => ("scenario", node),
            (None, Some(node)) => ("scenarios", node),
            (Some(_), Some(_)) => {
                self.refuse_key(table, "scenarios", "there is a key `scenario` already");
                return vec![];
            }
            (None, None) => {
                let why = "this key is required: a scenario file, or a shipped scenario's name";
                self.missing(table, "scenario", why);
                return vec![];
            }
        };
        let nodes = match &node.kind {
            TomlValue::List(_) => self.list(node, key),
            _ => std::slice::from_ref(node),
        };
        let found: Vec<Base> =
            nodes.iter().filter_map(|node| self.scenario_at(node, key)).collect();
        for (at, base) in found.iter().enumerate() {
            if found[..at].iter().any(|other| other.name == base.name) {
                let why = "another scenario has this name; tables could not tell them apart";
                self.problem(nodes[at].origin, key, &base.name, why);
            }
        }
        found
    }

    /// The scenario that `node` names: a file beside the study, else a shipped one.
    fn scenario_at(&mut self, node: &Node, key: &str) -> Option<Base> {
        let (TomlValue::Text(name) | TomlValue::Bare(name)) = &node.kind else {
            let why = format!("must be a scenario's file or name, not {}", node.what());
            self.problem(node.origin, key, &node.shown(), why);
            return None;
        };
        let path = Path::new(self.doc.file).parent().unwrap_or(Path::new("")).join(name);
        if !path.is_file()
            && let Some(text) = crate::shipped::find(name)
        {
            let file = format!("{name}.toml");
            return Some(Base { name: name.clone(), file, bytes: text.as_bytes().to_vec() });
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match crate::open::bytes(&path) {
            Ok(bytes) => Some(Base { name: stem, file: path.display().to_string(), bytes }),
            Err(why) => {
                let why = format!("{why}; nor is there a shipped scenario of this name");
                self.problem(node.origin, key, name, why);
                None
            }
        }
    }

    fn queues_of(&mut self, table: &Table<'_>, axes: &[Axis]) -> Vec<(String, Origin)> {
        let Some(node) = table.get("queues") else {
            let why = "this key is required: a list of queues, as in [\"drop_tail\", \"sfb\"]";
            self.missing(table, "queues", why);
            return vec![];
        };
        let mut queues: Vec<(String, Origin)> = vec![];
        for item in self.list(node, "queues") {
            let Some(text) = scalar(item) else {
                self.problem(item.origin, "queues", "", "must be a queue as text, as in \"sfb\"");
                continue;
            };
            if let Err(error) = text.parse::<QueueSpec>() {
                self.problem(item.origin, "queues", &error.value, error.why);
            }
            let known = axes.iter().flat_map(Axis::names).map(|(name, _)| name);
            let known: Vec<&str> = known.collect();
            for name in names(&text).into_iter().filter(|name| !known.contains(name)) {
                let near = did_you_mean(name, &known).unwrap_or_default();
                self.problem(
                    item.origin,
                    "queues",
                    name,
                    format!("no axis has a value of this name{near}"),
                );
            }
            let label = |text: &str| text.parse().map(|spec: QueueSpec| spec.label()).ok();
            if queues.iter().any(|(other, _)| label(other) == label(&text)) {
                self.problem(item.origin, "queues", &text, crate::spec::SAME_LABEL);
            }
            queues.push((text, item.origin));
        }
        queues
    }

    fn whole_of(&mut self, table: &Table<'_>, key: &str, least: i64, most: i64) -> Option<i64> {
        let node = table.get(key)?;
        match node.kind {
            TomlValue::Whole(n) if (least..=most).contains(&n) => Some(n),
            _ => {
                self.refuse_key(table, key, format!("must be a whole number, {least} to {most}"));
                None
            }
        }
    }
}
