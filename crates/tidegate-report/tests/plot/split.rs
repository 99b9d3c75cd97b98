//! What is taken together and what is not.
use tidegate_report::plot::{Plot, PlotKind, Wanted};
use tidegate_report::tidy::Tidy;

use super::seen::{Seen, points};
use super::table::{numbers, only, plot, seeds, texts, throughputs};
use super::{close, drawn, refused};

/// A table of all combinations of so many levels of `a`, `b` and `c` with two seeds. The value is
/// `a` + 10 `b` + 100 `c`, one more with the second seed.
fn grid(levels: [usize; 3]) -> Tidy {
    let mut columns: Vec<Vec<f64>> = vec![vec![]; 5];
    for k in 0..levels.iter().product::<usize>() * 2 {
        let (seed, k) = (k % 2, k / 2);
        let (a, k) = (k % levels[0], k / levels[0]);
        let (b, c) = (k % levels[1], k / levels[1]);
        let value = (a + 10 * b + 100 * c + seed) as f64;
        for (column, value) in columns.iter_mut().zip([a, b, c, seed].map(|n| n as f64)) {
            column.push(value);
        }
        columns[4].push(value);
    }
    let names = ["x", "b", "c", "seed", "value"];
    Tidy { columns: (0..5).map(|k| numbers(names[k], "", &columns[k])).collect() }
}

/// The heights of the joined points of each panel, as values.
fn lines(svg: &str, panels: usize) -> Vec<Vec<f64>> {
    let seen = Seen::of(svg);
    assert_eq!(seen.panels().len(), panels);
    // All panels of a row have their ticks at the first.
    let mut upwards = seen.upwards(seen.panels()[0], false);
    let mut row = Seen::edge(seen.panels()[0])[1];
    let mut lines = vec![];
    for panel in seen.panels() {
        if Seen::edge(panel)[1] != row {
            (row, upwards) = (Seen::edge(panel)[1], seen.upwards(panel, false));
        }
        let line = |n: &roxmltree::Node| n.attribute("stroke-width") == Some("1");
        let path = seen.series(panel, "").into_iter().find(line).map(points).expect("a line");
        lines.push(path.iter().map(|at| upwards.value(at.1)).collect());
    }
    lines
}

#[test]
fn settings_that_no_axis_shows_get_panels_of_their_own() {
    let picture = drawn(&plot(PlotKind::Lines, "x", "value"), &grid([3, 2, 2]));
    assert_eq!(picture.notes, ["4 panels, one for each setting that is on no axis"]);
    for (k, line) in lines(&picture.svg, 4).into_iter().enumerate() {
        let first = 0.5 + (10 * (k % 2) + 100 * (k / 2)) as f64;
        for (step, value) in line.into_iter().enumerate() {
            close(value, first + step as f64, 0.3);
        }
    }
    let words = Seen::of(&picture.svg).words();
    for head in ["b 0", "b 1", "c 0", "c 1"] {
        assert_eq!(words.iter().filter(|word| *word == head).count(), 1, "{head} in {words:?}");
    }
}

#[test]
fn all_panels_have_the_same_axes() {
    let picture = drawn(&plot(PlotKind::Lines, "x", "value"), &grid([3, 2, 1]));
    let seen = Seen::of(&picture.svg);
    let edges: Vec<[f64; 4]> = seen.panels().into_iter().map(Seen::edge).collect();
    assert_eq!((edges[0][2], edges[0][3]), (edges[1][2], edges[1][3]), "{edges:?}");
}

#[test]
fn a_mean_over_settings_must_be_asked_for() {
    let pooled =
        Plot { pooled: vec!["b".into(), "c".into()], ..plot(PlotKind::Lines, "x", "value") };
    let picture = drawn(&pooled, &grid([3, 2, 2]));
    // Of 0, 10, 100 and 110 the mean is 55; of the seeds 0.5 more.
    for (step, value) in lines(&picture.svg, 1).remove(0).into_iter().enumerate() {
        close(value, 55.5 + step as f64, 0.05);
    }
}

#[test]
fn more_settings_than_a_picture_shows_are_refused_by_name() {
    let mut table = grid([3, 2, 2]);
    let rows = table.rows();
    let more: Vec<f64> = (0..rows).map(|row| (row % 4 / 2) as f64).collect();
    table.columns.insert(3, numbers("run.more", "", &more));
    table.columns[0] = numbers("x", "", &vec![1.0; rows]);
    let why = refused(&plot(PlotKind::Lines, "x", "value"), &table);
    assert!(why.contains("rows differ in run.more, too (0, 1)") && why.contains("pool"), "{why}");
    let one = Plot {
        filters: vec![only("run.more", Wanted::Number(1.0))],
        pooled: vec!["seed".into()],
        ..plot(PlotKind::Lines, "x", "value")
    };
    assert_eq!(Seen::of(&drawn(&one, &table).svg).panels().len(), 4);
}

#[test]
fn axes_in_step_need_no_panels() {
    let mut table = throughputs();
    let twice: Vec<f64> = (0..table.rows()).map(|row| (row / 4 % 3) as f64).collect();
    table.columns.insert(1, numbers("network.limit", "bytes", &twice));
    let picture = drawn(&plot(PlotKind::Lines, "network.delay", "throughput_bps"), &table);
    assert_eq!(Seen::of(&picture.svg).panels().len(), 1);
}

/// Two groups of three runs, each run a cell; the utilization is the link's.
fn groups() -> Tidy {
    let conduct = ["responsive", "unresponsive"];
    Tidy {
        columns: vec![
            numbers("cell", "", &[0.0, 0.0, 1.0, 1.0, 2.0, 2.0]),
            texts("queue", &["red"; 6]),
            seeds(&[1, 1, 2, 2, 3, 3]),
            texts("group", &["tcp", "flood", "tcp", "flood", "tcp", "flood"]),
            texts("conduct", &[conduct; 3].concat()),
            numbers("link_utilization", "", &[0.5, 0.5, 0.6, 0.6, 0.7, 0.7]),
            numbers("throughput_bps", "bit/s", &[1e6, 9e6, 2e6, 8e6, 3e6, 7e6]),
        ],
    }
}

#[test]
fn a_quantity_of_the_link_counts_once_for_each_run() {
    let picture = drawn(&plot(PlotKind::Strip, "queue", "link_utilization"), &groups());
    let seen = Seen::of(&picture.svg);
    let [panel] = seen.panels()[..] else { panic!("one panel") };
    let points = seen.series(panel, "red");
    assert_eq!(points.iter().filter(|n| n.has_tag_name("circle")).count(), 3);
}

#[test]
fn quantities_of_groups_are_kept_apart() {
    let picture = drawn(&plot(PlotKind::Strip, "queue", "throughput_bps"), &groups());
    assert_eq!(Seen::of(&picture.svg).panels().len(), 2);
    let users = Plot {
        filters: vec![only("group", Wanted::Text("tcp".into()))],
        ..plot(PlotKind::Strip, "queue", "throughput_bps")
    };
    assert_eq!(Seen::of(&drawn(&users, &groups()).svg).panels().len(), 1);
}

#[test]
fn a_series_looks_the_same_when_others_are_left_out() {
    for kind in [PlotKind::Lines, PlotKind::Box, PlotKind::Strip] {
        let all = plot(kind, "network.delay", "throughput_bps");
        let one = Plot { filters: vec![only("queue", Wanted::Text("sfb".into()))], ..all.clone() };
        let look = |plot: &Plot| {
            let picture = drawn(plot, &throughputs());
            let seen = Seen::of(&picture.svg);
            let parts = seen.series(seen.panels()[0], "sfb");
            let of = |part: &roxmltree::Node| {
                ["fill", "stroke", "stroke-dasharray"]
                    .map(|name| part.attribute(name).map(String::from))
            };
            parts.iter().map(of).collect::<Vec<_>>()
        };
        assert!(!look(&one).is_empty());
        assert_eq!(look(&one), look(&all), "{kind:?}");
    }
}
