//! The subcommands, one file each. A new one: its file, a variant here, an arm in `execute`.
mod advise;
mod check;
mod compare;
mod diff;
mod doctor;
mod gate;
mod list;
mod man;
mod paper;
#[cfg(test)]
mod reference;
mod replay;
mod run;
mod shell;
mod show;
mod sketch;
mod suite;
mod sweep;
mod top;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

/// Tells what a bottleneck queue does to the flows that share it.
///
/// A queue discipline decides who gets what of a congested link. Tidegate runs queue disciplines
/// from the literature (drop-tail, RED, BLUE, SFB and more) in a simulator with TCP and
/// unresponsive flows, or on the packets of a capture. It says who got what against the fair share.
///
/// A queue Q is written NAME[/PRESET][,param=value…][ as LABEL], as in "sfb", "red/paper,ecn=on" or
/// "sfb/auto,bins=46 as SFB 46". The preset is `auto` if none is named. Every quantity has its
/// unit: "10 Mbit/s", "50 ms", "200 kB", "40 packets".
#[derive(Debug, Parser)]
#[command(
    name = "tidegate",
    version,
    after_help = "\
Examples:
  tidegate list                        queues, sources and scenarios
  tidegate show sfb                    the manual page of a queue
  tidegate run flood                   simulate a shipped scenario
  tidegate compare flood               the same with several queues side by side
  tidegate suite protection --quick    how well queues protect users
  tidegate sweep STUDY.toml            a grid of scenarios and queues, as one table
  tidegate diff out/a out/b            two saved results side by side
  tidegate check flood                 what follows from a scenario, without running it
  tidegate replay --help               the packets of a capture through a queue
  tidegate advise --help               which queue would help the link of a capture
  tidegate gate --help                 a live link through a queue
  tidegate top                         watch a gate that runs
  tidegate shell --help                a command behind a link of its own
  tidegate sketch --quick              how well flows are counted
  tidegate paper list                  published experiments, and what we say of them

Results go to standard output, everything else to standard error.
Exit codes: 0 all is well; 1 a run or a write failed; 2 the arguments or a file are wrong, or a \
permission is missing; 130 stopped by Ctrl-C.",
    max_term_width = 120,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(run::Args),
    Compare(compare::Args),
    Sweep(sweep::Sweep),
    Diff(diff::Args),
    Check(check::Args),
    Replay(replay::Args),
    Advise(advise::Args),
    Gate(Box<gate::Gateway>),
    Shell(Box<shell::Args>),
    Doctor(doctor::Args),
    Top(top::Args),
    List(list::Args),
    Paper(paper::Papers),
    Show(show::Args),
    Sketch(sketch::Args),
    Suite(suite::Args),
    Man(man::Args),
    Completions(man::ShellCompletions),
}

impl Command {
    /// Does what was asked.
    ///
    /// # Errors
    /// See [`Failure`].
    pub fn execute(self) -> Result<(), Failure> {
        match self {
            Command::Run(args) => args.execute(),
            Command::Compare(args) => args.execute(),
            Command::Sweep(args) => args.execute(),
            Command::Diff(args) => args.execute(),
            Command::Check(args) => args.execute(),
            Command::Replay(args) => args.execute(),
            Command::Advise(args) => args.execute(),
            Command::Gate(args) => args.execute(),
            Command::Shell(args) => args.execute(),
            Command::Doctor(args) => args.execute(),
            Command::Top(args) => args.execute(),
            Command::List(args) => args.execute(),
            Command::Paper(args) => args.execute(),
            Command::Show(args) => args.execute(),
            Command::Sketch(args) => args.execute(),
            Command::Suite(args) => args.execute(),
            Command::Man(args) => args.execute(),
            Command::Completions(args) => args.execute(),
        }
    }
}
