//! Prose of the papers' folders as HTML.
use crate::html::escape;

/// `text` escaped, with what stands between two backticks as code; a backtick without its second
/// stays as it is.
pub(super) fn prose(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 32);
    let mut rest = text;
    while let Some((before, (code, after))) =
        rest.split_once('`').and_then(|(b, tail)| Some((b, tail.split_once('`')?)))
    {
        html.push_str(&escape(before));
        html.push_str("<code>");
        html.push_str(&escape(code));
        html.push_str("</code>");
        rest = after;
    }
    html.push_str(&escape(rest));
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_backticks_is_code_and_nothing_else_is_markup() {
        for (text, html) in [
            ("RED without `wait`", "RED without <code>wait</code>"),
            ("`a<b>` & `c`", "<code>a&lt;b&gt;</code> &amp; <code>c</code>"),
            ("it's `one", "it&#39;s `one"),
            ("<code>`</code>", "&lt;code&gt;`&lt;/code&gt;"),
            ("`` and `x`", "<code></code> and <code>x</code>"),
            ("", ""),
        ] {
            assert_eq!(prose(text), html, "{text}");
        }
    }
}
