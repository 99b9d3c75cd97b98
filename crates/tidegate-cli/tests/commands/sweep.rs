//! Studies: what they compute, that nothing of it is lost or done twice, and what they refuse.
#![allow(clippy::disallowed_macros, reason = "what is skipped is skipped aloud")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common;
use crate::common::Home;
use tidegate_lab::study::{Part, empty};

/// Two rates, three numbers of users, two queues, two seeds: 24 replications.
const GRID: &str = r#"
title = "Rate and users"
scenario = "small.toml"
queues = ["drop_tail", "blue as BLUE"]
seeds = 2
[set]
run.duration = "2 s"
group.flood.rate = "0.5 × network.rate"
[axes]
network.rate = ["1 Mbit/s", "3 Mbit/s"]
group.tcp.count = [1, 2, 3]
"#;

/// The rows of a CSV file, each by its columns.
fn rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), head.len(), "{line}");
        head.iter().zip(cells).map(|(name, cell)| (name.to_string(), cell.to_string())).collect()
    };
    lines.map(row).collect()
}

/// The worst user and the starved stand beside each mean: means over the cells of `summary`.
fn said_of_users(said: &str, summary: &[BTreeMap<String, String>]) {
    for (queue, group) in [("drop_tail", "tcp"), ("BLUE", "tcp"), ("BLUE", "flood")] {
        let of = |row: &&BTreeMap<_, String>| row["queue"] == queue && row["group"] == group;
        let mean = |column: &str| {
            let all = summary.iter().filter(of).filter_map(|row| row[column].parse::<f64>().ok());
            let all: Vec<f64> = all.collect();
            all.iter().sum::<f64>() / all.len() as f64
        };
        let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
        let line =
            said.lines().map(words).find(|line| line.starts_with(&[queue.into(), group.into()]));
        let line = line.unwrap_or_else(|| panic!("{queue} {group}: {said}"));
        let [share, worst] = ["share", "worst_share"].map(|c| format!("{:.1}", 100.0 * mean(c)));
        assert_eq!((&line[2], &line[3]), (&share, &worst), "{said}");
        let starved = mean("starved");
        let told: f64 = line[4].trim_start_matches('<').parse().unwrap();
        assert!((told - starved).abs() < 0.1, "{starved}: {line:?}");
    }
}

#[test]
fn every_row_is_what_run_says() {
    let home = Home::new();
    home.write("grid.toml", GRID);
    let ran = home.run(&["sweep", "grid.toml", "--csv"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("6 cells, 48 rows"), "{}", ran.out);
    said_of_users(&ran.out, &rows(&home.read("grid.study/summary.csv")));
    let rows = rows(&home.read("grid.study/groups.csv"));
    assert_eq!(rows.len(), 2 * 3 * 2 * 2 * 2);
    for row in rows.iter().step_by(5) {
        let number = |name: &str| row[name].parse::<f64>().ok();
        let queue = if row["queue"] == "BLUE" { "blue" } else { "drop_tail" };
        let rate = format!("network.rate={} bit/s", row["network.rate"]);
        let flood = format!("group.flood.rate={} bit/s", number("network.rate").unwrap() / 2.0);
        let count = format!("group.tcp.count={}", row["group.tcp.count"]);
        let mut args = vec!["run", "small.toml", "--json", "--queue", queue, "--seeds", "1"];
        args.extend(["--seed", &row["seed"], "--set", "run.duration=2 s"]);
        args.extend(["--set", &rate, "--set", &flood, "--set", &count]);
        let document = home.run(&args).json();
        let groups = document["groups"].as_array().unwrap();
        let group = groups.iter().find(|g| g["name"] == row["group"].as_str()).unwrap();
        for metric in ["throughput_bps", "goodput_bps", "loss_ratio", "fair_share_bps"] {
            assert_eq!(number(metric), group[metric]["mean"].as_f64(), "{metric} of {row:?}");
        }
        assert_eq!(number("delay_ms_p95"), group["delay_ms"]["p95"]["mean"].as_f64());
        let link = &document["aggregate"];
        assert_eq!(number("link_utilization"), link["utilization"]["mean"].as_f64());
        assert_eq!(
            number("link_queue_delay_ms_mean"),
            link["queue_delay_ms"]["mean"]["mean"].as_f64()
        );
    }
}

#[test]
fn means_and_intervals_are_those_of_the_rows() {
    let home = Home::new();
    home.write("grid.toml", GRID.replace("seeds = 2", "seeds = 3"));
    assert_eq!(home.run(&["sweep", "grid.toml", "--csv"]).code, 0);
    let rows = rows(&home.read("grid.study/groups.csv"));
    let means = self::rows(&home.read("grid.study/summary.csv"));
    assert_eq!(means.len() * 3, rows.len());
    for mean in &means {
        let same = |row: &&BTreeMap<String, String>| {
            ["cell", "queue", "group"].iter().all(|key| row[*key] == mean[*key])
        };
        let values: Vec<f64> =
            rows.iter().filter(same).map(|row| row["throughput_bps"].parse().unwrap()).collect();
        assert_eq!(mean["seeds"], values.len().to_string());
        let average = values.iter().sum::<f64>() / 3.0;
        let variance = values.iter().map(|v| (v - average).powi(2)).sum::<f64>() / 2.0;
        let close = |name: &str, expected: f64| {
            let found: f64 = mean[name].parse().unwrap();
            assert!((found - expected).abs() <= 1e-6 * expected.max(1.0), "{name}: {found}");
        };
        close("throughput_bps", average);
        // Student's t for two degrees of freedom.
        close("throughput_bps_ci95", 4.302_652_729_7 * (variance / 3.0).sqrt());
    }
}

#[test]
fn a_file_that_changed_under_its_name_is_run_again() {
    let home = Home::new();
    let study = "scenario = \"line.toml\"\nqueues = [\"red\"]\nseeds = 1\n";
    let line =
        home.read("small.toml").replace("[network]", "[network]\ncapacity = \"trace(line)\"");
    home.write("line.toml", line);
    home.write("study.toml", study);
    let ran = |trace: &str| {
        home.write("line", trace);
        let ran = home.run(&["sweep", "study.toml", "--csv"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        (ran.err, home.read("study.study/groups.csv"))
    };
    let (first, before) = ran("1\n4\n");
    assert!(first.contains("Ran 1 replication"), "{first}");
    let (again, same) = ran("1\n4\n");
    assert!(!again.contains("Ran 1 replication") && same == before, "{again}");
    let (other, after) = ran("1\n2\n4\n");
    assert!(other.contains("Ran 1 replication") && after != before, "{other}");
}

#[test]
fn only_what_is_missing_is_run() {
    let home = Home::new();
    home.write("grid.toml", GRID);
    assert!(home.run(&["sweep", "grid.toml"]).err.contains("Ran 24 replications"));
    assert_eq!(home.read("grid.study/study.toml"), GRID);
    let how: serde_json::Value = serde_json::from_str(&home.read("grid.study/run.json")).unwrap();
    assert_eq!((&how["kind"], &how["seeds"]), (&"study".into(), &serde_json::json!([1, 2])));
    assert_eq!(how["queues"], serde_json::json!(["drop_tail", "blue as BLUE"]));
    assert_eq!(how["command"][1], "sweep");
    let again = home.run(&["sweep", "grid.toml"]);
    assert!(again.err.contains("All 24 replications were stored already"), "{again:?}");
    let longer = GRID.replace("\"3 Mbit/s\"", "\"2 Mbit/s\", \"3 Mbit/s\"");
    home.write("grid.toml", longer.replace("seeds = 2", "seeds = 3"));
    let plan = home.run(&["sweep", "grid.toml", "--dry-run"]);
    assert!(plan.out.contains("9 cells × 2 queues × 3 seeds: 54 replications"), "{plan:?}");
    assert!(plan.out.contains("30 replications are to be run"), "{plan:?}");
    let more = home.run(&["sweep", "grid.toml"]);
    assert!(more.err.contains("Ran 30 replications in"), "{more:?}");
    assert!(more.err.contains("24 were stored already"), "{more:?}");
    // The same as if it had been run in one go.
    let fresh = home.run(&["sweep", "grid.toml", "--out", "fresh"]);
    assert!(fresh.err.contains("Ran 54 replications"), "{fresh:?}");
    same_tables(&home, "grid.study", "fresh");
    // A shorter study is cut out of what is there.
    home.write("grid.toml", GRID);
    assert!(home.run(&["sweep", "grid.toml", "--csv"]).err.contains("All 24 replications"));
    assert_eq!(rows(&home.read("grid.study/groups.csv")).len(), 48);
}

fn same_tables(home: &Home, a: &str, b: &str) {
    for table in ["groups.parquet", "summary.parquet"] {
        let bytes = |dir: &str| std::fs::read(home.path(&format!("{dir}/{table}"))).unwrap();
        assert!(bytes(a) == bytes(b), "{table} of {a} and of {b} differ");
    }
}

#[test]
fn threads_and_shards_make_the_same_tables() {
    let home = Home::new();
    home.write("grid.toml", GRID.replace("seeds = 2", "seeds = 2\nflows = true"));
    assert_eq!(home.run(&["sweep", "grid.toml", "--out", "one", "--threads", "1"]).code, 0);
    assert_eq!(home.run(&["sweep", "grid.toml", "--out", "four", "--threads", "4"]).code, 0);
    same_tables(&home, "one", "four");
    for shard in ["1/3", "2/3"] {
        let args = ["sweep", "grid.toml", "--out", "parts", "--shard", shard];
        let ran = home.run(&args);
        assert!(ran.err.contains("Ran 8 replications"), "{ran:?}");
    }
    let merged = home.run(&["sweep", "merge", "grid.toml", "--out", "parts"]);
    assert!(merged.err.contains("8 replications are still missing"), "{merged:?}");
    home.run(&["sweep", "grid.toml", "--out", "parts", "--shard", "3/3"]);
    let merged = home.run(&["sweep", "merge", "grid.toml", "--out", "parts"]);
    assert!(merged.code == 0 && !merged.err.contains("missing"), "{merged:?}");
    same_tables(&home, "one", "parts");
    let flows = |dir: &str| std::fs::read(home.path(&format!("{dir}/flows.parquet"))).unwrap();
    assert!(flows("one") == flows("parts"));
    // Nothing is stored twice by merging twice.
    assert_eq!(stored_rows(&home.path("parts")), stored_rows(&home.path("one")));
}

/// Rows of groups in all parts of a store.
fn stored_rows(dir: &Path) -> usize {
    let entries = std::fs::read_dir(dir.join("parts")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let groups = paths.filter(|path| !path.to_string_lossy().contains("flows"));
    let rows = groups.map(|path| {
        let bytes = std::fs::read(&path).unwrap();
        Part::from_bytes(bytes, None, &empty()).unwrap_or_else(|e| panic!("{path:?}: {e}")).len()
    });
    rows.sum()
}

/// A study of about a second on one thread.
fn longer(home: &Home) {
    let grid = GRID.replace("run.duration = \"2 s\"", "run.duration = \"20 s\"");
    home.write("grid.toml", grid.replace("seeds = 2", "seeds = 40"));
}

#[test]
fn ten_times_killed_and_nothing_is_lost_or_done_twice() {
    let home = Home::new();
    longer(&home);
    let args = ["sweep", "grid.toml", "--out", "killed", "--threads", "1"];
    for attempt in 0..10_u64 {
        let mut child = home.command(&args).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(30 + 97 * attempt % 400));
        // SIGKILL.
        let _ = child.kill();
        let _ = child.wait();
    }
    let ran = home.run(&args);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(home.run(&["sweep", "grid.toml", "--out", "whole"]).code, 0);
    same_tables(&home, "killed", "whole");
    assert_eq!(stored_rows(&home.path("killed")), 6 * 2 * 40 * 2);
}

#[test]
fn one_process_at_a_time() {
    let home = Home::new();
    let grid = GRID.replace("run.duration = \"2 s\"", "run.duration = \"2000 s\"");
    home.write("grid.toml", grid);
    let mut first = home.command(&["sweep", "grid.toml", "--threads", "1"]).spawn().unwrap();
    let there = || home.path("grid.study/store.sqlite").exists();
    (0..3000).take_while(|_| !there()).for_each(|_| std::thread::sleep(Duration::from_millis(10)));
    std::thread::sleep(Duration::from_millis(300));
    let second = home.run(&["sweep", "grid.toml"]);
    let _ = first.kill();
    let _ = first.wait();
    second.refused(2, &["grid.study", "another process works on this store"]);
}

#[test]
fn what_is_no_study_is_refused_at_its_place() {
    let home = Home::new();
    let refuses = |from: &str, to: &str, words: &[&str]| {
        assert!(GRID.contains(from), "{from}");
        home.write("wrong.toml", GRID.replacen(from, to, 1));
        let words = [&["error: wrong.toml:"], words].concat();
        home.run(&["sweep", "wrong.toml"]).refused(2, &words);
        assert!(!home.path("wrong.study").exists(), "{to}");
    };
    refuses("\"3 Mbit/s\"", "\"3 ms\"", &["wrong.toml:10:", "axes.network.rate", "is a time"]);
    refuses("network.rate = [", "network.rat = [", &["network.rat", "did you mean `rate`?"]);
    refuses("group.tcp.count", "group.tpc.count", &["wrong.toml:11:", "did you mean `tcp`?"]);
    refuses("[1, 2, 3]", "[1, 2, 0]", &["wrong.toml:11:", "group.tcp.count = 0", "1 to"]);
    refuses("[1, 2, 3]", "[1, 2, 1]", &["wrong.toml:11:", "given twice"]);
    refuses("0.5 × network.rate", "0.5 × network.delay", &["wrong.toml:8:", "time", "rate"]);
    refuses("small.toml", "smal.toml", &["wrong.toml:3:", "smal.toml"]);
    refuses("\"drop_tail\"", "\"droptail\"", &["wrong.toml:4:", "did you mean `drop_tail`?"]);
    refuses("\"drop_tail\"", "\"blue as BLUE\"", &["wrong.toml:4:", "another queue"]);
    refuses(
        "\"drop_tail\"",
        "\"red,min={mn}\"",
        &["wrong.toml:4:", "no axis has a value of this name"],
    );
    refuses("seeds = 2", "seeds = 0", &["wrong.toml:5:", "1 to 10000"]);
    refuses("seeds = 2", "sedes = 2", &["wrong.toml:5:", "did you mean `seeds`?"]);
    refuses("seeds = 2", "seeds = { until = \"5 %\" }", &["seeds.of", "required"]);
    let until = "seeds = { until = \"5 %\", of = \"tcp.goodput\" }";
    refuses("seeds = 2", until, &["seeds.of", "did you mean `goodput_bps`?"]);
    let until = "seeds = { until = \"5 %\", of = \"tpc.goodput_bps\" }";
    refuses("seeds = 2", until, &["seeds.of = tpc", "did you mean `tcp`?"]);
    refuses("[axes]", "[axes]\nload = [1, 2]", &["axes.load", "nothing uses this axis"]);
    let steps = "[axes]\nx.y = { from = \"1 ms\", to = \"9 kB\", steps = 3 }";
    refuses("[axes]", steps, &["another unit"]);
}

#[test]
fn what_is_set_twice_or_named_as_something_else_is_refused() {
    let home = Home::new();
    let refuses = |set: &str, axes: &str, words: &[&str]| {
        let study = GRID.replace("[set]", &format!("[set]\n{set}"));
        home.write("twice.toml", format!("{study}{axes}"));
        let words = [&["error: twice.toml:"], words].concat();
        home.run(&["sweep", "twice.toml"]).refused(2, &words);
    };
    let again = "r = { path = \"network.rate\", values = [\"5 Mbit/s\"] }";
    refuses("", again, &["axes.network.rate: another axis varies this, too"]);
    let step = "r.set = { network.rate = [\"5 Mbit/s\"], network.delay = [\"5 ms\"] }";
    refuses("", step, &["axes.network.rate: another axis varies this, too"]);
    refuses("network.rate = \"1 Mbit/s\"", "", &["set.network.rate: is an axis, too"]);
    refuses("", "network.delay = [\"1 ms\", \"1000 us\"]", &["1000 us: is given twice"]);
    for (name, why) in [
        ("share", "is a column of the tables"),
        ("queue", "is a column of the tables"),
        ("rtt", "is the base round trip in expressions"),
        ("bdp", "is the bandwidth-delay product in expressions"),
        ("kB", "is a unit"),
        ("Mbit", "is a unit"),
    ] {
        let set = format!("network.delay = \"1 ms × {name}\"");
        refuses(&set, &format!("{name} = [1, 2]"), &[&format!("axes.{name}: {why}")]);
    }
    refuses("run.seeds = 3", "", &["run.seeds", "its own keys `seed` and `seeds`"]);
    refuses("", "run.seed = [1, 2]", &["run.seed", "its own keys `seed` and `seeds`"]);
    // The name of what goes in step is no value, since it has several.
    let step = "way.set = { network.delay = [\"1 ms\"], network.access_delay = [\"2 ms\"] }";
    refuses("network.limit = \"way × network.rate\"", step, &["network.limit", "way"]);
}

#[test]
fn variables_go_in_step_with_paths() {
    let home = Home::new();
    let study = GRID
        .replace("\"blue as BLUE\"", "\"codel,target={target},interval={network.delay} as codel\"")
        .replace("[set]", "[set]\nnetwork.limit = \"most × 1 kB\"")
        .replace("group.tcp.count = [1, 2, 3]\n", "");
    let step = r#"way.set.network.delay = ["100 ms", "200 ms"]
way.set.target = ["5 ms", "9 ms"]
way.set.most = [10, 20]
"#;
    home.write("step.toml", format!("{study}{step}"));
    let plan = home.run(&["sweep", "step.toml", "--dry-run"]);
    assert!(plan.out.contains("4 cells × 2 queues × 2 seeds: 16 replications"), "{plan:?}");
    assert!(plan.out.contains("target: in step with network.delay, 5 ms, 9 ms"), "{plan:?}");
    assert_eq!(home.run(&["sweep", "step.toml", "--csv"]).code, 0);
    let rows = rows(&home.read("step.study/groups.csv"));
    let slow = |row: &&BTreeMap<String, String>| {
        row["queue"] == "codel"
            && row["most"] == "20"
            && row["seed"] == "2"
            && row["group"] == "tcp"
    };
    let row = rows.iter().filter(slow).find(|row| row["network.rate"] == "3000000").unwrap();
    assert_eq!((row["network.delay"].as_str(), row["target"].as_str()), ("0.2", "0.009"));
    let set = ["run.duration=2 s", "network.rate=3 Mbit/s", "group.flood.rate=1500 kbit/s"];
    let set = set.iter().chain(&["network.delay=200 ms", "network.limit=20 kB"]);
    let mut args = vec!["run", "small.toml", "--json", "--seeds", "1", "--seed", "2"];
    args.extend(["--queue", "codel,target=9 ms,interval=200 ms"]);
    set.for_each(|set| args.extend(["--set", set]));
    let document = home.run(&args).json();
    let group = document["groups"].as_array().unwrap().iter().find(|g| g["name"] == "tcp").unwrap();
    assert_eq!(row["goodput_bps"].parse().ok(), group["goodput_bps"]["mean"].as_f64());
}

#[test]
fn a_million_million_cells_are_refused_with_the_count() {
    let home = Home::new();
    let axis = |name: &str| format!("{name} = {{ from = 1, to = 1000, steps = 1000 }}\n");
    let axes: String =
        ["network.mean_packet", "group.tcp.count", "group.tcp.hosts", "group.flood.count"]
            .map(axis)
            .concat();
    home.write(
        "huge.toml",
        format!("scenario = \"small.toml\"\nqueues = [\"red\"]\n[axes]\n{axes}"),
    );
    let begun = std::time::Instant::now();
    let words = ["1000000000000 cells", "at most 10000000", "network.mean_packet has 1000"];
    home.run(&["sweep", "huge.toml"]).refused(2, &words);
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(!home.path("huge.study").exists());
}

#[test]
fn what_is_there_is_left_alone() {
    let home = Home::new();
    home.write("grid.toml", GRID);
    std::fs::create_dir(home.path("thesis")).unwrap();
    home.write("thesis/chapter.tex", "years of work");
    let refused = home.run(&["sweep", "grid.toml", "--out", "thesis"]);
    refused.refused(2, &["thesis", "other things in it"]);
    home.run(&["sweep", "grid.toml", "--out", "small.toml"]).refused(2, &["small.toml", "a file"]);
    assert_eq!(home.read("thesis/chapter.tex"), "years of work");
    assert_eq!(home.run(&["sweep", "grid.toml"]).code, 0);
    // A result does not take the place of a study.
    let run = home.run(&["run", "small.toml", "--out", "grid.study"]);
    run.refused(2, &["grid.study", "other things in it"]);
    home.write("grid.study/store.sqlite", "this is no database, and long enough to tell");
    home.run(&["sweep", "grid.toml"]).refused(2, &["grid.study", "no database"]);
}

#[test]
fn a_full_disk_leaves_the_store_as_it_was() {
    let home = Home::new();
    longer(&home);
    assert_eq!(home.run(&["sweep", "grid.toml", "--out", "whole"]).code, 0);
    // Full while parts are stored, and full when the tables are written.
    for size in ["150k", "500k"] {
        let dir = format!("disk-{size}");
        std::fs::create_dir(home.path(&dir)).unwrap();
        // A small file system, seen by this command alone; what is left of it is copied.
        let script = format!(
            "mount -t tmpfs -o size={size} tmpfs {dir} || exit 77
            \"$0\" sweep grid.toml --out {dir}/s; code=$?
            cp -r {dir}/s kept-{size}; exit $code"
        );
        let sh = Command::new("unshare")
            .args(["-m", "sh", "-c", &script, env!("CARGO_BIN_EXE_tidegate")])
            .current_dir(home.path(""))
            .output();
        let Some(full) = sh.ok().filter(|output| output.status.code() != Some(77)) else {
            eprintln!("skipped: no file system can be mounted here");
            return;
        };
        let said = String::from_utf8_lossy(&full.stderr);
        assert_eq!(full.status.code(), Some(1), "{said}");
        assert!(said.contains("the disk is full"), "{said}");
        let kept = format!("kept-{size}");
        let on = home.run(&["sweep", "grid.toml", "--out", &kept]);
        assert_eq!(on.code, 0, "{on:?}");
        same_tables(&home, &kept, "whole");
    }
}

#[test]
fn seeds_go_on_until_the_interval_is_narrow() {
    let home = Home::new();
    let until = "seeds = { until = \"10 %\", of = \"tcp.goodput_bps\", least = 3, most = 12 }";
    home.write("grid.toml", GRID.replace("seeds = 2", until));
    let ran = home.run(&["sweep", "grid.toml", "--csv"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let means = rows(&home.read("grid.study/summary.csv"));
    let mut counts = std::collections::BTreeSet::new();
    for row in means.iter().filter(|row| row["group"] == "tcp") {
        let number = |name: &str| row[name].parse::<f64>().unwrap_or(f64::NAN);
        let seeds: u32 = row["seeds"].parse().unwrap();
        counts.insert(seeds);
        let narrow = number("goodput_bps_ci95") <= 0.1 * number("goodput_bps");
        assert!((3..=12).contains(&seeds) && (narrow || seeds == 12), "{row:?}");
    }
    assert!(counts.len() > 1, "the cells need different numbers: {counts:?}");
    assert!(home.run(&["sweep", "grid.toml"]).err.contains("stored already"));
}

#[test]
fn what_the_page_on_studies_shows_can_be_run() {
    let page = std::fs::read_to_string(common::repository().join("docs/study/sweep.md")).unwrap();
    let mut blocks = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let (study, until) = (blocks.next().unwrap(), blocks.next().unwrap());
    assert!(study.lines().count() <= 25);
    let home = Home::new();
    let foretold = |text: &str, words: &[&str]| {
        home.write("page.toml", text);
        let ran = home.run(&["sweep", "page.toml", "--dry-run"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        for word in words {
            assert!(ran.out.contains(word), "`{word}` is missing in {}", ran.out);
        }
    };
    foretold(study, &["36 cells × 5 queues × 5 seeds: 900 replications"]);
    foretold(&study.replace("seeds = 5", until), &["3 to 50 seeds, until tcp.goodput_bps"]);
    // The first column of the table of axes, one after the other.
    let axes = page.lines().filter_map(|line| line.strip_prefix("| `")?.split("` |").next());
    let axes: Vec<&str> = axes.filter(|axis| axis.contains(" = ")).collect();
    assert_eq!(axes.len(), 4);
    let head = study.split("[axes]").next().unwrap();
    for (axis, cells) in axes.iter().zip([2, 5, 2, 2]) {
        let set = if axis.starts_with("way") { "network.delay = \"way / 2\"\n" } else { "" };
        let words = format!("{cells} cells × 5 queues");
        foretold(&format!("{head}{set}[axes]\n{axis}\n"), &[&words]);
    }
}
