//! `tidegate sketch`: how well flows are counted.
use tidegate::Bytes;
use tidegate_lab::sketch::{self, Method, SketchRow, SketchTable, Skew, Trials};
use tidegate_report::human;
use tidegate_report::page::{Block, Page};
use tidegate_report::table::Look;

use crate::experiment::whole;
use crate::failure::Failure;
use crate::progress::Onlooker;
use crate::{interrupt, output};

/// Relative error within which an estimate is trusted.
const TRUSTED: f64 = 0.1;
/// Numbers of flows.
const FLOWS: [u64; 7] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];
/// Those with --quick.
const QUICK: [u64; 5] = [1, 10, 100, 1_000, 10_000];

/// Measure how well the estimators of the number of flows estimate.
///
/// Some queues want to know how many flows share the link, and each has its way to count them with
/// little memory. Purge has MINCOUNT, by the paper's formula and by the censored estimate that is
/// used here. SRED and BLACK go by how often a packet meets its own flow, in a list or in the
/// buffer. CARE goes by captures and recaptures (two occasions, M0, and the jackknife, Mh). All are
/// shown the same packets, of 1 to a million flows that send evenly, by Zipf's law, or with one
/// flow that sends half of all packets. HyperLogLog, which no queue here uses, is the yardstick, in
/// as much memory as MINCOUNT.
///
/// First each estimator's range: where its error (root mean square, relative to the flows that did
/// send) is at most 10 %. The same seeds give the same table, except the times, which are measured.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidegate sketch --quick
  tidegate sketch --quick --seeds 3 --seed 7 --json")]
pub struct Args {
    /// Number of replications, 1 to 10000 [default: 20, with --quick 5]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1, 10_000),
        allow_negative_numbers = true)]
    seeds: Option<u32>,
    /// Seed of the first replication; the others take the next ones
    #[arg(long, value_name = "BASE", default_value_t = 1,
        value_parser = whole::<u64>(0, 4_000_000_000_000_000), allow_negative_numbers = true)]
    seed: u64,
    /// No more than 10 000 flows, and fewer replications
    #[arg(long)]
    quick: bool,
    /// Print the table as JSON (schema tidegate.sketch/1)
    #[arg(long)]
    json: bool,
}

impl Args {
    pub fn execute(self) -> Result<(), Failure> {
        interrupt::listen();
        let (flows, seeds) = if self.quick { (&QUICK[..], 5) } else { (&FLOWS[..], 20) };
        let study =
            Trials { flows: flows.into(), seeds: self.seeds.unwrap_or(seeds), seed: self.seed };
        let table = sketch::run(&study, &Onlooker::new())
            .map_err(|sketch::Cancelled| Failure::Interrupted)?;
        if self.json {
            let text = serde_json::to_string_pretty(&table)
                .map_err(|e| Failure::Runtime(e.to_string()))?;
            return output::print(&format!("{text}\n"));
        }
        output::print(&page(&table, flows).render(&Look::stdout()))
    }
}

/// The answer, the errors, and what they cost.
fn page(table: &SketchTable, flows: &[u64]) -> Page {
    let mut page = Page::default();
    page.add(Block::Heading(format!("Within {} of the truth", human::percent(TRUSTED))));
    page.extend(Method::ALL.map(|method| Block::Item(trust(table, method, flows))).into());
    for skew in Skew::ALL {
        page.add(Block::Heading(format!("{}: error (bias)", heading(skew))));
        page.add(Block::Table(errors(table, skew, flows)));
    }
    page.add(Block::Heading("Cost".into()));
    page.add(Block::Table(costs(table)));
    page.add(Block::Text(format!(
        "Errors are root mean squares over {}, relative to the flows that did send, at four \
         packets a flow and at least 10 000; `N times` is an estimate of N times the truth. Of \
         BLACK's state the buffer is not counted. Times are the least over the seeds, hashing \
         included.",
        match table.seeds.len() {
            1 => "one seed".into(),
            n => format!("{n} seeds"),
        }
    )));
    page
}

fn heading(skew: Skew) -> &'static str {
    match skew {
        Skew::Equal => "All flows send alike",
        Skew::Zipf => "The r-th flow sends as r^-1.1",
        Skew::Elephant => "One flow sends half of all packets",
    }
}

/// Where `method` is to be trusted, in a line.
fn trust(table: &SketchTable, method: Method, flows: &[u64]) -> String {
    let everywhere = vec![(flows[0], flows[flows.len() - 1])];
    let ranges = Skew::ALL.map(|skew| table.trusted(method, skew, TRUSTED));
    let told = |ranges: &[(u64, u64)]| match ranges {
        [] => "nowhere".into(),
        runs if runs == everywhere => "everywhere".into(),
        runs => runs.iter().map(range).collect::<Vec<_>>().join(" and "),
    };
    let where_to = match &ranges {
        [first, rest @ ..] if rest.iter().all(|r| r == first) => {
            format!("{}, whatever the skew", told(first))
        }
        _ => {
            let each = Skew::ALL
                .iter()
                .zip(&ranges)
                .map(|(skew, r)| format!("{}: {}", skew.name(), told(r)));
            each.collect::<Vec<_>>().join("; ")
        }
    };
    format!("`{}`: {where_to}", method.name())
}

fn range(&(least, most): &(u64, u64)) -> String {
    if least == most {
        flows_of(least)
    } else {
        format!("{} to {}", human::count(least), flows_of(most))
    }
}

fn flows_of(n: u64) -> String {
    format!("{} flow{}", human::count(n), if n == 1 { "" } else { "s" })
}

/// A row for each estimator, a column for each number of flows.
fn errors(table: &SketchTable, skew: Skew, flows: &[u64]) -> Vec<Vec<String>> {
    let head = std::iter::once("flows:".into()).chain(flows.iter().map(|n| human::count(*n)));
    let mut rows = vec![head.collect::<Vec<_>>()];
    for method in Method::ALL {
        let cell = |n: &u64| table.row(method, skew, *n).map_or(human::NONE.into(), error);
        rows.push(std::iter::once(method.name().into()).chain(flows.iter().map(cell)).collect());
    }
    rows
}

/// Error and bias, as a factor where a percentage says little.
fn error(row: &SketchRow) -> String {
    match row.rmse {
        rmse if rmse >= 10.0 => format!("{:.0} times", rmse + 1.0),
        rmse => format!("{} ({:+.1})", human::percent(rmse), row.bias * 100.0),
    }
}

fn costs(table: &SketchTable) -> Vec<Vec<String>> {
    let mut rows = vec![["estimator", "state at most", "ns per packet"].map(String::from).to_vec()];
    for method in Method::ALL {
        let of_method = || table.rows.iter().filter(|r| r.estimator == method);
        let bytes = of_method().map(|r| r.state_bytes).max().unwrap_or(0);
        let least = of_method().map(|r| r.ns_per_packet).fold(f64::INFINITY, f64::min);
        let most = of_method().map(|r| r.ns_per_packet).fold(0.0, f64::max);
        rows.push(vec![
            method.name().into(),
            Bytes::new(bytes).to_string(),
            format!("{least:.1} to {most:.1}"),
        ]);
    }
    rows
}
