//! The view: a frame of a terminal of any size, from what is known of a gate and nothing else.
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, RenderDirection, Row, Sparkline, Table};
use tidegate_gateway::watch::rates::{FrameRate, Rates};
use tidegate_gateway::watch::snapshot::{Direction, QueueSnapshot};
use tidegate_report::human;

use super::model::{Model, PastRates};

use super::words;

/// From so many columns on, both directions stand side by side.
const WIDE: u16 = 150;
/// From so many columns on, flows are shown in all columns.
const ROOMY: u16 = 76;
/// The least that a section needs: a frame and a line.
const LEAST: u16 = 3;
/// Lines for the worst senders, with frame and head, before other sections get any.
const WORST: u16 = 5;
/// As high as the picture of the past becomes, with its title.
const PICTURE: u16 = 9;
/// Columns of what a line is called; of the figures before a bar; of the shortest bar.
const NAMES: usize = 8;
const FIGURES: usize = 34;
const BAR: usize = 8;
/// Lines that gauges may take.
const GAUGES: usize = 3;

/// What keys do, in as many words as there is room for.
const KEYS: [&str; 2] = ["Tab: next link, q: quit", "q: quit"];

/// Draws `model`.
pub fn draw(frame: &mut Frame, model: &Model) {
    let head = head(model, frame.area().width);
    let [top, body] = Layout::vertical([Constraint::Length(head.len() as u16), Constraint::Min(0)])
        .areas(frame.area());
    frame.render_widget(Paragraph::new(head), top);
    let Some(link) = model.link() else { return };
    let now = model.last.as_ref().map_or(0.0, |last| last.time_s);
    let of = |side: usize, direction| WayView {
        direction,
        rates: model.rates().map(|rates| &rates[side]),
        past: model.past().map(|past| &past[side]),
        now,
        running: link.running,
    };
    let (there, back) = (of(0, &link.managed), of(1, &link.reverse));
    if body.width >= WIDE {
        let [left, right] = Layout::horizontal([Constraint::Fill(1); 2]).areas(body);
        column(frame, left, there.sections(left.width));
        column(frame, right, back.sections(right.width));
    } else {
        column(frame, body, [there.sections(body.width), back.sections(body.width)].concat());
    }
}

/// The gate, its links, and what is wrong.
fn head(model: &Model, width: u16) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    if let Some(last) = &model.last {
        let told = words::process(last);
        let free = usize::from(width).saturating_sub(told.chars().count());
        let keys = KEYS
            .iter()
            .find(|keys| keys.len() + 1 < free)
            .map(|keys| format!("{keys:>free$}"))
            .unwrap_or_default();
        lines.push(Line::from(vec![told.bold(), keys.dim()]));
        if last.links.len() > 1 {
            let tabs = last.links.iter().enumerate().flat_map(|(at, link)| {
                let ended = if link.running { "" } else { " (ended)" };
                let name = Span::from(format!(" {}{ended} ", human::plain(&link.name)));
                [if at == model.chosen() { name.reversed() } else { name }, Span::from(" ")]
            });
            lines.push(tabs.collect());
        }
        if let Some(why) = &last.reloads.last_error {
            let first = why.lines().next().unwrap_or_default();
            lines.push(
                Line::from(format!("the file was not heeded: {}", human::plain(first))).yellow(),
            );
        }
    }
    if let Some(why) = &model.gone {
        let still = if model.last.is_some() { "; below is what was heard last" } else { "" };
        for (why, more) in why.lines().zip([still].into_iter().chain(std::iter::repeat(""))) {
            lines.push(Line::from(format!("{}{more}", human::plain(why))).red());
        }
    }
    lines
}

/// A direction, and all there is to tell of it.
struct WayView<'a> {
    direction: &'a Direction,
    rates: Option<&'a Rates>,
    past: Option<&'a PastRates>,
    now: f64,
    running: bool,
}

/// A framed part of a column.
#[derive(Clone)]
struct ViewSection<'a> {
    title: String,
    body: SectionBody<'a>,
    /// Lines that it takes, with its frame.
    want: u16,
}

#[derive(Clone)]
enum SectionBody<'a> {
    /// What happens, and if there is room for it, what was received in the past.
    Figures(Vec<Line<'a>>, Option<&'a PastRates>),
    /// Who sends most.
    Flows(Box<Table<'a>>),
}

impl<'a> WayView<'a> {
    /// What happens, and who sends most; the more important first.
    fn sections(&self, width: u16) -> Vec<ViewSection<'a>> {
        let lines = self.figures(width.saturating_sub(2).into());
        let ended = if self.running { "" } else { " (ended)" };
        let want = lines.len() as u16 + 2;
        let title = format!("{}{ended}", words::way(self.direction));
        let mut sections =
            vec![ViewSection { title, body: SectionBody::Figures(lines, self.past), want }];
        if let Some(queue) = &self.direction.queue {
            let (table, rows) = self.flows(queue, width);
            let title = words::congestion(&queue.flows);
            sections.push(ViewSection {
                title,
                body: SectionBody::Flows(Box::new(table)),
                want: rows + 3,
            });
        }
        sections
    }

    fn figures(&self, width: usize) -> Vec<Line<'a>> {
        let rate = self.direction.queue.as_ref().map(|queue| queue.rate_bps as f64);
        let moved = |name, of: Option<FrameRate>| {
            let part = of.zip(rate).map(|(of, rate)| of.bps / rate);
            let percent = part.map(|part| format!(" {}", words::share(part))).unwrap_or_default();
            // Above the rate there is a flood; below it all is well.
            let colour =
                if part.is_some_and(|part| part > 1.05) { Color::Red } else { Color::Green };
            with_bar(name, words::rate(of) + &percent, part.map(|part| (part, colour)), width)
        };
        let mut lines = vec![
            moved("in", self.rates.map(|rates| rates.received)),
            moved("out", self.rates.map(|rates| rates.sent)),
        ];
        let by = |total: String, by: &[(String, f64)]| {
            [total, words::reasons(by)].join("  ").trim_end().to_string()
        };
        let lost = self.rates.map_or(words::UNKNOWN.into(), |rates| {
            by(words::rate(Some(rates.lost)), &rates.lost_by)
        });
        lines.push(named("lost", lost));
        if self.direction.marked.values().any(|&frames| frames > 0) {
            let told = |rates: &Rates| by(words::per_second(rates.marked), &rates.marked_by);
            lines.push(named("marked", self.rates.map_or(words::UNKNOWN.into(), told)));
        }
        if let Some(missed) = self.rates.map(|rates| rates.missed).filter(|&missed| missed > 0.0) {
            lines.push(
                named("missed", format!("{} by the kernel", words::per_second(missed))).yellow(),
            );
        }
        if let Some(queue) = &self.direction.queue {
            lines.extend(self.queue(queue, width));
        }
        lines
    }

    fn queue(&self, queue: &QueueSnapshot, width: usize) -> Vec<Line<'a>> {
        let filled = words::filled(queue);
        let colour = match filled {
            part if part > 0.9 => Color::Red,
            part if part > 0.5 => Color::Yellow,
            _ => Color::Green,
        };
        let mut lines = vec![
            named("delay", words::delay(queue.delay.as_ref())),
            with_bar("backlog", words::backlog(queue), Some((filled, colour)), width),
        ];
        let gauges: Vec<String> = queue.gauges.iter().map(words::gauge).collect();
        let mut names = std::iter::once("gauges").chain(std::iter::repeat(""));
        let broken = fill(&gauges, width.saturating_sub(NAMES + 1)).into_iter().take(GAUGES);
        lines.extend(broken.zip(&mut names).map(|(line, name)| named(name, line)));
        for (at, class) in queue.classes.iter().enumerate() {
            let rates = self.rates.and_then(|rates| *rates.classes.get(at)?);
            let [left, lost] = [0, 1].map(|what| rates.map(|rates| rates[what]));
            let waiting = human::count(class.waiting.frames);
            let told =
                format!("{} out, {} lost, {waiting} waiting", words::rate(left), words::rate(lost));
            lines.push(named(
                if at == 0 { "classes" } else { "" },
                format!("{}: {told}", words::class(class)),
            ));
        }
        lines
    }

    /// A table of who sends most, and how many rows it has.
    fn flows(&self, queue: &QueueSnapshot, width: u16) -> (Table<'a>, u16) {
        let columns = if width < ROOMY { 3 } else { words::FLOW.len() };
        let senders = words::senders(&queue.flows);
        let told: Vec<[String; 6]> =
            senders.iter().map(|flow| words::flow(flow, self.now)).collect();
        let widest = |at: usize| {
            let cells = told.iter().map(|cells| cells[at].as_str()).chain([words::FLOW[at]]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        // Who it is gets what the figures leave; a blank is between two columns, and the frame
        // takes two.
        let figures: Vec<usize> = (1..columns).map(widest).collect();
        let who = usize::from(width)
            .saturating_sub(2 + figures.iter().map(|figure| figure + 1).sum::<usize>());
        let mut rows: Vec<Row> = Vec::new();
        for (flow, cells) in senders.iter().zip(&told) {
            let cells = [cut(&cells[0], who)].into_iter().chain(cells[1..columns].iter().cloned());
            let row = Row::new(cells);
            rows.push(if flow.offender_since_s.is_some() { row.red() } else { row });
        }
        if rows.is_empty() {
            rows.push(Row::new(["nobody yet"]).dim());
        }
        let count = rows.len() as u16;
        let widths =
            [who].into_iter().chain(figures).map(|columns| Constraint::Length(columns as u16));
        let table =
            Table::new(rows, widths).header(Row::new(words::FLOW.into_iter().take(columns)).bold());
        (table, count)
    }
}

/// Draws as many of `sections` as there is room for, the first first; what is left over is for a
/// picture of the past.
fn column(frame: &mut Frame, area: Rect, sections: Vec<ViewSection>) {
    let mut left = area.height;
    let mut heights = vec![0; sections.len()];
    // What happens comes before all who make it happen, but not before the worst of them.
    for flows in [WORST, u16::MAX] {
        for (section, height) in sections.iter().zip(&mut heights) {
            let most = if matches!(section.body, SectionBody::Flows(_)) { flows } else { u16::MAX };
            let grown = section.want.min(most).min(*height + left);
            if grown >= LEAST {
                left -= grown - *height;
                *height = grown;
            }
        }
    }
    if let Some(first) = heights.first_mut()
        && left >= LEAST
    {
        *first += left.min(PICTURE);
    }
    let areas = Layout::vertical(heights.into_iter().map(Constraint::Length)).split(area);
    for (section, &area) in sections.into_iter().zip(areas.iter()) {
        let block = Block::bordered()
            .title(format!(" {} ", section.title))
            .border_style(Style::new().dim());
        let inner = block.inner(area);
        frame.render_widget(block, area);
        match section.body {
            SectionBody::Flows(table) => frame.render_widget(*table, inner),
            SectionBody::Figures(lines, past) => {
                let told = lines.len() as u16;
                let [figures, picture] =
                    Layout::vertical([Constraint::Length(told), Constraint::Min(0)]).areas(inner);
                frame.render_widget(Paragraph::new(lines), figures);
                if let Some(past) = past {
                    draw_past(frame, picture, past);
                }
            }
        }
    }
}

/// Draws what was received, the last second at the right.
fn draw_past(frame: &mut Frame, area: Rect, past: &PastRates) {
    if area.height < 2 {
        return;
    }
    let [title, picture] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let shown: Vec<u64> =
        past.iter().rev().take(area.width.into()).map(|[received, _]| *received).collect();
    let most = shown.iter().copied().max().unwrap_or(0);
    let told = format!(
        "received in the last {}, at most {}",
        words::since(shown.len() as f64),
        words::bits(most as f64)
    );
    frame.render_widget(Line::from(told).dim(), title);
    let spark =
        Sparkline::default().data(shown).max(most.max(1)).direction(RenderDirection::RightToLeft);
    frame.render_widget(spark.cyan(), picture);
}

/// `text`, or as much of it as `width` columns take, with a sign that there is more.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() > width {
        text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
    } else {
        text.into()
    }
}

/// A line: what it is called, and `text`.
fn named<'a>(name: &str, text: String) -> Line<'a> {
    Line::from(vec![format!("{name:NAMES$} ").bold(), text.into()])
}

/// The same, with a bar of such a part of its length, if there is room for it.
fn with_bar<'a>(name: &str, text: String, part: Option<(f64, Color)>, width: usize) -> Line<'a> {
    let room = width.saturating_sub(NAMES + 1 + FIGURES + 1);
    match part {
        Some((part, colour)) if room >= BAR && text.chars().count() <= FIGURES => {
            let full = (part.clamp(0.0, 1.0) * room as f64).round() as usize;
            let mut line = named(name, format!("{text:FIGURES$} "));
            line.push_span(Span::from("█".repeat(full)).fg(colour));
            line.push_span(Span::from("·".repeat(room - full)).dim());
            line
        }
        _ => named(name, text),
    }
}

/// `texts` in lines of at most `width` columns, with commas between them.
fn fill(texts: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for text in texts {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 2 + text.chars().count() <= width => {
                line.push_str(", ");
                line.push_str(text);
            }
            _ => lines.push(text.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests;
