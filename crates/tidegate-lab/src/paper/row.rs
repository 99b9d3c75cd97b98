//! Our figures beside the printed ones: rows, and the table of all of them.
use tidegate_report::Figure;

use super::book::{Paper, Reading};
use super::claim::{Claim, Fit};
use super::results::PaperResults;
use super::table;
use super::verdict::ClaimVerdict;

/// A claim with our figure.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimRow<'p> {
    /// The paper's folder.
    pub paper: &'p str,
    /// What is printed.
    pub claim: &'p Claim,
    /// Ours, in the claim's unit.
    pub ours: Option<Figure>,
    /// What ours says of it.
    pub verdict: ClaimVerdict,
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

/// The claims of `paper` that belong to one of `experiments`, each with its figure and verdict. A
/// claim that differs as run may hold under another reading. The first reading that is marked as
/// contradicted by the paper and makes it hold is named.
pub fn rows<'p>(
    paper: &'p Paper,
    experiments: &[String],
    results: &PaperResults,
) -> Vec<ClaimRow<'p>> {
    let asked = paper.claims.iter().filter(|claim| experiments.contains(&claim.experiment));
    let judged = |claim: &'p Claim| {
        let own = row(paper, claim, &claim.experiment, results);
        let reading =
            if own.verdict.is_apart() { reconciling(paper, claim, results) } else { None };
        match reading {
            Some(reading) => {
                ClaimRow { verdict: ClaimVerdict::HoldsUnder(reading.name.clone()), ..own }
            }
            None => own,
        }
    };
    asked.map(judged).collect()
}

/// The first reading that is marked as contradicted and makes `claim` hold.
fn reconciling<'p>(paper: &'p Paper, claim: &Claim, results: &PaperResults) -> Option<&'p Reading> {
    let tables =
        paper.readings.iter().filter(|table| table.claims(paper).any(|known| known == claim));
    let mut readings =
        tables.flat_map(|table| &table.readings).filter(|reading| reading.contradicted.is_some());
    readings
        .find(|reading| row(paper, claim, reading.under(), results).verdict == ClaimVerdict::Holds)
}

/// A claim with the figure of the experiment, or of the reading that `under` names.
pub(super) fn row<'p>(
    paper: &'p Paper,
    claim: &'p Claim,
    under: &str,
    results: &PaperResults,
) -> ClaimRow<'p> {
    let of = |setting: &str, queue: &str| {
        let closed = claim.quantity.closed().map(|value| value * claim.unit.per_base(1.0, 1.0));
        let place = (under, setting, queue);
        closed
            .and_then(Figure::exact)
            .or_else(|| results.figure(place, &claim.quantity, claim.unit))
    };
    let ours = of(&claim.setting, &claim.queue);
    let verdict = match (&claim.unchecked, ours) {
        (Some(why), _) => ClaimVerdict::Unchecked(why.clone()),
        (None, None) => ClaimVerdict::Unchecked("nothing was measured".into()),
        (None, Some(ours)) => {
            let other = claim.printed.other();
            let theirs =
                other.and_then(|o| of(o.setting.as_ref().unwrap_or(&claim.setting), &o.queue));
            let of_place = |setting: &str, queue: &str| {
                results.of(under, setting, queue).map_or(0, |all| all.len())
            };
            let theirs = theirs.zip(other).map(|(figure, o)| {
                (figure, of_place(o.setting.as_ref().unwrap_or(&claim.setting), &o.queue))
            });
            let ours = (ours, of_place(&claim.setting, &claim.queue));
            let verdict = claim.printed.judge(ours, theirs, claim.within);
            if matches!(claim.fit, Fit::Target(_)) { verdict.of_a_target() } else { verdict }
        }
    };
    ClaimRow { paper: &paper.folder, claim, ours, verdict }
}

impl ClaimRow<'_> {
    /// Why it cannot be checked, if it cannot.
    pub fn reason(&self) -> Option<&str> {
        match &self.verdict {
            ClaimVerdict::Unchecked(why) => Some(why),
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

    pub(super) fn ratio(&self) -> String {
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
pub fn csv(rows: &[ClaimRow<'_>]) -> String {
    table::written(&COLUMNS, rows.iter().map(|row| row.fields().to_vec()))
}
