//! The page where one can play (`docs/play`), in a real browser: its figures are the command's, and
//! it does what its controls say.
mod browser;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use browser::Page;
use serde_json::Value;

/// Holds once the page shows a result: the number of the change that it is of.
const SHOWN: &str = "document.documentElement.dataset.shown";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/play").canonicalize().unwrap()
}

fn url(fragment: &str) -> String {
    format!("file://{}{fragment}", folder().join("index.html").display())
}

/// The page at `fragment`, once it shows a result; `None` if there is to be no browser.
fn open(fragment: &str) -> Option<Page> {
    let mut page = Page::open()?;
    page.load(&url(fragment));
    page.wait(SHOWN);
    Some(page)
}

/// Runs a command line in a shell that finds this build.
fn shell(command: &str, dir: &Path) -> Output {
    let build = Path::new(env!("CARGO_BIN_EXE_tidegate")).parent().unwrap();
    let path = format!("{}:{}", build.display(), std::env::var("PATH").unwrap_or_default());
    let ran = Command::new("sh").args(["-c", command]).current_dir(dir).env("PATH", path).output();
    ran.unwrap()
}

/// What the command prints, without the time it took.
fn printed(command: &str, dir: &Path) -> String {
    let ran = shell(&format!("{command} --flows --json"), dir);
    assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
    let text = String::from_utf8(ran.stdout).unwrap();
    timeless(text.trim_end())
}

fn timeless(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with("  \"wall_s\":")).collect::<Vec<_>>().join("\n")
}

/// The settings of a link, and of what they show the result, the command and the scenario.
fn played(page: &mut Page, fragment: &str) -> [String; 3] {
    let before = page.eval("tidegate.turn").as_u64().unwrap();
    page.eval(&format!("location.hash = {fragment:?}; 0"));
    page.wait(&format!("tidegate.turn > {before} && {SHOWN} === String(tidegate.turn)"));
    assert_eq!(page.text("#troubles"), "", "{fragment}");
    ["result", "command", "scenario"]
        .map(|what| page.eval(&format!("tidegate.played.{what}")).as_str().unwrap().into())
}

/// What the page has, and nothing that it loads besides: its own files.
#[test]
fn it_is_small_and_loads_nothing_else() {
    let files = std::fs::read_dir(folder()).unwrap().flatten();
    let bytes: u64 = files.map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes < 3_000_000, "{bytes} bytes");
    let Some(mut page) = open("") else { return };
    let loaded = page.eval("performance.getEntriesByType('resource').map((entry) => entry.name)");
    let own = format!("file://{}/", folder().display());
    for name in loaded.as_array().unwrap().iter().map(|name| name.as_str().unwrap()) {
        assert!(name.starts_with(&own) || name.starts_with("blob:"), "{name}");
    }
    page.is_well();
}

#[test]
fn every_queue_gives_the_commands_figures_byte_for_byte() {
    let Some(mut page) = open("") else { return };
    let home = tempfile::tempdir().unwrap();
    let queues = page.eval("tidegate.queues.map((queue) => queue.name)");
    let known = shell("tidegate list queues", home.path()).stdout;
    let known = String::from_utf8(known).unwrap();
    for name in queues.as_array().unwrap().iter().map(|name| name.as_str().unwrap()) {
        assert!(known.contains(name), "{name}");
        let [result, command, _] =
            played(&mut page, &format!("#queue={name}&users=5&rate=2&ecn=on"));
        assert!(command.contains(name), "{command}");
        assert!(
            timeless(&result) == printed(&command, home.path()),
            "{command}: other figures; `make wasm` builds the module anew"
        );
    }
    assert_eq!(queues.as_array().unwrap().len(), tidegate::catalog::QUEUES.len(), "`make wasm`");
    page.is_well();
}

#[test]
fn every_setting_gives_the_commands_figures_and_its_scenario_does_too() {
    let Some(mut page) = open("") else { return };
    for fragment in [
        "#seed=1",
        "#flood=0",
        "#flood=0.3&floods=3&rate=3",
        "#tcp=cubic&rtt=80&seed=7",
        "#tcp=bbr&buffer=400&users=3",
        "#tcp=dctcp&ecn=on&queue=red&flood=0.5",
        "#tcp=vegas&flood=0&users=1&rtt=5",
        "#tcp=sack&queue=sfb&preset=paper&params=bins%3D46,hold%3D10+ms",
    ] {
        let [result, command, scenario] = played(&mut page, fragment);
        let home = tempfile::tempdir().unwrap();
        let result = timeless(&result);
        assert!(result == printed(&command, home.path()), "{command}");
        std::fs::write(home.path().join("play.toml"), scenario).unwrap();
        assert!(result == printed("tidegate run play.toml", home.path()), "{command}: its file");
    }
    page.is_well();
}

/// The figure that the page shows first: what users get of their share, in per cent.
fn share(page: &mut Page) -> f64 {
    let text = page.text("#tiles strong");
    text.trim_end_matches(['%', '\u{a0}']).parse().unwrap_or_else(|_| panic!("{text}"))
}

/// Waits until what is shown is of the settings as they are, in every row.
fn settle(page: &mut Page) {
    page.wait("document.documentElement.dataset.all === String(tidegate.turn)");
}

#[test]
fn a_flood_that_is_dragged_up_starves_users_until_sfb_is_chosen() {
    let Some(mut page) = open("#flood=0") else { return };
    settle(&mut page);
    assert!(share(&mut page) > 90.0, "{}", page.text("#answer"));
    page.drag("#flood", 0.0, 0.4);
    settle(&mut page);
    assert_eq!(page.text(".slider[data-key=flood] output"), "20 Mbit/s, 2 × the line");
    assert!(share(&mut page) < 5.0, "{}", page.text("#answer"));
    page.wait("document.getElementById('live').textContent.startsWith('drop_tail: users get')");
    page.click("#all tr[data-queue=sfb] button");
    settle(&mut page);
    assert!(share(&mut page) > 80.0, "{}", page.text("#answer"));
    assert!(page.text("#state-charts").contains("p_max"), "the queue's inner state");
    let link = page.eval("location.hash");
    assert!(link.as_str().unwrap().contains("queue=sfb"), "{link}");
    page.is_well();
}

/// When the page shows its first result, in ms from the start of navigation. It is not earlier than
/// that, and may be later by the time between two looks.
const FIRST: &str = "new Promise((done) => { const look = () => \
    document.documentElement.dataset.shown || performance.now() > 30000 \
    ? done(performance.now()) : setTimeout(look, 1); look(); })";

/// Twenty users and twenty seconds are what the page begins with.
#[test]
#[ignore = "a machine with nothing else to do"]
#[allow(clippy::disallowed_macros, reason = "it prints what it measures")]
fn it_begins_within_a_second_and_a_slider_answers_within_a_fifth() {
    let Some(mut page) = Page::open() else { return };
    page.load(&url(""));
    let first = page.eval(FIRST).as_f64().unwrap();
    settle(&mut page);
    assert_eq!(page.text("#command"), "tidegate run play --queue drop_tail");
    let before = page.eval("tidegate.times.length").as_u64().unwrap();
    for (from, to) in [(0.4, 0.8), (0.8, 0.2), (0.2, 0.6), (0.6, 0.1), (0.1, 0.9), (0.9, 0.4)] {
        page.drag("#flood", from, to);
        settle(&mut page);
    }
    let times = page.eval(&format!("tidegate.times.slice({before})"));
    let mut times: Vec<f64> =
        times.as_array().unwrap().iter().map(|time| time.as_f64().unwrap()).collect();
    times.sort_by(f64::total_cmp);
    assert!(times.len() >= 12, "each drag has an answer at its start and at its end: {times:?}");
    let median = times[times.len() / 2];
    println!("first result after {first:.0} ms; {} answers, median {median:.0} ms", times.len());
    assert!(first <= 1000.0, "the first result after {first:.0} ms");
    assert!(median < 200.0, "{times:.0?}");
    page.is_well();
}

#[test]
fn it_can_be_used_without_a_mouse() {
    let Some(mut page) = open("") else { return };
    page.eval("document.getElementById('users').focus(); 0");
    page.press("ArrowLeft", 37);
    page.press("ArrowLeft", 37);
    settle(&mut page);
    assert_eq!(
        page.eval(
            "document.getElementById('users').ariaValueText ?? \
        document.getElementById('users').getAttribute('aria-valuetext')"
        ),
        "18 users"
    );
    assert!(page.text("#tiles").contains("of 18 starved"), "{}", page.text("#tiles"));
    let nameless = page.eval(
        "[...document.querySelectorAll('input, select, button')].filter((control) => \
         !control.labels?.length && !control.textContent.trim()).map((control) => control.id)",
    );
    assert_eq!(nameless, Value::Array(vec![]), "every control has a name");
    page.is_well();
}

#[test]
fn a_link_carries_every_setting() {
    let fragment = "#queue=sfb&preset=paper&params=bins%3D46&flood=0.7&floods=3&users=7&rtt=80\
        &tcp=cubic&ecn=on&rate=4&buffer=50&seed=9";
    let Some(mut page) = open(fragment) else { return };
    settle(&mut page);
    assert_eq!(page.text("#troubles"), "");
    assert_eq!(page.eval("location.hash"), fragment);
    let command = page.text("#command");
    for part in ["sfb/paper,bins=46", "'network.rate=4 Mbit/s'", "'network.delay=20 ms'"] {
        assert!(command.contains(part), "{part}: {command}");
    }
    page.click("#reset");
    settle(&mut page);
    assert_eq!(page.text("#command"), "tidegate run play --queue drop_tail");
    page.is_well();
}

#[test]
fn a_bad_link_is_refused_in_words_and_the_defaults_hold() {
    let Some(mut page) = open("") else { return };
    let long = format!("#params={}", "x".repeat(2000));
    for (fragment, words) in [
        ("#users=9999", "users=9999: users must be a whole number from 1 to 100; 20 holds."),
        ("#rtt=fast", "rtt=fast: round trip must be a number from 4 to 400; 40 holds."),
        ("#flood=-1", "flood must be a number from 0 to 5; 2 holds."),
        ("#flood=1e9", "flood must be a number from 0 to 5; 2 holds."),
        ("#users=3&users=4", "users=4: users is given twice; 3 holds."),
        ("#queue=sbf", "queue=sbf: queue must be drop_tail, red"),
        ("#queue=red&preset=literal", "red has no such preset; known are paper, ns2, auto. auto"),
        ("#queue=sfb&params=bin%3D3", "did you mean `bins`?. None hold."),
        ("#queue=sfb&params=bins%3D0", "bins = 0: must lie in 1 to 65536. None hold."),
        ("#ecn=maybe", "ecn=maybe: ECN must be off or on; off holds."),
        ("#%00%ff<img src=x>", "there is no such setting; known are queue, preset"),
        ("#color=red", "color=red: there is no such setting"),
        (&long, "longer than 1000 characters; all defaults hold."),
    ] {
        page.load(&url(fragment));
        page.wait(SHOWN);
        let said = page.text("#troubles");
        assert!(said.contains(words), "{fragment}: {said}");
        assert!(page.text("#answer").contains("users get"), "{fragment}");
        assert_eq!(page.eval("document.querySelector('main img')"), Value::Null);
    }
    page.is_well();
}

#[test]
fn parameters_that_cannot_be_are_refused_and_the_page_goes_on() {
    let Some(mut page) = open("#queue=sfb") else { return };
    page.eval(
        "changeParams = (text) => { const field = document.getElementById('params'); \
        field.value = text; field.dispatchEvent(new Event('input')); }; changeParams('bins=0')",
    );
    page.wait("document.getElementById('troubles').textContent.includes('must lie in 1 to 65536')");
    page.eval("changeParams('bins=64')");
    settle(&mut page);
    assert_eq!(page.text("#troubles"), "");
    assert!(page.text("#command").contains("sfb,bins=64"));
    page.is_well();
}

/// A drag asks for more than can be simulated: only the newest request waits.
#[test]
fn stale_requests_are_dropped_and_late_ones_given_up() {
    let Some(mut page) = open("") else { return };
    settle(&mut page);
    let asked = page.eval(
        "(async () => { const machine = new Machine(ENGINE, 15000); \
         const run = { run: { sets: [], queue: 'sfb' } }; \
         const all = await Promise.all([1, 2, 3, 4].map(() => machine.ask(run))); \
         return all.map((reply) => reply !== null && 'played' in reply); })()",
    );
    assert_eq!(asked, serde_json::json!([true, false, false, true]));
    let late = page.eval(
        "(async () => { const machine = new Machine(ENGINE, 5); \
         const run = { run: { sets: ['run.duration=1000 s'], queue: 'sfb' } }; \
         const [first, second] = await Promise.all([1, 2].map(() => machine.ask(run))); \
         return [first.problem, second.problem]; })()",
    );
    let said = "no result within 0.005 s; try a slower line";
    assert_eq!(late, serde_json::json!([said, said]), "the next one is asked of a new worker");
    page.is_well();
}

#[test]
fn what_is_saved_is_what_the_command_reads_and_prints() {
    let Some(mut page) = open("#queue=fq_codel&users=6&rate=3") else { return };
    settle(&mut page);
    let saved = |page: &mut Page, button: &str, name: &str| {
        page.click(button);
        let file = page.downloads.path().join(name);
        for _ in 0..200 {
            if file.exists() {
                break;
            }
            page.eval("new Promise((done) => setTimeout(done, 50))");
        }
        std::fs::read_to_string(file).unwrap()
    };
    let result = saved(&mut page, "#save-result", "result.json");
    saved(&mut page, "#save-scenario", "play.toml");
    let dir = page.downloads.path().to_path_buf();
    assert!(timeless(result.trim_end()) == printed("tidegate run play.toml", &dir));
    page.is_well();
}

#[test]
fn it_fits_a_phone_and_the_dark() {
    let Some(mut page) = open("#queue=sfb") else { return };
    for (width, scheme) in [(390, "light"), (390, "dark"), (1366, "dark"), (1366, "light")] {
        page.look(width, scheme);
        page.load(&url("#queue=sfb"));
        page.wait(SHOWN);
        settle(&mut page);
        let fits = page.eval("document.documentElement.scrollWidth <= window.innerWidth");
        assert_eq!(fits, true, "nothing sticks out at {width}, {scheme}");
        let charts = page.eval(
            "[...document.querySelectorAll('figure svg')].map((chart) => \
            chart.querySelectorAll('path.line').length).filter((lines) => lines > 0).length",
        );
        assert_eq!(charts, 11, "four charts over time, seven gauges of sfb");
        let broken =
            page.eval("/NaN|Infinity|undefined/.test(document.getElementById('stage').outerHTML)");
        assert_eq!(broken, false);
    }
    page.print();
    let fits = page.eval("document.documentElement.scrollWidth <= window.innerWidth");
    assert_eq!(fits, true, "nothing sticks out of the paper");
    let shown = "getComputedStyle(document.getElementById('controls')).display";
    assert_eq!(page.eval(shown), "none", "nobody can drag a slider on paper");
    page.is_well();
}
