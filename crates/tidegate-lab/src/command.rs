//! The command as one would type it.
use std::path::Path;

/// The command with these arguments, quoted so that it can be pasted into a shell.
///
/// ```
/// use tidegate_lab::command::line;
/// let arguments = ["run", "flood", "--set", "run.duration=5 s"].map(String::from);
/// assert_eq!(line(arguments), "tidegate run flood --set 'run.duration=5 s'");
/// ```
pub fn line(arguments: impl IntoIterator<Item = String>) -> String {
    let words = std::iter::once("tidegate".to_string()).chain(arguments);
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

/// The command that a process was started with: its program by name, wherever that lies.
///
/// ```
/// use tidegate_lab::command::shown;
/// assert_eq!(shown(&["/usr/bin/tidegate".into(), "suite".into()]), "tidegate suite");
/// ```
pub fn shown(words: &[String]) -> String {
    let Some((program, arguments)) = words.split_first() else { return String::new() };
    let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
    let words = std::iter::once(name.into_owned()).chain(arguments.iter().cloned());
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: String) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
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
