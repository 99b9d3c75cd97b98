//! Manual pages: the Markdown that ours are written in, laid out for a terminal.
//!
//! ```
//! use tidegate_report::page::{Block, Page};
//! use tidegate_report::table::Look;
//! let mut page = Page::default();
//! page.extend(Page::parse("# red\n\nSignals *early*."));
//! assert_eq!(page.render(&Look::plain()), "red\n\nSignals early.\n");
//! ```
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width};

use crate::table::{Colour, Look, STYLE, columns_that_fit, left_out};

/// A piece of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// The page's name and what it is.
    Title(String),
    /// A heading.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// An item of a list.
    Item(String),
    /// Rows of cells, the first the head.
    Table(Vec<Vec<String>>),
    /// Lines to be left as they are.
    Code(String),
    /// Where a queue's page has the table that is made from its parameters.
    Generated,
}

/// A page being put together.
#[derive(Clone, Debug, Default)]
pub struct Page(Vec<Block>);

/// Columns of text where the terminal does not say, and at most.
const WIDTH: usize = 100;

impl Page {
    /// Adds `block` at the end.
    pub fn add(&mut self, block: Block) {
        self.0.push(block);
    }

    /// Adds `blocks` at the end.
    pub fn extend(&mut self, blocks: Vec<Block>) {
        self.0.extend(blocks);
    }

    /// The blocks of `markdown`.
    pub fn parse(markdown: &str) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut lines = markdown.lines().peekable();
        while let Some(line) = lines.next() {
            if line.starts_with("```") {
                let code: Vec<&str> =
                    lines.by_ref().take_while(|l| !l.starts_with("```")).collect();
                let shown: Vec<&str> = code.into_iter().filter(|l| !l.starts_with("# ")).collect();
                blocks.push(Block::Code(shown.join("\n")));
            } else if line.starts_with("<!-- parameters") {
                lines.by_ref().take_while(|l| !l.starts_with("<!-- end")).for_each(drop);
                blocks.push(Block::Generated);
            } else if let Some(heading) = line.strip_prefix('#') {
                blocks.push(Block::Heading(heading.trim_start_matches('#').trim().into()));
            } else if is_row(line) {
                let mut rows = vec![cells(line)];
                while let Some(row) = lines.next_if(|l| is_row(l)) {
                    rows.push(cells(row));
                }
                rows.retain(|row| {
                    row.iter().any(|cell| cell.chars().any(|c| c != '-' && c != ':'))
                });
                blocks.push(Block::Table(rows));
            } else if !line.trim().is_empty() {
                let mut text = line.trim().to_string();
                while let Some(more) = lines.next_if(|l| continues(l)) {
                    text += &format!(" {}", more.trim());
                }
                blocks.push(match text.strip_prefix("- ").or_else(|| text.strip_prefix("* ")) {
                    Some(item) => Block::Item(item.into()),
                    None => Block::Text(text),
                });
            }
        }
        blocks
    }

    /// The page as text for `look`: at most a hundred columns of prose, tables as wide as it is.
    pub fn render(&self, look: &Look) -> String {
        let width = look.width.map_or(WIDTH, usize::from);
        let table_width = look.width.filter(|_| look.edge).map(|width| width.max(40));
        let pen = Pen { text_width: width.min(WIDTH), table_width, colour: look.colour };
        let mut page = String::new();
        let mut last: Option<&Block> = None;
        for block in &self.0 {
            let listed = matches!((last, block), (Some(Block::Item(_)), Block::Item(_)));
            if last.is_some() && !listed {
                page.push('\n');
            }
            page += &pen.block(block);
            last = Some(block);
        }
        page
    }
}

/// Whether `line` goes on with the paragraph or item before it.
fn continues(line: &str) -> bool {
    let numbered = line
        .split_once(". ")
        .is_some_and(|(n, _)| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()));
    let begins = ["- ", "* ", "#", "```", "<!--"].iter().any(|mark| line.starts_with(mark));
    !line.trim().is_empty() && !begins && !numbered && !is_row(line)
}

/// Whether `line` is a table's, which may stand in a list.
fn is_row(line: &str) -> bool {
    line.trim_start().starts_with('|')
}

fn cells(row: &str) -> Vec<String> {
    row.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect()
}

/// How a page is written.
struct Pen {
    text_width: usize,
    /// Columns of the terminal; `None`: as wide as need be.
    table_width: Option<u16>,
    colour: Colour,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Bold,
    Emphasis,
    Code,
}

impl Pen {
    fn block(&self, block: &Block) -> String {
        match block {
            Block::Title(text) => self.styled(&format!("{text}\n"), Style::Bold),
            Block::Heading(text) => self.styled(&format!("{text}\n"), Style::Bold),
            Block::Text(text) => self.wrap(text, "", ""),
            Block::Item(text) => self.wrap(text, "  - ", "    "),
            Block::Code(text) => text.lines().map(|l| format!("    {l}\n")).collect(),
            Block::Table(rows) => self.table(rows),
            Block::Generated => String::new(),
        }
    }

    fn styled(&self, text: &str, style: Style) -> String {
        let code = match (self.colour, style) {
            (Colour::Plain, _) | (_, Style::Plain) => return text.into(),
            (_, Style::Bold) => "1",
            (_, Style::Emphasis) => "3",
            (_, Style::Code) => "36",
        };
        let (text, end) = text.strip_suffix('\n').map_or((text, ""), |text| (text, "\n"));
        format!("\x1b[{code}m{text}\x1b[0m{end}")
    }

    /// Lines of at most the width, the first behind `first`, the others behind `rest`.
    fn wrap(&self, text: &str, first: &str, rest: &str) -> String {
        let mut out = String::from(first);
        let mut column = first.chars().count();
        let mut fresh = true;
        for word in words(text) {
            let width: usize = word.iter().map(|(part, _)| part.chars().count()).sum();
            if !fresh && column + 1 + width > self.text_width {
                out += &format!("\n{rest}");
                column = rest.chars().count();
            } else if !fresh {
                out.push(' ');
                column += 1;
            }
            word.iter().for_each(|(part, style)| out += &self.styled(part, *style));
            column += width;
            fresh = false;
        }
        out.push('\n');
        out
    }

    /// The first column has its width, and no word of the others is broken: where there is no room
    /// for that, columns are left out from the right.
    fn table(&self, rows: &[Vec<String>]) -> String {
        let mut table = Table::new();
        table
            .load_style(STYLE)
            .force_no_tty()
            .set_content_arrangement(ContentArrangement::Disabled);
        let plain = |row: &Vec<String>| row.iter().map(|cell| unmarked(cell)).collect::<Vec<_>>();
        let Some((head, body)) = rows.split_first() else { return String::new() };
        table.set_header(plain(head));
        table.add_rows(body.iter().map(plain));
        let Some(width) = self.table_width else { return format!("{}\n", table.trim_fmt()) };
        let mut least: Vec<u16> =
            (0..head.len()).map(|column| longest_word(rows, column)).collect();
        if let (Some(first), Some(whole)) =
            (least.first_mut(), table.column_max_content_widths().first())
        {
            *first = *whole;
        }
        let shown = columns_that_fit(&least, width.into());
        for (number, (column, least)) in table.column_iter_mut().zip(&least).enumerate() {
            column.set_constraint(if number < shown {
                // The cell's two blanks are of its width.
                ColumnConstraint::LowerBoundary(Width::Fixed(least + 2))
            } else {
                ColumnConstraint::Hidden
            });
        }
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        let left: Vec<String> = head.iter().skip(shown).map(|cell| unmarked(cell)).collect();
        let left: Vec<&str> = left.iter().map(String::as_str).collect();
        let note =
            if left.is_empty() { String::new() } else { self.wrap(&left_out(&left), "", "") };
        format!("{}\n{note}", table.trim_fmt())
    }
}

/// How long the longest word of a column is.
fn longest_word(rows: &[Vec<String>], column: usize) -> u16 {
    let words = rows.iter().filter_map(|row| row.get(column)).flat_map(|cell| words(cell));
    let width = |word: Vec<(String, Style)>| {
        word.iter().map(|(part, _)| part.chars().count()).sum::<usize>()
    };
    words.map(width).max().unwrap_or(0).try_into().unwrap_or(u16::MAX)
}

/// `text` without its marks.
fn unmarked(text: &str) -> String {
    let words = words(text)
        .into_iter()
        .map(|word| word.into_iter().map(|(part, _)| part).collect::<String>());
    words.collect::<Vec<_>>().join(" ")
}

/// The words of `text`; each may be of several styles. A link becomes its text.
fn words(text: &str) -> Vec<Vec<(String, Style)>> {
    let mut words: Vec<Vec<(String, Style)>> = vec![vec![]];
    let mut style = Style::Plain;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let toggle = |to: Style| if style == to { Style::Plain } else { to };
        let closes = |mark: &str| rest[mark.len()..].contains(mark) || style != Style::Plain;
        if c == '`' && (style == Style::Code || style == Style::Plain) && closes("`") {
            (style, rest) = (toggle(Style::Code), &rest[1..]);
        } else if style != Style::Code && rest.starts_with("**") && closes("**") {
            (style, rest) = (toggle(Style::Bold), &rest[2..]);
        } else if style != Style::Code && emphasis(rest, style) {
            (style, rest) = (toggle(Style::Emphasis), &rest[1..]);
        } else if let Some((label, after)) = link(rest).filter(|_| style != Style::Code) {
            // Its label may have marks of its own, and is read again.
            let inner = self::words(label);
            for (i, word) in inner.into_iter().enumerate() {
                if i > 0 {
                    words.push(vec![]);
                }
                words.last_mut().expect("never empty").extend(word);
            }
            rest = after;
        } else {
            rest = &rest[c.len_utf8()..];
            let word = words.last_mut().expect("never empty");
            match word.last_mut() {
                _ if c.is_whitespace() => words.push(vec![]),
                Some((part, last)) if *last == style => part.push(c),
                _ => word.push((c.into(), style)),
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether `rest` begins with a star that opens or closes emphasis, rather than one that
/// multiplies.
fn emphasis(rest: &str, style: Style) -> bool {
    let Some(after) = rest.strip_prefix('*') else { return false };
    match style {
        Style::Emphasis => true,
        Style::Plain => after.starts_with(|c: char| c.is_alphanumeric()) && after.contains('*'),
        _ => false,
    }
}

/// The label of the link that `rest` begins with, and what follows the link.
fn link(rest: &str) -> Option<(&str, &str)> {
    let (label, after) = rest.strip_prefix('[')?.split_once(']')?;
    if let Some((_, after)) = after.strip_prefix('(').and_then(|a| a.split_once(')')) {
        return Some((label, after));
    }
    // A link to an item of the code has its name in backquotes: [`Sink`].
    (label.starts_with('`') && label.ends_with('`')).then_some((label, after))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PEN: Pen = Pen { text_width: 20, table_width: Some(60), colour: Colour::Plain };

    #[test]
    fn marks_become_styles_and_links_their_text() {
        assert_eq!(
            unmarked("**Paper.** *Blue*: see [`Fifo`] and [the page](x.md), `a*b` 2*3 [0, 1)"),
            "Paper. Blue: see Fifo and the page, a*b 2*3 [0, 1)"
        );
        let pen = Pen { colour: Colour::Ansi, ..PEN };
        assert_eq!(
            pen.wrap("a **b c** `d`", "", ""),
            "a \x1b[1mb\x1b[0m \x1b[1mc\x1b[0m \x1b[36md\x1b[0m\n"
        );
    }

    #[test]
    fn lines_are_no_wider_than_the_page() {
        let text = PEN.wrap(&"word ".repeat(30), "  - ", "    ");
        assert!(text.lines().all(|l| l.chars().count() <= 20 && l.len() > 14), "{text}");
        assert_eq!(text.split_whitespace().filter(|w| *w == "word").count(), 30);
    }

    #[test]
    fn no_word_of_a_table_is_broken() {
        let row = |cells: [&str; 5]| cells.map(String::from).to_vec();
        let rows = [
            row([
                "what it is",
                "incomprehensible",
                "a few short words",
                "uncharacteristically",
                "last",
            ]),
            row(["1 000 000", "1", "2", "3", "4"]),
        ];
        let text = PEN.table(&rows);
        for word in ["what it is", "incomprehensible", "uncharacteristically", "1 000 000", "short"]
        {
            assert!(text.contains(word), "{word}: {text}");
        }
        let narrow = Pen { table_width: Some(40), text_width: 80, ..PEN }.table(&rows);
        assert!(
            narrow.ends_with("More columns would show: uncharacteristically, last.\n"),
            "{narrow}"
        );
        assert!(
            narrow.lines().filter(|l| !l.starts_with("More")).all(|l| l.chars().count() <= 40),
            "{narrow}"
        );
        let file = Pen { table_width: None, ..PEN }.table(&rows);
        assert_eq!(file.lines().count(), 3, "{file}");
    }

    #[test]
    fn blocks_of_a_page() {
        let page = "One\nline.\n\n- item\n  goes on\n- item\n\n  | a | b |\n  |---|:-:|\n  \
                    | 1 | 2 |\n\n\
                    <!-- parameters: x -->\n| gone |\n<!-- end of parameters -->\n```\n\
                    code\n\n# hidden\nmore\n```\n## End";
        let expected = [
            Block::Text("One line.".into()),
            Block::Item("item goes on".into()),
            Block::Item("item".into()),
            Block::Table(vec![vec!["a".into(), "b".into()], vec!["1".into(), "2".into()]]),
            Block::Generated,
            Block::Code("code\n\nmore".into()),
            Block::Heading("End".into()),
        ];
        assert_eq!(Page::parse(page), expected);
    }

    fn any_text() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            6 => "[a-zäß漢]{1,12}",
            1 => Just("**bold** *thin*".to_string()),
            1 => Just("`code|a`".to_string()),
            1 => Just("[the page](x.md)".to_string()),
            1 => "[*`|\\[\\]()]{1,4}",
        ];
        prop::collection::vec(word, 0..40).prop_map(|words| words.join(" "))
    }

    proptest! {
        /// Whatever stands in it, no line but one of a single word is wider, and no word is lost.
        #[test]
        fn a_paragraph_keeps_its_words_within_its_width(text in any_text(), width in 20..100usize) {
            let pen = Pen { text_width: width, ..PEN };
            let wrapped = pen.wrap(&text, "", "");
            for line in wrapped.lines() {
                let fits = line.chars().count() <= width;
                prop_assert!(fits || !line.contains(' '), "{width}: {line}");
            }
            let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
            prop_assert_eq!(words(&wrapped), words(&unmarked(&text)));
        }

        /// Colours add nothing but their own signs.
        #[test]
        fn styles_change_no_word(text in any_text()) {
            let coloured = Pen { colour: Colour::Ansi, ..PEN }.wrap(&text, "", "");
            let bare = ["\x1b[1m", "\x1b[3m", "\x1b[36m", "\x1b[0m"]
                .iter()
                .fold(coloured, |text, sign| text.replace(sign, ""));
            prop_assert_eq!(bare, PEN.wrap(&text, "", ""));
        }
    }

    #[test]
    fn a_page_has_an_empty_line_between_blocks_but_none_within_a_list() {
        let mut page = Page::default();
        page.add(Block::Title("red".into()));
        page.extend(Page::parse("Text.\n\n- one\n- two\n\nMore.\n\n```\nlet x;\n```"));
        let text = page.render(&Look::plain());
        assert_eq!(text, "red\n\nText.\n\n  - one\n  - two\n\nMore.\n\n    let x;\n");
        assert_eq!(Page::default().render(&Look::plain()), "");
    }

    /// At each width from 40 on no line of a page is wider, of tables neither.
    #[test]
    fn a_page_is_no_wider_than_its_terminal() {
        let markdown = "# name\n\nA *paragraph* of some words that goes on for \
                        more than a line.\n\n\
                        - an item that goes on for a while, too, and has `code` in it\n\n\
                        | parameter | default | what it is |\n|---|---|---|\n\
                        | `limit` | 100 packets | the most that it holds at any time |\n\
                        | `target` | 5 ms | waiting that is taken for a standing queue |";
        for width in 40..=140 {
            let mut page = Page::default();
            page.extend(Page::parse(markdown));
            let text = page.render(&Look { width: Some(width), edge: true, colour: Colour::Plain });
            for line in text.lines() {
                assert!(line.chars().count() <= usize::from(width).max(40), "{width}: {line}");
            }
            assert!(text.contains("limit") && text.contains("target"), "{width}: {text}");
        }
    }
}
