//! The page of the command line, written from the arguments' own declarations.
//! `TIDEGATE_BLESS=1` rewrites it.
use std::fmt::Write;
use std::path::Path;

use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory};

use super::Cli;

const HEAD: &str = "# Command line

This page lists every subcommand with its arguments. `tidegate COMMAND --help` prints the same, and
`tidegate man` writes manual pages. A test writes this page from the command itself.
";

/// Before a paragraph or table: its words are the command's, which `make lint` does not judge here.
const FROM_CODE: &str = "<!-- words: written from the command itself -->\n";

/// `text` on one line, fit for a cell of a table.
fn cell(text: &StyledStr) -> String {
    let plain = text.to_string().replace('|', "\\|");
    let words = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let paragraphs: Vec<String> = plain
        .split("\n\n")
        .map(|paragraph| words(paragraph.trim_end().trim_end_matches('.')))
        .collect();
    escape(&paragraphs.join(". "))
}

/// Placeholders such as `<FILE>` would pass for HTML.
fn escape(text: &str) -> String {
    text.replace('<', "&lt;").replace('>', "&gt;")
}

/// How an argument is written, as in `--out <DIR>`.
fn written(arg: &Arg) -> String {
    let values: String =
        arg.get_value_names().unwrap_or_default().iter().map(|name| format!(" <{name}>")).collect();
    let takes = arg.get_action().takes_values();
    match (arg.get_long(), arg.get_short()) {
        (Some(long), _) if takes => format!("--{long}{values}"),
        (Some(long), _) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => values.trim().into(),
    }
}

/// What it is for, with its words and its default.
fn about(arg: &Arg) -> String {
    let mut text = arg.get_long_help().or(arg.get_help()).map(cell).unwrap_or_default();
    let words: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set() && arg.get_action().takes_values())
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({})", value.get_name(), cell(help)),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    if !words.is_empty() {
        text += &format!("; one of {}", words.join(", "));
    }
    let defaults: Vec<_> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        text += &format!("; default `{}`", defaults.join(" "));
    }
    text
}

/// Appends the section of `command`, known as `name`, and those of its subcommands.
fn section(page: &mut String, name: &str, command: &Command) {
    let _ = write!(page, "\n## `{name}`\n\n");
    if let Some(text) = command.get_long_about().or(command.get_about()) {
        for paragraph in escape(&text.to_string()).split("\n\n") {
            let _ = write!(page, "{FROM_CODE}{paragraph}\n\n");
        }
    }
    let shown =
        |arg: &&Arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str());
    let args: Vec<&Arg> = command.get_arguments().filter(shown).collect();
    if !args.is_empty() {
        page.push_str(FROM_CODE);
        page.push_str("| argument | what |\n|---|---|\n");
        for arg in args {
            let _ = writeln!(page, "| `{}` | {} |", written(arg), about(arg));
        }
    }
    if let Some(text) = command.get_after_long_help().or(command.get_after_help()) {
        let _ = write!(page, "\n```text\n{}\n```\n", text.to_string().trim_end());
    }
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        section(page, &format!("{name} {}", sub.get_name()), sub);
    }
}

#[test]
fn the_page_of_the_command_line_is_that_of_the_command() {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut page = String::from(HEAD);
    section(&mut page, "tidegate", &command);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/command-line.md");
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        return std::fs::write(&path, page).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).is_ok_and(|held| held == page),
        "{} is out of date: TIDEGATE_BLESS=1 cargo test -p tidegate-cli --bin tidegate reference",
        path.display()
    );
}
