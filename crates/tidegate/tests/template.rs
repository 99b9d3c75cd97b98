//! The template of a new queue (`make queue NAME=coin`): its files go where a queue needs them.
//! That it compiles and works is tested in src/lib.rs; docs/contribute/queue.md shows its use.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tidegate::catalog;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Copies the lists that the generator adds to into an empty tree and runs it there.
fn generate(name: &str, root: &Path) -> std::process::Output {
    let _ = fs::remove_dir_all(root);
    let krate = "crates/tidegate";
    for list in [
        "src/queues/mod.rs",
        "src/catalog.rs",
        "tests/queues/main.rs",
        "tests/naive/mod.rs",
        "tests/twinned/mod.rs",
    ] {
        let target = root.join(krate).join(list);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(workspace().join(krate).join(list), target).unwrap();
    }
    let script = workspace().join("templates/queue/new.py");
    Command::new("python3").arg(script).arg(name).arg(root).output().unwrap()
}

/// Five files, and a line in each list, in the order of the alphabet.
#[test]
fn the_generator_writes_what_a_queue_needs() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new_queue");
    let done = generate("fair_coin", &root);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let read = |path: &str| fs::read_to_string(root.join("crates/tidegate").join(path)).unwrap();
    for path in ["src/queues", "tests/naive", "tests/twinned", "tests/queues"] {
        let text = read(&format!("{path}/fair_coin.rs"));
        assert!(text.contains("FairCoin") && !text.to_lowercase().contains("template"), "{text}");
    }
    assert!(read("src/queues/fair_coin.md").contains(r#"config("fair_coin", None"#));
    let sorted = |path: &str, begin: &str| {
        let text = read(path);
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(begin)).collect();
        assert!(lines.is_sorted(), "{path}: {lines:?}");
        assert_eq!(lines.iter().filter(|line| line.contains("fair_coin")).count(), 1, "{path}");
    };
    sorted("src/queues/mod.rs", "pub mod ");
    sorted("src/queues/mod.rs", "pub use ");
    sorted("tests/queues/main.rs", "mod ");
    sorted("tests/naive/mod.rs", "pub mod ");
    sorted("tests/twinned/mod.rs", "pub mod ");
    let last = catalog::QUEUES.last().unwrap().name;
    let catalog = read("src/catalog.rs");
    let after = catalog.split(&format!("\n    {last} => ")).nth(1).unwrap();
    assert_eq!(after.lines().nth(1), Some("    fair_coin => FairCoin,"));
    let arm = r#""fair_coin" => with::<fair_coin::Twinned>(case, tape),"#;
    assert!(read("tests/twinned/mod.rs").contains(arm));
    let again = Command::new("python3")
        .args([workspace().join("templates/queue/new.py"), "fair_coin".into(), root.clone()])
        .output()
        .unwrap();
    assert!(!again.status.success(), "it must not overwrite");
}

/// A name that is no Rust module writes nothing.
#[test]
fn the_generator_refuses_bad_names() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bad_queue");
    for name in ["", "Coin", "my-coin", "2coins", "a__b", "../coin"] {
        let done = generate(name, &root);
        assert!(!done.status.success(), "{name}");
        assert!(String::from_utf8_lossy(&done.stderr).contains("is no name"), "{name}");
    }
}

/// A queue made from the template, untouched, passes every test of the library. It builds a copy of
/// the workspace, which takes minutes.
#[test]
#[ignore = "builds a copy of the workspace: make test-long"]
fn a_new_queue_passes() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("workspace");
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(&root).unwrap();
    let copy = "git ls-files -z | xargs -0 cp --parents -t \"$0\"";
    let sh = Command::new("sh").args(["-c", copy]).arg(&root).current_dir(workspace()).status();
    assert!(sh.unwrap().success());
    let script = root.join("templates/queue/new.py");
    assert!(Command::new("python3").arg(script).arg("coin").status().unwrap().success());
    let cargo = |bless: bool, tests: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["test", "--locked", "-p", "tidegate"]).args(tests).current_dir(&root);
        cargo.env("CARGO_TARGET_DIR", root.join("target"));
        if bless {
            cargo.env("TIDEGATE_BLESS", "1");
        }
        assert!(cargo.status().unwrap().success(), "{tests:?}");
    };
    cargo(true, &["--test", "queues", "--", "battery::", "golden::", "vectors::"]);
    cargo(false, &[]);
    fs::remove_dir_all(&root).unwrap();
}
