//! Tables for a terminal: the answer in a sentence, then the figures.
//!
//! ```
//! use tidegate_report::{Document, Figure, Group, table};
//! let throughput_bps = Figure::exact(9e6);
//! let group = Group { name: "tcp".into(), throughput_bps, ..Group::default() };
//! let document = Document { label: "red".into(), groups: vec![group], ..Document::default() };
//! let text = table::results(&[&document], &table::Look::plain());
//! assert!(text.starts_with("red: tcp gets 9.00 Mbit/s\n"));
//! ```
mod diff;
mod flows;
mod look;
mod notes;

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Row, Table};
use comfy_table::{ContentLineStyle, LineStyle, TableStyle};

pub use diff::{Shown, diff};
pub use flows::flows;
pub use look::{Colour, Look, columns_that_fit, left_out};
use look::{fit, widest, wrapped};
use notes::notes;

use crate::answer::{Standing, clauses, offends, share, worst};
use crate::detail::{self, Detail};
use crate::html::escape;
use crate::{Delay, Document, Figure, Group, human};

/// A rule under the header and nothing else.
pub const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none())
    .header_separator(LineStyle::none().fill('─'))
    .content_lines(ContentLineStyle::none());

/// Whether a table has room for intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intervals {
    Shown,
    Hidden,
}

impl Intervals {
    fn rate(self, figure: Option<Figure>) -> Cell {
        Cell::new(human::rate(self.of(figure)))
    }

    fn ratio(self, figure: Option<Figure>) -> Cell {
        Cell::new(human::ratio(self.of(figure)))
    }

    fn millis(self, figure: Option<Figure>) -> Cell {
        Cell::new(human::millis(self.of(figure)))
    }

    /// A loss, which may be of rare events.
    fn loss(self, group: &Group) -> Cell {
        Cell::new(human::loss(
            self.of(group.loss_ratio),
            group.packets,
            group.loss_ratio.and_then(|f| f.ci95()),
        ))
    }

    /// The worst user and how many are starved.
    fn worst(self, group: &Group) -> [Cell; 2] {
        let Some((share, starved)) = worst(group) else { return [human::NONE; 2].map(Cell::new) };
        [human::ratio(self.of(Some(share))), human::few(starved.mean())].map(Cell::new)
    }

    /// A figure that has been written.
    fn text(self, figure: &str) -> &str {
        let bare = figure.split(" ± ").next().unwrap_or(figure);
        if self == Intervals::Shown { figure } else { bare }
    }

    fn of(self, figure: Option<Figure>) -> Option<Figure> {
        if self == Intervals::Shown { figure } else { human::bare(figure) }
    }
}

/// One result or several: the answer, then a table. Ends with a line feed.
pub fn results(documents: &[&Document], look: &Look) -> String {
    let (table, intervals) = match documents {
        [one] => {
            use Intervals::{Hidden, Shown};
            let layouts = [(Columns::All, Shown), (Columns::Few, Shown), (Columns::Few, Hidden)];
            choose(look, &layouts, |columns, with| group_table(one, look, columns, with))
        }
        many => comparison(many, look),
    };
    // One clause a line.
    let clauses: Vec<String> =
        clauses(documents).iter().map(|c| format!("{}: {}", c.title, c.text)).collect();
    let answer = wrapped(&clauses.join(";\n"), look);
    let more = if let [one] = documents { details(one, look) } else { String::new() };
    format!("{answer}\n{table}\n\n{more}{}", wrapped(&notes(documents, intervals), look))
}

/// The same figures as a table of HTML, for notebooks.
pub fn html(documents: &[&Document]) -> String {
    let look = Look::plain();
    let table = match documents {
        [one] => group_table(one, &look, Columns::All, Intervals::Shown),
        many => long(many, &look, Intervals::Shown),
    };
    let row = |row: &Row, tag: &str| {
        let cell = |cell: &Cell| format!("<{tag}>{}</{tag}>", escape(&cell.content()));
        format!("<tr>{}</tr>\n", row.cell_iter().map(cell).collect::<String>())
    };
    let head = table.header().map_or(String::new(), |head| row(head, "th"));
    let body: String = table.row_iter().map(|cells| row(cells, "td")).collect();
    format!("<table>\n<thead>{head}</thead>\n<tbody>{body}</tbody>\n</table>\n")
}

/// The figures behind the first table, of one result.
fn details(document: &Document, look: &Look) -> String {
    let made = |detail: &Detail, first: &str, with: Intervals| {
        let mut table = new(look);
        let mut head = vec![first];
        head.extend(&detail.heads);
        header(&mut table, &head);
        for ([_, name], cells) in &detail.rows {
            let name = if name.is_empty() { document.title() } else { name };
            let mut row = vec![text(name).add_attribute(Attribute::Bold)];
            row.extend(cells.iter().map(|cell| Cell::new(with.text(cell))));
            table.add_row(row);
        }
        align(&mut table, 1);
        table
    };
    let of = |detail: Detail, first: &str| {
        if detail.heads.is_empty() {
            return String::new();
        }
        let whole = made(&detail, first, Intervals::Shown);
        let told = if widest(&whole) <= look.room() {
            fit(whole, look, None)
        } else {
            fit(made(&detail, first, Intervals::Hidden), look, Some("the 95 % intervals"))
        };
        told + "\n\n"
    };
    of(detail::groups(&[document]), "group") + &of(detail::queues(&[document]), "queue")
}

/// One row per queue if the terminal is wide enough, else one per queue and group; intervals where
/// they fit.
fn comparison(documents: &[&Document], look: &Look) -> (String, Intervals) {
    use Intervals::{Hidden, Shown};
    let layouts = [
        (Columns::All, Shown),
        (Columns::Few, Shown),
        (Columns::All, Hidden),
        (Columns::Few, Hidden),
    ];
    choose(look, &layouts, |columns, with| match columns {
        Columns::All => wide(documents, look, with),
        Columns::Few => long(documents, look, with),
    })
}

/// The first layout that the terminal is wide enough for, else the last.
fn choose<L: Copy>(
    look: &Look,
    layouts: &[(L, Intervals)],
    make: impl Fn(L, Intervals) -> Table,
) -> (String, Intervals) {
    let room = look.width.map_or(usize::MAX, usize::from);
    let mut last = (String::new(), Intervals::Shown);
    for &(layout, intervals) in layouts {
        let table = make(layout, intervals);
        let fits = widest(&table) <= room;
        last = (fit(table, look, None), intervals);
        if fits {
            break;
        }
    }
    last
}

fn wide(documents: &[&Document], look: &Look, with: Intervals) -> Table {
    let several = |name: &&str| {
        documents.iter().flat_map(|d| &d.groups).any(|g| g.name == **name && worst(g).is_some())
    };
    let names: Vec<(&str, bool)> =
        group_names(documents).into_iter().map(|name| (name, several(&name))).collect();
    let mut table = new(look);
    let mut head = vec!["queue".to_string()];
    for (name, worst) in &names {
        head.push(format!("{name}: of fair share"));
        head.extend(WORST.iter().filter(|_| *worst).map(|head| head.to_string()));
        head.extend(["throughput", "loss"].map(String::from));
    }
    head.extend(["Jain", "utilization", "delay p50", "p99"].map(String::from));
    header(&mut table, &head);
    for document in documents {
        let mut row = vec![text(document.title()).add_attribute(Attribute::Bold)];
        for (name, worst) in &names {
            let Some(group) = document.groups.iter().find(|g| g.name == *name) else {
                row.extend([human::NONE; 5].map(Cell::new).into_iter().skip(if *worst {
                    0
                } else {
                    2
                }));
                continue;
            };
            row.push(share_cell(group, with));
            row.extend(with.worst(group).into_iter().filter(|_| *worst));
            row.extend([with.rate(group.throughput_bps), with.loss(group)]);
        }
        row.extend(aggregate(document, with));
        table.add_row(row);
    }
    align(&mut table, 1);
    table
}

fn long(documents: &[&Document], look: &Look, with: Intervals) -> Table {
    let mut table = new(look);
    header(
        &mut table,
        &[
            "queue",
            "group",
            "of share",
            "worst",
            "starved",
            "throughput",
            "loss",
            "Jain",
            "delay p50",
            "p99",
        ],
    );
    for document in documents {
        let [jain, _, p50, p99] = aggregate(document, with);
        let mut all = [Some(jain), Some(p50), Some(p99)];
        let mut name = document.title();
        for group in &document.groups {
            let mut row = vec![
                text(std::mem::take(&mut name)).add_attribute(Attribute::Bold),
                text(&group.name),
                share_cell(group, with),
            ];
            row.extend(with.worst(group));
            row.extend([with.rate(group.throughput_bps), with.loss(group)]);
            row.extend(all.each_mut().map(|cell| cell.take().unwrap_or_else(|| Cell::new(""))));
            table.add_row(row);
        }
    }
    align(&mut table, 2);
    table
}

/// What heads the columns of those who fared worst.
const WORST: [&str; 2] = ["worst user", "starved"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    All,
    Few,
}

fn group_table(document: &Document, look: &Look, columns: Columns, with: Intervals) -> Table {
    let mut table = new(look);
    let several = document.groups.iter().any(|g| worst(g).is_some());
    let mut head = vec!["group", document.members(), "of fair share"];
    head.extend(WORST.iter().filter(|_| several));
    head.extend(["throughput", "loss"]);
    if columns == Columns::All {
        head.extend([
            "fair share",
            "goodput",
            "marked",
            "per flow: min",
            "max",
            "delay p50",
            "p99",
        ]);
    }
    header(&mut table, &head);
    for group in &document.groups {
        let mut row = vec![
            text(&group.name).add_attribute(Attribute::Bold),
            Cell::new(human::count(group.count)),
            share_cell(group, with),
        ];
        row.extend(with.worst(group).into_iter().filter(|_| several));
        row.extend([with.rate(group.throughput_bps), with.loss(group)]);
        if columns == Columns::All {
            row.extend([
                Cell::new(human::rate_mean(group.fair_share_bps)),
                with.rate(group.goodput_bps),
                with.ratio(group.mark_ratio),
                Cell::new(human::rate_mean(group.per_flow.min)),
                Cell::new(human::rate_mean(group.per_flow.max)),
            ]);
            row.extend(delays(&group.delay_ms, with));
        }
        table.add_row(row);
    }
    align(&mut table, 1);
    table
}

fn aggregate_text(document: &Document, with: Intervals) -> [String; 4] {
    let all = &document.aggregate;
    [
        human::number(with.of(all.jain)),
        human::ratio(with.of(all.utilization)),
        human::millis(with.of(all.queue_delay_ms.p50)),
        human::millis(with.of(all.queue_delay_ms.p99)),
    ]
}

fn aggregate(document: &Document, with: Intervals) -> [Cell; 4] {
    aggregate_text(document, with).map(Cell::new)
}

fn delays(delay: &Delay, with: Intervals) -> [Cell; 2] {
    [delay.p50, delay.p99].map(|d| with.millis(d))
}

/// The group's share with its colour: red for the starved and for the greedy, green for who gets
/// what is fair.
fn share_cell(group: &Group, with: Intervals) -> Cell {
    let Some(share) = share(group) else { return Cell::new(human::NONE) };
    let colour = match Standing::of(share.mean()) {
        Standing::Greedy => Color::Red,
        Standing::Fair => Color::Green,
        _ if offends(group) => Color::Green,
        Standing::Short => Color::Yellow,
        Standing::Starved => Color::Red,
    };
    with.ratio(Some(share)).fg(colour).add_attribute(Attribute::Bold)
}

fn group_names<'a>(documents: &[&'a Document]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for group in documents.iter().flat_map(|d| &d.groups) {
        if !names.contains(&group.name.as_str()) {
            names.push(&group.name);
        }
    }
    names
}

fn new(look: &Look) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Disabled);
    table.force_no_tty();
    if look.colour == Colour::Ansi {
        table.enforce_styling();
    }
    table
}

fn header<T: AsRef<str>>(table: &mut Table, head: &[T]) {
    table.set_header(Row::from(head.iter().map(|t| text(t.as_ref()))));
}

fn text(text: &str) -> Cell {
    Cell::new(human::plain(text))
}

/// Numbers stand on the right; the first `left` columns are names.
fn align(table: &mut Table, left: usize) {
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}
