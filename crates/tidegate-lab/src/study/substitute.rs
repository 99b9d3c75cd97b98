//! Axes' values put in place of their names.

/// A name and the value that stands for it.
pub(super) type Binding<'b> = (&'b str, &'b str);

/// `text` with every word that is a name in `bindings` replaced by its value: bare if the word is
/// all there is, in parentheses within an expression.
pub(super) fn in_expression(text: &str, bindings: &[Binding<'_>]) -> String {
    let value =
        |word: &str| bindings.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    if let Some(value) = value(text.trim()) {
        return value.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
        // A unit behind a number is no name, so a number takes along what is glued to it.
        let end = if word(first) {
            rest.find(|c| !word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        match value(&rest[..end]) {
            Some(value) => out.extend(["(", value, ")"]),
            None => out += &rest[..end],
        }
        rest = &rest[end..];
    }
    out
}

/// `text` with every `{name}` of `bindings` replaced by its value.
pub(super) fn in_braces(text: &str, bindings: &[Binding<'_>]) -> String {
    bindings
        .iter()
        .fold(text.to_string(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// The names in braces in `text`.
pub(super) fn names(text: &str) -> Vec<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_replaced_and_nothing_else() {
        let bindings = [("rtt", "10 ms"), ("load", "2"), ("control", "cubic")];
        for (text, expected) in [
            ("control", "cubic"),
            ("rtt / 2", "(10 ms) / 2"),
            ("load × network.rate", "(2) × network.rate"),
            ("network.rtt + rtt", "network.rtt + (10 ms)"),
            ("rtts", "rtts"),
            ("", ""),
            ("ünïcode rtt", "ünïcode (10 ms)"),
        ] {
            assert_eq!(in_expression(text, &bindings), expected);
        }
        assert_eq!(in_braces("sfb,bins={load} as sfb {load}", &bindings), "sfb,bins=2 as sfb 2");
        assert_eq!(names("a {b} c {d"), ["b"]);
    }
}
