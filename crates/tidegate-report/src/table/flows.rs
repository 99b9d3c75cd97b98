//! The table of single flows.
use comfy_table::Cell;

use super::look::fit;
use super::{Intervals, Look, align, delays, header, new, text};
use crate::{Counts, Document, Flow, detail, human};

/// The flows that offered or got most, at most `most` of them. Ends with a line feed.
pub fn flows(document: &Document, flows: &[Flow], most: usize, look: &Look) -> String {
    let (order, counted) = detail::greatest(flows);
    let mut table = new(look);
    let head: &[&str] = if counted {
        &[
            "flow",
            "group",
            "offered",
            "delivered",
            "dropped",
            "marked",
            "loss",
            "throughput",
            "delay p50",
            "p99",
        ]
    } else {
        &["flow", "group", "throughput", "goodput", "loss", "marked", "delay p50", "p99"]
    };
    header(&mut table, head);
    for flow in order.iter().take(most) {
        table.add_row(if counted { counted_flow(flow) } else { flow_row(flow) });
    }
    align(&mut table, 2);
    let more = order.len().saturating_sub(most);
    let note = match more {
        0 => String::new(),
        1 => "and 1 more flow; --json lists more of them\n".into(),
        _ => format!("and {} more flows; --json lists more of them\n", human::count(more as u64)),
    };
    format!("{}\n{}\n{note}", human::plain(document.title()), fit(table, look, None))
}

fn flow_row(flow: &Flow) -> Vec<Cell> {
    vec![
        text(&flow.label),
        text(flow.group.as_deref().unwrap_or(human::NONE)),
        Cell::new(human::rate(flow.throughput_bps)),
        Cell::new(human::rate(flow.goodput_bps)),
        Cell::new(human::ratio(flow.loss_ratio)),
        Cell::new(human::ratio(flow.mark_ratio)),
        Cell::new(human::millis(flow.delay_ms.p50)),
        Cell::new(human::millis(flow.delay_ms.p99)),
    ]
}

fn counted_flow(flow: &Flow) -> Vec<Cell> {
    let Counts { offered, delivered, dropped, marked } = flow.packets.unwrap_or_default();
    let mut row = vec![text(&flow.label), text(flow.group.as_deref().unwrap_or(human::NONE))];
    row.extend([offered, delivered, dropped, marked].map(|n| Cell::new(human::count(n))));
    row.push(Cell::new(human::ratio(flow.loss_ratio)));
    row.push(Cell::new(human::rate_mean(flow.throughput_bps)));
    row.extend(delays(&flow.delay_ms, Intervals::Hidden));
    row
}
