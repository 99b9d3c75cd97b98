//! Two saved results side by side.
use crate::common::Home;
use serde_json::Value;

/// Seeds of the results that are compared.
const SEEDS: u32 = 6;
/// The 97.5 % quantile of Student's t with 5 degrees of freedom.
const T_975_5: f64 = 2.570_582;

/// `small.toml` into the directory `name`, with one value changed.
fn run(home: &Home, name: &str, set: &str, seed: u32) {
    let [seeds, seed] = [SEEDS, seed].map(|n| n.to_string());
    let seeds = ["--seeds", &seeds, "--seed", &seed];
    let ran = home.run(&[&["run", "small.toml", "--set", set, "--out", name], &seeds[..]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// Goodput of the TCP users with each of the seeds, each run alone.
fn alone(home: &Home, set: &str) -> Vec<f64> {
    let goodput = |seed: u32| {
        let seed = seed.to_string();
        let words = ["run", "small.toml", "--set", set, "--seeds", "1", "--seed", &seed, "--json"];
        home.run(&words).json()["groups"][0]["goodput_bps"]["mean"].as_f64().unwrap()
    };
    (1..=SEEDS).map(goodput).collect()
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0))
}

fn goodput(diff: &Value) -> &Value {
    let own =
        |figure: &&Value| figure["metric"] == "goodput_bps" && figure["place"]["group"] == "tcp";
    diff["figures"].as_array().unwrap().iter().find(own).unwrap()
}

/// Against the same seeds, each run alone; the interval by hand, of pairs or Welch's.
#[test]
fn a_difference_is_that_of_runs_of_each_seed_alone() {
    let home = Home::new();
    let sets = ["network.rate=2 Mbit/s", "network.rate=2.2 Mbit/s"];
    run(&home, "before", sets[0], 1);
    run(&home, "after", sets[1], 1);
    let [a, b] = sets.map(|set| alone(&home, set));
    let diff = home.run(&["diff", "before", "after", "--json"]).json();
    let figure = goodput(&diff);
    let within: Vec<f64> = b.iter().zip(&a).map(|(b, a)| b - a).collect();
    let (mean, variance) = mean_and_variance(&within);
    let found = |name: &str| figure["difference"][name].as_f64().unwrap();
    assert!((found("mean") - mean).abs() < 1e-6, "{figure} {mean}");
    let of_a = mean_and_variance(&a).0;
    assert!((figure["a"]["mean"].as_f64().unwrap() - of_a).abs() < 1e-6);
    if figure["paired"] == true {
        let half = T_975_5 * (variance / SEEDS as f64).sqrt();
        assert!((found("ci95") / half - 1.0).abs() < 1e-5, "{figure} {half}");
    } else {
        // Welch's error; his degrees of freedom lie between 5 and 10, whose quantile is 2.228.
        let error = ((mean_and_variance(&a).1 + mean_and_variance(&b).1) / SEEDS as f64).sqrt();
        assert!((2.228..=2.5706).contains(&(found("ci95") / error)), "{figure} {error}");
    }
    assert_eq!(diff["summary"]["figures"], diff["figures"].as_array().unwrap().len());
}

#[test]
fn what_differs_comes_first_and_settings_are_told() {
    let home = Home::new();
    run(&home, "before", "network.rate=2 Mbit/s", 1);
    run(&home, "after", "network.rate=3 Mbit/s", 1);
    let ran = home.run(&["diff", "before", "after"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let head = "A: before (tidegate 0.1.0)\nB: after (tidegate 0.1.0)\n\
         Set otherwise in A and B:\n  network.rate: 2 Mbit/s and 3 Mbit/s\n";
    assert!(ran.out.starts_with(head), "{}", ran.out);
    assert!(
        ran.out.contains("by chance alone") && ran.out.contains("Holm's correction"),
        "{}",
        ran.out
    );
    let rows: Vec<&str> = ran
        .out
        .lines()
        .skip_while(|line| !line.contains('─'))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .collect();
    assert!(rows.len() > 5 && rows.iter().all(|row| row.ends_with('*')), "{rows:#?}");
    let single = rows.iter().position(|row| !row.ends_with("**")).unwrap_or(rows.len());
    assert!(rows[single..].iter().all(|row| !row.ends_with("**")), "{rows:#?}");
    // Against itself nothing differs.
    let same = home.run(&["diff", "before", "before"]);
    assert!(
        same.code == 0
            && same.out.contains("\n0 of ")
            && same.out.contains("same to the last digit"),
        "{}",
        same.out
    );
    // One metric, of all groups and of the link.
    let one = home.run(&["diff", "before", "after", "--metric", "goodput_bps", "--all"]);
    assert!(
        one.out.contains(" of 2 figures") && one.out.matches("goodput_bps").count() == 2,
        "{}",
        one.out
    );
    let delays = home.run(&["diff", "before", "after", "--metric", "delay_ms", "--json"]).json();
    assert_eq!(delays["summary"]["figures"], 10, "two groups, five figures of a delay");
}

/// A directory has values by seed; `result.json` has means. One queue may stand against another.
#[test]
fn results_of_every_kind_are_read() {
    let home = Home::new();
    run(&home, "before", "network.rate=2 Mbit/s", 1);
    run(&home, "after", "network.rate=3 Mbit/s", 1);
    let kinds = [
        ["before", "after"],
        ["before/result.json", "after"],
        ["before/groups.parquet", "after/result.json"],
    ];
    for [a, b] in kinds {
        let diff = home.run(&["diff", a, b, "--json"]).json();
        let means = ["a", "b"].map(|side| goodput(&diff)[side]["mean"].as_f64().unwrap());
        assert!(means[0] < means[1], "{a} {b}: {means:?}");
    }
    let seeds = ["--seeds", "3", "--out"];
    for (queue, out) in [("red", "red"), ("sfb", "sfb")] {
        assert_eq!(
            home.run(&[&["run", "small.toml", "--queue", queue], &seeds[..], &[out]].concat()).code,
            0
        );
    }
    let diff = home.run(&["diff", "red", "sfb"]).out;
    assert!(
        diff.starts_with("A: red (red, tidegate") && diff.contains("\nB: sfb (sfb, tidegate"),
        "{diff}"
    );
}

/// Cells of studies are matched by what is varied; a study with an axis more is another one.
#[test]
fn studies_are_compared_cell_by_cell() {
    let home = Home::new();
    let study = |name: &str, limit: &str, axes: &str| {
        let text = format!(
            "scenario = \"small.toml\"\nqueues = [\"red\"]\nseeds = 3\n\
             [set]\nnetwork.limit = \"{limit}\"\n[axes]\n{axes}\n"
        );
        home.write(&format!("{name}.toml"), text);
        let ran = home.run(&["sweep", &format!("{name}.toml")]);
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    let rates = "network.rate = [\"1 Mbit/s\", \"3 Mbit/s\"]";
    study("one", "1 bdp", rates);
    study("two", "3 bdp", "network.rate = [\"3 Mbit/s\", \"1 Mbit/s\", \"5 Mbit/s\"]");
    study("more", "3 bdp", &format!("{rates}\ngroup.tcp.count = [1, 2]"));
    let metric = ["--metric", "goodput_bps"];
    let diff = home.run(&[&["diff", "one.study", "two.study", "--json"], &metric[..]].concat());
    let diff = diff.json();
    assert_eq!((&diff["summary"]["figures"], &diff["summary"]["alone_b"]), (&4.into(), &3.into()));
    for figure in diff["figures"].as_array().unwrap() {
        let rate = figure["place"]["network.rate"].as_str().unwrap();
        let set = ["--set", &format!("network.rate={rate} bit/s"), "--set", "network.limit=1 bdp"];
        let run = ["run", "small.toml", "--queue", "red", "--seeds", "3", "--json"];
        let document = home.run(&[&run[..], &set[..]].concat()).json();
        let groups = document["groups"].as_array().unwrap();
        let own = groups.iter().find(|group| group["name"] == figure["place"]["group"]).unwrap();
        assert_eq!(own["goodput_bps"]["mean"], figure["a"]["mean"], "{figure}");
    }
    let text = home.run(&[&["diff", "one.study", "two.study", "--all"], &metric[..]].concat()).out;
    assert!(text.contains("\n 3 Mbit/s") && text.contains("3 rows stand in B alone"), "{text}");
    let apart =
        "Set otherwise in A and B:\n  set.network.limit: 1 bdp and 3 bdp\n  axes.network.rate.";
    assert!(text.contains(apart), "{text}");
    home.refuses(2, &["diff", "one.study", "more.study"], &["by scenario, network.rate, queue"]);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let home = Home::new();
    run(&home, "small", "network.rate=2 Mbit/s", 1);
    home.write("other.toml", home.read("small.toml"));
    assert_eq!(home.run(&["run", "other.toml", "--out", "other"]).code, 0);
    std::fs::create_dir(home.path("empty")).unwrap();
    home.write(
        "newer.json",
        home.read("small/result.json").replace("tidegate.result/1", "tidegate.result/2"),
    );
    home.write("torn.json", &home.read("small/result.json")[..200]);
    let torn = std::fs::read(home.path("small/groups.parquet")).unwrap();
    home.write("torn.parquet", &torn[..torn.len() / 2]);
    home.write("empty.json", "[]");
    for (a, b, words) in [
        ("small", "none", &["none: there is no such file or directory"][..]),
        ("empty", "small", &["empty: is no directory of results"]),
        (
            "small",
            "other",
            &["no figure in common", "scenario: small in the first, other in the second"],
        ),
        (
            "newer.json",
            "small",
            &["schema tidegate.result/2", "this version reads tidegate.result/1", "newer"],
        ),
        ("small", "torn.json", &["torn.json: is no result", "line"]),
        ("small", "torn.parquet", &["torn.parquet: is no table that can be read"]),
        ("small.toml", "small", &["small.toml: is no result"]),
        ("empty.json", "small", &["empty.json: has no results in it"]),
    ] {
        home.refuses(2, &["diff", a, b], words);
    }
    let wrong = ["diff", "small", "small", "--metric", "goodput_bsp"];
    home.refuses(2, &wrong, &["--metric goodput_bsp", "did you mean `goodput_bps`?"]);
}
