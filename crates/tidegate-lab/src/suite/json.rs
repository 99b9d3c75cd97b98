//! Scores as JSON, `tidegate.suite/1`. A test's figures are those of its worst cell.
use serde_json::{Map, Value, json};

use super::book::{Suite, SuiteLength};
use super::run::SuiteResults;
use super::score::{OfCell, OfQueue, OfTest, Scores};
use crate::results::VERSION;

/// The scores as JSON: the queues in order, and every cell.
pub fn json(suite: &Suite, results: &SuiteResults, scores: &Scores) -> String {
    let label = |queue: usize| results.queues[queue].label();
    let figures = |of: &OfCell| -> Map<String, Value> {
        let figures = suite.figures(suite.cells[of.cell].test).iter().zip(&of.figures);
        figures.map(|(figure, found)| (figure.column(), json!(found))).collect()
    };
    let cell = |of: &OfCell| {
        let cell = &suite.cells[of.cell];
        json!({
            "test": suite.tests[cell.test].id, "cell": cell.name, "queue": label(of.queue),
            "sure": of.sure, "passed": of.passed, "figures": figures(of),
        })
    };
    let test = |queue: usize, of: &OfTest| {
        json!({
            "test": suite.tests[of.test].id, "sure": of.sure,
            "worst_cell": suite.cells[of.worst].name, "passed": of.passed, "of": of.of,
            "figures": scores.cell(of.worst, queue).map(figures),
        })
    };
    let queue = |of: &OfQueue| {
        let mut queue = json!({
            "queue": label(of.queue), "spec": results.queues[of.queue].to_string(),
            "state_bytes": of.state_bytes, "ns": of.ns,
        });
        // A suite without a bound measures and does not judge.
        if suite.bound.is_some() {
            queue["passed"] = json!(of.passed);
            queue["of"] = json!(of.of);
            queue["tests"] = of.tests.iter().map(|found| test(of.queue, found)).collect();
        }
        queue
    };
    let document = json!({
        "schema": "tidegate.suite/1", "made_by": VERSION,
        "suite": suite.name, "version": suite.version, "frozen": suite.frozen,
        "quick": results.length == SuiteLength::Quick, "seeds": results.seeds, "bound": suite.bound,
        "queues": scores.queues.iter().map(queue).collect::<Vec<_>>(),
        "cells": scores.cells.iter().map(cell).collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}
