//! Runs a network.
use tidegate::catalog::AnyQueue;
use tidegate::{ConfigError, Qdisc, Seed, Time};

use crate::network::Network;
use crate::outcome::{Outcome, Plan};

/// A network being run.
#[derive(Debug)]
pub struct Simulation<Q: Qdisc = AnyQueue> {
    network: Network<Q>,
    plan: Plan,
    now: Time,
}

impl<Q: Qdisc> Simulation<Q> {
    /// Prepares to run `network` as `plan` says, with dice from `seed` (queues bring their own).
    ///
    /// # Errors
    /// Names what in the network or the plan cannot be.
    pub fn new(network: Network<Q>, plan: Plan, seed: Seed) -> Result<Simulation<Q>, ConfigError> {
        let _ = seed;
        network.check()?;
        Ok(Simulation { network, plan, now: Time::ZERO })
    }

    /// Runs up to `until`, or to the end of the plan if that is earlier. Call it in steps to show progress or to give up.
    pub fn run_until(&mut self, until: Time) {
        self.now = until.min(self.plan.end);
    }

    /// Where it is.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Runs to the end and sums up.
    pub fn finish(mut self) -> Outcome {
        self.run_until(self.plan.end);
        let _ = self.network.links();
        todo!("the engine is being built")
    }
}

/// Runs `network` as `plan` says, from start to end.
///
/// # Errors
/// As [`Simulation::new`].
pub fn simulate<Q: Qdisc>(network: Network<Q>, plan: &Plan, seed: Seed) -> Result<Outcome, ConfigError> {
    Ok(Simulation::new(network, plan.clone(), seed)?.finish())
}
