//! From what was counted to the result document.
use std::collections::BTreeMap;
use std::time::Duration;

use tidegate::Span;
use tidegate_packet::{Address, Ends, FlowKey, Transport};
use tidegate_report as report;
use tidegate_report::fair::Worst;
use tidegate_report::{
    Aggregate, Bottleneck, Conduct, Counts, Delay, Document, Figure, Line, PacketSource, PerFlow,
    Queue, Series, SeriesQuantity, fair,
};

use super::meter::{FlowAccount, GRID, WireReading};
use super::rig::{SERVER, client};
use super::traffic::{DemoFlow, SendingPattern, flows};
use super::{Demo, Measured, Trial};

/// What `reading` says of `trial`, which took `wall`.
pub(super) fn measured(
    demo: &Demo,
    trial: &Trial,
    reading: WireReading,
    wall: Duration,
) -> Measured {
    let view = ResultView::new(demo, &reading);
    let link = &demo.link;
    let by_key = Some(demo.flow_key).filter(|key| *key != FlowKey::FiveTuple);
    let document = Document {
        source: PacketSource::Measured,
        scenario: "gate demo".into(),
        label: trial.label.clone(),
        queue: Queue {
            name: trial.config.name().into(),
            preset: Some(trial.preset.clone()),
            params: trial
                .config
                .values()
                .into_iter()
                .map(|(p, value)| (p.name.to_string(), value))
                .collect(),
        },
        version: env!("CARGO_PKG_VERSION").into(),
        wall_s: Some(wall.as_secs_f64()),
        packets: Some(reading.flows.iter().map(|a| a.offered).sum()),
        incomplete: (reading.uncounted > 0).then(|| {
            format!("{} packets went by uncounted: this machine was too slow", reading.uncounted)
        }),
        bottleneck: Bottleneck {
            rate_bps: Some(link.rate.as_bps() as f64),
            limit: Some(link.limit.to_string()),
            duration_s: Some(demo.duration.as_secs()),
            warmup_s: Some(demo.warmup.as_secs()),
            flow_key: by_key.map(|key| key.to_string()),
            flow_count: by_key.map(|_| view.keys.len() as u64),
        },
        aggregate: view.aggregate(),
        groups: (0..demo.groups.len()).map(|group| view.group(group)).collect(),
        flows: Some(view.flows.iter().map(|flow| view.flow(*flow)).collect()),
        ..Document::default()
    };
    let series = view.series(&reading);
    Measured { document, series }
}

/// What all parts of the document look at.
struct ResultView<'d> {
    demo: &'d Demo,
    flows: Vec<DemoFlow>,
    accounts: &'d [FlowAccount],
    /// The flows that the flow key makes one, for each such.
    keys: Vec<Vec<usize>>,
    /// Each flow's fair share in bit/s.
    fair: Vec<f64>,
}

impl<'d> ResultView<'d> {
    fn new(demo: &'d Demo, reading: &'d WireReading) -> ResultView<'d> {
        let flows = flows(&demo.groups);
        let mut keys: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (i, flow) in flows.iter().enumerate() {
            keys.entry(demo.flow_key.flow(&ends(demo, *flow))).or_default().push(i);
        }
        let keys: Vec<Vec<usize>> = keys.into_values().collect();
        let mut view = ResultView { demo, flows, accounts: &reading.flows, keys, fair: vec![] };
        view.fair = view.fair_shares();
        view
    }

    /// What the flow key makes one has one share, which its flows have in equal parts.
    fn fair_shares(&self) -> Vec<f64> {
        let demand = |flow: &usize| match self.demo.groups[self.flows[*flow].group].sending {
            SendingPattern::Tcp(_) => f64::INFINITY,
            SendingPattern::Udp { .. } => self.rate(self.accounts[*flow].offered_bytes),
        };
        let demands: Vec<f64> =
            self.keys.iter().map(|flows| flows.iter().map(demand).sum()).collect();
        let mut shares = vec![0.0; self.flows.len()];
        for (flows, share) in
            self.keys.iter().zip(fair::max_min(&demands, self.demo.link.rate.as_bps() as f64))
        {
            flows.iter().for_each(|&flow| shares[flow] = share / flows.len() as f64);
        }
        shares
    }

    /// So many bytes in the measured time, as bit/s.
    fn rate(&self, bytes: u64) -> f64 {
        bytes as f64 * 8.0 / self.demo.duration.as_secs()
    }

    /// How long frames waited: what they took beyond the delay line. A frame leaves when its own
    /// time on the wire begins.
    fn waits(&self, flows: impl Iterator<Item = usize>) -> Vec<f64> {
        let wait = |took: &Span| (took.as_millis() - self.demo.delay.as_millis()).max(0.0);
        let mut waits: Vec<f64> =
            flows.flat_map(|i| self.accounts[i].took.iter().map(wait)).collect();
        waits.sort_by(f64::total_cmp);
        waits
    }

    fn members(&self, group: usize) -> impl Iterator<Item = usize> + Clone {
        self.flows.iter().enumerate().filter(move |(_, flow)| flow.group == group).map(|(i, _)| i)
    }

    /// What each user of `group`, those of its flows that the flow key makes one, got, and its fair
    /// share, in bit/s. Repeats of what had arrived count, since frames are counted on the wire.
    fn users(&self, group: usize) -> impl Iterator<Item = (f64, f64)> {
        let of = move |flows: &Vec<usize>| {
            let mine = flows.iter().filter(|&&flow| self.flows[flow].group == group);
            let each = mine.map(|&i| (self.rate(self.accounts[i].received_bytes), self.fair[i]));
            each.reduce(|(got, fair), (more, share)| (got + more, fair + share))
        };
        self.keys.iter().filter_map(of)
    }

    fn sum(&self, flows: impl Iterator<Item = usize>, what: fn(&FlowAccount) -> u64) -> u64 {
        flows.map(|i| what(&self.accounts[i])).sum()
    }

    fn aggregate(&self) -> Aggregate {
        let all = || 0..self.flows.len();
        let of_keys: Vec<f64> = self
            .keys
            .iter()
            .map(|flows| self.rate(self.sum(flows.iter().copied(), |a| a.received_bytes)))
            .collect();
        let received = self.rate(self.sum(all(), |a| a.received_bytes));
        let (offered, delivered) =
            (self.sum(all(), |a| a.offered), self.sum(all(), |a| a.delivered));
        let waits = self.waits(all());
        Aggregate {
            jain: fair::jain(&of_keys).and_then(Figure::exact),
            utilization: Figure::exact(received / self.demo.link.rate.as_bps() as f64),
            throughput_bps: Figure::exact(received),
            loss_ratio: ratio(offered - delivered, offered),
            mark_ratio: ratio(self.sum(all(), |a| a.marked), offered),
            // Little's law: those that came in, times how long they waited.
            queue_packets: Figure::exact(
                waits.iter().sum::<f64>() / 1e3 / self.demo.duration.as_secs(),
            ),
            queue_delay_ms: delay(&waits),
            ..Aggregate::default()
        }
    }

    fn group(&self, index: usize) -> report::Group {
        let group = &self.demo.groups[index];
        let flows = || self.members(index);
        let rates: Vec<f64> = flows().map(|i| self.rate(self.accounts[i].received_bytes)).collect();
        let of = |what| self.sum(flows(), what);
        let (offered, delivered) = (of(|a| a.offered), of(|a| a.delivered));
        let worst = Worst::of(self.users(index));
        report::Group {
            name: group.name.clone(),
            count: group.count.into(),
            throughput_bps: Figure::exact(rates.iter().sum()),
            loss_ratio: ratio(offered - delivered, offered),
            mark_ratio: ratio(of(|a| a.marked), offered),
            per_flow: PerFlow {
                mean: Figure::exact(rates.iter().sum::<f64>() / rates.len() as f64),
                min: rates.iter().copied().min_by(f64::total_cmp).and_then(Figure::exact),
                max: rates.iter().copied().max_by(f64::total_cmp).and_then(Figure::exact),
            },
            jain: fair::jain(&rates).and_then(Figure::exact),
            fair_share_bps: Figure::exact(flows().map(|i| self.fair[i]).sum()),
            offered_bps: Figure::exact(self.rate(of(|a| a.offered_bytes))),
            delay_ms: delay(&self.waits(flows())),
            worst_share: worst.and_then(|worst| Figure::exact(worst.share)),
            starved: worst.and_then(|worst| Figure::exact(worst.starved as f64)),
            conduct: Some(match group.sending {
                SendingPattern::Tcp(_) => Conduct::Responsive,
                SendingPattern::Udp { .. } => Conduct::Unresponsive,
            }),
            ..report::Group::default()
        }
    }

    fn flow(&self, flow: DemoFlow) -> report::Flow {
        let index = usize::from(flow.index);
        let account = &self.accounts[index];
        let FlowAccount { offered, delivered, marked, .. } = *account;
        report::Flow {
            index: index as u64,
            label: ends(self.demo, flow).to_string(),
            group: Some(self.demo.groups[flow.group].name.clone()),
            throughput_bps: Figure::exact(self.rate(account.received_bytes)),
            loss_ratio: ratio(offered - delivered, offered),
            mark_ratio: ratio(marked, offered),
            delay_ms: delay(&self.waits(std::iter::once(index))),
            fair_share_bps: Figure::exact(self.fair[index]),
            offered_bps: Figure::exact(self.rate(account.offered_bytes)),
            packets: Some(Counts { offered, delivered, dropped: offered - delivered, marked }),
            ..report::Flow::default()
        }
    }

    fn series(&self, reading: &WireReading) -> Series {
        let pieces =
            self.accounts.iter().map(|a| a.received_over_time.len()).max().unwrap_or_default();
        let grid = |i: usize| (i + 1) as f64 * GRID.as_secs();
        let rates = |group: usize| {
            let bytes = move |piece: usize| {
                self.members(group)
                    .map(|i| self.accounts[i].received_over_time.get(piece).copied().unwrap_or(0))
                    .sum()
            };
            let rate = move |piece| {
                let bytes: u64 = bytes(piece);
                bytes as f64 * 8.0 / GRID.as_secs()
            };
            Line::new(
                SeriesQuantity::Throughput,
                &self.demo.groups[group].name,
                "bit/s",
                (0..pieces).map(rate),
            )
        };
        let took = |piece: usize| {
            let (sum, count) = reading.took_over_time.get(piece).copied().unwrap_or_default();
            (sum.as_millis() / count as f64 - self.demo.delay.as_millis()).max(0.0)
        };
        let waits = Line::new(SeriesQuantity::Delay, "mean", "ms", (0..pieces).map(took));
        let lines = (0..self.demo.groups.len()).map(rates).chain([waits]).collect();
        Series { seed: None, time_s: (0..pieces).map(grid).collect(), lines }
    }
}

/// Who sends to whom; the sender's port is the kernel's choice, and here nobody's.
fn ends(demo: &Demo, flow: DemoFlow) -> Ends {
    let protocol = match demo.groups[flow.group].sending {
        SendingPattern::Tcp(_) => 6,
        SendingPattern::Udp { .. } => 17,
    };
    Ends {
        source: Address::V4(client(flow.index).octets()),
        destination: Address::V4(SERVER.octets()),
        transport: Transport::Ports { protocol, source: 0, destination: flow.port() },
    }
}

fn ratio(part: u64, whole: u64) -> Option<Figure> {
    Figure::exact(part as f64 / whole as f64)
}

/// Of `waits` in ms, which rise.
fn delay(waits: &[f64]) -> Delay {
    let quantile = |q: f64| {
        let rank = (q * waits.len() as f64).ceil() as usize;
        waits.get(rank.saturating_sub(1)).copied().and_then(Figure::exact)
    };
    let mean = Figure::exact(waits.iter().sum::<f64>() / waits.len() as f64);
    let sd = mean.and_then(|m| {
        let squares: f64 = waits.iter().map(|w| (w - m.mean()) * (w - m.mean())).sum();
        Figure::exact((squares / waits.len() as f64).sqrt())
    });
    Delay { mean, sd, p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99) }
}
