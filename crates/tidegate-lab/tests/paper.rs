//! Papers as they are read: what is shipped is right, what is wrong is told with its place.
use std::path::Path;

use tidegate_lab::paper::{self, Asked, Folder, Length, Paper};
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
queues = ["drop_tail as tail", "red"]

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
experiment,setting,queue,quantity,unit,printed,within,place,fit,unchecked
X1,400 kbit/s,tail,throughput udp,kbit/s,400,50 %,Fig. 1,target limit,
X1,800 kbit/s,tail,throughput udp,kbit/s,>= 1,0,Fig. 1,support limit,
X1,800 kbit/s,red,loss udp 1 s..2 s,kbit/s,<= 900,0,Fig. 1,,
X1,800 kbit/s,sred,throughput udp,kbit/s,500,10 %,Fig. 1,,the queue is not in the catalog yet
X1,,,jackknife(),flows,142,0.5,Table I,,
";

fn folder(description: &str, claims: &str) -> Folder<'static> {
    let file = |name: &'static str, text: &str| (name.into(), text.to_string().into());
    let files = vec![file("paper.toml", description), file("printed.csv", claims), file("x.toml", SCENARIO)];
    Folder { name: "small".into(), files }
}

fn small() -> Paper {
    Paper::read(&folder(DESCRIPTION, CLAIMS)).unwrap_or_else(|problems| panic!("{problems}"))
}

fn asked(papers: &[Paper], length: Length) -> Asked<'_> {
    Asked { papers, experiments: vec!["X1".into()], length, seeds: None, only_tested: false }
}

/// The papers of the repository.
fn shipped() -> Vec<Paper> {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let mut folders: Vec<_> = std::fs::read_dir(base).unwrap().map(|e| e.unwrap().path()).collect();
    folders.retain(|folder| folder.join("paper.toml").is_file());
    folders.sort();
    let read = |folder: &Path| {
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let entries = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).filter(|path| path.is_file());
        let files = entries.map(|path| (name(&path).into(), std::fs::read_to_string(&path).unwrap().into())).collect();
        Paper::read(&Folder { name: name(folder).into(), files }).unwrap_or_else(|problems| panic!("{problems}"))
    };
    folders.iter().map(|folder| read(folder)).collect()
}

#[test]
fn verdicts_are_computed() {
    let papers = [small()];
    let results = paper::run(&asked(&papers, Length::Full), None, &()).unwrap();
    let rows = paper::rows(&papers[0], &["X1".into()], &results);
    let verdicts: Vec<String> = rows.iter().map(|row| row.verdict.to_string()).collect();
    let missing = "cannot be checked: the queue is not in the catalog yet";
    assert_eq!(verdicts, ["fitted", "holds", "holds", missing, "holds"]);
    assert!(rows[0].ours.is_some_and(|f| f.ci95().is_some()), "two seeds give an interval");
    let csv = paper::csv(&rows);
    assert!(
        csv.starts_with("paper,experiment,setting,queue,quantity,unit,printed,ours,ci95,ratio,verdict,place\n"),
        "{csv}"
    );
    let charts = paper::charts(&papers[0], &["X1".into()], &results, Length::Full);
    let (_, chart) = &charts[0];
    let shape: Vec<_> = chart.lines.iter().map(|l| (l.name.as_str(), l.printed, l.points.len())).collect();
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
    assert_eq!(ran, 8, "two settings, two queues, two seeds");
    let cells = || std::fs::read_dir(dir.path().join("cells")).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>();
    assert_eq!(cells().len(), 4);
    let (again, ran) = run(Length::Full);
    assert_eq!((again == first, ran), (true, 0), "nothing is run twice, and what is read is what was written");
    // Somebody cut a file off, and removed another.
    std::fs::write(&cells()[0], "{").unwrap();
    std::fs::remove_file(&cells()[1]).unwrap();
    let (mended, ran) = run(Length::Full);
    assert_eq!((mended == first, ran), (true, 4));
    let (quick, ran) = run(Length::Quick);
    assert!(quick != first && ran == 12, "three seeds of half the time");
}

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
    for (from, to, words) in [
        ("seeds = 2", "seeds = 0", &["small/paper.toml:5:9: seeds = 0", "1 to 10000"][..]),
        ("title = \"A flood\"", "titel = \"A flood\"", &["no such key", "did you mean `title`?"]),
        ("scenario = \"x.toml\"", "scenario = \"y.toml\"", &["run.scenario = y.toml", "did you mean `x.toml`?"]),
        ("rate = [400, 800]", "rate = [400, \"fast\"]", &["group.udp.rate=fast kbit/s"]),
        ("x = \"{rate}\"", "x = \"{rat}\"", &["run.x", "must be a number"]),
        ("unit = \"kbit/s\"", "unit = \"ms\"", &["figure.unit = ms", "measured in Mbit/s"]),
        ("run]]\nexperiment = \"X1\"", "run]]\nexperiment = \"X2\"", &["run.experiment = X2", "did you mean `X1`?"]),
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
        (",400,50 %", ",about 400,50 %", &["printed.csv:2:", "printed = about 400", "must be a number"]),
        (",400,50 %", ",400,", &["within", "needs a tolerance"]),
        ("400 kbit/s,tail", "401 kbit/s,tail", &["no run has the setting `401 kbit/s`"]),
        ("target limit", "target limits", &["no such [[fitted]]"]),
        ("support limit", "", &["no claim supports the fitted `limit`"]),
        ("jackknife()", "jackknive()", &["did you mean `jackknife`?"]),
        (",sred,", ",red,", &["printed.csv:5:", "a run fills this row"]),
        ("experiment,setting", "experiment,set", &["the columns must be"]),
    ] {
        let problems = change(from, to);
        for word in words {
            assert!(problems.contains(word), "{to}: `{word}` is missing in: {problems}");
        }
    }
}

#[test]
fn what_is_shipped_can_be_read() {
    let papers = shipped();
    assert_eq!(papers.len(), 5);
    let claims: usize = papers.iter().map(|paper| paper.claims.len()).sum();
    assert!(claims >= 150, "{claims}");
    let mut ids: Vec<&str> = papers.iter().flat_map(|p| p.experiments.iter().map(|e| e.id.as_str())).collect();
    ids.sort_unstable();
    let expected =
        "A1 A2 A3 A4 A5 A6 B0 B1 B10 B11 B2 B3 B4 B5 B6 B7 B8 B9 C1 C2 C3 C4 C5 C6 C7 D1 D2 D3 E1 E2 E3 E4 E5 E6 E7";
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
    let experiments = papers.iter().flat_map(|p| p.experiments.iter().map(|e| e.id.clone())).collect();
    let asked = Asked { papers: &papers, experiments, length: Length::Full, seeds: None, only_tested: true };
    let results = paper::run(&asked, None, &()).unwrap();
    let committed = committed();
    let mut told = 0;
    for paper in &papers {
        for row in paper::rows(paper, &asked.experiments, &results) {
            let run = paper.run(&row.claim.experiment, &row.claim.setting);
            let closed = row.claim.quantity.closed().is_some();
            if !closed && !run.is_some_and(|run| run.tested) {
                continue;
            }
            let line = paper::csv(std::slice::from_ref(&row));
            let line = line.lines().nth(1).unwrap();
            assert!(committed.iter().any(|known| known == line), "papers/results.csv lacks this row: {line}");
            told += 1;
        }
    }
    assert!(told >= 25, "{told}");
}
