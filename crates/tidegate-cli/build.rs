//! Puts the scenarios of the repository into the command, so that `tidegate run flood` works from anywhere.
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[allow(clippy::disallowed_macros, reason = "this is how a build script speaks to cargo")]
fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
        .unwrap_or_default();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    let mut code = String::from("&[\n");
    for file in files {
        let name = file.file_stem().expect("it ends in .toml").to_string_lossy();
        let _ = writeln!(code, "    ({name:?}, include_str!({:?})),", file.display().to_string());
    }
    code.push_str("]\n");
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("shipped.rs"), code).expect("cargo's folder can be written");
}
