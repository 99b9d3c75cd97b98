//! Suites on the command line: what is printed and written, and what is refused.
use std::path::Path;

use crate::common::Home;
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
    // Of a test what its worst cell has, with its interval.
    let test = &json["queues"][1]["tests"][0];
    let worst = json["cells"].as_array().unwrap().iter().find(|cell| {
        cell["queue"] == "plain"
            && cell["cell"] == test["worst_cell"]
            && cell["sure"] == test["sure"]
    });
    assert_eq!(test["figures"], worst.unwrap()["figures"]);
    assert!(test["figures"]["share"]["ci95"].is_number(), "{test}");
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
    refused(&["none.toml", "--quick"], &["has a cell in a quick run"]);
    let wrong = |name: &str, from: &str, to: &str, words: &[&str]| {
        assert!(SUITE.contains(from), "{from}");
        home.write(name, SUITE.replace(from, to));
        refused(&[name], words);
    };
    let list = "name = \"a flood of {rate}\"";
    wrong(
        "list.toml",
        list,
        "name = \"a flood of {rat}\"",
        &["list.toml:16:9:", "`{rat}` is no list in `vary`; did you mean `rate`?"],
    );
    let of = "bound = 0.5\nfigures = [\"floo goodput_bps\"]";
    wrong("role.toml", "bound = 0.5", of, &["no cell has a group `floo`", "`flood`?"]);
    let quick = "set = [\"run.duration=2\"]";
    wrong("quick.toml", "set = [\"run.duration=2 s\"]", quick, &["quick.toml:8:7:"]);
    let target = "users = [\"tcp\"]\ntarget = \"2 min\"";
    wrong("far.toml", "users = [\"tcp\"]", target, &["above 0 and at most 60 s"]);
    home.write(
        "own.toml",
        SUITE.replace("bound = 0.5", "").replace("quick = [", "bound = 0.5\nquick = ["),
    );
    refused(&["own.toml"], &["the suite has no `bound`"]);
    wrong("frozen.toml", "version = 1", "version = 1\nfrozen = true", &["cells.jsonl"]);
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
    assert!(ran.out.contains("protection/2") && ran.out.contains("P17"), "{ran:?}");
    let list = home.run(&["suite", "--json"]).json();
    let protection = list.as_array().unwrap().iter().find(|suite| suite["name"] == "protection");
    assert!(protection.unwrap()["tests"].as_array().unwrap().len() >= 16);
}

#[test]
fn a_frozen_suite_keeps_its_cells() {
    let home = home();
    let cells = home.run(&["suite", "suite.toml", "--cells"]);
    assert_eq!((cells.code, cells.out.lines().count()), (0, 2), "{cells:?}");
    home.write("cells.jsonl", &cells.out);
    let frozen = SUITE.replace("version = 1", "version = 1\nfrozen = true");
    home.write("suite.toml", &frozen);
    let arguments = ["suite", "suite.toml", "--quick", "--queue", "red"];
    let ran = home.run(&arguments);
    assert!(ran.code == 0 && ran.out.contains("/1: 1 of 2 cells"), "{ran:?}");
    home.write("suite.toml", frozen.replace("rate = [\"1 Mbit/s\"", "rate = [\"2 Mbit/s\""));
    home.run(&arguments)
        .refused(2, &["cell `a flood of 2 Mbit/s` of A is not that of cells.jsonl"]);
}

/// What one suite stored is not another's to replace.
#[test]
fn a_directory_is_one_suites() {
    let home = home();
    let run =
        |suite: &str| home.run(&["suite", suite, "--quick", "--queue", "red", "--out", "out"]);
    assert_eq!(run("suite.toml").code, 0);
    std::fs::create_dir(home.path("other")).unwrap();
    home.write("other/suite.toml", SUITE);
    home.write("other/small.toml", home.read("small.toml"));
    run("other/suite.toml").refused(2, &["other things in it"]);
}
