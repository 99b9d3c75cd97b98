//! The report in a real browser: every chart is drawn, nothing fails, nothing is fetched.
//!
//! Needs Chromium (`apt-get install chromium`; `make test` does that). Without it these tests fail,
//! unless `TIDEGATE_SKIP_BROWSER=1` is set.
mod sample;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use sample::{SHAPES, replayed, series, simulated};
use tidegate_report::html::{ChartedResult, LIBRARY, ReportInput, library, render, render_beside};
use tidegate_report::suite::{self, CaseScore, SuiteResult, Sure};
use tidegate_report::{Document, Figure, Series};

/// One browser at a time: each takes a core and some 200 MB.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A directory that is gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let dir =
            std::env::temp_dir().join(format!("tidegate-browser-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|dir| {
            ["chromium", "chromium-browser", "google-chrome"].map(|name| dir.join(name))
        })
        .find(|program| program.is_file());
    let skip = std::env::var("TIDEGATE_SKIP_BROWSER").is_ok_and(|v| v == "1");
    assert!(
        found.is_some() || skip,
        "no Chromium: install it (Debian: apt-get install chromium), or set \
         TIDEGATE_SKIP_BROWSER=1 to go without"
    );
    found.filter(|_| !skip)
}

/// Has the browser itself say how many things the page loaded besides itself, once all has settled.
const COUNT_FETCHES: &str = "<script>setTimeout(function () { \
                             document.documentElement.dataset.fetched = \
    performance.getEntriesByType('resource').length; }, 1000);</script>";

/// `page` with `html` as the last thing in its body. (The chart library has an end of a body in a
/// string.)
fn at_the_end(page: &str, html: &str) -> String {
    let end = page.rfind("</body>").expect("a body");
    format!("{}{html}{}", &page[..end], &page[end..])
}

/// The page after its script has run, as HTML; `None` if there is to be no browser.
fn load(name: &str, page: &str, flags: &[&str]) -> Option<String> {
    load_beside(name, page, None, flags)
}

/// The same of a page with the chart library beside it.
fn load_beside(name: &str, page: &str, library: Option<&str>, flags: &[&str]) -> Option<String> {
    let program = chromium()?;
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(|failed| failed.into_inner());
    let scratch = Scratch::new(name);
    let file = scratch.0.join("report.html");
    std::fs::write(&file, at_the_end(page, COUNT_FETCHES)).unwrap();
    if let Some(library) = library {
        std::fs::write(scratch.0.join(LIBRARY), library).unwrap();
    }
    let output = run(&program, &scratch.0, &file, flags);
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "the browser failed:\n{log}");
    let dom = String::from_utf8(output.stdout).unwrap();
    assert!(dom.contains("</html>"), "no page came back:\n{log}");
    Some(dom)
}

fn run(program: &Path, dir: &Path, file: &Path, flags: &[&str]) -> std::process::Output {
    Command::new("timeout")
        .arg("120")
        .arg(program)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--enable-logging=stderr", "--window-size=1280,2000"])
        .arg("--virtual-time-budget=10000")
        .arg(format!("--user-data-dir={}", dir.join("profile").display()))
        .args(flags)
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("the browser starts")
}

/// The start tag of the page's root, which bears what the page's script has to say.
fn root(dom: &str) -> &str {
    let from = dom.find("<html").expect("a root");
    &dom[from..from + dom[from..].find('>').unwrap()]
}

/// Asserts that `charts` charts stand in the page, each with something in it, and that nothing went
/// wrong.
fn assert_drawn(dom: &str, charts: usize) {
    let root = root(dom);
    assert!(!root.contains("data-error"), "a script failed: {root}");
    assert!(!root.contains("data-blocked"), "the page tried to load something: {root}");
    assert!(root.contains("data-fetched=\"0\""), "the page loaded something: {root}");
    assert!(root.contains(&format!("data-ready=\"{charts}\"")), "not {charts} charts: {root}");
    let boxes: Vec<&str> = dom.split("data-chart=\"").skip(1).collect();
    assert_eq!(boxes.len(), charts);
    for drawn in boxes {
        let name = &drawn[..drawn.find('"').unwrap()];
        let svg = drawn.split("<svg").nth(1).unwrap_or_else(|| panic!("{name} holds no picture"));
        let svg = &svg[..svg.find("</svg>").unwrap()];
        let (shapes, words) = (svg.matches("<path").count(), svg.matches("<text").count());
        assert!(shapes >= 4 && words >= 2, "{name} is empty: {shapes} shapes, {words} words");
        assert!(
            !svg.contains("NaN") && !svg.contains("Infinity"),
            "{name} has a place that is no number"
        );
    }
}

/// How many shapes of `colour` the chart called `name` has.
fn shapes(dom: &str, name: &str, colour: &str) -> usize {
    let from =
        dom.find(&format!("data-chart=\"{name}\"")).unwrap_or_else(|| panic!("no chart {name}"));
    let svg = &dom[from..from + dom[from..].find("</svg>").unwrap()];
    svg.matches(&format!("fill=\"{colour}\"")).count()
}

fn comparison(tcp: u64) -> (Vec<Document>, Vec<Series>) {
    SHAPES.iter().map(|shape| (simulated(*shape, tcp), series(*shape))).unzip()
}

fn input<'a>(documents: &'a [Document], series: &'a [Series]) -> ReportInput<'a> {
    let runs = documents
        .iter()
        .zip(series)
        .map(|(document, series)| ChartedResult::of(document).with_series(series))
        .collect();
    ReportInput {
        title: "A flood against TCP",
        runs,
        scenario: Some("[link]\nrate = \"45 Mbit/s\"\n"),
        command: Some("tidegate compare flood"),
    }
}

const BLUE: &str = "#0072b2";
const VERMILION: &str = "#d55e00";

#[test]
fn a_comparison_draws_every_chart() {
    let (documents, series) = comparison(20);
    let Some(dom) = load("compare", &render(&input(&documents, &series)), &[]) else { return };
    assert_drawn(&dom, 6 + 4 + 4 + 3);
    assert_eq!(shapes(&dom, "flows-0", BLUE), 20, "a bar for every TCP flow");
    assert_eq!(shapes(&dom, "flows-0", VERMILION), 1, "a bar for the flood");
    assert_eq!(shapes(&dom, "share", BLUE), 4, "a dot for every queue");
    assert!(dom.contains("▲ 42.8 Mbit/s"), "the flood leaves the picture and bears its figure");
}

#[test]
fn pages_that_share_the_library_draw_the_same() {
    let (documents, series) = comparison(20);
    let input = input(&documents, &series);
    let page = render_beside(&input);
    assert!(page.len() + library().len() < render(&input).len() + 1000, "no more than one page");
    assert!(page.len() < 150_000, "{} bytes", page.len());
    let Some(dom) = load_beside("beside", &page, Some(&library()), &[]) else { return };
    // The library is all that it loads.
    assert_drawn(&dom.replacen("data-fetched=\"1\"", "data-fetched=\"0\"", 1), 6 + 4 + 4 + 3);
    assert_eq!(shapes(&dom, "flows-0", BLUE), 20, "a bar for every TCP flow");
    let fetching = at_the_end(&page, "<img src=\"http://127.0.0.1:9/pixel.png\">");
    let dom = load_beside("beside-fetch", &fetching, Some(&library()), &[]).unwrap_or_default();
    assert!(root(&dom).contains("data-blocked"), "and nothing else may be: {}", root(&dom));
}

#[test]
fn four_hundred_flows_are_all_there() {
    let (documents, series) = comparison(400);
    let Some(dom) = load("400", &render(&input(&documents, &series)), &[]) else { return };
    assert_drawn(&dom, 6 + 4 + 4 + 3);
    assert_eq!(shapes(&dom, "flows-3", BLUE), 400);
}

#[test]
fn one_result_and_a_replay_draw_too() {
    let (documents, series) = comparison(3);
    let one = render(&input(&documents[3..], &series[3..]));
    let replays = [replayed("drop_tail", 0.5), replayed("sfb", 0.9)];
    let runs = replays.iter().map(ChartedResult::of).collect();
    let replay = render(&ReportInput { title: "capture", runs, ..ReportInput::default() });
    let Some(dom) = load("one", &one, &[]) else { return };
    assert_drawn(&dom, 2 + 1 + 1 + 1);
    assert_drawn(&load("replay", &replay, &[]).unwrap(), 6 + 2);
}

#[test]
fn a_result_without_figures_is_no_error() {
    let empty = Document { label: "red".into(), ..Document::default() };
    let page = render(&ReportInput {
        title: "nothing",
        runs: vec![ChartedResult::of(&empty)],
        ..ReportInput::default()
    });
    let Some(dom) = load("empty", &page, &[]) else { return };
    assert!(!root(&dom).contains("data-error"), "{}", root(&dom));
    assert!(root(&dom).contains("data-ready=\"1\""), "{}", root(&dom));
}

#[test]
fn dark_and_narrow_draw_too() {
    let (documents, series) = comparison(20);
    let page = render(&input(&documents, &series));
    let flags = ["--blink-settings=preferredColorScheme=0", "--window-size=500,900"];
    let Some(dom) = load("dark", &page, &flags) else { return };
    assert_drawn(&dom, 6 + 4 + 4 + 3);
    assert_eq!(shapes(&dom, "flows-0", BLUE), 0, "the light colours are for light pages");
    assert_eq!(shapes(&dom, "flows-0", "#4aa8e0"), 20);
}

/// What users provide cannot become part of the page, and the page cannot load what is not in it.
#[test]
fn hostile_names_stay_text() {
    let evil = "</script><script>document.documentElement.dataset.error='owned'</script><img src=x \
                onerror=alert(1)>\
                <!--\u{2028}&amp;\"'";
    let mut document = simulated(SHAPES[1], 3);
    document.label = evil.into();
    document.scenario = evil.into();
    document.queue.name = evil.into();
    document.version = evil.into();
    document.bottleneck.limit = Some(evil.into());
    document.queue.params.insert(evil.into(), evil.into());
    for group in &mut document.groups {
        group.name.push_str(evil);
    }
    for flow in document.flows.as_mut().unwrap() {
        flow.label = evil.into();
        flow.group.as_mut().unwrap().push_str(evil);
    }
    let mut series = series(SHAPES[1]);
    for line in &mut series.lines {
        line.name = evil.into();
        line.unit = evil.into();
    }
    let runs =
        vec![ChartedResult::of(&document).with_series(&series), ChartedResult::of(&document)];
    let page =
        render(&ReportInput { title: evil, runs, scenario: Some(evil), command: Some(evil) });
    assert!(!page.contains("<img src=x"));
    let Some(dom) = load("evil", &page, &[]) else { return };
    assert_drawn(&dom, 6 + 2 + 1 + 1);
    let body = &dom[..dom.find("<script").expect("scripts at the end")];
    assert!(!body.contains("<img"), "a name became an element");
    assert!(body.contains("&lt;img src=x onerror=alert(1)&gt;"), "the name is there, as text");
}

/// The watch itself works: a page that fails and a page that fetches are both found out.
#[test]
fn the_watch_sees_errors_and_fetches() {
    let document = simulated(SHAPES[0], 2);
    let page = render(&ReportInput {
        title: "t",
        runs: vec![ChartedResult::of(&document)],
        ..ReportInput::default()
    });
    let broken = page.replace("\"runs\":[", "\"ruins\":[");
    assert_ne!(broken, page);
    let Some(dom) = load("broken", &broken, &[]) else { return };
    assert!(root(&dom).contains("data-error"), "{}", root(&dom));
    let fetching = at_the_end(&page, "<img src=\"http://127.0.0.1:9/pixel.png\">");
    let dom = load("fetching", &fetching, &[]).unwrap();
    assert!(root(&dom).contains("data-blocked=\"http://127.0.0.1:9/pixel.png\""), "{}", root(&dom));
    // Even a page whose policy were lost would be found out: by what the browser says it loaded.
    let policy = fetching.replace("default-src 'none'", "default-src 'unsafe-inline' http: file:");
    let dom = load("loading", &policy.replace("img-src data:", "img-src http:"), &[]).unwrap();
    assert!(!root(&dom).contains("data-fetched=\"0\""), "{}", root(&dom));
}

/// A suite of every queue and many cells.
fn suite() -> SuiteResult {
    let figures = ["worst", "starved", "share", "light wait", "utilization"];
    let row = |at: usize| CaseScore {
        sure: Some(Sure { sure: at as f64 / 25.0, passed: at > 12 }),
        figures: figures.iter().map(|_| Figure::new(at as f64 / 7.0, Some(0.12))).collect(),
    };
    let cell = |at: usize| suite::CellResult {
        name: format!("{at} floods of together twice the line"),
        command: "tidegate compare suites/protection/flood.toml".into(),
        counts: "A user is a source. The attackers count as 16 users.".into(),
        rows: (0..26).map(row).collect(),
        pictures: vec![],
    };
    let test = |at: usize| suite::TestResult {
        id: format!("P{at}"),
        title: "Steady <floods>".into(),
        figures: figures.iter().map(|name| (name.to_string(), String::new())).collect(),
        cells: (0..5).map(cell).collect(),
        ..suite::TestResult::default()
    };
    let queue = |at: usize| suite::QueueScore {
        label: format!("queue_{at}"),
        passed: 80 - at,
        of: 80,
        tests: (0..17)
            .map(|test| Some(Sure { sure: test as f64 / 16.0, passed: test > 8 }))
            .collect(),
        state_bytes: Some(1234),
        ns: Some(12.3),
    };
    SuiteResult {
        title: "What a queue leaves".into(),
        bound: Some(0.5),
        queues: (0..26).map(queue).collect(),
        tests: (0..17).map(test).collect(),
        seeds: 10,
        ..SuiteResult::default()
    }
}

/// The page of a suite runs no script; so that it can say how wide it is, one is admitted here.
#[test]
fn the_page_of_a_suite_fits_a_phone_and_loads_nothing() {
    let page = suite::render(&suite());
    assert!(page.len() < 500_000, "{} bytes", page.len());
    assert!(page.contains("default-src 'none'") && !page.contains("<script"));
    let open =
        page.replace("default-src 'none';", "default-src 'none'; script-src 'unsafe-inline';");
    let wide = "<script>var root = document.documentElement; \
                root.dataset.wide = root.scrollWidth - root.clientWidth;</script>";
    for flags in [&["--window-size=500,900"][..], &["--window-size=1280,900"]] {
        let Some(dom) = load("suite", &at_the_end(&open, wide), flags) else { return };
        let root = root(&dom);
        assert!(root.contains("data-fetched=\"0\""), "the page loaded something: {root}");
        assert!(root.contains("data-wide=\"0\""), "it is too wide: {root}");
        assert_eq!(dom.matches("<table").count(), 1 + 17 * (1 + 5));
        assert_eq!(dom.matches("<td class=\"s").count(), 26 * 17 + 26 * 17 * 5);
    }
}
