//! What results are called.

/// The longest label, in characters.
const LABEL_LIMIT: usize = 80;

/// A label that can stand in a table: one line, not empty, not too long.
pub(crate) fn check_label(label: &str) -> Result<String, String> {
    let length = label.chars().count();
    if length == 0 || length > LABEL_LIMIT || label.chars().any(char::is_control) {
        return Err(format!("a label must be one line of 1 to {LABEL_LIMIT} characters"));
    }
    Ok(label.into())
}
