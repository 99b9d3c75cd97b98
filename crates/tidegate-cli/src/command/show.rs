//! `tidegate show`: the manual page of a queue, a source or a scenario.
use tidegate::{Bytes, Link, Rate, Size};
use tidegate_lab::show::page;
use tidegate_report::table::Look;

use crate::failure::Failure;
use crate::output;

/// Show the manual page of a queue, or what a source or a scenario is.
///
/// For a queue: what it does, the paper, its parameters, where it differs from the paper, and how
/// much state it keeps. Each parameter has its symbol, its range and its value in each preset.
/// Presets may scale values to the link; --rate, --limit and --mean-packet say which link.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate show blue
  tidegate show sfb --rate 45Mbit/s --limit 200kB
  tidegate show cubic
  tidegate show flood")]
pub struct Args {
    /// A queue, a source or a shipped scenario (see `tidegate list`)
    name: String,
    /// The rate of the link that presets are scaled to
    #[arg(long, default_value = "10 Mbit/s", allow_hyphen_values = true)]
    rate: Rate,
    /// The queue's limit on that link
    #[arg(long, value_name = "SIZE", default_value = "100 packets", allow_hyphen_values = true)]
    limit: Size,
    /// The usual length of a packet on that link
    #[arg(long, value_name = "SIZE", default_value = "1000 B", allow_hyphen_values = true)]
    mean_packet: Bytes,
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        let link = Link::new(self.rate, self.limit, self.mean_packet).map_err(Failure::input)?;
        let page = page(&self.name, &link).map_err(Failure::input)?;
        output::print(&page.render(&Look::stdout()))
    }
}
