//! The nearest known word.

/// `; did you mean `word`?` for the known word nearest to `word`, if one is near enough to be a
/// slip.
pub fn did_you_mean(word: &str, known: &[&str]) -> Option<String> {
    nearest(word, known).map(|near| format!("; did you mean `{near}`?"))
}

/// The known word nearest to `word`: about a third of its letters wrong at most, and at least one
/// right.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    // A word of a file may be long, and the distance costs the product of the lengths.
    if word.len() > 64 {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace(['_', '-', ' '], "");
    let asked = plain(word);
    let distance = |known: &str| strsim::damerau_levenshtein(&asked, &plain(known));
    let near = |known: &str| distance(known) <= known.len().max(asked.len()).div_ceil(3);
    known.iter().copied().filter(|k| near(k) && k.len() > distance(k)).min_by_key(|k| distance(k))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = ["duration", "warmup", "seeds", "series"];
        assert_eq!(nearest("durration", &known), Some("duration"));
        assert_eq!(nearest("warm-up", &known), Some("warmup"));
        assert_eq!(nearest("seed", &known), Some("seeds"));
        assert_eq!(nearest("colour", &known), None);
        assert_eq!(nearest("x", &["y"]), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), &known), None);
    }
}
