//! Suites on the command line: what is printed and written, and what is refused.
mod common;

use std::path::Path;

use common::Home;
use tidegate_lab::results::VERSION;

const SUITE: &str = r#"
title = "A small suite"
version = 1
seeds = 2
bound = 0.5
[quick]
seeds = 2
set = ["run.duration=2 s"]
[[test]]
id = "A"
title = "Floods"
asks = "Who gets what?"
source = "this test"
[[cell]]
test = "A"
name = "a flood of {rate}"
scenario = "small.toml"
set = ["group.flood.rate={rate}"]
vary = { rate = ["1 Mbit/s", "3 Mbit/s"] }
users = ["tcp"]
quick = ["3 Mbit/s"]
"#;

fn home() -> Home {
    let home = Home::new();
    home.write("suite.toml", SUITE);
    home
}

#[test]
fn the_table_and_the_files() {
    let home = home();
    let queues = ["--queue", "drr", "--queue", "drop_tail as plain"];
    let arguments = [&["suite", "suite.toml", "--out", "out", "--csv"][..], &queues].concat();
    let ran = home.run(&arguments);
    assert_eq!(ran.code, 0, "{ran:?}");
    let at = |what: &str| ran.out.find(what).unwrap_or_else(|| panic!("{what}: {}", ran.out));
    assert!(at(" drr ") < at(" plain "), "the better comes first");
    assert!(ran.out.contains("(draft): 2 cells × 2 seeds"), "{}", ran.out);
    assert!(ran.err.contains("Wrote out/index.html."), "{}", ran.err);
    let json = home.run(&[&["suite", "suite.toml", "--json"][..], &queues].concat()).json();
    let kept: serde_json::Value = serde_json::from_str(&home.read("out/scores.json")).unwrap();
    assert_eq!(json, kept);
    assert_eq!(json["schema"], "tidegate.suite/1");
    assert_eq!(json["queues"][0]["queue"], "drr");
    let scores = home.read("out/scores.csv");
    assert!(scores.starts_with("test,cell,queue,seeds,sure,passed,worst,worst_ci95,"), "{scores}");
    assert_eq!(scores.lines().count(), 1 + 2 * 2);
    assert_eq!(home.read("out/groups.csv").lines().count(), 1 + 2 * 2 * 2 * 2);
    let page = home.read("out/index.html");
    assert!(page.contains("<h1>A small suite</h1>") && page.contains("A draft"), "{page}");
    // Again, from what is stored: the same files.
    assert_eq!(home.run(&arguments).code, 0);
    assert_eq!((home.read("out/index.html"), home.read("out/scores.csv")), (page, scores));
}

#[test]
fn a_suite_that_only_measures_prints_its_figures() {
    let home = home();
    let figures = "figures = [\"users goodput_bps\", \"link utilization\"]";
    home.write("measure.toml", SUITE.replace("bound = 0.5", figures));
    let ran = home.run(&["suite", "measure.toml", "--queue", "red", "--quick"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for said in ["A Floods", "users goodput_bps", "bit/s ±", "a quick run"] {
        assert!(ran.out.contains(said), "{said}: {}", ran.out);
    }
    assert!(!ran.out.contains("passed"), "{}", ran.out);
    let told = home.run(&["suite", "measure.toml", "--queue", "red", "--quick", "--json"]).json();
    assert!(told["queues"][0].get("passed").is_none() && told["bound"].is_null(), "{told}");
}

#[test]
fn what_is_wrong_is_refused() {
    let home = home();
    let refused = |arguments: &[&str], words: &[&str]| {
        home.run(&[&["suite"][..], arguments].concat()).refused(2, words);
    };
    refused(&["protecton"], &["no such shipped suite", "did you mean `protection`?"]);
    refused(&["suite.toml", "--tests", "B"], &["there is no such test; those are A"]);
    refused(&["suite.toml", "--queue", "dr"], &["did you mean `drr`?"]);
    refused(&["suite.toml", "--queue", "drr", "--queue", "drr"], &["another queue is called that"]);
    refused(&["suite.toml", "--seeds", "1"], &["--seeds"]);
    refused(&["suite.toml", "--csv"], &["--out"]);
    home.write("broken.toml", SUITE.replace("version = 1", "version = \"one\""));
    refused(&["broken.toml"], &["broken.toml:3:12: version = one: must be a whole number"]);
    home.write("none.toml", SUITE.replace("quick = [\"3 Mbit/s\"]", ""));
    refused(&["none.toml", "--quick"], &["leave out --quick"]);
    refused(&["protection", "--gate", "--tests", "P7"], &["--gate", "forge no addresses"]);
    refused(&["protection", "--gate", "--quick"], &["--quick"]);
    std::fs::create_dir(home.path("there")).unwrap();
    home.write("there/thesis.tex", "years of work");
    refused(&["suite.toml", "--out", "there"], &["other things in it"]);
    assert_eq!(
        home.run(&["suite", "suite.toml", "--quick", "--queue", "red", "--out", "old"]).code,
        0
    );
    of_another_version(&home.path("old/store/store.sqlite"));
    refused(&["suite.toml", "--quick", "--queue", "red", "--out", "old"], &["another version"]);
}

/// Changes the version that the store at `path` bears, to one as long.
fn of_another_version(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let version = VERSION.as_bytes();
    let at = bytes.windows(version.len()).position(|window| window == version).unwrap();
    bytes[at] = b'9';
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn without_a_name_suites_are_listed() {
    let home = home();
    let ran = home.run(&["suite"]);
    assert!(ran.out.contains("protection/1") && ran.out.contains("P17"), "{ran:?}");
    let list = home.run(&["suite", "--json"]).json();
    let protection = list.as_array().unwrap().iter().find(|suite| suite["name"] == "protection");
    assert!(protection.unwrap()["tests"].as_array().unwrap().len() >= 16);
}
