//! `tidegate doctor`: what this machine lacks to run a gateway.
use serde_json::json;
use tidegate_gateway::machine::clock;
use tidegate_gateway::machine::doctor::{self, DoctorCheck, Health};
use tidegate_gateway::machine::preflight;

use crate::failure::Failure;
use crate::output;

/// Tell what this machine lacks to run a gateway, with the command that mends it.
///
/// Looks at the kernel, what we may do, whether the program that fails open can be loaded, the
/// clock and the processors. With --in and --out it looks at the two interfaces, too, as a start
/// would.
/// Changes nothing. Linux, root.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate doctor
  tidegate doctor --in eth1 --out eth2

Exit codes: 0 nothing is lacking, 1 something is.")]
pub struct Args {
    /// The interface on the side that floods come from
    #[arg(long = "in", value_name = "IF1", requires = "outer")]
    inner: Option<String>,
    /// The interface that the protected link leads to
    #[arg(long = "out", value_name = "IF2", requires = "inner")]
    outer: Option<String>,
    /// Print JSON instead of lines
    #[arg(long)]
    json: bool,
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        let mut checks = doctor::machine();
        if let (Some(inner), Some(outer)) = (&self.inner, &self.outer) {
            match preflight::inspect([inner, outer], clock::now()) {
                Ok(told) => checks.extend(doctor::interfaces(&told)),
                // As without the right to look at what is there: the lines before say what is
                // missing.
                Err(error) => checks.push(DoctorCheck::unknown("interface", &error)),
            }
        }
        if self.json {
            output::print(&format!("{:#}\n", document(&checks)))?
        } else {
            output::print(&checks.iter().map(lines).collect::<String>())?
        }
        match lacking(&checks) {
            0 => Ok(()),
            n => Err(Failure::Runtime(format!(
                "a gateway lacks {n} thing{} here",
                if n == 1 { "" } else { "s" }
            ))),
        }
    }
}

fn lacking(checks: &[DoctorCheck]) -> usize {
    checks.iter().filter(|check| check.state == Health::Lacks).count()
}

fn lines(check: &DoctorCheck) -> String {
    let line = format!("{:6}  {:14}  {}\n", check.state.name(), check.name, check.found);
    match &check.mend {
        Some(command) => format!("{line}{:24}{command}\n", ""),
        None => line,
    }
}

fn document(checks: &[DoctorCheck]) -> serde_json::Value {
    let one = |check: &DoctorCheck| {
        let DoctorCheck { name, state, found, mend } = check;
        json!({ "name": name, "state": state.name(), "found": found, "mend": mend })
    };
    json!({
        "schema": "tidegate.doctor/1",
        "ready": lacking(checks) == 0,
        "checks": checks.iter().map(one).collect::<Vec<_>>(),
    })
}
