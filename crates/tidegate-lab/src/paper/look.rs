//! Our figures beside the printed ones: rows, the table of all of them, and what the pages show.
use tidegate_report::Figure;
use tidegate_report::papers as page;

use crate::study::stats::figure_of_some;

use super::board;
use super::book::{Experiment, Explanation, Paper, Reading, Run};
use super::claim::{Claim, Fit};
use super::figure::charts;
use super::quantity::Quantity;
use super::readings;
use super::run::{Length, Results};
use super::unit::Unit;
use super::verdict::Verdict;

/// A claim with our figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<'p> {
    /// The paper's folder.
    pub paper: &'p str,
    /// What is printed.
    pub claim: &'p Claim,
    /// Ours, in the claim's unit.
    pub ours: Option<Figure>,
    /// What ours says of it.
    pub verdict: Verdict,
}

/// The columns of the table.
const COLUMNS: [&str; 13] = [
    "paper",
    "experiment",
    "setting",
    "queue",
    "quantity",
    "unit",
    "printed",
    "ours",
    "ci95",
    "ratio",
    "verdict",
    "place",
    "explained",
];

/// A quantity's figure over the seeds, in `unit`.
pub(super) fn figure(
    results: &Results,
    (under, setting, queue): (&str, &str, &str),
    quantity: &Quantity,
    unit: Unit,
) -> Option<Figure> {
    let replications = results.of(under, setting, queue)?;
    figure_of_some(replications.iter().map(|replication| quantity.value(replication, unit)))
}

/// The claims of `paper` that belong to one of `experiments`, each with its figure and verdict. One
/// that differs as run holds under the first reading of the paper's that is told to be contradicted
/// and under which it does.
pub fn rows<'p>(paper: &'p Paper, experiments: &[String], results: &Results) -> Vec<Row<'p>> {
    let asked = paper.claims.iter().filter(|claim| experiments.contains(&claim.experiment));
    let judged = |claim: &'p Claim| {
        let own = row(paper, claim, &claim.experiment, results);
        let reading =
            if own.verdict.is_apart() { reconciling(paper, claim, results) } else { None };
        match reading {
            Some(reading) => Row { verdict: Verdict::HoldsUnder(reading.name.clone()), ..own },
            None => own,
        }
    };
    asked.map(judged).collect()
}

/// The first reading that is told to be contradicted and under which `claim` holds.
fn reconciling<'p>(paper: &'p Paper, claim: &Claim, results: &Results) -> Option<&'p Reading> {
    let tables =
        paper.readings.iter().filter(|table| table.claims(paper).any(|known| known == claim));
    let mut readings =
        tables.flat_map(|table| &table.readings).filter(|reading| reading.contradicted.is_some());
    readings.find(|reading| row(paper, claim, reading.under(), results).verdict == Verdict::Holds)
}

/// A claim with the figure of the experiment, or of the reading that `under` names.
pub(super) fn row<'p>(
    paper: &'p Paper,
    claim: &'p Claim,
    under: &str,
    results: &Results,
) -> Row<'p> {
    let of = |setting: &str, queue: &str| {
        let closed = claim.quantity.closed().map(|value| value * claim.unit.per_base(1.0, 1.0));
        let place = (under, setting, queue);
        closed
            .and_then(Figure::exact)
            .or_else(|| figure(results, place, &claim.quantity, claim.unit))
    };
    let ours = of(&claim.setting, &claim.queue);
    let verdict = match (&claim.unchecked, ours) {
        (Some(why), _) => Verdict::Unchecked(why.clone()),
        (None, None) => Verdict::Unchecked("nothing was measured".into()),
        (None, Some(ours)) => {
            let other = claim.printed.other();
            let theirs =
                other.and_then(|o| of(o.setting.as_ref().unwrap_or(&claim.setting), &o.queue));
            let of_place = |setting: &str, queue: &str| {
                results.of(under, setting, queue).map_or(0, <[_]>::len)
            };
            let theirs = theirs.zip(other).map(|(figure, o)| {
                (figure, of_place(o.setting.as_ref().unwrap_or(&claim.setting), &o.queue))
            });
            let ours = (ours, of_place(&claim.setting, &claim.queue));
            let verdict = claim.printed.judge(ours, theirs, claim.within);
            if matches!(claim.fit, Fit::Target(_)) { verdict.of_a_target() } else { verdict }
        }
    };
    Row { paper: &paper.folder, claim, ours, verdict }
}

impl Row<'_> {
    /// Why it cannot be checked, if it cannot.
    pub fn reason(&self) -> Option<&str> {
        match &self.verdict {
            Verdict::Unchecked(why) => Some(why),
            _ => None,
        }
    }

    /// The explanation of a claim that differs.
    pub fn explanation(&self) -> Option<&str> {
        self.claim.explained.as_deref().filter(|_| self.verdict.is_apart())
    }

    pub(super) fn mean(&self) -> String {
        self.ours.map_or(String::new(), |f| format!("{:.*}", self.claim.unit.digits(), f.mean()))
    }

    pub(super) fn half(&self) -> String {
        let half = self.ours.and_then(|f| f.ci95());
        half.map_or(String::new(), |half| format!("{half:.*}", self.claim.unit.digits().max(3)))
    }

    fn ratio(&self) -> String {
        let printed = self.claim.printed.number().filter(|n| *n != 0.0);
        let ratio = self.ours.and_then(|ours| Some(ours.mean() / printed?));
        ratio.map_or(String::new(), |ratio| format!("{ratio:.3}"))
    }

    /// Its fields, in the table's order.
    pub fn fields(&self) -> [String; 13] {
        let c = self.claim;
        [
            self.paper.into(),
            c.experiment.clone(),
            c.setting.clone(),
            c.queue.clone(),
            c.quantity.to_string(),
            c.unit.to_string(),
            c.text.clone(),
            self.mean(),
            self.half(),
            self.ratio(),
            self.verdict.to_string(),
            c.place.clone(),
            self.explanation().unwrap_or_default().into(),
        ]
    }
}

/// Rows as a table of comma-separated values.
pub fn csv(rows: &[Row<'_>]) -> String {
    table(&COLUMNS, rows.iter().map(|row| row.fields().to_vec()))
}

/// A table of comma-separated values.
pub(super) fn table(columns: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(vec![]);
    let _ = writer.write_record(columns);
    for row in rows {
        let _ = writer.write_record(row);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// What the pages show of `paper`: `experiments` of it.
pub fn page(
    paper: &Paper,
    experiments: &[String],
    results: &Results,
    length: Length,
) -> page::Paper {
    let rows = rows(paper, experiments, results);
    let drawn = charts(paper, experiments, results, length);
    let reread = readings::tables(paper, experiments, results);
    let (boards, maps) =
        (board::boards(paper, experiments, results), board::maps(paper, experiments, results));
    let shown = paper.experiments.iter().filter(|e| experiments.contains(&e.id));
    let of = |e: &Experiment| page::Experiment {
        id: e.id.clone(),
        place: e.place.clone(),
        title: e.title.clone(),
        remarks: e.remarks.clone(),
        unchecked: e.unchecked.clone(),
        claims: rows.iter().filter(|row| row.claim.experiment == e.id).map(claim).collect(),
        charts: of_experiment(&drawn, &e.id),
        explanations: explanations(paper, &rows, &e.id),
        readings: of_experiment(&reread, &e.id),
        boards: of_experiment(&boards, &e.id),
        maps: of_experiment(&maps, &e.id),
        runs: paper
            .runs
            .iter()
            .filter(|run| run.experiment == e.id)
            .map(|run| command(paper, run))
            .collect(),
    };
    let fitted = paper.fitted.iter().map(|fitted| {
        let with = |fit: &Fit| {
            rows.iter().filter(|row| row.claim.fit == *fit).map(claim).collect::<Vec<_>>()
        };
        page::Fitted {
            parameter: fitted.parameter.clone(),
            targets: with(&Fit::Target(fitted.name.clone())),
            supports: with(&Fit::Support(fitted.name.clone())),
        }
    });
    page::Paper {
        folder: paper.folder.clone(),
        key: paper.key.clone(),
        title: paper.title.clone(),
        authors: paper.authors.join(", "),
        venue: paper.venue.clone(),
        experiments: shown.map(of).collect(),
        fitted: fitted.collect(),
    }
}

/// What belongs to the experiment called `id`.
fn of_experiment<T: Clone>(all: &[(String, T)], id: &str) -> Vec<T> {
    all.iter().filter(|(experiment, _)| experiment == id).map(|(_, one)| one.clone()).collect()
}

/// The explanations that rows of the experiment called `id` need, in the order of the file.
fn explanations(paper: &Paper, rows: &[Row<'_>], id: &str) -> Vec<page::Explanation> {
    let mine = |name: &str| {
        rows.iter().filter(|r| r.claim.experiment == id && r.explanation() == Some(name)).count()
    };
    let needed = paper.explanations.iter().filter(|explanation| mine(&explanation.name) > 0);
    let shown = |explanation: &Explanation| page::Explanation {
        name: explanation.name.clone(),
        why: explanation.why.clone(),
        claims: mine(&explanation.name),
        evidence: explanation.evidence.clone(),
    };
    needed.map(shown).collect()
}

fn claim(row: &Row<'_>) -> page::Claim {
    let c = row.claim;
    page::Claim {
        experiment: c.experiment.clone(),
        setting: c.setting.clone(),
        queue: c.queue.clone(),
        quantity: c.quantity.to_string(),
        unit: c.unit.to_string(),
        printed: c.text.clone(),
        ours: row.mean(),
        ci95: row.half(),
        ratio: row.ratio(),
        kind: row.verdict.kind(),
        verdict: row.verdict.to_string(),
        place: c.place.clone(),
        explained: row.explanation().unwrap_or_default().into(),
    }
}

/// The command that runs one setting by itself.
fn command(paper: &Paper, run: &Run) -> String {
    let sets: String = run.sets.iter().map(|set| format!(" --set '{set}'")).collect();
    let file = match run.scenario_file.strip_prefix("../") {
        Some(of_another) => of_another.into(),
        None => format!("{}/{}", paper.folder, run.scenario_file),
    };
    format!("tidegate compare papers/{file}{sets} --seeds {}", run.full.run.seeds)
}
