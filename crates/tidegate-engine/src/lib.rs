//! The simulator with any queue on its links, compiled once.
//!
//! [`tidegate_sim::Simulation`] is generic, so it is compiled where somebody says which queue. That
//! is here. The crates that prepare runs and show results only call it. So in tests the compiler
//! takes its time for this crate, and not for those (`profile.dev` of the workspace).
use tidegate::{ConfigError, Seed, Time};
use tidegate_sim::{Network, Outcome, Plan, Simulation, Trace};

mod held;

pub use held::Held;

/// A simulation in progress, whichever queues its links have.
pub struct Run(Simulation<Held>);

impl Run {
    /// A simulation of `network` at its beginning.
    ///
    /// # Errors
    /// Those of [`Simulation::new`].
    pub fn new(network: Network<Held>, plan: Plan, seed: Seed) -> Result<Run, ConfigError> {
        Simulation::new(network, plan, seed).map(Run)
    }

    /// Everything that happens up to `until`.
    pub fn run_until(&mut self, until: Time) {
        self.0.run_until(until);
    }

    /// Everything that is left, and what was measured.
    pub fn finish(self) -> Outcome {
        self.0.finish()
    }

    /// The same, and what was seen of every packet.
    #[doc(hidden)]
    pub fn finish_traced(self) -> (Outcome, Trace) {
        self.0.finish_traced()
    }
}
