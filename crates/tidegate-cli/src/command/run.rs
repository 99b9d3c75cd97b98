//! `tidegate run`: one scenario, one queue.
use tidegate_lab::QueueSpec;

use crate::experiment::{JsonShape, SimulationArgs};
use crate::failure::Failure;

/// Simulate a scenario with one queue.
///
/// Runs the scenario once for every seed, on all cores. Prints who got what against the fair share,
/// with 95 % intervals over the seeds. The same seed gives the same result on any machine
/// and with any number of threads.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate run flood
  tidegate run flood --queue sfb --seeds 10 --out out/sfb
  tidegate run flood --queue \"red/paper,ecn=on\" --set \"group.flood.rate=20 Mbit/s\" --json
  tidegate run flood --set run.duration=20s --seeds 1 --flows")]
pub struct Args {
    #[command(flatten)]
    experiment: SimulationArgs,
    /// The queue at the bottleneck, NAME[/PRESET][,param=value…][ as LABEL], preset `auto` if none
    /// is named; without it, the watched link's own or the scenario's
    #[arg(long, value_name = "Q")]
    queue: Option<QueueSpec>,
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        let scenario = self.experiment.scenario()?;
        let scenario = match self.queue {
            Some(queue) => scenario.with_queue(queue).map_err(Failure::input)?,
            None => scenario,
        };
        let queue = scenario.own_queue().clone();
        self.experiment.run(scenario, vec![queue], JsonShape::One)
    }
}
