//! Maps: queues against tests or cells, a number and a colour in each field.
use std::fmt::Write;

use crate::html::escape;

/// Shades from nothing to all of a share.
const SHADES: usize = 10;

/// The class of the shade of `value`, from 0 to 1 or more.
pub(super) fn shade(value: f64) -> usize {
    (value.clamp(0.0, 1.0) * SHADES as f64).round() as usize
}

/// A share of at most some digits.
pub(super) fn share(value: f64) -> String {
    format!("{value:.2}")
}

/// A column of a map: what stands above it, what it is called in full, where it leads.
pub(super) struct Head<'h> {
    pub name: &'h str,
    pub title: &'h str,
    pub link: String,
}

/// A field: the value, and what it must reach.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub value: Option<f64>,
    pub bound: Option<f64>,
}

/// Whether fields are links.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    Each,
    None,
}

/// The head of a map's columns.
pub(super) fn heads(page: &mut String, heads: &[Head<'_>]) {
    for head in heads {
        let Head { name, title, link } = head;
        let _ = write!(
            page,
            "<th title=\"{}\"><a href=\"#{}\">{}</a>",
            escape(title),
            escape(link),
            escape(name)
        );
    }
}

/// The fields of a row. They lead where their heads do if there are `links`; a page of many is
/// smaller without.
pub(super) fn fields(page: &mut String, heads: &[Head<'_>], fields: &[Field], links: Links) {
    for (head, field) in heads.iter().zip(fields) {
        let Some(value) = field.value else {
            page.push_str("<td class=none>–");
            continue;
        };
        let met = field.bound.is_none_or(|bound| value >= bound);
        let (shade, value) = (shade(value), share(value));
        let class = if met { format!("\"s{shade} m\"") } else { format!("s{shade}") };
        let link = escape(&head.link);
        let _ = match links {
            Links::Each => write!(page, "<td class={class}><a href=\"#{link}\">{value}</a>"),
            Links::None => write!(page, "<td class={class}>{value}"),
        };
    }
}

/// What the colours mean.
pub(super) fn legend(page: &mut String) {
    page.push_str("<p class=scale><span>0</span>");
    for shade in 0..=SHADES {
        let _ = write!(page, "<i class=s{shade}></i>");
    }
    page.push_str("<span>1, a fair share</span></p>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_its_number_its_shade_and_its_place() {
        let heads = [Head { name: "P1", title: "a \"b\"", link: "P1".into() }];
        let mut page = String::new();
        super::heads(&mut page, &heads);
        let field = |value| Field { value, bound: Some(0.5) };
        fields(&mut page, &heads, &[field(Some(0.449))], Links::Each);
        fields(&mut page, &heads, &[field(Some(1.7))], Links::None);
        fields(&mut page, &heads, &[field(None)], Links::None);
        assert_eq!(
            page,
            "<th title=\"a &quot;b&quot;\"><a href=\"#P1\">P1</a>\
             <td class=s4><a href=\"#P1\">0.45</a><td class=\"s10 m\">1.70<td class=none>–"
        );
    }
}
