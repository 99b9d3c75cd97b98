//! Papers as they are read: what is shipped is right, what is wrong is reported with its place.
use std::path::Path;

use crate::shipped::{everything, made, shipped};
use tidegate_lab::paper::pairs::{self, PairsCell, PairsGrid, ReadingChoice};
use tidegate_lab::paper::{self, ClaimVerdict, Folder, Length, Paper, PaperRequest};
use tidegate_lab::{Progress, Watch};

const SCENARIO: &str = r#"
[run]
duration = "3 s"
warmup = "0 s"
series = "500 ms"

[network]
rate = "1 Mbit/s"
limit = "20 packets"

[compare]
queues = ["drop_tail as tail", "red/paper as red"]

[[group]]
name = "tcp"
count = 2
source = "newreno"

[[group]]
name = "udp"
source = "cbr"
rate = "800 kbit/s"
"#;

const DESCRIPTION: &str = r#"
key = "nobody1999"
title = "A small paper"
authors = ["N. Body"]
seeds = 2

[[fitted]]
name = "limit"
parameter = "The limit."

[[experiment]]
id = "X1"
place = "Fig. 1"
title = "A flood"
quick = ["run.duration=1500 ms"]

[[run]]
experiment = "X1"
setting = "{rate} kbit/s"
scenario = "x.toml"
set = ["group.udp.rate={rate} kbit/s"]
vary = { rate = [400, 800] }
x = "{rate}"
tested = true

[[figure]]
experiment = "X1"
id = "fig1"
title = "What the flood gets"
x = "kbit/s"
quantity = "throughput udp"
unit = "kbit/s"
"#;

const CLAIMS: &str = "\
experiment,setting,queue,quantity,unit,printed,within,place,fit,unchecked,explained
X1,400 kbit/s,tail,throughput udp,kbit/s,400,50 %,Fig. 1,target limit,,
X1,800 kbit/s,tail,throughput udp,kbit/s,>= 1,0,Fig. 1,support limit,,
X1,800 kbit/s,red,loss udp 1 s..2 s,kbit/s,<= 900,0,Fig. 1,,,
X1,800 kbit/s,red,throughput udp,kbit/s,>= 900,0,Fig. 1,,,no-more
X1,800 kbit/s,sred,throughput udp,kbit/s,500,10 %,Fig. 1,,the queue is not in the catalog yet,
X1,,,jackknife(),flows,142,0.5,Table I,,,
";

const EXPLAINED: &str = r#"
[[explanation]]
name = "no-more"
why = "It sends no more."
evidence = ["rate"]

[[readings]]
id = "rate"
experiment = "X1"
title = "What it sends"
finding = "With more it gets more."
settings = ["800 kbit/s"]
queues = ["red"]
seeds = 2

[[reading]]
of = "rate"
name = "{more} kbit/s"
set = ["group.udp.rate={more} kbit/s"]
vary = { more = [850, 2000] }
"#;

fn folder(description: &str, claims: &str) -> Folder<'static> {
    explained(description, claims, EXPLAINED)
}

fn explained(description: &str, claims: &str, why: &str) -> Folder<'static> {
    made([
        ("paper.toml", description),
        ("printed.csv", claims),
        ("x.toml", SCENARIO),
        ("explained.toml", why),
    ])
}

fn small() -> Paper {
    Paper::read(&folder(DESCRIPTION, CLAIMS)).unwrap_or_else(|problems| panic!("{problems}"))
}

fn asked(papers: &[Paper], length: Length) -> PaperRequest<'_> {
    PaperRequest { papers, experiments: vec!["X1".into()], length, seeds: None, only_tested: false }
}

#[test]
fn verdicts_are_computed() {
    let papers = [small()];
    let results = paper::run(&asked(&papers, Length::Full), None, &()).unwrap();
    let rows = paper::rows(&papers[0], &["X1".into()], &results);
    let verdicts: Vec<String> = rows.iter().map(|row| row.verdict.to_string()).collect();
    let missing = "cannot be checked: the queue is not in the catalog yet";
    assert_eq!(verdicts, ["fitted", "holds", "holds", "differs", missing, "holds"]);
    let reasons: Vec<_> = rows.iter().map(|row| row.explanation()).collect();
    assert_eq!(reasons, [None, None, None, Some("no-more"), None, None]);
    assert!(rows[0].ours.is_some_and(|f| f.ci95().is_some()), "two seeds give an interval");
    let csv = paper::csv(&rows);
    assert!(
        csv.starts_with(
            "paper,experiment,setting,queue,quantity,unit,printed,ours,ci95,ratio,verdict,place,explained\n"
        ),
        "{csv}"
    );
    let charts = paper::charts(&papers[0], &["X1".into()], &results, Length::Full);
    let (_, chart) = &charts[0];
    let shape: Vec<_> =
        chart.lines.iter().map(|l| (l.name.as_str(), l.printed, l.points.len())).collect();
    assert_eq!(shape, [("tail", false, 2), ("tail", true, 1), ("red", false, 2)]);
}

#[test]
fn cells_are_stored_and_taken_from_there() {
    struct Count(std::sync::atomic::AtomicUsize);
    impl Watch for Count {
        fn progress(&self, progress: Progress) {
            self.0.fetch_max(progress.of, std::sync::atomic::Ordering::SeqCst);
        }
    }
    let papers = [small()];
    let dir = tempfile::tempdir().unwrap();
    let run = |length| {
        let count = Count(0.into());
        let results = paper::run(&asked(&papers, length), Some(dir.path()), &count).unwrap();
        (results, count.0.into_inner())
    };
    let (first, ran) = run(Length::Full);
    assert_eq!(ran, 16, "two settings and two readings of one, two queues, two seeds");
    let (again, ran) = run(Length::Full);
    assert_eq!(
        (again == first, ran),
        (true, 0),
        "nothing is run twice, and what is read is what was written"
    );
    // Somebody cut a file off; all that was in it is run again.
    let part = dir.path().join("store/parts/000001.parquet");
    let whole = std::fs::read(&part).unwrap();
    std::fs::write(&part, &whole[..whole.len() / 2]).unwrap();
    let (mended, ran) = run(Length::Full);
    assert_eq!((mended == first, ran), (true, 16));
    let (quick, ran) = run(Length::Quick);
    assert!(quick != first && ran == 24, "three seeds of half the time");
}

#[test]
fn other_readings_are_shown_beside_the_experiment() {
    let papers = [small()];
    let results = paper::run(&asked(&papers, Length::Full), None, &()).unwrap();
    let csv = paper::readings(&papers, &["X1".into()], &results);
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines[0][..3], ["paper", "table", "reading"]);
    let of = |reading: &str, quantity: &str| {
        let line = lines.iter().find(|line| line[2] == reading && line[5] == quantity).unwrap();
        (line[8].parse::<f64>().unwrap(), line[10])
    };
    let (own, verdict) = of("as run", "throughput udp");
    assert!(own < 900.0 && verdict == "differs", "{csv}");
    let (more, _) = of("850 kbit/s", "throughput udp");
    assert!(more > own, "{more} of 850 kbit/s, {own} of 800");
    let (flood, _) = of("2000 kbit/s", "throughput udp");
    assert!(flood > more, "{csv}");
    let page = paper::page(&papers[0], &["X1".into()], &results, Length::Full);
    let ((explanation, claims), table) =
        (&page.sections[0].explanations[0], &page.sections[0].readings[0]);
    assert_eq!((explanation.name.as_str(), *claims), ("no-more", 1));
    assert_eq!(table.names, ["as run", "850 kbit/s", "2000 kbit/s"]);
    assert!(
        table.rows.iter().all(|row| row.cells.len() == 3) && table.met[0] == "1 of 2",
        "{table:?}"
    );
}

/// As [`CLAIMS`], but that more than what is sent is claimed of RED: a flood of 20 Mbit/s gets
/// that.
fn claims_of_more() -> String {
    CLAIMS.replace("throughput udp,kbit/s,>= 900", "throughput udp,kbit/s,>= 700")
}

#[test]
fn a_claim_may_hold_under_a_reading_that_is_contradicted() {
    let why = EXPLAINED
        .replace("seeds = 2", "seeds = 3")
        .replace("2000]", "20000]")
        .replace("vary =", "contradicted = \"Its packets are counted twice.\"\nvary =");
    let papers = [Paper::read(&explained(DESCRIPTION, &claims_of_more(), &why)).unwrap()];
    let results = paper::run(&asked(&papers, Length::Full), None, &()).unwrap();
    let rows = paper::rows(&papers[0], &["X1".into()], &results);
    assert_eq!(
        rows[3].verdict,
        ClaimVerdict::HoldsUnder("20000 kbit/s".into()),
        "at least 700 kbit/s"
    );
    assert_eq!(
        (rows[3].verdict.to_string().as_str(), rows[3].verdict.kind()),
        ("holds under 20000 kbit/s", "holds under a reading")
    );
    assert_eq!(rows[3].explanation(), Some("no-more"), "as run it differs");
    assert_eq!(rows.iter().filter(|row| row.verdict.is_apart()).count(), 1);
    let page = paper::page(&papers[0], &["X1".into()], &results, Length::Full);
    let told = &page.sections[0].readings[0].contradicted;
    assert!(
        told.iter()
            .any(|(name, against)| name == "20000 kbit/s" && against.contains("counted twice")),
        "{told:?}"
    );
    // Means of too few replications are no ground.
    let few = why.replace("seeds = 3", "seeds = 2");
    let problems =
        Paper::read(&explained(DESCRIPTION, &claims_of_more(), &few)).unwrap_err().to_string();
    assert!(
        problems.contains("small/explained.toml") && problems.contains("contradicted"),
        "{problems}"
    );
}

#[test]
fn pairs_of_readings_make_a_grid() {
    let folder = folder(DESCRIPTION, &claims_of_more());
    let paper = Paper::read(&folder).unwrap();
    let choices = ["group.udp.rate=20000 kbit/s", "red:mode=bytes", "red:mode=packets"]
        .map(|text| text.parse().unwrap());
    let grid = PairsGrid::new(&paper, &folder, "X1", &choices).unwrap();
    let results =
        paper::run(&asked(std::slice::from_ref(&grid.paper), Length::Full), None, &()).unwrap();
    let cells = grid.judged(&results);
    // As run, each by itself, and the pairs that do not say two things of one parameter.
    let names = |cell: &PairsCell| {
        cell.choices.iter().map(ReadingChoice::to_string).collect::<Vec<_>>().join(" + ")
    };
    assert_eq!(cells.len(), 1 + 3 + 2, "{:?}", cells.iter().map(names).collect::<Vec<_>>());
    let of = |name: &str| cells.iter().find(|cell| names(cell) == name).unwrap();
    let rows = paper::rows(
        &paper,
        &["X1".into()],
        &paper::run(&asked(std::slice::from_ref(&paper), Length::Full), None, &()).unwrap(),
    );
    let met =
        rows.iter().filter(|row| matches!(row.verdict, ClaimVerdict::Holds | ClaimVerdict::Fitted));
    let met: Vec<usize> = met.map(|row| row.claim.line).collect();
    assert_eq!((&of("").met, of("").gained, of("").lost), (&met, 0, 0));
    let lines = met.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    let written = pairs::csv(&cells);
    let plain = written.lines().find(|line| line.starts_with("as run,")).unwrap();
    assert_eq!(plain.rsplit(',').next(), Some(&lines[..]), "{written}");
    let more = of("group.udp.rate=20000 kbit/s");
    // All settings send 2000 then: `at least 900` holds, 400 within a half does not.
    assert_eq!((more.gained, more.lost), (1, 2), "{more:?}");
    assert!(cells.windows(2).all(|two| two[0].met.len() >= two[1].met.len()), "the best first");
    let listed = pairs::listed(&paper, "X1", Some("red"));
    let gentle = ["red:gentle=off", "red:gentle=on"].map(|text| text.parse().unwrap());
    assert!(gentle.iter().any(|one| listed.contains(one)), "{listed:?}");
    for (wrong, what) in [
        ("red", "must be"),
        ("rad:mode=bytes", "no such queue"),
        ("red:mod=bytes", "no such parameter"),
    ] {
        assert!(wrong.parse::<ReadingChoice>().unwrap_err().why.contains(what), "{wrong}");
    }
    assert!(PairsGrid::new(&paper, &folder, "X1", &["group.udp.rat=1".parse().unwrap()]).is_err());

    // What a queue refuses is a line with the reason, and the rest of the grid is run.
    let choices = ["red:min=500 packets", "red:mode=bytes"].map(|t| t.parse().unwrap());
    let grid = PairsGrid::new(&paper, &folder, "X1", &choices).unwrap();
    let results =
        paper::run(&asked(std::slice::from_ref(&grid.paper), Length::Full), None, &()).unwrap();
    let cells = grid.judged(&results);
    let refused = |cell: &&PairsCell| cell.refused.is_some();
    assert_eq!((cells.len(), cells.iter().filter(refused).count()), (4, 2), "{cells:?}");
    let why = cells.last().unwrap().refused.as_ref().unwrap();
    assert!(why.contains("must be above min"), "{why}");
}

#[test]
fn mistakes_in_what_is_explained_are_told() {
    for (from, to, words) in [
        (
            "evidence = [\"rate\"]",
            "evidence = [\"rates\"]",
            "there is no [[readings]] `rates`; did you mean `rate`?",
        ),
        ("name = \"no-more\"", "name = \"no-less\"", "no such [[explanation]]"),
        (
            "settings = [\"800 kbit/s\"]",
            "settings = [\"801 kbit/s\"]",
            "no run of the experiment is called `801 kbit/s`",
        ),
        ("queues = [\"red\"]", "queues = [\"sred\"]", "shows no claim"),
        ("of = \"rate\"", "of = \"late\"", "there is no such [[readings]] above"),
        ("seeds = 2", "", "must be a whole number from 1"),
    ] {
        assert!(EXPLAINED.contains(from), "{from}");
        let folder = explained(DESCRIPTION, CLAIMS, &EXPLAINED.replacen(from, to, 1));
        let problems = Paper::read(&folder).unwrap_err().to_string();
        assert!(problems.contains(words) && problems.contains("small/"), "{to}: {problems}");
    }
}

#[test]
fn every_queue_on_another_papers_traffic() {
    let of_all = DESCRIPTION.replace(
        "title = \"A flood\"",
        "title = \"A flood\"\nunchecked = \"nobody printed it\"\nevery = \"auto\"",
    );
    let board = "[[board]]\nexperiment = \"X1\"\nid = \"all\"\ntitle = \"All\"\nmap = \"jain \
         total\"\ncolumns = [\"norm [kbit/s]\", \"state\", \"cost\"]\n";
    let other = of_all.split("[[fitted]]").next().unwrap().to_string()
        + "[[experiment]]"
        + of_all.split_once("[[experiment]]").unwrap().1
        + board;
    let other = other.replace("x.toml", "../small/x.toml");
    let heads = CLAIMS.lines().next().unwrap().to_string() + "\n";
    let files = vec![
        ("paper.toml".into(), other.into()),
        ("printed.csv".into(), heads.into()),
        ("cost.csv".into(), "queue,ns\nred,16\n".into()),
    ];
    let folders =
        paper::shelved(vec![folder(DESCRIPTION, CLAIMS), Folder { name: "all".into(), files }]);
    let papers = [Paper::read(&folders[1]).unwrap_or_else(|problems| panic!("{problems}"))];
    let results =
        paper::run(&PaperRequest { seeds: Some(1), ..asked(&papers, Length::Quick) }, None, &())
            .unwrap();
    let page = paper::page(&papers[0], &["X1".into()], &results, Length::Quick);
    let (board, map) = (&page.sections[0].boards[1], &page.sections[0].maps[0]);
    assert_eq!(board.rows.len(), tidegate::catalog::QUEUES.len());
    assert_eq!(board.columns, ["norm, kbit/s", "state, kB", "a packet, ns"]);
    let red = board.rows.iter().find(|(name, _)| name == "red").unwrap();
    assert_eq!((red.1[2].text.as_str(), red.1[1].text.as_str()), ("16.0", "0.2"));
    assert_eq!((map.columns.len(), map.rows.len()), (2, board.rows.len()));
    assert!(
        map.rows
            .iter()
            .all(|(_, values)| values.iter().all(|v| v.is_some_and(|v| (0.0..=1.0).contains(&v))))
    );
    let points = paper::points(&papers, &["X1".into()], &results);
    assert!(points.contains("all,all,\"norm, kbit/s\",red,800 kbit/s,"), "{points}");
}

/// What is changed in the description or in the claims, and parts of the message.
const MISTAKES: &[(&str, &str, &[&str])] = &[
    ("seeds = 2", "seeds = 0", &["small/paper.toml:5:9: seeds = 0", "1 to 10000"]),
    ("title = \"A flood\"", "titel = \"A flood\"", &["no such key", "did you mean `title`?"]),
    (
        "scenario = \"x.toml\"",
        "scenario = \"y.toml\"",
        &["run.scenario = y.toml", "did you mean `x.toml`?"],
    ),
    (
        "rate = [400, 800]",
        "rate = [400, \"fast\"]",
        &["small/paper.toml:21:7: group.udp.rate = fast kbit/s: does not begin"],
    ),
    ("x = \"{rate}\"", "x = \"{rat}\"", &["run.x", "must be a number"]),
    ("unit = \"kbit/s\"", "unit = \"ms\"", &["figure.unit = ms", "measured in Mbit/s"]),
    (
        "run]]\nexperiment = \"X1\"",
        "run]]\nexperiment = \"X2\"",
        &["run.experiment = X2", "did you mean `X1`?"],
    ),
    (
        ",tail,throughput udp,kbit/s,400",
        ",tale,throughput udp,kbit/s,400",
        &["small/printed.csv:2:", "did you mean `tail`?"],
    ),
    (
        "tail,throughput udp,kbit/s,400",
        "tail,throughput uddp,kbit/s,400",
        &["no group `uddp`", "did you mean `udp`?"],
    ),
    ("udp,kbit/s,400,50 %", "udp,ms,400,50 %", &["printed.csv:2:", "unit = ms", "is measured in"]),
    (
        ",400,50 %",
        ",about 400,50 %",
        &["printed.csv:2:", "printed = about 400", "must be a number"],
    ),
    (",400,50 %", ",400,", &["within", "needs a tolerance"]),
    ("400 kbit/s,tail", "401 kbit/s,tail", &["no run has the setting `401 kbit/s`"]),
    ("target limit", "target limits", &["no such [[fitted]]"]),
    ("support limit", "", &["no claim supports the fitted `limit`"]),
    ("jackknife()", "jackknive()", &["did you mean `jackknife`?"]),
    (",sred,", ",red,", &["printed.csv:6:", "a run fills this row"]),
    ("experiment,setting", "experiment,set", &["the columns must be"]),
];

#[test]
fn mistakes_have_their_place() {
    let told = |description: &str, claims: &str| match Paper::read(&folder(description, claims)) {
        Ok(_) => "nothing".into(),
        Err(problems) => problems.to_string(),
    };
    let change = |from: &str, to: &str| {
        assert!(DESCRIPTION.contains(from) || CLAIMS.contains(from), "{from}");
        told(&DESCRIPTION.replacen(from, to, 1), &CLAIMS.replacen(from, to, 1))
    };
    for (from, to, words) in MISTAKES {
        let problems = change(from, to);
        for word in *words {
            assert!(problems.contains(word), "{to}: `{word}` is missing in: {problems}");
        }
    }
}

#[test]
fn what_is_shipped_can_be_read() {
    let papers = shipped();
    assert_eq!(papers.len(), 6);
    let claims: usize = papers.iter().map(|paper| paper.claims.len()).sum();
    assert!(claims >= 150, "{claims}");
    let mut ids: Vec<&str> =
        papers.iter().flat_map(|p| p.experiments.iter().map(|e| e.id.as_str())).collect();
    ids.sort_unstable();
    let expected = "A1 A2 A3 A4 A5 A6 B0 B1 B10 B11 B2 B3 B4 B5 B6 B7 B8 B9 C1 C2 C3 C4 C5 C6 C7 \
         D1 D2 D3 D4 D5 D6 E1 E10 E2 E3 E4 E5 E6 E7 E8 E9 F";
    assert_eq!(ids.join(" "), expected);
}

/// The rows of `papers/results.csv` for experiment and setting.
fn committed() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/results.csv");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(String::from).collect()
}

#[test]
fn the_committed_results_come_out_again() {
    let papers = shipped();
    let asked = PaperRequest { only_tested: true, ..everything(&papers) };
    let results = paper::run(&asked, None, &()).unwrap();
    let mut rows = vec![];
    for paper in &papers {
        for row in paper::rows(paper, &asked.experiments, &results) {
            let run = paper.run(&row.claim.experiment, &row.claim.setting);
            let closed = row.claim.quantity.closed().is_some();
            if !closed && !run.is_some_and(|run| run.tested) {
                continue;
            }
            let line = paper::csv(std::slice::from_ref(&row));
            rows.push(line.lines().nth(1).unwrap().to_string());
        }
    }
    assert!(rows.len() >= 25, "{rows:?}");
    assert_eq!(missing(&rows, &committed()), None, "papers/results.csv lacks this row");
}

/// The first of `rows` that is not among the `committed`.
fn missing<'r>(rows: &'r [String], committed: &[String]) -> Option<&'r String> {
    rows.iter().find(|row| !committed.contains(row))
}

/// So that the test above can fail. In a copy of the file one figure, interval, ratio or verdict of
/// one row is another. It lacks that row and no other.
#[test]
fn a_copy_of_the_results_with_one_wrong_figure_would_not_do() {
    let rows = committed();
    assert_eq!(missing(&rows, &rows), None);
    for (at, row) in rows.iter().enumerate().skip(1) {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(row.as_bytes());
        let fields = reader.records().next().unwrap().unwrap();
        for column in 7..=10 {
            let wrong = match fields[column].chars().last() {
                Some(last @ '0'..='9') => {
                    let kept = &fields[column][..fields[column].len() - 1];
                    format!("{kept}{}", (last as u8 - b'0' + 1) % 10)
                }
                Some(_) => format!("{} not", &fields[column]),
                None => continue,
            };
            let mut writer = csv::Writer::from_writer(vec![]);
            let changed = fields
                .iter()
                .enumerate()
                .map(|(at, field)| if at == column { &*wrong } else { field });
            writer.write_record(changed).unwrap();
            let mut copy = rows.clone();
            copy[at] = String::from_utf8(writer.into_inner().unwrap()).unwrap().trim_end().into();
            assert_eq!(missing(&rows, &copy), Some(row), "column {column}: {wrong}");
        }
    }
}

#[test]
fn no_claim_differs_without_an_explanation() {
    let mut reader = csv::Reader::from_reader(std::io::Cursor::new(committed().join("\n")));
    for row in reader.records().map(|row| row.unwrap()) {
        let (verdict, name) = (&row[10], &row[12]);
        let differs =
            matches!(verdict, "differs" | "fitted, not met") || verdict.starts_with("holds under ");
        assert_eq!(differs, !name.is_empty(), "papers/results.csv: {row:?}");
    }
    for paper in shipped() {
        for explanation in &paper.explanations {
            assert!(
                explanation.why.split_whitespace().count() >= 20,
                "{} is no explanation",
                explanation.name
            );
        }
    }
}
