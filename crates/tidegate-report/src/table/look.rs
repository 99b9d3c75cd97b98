//! What a table is made for: how wide it may be, and what of it is shown where it is wider.
use std::io::IsTerminal;

use comfy_table::{Cell, ColumnConstraint, Table};

/// Columns of a pipe or a file, where nobody says how wide it is shown.
const PAGE: u16 = 140;
/// Blanks around a cell.
const PADDING: usize = 2;

/// Whether colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// None at all.
    Plain,
    /// The terminal's own sixteen.
    Ansi,
}

/// What the table is made for.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Columns of the terminal; `None`: as wide as need be.
    pub width: Option<u16>,
    /// Whether what is wider is left out or broken, as at a terminal's edge; a file's lines may be
    /// longer than its page.
    pub edge: bool,
    /// Colours.
    pub colour: Colour,
}

impl Look {
    /// As wide as need be, no colours: for files and pipes.
    pub fn plain() -> Look {
        Look { width: None, edge: false, colour: Colour::Plain }
    }

    /// For the process's standard output: its width and colours if it is a terminal and `NO_COLOR`
    /// is unset or empty, else plain, laid out for a page of a log.
    pub fn stdout() -> Look {
        if !std::io::stdout().is_terminal() {
            return Look { width: Some(PAGE), ..Look::plain() };
        }
        let asked_for_none = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let colour = if asked_for_none { Colour::Plain } else { Colour::Ansi };
        Look { width: Table::new().width(), edge: true, colour }
    }

    /// Columns that must do.
    pub fn room(&self) -> usize {
        self.width.filter(|_| self.edge).map_or(usize::MAX, usize::from)
    }
}

/// The widest line in columns. Cells hold no wide characters but those of labels.
pub(super) fn widest(table: &Table) -> usize {
    table.column_max_content_widths().iter().map(|w| usize::from(*w) + PADDING).sum()
}

/// The table as text, columns from the right left out where the terminal is too narrow for them;
/// the first stays, and no cell is broken. Below it, what was left out, and `also`.
pub(super) fn fit(mut table: Table, look: &Look, also: Option<&str>) -> String {
    let heads: Vec<String> =
        table.header().map_or(vec![], |row| row.cell_iter().map(Cell::content).collect());
    let shown = columns_that_fit(&table.column_max_content_widths(), look.room());
    for column in table.column_iter_mut().skip(shown) {
        column.set_constraint(ColumnConstraint::Hidden);
    }
    let left: Vec<&str> =
        also.into_iter().chain(heads.iter().skip(shown).map(String::as_str)).collect();
    let note = if left.is_empty() { String::new() } else { wrapped(&left_out(&left), look) };
    format!("{}\n{note}", table.trim_fmt()).trim_end().into()
}

/// How many columns of these widths have room, from the left; one at least.
pub fn columns_that_fit(widths: &[u16], room: usize) -> usize {
    let ends = widths.iter().scan(0, |end, width| {
        *end += usize::from(*width) + PADDING;
        Some(*end)
    });
    ends.take_while(|end| *end <= room).count().max(1)
}

/// What is said below a table without columns of these names.
pub fn left_out(columns: &[&str]) -> String {
    format!("More columns would show: {}.", columns.join(", "))
}

/// `text` in lines no wider than the terminal, each ending in a line feed; a word that is wider has
/// a line of its own.
pub(super) fn wrapped(text: &str, look: &Look) -> String {
    let room = look.room();
    let mut out = String::new();
    for line in text.lines() {
        let mut column = 0;
        for word in line.split(' ') {
            let width = word.chars().count();
            if column > 0 {
                let (gap, begins) =
                    if column + 1 + width > room { ('\n', 0) } else { (' ', column + 1) };
                out.push(gap);
                column = begins;
            }
            out += word;
            column += width;
        }
        out.push('\n');
    }
    out
}
