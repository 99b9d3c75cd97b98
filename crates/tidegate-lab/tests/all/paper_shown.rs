//! What a paper's folder can have drawn and claimed besides sweeps, and what the committed results
//! show of the papers.
use std::path::Path;

use crate::shipped::{everything, made, shipped};
use tidegate_lab::paper::{self, Length, Paper, PaperResults};

const SCENARIO: &str = r#"
[run]
duration = "3 s"
warmup = "0 s"
series = "500 ms"

[network]
rate = "1 Mbit/s"
limit = "20 packets"

[compare]
queues = ["care as care", "drop_tail as tail"]

[[group]]
name = "udp"
source = "cbr"
rate = "800 kbit/s"
start = "0 s"
"#;

const DESCRIPTION: &str = r#"
key = "nobody1999"
title = "A small paper"
seeds = 2

[[experiment]]
id = "X1"
place = "Fig. 1"
title = "A flood"

[[run]]
experiment = "X1"
setting = "{rate} kbit/s"
scenario = "x.toml"
set = ["group.udp.rate={rate} kbit/s"]
vary = { rate = [400, 800] }
x = "{rate}"

[[figure]]
experiment = "X1"
id = "sweep"
title = "How far the estimate is from the axis"
x = "flows"
quantity = "gauge flows rmse {x}"
unit = "flows"

[[figure]]
experiment = "X1"
id = "formula"
title = "Polluted bins"
kind = "formula"
line = "{bins} bins"
vary = { bins = [10, 20] }
range = [0, 6, 2]
x = "floods"
quantity = "polluted_bins(bins {bins}, floods {x})"
unit = "flows"

[[figure]]
experiment = "X1"
id = "measured"
title = "How long it takes"
kind = "measured"
file = "times.csv"
command = "make times"
x = "flows"
quantity = "time"
unit = "s"

[[board]]
experiment = "X1"
id = "state"
title = "What is kept"
columns = ["state", "jain total"]
"#;

const CLAIMS: &str = "\
experiment,setting,queue,quantity,unit,printed,within,place,fit,unchecked,explained
X1,800 kbit/s,tail,throughput udp,kbit/s,> 1.5 of tail @ 400 kbit/s,,Fig. 1,,,
X1,800 kbit/s,tail,throughput udp,kbit/s,> 3 of tail @ 400 kbit/s,,Fig. 1,,,
X1,,,elsewhere: million elements a second,,3,1,Fig. 2,,another machine's,
";

const TIMES: &str = "line,x,y\nold,1,0.5\nnew,1,0.1\nold,2,1.5\n";

fn read(description: &str, claims: &str, times: &str) -> Result<Paper, String> {
    let folder = made([
        ("paper.toml", description),
        ("printed.csv", claims),
        ("x.toml", SCENARIO),
        ("times.csv", times),
    ]);
    Paper::read(&folder).map_err(|problems| problems.to_string())
}

fn run() -> (Paper, PaperResults) {
    let paper = read(DESCRIPTION, CLAIMS, TIMES).unwrap_or_else(|problems| panic!("{problems}"));
    let papers = [paper];
    let results = paper::run(&everything(&papers), None, &()).unwrap();
    let [paper] = papers;
    (paper, results)
}

#[test]
fn figures_of_formulas_and_of_files_are_drawn_without_a_run() {
    let (paper, results) = run();
    let page = paper::page(&paper, &["X1".into()], &results, Length::Full);
    let chart = |id: &str| page.sections[0].charts.iter().find(|chart| chart.id == id).unwrap();
    let points = |id: &str, line: &str| -> Vec<(f64, f64)> {
        let line = chart(id).lines.iter().find(|l| l.name == line).unwrap();
        line.points.iter().map(|p| (p.x, p.y)).collect()
    };
    assert_eq!(points("measured", "old"), [(1.0, 0.5), (2.0, 1.5)]);
    assert_eq!(chart("measured").command, "make times; tidegate paper run X1 --out DIR");
    assert_eq!(
        (chart("measured").y.as_str(), chart("formula").y.as_str()),
        ("time, s", "polluted bins, flows")
    );
    let polluted = points("formula", "10 bins");
    assert_eq!(polluted.iter().map(|p| p.0).collect::<Vec<_>>(), [0.0, 2.0, 4.0, 6.0]);
    assert_eq!(polluted[0].1, 0.0);
    assert!((polluted[1].1 - 1.9).abs() < 1e-9, "10 (1 - .9^2): {polluted:?}");
    // The estimate is of a few flows, so its error against the axis is about the axis.
    let sweep = points("sweep", "care");
    assert!(
        (380.0..=420.0).contains(&sweep[0].1) && (780.0..=820.0).contains(&sweep[1].1),
        "{sweep:?}"
    );
    assert_eq!((page.sections[0].boards.len(), page.sections[0].maps.len()), (2, 0));
}

#[test]
fn a_claim_may_compare_two_settings_or_be_measured_elsewhere() {
    let (paper, results) = run();
    let rows = paper::rows(&paper, &["X1".into()], &results);
    let verdicts: Vec<String> = rows.iter().map(|row| row.verdict.to_string()).collect();
    assert_eq!(verdicts, ["holds", "differs", "cannot be checked: another machine's"]);
    assert_eq!(rows[2].fields()[4], "million elements a second");
}

#[test]
fn mistakes_in_what_is_drawn_and_claimed_are_told() {
    for (from, to, words) in [
        ("range = [0, 6, 2]", "range = [6, 0, 2]", "[FROM, TO, STEP]"),
        ("range = [0, 6, 2]", "range = [0, 6, 0]", "[FROM, TO, STEP]"),
        (
            "quantity = \"polluted_bins(bins {bins}, floods {x})\"",
            "quantity = \"jain total\"",
            "is no closed form",
        ),
        (
            "quantity = \"polluted_bins(bins {bins}, floods {x})\"",
            "quantity = \"jackknive()\"",
            "did you mean",
        ),
        ("file = \"times.csv\"", "file = \"time.csv\"", "must be a file of the folder"),
        ("kind = \"measured\"", "kind = \"weighed\"", "formula | measured"),
        ("tail @ 400 kbit/s", "tail @ 401 kbit/s", "the experiment has no such setting"),
        ("tail @ 400 kbit/s", "red @ 400 kbit/s", "no queue of that label"),
        ("another machine's", "", "must tell where it is measured"),
        ("old,2,1.5", "old,2", "must be a file of the folder"),
    ] {
        let change = |text: &str| text.replacen(from, to, 1);
        assert!([DESCRIPTION, CLAIMS, TIMES].iter().any(|text| text.contains(from)), "{from}");
        let told = read(&change(DESCRIPTION), &change(CLAIMS), &change(TIMES)).unwrap_err();
        assert!(told.contains(words), "{to}: {told}");
    }
}

/// `papers/results.csv`, row by row: paper, experiment, setting, queue, quantity, printed, ours,
/// verdict.
fn committed() -> Vec<[String; 8]> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/results.csv");
    let mut reader = csv::Reader::from_path(path).unwrap();
    let row = |row: csv::StringRecord| [0, 1, 2, 3, 4, 6, 7, 10].map(|at| row[at].to_string());
    reader.records().map(|record| row(record.unwrap())).collect()
}

/// Ours over what is printed, in `experiment` with `queue`, of `quantity`.
fn ratios(experiment: &str, queue: &str, quantity: &str) -> Vec<f64> {
    let mine = |row: &&[String; 8]| row[1] == experiment && row[3] == queue && row[4] == quantity;
    let number = |text: &str| text.parse::<f64>().unwrap();
    committed().iter().filter(mine).map(|row| number(&row[6]) / number(&row[5])).collect()
}

#[test]
fn the_committed_results_have_what_a_reader_would_look_for_first() {
    let care = ratios("B5", "care", "throughput udp");
    let rms = (care.iter().map(|r| (r - 1.0).powi(2)).sum::<f64>() / care.len() as f64).sqrt();
    assert!(
        care.len() == 7 && care.iter().all(|r| (r - 1.0).abs() <= 0.08) && rms <= 0.05,
        "{care:?}, rms {rms}"
    );
    let red = ratios("B5", "red", "throughput udp");
    assert!(red.len() == 7 && red.iter().all(|r| (r - 1.0).abs() <= 0.05), "{red:?}");
    // Whole experiments whose claims all hold: the jackknife, RED and CARE's goodputs, the order of
    // the norms.
    for (experiment, quantity) in
        [("B0", ""), ("B3", ""), ("B4", "norm"), ("A2", ""), ("C3", "misclassified")]
    {
        let all = committed();
        let mine: Vec<_> =
            all.iter().filter(|row| row[1] == experiment && row[4].starts_with(quantity)).collect();
        assert!(
            mine.len() >= 5 && mine.iter().all(|row| row[7] == "holds"),
            "{experiment}: {mine:?}"
        );
    }
    for (experiment, queue, quantity, holds) in [
        ("C5", "sfb-double", "throughput udp", 1), // less than the moving hash
        ("A4", "black", "throughput udp", 2),      // more than Purge
        ("A5", "rem", "throughput udp", 2),        // more than BLACK
    ] {
        let all = committed();
        let mine = all
            .iter()
            .filter(|row| (&*row[1], &*row[3], &*row[4]) == (experiment, queue, quantity));
        let count = mine.filter(|row| row[5].starts_with(['<', '>']) && row[7] == "holds").count();
        assert_eq!(count, holds, "{experiment} {queue}");
    }
}

#[test]
fn every_figure_and_every_reading_is_among_the_committed_ones() {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let names = |file: &str, column: usize| -> Vec<(String, String)> {
        let mut reader = csv::Reader::from_path(papers.join(file)).unwrap();
        reader
            .records()
            .map(|row| row.unwrap())
            .map(|row| (row[0].to_string(), row[column].to_string()))
            .collect()
    };
    let (points, readings) = (names("figures.csv", 1), names("readings.csv", 2));
    let five = ["purge", "care", "sfb", "ewfq", "bare"];
    let read: Vec<_> =
        shipped().into_iter().filter(|paper| five.contains(&&*paper.folder)).collect();
    assert_eq!(read.len(), five.len());
    for read in read {
        let folder = read.folder.as_str();
        for figure in read.figures.iter().filter(|figure| figure.kind == paper::FigureKind::Sweep) {
            assert!(
                points.contains(&(folder.into(), figure.id.clone())),
                "figures.csv lacks {folder} {}",
                figure.id
            );
        }
        for reading in read.readings.iter().flat_map(|table| &table.readings) {
            assert!(
                readings.contains(&(folder.into(), reading.name.clone())),
                "readings.csv lacks {}",
                reading.name
            );
        }
    }
}
