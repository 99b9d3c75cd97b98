//! The sections of the page that hold charts, which its script draws.
use std::fmt::Write;

use super::{ChartedResult, ReportInput, escape, view};
use crate::{Document, SeriesQuantity, human};

/// Who got what, and at what price.
pub(super) fn outcome(page: &mut String, input: &ReportInput) {
    let fair =
        input.runs.iter().any(|run| run.result.groups.iter().any(|g| g.fair_share_bps.is_some()));
    page.push_str("<section>\n<h2>Who got what</h2>\n");
    page.push_str("<p class=\"what\">How the bottleneck was divided between the groups of flows");
    if fair {
        page.push_str(
            ", and each group’s share of its fair share (max-min, what a group asks for \
             counted where known), on a logarithmic scale: by goodput where senders heed \
             congestion, else by throughput. A ring is the worst user of a group",
        );
    }
    let intervals = input.runs.iter().any(|run| run.result.seeds.len() > 1);
    page.push_str(if intervals { ". Whiskers are 95 % intervals.</p>\n" } else { ".</p>\n" });
    page.push_str(
        "<div class=\"legend\" data-legend=\"groups\"></div>\n<div class=\"cards broad\">\n",
    );
    card(page, "division", "Throughput", "");
    if fair {
        card(page, "share", "Share of the fair share", "");
    }
    page.push_str("</div>\n");
    match input.runs.as_slice() {
        [one] => tiles(page, one.result),
        _ => prices(page),
    }
    page.push_str("</section>\n");
}

fn prices(page: &mut String) {
    page.push_str("<div class=\"cards broad\" style=\"margin-top:1rem\">\n");
    card(page, "jain", "Fairness", "Jain’s index over flows; 1 is equal");
    card(page, "delay", "Queueing delay", "from the median to the 99th percentile");
    card(page, "loss", "Loss", "packets lost over packets offered, per group");
    card(page, "utilization", "Utilization", "of the bottleneck");
    page.push_str("</div>\n");
}

fn tiles(page: &mut String, document: &Document) {
    let all = &document.aggregate;
    page.push_str("<div class=\"tiles\">\n");
    for (name, text) in [
        ("Jain’s index", human::number(all.jain)),
        ("Utilization", human::ratio(all.utilization)),
        ("Delay, median", human::millis(all.queue_delay_ms.p50)),
        ("Delay, 99th percentile", human::millis(all.queue_delay_ms.p99)),
        ("Loss", human::loss(all.loss_ratio, all.packets, all.loss_ratio.and_then(|f| f.ci95()))),
    ] {
        let (mean, half) = text
            .split_once(" ± ")
            .map_or((text.as_str(), String::new()), |(m, h)| (m, format!("± {h}")));
        let _ = writeln!(
            page,
            "<div class=\"tile\"><span>{name}</span><strong>{mean}</strong> \
             <small>{half}</small></div>"
        );
    }
    page.push_str("</div>\n");
}

/// A card with a chart that the script draws into it.
fn card(page: &mut String, chart: &str, title: &str, what: &str) {
    let _ = writeln!(page, "<div class=\"card\"><h3>{}</h3>", escape(title));
    if !what.is_empty() {
        let _ = writeln!(page, "<p>{what}</p>");
    }
    let _ = writeln!(page, "<div class=\"chart\" data-chart=\"{chart}\"></div></div>");
}

/// A bar for each flow.
pub(super) fn flows(page: &mut String, input: &ReportInput) {
    if input.runs.iter().all(|run| run.flows.is_empty()) {
        return;
    }
    let members = input.runs.first().map_or("flows", |run| run.result.members());
    let one = members.trim_end_matches('s');
    let split = if one == "flow" {
        ""
    } else {
        " (a flow’s share is split evenly among its connections)"
    };
    let _ = write!(
        page,
        "<section>\n<h2>Every {one}</h2>\n<p class=\"what\">One bar per {one}: its throughput, in \
         its group’s colour, against its fair share, the tick{split}. Bars that leave the picture \
         bear their figure.</p>\n\
         <div class=\"legend\"><div data-legend=\"groups\" style=\"display:contents\"></div>\
         <div class=\"choices\"><div class=\"choice\" data-choice=\"order\"><button \
         type=\"button\" data-value=\"sorted\" aria-pressed=\"true\">sorted</button><button \
         type=\"button\" data-value=\"index\" aria-pressed=\"false\">in order</button></div><div \
         class=\"choice\" data-choice=\"scale\"><button type=\"button\" data-value=\"near\" \
         aria-pressed=\"true\">near the fair share</button><button type=\"button\" \
         data-value=\"full\" aria-pressed=\"false\">full scale</button></div></div></div>\n<div class=\"cards broad\">\n",
    );
    for (i, run) in input.runs.iter().enumerate().filter(|(_, run)| !run.flows.is_empty()) {
        let shown = view::flows_shown(run.flows).len();
        let what = if shown == run.flows.len() {
            String::new()
        } else {
            format!(
                "{} of {} {members}: the greatest, and of the rest every so-manieth",
                human::count(shown as u64),
                human::count(run.flows.len() as u64)
            )
        };
        card(page, &format!("flows-{i}"), run.result.title(), &what);
    }
    page.push_str("</div>\n</section>\n");
}

/// What happened over time.
pub(super) fn over_time(page: &mut String, input: &ReportInput) {
    if input.runs.iter().all(|run| run.series.is_none()) {
        return;
    }
    page.push_str(
        "<section>\n<h2>Over time</h2>\n<p class=\"what\">Throughput of each group (its fair share \
         dashed), the queue and the delay it causes, and the queue’s inner state in its paper’s \
         terms. One replication; the same scales for all queues, except for the inner \
         state.</p>\n<div class=\"legend\" data-legend=\"groups\"></div>\n\
         <div class=\"cards broad\">\n",
    );
    for (i, run) in input.runs.iter().enumerate() {
        let Some(series) = run.series else { continue };
        let what = series.seed.map_or(String::new(), |seed| format!("seed {seed}"));
        card(page, &format!("time-{i}"), run.result.title(), &what);
    }
    page.push_str("</div>\n");
    let inner = |run: &ChartedResult| {
        run.series.is_some_and(|s| s.lines.iter().any(|l| l.what == SeriesQuantity::Gauge))
    };
    if input.runs.iter().any(inner) {
        page.push_str("<div class=\"cards state\">\n");
        for (i, run) in input.runs.iter().enumerate().filter(|(_, run)| inner(run)) {
            card(page, &format!("state-{i}"), &format!("{}: inner state", run.result.title()), "");
        }
        page.push_str("</div>\n");
    }
    page.push_str("</section>\n");
}
