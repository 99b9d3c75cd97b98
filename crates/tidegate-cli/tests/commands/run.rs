//! `tidegate run`, `compare` and `check`, as users meet them.
use crate::common;
use crate::common::{Home, hold, timeless};
use serde_json::Value;

#[test]
fn run_prints_one_document_and_compare_a_list() {
    let home = Home::new();
    let one = home.run(&["run", "small.toml", "--queue", "blue as BLUE", "--json"]).json();
    hold(&one);
    assert_eq!(
        (one["schema"].as_str(), one["source"].as_str()),
        (Some("tidegate.result/1"), Some("simulated"))
    );
    assert_eq!((one["scenario"].as_str(), one["label"].as_str()), (Some("small"), Some("BLUE")));
    assert_eq!(one["queue"]["params"]["freeze_time"], "100 ms");
    assert_eq!(one["seeds"], serde_json::json!([1, 2]));
    assert!(one["groups"][0]["throughput_bps"]["ci95"].is_number(), "two seeds have an interval");
    assert!(one.get("flows").is_none());
    let both = home.run(&["compare", "small.toml", "--json"]).json();
    hold(&both);
    let labels: Vec<&str> =
        both.as_array().unwrap().iter().map(|d| d["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["drop_tail", "BLUE"], "the scenario's own list");
    assert_eq!(timeless(both)[1], timeless(one), "the same, alone or beside others");
    let chosen = home.run(&["compare", "small.toml", "--queue", "sfb", "--json"]).json();
    hold(&chosen);
    assert_eq!(chosen.as_array().unwrap().len(), 1, "a list even of one");
}

#[test]
fn same_seed_same_bytes_on_any_number_of_threads() {
    let home = Home::new();
    let result = |more: &[&str], out: &str| {
        let args = [&["compare", "small.toml", "--flows", "--json", "--out", out], more].concat();
        (timeless(home.run(&args).json()), home.read(&format!("{out}/series.json")))
    };
    let one = result(&["--threads", "1"], "one");
    assert_eq!(one, result(&["--threads", "1"], "again"));
    assert_eq!(one, result(&["--threads", "2"], "two"));
    assert_eq!(one, result(&[], "all"));
    assert_ne!(one.1, result(&["--seed", "7"], "other").1);
}

#[test]
fn one_seed_has_no_interval_and_flows_are_added_on_request() {
    let home = Home::new();
    let document =
        home.run(&["run", "small.toml", "--seeds", "1", "--seed", "9", "--flows", "--json"]).json();
    hold(&document);
    assert_eq!(document["seeds"], serde_json::json!([9]));
    let text = document.to_string();
    assert!(text.contains("\"ci95\":null") && !text.contains("\"ci95\":0"), "{text}");
    let labels: Vec<&Value> =
        document["flows"].as_array().unwrap().iter().map(|f| &f["group"]).collect();
    assert_eq!(labels, ["tcp", "tcp", "tcp", "flood"]);
    let table = home.run(&["run", "small.toml", "--flows"]).out;
    assert!(table.contains("\n tcp 3 "), "{table}");
}

#[test]
fn values_of_the_scenario_can_be_changed() {
    let home = Home::new();
    let run = |set: &str| home.run(&["run", "small.toml", "--set", set, "--json"]).json();
    assert_eq!(run("network.rate=3 Mbit/s")["bottleneck"]["rate_bps"], 3e6);
    assert_eq!(run("group.tcp.count=5")["groups"][0]["count"], 5);
    assert_eq!(run("run.seeds=3")["seeds"], serde_json::json!([1, 2, 3]));
}

#[test]
fn a_directory_holds_the_result_and_what_it_takes_to_repeat_it() {
    let home = Home::new();
    let ran = home.run(&["compare", "small.toml", "--seeds", "3", "--out", "result", "--json"]);
    let files: Vec<String> =
        home.files().into_iter().filter(|f| f.starts_with("result/")).collect();
    let names = [
        "flows.parquet",
        "gauges.parquet",
        "groups.parquet",
        "report.html",
        "result.json",
        "run.json",
        "scenario.toml",
        "series.json",
        "series.parquet",
    ];
    assert_eq!(files, names.map(|n| format!("result/{n}")));
    let mut stored: Value = serde_json::from_str(&home.read("result/result.json")).unwrap();
    hold(&stored);
    for document in stored.as_array_mut().unwrap() {
        assert!(
            document.as_object_mut().unwrap().remove("flows").is_some(),
            "the directory has the flows"
        );
    }
    let printed = ran.json();
    assert_eq!(stored, printed);
    let again = home.run(&["compare", "result/scenario.toml", "--json"]).json();
    let nameless = |mut list: Value| {
        list.as_array_mut().unwrap().iter_mut().for_each(|d| d["scenario"] = Value::Null);
        timeless(list)
    };
    assert_eq!(nameless(again), nameless(printed), "the resolved scenario gives the same result");
    // An earlier result is replaced.
    assert_eq!(home.run(&["run", "small.toml", "--out", "result"]).code, 0);
    assert!(home.read("result/result.json").starts_with('{'));
}

#[test]
fn the_report_can_be_left_out() {
    let home = Home::new();
    let out = ["compare", "small.toml", "--out", "result"];
    assert!(home.run(&out).err.contains("Wrote result/report.html."));
    let with: Vec<String> = home.files();
    let ran = home.run(&[&out[..], &["--report", "off"]].concat());
    assert!(ran.code == 0 && ran.err.contains("Wrote result/result.json."), "{ran:?}");
    let without = home.files();
    assert!(!without.contains(&"result/report.html".to_string()));
    assert_eq!(without.len() + 1, with.len(), "nothing else is missing: {without:?}");
    home.refuses(2, &["run", "small.toml", "--report", "off"], &["--out"]);
}

#[test]
fn a_directory_says_how_it_was_made() {
    let home = Home::new();
    let words = ["run", "small.toml", "--set", "network.rate=2 Mbit/s", "--out", "result"];
    assert_eq!(home.run(&words).code, 0);
    let made: Value = serde_json::from_str(&home.read("result/run.json")).unwrap();
    let command: Vec<&str> =
        made["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(command[1..], words);
    assert_eq!(made["settings"], serde_json::json!(["network.rate=2 Mbit/s"]));
    assert_eq!(made["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&made["scenario"], made["sources"].as_str().unwrap().len()), (&"small".into(), 16));
    assert!(made["machine"]["cores"].as_u64().unwrap() >= 1);
    let took = made["duration_s"].as_f64().unwrap();
    assert!(took > 0.0 && took < 300.0, "{took}");
    let year: u32 = made["begun"].as_str().unwrap()[..4].parse().unwrap();
    assert!(year >= 2024 && made["begun"].as_str().unwrap().ends_with('Z'));
    assert_eq!(made["seeds"].as_array().unwrap().len(), 2);
}

/// What was tried, not what the scenario says, is what the directory repeats.
#[test]
fn a_directory_repeats_the_queues_that_were_given() {
    let home = Home::new();
    let repeats = |command: &str, queues: &[&str]| {
        let out = ["--out", "result", "--json"];
        let ran = home.run(&[&[command, "small.toml"], queues, &out].concat()).json();
        let scenario = home.read("result/scenario.toml");
        let mut again = home.run(&[command, "result/scenario.toml", "--json"]).json();
        let mut documents = vec![&mut again];
        if documents[0].is_array() {
            documents = again.as_array_mut().unwrap().iter_mut().collect();
        }
        for document in documents {
            document["scenario"] = "small".into();
        }
        // The preset's values have become parameters, and its name stays.
        assert_eq!(timeless(again), timeless(ran), "{scenario}");
        scenario
    };
    let queue = repeats("run", &["--queue", "sfb/auto"]);
    let table = queue.split("[queue]").nth(1).unwrap();
    assert!(
        table.starts_with("\nname = \"sfb\"\npreset = \"auto\"\nlabel = \"sfb/auto\"\n"),
        "{queue}"
    );
    assert!(table.contains("penalty_rate = "), "{queue}");
    let compare = repeats("compare", &["--queue", "sfb", "--queue", "care as CARE"]);
    let list = compare.split("[compare]").nth(1).unwrap();
    assert!(
        list.contains("sfb/") && list.contains(",penalty_rate=") && list.contains(" as sfb\""),
        "{compare}"
    );
    assert!(list.contains(" as CARE\"") && !list.contains("blue"), "{compare}");
}

/// Two managed links, the watched one with a queue of its own.
#[test]
fn a_watched_link_with_its_own_queue_takes_no_other() {
    let home = Home::new();
    let links = "kind = \"graph\"\n[[link]]\nfrom = \"A\"\nto = \"B\"\nrate = \"2 Mbit/s\"\n\
                 limit = \"30 packets\"\n\
                 queue = \"blue as OWN\"\n";
    let text = common::SMALL
        .replace("kind = \"dumbbell\"\nrate = \"2 Mbit/s\"\nlimit = \"30 packets\"\n", links)
        .replace("[compare]\nqueues = [\"drop_tail\", \"blue as BLUE\"]\n", "")
        .replace("source =", "from = \"A\"\nto = \"B\"\nsource =");
    home.write("own.toml", text);
    let document = home.run(&["run", "own.toml", "--json"]).json();
    assert_eq!(
        (document["label"].as_str(), document["queue"]["name"].as_str()),
        (Some("OWN"), Some("blue"))
    );
    for command in ["run", "compare", "check"] {
        let words = [
            "error: own.toml:",
            "keeps its own queue",
            "`sfb` would never be tried",
            "remove this key",
        ];
        home.refuses(2, &[command, "own.toml", "--queue", "sfb"], &words);
    }
    assert!(
        home.run(&["check", "own.toml"]).out.contains("A->B (watched): 2 Mbit/s, 30 packets, OWN")
    );
}

#[test]
fn check_says_what_follows() {
    let home = Home::new();
    let ran = home.run(&["check", "small.toml", "--set", "network.rate=4 Mbit/s"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    for said in ["4 flows over 4 Mbit/s", "30 packets = 60.0 ms", "fair share 1 Mbit/s each"] {
        assert!(ran.out.contains(said), "{}", ran.out);
    }
    assert!(ran.out.contains("BLUE (blue/") && ran.out.contains("4 replications"), "{}", ran.out);
    let state = |queue: &str| home.run(&["check", "small.toml", "--queue", queue]).out;
    let bins = state("sfb/paper");
    assert!(
        bins.contains("(sfb/paper): ")
            && bins.contains("928 B of state")
            && !bins.contains("share its place"),
        "{bins}"
    );
    assert!(state("drr").contains(
        "a flow has to share its place with a chance of less than .01 % while all 4 are busy"
    ));
    assert!(state("drr,ways=1,classes=1").contains("a chance of 100.00 % while all 4 are busy"));
}

#[test]
fn a_load_that_the_network_cannot_carry_is_a_warning() {
    let home = Home::new();
    let sets = ["--set", "network.rate=200 Mbit/s", "--set", "group.flood.rate=150 Mbit/s"];
    let words = "access link of group `flood`: 150 Mbit/s offered, 100 Mbit/s carried";
    let short = ["--set", "run.duration=4 s", "--set", "run.warmup=2 s", "--seeds", "1"];
    let ran = home
        .run(&[&["run", "small.toml", "--json", "--out", "result"][..], &sets, &short].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains(&format!("warning: {words}; ")), "{}", ran.err);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    hold(&document);
    let overload = &document["overloads"][0];
    assert_eq!(
        (overload["link"].as_str(), overload["rate_bps"].as_f64()),
        (Some("access link"), Some(1e8))
    );
    assert_eq!(
        (overload["offered_bps"].as_f64(), &overload["groups"][0]),
        (Some(1.5e8), &Value::from("flood"))
    );
    assert!(home.read("result/report.html").contains("access link of group"));
    let checked = home.run(&[&["check", "small.toml"][..], &sets].concat());
    assert_eq!(checked.code, 0);
    assert!(checked.out.contains(&format!("WARNING: {words}; ")), "{}", checked.out);
    assert!(
        checked.out.contains("flood: 1 flow, offers 150 Mbit/s, but only 100 Mbit/s can arrive"),
        "{}",
        checked.out
    );
    // Without it nothing is said.
    let fine = home.run(&[&["run", "small.toml", "--json"][..], &short].concat());
    assert!(
        !fine.err.contains("warning") && fine.json().get("overloads").is_none(),
        "{}",
        fine.err
    );
}
