//! The binary, run in a directory of its own.
#![allow(dead_code, reason = "each test file uses its part")]
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// What a run of the command said.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("all output is UTF-8");
        let code = output.status.code().expect("no signal kills it");
        Ran { code, out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ran {
    /// Its standard output, as one JSON document; fails unless all went well.
    pub fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        serde_json::from_str(&self.out).expect("one JSON document and nothing else")
    }

    /// Asserts that it refused with `code`, said nothing on standard output, and said all of
    /// `words` on standard error.
    pub fn refused(&self, code: i32, words: &[&str]) {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "`{word}` is missing in: {}", self.err);
        }
        assert!(
            !self.err.contains("this is a bug") && !self.err.contains("panicked"),
            "{}",
            self.err
        );
    }
}

/// A scenario that takes a moment.
pub const SMALL: &str = r#"
title = "Three TCP users and a flood"
description = "For tests."

[run]
duration = "3 s"
warmup = "1 s"
seeds = 2

[network]
kind = "dumbbell"
rate = "2 Mbit/s"
limit = "30 packets"

[queue]
name = "drop_tail"

[compare]
queues = ["drop_tail", "blue as BLUE"]

[[group]]
name = "tcp"
count = 3
source = "newreno"

[[group]]
name = "flood"
source = "cbr"
rate = "2 Mbit/s"
"#;

/// A directory with `small.toml` and `capture.pcapng` in it.
pub struct Home(TempDir);

impl Home {
    pub fn new() -> Home {
        let home = Home(tempfile::tempdir().unwrap());
        home.write("small.toml", SMALL);
        std::fs::copy(repository().join("captures/flood.pcapng"), home.path("capture.pcapng"))
            .unwrap();
        home
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Everything below the directory, sorted.
    pub fn files(&self) -> Vec<String> {
        fn below(dir: &Path, base: &Path, into: &mut Vec<String>) {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                into.push(path.strip_prefix(base).unwrap().display().to_string());
                if path.is_dir() {
                    below(&path, base, into);
                }
            }
        }
        let mut files = vec![];
        below(self.0.path(), self.0.path(), &mut files);
        files.sort();
        files
    }

    /// The command with these arguments, to be run in this directory.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.args(args).current_dir(self.0.path()).env_remove("RAYON_NUM_THREADS");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the command to its end.
    pub fn run(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    /// Runs the command, which must refuse with `code` and all of `words`, and leave nothing
    /// behind.
    pub fn refuses(&self, code: i32, args: &[&str], words: &[&str]) {
        let before = self.files();
        self.run(args).refused(code, words);
        assert_eq!(self.files(), before, "{args:?} left something behind");
    }

    /// Runs a gate with a link between two interfaces that are not there, and `more` arguments.
    pub fn gate(&self, more: &[&str]) -> Ran {
        let link = ["gate", "--in", "west", "--out", "east", "--rate", "1mbit", "--queue", "red"];
        self.run(&[&link[..], more].concat())
    }

    /// Runs a gate by a file with these keys above such a link.
    pub fn gate_by_file(&self, keys: &str) -> Ran {
        let link = "in = \"west\"\nout = \"east\"\nrate = \"1 Mbit/s\"\nqueue = \"red\"";
        self.write("gate.toml", format!("{keys}\n[[link]]\n{link}\n"));
        self.run(&["gate", "--config", "gate.toml", "--dry-run"])
    }

    /// Asserts that a gate's `option` is an address with this port, and that one that others can
    /// reach must be meant: as an argument and in a file.
    pub fn refuses_a_public_address(&self, option: &str, port: &str) {
        let (flag, public) = (format!("--{option}"), format!("--{option}-public"));
        let key = public.trim_start_matches('-').replace('-', "_");
        let told = format!("{option} = 0.0.0.0:{port}");
        self.gate(&[&flag, &format!("0.0.0.0:{port}")])
            .refused(2, &[&told, "others can reach", &public, &key]);
        let example = "as in 127.0.0.1:9465";
        self.gate(&[&flag, port]).refused(2, &[port, example]);
        self.gate(&[&public]).refused(2, &[&format!("{flag} <")]);

        let refused = |text: &str, words: [&str; 2]| self.gate_by_file(text).refused(2, &words);
        let place = |before: &str, key: &str| format!("gate.toml:1:{}: {key}", before.len() + 1);
        let (quoted, plain) = (format!("{option} = \""), format!("{key} = "));
        let address = format!("{quoted}[::]:{port}\"");
        let at_option = place(&quoted, option);
        refused(&address, [&format!("{at_option} = [::]:{port}"), &key]);
        refused(&format!("{quoted}here\""), [&format!("{at_option} = here"), example]);
        refused(
            &format!("{plain}true"),
            [&place(&plain, &key), &format!("there is no `{option}`")],
        );
    }
}

/// The root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Asserts that `value` holds against the committed schema of results.
pub fn hold(value: &Value) {
    hold_against(tidegate_report::SCHEMA, value);
}

/// Asserts that `value` holds against `schema`.
pub fn hold_against(schema: &str, value: &Value) {
    let schema: Value = serde_json::from_str(schema).unwrap();
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    let wrong: Vec<String> =
        schema.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// `value` without the time it took, which no two runs share.
pub fn timeless(mut value: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(strip),
            Value::Object(document) => {
                assert!(document.remove("wall_s").is_some_and(|s| s.is_number()))
            }
            _ => panic!("no document"),
        }
    }
    strip(&mut value);
    value
}
