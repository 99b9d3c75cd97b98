//! What is hardly to be drawn, or not at all.
use proptest::prelude::*;
use tidegate_report::plot::{Plot, PlotKind, Scale, Wanted, draw};
use tidegate_report::tidy::{Column, Tidy, Values};

use super::seen::{Seen, number, points};
use super::table::{numbers, only, over_seeds, plot, seeds, texts, throughputs};
use super::{drawn, refused};

fn rates(kind: PlotKind) -> Plot {
    plot(kind, if kind == PlotKind::Lines { "network.delay" } else { "queue" }, "throughput_bps")
}

#[test]
fn what_is_not_there_is_named() {
    let table = throughputs();
    let with = |change: fn(&mut Plot)| {
        let mut plot = rates(PlotKind::Lines);
        change(&mut plot);
        refused(&plot, &table)
    };
    for (change, why) in [
        ((|p| p.x = None) as fn(&mut Plot), "x: lines needs a column here"),
        (|p| p.z = Some("queue".into()), "z: lines has no such axis"),
        (|p| p.y = Some("goodput".into()), "y = goodput: there is no such column"),
        (|p| p.y = Some("queue".into()), "y = queue: has texts; a number is needed"),
        (
            |p| p.x = Some("throughput_bps".into()),
            "x = throughput_bps: is measured, and lines needs a setting here: one of network.delay, queue",
        ),
        (|p| p.colour = Some("seed".into()), "colour = seed: must be one of network.delay, queue"),
        (
            |p| p.filters = vec![only("queue", Wanted::Text("rde".into()))],
            "where.queue = rde: no row has it; known are red, sfb",
        ),
        (
            |p| p.filters = vec![only("network.delay", Wanted::Number(0.03))],
            "where.network.delay = 0.03: no row has it; known are 10 ms, 20 ms, 50 ms",
        ),
        (|p| p.width_mm = 2.0, "width = 2 mm: must be 20 to 1000 mm"),
        (|p| p.height_mm = Some(f64::NAN), "height = NaN mm: must be 20 to 1000 mm"),
        (|p| p.font_size_pt = 0.0, "font_size = 0 pt: must be 3 to 36 pt"),
    ] {
        assert_eq!(with(change), why);
    }
    let small = Plot { height_mm: Some(20.0), font_size_pt: 20.0, ..rates(PlotKind::Lines) };
    let why = refused(&small, &table);
    assert!(why.starts_with("height = 20 mm: is too small for 1 × 1 panels"), "{why}");
    assert_eq!(refused(&rates(PlotKind::Lines), &Tidy::default()), "the table has no rows");
}

#[test]
fn nothing_to_draw_is_said() {
    let nothing = over_seeds("throughput_bps", "bit/s", &[f64::NAN, f64::INFINITY]);
    let why = "y = throughput_bps: the rows have no value of it";
    assert_eq!(refused(&rates(PlotKind::Box), &nothing), why);
    let zero = over_seeds("throughput_bps", "bit/s", &[0.0, -1.0]);
    let log = Plot { y_scale: Scale::Log, ..rates(PlotKind::Strip) };
    let why = refused(&log, &zero);
    assert!(why.contains("no value is above 0"), "{why}");
}

#[test]
fn values_without_a_place_on_a_logarithmic_axis_are_counted() {
    let table = over_seeds("throughput_bps", "bit/s", &[0.0, 1e6, 2e6, f64::NAN]);
    for kind in [PlotKind::Strip, PlotKind::Box] {
        let picture = drawn(&Plot { y_scale: Scale::Log, ..rates(kind) }, &table);
        assert_eq!(picture.notes, ["1 values of 0 or less have no place on the logarithmic axis"]);
        Seen::of(&picture.svg);
    }
    let cdf = Plot { x_scale: Scale::Log, ..plot(PlotKind::Cdf, "throughput_bps", "") };
    let picture = drawn(&cdf, &table);
    assert_eq!(picture.notes.len(), 1);
    assert!(Seen::of(&picture.svg).words().contains(&"throughput (Mbit/s)".into()));
}

#[test]
fn an_interval_that_reaches_zero_has_no_end_on_a_logarithmic_axis() {
    // Mean 2, half its interval 12.7062 · √2 / √2: from below zero.
    let mut table = over_seeds("throughput_bps", "bit/s", &[1e6, 3e6]);
    table.columns.insert(0, numbers("network.delay", "s", &[0.01, 0.01]));
    let log = Plot { y_scale: Scale::Log, ..rates(PlotKind::Lines) };
    let picture = drawn(&log, &table);
    let seen = Seen::of(&picture.svg);
    let panel = seen.panels()[0];
    let series = seen.series(panel, "red");
    let paths: Vec<_> = series.iter().filter(|n| n.has_tag_name("path")).collect();
    assert_eq!(paths.len(), 1, "a whisker");
    assert_eq!(points(*paths[0]).len(), 4, "the whisker and its upper end");
}

#[test]
fn one_seed_has_no_interval_and_that_is_said() {
    let mut table = throughputs();
    let once: Vec<usize> = (0..table.rows()).step_by(4).collect();
    for column in &mut table.columns {
        column.values = match &column.values {
            Values::Text(all) => Values::Text(once.iter().map(|&k| all[k].clone()).collect()),
            Values::Whole(all) => Values::Whole(once.iter().map(|&k| all[k]).collect()),
            Values::Number(all) => Values::Number(once.iter().map(|&k| all[k]).collect()),
        };
    }
    let picture = drawn(&rates(PlotKind::Lines), &table);
    assert!(picture.notes[0].starts_with("no intervals"), "{:?}", picture.notes);
    let one = over_seeds("throughput_bps", "bit/s", &[5e6]);
    for kind in [PlotKind::Box, PlotKind::Strip] {
        assert_eq!(drawn(&rates(kind), &one).notes, Vec::<String>::new());
    }
    let columns = vec![
        texts("queue", &["red"]),
        seeds(&[1]),
        numbers("delay_ms_mean", "ms", &[3.0]),
        numbers("throughput_bps", "bit/s", &[2e6]),
    ];
    let picture = drawn(&Plot::new("test", PlotKind::Ellipses), &Tidy { columns });
    assert!(picture.notes[0].starts_with("no ellipses"), "{:?}", picture.notes);
    assert!(!picture.svg.contains("<ellipse"));
}

#[test]
fn values_that_are_all_the_same_stand_in_the_middle() {
    for (value, scale) in [(5e6, Scale::Linear), (0.0, Scale::Linear), (5e6, Scale::Log)] {
        let table = over_seeds("throughput_bps", "bit/s", &[value; 3]);
        let picture = drawn(&Plot { y_scale: scale, ..rates(PlotKind::Strip) }, &table);
        let seen = Seen::of(&picture.svg);
        let panel = seen.panels()[0];
        let [_, top, _, height] = Seen::edge(panel);
        for node in seen.series(panel, "red").iter().filter(|n| n.has_tag_name("circle")) {
            let part = (number(*node, "cy") - top) / height;
            assert!(value == 0.0 || (0.4..=0.6).contains(&part), "{value}: {part}");
        }
        let rungs = Seen::texts(panel).iter().filter(|text| text.anchor == "end").count();
        assert!(rungs >= 2, "{value}: {rungs} ticks");
    }
}

#[test]
fn names_are_text_and_nothing_else() {
    let mut table = over_seeds("throughput_bps", "bit/s", &[1e6, 2e6]);
    table.columns[0] = texts("queue", &["<b>&\"red'", "]]>\u{1}"]);
    let plot = Plot {
        title: Some("a < b & c".into()),
        font: "Nimbus \"Sans\"".into(),
        ..rates(PlotKind::Box)
    };
    let picture = drawn(&plot, &table);
    let words = Seen::of(&picture.svg).words();
    assert!(
        words.contains(&"<b>&\"red'".into()) && words.contains(&"a < b & c".into()),
        "{words:?}"
    );
}

#[test]
fn the_legend_stands_above_all_panels() {
    let picture = drawn(&rates(PlotKind::Lines), &throughputs());
    let seen = Seen::of(&picture.svg);
    let [_, top, ..] = Seen::edge(seen.panels()[0]);
    let root = seen.document.root();
    for text in Seen::texts(root).iter().filter(|t| t.text == "red" || t.text == "sfb") {
        assert!(text.at.1 < top, "{text:?} is below {top}");
    }
}

#[test]
fn a_picture_has_the_size_and_the_font_that_were_asked_for() {
    let plot = Plot {
        width_mm: 180.0,
        height_mm: Some(60.0),
        font: "Latin Modern Roman".into(),
        font_size_pt: 9.0,
        ..rates(PlotKind::Lines)
    };
    let picture = drawn(&plot, &throughputs());
    let seen = Seen::of(&picture.svg);
    let svg = seen.document.root_element();
    assert_eq!((svg.attribute("width"), svg.attribute("height")), (Some("180mm"), Some("60mm")));
    assert_eq!(svg.attribute("viewBox"), Some("0 0 510.24 170.08"), "points, 72 in 25.4 mm");
    assert_eq!(svg.attribute("font-family"), Some("Latin Modern Roman"));
    assert_eq!(svg.attribute("font-size"), Some("9"));
    assert_eq!(picture, drawn(&plot, &throughputs()), "the same bytes");
}

/// Delay set, delay, throughput, queue, seed.
type Row = (Option<f64>, Option<f64>, Option<f64>, usize, i64);

fn any_value() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        4 => (-10.0..1e7f64).prop_map(Some),
        1 => prop::sample::select(vec![
            None, Some(0.0), Some(-0.0), Some(f64::NAN), Some(f64::INFINITY), Some(-1e300),
            Some(1e300), Some(1e-300), Some(f64::MIN_POSITIVE), Some(f64::MAX),
        ]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever stands in a table, it is drawn or refused.
    #[test]
    fn any_table_is_drawn_or_refused(
        rows in prop::collection::vec(
            (any_value(), any_value(), any_value(), 0..3usize, 0..3i64), 0..24),
        kind in prop::sample::select(PlotKind::ALL.to_vec()),
        log in any::<[bool; 3]>(),
        size in (20.0..200.0f64, 20.0..200.0f64, 3.0..12.0f64),
        told in any::<bool>(),
    ) {
        let of = |pick: fn(&Row) -> Option<f64>| {
            Values::Number(rows.iter().map(pick).collect())
        };
        let queues: Vec<&str> = rows.iter().map(|row| ["red", "sfb", "drr"][row.3]).collect();
        let table = Tidy { columns: vec![
            Column::new("network.delay", "s", "", of(|row| row.0)),
            texts("queue", &queues),
            seeds(&rows.iter().map(|row| row.4).collect::<Vec<_>>()),
            Column::new("delay_ms_mean", "ms", "", of(|row| row.1)),
            Column::new("throughput_bps", "bit/s", "", of(|row| row.2)),
        ] };
        let scale = |log: bool| if log { Scale::Log } else { Scale::Linear };
        let (x, y, z) = match kind {
            PlotKind::Heat => ("network.delay", "queue", Some("throughput_bps".to_string())),
            PlotKind::Cdf => ("delay_ms_mean", "", None),
            PlotKind::Ellipses => ("delay_ms_mean", "throughput_bps", None),
            _ => ("network.delay", "throughput_bps", None),
        };
        let plot = Plot {
            z,
            x_scale: scale(log[0]),
            y_scale: scale(log[1]),
            z_scale: scale(log[2]),
            width_mm: size.0,
            height_mm: told.then_some(size.1),
            font_size_pt: size.2,
            ..plot(kind, x, y)
        };
        if let Ok(picture) = draw(&plot, &table) {
            Seen::of(&picture.svg);
        }
    }
}
