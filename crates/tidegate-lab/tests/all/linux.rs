//! Our twins of some set-ups against what a Linux kernel's queues gave
//! (`validation/linux/results`). Of datagrams alone what is compared is the queue; beside TCP the
//! kernel's and our TCP are, too.
use std::collections::BTreeMap;
use std::path::Path;

use crate::jobs;
use crate::jobs::in_repository;
use serde::Deserialize;
use tidegate_report::Document;

/// `validation/linux/cells.toml`.
#[derive(Deserialize)]
struct Cells {
    queue: BTreeMap<String, Queue>,
    cell: BTreeMap<String, Cell>,
}

impl Cells {
    /// Our words for what the cell calls `queue`.
    fn ours<'a>(&'a self, cell: &Cell, queue: &'a str) -> &'a str {
        if cell.kind == Loop::Gate { queue } else { &self.queue[queue].ours }
    }
}

#[derive(Deserialize)]
struct Queue {
    ours: String,
    /// Only in cells that name it.
    #[serde(default)]
    named: bool,
}

/// What a cell leaves out has the value of `cells.py`. What the twins cannot follow is refused.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cell {
    #[serde(rename = "loop")]
    kind: Loop,
    rate: Option<u64>,
    delay_ms: Option<u64>,
    connections: Option<u64>,
    control: Option<String>,
    #[serde(default)]
    tcp_ecn: bool,
    /// Connections of DCTCP whose packets have ECT(1), beside the others.
    #[serde(default)]
    scalable: u64,
    floods: Option<u64>,
    times: Option<u64>,
    flood_frame: Option<u64>,
    spread_ms: Option<u64>,
    duration: Option<u64>,
    user_ecn: Option<u8>,
    flood_ecn: Option<u8>,
    user_dscp: Option<u8>,
    /// In the open loop, in place of the usual ones.
    #[serde(default)]
    senders: Vec<Sender>,
    /// The queue is on a way back of this rate, and `front` is the way there's.
    back_rate: Option<u64>,
    front: Option<String>,
    queues: Option<Vec<String>>,
    #[serde(default)]
    explained: BTreeMap<String, String>,
}

/// Senders of datagrams, from one host to another; hosts are counted from 1.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sender {
    name: String,
    source: u8,
    target: u8,
    /// What each sends, of the line.
    times: f64,
    count: Option<u64>,
}

impl Sender {
    fn sets(&self, line: u64) -> [String; 4] {
        let Sender { name, source, target, times, count } = self;
        [
            format!("group.{name}.count={}", count.unwrap_or(1)),
            format!("group.{name}.rate={:.0} bit/s", line as f64 * times),
            format!("group.{name}.from=source{source}"),
            format!("group.{name}.to=target{target}"),
        ]
    }
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Loop {
    Open,
    Closed,
    /// With our queue, by our words, in a gate that the kernel's packets go through.
    Gate,
}

impl Loop {
    /// How far ours may be off, as in `validation/linux.py`.
    fn within(self) -> f64 {
        match self {
            Loop::Open => 0.03,
            Loop::Closed | Loop::Gate => 0.10,
        }
    }
}

/// How far a row may be off whose difference is explained.
const EXPLAINED: f64 = 0.25;

/// Below this part of the line so few packets are left that their number is chance.
const STARVED: f64 = 0.02;

impl Cell {
    fn rate(&self) -> u64 {
        self.rate.unwrap_or(20_000_000)
    }

    /// How far ours may be off behind `queue`.
    fn within(&self, queue: &str) -> f64 {
        if self.explained.contains_key(queue) { EXPLAINED } else { self.kind.within() }
    }

    fn floods(&self) -> u64 {
        self.floods.unwrap_or(1)
    }

    /// The scenario that it is made of, and who is in it whose rate is judged. Of an explained row
    /// what DCTCP gets is shown in `validation/linux.md` alone.
    fn twin(&self) -> (&'static str, Vec<&str>) {
        match self.kind {
            Loop::Open if !self.senders.is_empty() => {
                ("linux-hosts.toml", self.senders.iter().map(|of| of.name.as_str()).collect())
            }
            Loop::Open => ("linux-open.toml", vec!["flood", "user"]),
            _ if self.floods() > 0 => ("linux-closed.toml", vec!["flood", "tcp"]),
            _ if self.scalable == 0 => ("linux-tcp.toml", vec!["tcp"]),
            _ => ("linux-l4s.toml", vec!["tcp", "scalable"]),
        }
    }

    fn sets(&self, seeds: u64) -> Vec<String> {
        // A graph has its line as its first link.
        let line = if self.senders.is_empty() { "network" } else { "link.1" };
        let mut sets = vec![
            format!("run.seeds={seeds}"),
            format!("run.duration={} s", self.duration.unwrap_or(25)),
            format!("{line}.rate={} bit/s", self.rate()),
            format!("{line}.delay={} ms", self.delay_ms.unwrap_or(20)),
        ];
        if self.senders.is_empty() {
            sets.extend(self.usual_senders());
        }
        sets.extend(self.senders.iter().flat_map(|of| of.sets(self.rate())));
        sets
    }

    /// Users and floods of the cells that have no `senders`.
    fn usual_senders(&self) -> Vec<String> {
        let floods = self.floods();
        let start = format!("start=\"uniform(0 s, {} ms)\"", self.spread_ms.unwrap_or(10));
        let ecn = |point: Option<u8>| ["off", "ect1", "on"][usize::from(point.unwrap_or(0))];
        let mut sets = vec![];
        let flood = self.rate() * self.times.unwrap_or(3);
        if let Some(rate) = flood.checked_div(floods) {
            sets.extend([
                format!("group.flood.rate={rate} bit/s"),
                format!("group.flood.count={floods}"),
                format!("group.flood.packet={} B", self.flood_frame.unwrap_or(1514)),
                format!("group.flood.ecn={}", ecn(self.flood_ecn)),
            ]);
        }
        if self.scalable > 0 {
            sets.extend([
                format!("group.scalable.count={}", self.scalable),
                format!("group.scalable.{start}"),
            ]);
        }
        match self.kind {
            Loop::Open => sets.extend([
                format!("group.user.ecn={}", ecn(self.user_ecn)),
                format!("group.user.dscp={}", self.user_dscp.unwrap_or(0)),
            ]),
            Loop::Closed | Loop::Gate => sets.extend([
                format!("group.tcp.count={}", self.connections.unwrap_or(4)),
                format!("group.tcp.{start}"),
                format!("group.tcp.source={}", self.control.as_deref().unwrap_or("cubic")),
                format!("group.tcp.ecn={}", if self.tcp_ecn { "on" } else { "off" }),
            ]),
        }
        sets
    }
}

fn cells() -> Cells {
    let text = std::fs::read_to_string(in_repository("validation/linux/cells.toml")).unwrap();
    let values = serde_json::to_value(toml_span::parse(&text).unwrap()).unwrap();
    serde_json::from_value(values).unwrap()
}

/// A row of the newest kernel's figures.
#[derive(Deserialize)]
struct Row {
    cell: String,
    queue: String,
    run: u32,
    flow: String,
    throughput_bps: f64,
    delay_ms: Option<f64>,
    entered: Option<f64>,
    lost: Option<f64>,
    marked: Option<f64>,
}

fn newest_kernel() -> Vec<Row> {
    let numbers = |path: &Path| -> Vec<u32> {
        path.file_stem().unwrap().to_str().unwrap().split('.').map(|n| n.parse().unwrap()).collect()
    };
    let newest = std::fs::read_dir(in_repository("validation/linux/results"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "csv"))
        .max_by_key(|path| numbers(path))
        .expect("figures of a kernel");
    csv::Reader::from_path(newest).unwrap().deserialize().map(|row| row.unwrap()).collect()
}

/// The kernel's mean of what all flows of `group` got, over its runs.
fn theirs(rows: &[Row], cell: &str, queue: &str, group: &str) -> f64 {
    let of = || rows.iter().filter(|row| row.cell == cell && row.queue == queue);
    let runs: std::collections::BTreeSet<u32> = of().map(|row| row.run).collect();
    assert!(runs.len() >= 2, "{cell}, {queue}: {} runs", runs.len());
    let sum: f64 =
        of().filter(|row| row.flow.starts_with(group)).map(|row| row.throughput_bps).sum();
    sum / runs.len() as f64
}

/// Of the frames of all flows of `group`, over the kernel's runs: how long one waited in the queue
/// in ms. Then come the parts of them that were lost and marked.
fn wait_loss_and_marks(rows: &[Row], cell: &str, queue: &str, group: &str) -> [f64; 3] {
    let of = || {
        rows.iter()
            .filter(|row| row.cell == cell && row.queue == queue && row.flow.starts_with(group))
    };
    let sum = |what: fn(&Row) -> f64| -> f64 { of().map(what).sum() };
    let wait = sum(|row| row.delay_ms.unwrap() * row.throughput_bps);
    let part = |of_them: f64| of_them / sum(|row| row.entered.unwrap());
    let (lost, marked) = (sum(|row| row.lost.unwrap()), sum(|row| row.marked.unwrap()));
    [wait / sum(|row| row.throughput_bps), part(lost), part(marked)]
}

/// The way back of a cell whose queue is there, in our words; nothing fills it.
fn way_back(cell: &Cell, rate: u64, ours: &str) -> String {
    let delay = cell.delay_ms.unwrap_or(20);
    format!(
        "network.back={{rate=\"{rate} bit/s\", delay=\"{delay} ms\", limit=\"5000 packets\", \
         queue=\"{ours}\"}}"
    )
}

/// What differs too much of acknowledgements that meet the queue on the way back: how long they
/// wait and what part of them is lost.
fn acknowledgements(rows: &[Row], name: &str, queue: &str, document: &Document) -> Vec<String> {
    let back = document.links.iter().find(|link| link.name == "right->left").unwrap();
    let ours = [back.queue_delay_ms.mean, back.loss_ratio].map(|of| of.unwrap().mean());
    let theirs = wait_loss_and_marks(rows, name, queue, "ack");
    let pairs = ours.into_iter().zip(theirs);
    pairs
        .filter(|(ours, theirs)| (ours / theirs - 1.0).abs() > Loop::Closed.within())
        .map(|(ours, theirs)| format!("{name}, {queue}: ack has {ours:.5} for {theirs:.5}"))
        .collect()
}

/// What is too far from the kernel's in a cell behind a queue, each group in a line.
fn differences(rows: &[Row], name: &str, cell: &Cell, queue: &str, cells: &Cells) -> Vec<String> {
    let ours = cells.ours(cell, queue);
    let (twin, groups) = cell.twin();
    // Of a fast line two seeds are like each other, unless the row is one of those that are
    // explained.
    let fast = cell.rate() > 20_000_000 && !cell.explained.contains_key(queue);
    let seeds = if cell.kind != Loop::Closed || fast { 2 } else { 4 };
    let mut sets = cell.sets(seeds);
    sets.extend(cell.back_rate.map(|rate| way_back(cell, rate, ours)));
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    let scenario = jobs::shipped(&format!("validation/scenarios/{twin}"), &sets);
    let watched = cell.front.as_ref().map_or(ours, |front| &cells.queue[front].ours);
    let document = jobs::document(scenario, watched);
    let explained = cell.explained.contains_key(queue);
    let mut far = vec![];
    if cell.back_rate.is_some() && !explained {
        far.extend(acknowledgements(rows, name, queue, &document));
    }
    for group in groups {
        let of = document.groups.iter().find(|g| g.name == group).unwrap();
        let ours = of.throughput_bps.unwrap().mean();
        let theirs = theirs(rows, name, queue, group);
        let starved = cell.kind != Loop::Open && ours.max(theirs) <= STARVED * cell.rate() as f64;
        // Of an explained row a difference of so small a part is chance, too.
        let slight = explained && (ours - theirs).abs() <= STARVED * cell.rate() as f64;
        if !starved && !slight && (ours / theirs - 1.0).abs() > cell.within(queue) {
            far.push(format!("{name}, {queue}: {group} gets {ours:.0} for {theirs:.0} bit/s"));
        }
        // Without a flood rates are the line's in any case. What tells queues apart is this.
        if cell.floods() == 0 && cell.back_rate.is_none() && !explained {
            let ours = [of.delay_ms.mean, of.loss_ratio, of.mark_ratio];
            let ours = ours.map(|figure| figure.unwrap().mean());
            let theirs = wait_loss_and_marks(rows, name, queue, group);
            for (ours, theirs) in ours.into_iter().zip(theirs) {
                if (ours / theirs - 1.0).abs() > cell.within(queue) {
                    far.push(format!("{name}, {queue}: {group} has {ours:.5} for {theirs:.5}"));
                }
            }
        }
    }
    far
}

/// What differs too much of the cells of this loop, which have so many rows.
fn too_far(kind: Loop, rows_of_them: usize) -> Vec<String> {
    let (cells, rows) = (cells(), newest_kernel());
    let Cells { queue, cell } = &cells;
    let mut far = vec![];
    let mut seen = 0;
    for (name, cell) in cell.iter().filter(|(_, cell)| cell.kind == kind) {
        let all =
            || queue.iter().filter(|(_, of)| !of.named).map(|(name, _)| name.clone()).collect();
        for of in cell.queues.clone().unwrap_or_else(all) {
            far.extend(differences(&rows, name, cell, &of, &cells));
            seen += 1;
        }
    }
    assert_eq!(seen, rows_of_them);
    far
}

#[test]
fn queues_share_among_datagrams_as_the_kernel_s() {
    let far = too_far(Loop::Open, 26);
    assert!(far.is_empty(), "{far:#?}");
}

#[test]
fn queues_share_between_tcp_and_a_flood_as_the_kernel_s() {
    let far = too_far(Loop::Closed, 37);
    assert!(far.is_empty(), "{far:#?}");
}

#[test]
fn queues_share_in_a_gate_under_the_kernel_s_tcp_as_simulated() {
    let far = too_far(Loop::Gate, 44);
    assert!(far.is_empty(), "{far:#?}");
}
