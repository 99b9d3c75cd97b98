//! Files that the code must reproduce. `TIDEGATE_BLESS=1` rewrites them instead of comparing.
use std::path::Path;

/// Whether this run rewrites what it would compare.
pub fn blessing() -> bool {
    std::env::var_os("TIDEGATE_BLESS").is_some_and(|v| v == "1")
}

/// The file `path` (from the crate's root) holds exactly `text`.
pub fn assert_file(path: &str, text: &str) {
    let full = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if blessing() {
        std::fs::write(&full, text).unwrap_or_else(|e| panic!("{}: {e}", full.display()));
        return;
    }
    let found = std::fs::read_to_string(&full)
        .unwrap_or_else(|e| panic!("{path}: {e}; TIDEGATE_BLESS=1 writes it"));
    assert!(
        found == text,
        "{path} differs; TIDEGATE_BLESS=1 rewrites it.\n--- found\n{found}\n--- now\n{text}"
    );
}

/// Lines that enclose a generated part of a manual page.
pub const BEGIN: &str = "<!-- parameters: generated, TIDEGATE_BLESS=1 rewrites -->\n";
/// See [`BEGIN`].
pub const END: &str = "<!-- end of parameters -->\n";

/// What stands between the markers of `page`, with their places.
pub fn generated(page: &str) -> Option<(usize, usize)> {
    let begin = page.find(BEGIN)? + BEGIN.len();
    Some((begin, begin + page[begin..].find(END)?))
}
