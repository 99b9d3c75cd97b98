//! `tidegate compare`: one scenario, several queues.
use tidegate_lab::QueueSpec;

use crate::experiment::{JsonShape, SimulationArgs};
use crate::failure::Failure;

/// Simulate a scenario with several queues and set the results side by side.
///
/// Every queue meets the same traffic with the same seeds. Without --queue, the queues that the
/// scenario itself lists under `compare` are run.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate compare flood
  tidegate compare flood --queue drop_tail --queue blue --queue sfb --out out/flood
  tidegate compare flood --queue sfb --queue \"sfb/literal as Fig. 1 to the letter\" --seeds 10 --json")]
pub struct Args {
    #[command(flatten)]
    experiment: SimulationArgs,
    /// A queue to compare, NAME[/PRESET][,param=value…][ as LABEL], preset `auto` if none is
    /// named; give it several times
    #[arg(long = "queue", value_name = "Q")]
    queues: Vec<QueueSpec>,
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        let scenario = self.experiment.scenario()?;
        let scenario = if self.queues.is_empty() {
            scenario
        } else {
            scenario.with_compare(self.queues).map_err(Failure::input)?
        };
        let queues = scenario.compare.clone();
        if queues.is_empty() {
            return Err(Failure::Input(format!(
                "the scenario {} lists no queues to compare; name them with --queue Q --queue Q …",
                scenario.name
            )));
        }
        self.experiment.run(scenario, queues, JsonShape::List)
    }
}
