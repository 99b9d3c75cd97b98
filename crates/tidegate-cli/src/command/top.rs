//! `tidegate top`: a gate that runs, seen from a terminal.
mod feed;
mod live;
mod model;
#[cfg(test)]
#[path = "../../../tidegate-gateway/tests/support/standing.rs"]
mod sample;
mod table;
mod view;
mod words;

use std::path::PathBuf;

use tidegate_gateway::watch::socket::USUAL;
use tidegate_report::table::Look;

use crate::failure::Failure;
use crate::output;

/// Watch a gate that runs.
///
/// Shows, for each link and direction, what comes in, goes out, is lost and marked in a second, and
/// why. Then how long frames wait and how many do, who sends most against the fair share, classes,
/// and the queue's gauges. It reads what `tidegate gate --socket` tells and changes nothing. Any
/// number may watch. If the gate ends it waits for the next.
///
/// Keys: Tab and the arrows go to the next link, q ends it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate top
  tidegate top --socket /run/tidegate/uplink.sock
  tidegate top --once
  tidegate top --once --json")]
pub struct Args {
    /// The socket at which the gate tells how it is
    #[arg(long, value_name = "PATH", default_value = USUAL)]
    socket: PathBuf,
    /// Print tables of what happened within a second, and end
    #[arg(long)]
    once: bool,
    /// Print the gate's document as it came, and end
    #[arg(long, requires = "once")]
    json: bool,
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        if !self.once {
            return live::show(&self.socket);
        }
        let mut feed = feed::GateFeed::open(&self.socket).map_err(Failure::Runtime)?;
        if self.json {
            feed.ask().map_err(Failure::Runtime)?;
            return output::print(feed.line().map_err(Failure::Runtime)?);
        }
        let mut next = || feed.snapshot().map_err(Failure::Runtime);
        let (old, new) = (next()?, next()?);
        output::print(&table::page(&old, &new).render(&Look::stdout()))
    }
}
