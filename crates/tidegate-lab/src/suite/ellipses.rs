//! Pictures of a cell: goodput over delay, an ellipse for each queue (RFC 7928 §2.7).
use std::sync::Arc;

use tidegate_report::Tidy;
use tidegate_report::plot::{Plot, PlotKind, Scale, draw};
use tidegate_report::tidy::{Column, Values};

use super::book::Suite;
use super::run::SuiteResults;

/// Across: what packets waited beyond an idle way, on average. Up: goodput.
const AXES: [&str; 2] = ["delay_variation_ms_mean", "goodput_bps"];

/// A picture for each group that the test of the cell at `index` of `results` asks for.
pub(super) fn of(suite: &Suite, results: &SuiteResults, index: usize) -> Vec<String> {
    let cell = &suite.cells[results.cells[index]];
    let wanted = suite.tests[cell.test].ellipses.iter();
    let there = |group: &&String| cell.full.groups.iter().any(|known| known.name == **group);
    wanted.filter(there).filter_map(|group| one(results, index, group)).collect()
}

/// The picture of a group; none where nothing is known of it.
fn one(results: &SuiteResults, index: usize, group: &str) -> Option<String> {
    let mut table: Option<Tidy> = None;
    for (place, queue) in results.queues.iter().enumerate() {
        let rows = rows(results.rows(index, place), &queue.label(), group)?;
        match &mut table {
            Some(all) => all.append(rows),
            None => table = Some(rows),
        }
    }
    let plot = Plot {
        x: Some(AXES[0].into()),
        y: Some(AXES[1].into()),
        x_scale: Scale::Log,
        x_label: Some(format!("mean delay beyond an idle way, {group} (ms)")),
        width_mm: 180.0,
        height_mm: Some(95.0),
        ..Plot::new(group, PlotKind::Ellipses)
    };
    draw(&plot, &table?).ok().map(|picture| picture.svg)
}

/// What each seed says of `group` behind one queue.
fn rows(all: &Tidy, queue: &str, group: &str) -> Option<Tidy> {
    let Values::Text(groups) = &all.column("group")?.values else { return None };
    let same = |known: &Option<Arc<str>>| known.as_deref() == Some(group);
    let mine: Vec<usize> = (0..groups.len()).filter(|row| same(&groups[*row])).collect();
    let numbers = |name: &str| {
        let column = all.column(name)?;
        let values = mine.iter().map(|row| column.number(*row)).collect();
        Some(Column::new(name, &column.unit, &column.what, Values::Number(values)))
    };
    let label = Values::Text(vec![Some(Arc::from(queue)); mine.len()]);
    let queue = Column::new("queue", "", "the queue's label", label);
    Some(Tidy { columns: vec![queue, numbers("seed")?, numbers(AXES[0])?, numbers(AXES[1])?] })
}

#[cfg(test)]
mod tests {
    use super::super::{SuiteLength, SuiteRequest, open, run};
    use super::*;

    struct Quiet;
    impl crate::replication::Watch for Quiet {}

    #[test]
    fn every_group_that_is_asked_for_has_a_picture_with_every_queue() {
        let suite = open("rfc7928").unwrap();
        let asked = SuiteRequest {
            suite: &suite,
            tests: suite.tests(&["6.2".into()]).unwrap(),
            queues: ["drop_tail", "codel", "pie"].map(|name| name.parse().unwrap()).to_vec(),
            length: SuiteLength::Quick,
            seeds: Some(3),
        };
        let results = run(&asked, None, &Quiet).unwrap();
        let pictures = of(&suite, &results, 0);
        assert_eq!(pictures.len(), 2, "the near one's and the far one's");
        for picture in pictures {
            for queue in ["drop_tail", "codel", "pie"] {
                let series = format!("<g class=\"series\" aria-label=\"{queue}\"><ellipse");
                assert_eq!(picture.matches(&series).count(), 1, "{queue} in {picture}");
            }
        }
    }
}
