//! The pages: one over all papers, one for each.
use std::fmt::Write;

use crate::html::{self, Library, escape, in_script};

use super::prose::prose;
use super::tables::{boards, class, explanations, readings, table};
use super::{Chart, JudgedClaim, KINDS, Reproduced, Section, map, svg};

const STYLE: &str = include_str!("papers.css");
const SCRIPT: &str = include_str!("papers.js");

/// How the pages were made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Made<'m> {
    /// The version that ran it.
    pub version: &'m str,
    /// The command that makes them again.
    pub command: &'m str,
    /// What else must be known: that runs were short, or few.
    pub note: &'m str,
}

/// A page or a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaperPage {
    /// The file's name.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// The pages of `papers`: `index.html`, then one for each, then the chart library that they share,
/// if there are charts, then each figure as SVG below `figures/`.
pub fn render(papers: &[Reproduced], made: &Made<'_>) -> Vec<PaperPage> {
    let mut pages = vec![PaperPage { name: "index.html".into(), text: index(papers, made) }];
    pages.extend(
        papers.iter().map(|paper| PaperPage {
            name: format!("{}.html", paper.folder),
            text: one(paper, made),
        }),
    );
    if papers.iter().flat_map(|paper| &paper.sections).any(|s| !s.charts.is_empty()) {
        pages.push(PaperPage { name: html::LIBRARY.into(), text: html::library() });
    }
    for paper in papers {
        let charts = paper.sections.iter().flat_map(|s| &s.charts);
        pages.extend(
            charts.map(|chart| PaperPage { name: picture(paper, &chart.id), text: svg(chart) }),
        );
        let maps = paper.sections.iter().flat_map(|s| &s.maps);
        pages.extend(
            maps.map(|one| PaperPage { name: picture(paper, &one.id), text: map::svg(one) }),
        );
    }
    pages
}

/// Where a figure lies beside the pages.
fn picture(paper: &Reproduced, id: &str) -> String {
    format!("figures/{}-{id}.svg", paper.folder)
}

/// How many of `claims` are of each kind.
fn count<'c>(claims: impl Iterator<Item = &'c JudgedClaim> + Clone) -> [usize; KINDS.len()] {
    KINDS.map(|kind| claims.clone().filter(|claim| claim.kind == kind).count())
}

fn head(page: &mut String, kicker: &str, title: &str, made: &Made<'_>) {
    let (style, policy) = (html::STYLE, Library::Beside.policy());
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; {policy}; \
         style-src 'unsafe-inline'; img-src data:\">\n\
         <title>{title}</title>\n<style>\n{style}{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<p class=\"kicker\">{kicker}</p>\n<h1>{title}</h1>\n",
        title = escape(title),
        kicker = kicker,
    );
    if !made.note.is_empty() {
        let _ = writeln!(page, "<p class=\"caveat\">{}</p>", escape(made.note));
    }
}

fn foot(page: &mut String, made: &Made<'_>) {
    let _ = write!(
        page,
        "<section>\n<h2>How this was made</h2>\n<pre>{}</pre>\n<footer>Tidegate {}. Charts by \
         Apache ECharts 6.1.0, Apache License 2.0.</footer>\n</section>\n</main>\n",
        escape(made.command),
        escape(made.version)
    );
}

/// What the verdicts mean.
const LEGEND: &str = "<p class=\"what\"><b>holds</b>: ours lies within the tolerance of what is \
    printed, or the intervals lie apart in the order that is claimed. <b>holds under a \
    reading</b>: not as run, but under a reading of the text that something else contradicts, as \
    told beside its table. <b>differs</b>: it does not. <b>fitted</b>: it does, but a parameter \
    was chosen on this very number, which proves nothing; <b>fitted, not met</b>: it does not all \
    the same. <b>cannot be checked</b>: the reason is told.</p>\n";

fn index(papers: &[Reproduced], made: &Made<'_>) -> String {
    let mut page = String::with_capacity(100_000);
    head(
        &mut page,
        "Tidegate · the papers, reproduced",
        "What five papers claim, and what we find",
        made,
    );
    page.push_str(LEGEND);
    page.push_str(
        "</header>\n<section>\n<h2>At a glance</h2>\n<div \
         class=\"scroll\"><table>\n<thead><tr><th class=\"text\">paper</th>",
    );
    for kind in KINDS {
        let _ = write!(page, "<th>{kind}</th>");
    }
    page.push_str("<th class=\"text\">of the claims</th></tr></thead>\n<tbody>\n");
    for paper in papers {
        glance(&mut page, paper);
    }
    page.push_str("</tbody></table></div>\n</section>\n");
    for paper in papers {
        let _ = writeln!(
            page,
            "<section>\n<h2><a href=\"{0}.html\">{1}</a></h2>\n<p class=\"what\">{2}</p>",
            escape(&paper.folder),
            escape(&paper.title),
            escape(&credits(paper))
        );
        let claims: Vec<&JudgedClaim> = paper.sections.iter().flat_map(|s| &s.claims).collect();
        table(&mut page, &claims, true, &format!("{}.html", paper.folder));
        page.push_str("</section>\n");
    }
    foot(&mut page, made);
    page.push_str("</body>\n</html>\n");
    page
}

fn credits(paper: &Reproduced) -> String {
    let parts = [paper.authors.as_str(), paper.venue.as_str(), paper.key.as_str()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// A paper's row of the first table.
fn glance(page: &mut String, paper: &Reproduced) {
    let counts = count(paper.sections.iter().flat_map(|s| &s.claims));
    let all: usize = counts.iter().sum();
    let _ = write!(
        page,
        "<tr><th scope=\"row\"><a href=\"{0}.html\">{0}</a></th>",
        escape(&paper.folder)
    );
    for count in counts {
        let _ = write!(page, "<td>{count}</td>");
    }
    page.push_str("<td class=\"text\"><span class=\"share\">");
    for (kind, count) in KINDS.iter().zip(counts).filter(|(_, count)| *count > 0) {
        let share = 100.0 * count as f64 / all.max(1) as f64;
        let _ = write!(
            page,
            "<i class=\"{}\" style=\"width:{share:.1}%\" title=\"{kind}: {count}\"></i>",
            class(kind)
        );
    }
    page.push_str("</span></td></tr>\n");
}

fn one(paper: &Reproduced, made: &Made<'_>) -> String {
    let mut page = String::with_capacity(200_000);
    head(
        &mut page,
        "<a href=\"index.html\">Tidegate · the papers, reproduced</a>",
        &paper.title,
        made,
    );
    let _ = writeln!(page, "<p class=\"what\">{}</p>", escape(&credits(paper)));
    let counts = count(paper.sections.iter().flat_map(|s| &s.claims));
    page.push_str("<ul class=\"answer\">\n");
    for (kind, count) in KINDS.iter().zip(counts).filter(|(_, count)| *count > 0) {
        let _ = writeln!(page, "<li><b class=\"{}\">{count}</b> {kind}</li>", class(kind));
    }
    page.push_str("</ul>\n");
    page.push_str(LEGEND);
    page.push_str(
        "<noscript><p class=\"trouble\">The charts need JavaScript; each lies as SVG \
         below figures/.</p></noscript>\n</header>\n",
    );
    for shown in &paper.sections {
        section(&mut page, paper, shown);
    }
    fitted(&mut page, paper);
    foot(&mut page, made);
    let charts: Vec<&Chart> = paper.sections.iter().flat_map(|s| &s.charts).collect();
    if !charts.is_empty() {
        scripts(&mut page, &charts);
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn section(page: &mut String, paper: &Reproduced, shown: &Section) {
    let experiment = &shown.experiment;
    let _ = writeln!(
        page,
        "<section id=\"{0}\">\n<h2>{0} · {1}</h2>\n<p class=\"what\">{2}</p>",
        escape(&experiment.id),
        prose(&experiment.title),
        escape(&experiment.place)
    );
    for paragraph in experiment.remarks.split("\n\n").filter(|text| !text.trim().is_empty()) {
        let _ = writeln!(page, "<p class=\"remark\">{}</p>", prose(paragraph.trim()));
    }
    if let Some(why) = &experiment.unchecked {
        let _ = writeln!(page, "<p class=\"caveat\">Cannot be checked: {}</p>", prose(why));
    }
    table(page, &shown.claims.iter().collect::<Vec<_>>(), false, "");
    explanations(page, &experiment.id, &shown.explanations);
    for one in &shown.maps {
        let picture = escape(&picture(paper, &one.id));
        let (drawn, command) = (map::svg(one), escape(&one.command));
        let _ = writeln!(
            page,
            "<div class=\"map\">{drawn}</div>\n<p><a href=\"{picture}\">SVG</a> · \
             <code>{command}</code></p>"
        );
    }
    boards(page, &shown.boards);
    cards(page, paper, &shown.charts);
    readings(page, &shown.readings);
    if !shown.runs.is_empty() {
        let runs = shown.runs.join("\n");
        let _ = writeln!(
            page,
            "<details><summary>Each setting by itself</summary>\n<pre>{}</pre></details>",
            escape(&runs)
        );
    }
    page.push_str("</section>\n");
}

/// What is drawn of an experiment.
fn cards(page: &mut String, paper: &Reproduced, charts: &[Chart]) {
    if charts.is_empty() {
        return;
    }
    page.push_str("<div class=\"cards broad\">\n");
    for chart in charts {
        let _ = writeln!(
            page,
            "<div class=\"card\"><h3>{}</h3>\n<div class=\"chart\" data-figure=\"{}\"></div>\n\
             <p><a href=\"{}\">SVG</a> · <code>{}</code></p></div>",
            prose(&chart.title),
            escape(&chart.id),
            escape(&picture(paper, &chart.id)),
            escape(&chart.command)
        );
    }
    page.push_str("</div>\n");
}

fn fitted(page: &mut String, paper: &Reproduced) {
    if paper.fitted.is_empty() {
        return;
    }
    page.push_str("<section>\n<h2>What was fitted</h2>\n");
    for fitted in &paper.fitted {
        let _ = writeln!(
            page,
            "<p class=\"remark\">{}</p>\n<h3>Chosen on</h3>",
            prose(&fitted.parameter)
        );
        table(page, &fitted.targets.iter().collect::<Vec<_>>(), true, "");
        page.push_str("<h3>Not used for the choice, and what they say of it</h3>\n");
        table(page, &fitted.supports.iter().collect::<Vec<_>>(), true, "");
    }
    page.push_str("</section>\n");
}

fn scripts(page: &mut String, charts: &[&Chart]) {
    let data = serde_json::to_string(charts).unwrap_or_default();
    let _ = writeln!(
        page,
        "<script type=\"application/json\" id=\"data\">{}</script>",
        in_script(&data)
    );
    Library::Beside.write(page);
    let _ = writeln!(page, "<script>\n(function () {{\n'use strict';\n{SCRIPT}}})();\n</script>");
}
