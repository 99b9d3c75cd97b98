//! Two results beside each other, against what is worked out by hand.
use std::sync::Arc;

use tidegate_report::diff::{Diff, Figures, Likeness, NoDiff};
use tidegate_report::table::{self, Look, Shown};
use tidegate_report::tidy::{Column, Values};
use tidegate_report::{Document, Figure, Group, Tidy, pool};

/// A row: scenario, rate, queue, seed, group, goodput, utilization of the link.
type Row<'r> = (&'r str, f64, &'r str, i64, &'r str, Option<f64>, f64);

fn table(rows: &[Row<'_>]) -> Tidy {
    let text = |of: fn(&Row<'_>) -> String| {
        Values::Text(rows.iter().map(|row| Some(Arc::from(of(row)))).collect())
    };
    let number = |of: fn(&Row<'_>) -> Option<f64>| Values::Number(rows.iter().map(of).collect());
    let column = |name: &str, unit: &str, values| Column::new(name, unit, "", values);
    Tidy {
        columns: vec![
            column("cell", "", Values::Whole((0..rows.len() as i64).map(Some).collect())),
            column("scenario", "", text(|row| row.0.into())),
            column("network.rate", "bit/s", number(|row| Some(row.1))),
            column("queue", "", text(|row| row.2.into())),
            column("seed", "", Values::Whole(rows.iter().map(|row| Some(row.3)).collect())),
            column("group", "", text(|row| row.4.into())),
            column("goodput_bps", "bit/s", number(|row| row.5)),
            column("link_utilization", "", number(|row| Some(row.6))),
        ],
    }
}

/// Five seeds of two groups at 1 Mbit/s: goodput as given, flood's twice as much.
fn run(queue: &'static str, seeds: std::ops::Range<i64>, goodputs: &[f64]) -> Figures {
    let rows: Vec<Row<'_>> = (seeds.zip(goodputs))
        .flat_map(|(seed, goodput)| {
            let of = |group, goodput| ("s", 1e6, queue, seed, group, Some(goodput), goodput / 1e6);
            [of("tcp", *goodput), of("flood", 2.0 * goodput)]
        })
        .collect();
    Figures::by_seed(&table(&rows)).unwrap()
}

const ONE: [f64; 5] = [10e3, 20e3, 30e3, 40e3, 50e3];

fn all(_: &str) -> bool {
    true
}

/// Of tcp's goodput.
fn goodput(diff: &Diff) -> &tidegate_report::diff::DiffRow {
    let own = |row: &&tidegate_report::diff::DiffRow| {
        row.metric.name == "goodput_bps" && row.place.last().unwrap() == "tcp"
    };
    diff.rows.iter().find(own).unwrap()
}

/// Of the same seeds, 1 to 5, with differences 1000, 1500, 1000, 1500 and 1000: mean 1200, standard
/// deviation √75000, and t_{.975,4} = 2.7764.
#[test]
fn the_same_seeds_are_paired() {
    let other = [11e3, 21.5e3, 31e3, 41.5e3, 51e3];
    let diff = Diff::new(&run("red", 1..6, &ONE), &run("red", 1..6, &other), all).unwrap();
    let row = goodput(&diff);
    let compared = row.compared.unwrap();
    assert!(compared.paired);
    assert_eq!((row.a.mean(), row.b.mean()), (30e3, 31.2e3));
    assert!((compared.difference.mean() - 1200.0).abs() < 1e-9);
    let half = 2.7764 * (75_000f64 / 5.0).sqrt();
    assert!((compared.difference.ci95().unwrap() - half).abs() < 0.05, "{compared:?}");
    // t = 1200 / √15000 = 9.798 with 4 degrees of freedom; Student's density summed up beyond it.
    assert!((compared.chance - 6.0818e-4).abs() < 1e-7, "{compared:?}");
    assert_eq!(row.verdict, Likeness::Certain);
}

/// Of other seeds: variances 2.5e8 of both, so that the error is √(2 · 5e7) = 10^4 with 8 degrees
/// of freedom, and t_{.975,8} = 2.3060.
#[test]
fn other_seeds_are_compared_by_welch() {
    let other = ONE.map(|value| value + 12e3);
    let diff = Diff::new(&run("red", 1..6, &ONE), &run("red", 6..11, &other), all).unwrap();
    let compared = goodput(&diff).compared.unwrap();
    assert!(!compared.paired);
    assert!((compared.difference.mean() - 12e3).abs() < 1e-9);
    assert!((compared.difference.ci95().unwrap() - 23_060.0).abs() < 0.5, "{compared:?}");
    // Student's density summed up beyond t = 1.2.
    assert!((compared.chance - 0.264_467).abs() < 1e-6, "{compared:?}");
    assert_eq!(goodput(&diff).verdict, Likeness::Alike);
}

/// The link's figure stands in each group's rows and is one; a cell's number is no key.
#[test]
fn places_are_matched_by_what_they_are() {
    let (a, b) = (run("red", 1..6, &ONE), run("red", 1..6, &ONE));
    assert_eq!(a.keys(), ["scenario", "network.rate", "queue", "group"]);
    let diff = Diff::new(&a, &b, all).unwrap();
    let mut places: Vec<String> = diff
        .rows
        .iter()
        .map(|row| format!("{} {}", row.place.join(" "), row.metric.name))
        .collect();
    places.sort();
    let places_of = [
        "s 1000000 red  link_utilization",
        "s 1000000 red flood goodput_bps",
        "s 1000000 red tcp goodput_bps",
    ];
    assert_eq!(places, places_of);
    assert_eq!((diff.count(Likeness::Same), diff.tested()), (3, 0));
    let only = Diff::new(&a, &b, |name| name == "goodput_bps").unwrap();
    assert_eq!(only.rows.len(), 2);
}

/// Other numbers of cells, values that are missing, a single seed.
#[test]
fn what_only_one_has_is_counted() {
    let a = [
        ("s", 1e6, "red", 1, "tcp", Some(1.0), 0.5),
        ("s", 2e6, "red", 1, "tcp", Some(1.0), 0.5),
        ("s", 3e6, "red", 1, "tcp", None, 0.5),
    ];
    let b =
        [("s", 2e6, "red", 1, "tcp", Some(2.0), 0.5), ("s", 3e6, "red", 1, "tcp", Some(2.0), 0.6)];
    let [a, b] = [&a[..], &b[..]].map(|rows| Figures::by_seed(&table(rows)).unwrap());
    let diff = Diff::new(&a, &b, all).unwrap();
    // A place of the group and one of its link.
    assert_eq!((diff.alone, diff.one_sided), ([2, 0], 1));
    let verdicts: Vec<Likeness> = diff.rows.iter().map(|row| row.verdict).collect();
    assert_eq!(verdicts, [Likeness::Unknown, Likeness::Unknown, Likeness::Same]);
    let text = table::diff(&diff, Shown::Different, &Look::plain());
    assert!(
        text.starts_with("0 of 3 figures differ. 1 figure is the same to the last digit. 2"),
        "{text}"
    );
    assert!(text.contains("2 rows stand in A alone. 1 figure is known"), "{text}");
}

#[test]
fn one_queue_against_another_is_a_comparison_and_other_scenarios_are_none() {
    let (red, sfb) = (run("red", 1..6, &ONE), run("sfb", 1..6, &ONE.map(|v| v * 3.0)));
    let diff = Diff::new(&red, &sfb, all).unwrap();
    assert_eq!(diff.queues, Some(["red".into(), "sfb".into()]));
    assert_eq!(diff.rows.len(), 3);
    let other = [("other", 1e6, "red", 1, "web", Some(1.0), 0.5)];
    let other = Figures::by_seed(&table(&other)).unwrap();
    let Err(NoDiff::Nothing(why)) = Diff::new(&red, &other, all) else { panic!() };
    assert_eq!(
        why,
        [
            "scenario: s in the first, other in the second",
            "group: tcp, flood in the first, web in the second"
        ]
    );
    let documents = Figures::together(&[Document::default()]);
    let Err(NoDiff::Nothing(why)) = Diff::new(&red, &documents, all) else { panic!() };
    assert!(why[0].contains("by scenario, network.rate, queue, group, the second"), "{why:?}");
    let lacking = Figures::by_seed(&Tidy::default()).unwrap_err();
    assert_eq!(lacking.to_string(), "the table has no column `queue`");
}

/// What was taken together gives the difference that the seeds' values give by Welch, the wider
/// interval of skewed delays notwithstanding.
#[test]
fn documents_agree_with_values_by_seed() {
    let of = |values: &[f64]| {
        let mut group = Group { name: "tcp".into(), ..Group::default() };
        let some = || values.iter().map(|value| Some(*value));
        group.goodput_bps = pool::figure_of_some(some());
        group.delay_ms.mean = pool::skewed(some());
        Document {
            scenario: "s".into(),
            label: "red".into(),
            seeds: vec![1, 2, 3, 4, 5],
            groups: vec![group],
            ..Document::default()
        }
    };
    let other = [12e3, 12e3, 35e3, 41e3, 99e3];
    let diff =
        Diff::new(&Figures::together(&[of(&ONE)]), &Figures::together(&[of(&other)]), all).unwrap();
    let expected = tidegate_report::interval::difference(&other, &ONE, false).unwrap();
    assert_eq!(diff.rows.len(), 2);
    for row in &diff.rows {
        let found = row.compared.unwrap().difference;
        assert!((found.mean() - expected.mean()).abs() < 1e-9);
        assert!((found.ci95().unwrap() / expected.ci95().unwrap() - 1.0).abs() < 1e-9, "{row:?}");
    }
}

/// Loss that never happened beside loss that did: one side has an interval, and so they differ.
/// Where neither has one, nothing is said.
#[test]
fn rare_events_are_judged_where_one_side_can_be() {
    let with = |losses: [f64; 3]| {
        let rows: Vec<Row<'_>> = (1..4)
            .zip(losses)
            .map(|(seed, loss)| ("s", 1e6, "red", seed, "tcp", Some(loss), 0.5))
            .collect();
        let mut table = table(&rows);
        table.columns[6].name = "loss_ratio".into();
        Figures::by_seed(&table).unwrap()
    };
    let verdict = |a, b| {
        let diff = Diff::new(&with(a), &with(b), |name| name == "loss_ratio").unwrap();
        diff.rows[0].verdict
    };
    assert_eq!(verdict([0.0; 3], [0.05, 0.051, 0.052]), Likeness::Certain);
    assert_eq!(verdict([0.0, 0.0, 1e-4], [0.0, 0.0, 3e-4]), Likeness::Unknown);
    assert_eq!(verdict([0.0; 3], [0.0; 3]), Likeness::Same);
}

/// Those that differ come first, the least likely ones before; marks and signs are right.
#[test]
fn the_table_says_what_differs_first() {
    let rows = |shift: f64, offset: i64| {
        let mut rows: Vec<Row<'_>> = vec![];
        for (seed, value) in (1 + offset..).zip([1.0e6, 1.1e6, 1.2e6, 1.3e6, 1.4e6, 1.5e6]) {
            rows.push(("s", 1e6, "red", seed, "alike", Some(value), 0.5));
            rows.push(("s", 1e6, "red", seed, "slight", Some(value + 0.3 * shift), 0.5));
            rows.push(("s", 1e6, "red", seed, "strong", Some(value - 3.0 * shift), 0.5));
        }
        Figures::by_seed(&table(&rows)).unwrap()
    };
    let diff = Diff::new(&rows(0.0, 0), &rows(1e6, 100), all).unwrap();
    let found: Vec<(&str, Likeness)> =
        diff.rows.iter().map(|row| (row.place[3].as_str(), row.verdict)).collect();
    assert_eq!(
        found,
        [
            ("strong", Likeness::Certain),
            ("slight", Likeness::Certain),
            ("alike", Likeness::Same),
            ("", Likeness::Same)
        ]
    );
    let text = table::diff(&diff, Shown::All, &Look::plain());
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("2 of 4 figures differ. About 1 would by chance alone, of 2"),
        "{text}"
    );
    assert!(lines[4].contains("strong") && lines[4].contains("-3.00 Mbit/s ±"), "{text}");
    assert!(lines[5].contains("slight") && lines[5].contains("+300 kbit/s ±"), "{text}");
    assert!(lines[4].ends_with("**") && text.contains("(the link)"), "{text}");
    let some = table::diff(&diff, Shown::Different, &Look::plain());
    assert!(!some.contains("alike") && some.contains("slight"), "{some}");
    let json: serde_json::Value = serde_json::from_str(&diff.to_json(["a", "b"])).unwrap();
    assert_eq!(json["summary"]["differ_by_holm"], 2);
    assert_eq!(json["figures"][0]["place"]["group"], "strong");
    assert_eq!(json["figures"][0]["difference"]["mean"], -3e6);
    assert_eq!(json["schema"], "tidegate.diff/1");
    assert_eq!(Figure::exact(0.5).map(|f| f.mean()), json["figures"][3]["a"]["mean"].as_f64());
}

/// The other way round every difference has the other sign, and nothing else changes.
#[test]
fn turned_round_a_diff_is_its_mirror() {
    let other = [12e3, 18e3, 39e3, 35e3, 77e3];
    let (a, b) = (run("red", 1..6, &ONE), run("red", 4..9, &other));
    let (one, mirror) = (Diff::new(&a, &b, all).unwrap(), Diff::new(&b, &a, all).unwrap());
    assert_eq!(one.rows.len(), 3);
    for row in &one.rows {
        let same = |other: &&tidegate_report::diff::DiffRow| {
            other.place == row.place && other.metric == row.metric
        };
        let turned = mirror.rows.iter().find(same).unwrap();
        assert_eq!((row.a, row.b, row.verdict), (turned.b, turned.a, turned.verdict));
        let [mine, theirs] = [row, turned].map(|row| row.compared.unwrap());
        assert!((mine.difference.mean() + theirs.difference.mean()).abs() < 1e-9);
        assert_eq!(mine.difference.ci95(), theirs.difference.ci95());
        assert_eq!(row.chance(), turned.chance());
    }
}

/// Each figure has one verdict, and the table, the summary and the JSON count the same.
#[test]
fn the_table_and_the_json_tell_the_same_figures() {
    let other = [10e3, 20e3, 30e3, 40e3, 50.001e3];
    let diff = Diff::new(&run("red", 1..6, &ONE), &run("sfb", 1..6, &other), all).unwrap();
    let json: serde_json::Value = serde_json::from_str(&diff.to_json(["red", "sfb"])).unwrap();
    let summary = |name: &str| json["summary"][name].as_u64().unwrap() as usize;
    let unlike = summary("differ") + summary("same") + summary("without_interval");
    assert_eq!(summary("figures"), diff.rows.len());
    assert_eq!(unlike + diff.count(Likeness::Alike), diff.rows.len());
    assert_eq!((summary("tested"), summary("one_sided")), (diff.tested(), 0));
    assert_eq!(json["queues"], serde_json::json!(["red", "sfb"]));
    let text = table::diff(&diff, Shown::All, &Look::plain());
    let rows: Vec<&str> = text.lines().skip_while(|line| !line.contains('─')).skip(1).collect();
    for (figure, (row, line)) in
        json["figures"].as_array().unwrap().iter().zip(diff.rows.iter().zip(rows))
    {
        assert_eq!(figure["metric"], row.metric.name);
        assert_eq!(figure["a"]["mean"].as_f64(), Some(row.a.mean()));
        assert_eq!(figure["chance"].as_f64(), row.chance());
        let group = figure["place"]["group"].as_str().unwrap();
        let named = if group.is_empty() { "(the link)" } else { group };
        assert!(line.contains(named) && line.contains(&row.metric.name), "{line}");
        let mark = match figure["verdict"].as_str().unwrap() {
            "differs by Holm's correction" => "**",
            "differs" => "*",
            "no interval" => "?",
            "same" => "=",
            _ => "",
        };
        assert!(line.trim_end().ends_with(mark), "{mark}: {line}");
    }
    assert!(!text.contains("queue "), "the queues are named once, above: {text}");
}

#[test]
fn at_any_width_a_diff_stays_within_it() {
    let other = ONE.map(|value| value * 3.0);
    let diff = Diff::new(&run("red", 1..6, &ONE), &run("red", 6..11, &other), all).unwrap();
    for width in 60..=160 {
        let look = Look { width: Some(width), edge: true, ..Look::plain() };
        let text = table::diff(&diff, Shown::All, &look);
        for line in text.lines() {
            assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
        }
        let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        assert_eq!(words(&text)[..4], words(&table::diff(&diff, Shown::All, &Look::plain()))[..4]);
    }
}

/// Of many figures that differ a hundred are shown, and the rest is counted.
#[test]
fn a_long_diff_is_cut_unless_all_is_asked_for() {
    let of = |shift: f64, seeds: std::ops::Range<i64>| {
        let rows: Vec<Row<'_>> = seeds
            .flat_map(|seed| {
                (0..130).map(move |cell| {
                    let value = 1e6 + shift + (seed % 3) as f64;
                    ("s", f64::from(cell), "red", seed, "tcp", Some(value), 0.5)
                })
            })
            .collect();
        Figures::by_seed(&table(&rows)).unwrap()
    };
    let (a, b) = (of(0.0, 0..6), of(5e5, 6..12));
    let diff = Diff::new(&a, &b, |name| name == "goodput_bps").unwrap();
    assert_eq!(diff.count(Likeness::Certain), 130);
    let lines = |shown| {
        let text = table::diff(&diff, shown, &Look::plain());
        (
            text.matches("goodput_bps").count(),
            text.contains("and 30 more; --all shows every figure"),
        )
    };
    assert_eq!((lines(Shown::Different), lines(Shown::All)), ((100, true), (130, false)));
    let swapped = Diff::new(&a, &b, |_| false).unwrap();
    let nothing = table::diff(&swapped, Shown::All, &Look::plain());
    assert_eq!(nothing, "0 of 0 figures differ.\n", "no metric was wanted");
}

/// The seed of a row is not its place in the table, and what is no number does not count.
#[test]
fn rows_may_stand_in_any_order_and_lack_values() {
    let rows: Vec<Row<'_>> = (1..6)
        .zip(ONE)
        .map(|(seed, value)| ("s", 1e6, "red", seed, "tcp", Some(value), value / 1e6))
        .collect();
    let mut turned: Vec<Row<'_>> = rows.iter().rev().copied().collect();
    let figures = |rows: &[Row<'_>]| Figures::by_seed(&table(rows)).unwrap();
    assert_eq!(figures(&rows), figures(&turned));
    turned.push(("s", 1e6, "red", 6, "tcp", Some(f64::NAN), f64::INFINITY));
    turned.push(("s", 1e6, "red", 7, "tcp", None, f64::NAN));
    let diff = Diff::new(&figures(&rows), &figures(&turned), all).unwrap();
    assert_eq!(diff.count(Likeness::Same), diff.rows.len(), "{:?}", diff.rows);
    let link = &figures(&rows);
    assert_eq!(link.units(), ["", "bit/s", "", ""]);
    assert_eq!(link.places().len(), 2, "a place of the group and one of its link");
    let utilization = link.metrics().iter().find(|metric| metric.name == "link_utilization");
    assert!(utilization.unwrap().ratio, "it is shown in per cent");
}
