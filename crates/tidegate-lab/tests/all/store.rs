//! The store of a study: whose it is.
use std::collections::BTreeMap;
use std::path::Path;

use tidegate_lab::study::{Store, empty};

/// The files below `dir` and what is in them.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    files
        .map(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            (name, std::fs::read(file.path()).unwrap())
        })
        .collect()
}

#[test]
fn a_store_of_another_version_is_refused_and_left_alone() {
    for (key, value) in [("version", "0.0.1+older"), ("schema", "0")] {
        let dir = tempfile::tempdir().unwrap();
        drop(Store::open(dir.path(), empty()).unwrap());
        drop(Store::open(dir.path(), empty()).expect("one of this version is taken"));
        let database = rusqlite::Connection::open(dir.path().join("store.sqlite")).unwrap();
        let update = "UPDATE meta SET value = ?1 WHERE key = ?2";
        assert_eq!(database.execute(update, [value, key]).unwrap(), 1);
        drop(database);
        let before = files(dir.path());
        let error = Store::open(dir.path(), empty()).err().expect("it is of another version");
        let text = error.to_string();
        assert!(error.refused && text.contains(&format!("{key} {value}")), "{text}");
        assert!(text.contains("choose another --out"), "{text}");
        assert_eq!(files(dir.path()), before);
    }
}

#[test]
fn what_is_no_database_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("store.sqlite"), "a letter, and not a database").unwrap();
    let before = files(dir.path());
    let error = Store::open(dir.path(), empty()).err().expect("it is no database");
    assert!(error.to_string().contains(&dir.path().display().to_string()), "{error}");
    assert_eq!(files(dir.path()), before);
}
