//! `tidegate man` and `tidegate completions`: what a package installs beside the command, made from
//! the command itself.
use std::path::{Path, PathBuf};

use clap::{CommandFactory, ValueEnum};

use super::Cli;
use crate::failure::Failure;
use crate::output;

/// Write the manual pages of the command and of each of its subcommands.
///
/// One file each, as tidegate-gate.1, in troff for man.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate man --out /usr/local/share/man/man1
  tidegate man --out out/man")]
pub struct Args {
    /// The directory for the pages, made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        if self.out.exists() && !self.out.is_dir() {
            return Err(Failure::Input(format!(
                "{}: is a file, not a directory",
                self.out.display()
            )));
        }
        let mut command = Cli::command().disable_help_subcommand(true);
        command.build();
        std::fs::create_dir_all(&self.out)
            .and_then(|()| write(&command, &self.out))
            .map_err(|error| Failure::Runtime(format!("{}: {error}", self.out.display())))
    }
}

/// Writes the page of `command`, and those of its subcommands.
fn write(command: &clap::Command, folder: &Path) -> std::io::Result<()> {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        write(sub, folder)?;
    }
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    std::fs::write(folder.join(page.get_filename()), with_examples(&String::from_utf8_lossy(&text)))
}

/// `page` with the examples under a heading of their own, each line as it is written; what follows
/// them is filled.
fn with_examples(page: &str) -> String {
    let Some((before, rest)) = page.split_once(".SH EXTRA\nExamples:\n") else {
        return page.into();
    };
    let mut text = format!("{before}.SH EXAMPLES\n.nf\n");
    let mut filled = false;
    for line in rest.lines() {
        if !filled && !line.starts_with("  ") {
            text += ".fi\n";
            filled = true;
        }
        // An empty line begins a paragraph; roff has a word for it.
        text += if line.is_empty() { ".PP" } else { line };
        text.push('\n');
    }
    text + if filled { "" } else { ".fi\n" }
}

/// Print what a shell needs to complete the command's arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate completions bash
  tidegate completions fish

Where they go: /etc/bash_completion.d/tidegate, a file _tidegate in zsh's fpath, or
~/.config/fish/completions/tidegate.fish.")]
pub struct ShellCompletions {
    /// Which shell
    shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    /// GNU Bash
    Bash,
    /// Z shell
    Zsh,
    /// fish
    Fish,
}

impl ShellCompletions {
    pub fn execute(self) -> Result<(), Failure> {
        let shell = match self.shell {
            Shell::Bash => clap_complete::Shell::Bash,
            Shell::Zsh => clap_complete::Shell::Zsh,
            Shell::Fish => clap_complete::Shell::Fish,
        };
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "tidegate", &mut script);
        output::print(&String::from_utf8_lossy(&script))
    }
}
