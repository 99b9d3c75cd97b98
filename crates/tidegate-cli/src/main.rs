//! The `tidegate` command: one file a subcommand in `command/`, and what they have in common beside
//! it.
mod command;
mod experiment;
mod failure;
mod interrupt;
mod note;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;
use nix::sys::signal::{SigSet, Signal};

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(failure::this_is_a_bug));
    // A limit on the size of files is to be a failure to write, which is told and leaves nothing
    // half done behind, and not the end of the process on the spot.
    let _ = SigSet::from(Signal::SIGXFSZ).thread_block();
    // The hook has said what there is to say.
    std::panic::catch_unwind(run).unwrap_or(ExitCode::from(failure::RUNTIME))
}

fn run() -> ExitCode {
    let cli = match command::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help on a closed pipe is no reason to complain.
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    match cli.command.execute() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}
