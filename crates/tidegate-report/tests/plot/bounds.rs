//! How much a picture can hold, and which rows, panels and series come into it.
use tidegate_report::plot::{Filter, Plot, PlotKind, Scale, Wanted};
use tidegate_report::tidy::{Column, Tidy, Values};

use super::seen::{Seen, number};
use super::table::{numbers, only, plot, seeds, texts, throughputs};
use super::{close, drawn, refused};

/// A table of so many queues and so many settings of `limit`, two seeds each.
fn many(queues: usize, settings: usize) -> Tidy {
    let rows = queues * settings * 2;
    let of = |row: usize| (row / 2 % queues, row / 2 / queues);
    let names: Vec<String> = (0..rows).map(|row| format!("queue {}", of(row).0)).collect();
    let all: Vec<f64> = (0..rows).map(|row| row as f64).collect();
    let limit: Vec<f64> = (0..rows).map(|row| of(row).1 as f64).collect();
    Tidy {
        columns: vec![
            numbers("limit", "packets", &limit),
            texts("queue", &names.iter().map(String::as_str).collect::<Vec<_>>()),
            seeds(&(0..rows).map(|row| (row % 2) as i64).collect::<Vec<_>>()),
            numbers("jain", "", &all),
        ],
    }
}

#[test]
fn more_series_than_can_be_told_apart_are_refused() {
    let of = |queues| many(queues, 2);
    let wide = Plot { width_mm: 180.0, ..plot(PlotKind::Lines, "limit", "jain") };
    let picture = drawn(&wide, &of(35));
    let seen = Seen::of(&picture.svg);
    let mut looks: Vec<String> = (0..35)
        .map(|n| {
            let parts = seen.series(seen.panels()[0], &format!("queue {n}"));
            let line = parts.iter().find(|node| node.attribute("stroke-width") == Some("1"));
            let line = line.unwrap_or_else(|| panic!("no line of queue {n}"));
            ["stroke", "stroke-dasharray"].map(|name| line.attribute(name).unwrap_or("-")).join(" ")
        })
        .collect();
    looks.sort();
    looks.dedup();
    assert_eq!(looks.len(), 35, "no two lines look the same");
    let why = refused(&wide, &of(36));
    assert_eq!(why, "colour = queue: has 36 values; at most 35 can be told apart");
    let where_ = Filter {
        column: "queue".into(),
        values: ["queue 1", "queue 35"].map(|name| Wanted::Text(name.into())).to_vec(),
    };
    let two = Plot { filters: vec![where_], ..wide };
    let picture = drawn(&two, &of(36));
    let words = Seen::of(&picture.svg).words();
    assert!(words.contains(&"queue 35".into()) && !words.contains(&"queue 2".into()), "{words:?}");
}

#[test]
fn more_panels_than_a_page_holds_are_refused() {
    let large = Plot {
        width_mm: 400.0,
        height_mm: Some(400.0),
        font_size_pt: 5.0,
        ..plot(PlotKind::Strip, "queue", "jain")
    };
    assert_eq!(Seen::of(&drawn(&large, &many(2, 48)).svg).panels().len(), 48);
    let why = refused(&large, &many(2, 49));
    assert!(why.starts_with("facet = limit: would be 49 panels; at most 48 are drawn"), "{why}");
    let pooled = Plot { pooled: vec!["limit".into()], ..large };
    assert_eq!(Seen::of(&drawn(&pooled, &many(2, 49)).svg).panels().len(), 1);
}

#[test]
fn two_facets_go_across_and_down_and_three_are_refused() {
    let mut table = many(2, 3);
    table.columns.insert(0, numbers("delay", "s", &[0.01; 12]));
    let with = |facets: &[&str]| Plot {
        facets: facets.iter().map(|name| name.to_string()).collect(),
        ..plot(PlotKind::Strip, "delay", "jain")
    };
    let picture = drawn(&with(&["limit", "queue"]), &table);
    let seen = Seen::of(&picture.svg);
    let edges: Vec<[f64; 4]> = seen.panels().into_iter().map(Seen::edge).collect();
    assert_eq!(edges.len(), 6);
    // Three across in each of two rows, alike in size.
    for (n, [x, y, width, height]) in edges.iter().enumerate() {
        let [first_x, first_y, first_width, first_height] = edges[0];
        assert_eq!((width, height), (&first_width, &first_height));
        assert_eq!(*y == first_y, n < 3, "panel {n}");
        assert_eq!(*x == first_x, n.is_multiple_of(3), "panel {n}");
    }
    assert!(picture.notes.is_empty(), "it was asked for: {:?}", picture.notes);
    let why = refused(&with(&["limit", "queue", "delay"]), &table);
    assert!(why.contains("at most two columns make panels: one across, one down"), "{why}");
}

#[test]
fn rows_are_chosen_by_all_filters_together() {
    let table = throughputs();
    let filters = vec![
        only("queue", Wanted::Text("red".into())),
        Filter {
            column: "network.delay".into(),
            values: vec![Wanted::Number(0.01), Wanted::Number(0.05)],
        },
    ];
    let plot = Plot { filters, ..plot(PlotKind::Strip, "network.delay", "throughput_bps") };
    let picture = drawn(&plot, &table);
    let seen = Seen::of(&picture.svg);
    let upwards = seen.upwards(seen.panels()[0], false);
    let points = seen.series(seen.panels()[0], "red");
    let mut found: Vec<f64> = points
        .iter()
        .filter(|node| node.has_tag_name("circle"))
        .map(|node| upwards.value(number(*node, "cy")))
        .collect();
    found.sort_by(f64::total_cmp);
    let wanted = [1.0, 2.0, 3.0, 3.0, 4.0, 6.0, 9.0, 12.0];
    assert_eq!(found.len(), wanted.len());
    found.iter().zip(wanted).for_each(|(ours, theirs)| close(*ours, theirs, 0.03));
    assert!(seen.series(seen.panels()[0], "sfb").is_empty());
}

#[test]
fn what_is_called_by_the_reader_stands_instead_of_the_columns_name() {
    let named = Plot {
        x_label: Some("one way".into()),
        y_label: Some("what is got".into()),
        title: Some("A title".into()),
        ..plot(PlotKind::Lines, "network.delay", "throughput_bps")
    };
    let words = Seen::of(&drawn(&named, &throughputs()).svg).words();
    for (there, absent) in
        [("one way", "delay (ms)"), ("what is got", "throughput (Mbit/s)"), ("A title", "test")]
    {
        assert!(words.iter().any(|word| word == there), "{there}: {words:?}");
        assert!(!words.iter().any(|word| word == absent), "{absent}: {words:?}");
    }
    let plain = plot(PlotKind::Lines, "network.delay", "throughput_bps");
    let words = Seen::of(&drawn(&plain, &throughputs()).svg).words();
    assert!(words.iter().any(|word| word == "delay (ms)"), "{words:?}");
}

/// One series needs no legend; where series stand on an axis, that says their names.
#[test]
fn a_legend_stands_only_where_it_says_something() {
    let count = |plot: &Plot| {
        let picture = drawn(plot, &throughputs());
        Seen::of(&picture.svg)
            .words()
            .iter()
            .filter(|word| *word == "red" || *word == "sfb")
            .count()
    };
    assert_eq!(count(&plot(PlotKind::Lines, "network.delay", "throughput_bps")), 2);
    let one = Plot {
        filters: vec![only("queue", Wanted::Text("red".into()))],
        ..plot(PlotKind::Lines, "network.delay", "throughput_bps")
    };
    assert_eq!(count(&one), 0);
    let on_axis = Plot {
        pooled: vec!["network.delay".into()],
        ..plot(PlotKind::Box, "queue", "throughput_bps")
    };
    assert_eq!(count(&on_axis), 2, "below the axis alone");
}

#[test]
fn settings_that_are_near_are_told_apart() {
    let settings = [10_001.0, 10_002.0, 10_003.0];
    let columns = vec![
        numbers("limit", "packets", &settings),
        texts("queue", &["red"; 3]),
        seeds(&[1; 3]),
        numbers("jain", "", &[0.1, 0.2, 0.3]),
    ];
    for kind in [PlotKind::Lines, PlotKind::Strip] {
        let picture = drawn(&plot(kind, "limit", "jain"), &Tidy { columns: columns.clone() });
        let words = Seen::of(&picture.svg).words();
        for setting in ["10001", "10002", "10003"] {
            assert!(words.iter().any(|word| word == setting), "{kind:?}: {setting}: {words:?}");
        }
    }
}

/// Many points have a band in place of whiskers, and no marks on the line.
#[test]
fn from_twenty_five_points_on_intervals_are_a_band() {
    let of = |points: usize| {
        let rows = points * 2;
        let at: Vec<f64> = (0..rows).map(|row| (row / 2) as f64).collect();
        let columns = vec![
            numbers("limit", "packets", &at),
            texts("queue", &vec!["red"; rows]),
            seeds(&(0..rows).map(|row| (row % 2) as i64).collect::<Vec<_>>()),
            numbers(
                "retransmitted_bytes",
                "bytes",
                &(0..rows).map(|row| row as f64).collect::<Vec<_>>(),
            ),
        ];
        let picture =
            drawn(&plot(PlotKind::Lines, "limit", "retransmitted_bytes"), &Tidy { columns });
        let seen = Seen::of(&picture.svg);
        let parts = seen.series(seen.panels()[0], "red");
        let bands = parts.iter().filter(|node| node.attribute("fill-opacity") == Some("0.18"));
        let marks = parts.iter().filter(|node| node.has_tag_name("circle"));
        (bands.count(), marks.count())
    };
    assert_eq!((of(24), of(25)), ((0, 24), (1, 0)));
}

/// Where a column has no value a setting is absent: it has a place of its own among levels.
#[test]
fn a_setting_that_does_not_apply_is_a_level_of_its_own() {
    let with = Values::Number(vec![Some(1.0), Some(2.0), None]);
    let columns = vec![
        Column::new("param.limit", "packets", "", with),
        texts("queue", &["red"; 3]),
        seeds(&[1; 3]),
        numbers("jain", "", &[0.1, 0.2, 0.3]),
    ];
    let table = Tidy { columns };
    let words = Seen::of(&drawn(&plot(PlotKind::Strip, "param.limit", "jain"), &table).svg).words();
    assert!(words.contains(&"–".into()), "{words:?}");
    let lines = drawn(&plot(PlotKind::Lines, "param.limit", "jain"), &table);
    let seen = Seen::of(&lines.svg);
    let marks = seen.series(seen.panels()[0], "red");
    assert_eq!(
        marks.iter().filter(|node| node.has_tag_name("circle")).count(),
        2,
        "it has no place"
    );
}

#[test]
fn what_a_kind_needs_is_what_it_checks() {
    for kind in PlotKind::ALL {
        let bare = Plot::new("p", kind);
        let own = kind.own_columns().into_iter().flatten().count();
        assert_eq!(bare.columns().count(), own, "{kind:?}");
        let missing = kind.needs().len() > own;
        let why = refused(&bare, &throughputs());
        assert_eq!(missing, why.contains(&format!("{} needs a column here", kind.name())), "{why}");
        for field in kind.scaled() {
            assert!(kind.needs().contains(&field.trim_end_matches("_scale")), "{kind:?}: {field}");
        }
    }
    assert_eq!(Plot::new("p", PlotKind::Box).x_scale, Scale::Linear);
}
