//! How the command ends when it does not end well.
use std::panic::PanicHookInfo;
use std::path::Path;
use std::process::ExitCode;

use tidegate_lab::RunError;
use tidegate_lab::study::RunsError;

use crate::note::note;

/// Exit code: the input was right, and the work failed.
pub const RUNTIME: u8 = 1;
/// Exit code: the arguments or a file are wrong, or a permission is missing.
const INPUT: u8 = 2;
/// Exit code: stopped by Ctrl-C or a termination signal (128 + SIGINT).
pub const INTERRUPTED: u8 = 130;

/// Why there is no result, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The arguments or a file are wrong, or a permission is missing: what, where, and what was
    /// meant.
    Input(String),
    /// The input was right, and the work failed.
    Runtime(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-C, and what is left of the work.
    Stopped(String),
    /// The reader of our output has gone.
    ClosedPipe,
    /// The work failed, and the message has been printed.
    Told,
    /// A command that was run for the user ended with this status, or could not be run; all has
    /// been said.
    Status(u8),
}

impl Failure {
    /// Input that is wrong because of `error`.
    pub fn input(error: impl ToString) -> Failure {
        Failure::Input(error.to_string())
    }

    /// Something that failed because of `error`.
    pub fn runtime(error: impl ToString) -> Failure {
        Failure::Runtime(error.to_string())
    }

    /// Why many runs have no result; what was done is kept in `out`, if there is such a directory.
    pub fn of_runs(error: RunsError, out: Option<&Path>) -> Failure {
        match (error, out) {
            (RunsError::Run(RunError::Cancelled), None) => Failure::Interrupted,
            (RunsError::Run(RunError::Cancelled), Some(dir)) => Failure::Stopped(format!(
                "interrupted; what was done lies in {}, and the same command goes on from there",
                dir.display()
            )),
            (RunsError::Run(error), _) => Failure::input(error),
            (RunsError::Store(error), _) if error.refused => Failure::input(error),
            (RunsError::Store(error), _) => Failure::runtime(error),
        }
    }

    /// The same, and what was being done when work failed.
    pub fn during(self, what: &str) -> Failure {
        match self {
            Failure::Runtime(why) => Failure::Runtime(format!("{what}: {why}")),
            other => other,
        }
    }

    /// What there is to say of it beside others.
    pub fn why(self) -> String {
        match self {
            Failure::Input(why) | Failure::Runtime(why) | Failure::Stopped(why) => why,
            Failure::Interrupted | Failure::ClosedPipe | Failure::Told | Failure::Status(_) => {
                format!("{self:?}")
            }
        }
    }

    /// Says it on standard error; the exit code.
    pub fn tell(self) -> ExitCode {
        let code = match self {
            Failure::Input(why) => {
                note(&format!("error: {why}"));
                INPUT
            }
            Failure::Runtime(why) => {
                note(&format!("error: {why}"));
                RUNTIME
            }
            Failure::Interrupted => {
                note("interrupted; nothing was written");
                INTERRUPTED
            }
            Failure::Stopped(what) => {
                note(&what);
                INTERRUPTED
            }
            Failure::ClosedPipe => 0,
            Failure::Told => RUNTIME,
            Failure::Status(status) => status,
        };
        ExitCode::from(code)
    }
}

/// What a panic says: it is our fault, where, and in which version.
pub fn this_is_a_bug(info: &PanicHookInfo) {
    note(&told(info));
}

fn told(info: &PanicHookInfo) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let what = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
    let place =
        info.location().map(|l| format!(" at {}:{}", l.file(), l.line())).unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "error: this is a bug in tidegate {version}: {what}{place}\n\
         Please report it with the command and its input."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_says_that_it_is_our_fault_and_in_which_version() {
        static SAID: std::sync::Mutex<Vec<String>> = std::sync::Mutex::new(vec![]);
        std::panic::set_hook(Box::new(|info| SAID.lock().unwrap().push(told(info))));
        let _ = std::panic::catch_unwind(|| panic!("{} is odd", 2));
        let _ = std::panic::catch_unwind(|| panic!("plain"));
        let _ = std::panic::take_hook();
        let said = SAID.lock().unwrap();
        let version = env!("CARGO_PKG_VERSION");
        let expected = format!("error: this is a bug in tidegate {version}: 2 is odd at ");
        assert!(said[0].starts_with(&expected) && said[0].contains("failure.rs:"), "{}", said[0]);
        assert!(
            said[1].contains(": plain at ") && said[1].contains("Please report"),
            "{}",
            said[1]
        );
    }
}
