//! The report: one HTML file that needs nothing else, on line or off; or, where there are many,
//! pages that share one file.
//!
//! Figures are written into the page as text, so that it says everything without a script. The
//! charts are drawn by [Apache ECharts](https://echarts.apache.org), which is vendored and goes
//! into the file. The page's own policy (`Content-Security-Policy`) forbids it to load anything.
//!
//! ```
//! use tidegate_report::{Document, html::{ChartedResult, ReportInput, render}};
//! let (scenario, label) = ("<b>flood".into(), "red".into());
//! let result = Document { scenario, label, ..Document::default() };
//! let runs = vec![ChartedResult::of(&result)];
//! let page = render(&ReportInput { title: "A <flood>", runs, ..ReportInput::default() });
//! assert!(page.starts_with("<!doctype html>"));
//! assert!(page.contains("<h1>A &lt;flood&gt;</h1>") && !page.contains("<b>flood"));
//! ```
mod charts;
mod library;
mod tables;
mod view;

use std::fmt::Write;

use crate::{Document, Figure, Flow, PacketSource, Series, answer, human};

pub(crate) use library::Library;
pub use library::{LIBRARY, library};

pub(crate) const STYLE: &str = include_str!("html/report.css");
/// Draws the charts; one script in so many files.
const SCRIPT: [&str; 6] = [
    include_str!("html/script/base.js"),
    include_str!("html/script/outcome.js"),
    include_str!("html/script/cost.js"),
    include_str!("html/script/flows.js"),
    include_str!("html/script/time.js"),
    include_str!("html/script/page.js"),
];
const CHARTS: &str = include_str!("../vendor/echarts/echarts.common.min.js");
const NOTICES: [&str; 3] = [
    include_str!("../vendor/echarts/NOTICE"),
    include_str!("../vendor/echarts/LICENSE-zrender"),
    include_str!("../vendor/echarts/LICENSE-d3"),
];

/// What a report is made of.
#[derive(Clone, Debug, Default)]
pub struct ReportInput<'a> {
    /// The page's title.
    pub title: &'a str,
    /// The results, in the order they are shown: one, or several to compare.
    pub runs: Vec<ChartedResult<'a>>,
    /// The resolved scenario, as TOML.
    pub scenario: Option<&'a str>,
    /// The command that makes this report again.
    pub command: Option<&'a str>,
}

/// One result with what is drawn but not part of the document.
#[derive(Clone, Copy, Debug)]
pub struct ChartedResult<'a> {
    /// The result.
    pub result: &'a Document,
    /// Its flows.
    pub flows: &'a [Flow],
    /// What happened over time in one replication.
    pub series: Option<&'a Series>,
}

impl<'a> ChartedResult<'a> {
    /// A result with the flows it holds, if any, and no series.
    pub fn of(result: &'a Document) -> ChartedResult<'a> {
        ChartedResult { result, flows: result.flows.as_deref().unwrap_or_default(), series: None }
    }

    /// The same with what happened over time.
    pub fn with_series(self, series: &'a Series) -> ChartedResult<'a> {
        ChartedResult { series: Some(series), ..self }
    }
}

/// The report as one HTML page.
pub fn render(input: &ReportInput) -> String {
    written(input, Library::Within)
}

/// The report as a page that shares the chart library with others: [`library`] must lie beside it
/// as [`LIBRARY`].
pub fn render_beside(input: &ReportInput) -> String {
    written(input, Library::Beside)
}

fn written(input: &ReportInput, library: Library) -> String {
    let mut page = String::with_capacity(CHARTS.len() + 200_000);
    let policy = library.policy();
    let title = escape(input.title);
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; {policy}; \
         style-src 'unsafe-inline'; img-src data:\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
    );
    head(&mut page, input);
    page.push_str(
        "<noscript><p class=\"trouble\">The charts need JavaScript; every figure stands \
         in the tables.</p></noscript>\n",
    );
    charts::outcome(&mut page, input);
    charts::flows(&mut page, input);
    charts::over_time(&mut page, input);
    tables::write(&mut page, input);
    provenance(&mut page, input);
    page.push_str("</main>\n");
    scripts(&mut page, input, library);
    page.push_str("</body>\n</html>\n");
    page
}

/// Title, answer, and the facts that hold for all results.
fn head(page: &mut String, input: &ReportInput) {
    let documents: Vec<&Document> = input.runs.iter().map(|run| run.result).collect();
    let first = documents.first();
    let made = match first.map(|d| d.source) {
        Some(PacketSource::Replayed) => "Replayed from a capture",
        Some(PacketSource::Measured) => "Measured",
        _ => "Simulated",
    };
    let _ = write!(
        page,
        "<header>\n<p class=\"kicker\">Tidegate report · {made}</p>\n<h1>{}</h1>\n",
        escape(input.title)
    );
    page.push_str("<ul class=\"answer\">\n");
    for clause in answer::clauses(&documents) {
        let _ = writeln!(
            page,
            "<li><b>{}</b>: {}</li>",
            escape(&clause.title),
            escape(&unbroken(&clause.text))
        );
    }
    page.push_str("</ul>\n");
    if first.is_some_and(|d| d.source == PacketSource::Replayed) {
        let _ = writeln!(page, "<p class=\"caveat\">{}</p>", answer::REPLAY);
    }
    for caveat in answer::caveats(&documents) {
        let _ = writeln!(page, "<p class=\"caveat\">{}</p>", escape(&unbroken(&caveat)));
    }
    page.push_str("<dl class=\"facts\">\n");
    if let Some(document) = first {
        for (name, value) in facts(document) {
            let _ = writeln!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(&value));
        }
    }
    page.push_str("</dl>\n</header>\n");
}

/// The text with each number and its unit kept on one line.
fn unbroken(text: &str) -> String {
    [" %", " bit/s", " kbit/s", " Mbit/s", " Gbit/s"]
        .iter()
        .fold(text.into(), |text: String, unit| text.replace(unit, &unit.replace(' ', "\u{a0}")))
}

fn facts(document: &Document) -> Vec<(&'static str, String)> {
    let link = &document.bottleneck;
    let mut facts = Vec::new();
    if let Some(why) = &document.incomplete {
        facts.push(("Incomplete", why.clone()));
    }
    facts.extend(document.overloads.iter().map(|overload| ("Overloaded", overload.to_string())));
    if let Some(rate) = link.rate_bps {
        facts.push(("Bottleneck", human::rate(Figure::exact(rate))));
    }
    if let Some(limit) = &link.limit {
        facts.push(("Limit", limit.clone()));
    }
    if let Some(seconds) = link.duration_s {
        let after = link
            .warmup_s
            .filter(|w| *w > 0.0)
            .map_or(String::new(), |w| format!(" after {} of warm-up", human::seconds(w)));
        facts.push(("Measured", human::seconds(seconds) + &after));
    }
    let members = human::count(document.groups.iter().map(|g| g.count).sum());
    match (&link.flow_key, link.flow_count) {
        (Some(key), Some(flows)) => {
            facts.push((
                "Traffic",
                format!("{members} connections, {} flows by {key}", human::count(flows)),
            ));
        }
        _ => facts.push(("Flows", members)),
    }
    match document.seeds.as_slice() {
        [] => {}
        [one] => facts.push(("Seed", format!("{one}, so no intervals"))),
        many => facts.push(("Seeds", format!("{}; intervals are 95 %", many.len()))),
    }
    facts
}

/// Scenario, seeds, version and the way to make it again.
fn provenance(page: &mut String, input: &ReportInput) {
    page.push_str("<section>\n<h2>How this was made</h2>\n");
    if let Some(command) = input.command {
        let _ = writeln!(
            page,
            "<p class=\"what\">This command makes the report again:</p>\n<pre>{}</pre>",
            escape(command)
        );
    }
    if let Some(scenario) = input.scenario {
        let _ = writeln!(
            page,
            "<details open><summary>The scenario, resolved</summary>\n<pre>{}</pre></details>",
            escape(scenario)
        );
    }
    page.push_str("<footer>");
    if let Some(first) = input.runs.first().map(|run| run.result) {
        let seeds: Vec<String> = first.seeds.iter().map(u64::to_string).collect();
        if !seeds.is_empty() {
            let _ = write!(page, "Seeds {}. ", seeds.join(", "));
        }
        let documents: Vec<&Document> = input.runs.iter().map(|run| run.result).collect();
        let wall: f64 = input.runs.iter().filter_map(|run| run.result.wall_s).sum();
        if let Some(packets) = answer::packets(&documents) {
            let _ = write!(page, "{packets}");
            let _ = write!(
                page,
                "{}. ",
                if wall > 0.0 { format!(" in {wall:.2} s") } else { String::new() }
            );
        }
        let _ = write!(page, "Tidegate {}. ", escape(&first.version));
    }
    page.push_str("Charts by Apache ECharts 6.1.0, Apache License 2.0.</footer>\n</section>\n");
}

fn scripts(page: &mut String, input: &ReportInput, library: Library) {
    let data = serde_json::to_string(&view::PageView::of(input))
        .expect("names are strings and numbers are numbers or null");
    let _ = writeln!(
        page,
        "<script type=\"application/json\" id=\"data\">{}</script>",
        in_script(&data)
    );
    // The watch goes first: it must hear of errors in what follows.
    page.push_str(
        "<script>window.addEventListener('error', function (e) { \
         document.documentElement.dataset.error = e.message; });\
         document.addEventListener('securitypolicyviolation', function (e) { \
         document.documentElement.dataset.blocked = e.blockedURI || \
         e.violatedDirective; });</script>\n",
    );
    library.write(page);
    library.draw(page);
}

/// Text as HTML shows it: `<`, `>`, `&` and quotes escaped, control characters that HTML forbids
/// left out.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => {}
            c => escaped.push(c),
        }
    }
    escaped
}

/// JSON or text that may stand inside a script element: nothing in it can end the element or open a
/// comment.
pub(crate) fn in_script(text: &str) -> String {
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}
