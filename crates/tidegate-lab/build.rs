//! A hash of the sources that decide what a simulation gives, so that stored results of other code
//! are known as such.
use std::hash::Hasher;
use std::path::{Path, PathBuf};

use siphasher::sip::SipHasher13;

/// Below the folder of this crate.
const SOURCES: [&str; 3] = ["../tidegate/src", "../tidegate-sim/src", "src"];
/// What only reads results.
const READERS: [&str; 3] = ["src/paper", "src/replay", "src/sketch"];

#[allow(clippy::disallowed_macros, reason = "this is how a build script speaks to cargo")]
fn main() {
    let base = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![];
    for folder in SOURCES {
        println!("cargo::rerun-if-changed={}", base.join(folder).display());
        collect(&base.join(folder), &mut files);
    }
    files.retain(|file| !READERS.iter().any(|reader| file.starts_with(base.join(reader))));
    files.sort();
    let mut hasher = SipHasher13::new_with_keys(0, 0);
    for file in &files {
        let name = file.strip_prefix(&base).unwrap_or(file).to_string_lossy().replace('\\', "/");
        hasher.write(name.as_bytes());
        hasher.write(&std::fs::read(file).unwrap_or_default());
    }
    println!("cargo::rustc-env=TIDEGATE_SOURCES={:016x}", hasher.finish());
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
