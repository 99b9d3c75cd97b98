//! Three things that are known when the crate is built. A hash of the sources that decide what a
//! simulation gives, so that stored results of other code are known as such. The commit, of a
//! release. And the scenarios, papers and suites of the repository, so that `flood` means the same
//! from anywhere.
use std::fmt::Write;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::process::Command;

use siphasher::sip::SipHasher13;

/// Below the folder of this crate.
const SOURCES: [&str; 4] =
    ["../tidegate/src", "../tidegate-sim/src", "../tidegate-engine/src", "src"];
/// What only reads results.
const READERS: [&str; 5] =
    ["src/paper", "src/replay", "src/shipped.rs", "src/show.rs", "src/sketch"];

fn main() {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    hash_of_sources(&crates);
    commit(&crates.join("../.."));
    shipped(&crates.join("../.."));
}

#[allow(clippy::disallowed_macros, reason = "this is how a build script speaks to cargo")]
fn hash_of_sources(base: &Path) {
    let mut files = vec![];
    for folder in SOURCES {
        println!("cargo::rerun-if-changed={}", base.join(folder).display());
        collect(&base.join(folder), &mut files);
    }
    files.retain(|file| !READERS.iter().any(|reader| file.starts_with(base.join(reader))));
    files.sort();
    let mut hasher = SipHasher13::new_with_keys(0, 0);
    for file in &files {
        let name = file.strip_prefix(base).unwrap_or(file).to_string_lossy().replace('\\', "/");
        hasher.write(name.as_bytes());
        hasher.write(&std::fs::read(file).unwrap_or_default());
    }
    println!("cargo::rustc-env=TIDEGATE_SOURCES={:016x}", hasher.finish());
}

/// The commit of the clone at `base`, if it is one. Only for a release: every commit builds this
/// crate anew, for which who works on it would wait.
#[allow(clippy::disallowed_macros, reason = "this is how a build script speaks to cargo")]
fn commit(base: &Path) {
    let git = |arguments: &[&str]| {
        let ran = Command::new("git").arg("-C").arg(base).args(arguments).output().ok()?;
        let text = String::from_utf8(ran.stdout).ok()?;
        ran.status.success().then(|| text.trim().to_string()).filter(|text| !text.is_empty())
    };
    if std::env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    // A package within another's clone has no commit of its own.
    let top =
        git(&["rev-parse", "--show-toplevel"]).and_then(|top| Path::new(&top).canonicalize().ok());
    if top.is_none() || top != base.canonicalize().ok() {
        return;
    }
    let Some(commit) = git(&["rev-parse", "HEAD"]) else { return };
    println!("cargo::rustc-env=TIDEGATE_COMMIT={commit}");
    let branch = git(&["symbolic-ref", "-q", "HEAD"]);
    let names = ["HEAD", "packed-refs"].map(String::from).into_iter().chain(branch);
    let paths = names.filter_map(|name| git(&["rev-parse", "--git-path", &name]));
    // A file that is not there would count as changed each time.
    for path in paths.map(|path| base.join(path)).filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// The Rust sources below `folder`.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

/// Writes the scenarios, the papers and the suites below `base` as code.
fn shipped(base: &Path) {
    let scenarios = files(&base.join("scenarios"), &["toml"]);
    let list = scenarios.iter().map(|file| {
        let name = file.file_stem().expect("it ends in .toml").to_string_lossy();
        format!("({name:?}, {})", include(file))
    });
    write("shipped.rs", list);
    let shelf = |name: &str, description: &str| {
        let mut folders: Vec<PathBuf> = entries(&base.join(name));
        folders.retain(|folder| folder.join(description).is_file());
        write(&format!("{name}.rs"), folders.iter().map(|folder| texts(folder)));
    };
    shelf("papers", "paper.toml");
    shelf("suites", "suite.toml");
}

/// The name of a folder and its files, as code.
fn texts(folder: &Path) -> String {
    let name = folder.file_name().expect("it is an entry of a folder").to_string_lossy();
    let mut code = format!("({name:?}, &[\n");
    for file in files(folder, &["toml", "csv"]) {
        let name = file.file_name().expect("it is an entry of a folder").to_string_lossy();
        let _ = writeln!(code, "        ({name:?}, {}),", include(&file));
    }
    code + "    ])"
}

fn include(file: &Path) -> String {
    format!("include_str!({:?})", file.display().to_string())
}

/// A list as code, into a file of cargo's folder.
fn write(name: &str, items: impl Iterator<Item = String>) {
    let mut code = String::from("&[\n");
    for item in items {
        let _ = writeln!(code, "    {item},");
    }
    code.push_str("]\n");
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join(name), code).expect("cargo's folder can be written");
}

/// The files in `folder` with one of `endings`, by name.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut files = entries(folder);
    files
        .retain(|file| file.extension().is_some_and(|ending| endings.iter().any(|e| ending == *e)));
    files
}

/// What is in `folder`, by name.
#[allow(clippy::disallowed_macros, reason = "this is how a build script speaks to cargo")]
fn entries(folder: &Path) -> Vec<PathBuf> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let read = std::fs::read_dir(folder).into_iter().flatten();
    let mut entries: Vec<PathBuf> = read.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}
