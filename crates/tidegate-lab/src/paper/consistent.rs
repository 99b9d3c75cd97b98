//! Holds what a folder says against what it says elsewhere: claims, runs, what was fitted, what is
//! explained.
use crate::nearest::did_you_mean;
use crate::problem::{Place, Problem};

use super::book::{Paper, PaperRun};
use super::claim::{Claim, ClaimsFile, Fit};
use super::{DESCRIPTION, EXPLAINED};

/// Why a row cannot be checked whose queue is missing.
const NO_QUEUE: &str = "the queue is not in the catalog yet";

/// Holds claims, runs, and what was fitted against each other.
pub(super) fn consistent(paper: &Paper, page: &ClaimsFile<'_>, problems: &mut Vec<Problem>) {
    for claim in &paper.claims {
        if let Err((field, value, why)) = claim_consistent(paper, claim) {
            problems.push(page.problem(claim.line, field, &value, why));
        }
    }
    let whole = |why: String| in_file(paper, DESCRIPTION, why);
    explained(paper, problems);
    for fitted in &paper.fitted {
        let name = &fitted.name;
        if !paper.claims.iter().any(|c| c.fit == Fit::Target(name.clone())) {
            problems.push(whole(format!(
                "no claim is a target of the fitted `{name}`: which numbers was it chosen on?"
            )));
        }
        if !paper.claims.iter().any(|c| c.fit == Fit::Support(name.clone())) {
            problems.push(whole(format!(
                "no claim supports the fitted `{name}`: one that it was not chosen on must"
            )));
        }
    }
    for experiment in &paper.experiments {
        let claimed = paper.claims.iter().any(|c| c.experiment == experiment.id);
        if !claimed && experiment.unchecked.is_none() {
            let id = &experiment.id;
            problems
                .push(whole(format!("experiment {id} has no claim, and `unchecked` says not why")));
        }
    }
}

/// A mistake that is a file's as a whole.
fn in_file(paper: &Paper, file: &str, why: String) -> Problem {
    Problem {
        place: Place::File(format!("{}/{file}", paper.folder)),
        field: "".into(),
        value: "".into(),
        why,
    }
}

/// Every explanation is of something, and its evidence is there.
fn explained(paper: &Paper, problems: &mut Vec<Problem>) {
    for explanation in &paper.explanations {
        let name = &explanation.name;
        if !paper.claims.iter().any(|c| c.explained.as_ref() == Some(name)) {
            problems.push(in_file(paper, EXPLAINED, format!("no claim is explained by `{name}`")));
        }
        let missing = |id: &&String| !paper.readings.iter().any(|table| table.id == **id);
        for id in explanation.evidence.iter().filter(missing) {
            let known: Vec<&str> = paper.readings.iter().map(|table| table.id.as_str()).collect();
            let near = did_you_mean(id, &known).unwrap_or_default();
            problems.push(in_file(
                paper,
                EXPLAINED,
                format!("`{name}`: there is no [[readings]] `{id}`{near}"),
            ));
        }
    }
    for table in &paper.readings {
        if table.claims(paper).next().is_none() {
            problems.push(in_file(
                paper,
                EXPLAINED,
                format!("[[readings]] `{}` shows no claim", table.id),
            ));
        }
        if table.readings.is_empty() {
            problems.push(in_file(
                paper,
                EXPLAINED,
                format!("[[readings]] `{}` has no [[reading]]", table.id),
            ));
        }
    }
}

type Wrong = (&'static str, String, String);

fn claim_consistent(paper: &Paper, claim: &Claim) -> Result<(), Wrong> {
    names(paper, claim)?;
    if claim.quantity.closed().is_some() {
        let placed =
            !claim.setting.is_empty() || !claim.queue.is_empty() || claim.printed.other().is_some();
        let why = "a closed form has neither setting nor queue".to_string();
        return if placed { Err(("quantity", claim.quantity.to_string(), why)) } else { Ok(()) };
    }
    let run = paper.run(&claim.experiment, &claim.setting);
    let labels: Vec<String> =
        run.map_or(vec![], |r| r.full.compare.iter().map(|q| q.label()).collect());
    let known: Vec<&str> = labels.iter().map(String::as_str).collect();
    if let Some(why) = &claim.unchecked {
        return if why == NO_QUEUE && known.contains(&claim.queue.as_str()) {
            Err(("unchecked", why.clone(), "a run fills this row, so it can be checked".into()))
        } else {
            Ok(())
        };
    }
    queue(claim, run, &known)?;
    compared(paper, claim, run)?;
    groups(claim, run)
}

/// Experiment, fit and explanation are the paper's.
fn names(paper: &Paper, claim: &Claim) -> Result<(), Wrong> {
    if paper.experiment(&claim.experiment).is_none() {
        return Err((
            "experiment",
            claim.experiment.clone(),
            format!("{DESCRIPTION} has no such experiment"),
        ));
    }
    if let Fit::Target(name) | Fit::Support(name) = &claim.fit
        && !paper.fitted.iter().any(|f| f.name == *name)
    {
        return Err(("fit", name.clone(), format!("{DESCRIPTION} has no such [[fitted]]")));
    }
    match &claim.explained {
        Some(name) if !paper.explanations.iter().any(|e| e.name == *name) => {
            Err(("explained", name.clone(), format!("{EXPLAINED} has no such [[explanation]]")))
        }
        _ => Ok(()),
    }
}

/// The claim's queue is one of those that its run compares, `known`.
fn queue(claim: &Claim, run: Option<&PaperRun>, known: &[&str]) -> Result<(), Wrong> {
    if known.contains(&claim.queue.as_str()) {
        return Ok(());
    }
    let near = did_you_mean(&claim.queue, known).unwrap_or_default();
    let why = match run {
        Some(_) => format!("the run has no queue of that label; it has {}{near}", known.join(", ")),
        None => {
            format!("no run has the setting `{}`, and `unchecked` says not why", claim.setting)
        }
    };
    Err(("queue", claim.queue.clone(), why))
}

/// What is printed against another queue names one that is run.
fn compared(paper: &Paper, claim: &Claim, run: Option<&PaperRun>) -> Result<(), Wrong> {
    let Some(other) = claim.printed.other() else { return Ok(()) };
    let theirs =
        other.setting.as_ref().map_or(run, |setting| paper.run(&claim.experiment, setting));
    match theirs {
        None => Err(("printed", claim.text.clone(), "the experiment has no such setting".into())),
        Some(run) if !run.full.compare.iter().any(|queue| queue.label() == other.queue) => {
            Err(("printed", other.queue.clone(), "the run has no queue of that label".into()))
        }
        Some(_) => Ok(()),
    }
}

/// The groups that the quantity names are the scenario's.
fn groups(claim: &Claim, run: Option<&PaperRun>) -> Result<(), Wrong> {
    let named = claim.quantity.groups();
    let groups: Vec<&str> =
        run.map_or(vec![], |r| r.full.groups.iter().map(|g| g.name.as_str()).collect());
    match named.into_iter().find(|group| !groups.contains(group)) {
        Some(group) => {
            let near = did_you_mean(group, &groups).unwrap_or_default();
            let why =
                format!("the scenario has no group `{group}`; it has {}{near}", groups.join(", "));
            Err(("quantity", claim.quantity.to_string(), why))
        }
        None => Ok(()),
    }
}
