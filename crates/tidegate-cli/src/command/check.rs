//! `tidegate check`: what follows from a scenario.
use tidegate_lab::{Override, QueueSpec, check};

use crate::experiment::open;
use crate::failure::Failure;
use crate::output;

/// Check a scenario and print what follows from it, without running it.
///
/// Says what is wrong with line and column. Else it prints what one would work out by hand: the
/// bandwidth-delay product, base round-trip times, fair shares, and the buffer in milliseconds. It
/// adds each queue's parameters and state, and how long the run will take. It warns of loads that a
/// link without a queue cannot carry, and names the link.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate check flood
  tidegate check flood --set \"network.rate=100 Mbit/s\" --queue sfb/auto")]
pub struct Args {
    /// A scenario file, or the name of a shipped scenario (see `tidegate list scenarios`)
    scenario: String,
    /// Change a value of the scenario, PATH=VALUE, as in run.duration=30s; give it several times
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<Override>,
    /// A queue to check instead of the scenario's own; give it several times
    #[arg(long = "queue", value_name = "Q")]
    queues: Vec<QueueSpec>,
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        let scenario = open(&self.scenario, &self.sets)?;
        let check = check(&scenario, &self.queues).map_err(Failure::input)?;
        output::print(&format!("{}\n", check.to_string().trim_end()))
    }
}
