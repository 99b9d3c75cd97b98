//! `tidegate man` and `tidegate completions`: what a package installs beside the command, made from the command itself.
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
        let fails = |error| cannot_write(&self.out, &error);
        std::fs::create_dir_all(&self.out).map_err(fails)?;
        clap_mangen::generate_to(Cli::command(), &self.out).map_err(fails)
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Runtime(format!("{}: {error}", path.display()))
}

/// Print what a shell needs to complete the command's arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate completions bash
  tidegate completions fish

Where they go: /etc/bash_completion.d/tidegate, a file _tidegate in zsh's fpath, or
~/.config/fish/completions/tidegate.fish.")]
pub struct Completions {
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

impl Completions {
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
