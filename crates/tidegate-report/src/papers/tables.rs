//! Tables of the pages: claims, the same under other readings, queues side by side.
use std::fmt::Write;

use crate::html::escape;

use super::prose::prose;
use super::{Board, Explanation, FigureCell, JudgedClaim, ReadingsTable};

/// The class of a verdict in the style sheet.
pub(super) fn class(kind: &str) -> &'static str {
    match kind {
        "holds" => "v-holds",
        "holds under a reading" => "v-under",
        "differs" => "v-differs",
        "fitted" => "v-fitted",
        "fitted, not met" => "v-unmet",
        _ => "v-unchecked",
    }
}

/// Claims as a table, with the experiment's name if they are of several; `of` is the page that has
/// the explanations, empty for this one.
pub(super) fn table(page: &mut String, claims: &[&JudgedClaim], several: bool, of: &str) {
    if claims.is_empty() {
        return;
    }
    page.push_str("<div class=\"scroll\"><table class=\"claims\">\n<thead><tr>");
    let first: &[&str] = if several { &["experiment"] } else { &[] };
    for name in first.iter().chain(&["setting", "queue", "quantity"]) {
        let _ = write!(page, "<th class=\"text\">{name}</th>");
    }
    page.push_str(
        "<th>printed</th><th>ours</th><th>±</th><th class=\"text\">unit</th><th>ratio</th><th \
         class=\"text\">verdict</th><th class=\"text\">place</th></tr></thead>\n<tbody>\n",
    );
    for c in claims {
        page.push_str("<tr>");
        let first: &[&String] = if several { &[&c.experiment] } else { &[] };
        for text in first.iter().copied().chain([&c.setting, &c.queue, &c.quantity]) {
            let _ = write!(page, "<td class=\"text wrap\">{}</td>", escape(text));
        }
        let _ = writeln!(
            page,
            "<td>{}</td><td>{}</td><td>{}</td><td class=\"text\">{}</td><td>{}</td>\
             <td class=\"text wrap {}\">{}{}</td><td class=\"text wrap\">{}</td></tr>",
            escape(&c.printed),
            escape(&c.ours),
            escape(&c.ci95),
            escape(&c.unit),
            escape(&c.ratio),
            class(c.kind),
            prose(&c.verdict),
            why(c, of),
            escape(&c.place)
        );
    }
    page.push_str("</tbody></table></div>\n");
}

/// A link to the explanation of a claim that differs.
fn why(claim: &JudgedClaim, of: &str) -> String {
    match claim.explained.as_str() {
        "" => String::new(),
        name => format!(
            ", <a href=\"{}#{}-{}\">why</a>",
            escape(of),
            escape(&claim.experiment),
            escape(name)
        ),
    }
}

/// Why claims of `experiment` differ.
pub(super) fn explanations(page: &mut String, experiment: &str, all: &[(Explanation, usize)]) {
    if all.is_empty() {
        return;
    }
    page.push_str("<h3>Why it differs</h3>\n");
    for (explanation, claims) in all {
        let paragraphs = explanation.why.split("\n\n").filter(|text| !text.trim().is_empty());
        let count = match claims {
            1 => "One claim.".into(),
            _ => format!("{claims} claims."),
        };
        for (number, paragraph) in paragraphs.enumerate() {
            let id = match number {
                0 => format!(" id=\"{}-{}\"", escape(experiment), escape(&explanation.name)),
                _ => String::new(),
            };
            let first = if number == 0 { format!("<b>{count}</b> ") } else { String::new() };
            let _ =
                writeln!(page, "<p class=\"remark\"{id}>{first}{}</p>", prose(paragraph.trim()));
        }
        for id in &explanation.evidence {
            let _ = writeln!(
                page,
                "<p class=\"remark\"><a href=\"#readings-{0}\">The table: {0}</a></p>",
                escape(id)
            );
        }
    }
}

fn cell(page: &mut String, cell: &FigureCell) {
    let half = if cell.half.is_empty() {
        String::new()
    } else {
        format!(" <small>± {}</small>", escape(&cell.half))
    };
    let kind = if cell.kind.is_empty() { "" } else { class(cell.kind) };
    let _ = write!(page, "<td class=\"{kind}\">{}{half}</td>", escape(&cell.text));
}

fn heads<'t>(page: &mut String, first: &[&str], others: impl Iterator<Item = &'t String>) {
    page.push_str("<div class=\"scroll\"><table class=\"claims\">\n<thead><tr>");
    for name in first {
        let _ = write!(page, "<th class=\"text\">{name}</th>");
    }
    for name in others {
        let _ = write!(page, "<th class=\"wrap\">{}</th>", prose(name));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
}

/// The same claims under several readings of the text.
pub(super) fn readings(page: &mut String, all: &[ReadingsTable]) {
    for table in all {
        let (id, title) = (escape(&table.id), prose(&table.title));
        let _ = writeln!(page, "<h3 id=\"readings-{id}\">Another reading: {title}</h3>");
        let _ = writeln!(page, "<p class=\"remark\">{}</p>", prose(table.finding.trim()));
        for (name, against) in &table.contradicted {
            let _ = writeln!(
                page,
                "<p class=\"remark\"><b>Against the reading <i>{}</i></b>: {}</p>",
                escape(name),
                prose(against.trim())
            );
        }
        heads(page, &["claim", "printed"], table.names.iter());
        for row in &table.rows {
            let (claim, printed) = (escape(&row.claim), escape(&row.printed));
            let _ = write!(
                page,
                "<tr><td class=\"text wrap\">{claim}</td><td class=\"text\">{printed}</td>"
            );
            row.cells.iter().for_each(|one| cell(page, one));
            page.push_str("</tr>\n");
        }
        page.push_str(
            "<tr><th class=\"text\" colspan=\"2\" scope=\"row\">met, of what can be told</th>",
        );
        for met in &table.met {
            let _ = write!(page, "<td>{}</td>", escape(met));
        }
        page.push_str("</tr>\n</tbody></table></div>\n");
    }
}

/// Queues side by side, a table for each setting.
pub(super) fn boards(page: &mut String, all: &[Board]) {
    for board in all {
        let _ = writeln!(page, "<h3>{}</h3>", prose(&board.title));
        heads(page, &["queue"], board.columns.iter());
        for (label, cells) in &board.rows {
            let _ = write!(page, "<tr><th class=\"text\" scope=\"row\">{}</th>", escape(label));
            cells.iter().for_each(|one| cell(page, one));
            page.push_str("</tr>\n");
        }
        page.push_str("</tbody></table></div>\n");
    }
}
