//! The figures as tables: what a chart shows, to read, to copy, and for those who cannot see it.
use std::fmt::Write;

use super::{ChartedResult, ReportInput, escape};
use crate::answer::{self, Standing, offends, share, worst};
use crate::detail::{self, Detail};
use crate::fair::STARVED;
use crate::{Document, Figure, Flow, Group, human};

/// At most so many flows of a run are listed.
const FLOWS: usize = 200;

/// All tables.
pub(super) fn write(page: &mut String, input: &ReportInput) {
    page.push_str(
        "<section>\n<h2>The figures</h2>\n<p class=\"what\">Rates are a group’s total.</p>\n",
    );
    groups(page, input);
    aggregates(page, input);
    let documents: Vec<&Document> = input.runs.iter().map(|run| run.result).collect();
    details(page, "Delays, evenness, transfers", "group", &detail::groups(&documents));
    details(page, "Each queue", "link", &detail::queues(&documents));
    parameters(page, input);
    reasons(page, input);
    for run in input.runs.iter().filter(|run| !run.flows.is_empty()) {
        flows(page, run);
    }
    page.push_str("</section>\n");
}

fn groups(page: &mut String, input: &ReportInput) {
    open(page, "Groups", &["queue", "group"]);
    let members = input.runs.first().map_or("flows", |run| run.result.members());
    let several = input.runs.iter().any(|run| run.result.groups.iter().any(|g| worst(g).is_some()));
    let mut heads = vec![members, "of fair share"];
    heads.extend(["worst user", "starved"].iter().filter(|_| several));
    heads.extend(["throughput", "goodput", "fair share", "loss", "marked", "delay p50", "p99"]);
    heads_then_body(page, &heads);
    for run in &input.runs {
        for (i, group) in run.result.groups.iter().enumerate() {
            let _ = write!(page, "<tr{}>", if i == 0 { " class=\"first\"" } else { "" });
            if i == 0 {
                let rows = run.result.groups.len();
                let _ = write!(
                    page,
                    "<th scope=\"row\" rowspan=\"{rows}\">{}</th>",
                    escape(run.result.title())
                );
            }
            text(page, &group.name);
            cell(page, &human::count(group.count));
            group_cells(page, group, several);
            page.push_str("</tr>\n");
        }
    }
    close(page);
    group_notes(page, input, several);
}

/// What a group got; its worst user if some group has `several` users.
fn group_cells(page: &mut String, group: &Group, several: bool) {
    share_cell(page, group);
    if several {
        worst_cells(page, group);
    }
    cell(page, &human::rate(group.throughput_bps));
    let class = if group.wasteful().is_some() { " class=\"bad\"" } else { "" };
    cell_of(page, class, &human::rate(group.goodput_bps));
    cell(page, &human::rate(human::bare(group.fair_share_bps)));
    cell(
        page,
        &human::loss(group.loss_ratio, group.packets, group.loss_ratio.and_then(|f| f.ci95())),
    );
    cell(page, &human::ratio(group.mark_ratio));
    cell(page, &human::millis(group.delay_ms.p50));
    cell(page, &human::millis(group.delay_ms.p99));
}

/// What explains the columns of the groups.
fn group_notes(page: &mut String, input: &ReportInput, several: bool) {
    if input.runs.iter().any(|run| answer::goodput_exceeds(run.result)) {
        let _ = writeln!(page, "<p class=\"what note\">{}</p>", answer::GOODPUT);
    }
    if several {
        let _ = writeln!(page, "<p class=\"what note\">{}</p>", answer::STARVED);
    }
    if answer::few_seeds(&input.runs.iter().map(|run| run.result).collect::<Vec<_>>()) {
        let _ = writeln!(page, "<p class=\"what note\">{}</p>", answer::FEW_SEEDS);
    }
    if input.runs.iter().any(|run| answer::too_rare(run.result)) {
        let _ = writeln!(page, "<p class=\"what note\">{}</p>", answer::TOO_RARE);
    }
}

fn aggregates(page: &mut String, input: &ReportInput) {
    page.push_str("<div style=\"height:1rem\"></div>");
    open(page, "All flows together", &["queue"]);
    heads_then_body(page, &["Jain", "utilization", "loss", "delay mean", "p50", "p99", "queue"]);
    for run in &input.runs {
        let (result, all) = (run.result, &run.result.aggregate);
        let _ = write!(page, "<tr><th scope=\"row\">{}</th>", escape(result.title()));
        cell(page, &human::number(all.jain));
        cell(page, &human::ratio(all.utilization));
        cell(
            page,
            &human::loss(all.loss_ratio, all.packets, all.loss_ratio.and_then(|f| f.ci95())),
        );
        cell(page, &human::millis(all.queue_delay_ms.mean));
        cell(page, &human::millis(all.queue_delay_ms.p50));
        cell(page, &human::millis(all.queue_delay_ms.p99));
        let packets = all
            .queue_packets
            .map_or(human::NONE.into(), |f| format!("{} packets", human::number(Some(f))));
        cell(page, &packets);
        page.push_str("</tr>\n");
    }
    close(page);
}

/// The figures behind the first tables.
fn details(page: &mut String, title: &str, second: &str, detail: &Detail) {
    if detail.heads.is_empty() {
        return;
    }
    page.push_str("<div style=\"height:1rem\"></div>");
    open(page, title, &["queue", second]);
    heads_then_body(page, &detail.heads);
    let mut last = "";
    for ([queue, name], cells) in &detail.rows {
        let first = queue != last;
        last = queue;
        let class = if first { " class=\"first\"" } else { "" };
        let _ = write!(
            page,
            "<tr{class}><th scope=\"row\">{}</th>",
            if first { escape(queue) } else { String::new() }
        );
        text(page, name);
        cells.iter().for_each(|c| cell(page, c));
        page.push_str("</tr>\n");
    }
    close(page);
}

/// The settings of each queue.
fn parameters(page: &mut String, input: &ReportInput) {
    page.push_str("<div style=\"height:1rem\"></div>");
    open(page, "Queues", &["queue", "preset", "parameters"]);
    heads_then_body(page, &[]);
    for run in &input.runs {
        let queue = &run.result.queue;
        let params: Vec<String> =
            queue.params.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let params = params.join(", ");
        let name = match run.result.title() {
            title if title == queue.name => title.to_string(),
            title => format!("{title} ({})", queue.name),
        };
        let _ = write!(page, "<tr><th scope=\"row\">{}</th>", escape(&name));
        text(page, queue.preset.as_deref().unwrap_or(human::NONE));
        let _ = writeln!(
            page,
            "<td class=\"text wrap\">{}</td></tr>",
            escape(if params.is_empty() { human::NONE } else { &params })
        );
    }
    close(page);
}

/// Drops and marks by reason, packets per replication.
fn reasons(page: &mut String, input: &ReportInput) {
    let all = || input.runs.iter().map(|run| &run.result.aggregate);
    if all().all(|a| a.drops.is_empty() && a.marks.is_empty()) {
        return;
    }
    page.push_str("<div style=\"height:1rem\"></div>");
    open(page, "Drops and marks by reason, packets per replication", &["queue", "fate", "reason"]);
    heads_then_body(page, &["packets"]);
    for run in &input.runs {
        let all = &run.result.aggregate;
        let dropped = all.drops.iter().map(|reason| ("dropped", reason));
        let marked = all.marks.iter().map(|reason| ("marked", reason));
        for (i, (fate, (reason, packets))) in dropped.chain(marked).enumerate() {
            let (class, name) =
                if i == 0 { (" class=\"first\"", run.result.title()) } else { ("", "") };
            let _ = write!(page, "<tr{class}><th scope=\"row\">{}</th>", escape(name));
            text(page, fate);
            text(page, reason);
            cell(page, &count(*packets));
            page.push_str("</tr>\n");
        }
    }
    close(page);
}

fn count(figure: Figure) -> String {
    let whole = |x: f64| human::count((x + 0.5) as u64);
    figure
        .ci95()
        .map_or(whole(figure.mean()), |half| format!("{} ± {}", whole(figure.mean()), whole(half)))
}

fn flows(page: &mut String, run: &ChartedResult) {
    let (order, counted) = detail::greatest(run.flows);
    let more = match order.len().saturating_sub(FLOWS) {
        0 => String::new(),
        _ => format!(", the greatest {FLOWS}"),
    };
    let _ = writeln!(
        page,
        "<details><summary>{}: {} {}{more}</summary>",
        escape(run.result.title()),
        human::count(order.len() as u64),
        run.result.members()
    );
    open(page, "", &["flow", "group"]);
    flow_heads(page, counted);
    for flow in order.into_iter().take(FLOWS) {
        let _ = write!(page, "<tr><th scope=\"row\">{}</th>", escape(&flow.label));
        text(page, flow.group.as_deref().unwrap_or(human::NONE));
        flow_cells(page, flow, counted);
        page.push_str("</tr>\n");
    }
    close(page);
    page.push_str("</details>\n");
}

/// The heads of [`flow_cells`].
fn flow_heads(page: &mut String, counted: bool) {
    if counted {
        heads_then_body(
            page,
            &[
                "offered",
                "delivered",
                "dropped",
                "marked",
                "loss",
                "throughput",
                "delay p50",
                "p99",
            ],
        )
    } else {
        heads_then_body(
            page,
            &["throughput", "fair share", "goodput", "loss", "marked", "delay p50", "p99"],
        )
    }
}

/// What a flow got: what became of its packets where they were `counted`, else its rates.
fn flow_cells(page: &mut String, flow: &Flow, counted: bool) {
    if counted {
        let counts = flow.packets.unwrap_or_default();
        for n in [counts.offered, counts.delivered, counts.dropped, counts.marked] {
            cell(page, &human::count(n));
        }
        cell(page, &human::ratio(flow.loss_ratio));
        cell(page, &human::rate(flow.throughput_bps));
    } else {
        cell(page, &human::rate(flow.throughput_bps));
        cell(page, &human::rate(human::bare(flow.fair_share_bps)));
        cell(page, &human::rate(flow.goodput_bps));
        cell(page, &human::ratio(flow.loss_ratio));
        cell(page, &human::ratio(flow.mark_ratio));
    }
    cell(page, &human::millis(flow.delay_ms.p50));
    cell(page, &human::millis(flow.delay_ms.p99));
}

fn open(page: &mut String, caption: &str, names: &[&str]) {
    page.push_str("<div class=\"card scroll\"><table>");
    if !caption.is_empty() {
        let _ = write!(page, "<caption>{caption}</caption>");
    }
    page.push_str("<thead><tr>");
    for name in names {
        let _ = write!(page, "<th scope=\"col\" class=\"text\">{name}</th>");
    }
}

fn heads_then_body(page: &mut String, heads: &[&str]) {
    for head in heads {
        let _ = write!(page, "<th scope=\"col\">{head}</th>");
    }
    page.push_str("</tr></thead><tbody>\n");
}

fn close(page: &mut String) {
    page.push_str("</tbody></table></div>\n");
}

fn text(page: &mut String, text: &str) {
    let _ = write!(page, "<td class=\"text\">{}</td>", escape(text));
}

/// A figure; its interval stands back behind the mean.
fn cell(page: &mut String, figure: &str) {
    cell_of(page, "", figure);
}

fn share_cell(page: &mut String, group: &Group) {
    let share = share(group);
    let class = match share.map(|s| Standing::of(s.mean())) {
        None => "",
        Some(Standing::Greedy) => " class=\"bad\"",
        Some(Standing::Fair) => " class=\"good\"",
        _ if offends(group) => " class=\"good\"",
        Some(Standing::Short) => "",
        Some(Standing::Starved) => " class=\"bad\"",
    };
    cell_of(page, class, &human::ratio(share));
}

/// The worst user, red where he is starved, and how many are.
fn worst_cells(page: &mut String, group: &Group) {
    let Some((share, starved)) = worst(group) else {
        return [human::NONE; 2].iter().for_each(|none| cell(page, none));
    };
    let bad = |yes: bool| if yes && !offends(group) { " class=\"bad\"" } else { "" };
    cell_of(page, bad(share.mean() < STARVED), &human::ratio(Some(share)));
    cell_of(page, bad(starved.mean() > 0.0), &human::few(starved.mean()));
}

fn cell_of(page: &mut String, class: &str, figure: &str) {
    let _ = match figure.split_once(" ± ") {
        Some((mean, half)) => {
            write!(page, "<td{class}>{mean} <small>± {}</small></td>", escape(half))
        }
        None => write!(page, "<td{class}>{}</td>", escape(figure)),
    };
}
