//! Puts the scenarios and the papers of the repository into the command, so that `tidegate run
//! flood` and `tidegate paper run all` work from anywhere.
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let scenarios = files(&base.join("scenarios"), &["toml"]);
    let list = scenarios.iter().map(|file| {
        let name = file.file_stem().expect("it ends in .toml").to_string_lossy();
        format!("({name:?}, {})", include(file))
    });
    write("shipped.rs", list);
    let mut folders: Vec<PathBuf> = entries(&base.join("papers"));
    folders.retain(|folder| folder.join("paper.toml").is_file());
    write("papers.rs", folders.iter().map(|folder| paper(folder)));
}

/// A paper's name and its files, as code.
fn paper(folder: &Path) -> String {
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
