//! A suite's cells on real packets: this kernel's TCP through the gateway, and the simulator's
//! figures of the same.
//!
//! The rig has one round trip for all, frames of at most 1514 bytes, and an address for each
//! sender. So the simulator runs a cell's twin: the cell as the rig can be it.
use std::fmt;
use std::path::Path;

use serde_json::{Value, json};
use tidegate::{Bytes, Span};
use tidegate_gateway::demo::{self, Demo, DemoGroup, FRAME, KernelTcp, SendingPattern};
use tidegate_gateway::path::rehash::Rehash;
use tidegate_lab::scenario::{self, Acks, Codepoint, EcnUse, Forge, Network, Source, Ways};
use tidegate_lab::suite::{SuiteCell, SuiteRequest};
use tidegate_lab::{Job, Override, Problems, QueueSpec, Scenario, check, run};
use tidegate_report::page::{Block, Page};
use tidegate_report::table::Look;
use tidegate_report::{Document, Figure, human};

use super::super::gate::demo::{failure, own_file, trial};
use super::super::gate::link::on_a_wire;
use crate::failure::Failure;
use crate::output;
use crate::progress::Onlooker;

/// The most senders. Each has two processes of iperf3, and two cores are to look after all.
const MOST: u32 = 40;
/// The fastest line, and the most that all floods send, in bit/s: what a small machine offers in
/// time.
const FASTEST: u64 = 120_000_000;
/// The most that is measured.
const MEASURED: Span = Span::from_millis(10_000);
/// The most that everybody sends before that.
const WARMUP: Span = Span::from_millis(5_000);
/// Between the beginnings of groups, in s, as the demo has it.
const APART: u64 = 1;
/// The most that one round trip stands for, the longest to the shortest. The suites' usual line has
/// 25 to 101 ms, and is run with their mean.
const SPREAD: f64 = 5.0;
/// Shares that differ by less agree.
const WITHIN: f64 = 0.15;
/// Users who get less are left with nothing; how little says nothing.
const NOTHING: f64 = 0.05;

// Why cells stay in the simulator.
const FAR: &str = "the rig has one round trip, and this cell's differ more than fivefold";
const FULL: &str = "the rig's TCP sends full packets";
/// Another kernel may have it.
const UNKNOWN: &str = "this kernel has no such TCP here";

/// What this kernel's TCP has where the simulator's could have something else.
const KERNEL: [&str; 9] = [
    "packet=1514 B",
    "ack=66 B",
    "ecn=on",
    "rules=linux",
    "delayed_ack=40 ms",
    "handshake=syn",
    "initial_rto=1 s",
    "initial_window=10 packets",
    "access_delay=10 us",
];

/// A cell as the rig can be it.
struct Real<'s> {
    cell: &'s SuiteCell,
    test: &'s str,
    demo: Demo,
    twin: Scenario,
    users: Vec<&'s str>,
}

/// A queue in such a cell.
struct GateCase<'s> {
    test: &'s str,
    cell: &'s str,
    queue: String,
    measured: Shares,
    simulated: Shares,
}

/// Of fair shares: what users get together, and the worst of them.
#[derive(Clone, Copy)]
struct Shares {
    all: f64,
    worst: f64,
}

/// Why a cell stays in the simulator.
enum Not {
    Possible(&'static str),
    Wrong(Problems),
}

impl From<Problems> for Not {
    fn from(problems: Problems) -> Not {
        Not::Wrong(problems)
    }
}

/// Measures the cells of `asked` that can be, with each of its queues, and simulates their twins.
pub(super) fn execute(asked: &SuiteRequest<'_>, as_json: bool) -> Result<(), Failure> {
    let (mut real, mut left) = (vec![], vec![]);
    let program = own_file()?;
    for at in asked.cells() {
        let cell = &asked.suite.cells[at];
        let test = asked.suite.tests[cell.test].id.as_str();
        match Real::of(test, cell, &program) {
            Ok(one) => real.push(one),
            Err(Not::Possible(why)) => left.push((test, cell.name.as_str(), why)),
            Err(Not::Wrong(problems)) => return Err(Failure::input(problems)),
        }
    }
    if real.is_empty() {
        let why = left.first().map_or("there is none", |(.., why)| why);
        return Err(Failure::Input(format!("--gate: no cell of these tests can be: {why}")));
    }
    demo::possible().map_err(Failure::Runtime)?;
    let rows = measure(&real, &asked.queues)?;
    let text = if as_json { text(&rows, &left) } else { page(&rows, &left) };
    output::print(&text)
}

fn measure<'s>(real: &[Real<'s>], queues: &[QueueSpec]) -> Result<Vec<GateCase<'s>>, Failure> {
    let onlooker = Onlooker::new();
    let (mut rows, of) = (vec![], real.len() * queues.len());
    for one in real {
        for (queue, simulated) in queues.iter().zip(one.simulated(queues)?) {
            let trial = trial(queue, &one.demo.link)?;
            let part = onlooker.part(rows.len(), of);
            let measured = one.demo.measure(&trial, &part).map_err(|error| {
                let of = format!("{} {}, {}", one.test, one.cell.name, queue.label());
                failure(error).during(&of)
            })?;
            rows.push(GateCase {
                test: one.test,
                cell: &one.cell.name,
                queue: queue.label(),
                measured: one.shares(&measured.document),
                simulated,
            });
        }
    }
    Ok(rows)
}

impl<'s> Real<'s> {
    fn of(test: &'s str, cell: &'s SuiteCell, program: &Path) -> Result<Real<'s>, Not> {
        if cell.target.is_some() {
            return Err(Not::Possible("the rig's queues are not aimed at a delay"));
        }
        let found = check(&cell.full, &[])?;
        if found.base_rtt.1.as_secs() > SPREAD * found.base_rtt.0.as_secs() {
            return Err(Not::Possible(FAR));
        }
        let groups = senders(&cell.full)?;
        let delay = Span::from_nanos(found.mean_rtt.as_nanos() / 2);
        let twin = twin(&cell.full, delay)?;
        let roles = &cell.roles;
        let users = roles.users.iter().chain(&roles.light).map(String::as_str).collect();
        let demo = Demo {
            program: program.into(),
            link: cell.full.bottleneck(),
            delay,
            flow_key: twin.run.flow_key.0,
            // The simulator's flows keep their keys.
            rehash: Some(Rehash::OFF),
            tcp: KernelTcp::Full,
            groups,
            warmup: warmup(&cell.full),
            duration: twin.run.duration - twin.run.warmup,
        };
        Ok(Real { cell, test, demo, twin, users })
    }

    /// What the simulator says of the twin, by queue.
    fn simulated(&self, queues: &[QueueSpec]) -> Result<Vec<Shares>, Failure> {
        let queues = queues.iter().map(on_a_wire).collect();
        let scenario = self.twin.clone();
        let job = Job { scenario, queues, flows: false, series: false, threads: None };
        let outcomes = run(&job, &()).map_err(Failure::input)?;
        Ok(outcomes.iter().map(|outcome| self.shares(&outcome.document)).collect())
    }

    fn shares(&self, document: &Document) -> Shares {
        let of = |figure: Option<Figure>| figure.map_or(0.0, |figure| figure.mean());
        let users = || document.groups.iter().filter(|group| self.users.contains(&&*group.name));
        let fair: f64 = users().map(|group| of(group.fair_share_bps)).sum();
        let got: f64 = users().map(|group| of(group.throughput_bps)).sum();
        let least = users()
            .map(|group| of(group.per_flow.min) * group.count as f64 / of(group.fair_share_bps));
        Shares { all: got / fair, worst: least.fold(f64::INFINITY, f64::min) }
    }
}

/// The senders of `scenario` as the rig has them.
fn senders(scenario: &Scenario) -> Result<Vec<DemoGroup>, Not> {
    let Network::Dumbbell(line, ways) = &scenario.network else {
        return Err(Not::Possible("the rig is a dumbbell"));
    };
    if **ways != Ways::default() {
        return Err(Not::Possible("the rig's path neither changes nor loses packets"));
    }
    let floods = |group: &scenario::Group| match &group.source {
        Source::Cbr(cbr) => cbr.rate.as_bps() * u64::from(group.count),
        _ => 0,
    };
    if line.rate.as_bps() > FASTEST || scenario.groups.iter().map(floods).sum::<u64>() > FASTEST {
        return Err(Not::Possible("more than 120 Mbit/s"));
    }
    if scenario.flows() > MOST.into() {
        return Err(Not::Possible("more than 40 senders"));
    }
    scenario.groups.iter().map(sender).collect()
}

fn sender(group: &scenario::Group) -> Result<DemoGroup, Not> {
    if group.hosts != group.count {
        return Err(Not::Possible("the rig has an address for each sender"));
    }
    if group.stop.is_some() || !group.active.is_empty() {
        return Err(Not::Possible("the rig's senders send all the time"));
    }
    let sending = match &group.source {
        Source::Tcp(to) if group.source.always_sends() && is_honest(&to.tcp) => {
            if on_the_wire(to.tcp.packet)? != FRAME {
                return Err(Not::Possible(FULL));
            }
            tcp(group.source.name())?
        }
        Source::Cbr(cbr) if cbr.forge != Forge::Off => {
            return Err(Not::Possible("the rig's senders forge no addresses"));
        }
        Source::Cbr(cbr) if cbr.ecn == Codepoint::Off => {
            let length = on_the_wire(cbr.packet)?;
            SendingPattern::Udp { rate: cbr.rate, length: length.get() as u32 }
        }
        _ => return Err(Not::Possible("the rig has TCP that goes on, and datagrams at a rate")),
    };
    let count = group.count as u16;
    Ok(DemoGroup { name: group.name.clone(), count, sending })
}

/// Whether both ends do as the RFCs say.
fn is_honest(tcp: &scenario::Tcp) -> bool {
    tcp.receiver == Acks::Honest && tcp.ecn != EcnUse::Ignore
}

/// The kernel's congestion control that the simulator calls `source`.
fn tcp(source: &str) -> Result<SendingPattern, Not> {
    let name = match source {
        "cubic" | "bbr" | "vegas" => source,
        "reno" | "newreno" | "sack" | "rack" => "reno",
        _ => return Err(Not::Possible(UNKNOWN)),
    };
    if demo::has_congestion_control(name).is_ok_and(|has| has) {
        Ok(SendingPattern::Tcp(name.into()))
    } else {
        Err(Not::Possible(UNKNOWN))
    }
}

/// The length of a frame for a packet of `length`: full ones are as long as the rig's.
fn on_the_wire(length: Bytes) -> Result<Bytes, Not> {
    match length.get() {
        1500..=1514 => Ok(FRAME),
        64..1500 => Ok(length),
        _ => Err(Not::Possible("frames have 64 to 1514 bytes")),
    }
}

/// How long everybody sends in a cell before it counts.
fn warmup(scenario: &Scenario) -> Span {
    scenario.run.warmup.min(WARMUP)
}

/// `scenario` as the rig can be it, with one `delay` each way for all.
fn twin(scenario: &Scenario, delay: Span) -> Result<Scenario, Not> {
    let groups = scenario.groups.len() as u64;
    let begun = warmup(scenario) + Span::from_millis(1000 * APART * (groups - 1));
    let measured = (scenario.run.duration - scenario.run.warmup).min(MEASURED);
    let mut sets = vec![
        format!("network.delay={delay}"),
        "network.access_rate=10 Gbit/s".into(),
        format!("run.warmup={begun}"),
        format!("run.duration={}", begun + measured),
    ];
    for (place, group) in scenario.groups.iter().enumerate() {
        let at = place as u64 * APART;
        let mut own = vec![format!("start=uniform({at} s, {at}.01 s)")];
        match &group.source {
            Source::Tcp(_) => {
                own.extend(KERNEL.map(String::from));
                own.push(match group.source.name() {
                    "reno" | "newreno" | "sack" | "rack" => "source=rack".into(),
                    _ => "loss_recovery=rack".into(),
                });
            }
            source => {
                own.push("access_delay=10 us".into());
                own.push(format!("packet={}", on_the_wire(source.packet())?));
            }
        }
        sets.extend(own.into_iter().map(|set| format!("group.{}.{set}", group.name)));
    }
    let sets: Result<Vec<Override>, _> = sets.iter().map(|set| set.parse::<Override>()).collect();
    let sets = sets.map_err(|_| Not::Possible("its groups have no such keys"))?;
    Ok(Scenario::parse(scenario.resolved().as_bytes(), &scenario.name, &sets)?)
}

impl GateCase<'_> {
    /// Whether measured and simulated agree on what `of` says.
    fn agrees(&self, of: fn(&Shares) -> f64) -> bool {
        let (measured, simulated) = (of(&self.measured), of(&self.simulated));
        (measured - simulated).abs() <= WITHIN * simulated || measured.max(simulated) < NOTHING
    }
}

/// Whether the worst user of a cell does best behind the same queue, measured and simulated. Queues
/// that do nearly as well as the best count as best.
fn same_best(cell: &[GateCase<'_>]) -> bool {
    let best = |of: fn(&GateCase<'_>) -> f64| {
        let most = cell.iter().map(of).fold(0.0, f64::max);
        cell.iter().map(move |row| of(row) >= most * (1.0 - WITHIN))
    };
    let both = best(|row| row.measured.worst).zip(best(|row| row.simulated.worst));
    both.into_iter().any(|(measured, simulated)| measured && simulated)
}

/// The rows of each cell.
fn by_cell<'r, 's>(rows: &'r [GateCase<'s>]) -> impl Iterator<Item = &'r [GateCase<'s>]> {
    rows.chunk_by(|a, b| (a.test, a.cell) == (b.test, b.cell))
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} / {:.0}", 100.0 * self.all, 100.0 * self.worst)
    }
}

fn page(rows: &[GateCase<'_>], left: &[(&str, &str, &str)]) -> String {
    let mut page = Page::default();
    let head = ["cell", "queue", "measured", "simulated", "within 15 %"].map(String::from);
    let line = |row: &GateCase<'_>| {
        let agrees = if row.agrees(|of| of.all) { "yes" } else { "NO" };
        vec![
            format!("{} {}", row.test, row.cell),
            row.queue.clone(),
            row.measured.to_string(),
            row.simulated.to_string(),
            agrees.into(),
        ]
    };
    page.add(Block::Table(std::iter::once(head.to_vec()).chain(rows.iter().map(line)).collect()));
    let agree = |of: fn(&Shares) -> f64| rows.iter().filter(|row| row.agrees(of)).count();
    page.add(Block::Text(format!(
        "What users get of their fair shares together, and the worst of them, in %. Within 15 %, \
         or both below 5 %: together in {} of {}, the worst in {}. The worst user does best behind \
         the same queue in {} of {} cells; queues within 15 % of the best count as best.",
        agree(|of| of.all),
        rows.len(),
        agree(|of| of.worst),
        by_cell(rows).filter(|cell| same_best(cell)).count(),
        by_cell(rows).count(),
    )));
    if !left.is_empty() {
        page.add(Block::Text(format!("{} cells stay in the simulator:", left.len())));
        let why = |&(test, cell, why): &(&str, &str, &str)| {
            Block::Item(human::plain(&format!("{test} {cell}: {why}")))
        };
        page.extend(left.iter().map(why).collect());
    }
    page.render(&Look::stdout())
}

fn text(rows: &[GateCase<'_>], left: &[(&str, &str, &str)]) -> String {
    let shares = |of: Shares| json!({ "share": of.all, "worst": of.worst });
    let row = |row: &GateCase<'_>| {
        json!({
            "queue": row.queue,
            "measured": shares(row.measured), "simulated": shares(row.simulated),
            "share_within": row.agrees(|of| of.all), "worst_within": row.agrees(|of| of.worst),
        })
    };
    let cell = |rows: &[GateCase<'_>]| {
        json!({
            "test": rows[0].test, "cell": rows[0].cell, "same_best": same_best(rows),
            "queues": rows.iter().map(row).collect::<Vec<Value>>(),
        })
    };
    let left =
        left.iter().map(|(test, cell, why)| json!({ "test": test, "cell": cell, "why": why }));
    let all = json!({
        "schema": "tidegate.suite-gate/1",
        "cells": by_cell(rows).map(cell).collect::<Vec<Value>>(),
        "simulated_only": left.collect::<Vec<Value>>(),
    });
    format!("{all:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_lab::suite;

    fn why(cell: &SuiteCell) -> &'static str {
        match Real::of("", cell, Path::new("tidegate")) {
            Err(Not::Possible(why)) => why,
            _ => "",
        }
    }

    #[test]
    fn short_packets_of_tcp_and_round_trips_far_apart_stay_in_the_simulator() {
        let suite = suite::open("protection").unwrap();
        let of = |cell: &&SuiteCell| ["P14", "P16"].contains(&suite.tests[cell.test].id.as_str());
        let cells = suite.cells.iter().filter(of);
        let left = cells.filter(|cell| [FULL, FAR].contains(&why(cell)));
        let names: Vec<&str> = left.map(|cell| cell.name.as_str()).collect();
        let far = ["221", "621"]
            .map(|most| format!("round trips from 25 to {most} ms, a flood of twice the line"));
        assert_eq!(
            names,
            ["users of 300 B under a flood of 1500 B", far[0].as_str(), far[1].as_str()]
        );
    }
}
