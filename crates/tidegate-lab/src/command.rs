//! The command as one would type it.

/// The command with these arguments, quoted so that it can be pasted into a shell.
///
/// ```
/// use tidegate_lab::command::line;
/// let arguments = ["run", "flood", "--set", "run.duration=5 s"].map(String::from);
/// assert_eq!(line(arguments), "tidegate run flood --set 'run.duration=5 s'");
/// ```
pub fn line(arguments: impl IntoIterator<Item = String>) -> String {
    let quoted = |word: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    let words = std::iter::once("tidegate".to_string()).chain(arguments.into_iter().map(quoted));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_pasted() {
        let arguments = ["run", "it's", "--set", "run.duration=5 s", ""].map(String::from);
        assert_eq!(line(arguments), r"tidegate run 'it'\''s' --set 'run.duration=5 s' ''");
    }
}
