//! What the command says of itself, and that it is true.
use crate::common::{Home, repository};

const COMMANDS: [&str; 10] =
    ["run", "compare", "diff", "check", "replay", "list", "show", "sketch", "completions", "paper"];
/// Those that touch the network; their examples name interfaces, sockets and programs that no
/// machine here has.
const ON_A_LINK: [&str; 4] = ["gate", "shell", "doctor", "top"];
/// Those whose examples go on from one another or read files of several kinds, and that have tests
/// of their own.
const IN_STEPS: [&str; 3] = ["advise", "suite", "sweep"];

/// The examples in the help of `command`: lines that begin with two blanks and `tidegate`.
fn examples(home: &Home, command: &[&str]) -> Vec<String> {
    let ran = home.run(&[command, &["--help"]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{command:?}");
    // A terminal of 100 columns breaks long examples; a break is followed by no blanks.
    let text = ran
        .out
        .split_once("Examples:\n")
        .unwrap_or_else(|| panic!("{command:?} has no examples"))
        .1;
    let mut found: Vec<String> = vec![];
    for line in text.lines() {
        match line.strip_prefix("  tidegate") {
            Some(_) => found.push(line.trim().into()),
            None if line.is_empty() || found.is_empty() => break,
            None => found.last_mut().unwrap().push_str(&format!(" {}", line.trim())),
        }
    }
    assert!(found.len() >= 2, "{text}");
    found
}

/// The words of a command line, quotes understood.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|w| !w.is_empty());
    words
}

#[test]
fn examples_of_the_subcommands_run() {
    let home = Home::new();
    // What the examples of `diff` compare.
    for (name, rate) in [("before", "2 Mbit/s"), ("after", "3 Mbit/s")] {
        let set = format!("network.rate={rate}");
        assert_eq!(home.run(&["run", "small.toml", "--set", &set, "--out", name]).code, 0);
    }
    for command in COMMANDS {
        for example in examples(&home, &[command]) {
            let words = words(&example);
            assert_eq!(words[..2], ["tidegate", command]);
            let args: Vec<&str> = words[1..].iter().map(String::as_str).collect();
            let ran = home.run(&args);
            assert_eq!(ran.code, 0, "{example}: {}", ran.err);
            assert!(ran.out.len() > 100, "{example}: an example prints more than 100 characters");
            let json = serde_json::from_str::<serde_json::Value>(&ran.out).is_ok();
            assert_eq!(json, example.contains("--json"), "{example}");
        }
    }
}

#[test]
fn examples_of_the_command_itself_are_commands() {
    let home = Home::new();
    for example in examples(&home, &[]) {
        let command = example.split_whitespace().nth(1).unwrap().to_string();
        assert!(
            [&COMMANDS[..], &ON_A_LINK, &IN_STEPS].concat().contains(&command.as_str()),
            "{example}"
        );
    }
    let help = home.run(&["--help"]).out;
    for said in [
        "Exit codes: 0 all is well; 1",
        "2 the arguments",
        "130",
        "NAME[/PRESET][,param=value…][ as LABEL]",
    ] {
        assert!(help.contains(said), "{said}");
    }
    assert!(home.run(&["--version"]).out.starts_with("tidegate 0."));
    assert_eq!(home.run(&[]).code, 2);
}

/// What `tidegate gate` is shown with is meant to protect users: a fast line and a flood try it.
#[test]
fn queues_of_the_gates_examples_protect() {
    let home = Home::new();
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let lines = readme
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("tidegate gate --in"))
        .map(String::from);
    let shown = [examples(&home, &["gate"]), lines.collect()].concat();
    let mut queues: Vec<String> = shown
        .iter()
        .filter_map(|line| words(line).iter().skip_while(|word| *word != "--queue").nth(1).cloned())
        .filter(|queue| queue != "drop_tail")
        .collect();
    queues.sort();
    queues.dedup();
    assert!(queues.len() >= 2, "{shown:?}");
    for queue in queues {
        let fast = [
            "network.rate=100 Mbit/s",
            "network.limit=1 MB",
            "group.flood.rate=150 Mbit/s",
            "run.duration=12s",
        ];
        let sets = fast.iter().flat_map(|set| ["--set", set]);
        let args: Vec<&str> = ["run", "flood", "--seeds", "1", "--json", "--queue", &queue]
            .into_iter()
            .chain(sets)
            .collect();
        let document = home.run(&args).json();
        let tcp =
            document["groups"].as_array().unwrap().iter().find(|g| g["name"] == "tcp").unwrap();
        let mean = |key: &str| tcp[key]["mean"].as_f64().unwrap();
        assert!(mean("throughput_bps") >= 0.9 * mean("fair_share_bps"), "{queue}: {tcp}");
    }
}

#[test]
fn the_documented_override_fits_every_shipped_scenario() {
    let home = Home::new();
    let guide = std::fs::read_to_string(repository().join("docs/study/scenario.md")).unwrap();
    let help = home.run(&["run", "--help"]).out;
    let named = |text: &str, end: char| -> String {
        let rest = &text[text.find("run.duration=").unwrap()..];
        rest.split(end).next().unwrap().into()
    };
    let list = home.run(&["list", "scenarios", "--json"]).json();
    for scenario in list["scenarios"].as_array().unwrap() {
        for set in [named(&guide, '`'), named(&help, ';')] {
            let ran = home.run(&["check", scenario["name"].as_str().unwrap(), "--set", &set]);
            assert_eq!(ran.code, 0, "{set}: {}", ran.err);
        }
    }
}

/// The names of the files in `scenarios/`, in order.
fn scenario_files() -> Vec<String> {
    let stem = |path: std::path::PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    let folder = std::fs::read_dir(repository().join("scenarios")).unwrap();
    let mut files: Vec<String> = folder.map(|entry| stem(entry.unwrap().path())).collect();
    files.sort();
    files
}

#[test]
fn every_queue_source_and_scenario_is_listed_and_shown() {
    let home = Home::new();
    let list = home.run(&["list", "--json"]).json();
    let names = |kind: &str| -> Vec<String> {
        list[kind]
            .as_array()
            .unwrap()
            .iter()
            .map(|q| q["name"].as_str().unwrap().to_string())
            .collect()
    };
    let queues: Vec<&str> = tidegate::catalog::QUEUES.iter().map(|q| q.name).collect();
    assert_eq!(names("queues"), queues);
    let tcp = [
        "reno",
        "newreno",
        "sack",
        "rack",
        "cubic",
        "aimd",
        "binomial",
        "vegas",
        "vegas_rem",
        "reno_num",
        "dctcp",
        "prague",
        "ledbat",
        "bbr",
        "bbr3",
        "unresponsive",
    ];
    let others =
        ["finite", "web", "tfrc", "cbr", "following", "on_off", "voip", "oscillating", "replay"];
    assert_eq!(names("sources"), [&tcp[..], &others].concat());
    assert_eq!(names("scenarios"), scenario_files(), "each is embedded and can be read");
    let text = home.run(&["list"]).out;
    for name in ["queues", "sources", "scenarios"].iter().flat_map(|kind| names(kind)) {
        assert!(text.contains(&format!("  {name} ")), "{name}");
        let page = home.run(&["show", &name]);
        assert_eq!(page.code, 0, "{page:?}");
        assert!(page.out.starts_with(&name) && page.out.lines().count() > 5, "{}", page.out);
        assert!(
            page.out.lines().all(|l| l.chars().count() <= 100 || l.starts_with("    ")),
            "{}",
            page.out
        );
    }
    let only = home.run(&["list", "sources", "--json"]).json();
    assert_eq!(only, serde_json::json!({"sources": list["sources"]}));
}

#[test]
fn a_page_scales_its_presets_to_the_link() {
    let home = Home::new();
    let page = |args: &[&str]| home.run(&[&["show", "sfb"], args].concat()).out;
    let (slow, fast) = (page(&[]), page(&["--rate", "1 Gbit/s", "--limit", "5 MB"]));
    assert!(slow.contains("on a link of 10 Mbit/s with a limit of 100 packets"), "{slow}");
    assert!(fast.contains("on a link of 1 Gbit/s with a limit of 5 MB"), "{fast}");
    let row = |page: &str, name: &str| {
        page.lines().find(|l| l.starts_with(&format!(" {name}"))).unwrap().to_string()
    };
    assert_ne!(row(&slow, "bins "), row(&fast, "bins "));
    assert_eq!(row(&slow, "levels "), row(&fast, "levels "));
    for preset in tidegate::catalog::find("sfb").map(|row| (row.presets)()).unwrap() {
        assert!(
            slow.contains(&format!("  - {}: {}", preset.0, preset.1.split(' ').next().unwrap())),
            "{slow}"
        );
    }
    assert!(slow.contains("State besides the waiting packets: "));
}

#[test]
fn nothing_is_said_to_a_reader_who_has_gone() {
    use std::process::Stdio;
    let home = Home::new();
    for args in [&["show", "sfb"][..], &["list"], &["--help"], &["list", "--json"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = home.command(args).stdout(Stdio::from(writer)).output().unwrap();
        assert_eq!(
            (output.status.code(), output.stderr.as_slice()),
            (Some(0), &b""[..]),
            "{args:?}"
        );
    }
}

#[test]
fn a_full_device_is_an_error() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    use std::process::Stdio;
    let home = Home::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = home.command(&["list"]).stdout(Stdio::from(full)).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output"));
}

#[test]
fn there_is_a_manual_page_for_every_subcommand() {
    let home = Home::new();
    let ran = home.run(&["man", "--out", "pages/man1"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    let page = |name: &str| home.read(&format!("pages/man1/{name}"));
    for command in [&COMMANDS[..], &ON_A_LINK, &IN_STEPS, &["man", "gate-demo"]].concat() {
        let text = page(&format!("tidegate-{command}.1"));
        assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{command}: {text}");
    }
    assert!(page("tidegate-gate.1").contains("a bump in the wire"));
    let run = page("tidegate-run.1");
    let (_, examples) = run.split_once(".SH EXAMPLES\n.nf\n").unwrap();
    let (lines, _) = examples.split_once(".fi\n").unwrap();
    assert!(
        lines.lines().count() >= 2 && lines.lines().all(|line| line.starts_with("  tidegate run ")),
        "{lines}"
    );
    assert!(
        !page("tidegate.1").contains("EXTRA")
            && page("tidegate.1").contains(".fi\n.PP\nResults go")
    );
    home.write("taken", "");
    home.run(&["man", "--out", "taken"]).refused(2, &["taken: is a file, not a directory"]);
}

#[test]
fn shells_complete_the_subcommands() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = home.run(&["completions", shell]).out;
        for word in [&COMMANDS[..], &ON_A_LINK, &IN_STEPS, &["--flow-key", "--dry-run"]].concat() {
            assert!(script.contains(word.trim_start_matches('-')), "{shell}: {word}");
        }
    }
    home.run(&["completions", "csh"]).refused(2, &["csh", "bash", "fish"]);
}

/// The help of the gate is what fits a screen; the rest is said where there is room.
#[test]
fn help_of_the_gate_fits_a_screen_and_its_page_has_the_rest() {
    let home = Home::new();
    let short = home.run(&["gate", "--help"]).out;
    assert_eq!(short, home.run(&["gate", "-h"]).out);
    assert!(short.lines().count() <= 45, "{short}");
    assert!(short.lines().all(|line| line.chars().count() <= 100), "{short}");
    assert_eq!(home.run(&["man", "--out", "pages"]).code, 0);
    let page = home.read("pages/tidegate-gate.1");
    let long = home.run(&["help", "gate"]).out;
    for said in [
        "SIGHUP lets it read the file again",
        "seconds, and when that ends",
        "second of the start",
        "at least 84",
    ] {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!one_line(&short).contains(said), "{said}");
        assert!(one_line(&page).contains(said), "{said}");
        assert!(one_line(&long).contains(said), "{said}");
    }
}
