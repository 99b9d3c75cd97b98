//! Maps: queues against tests or cells, a number and a colour in each field.
use std::fmt::Write;

use super::Sure;
use crate::html::escape;

/// Shades from nothing to all of a share.
const SHADES: usize = 10;

/// The class of the shade of `value`, from 0 to 1 or more.
pub(super) fn shade(value: f64) -> usize {
    (value.clamp(0.0, 1.0) * SHADES as f64).round() as usize
}

/// A share in two digits, never rounded up: what is just short of a bound shows as short of it.
pub fn share(value: f64) -> String {
    // What the text of a number means, not what its bits leave of it: 0.29 stays 0.29.
    format!("{:.2}", (value * 100.0 + 1e-9).floor() / 100.0)
}

/// A column of a map: what stands above it, what it is called in full, where it leads.
pub(super) struct Head<'h> {
    pub name: &'h str,
    pub title: &'h str,
    pub link: String,
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
pub(super) fn fields(page: &mut String, heads: &[Head<'_>], fields: &[Option<Sure>], links: Links) {
    for (head, field) in heads.iter().zip(fields) {
        let Some(Sure { sure, passed }) = field else {
            page.push_str("<td class=none>–");
            continue;
        };
        let (shade, value) = (shade(*sure), share(*sure));
        let class = if *passed { format!("\"s{shade} m\"") } else { format!("s{shade}") };
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
        let field = |sure, passed| Some(Sure { sure, passed });
        fields(&mut page, &heads, &[field(0.449, false)], Links::Each);
        fields(&mut page, &heads, &[field(1.7, true)], Links::None);
        fields(&mut page, &heads, &[None], Links::None);
        assert_eq!(
            page,
            "<th title=\"a &quot;b&quot;\"><a href=\"#P1\">P1</a>\
             <td class=s4><a href=\"#P1\">0.44</a><td class=\"s10 m\">1.70<td class=none>–"
        );
    }

    #[test]
    fn a_share_is_never_rounded_up() {
        for (value, text) in [(0.4999, "0.49"), (0.5, "0.50"), (0.29, "0.29"), (1.0, "1.00")] {
            assert_eq!(share(value), text);
        }
    }

    #[test]
    fn shades_run_from_none_to_a_whole_share_and_no_farther() {
        let shades = [-1.0, 0.0, 0.04, 0.05, 0.5, 0.96, 1.0, 7.5].map(shade);
        assert_eq!(shades, [0, 0, 0, 1, 5, 10, 10, 10]);
        let mut page = String::new();
        legend(&mut page);
        for step in 0..=SHADES {
            assert!(page.contains(&format!("<i class=s{step}></i>")), "{page}");
        }
        assert!((0..=1000).all(|n| shade(f64::from(n) / 1000.0) <= SHADES));
    }

    #[test]
    fn a_share_has_two_digits_and_never_says_more_than_there_is() {
        for hundredths in 0..250 {
            let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
            assert_eq!(share(f64::from(hundredths) / 100.0), text, "what is exact stays");
            let just_short = f64::from(hundredths + 1) / 100.0 - 1e-6;
            assert_eq!(share(just_short), text, "{just_short}");
        }
    }
}
