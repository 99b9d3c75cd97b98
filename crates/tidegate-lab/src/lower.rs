//! From a laid-out scenario to the simulator's network.
use tidegate::catalog::AnyQueue;
use tidegate::{Bytes, ConfigError, Ecn, Link, Prob, Seed, Size, Span};
use tidegate_sim as sim;
use tidegate_sim::sources::tcp;

use crate::plan::Plan;
use crate::run::Configs;
use crate::scenario::{
    Cbr, Connection, Group, Handshake, LossRecovery, Network, Rules, Scenario, Source, Switch,
    Timestamps,
};

/// The network of `plan` with `queue` at its managed links.
///
/// # Errors
/// A queue that cannot be built.
pub(crate) fn network(
    scenario: &Scenario,
    plan: &Plan,
    queue: &Configs,
    seed: Seed,
) -> Result<sim::Network<AnyQueue>, ConfigError> {
    let mut network = sim::Network::new();
    let name = |node: u32| plan.nodes.get(node as usize).map_or("", String::as_str);
    let nodes: Vec<sim::NodeId> =
        (0..plan.node_count).map(|node| network.node(name(node))).collect();
    let mean_packet = mean_packet(scenario);
    let mut configs = queue.links.iter();
    for (index, wire) in plan.wires.iter().enumerate() {
        let (from, to) = (nodes[wire.from as usize], nodes[wire.to as usize]);
        let Some(limit) = wire.limit else {
            // Links that cannot drop have no figures, and so need no name.
            network.link("", from, to, wire.rate, wire.delay);
            continue;
        };
        let label = format!("{}->{}", name(wire.from), name(wire.to));
        let config = configs.next().expect("every managed link has a configuration");
        let link = Link { rate: wire.rate, limit, mean_packet };
        // By its number, since two links may lie between the same nodes.
        let dice = seed.stream(&format!("queue {index} {label}"));
        let id = network.queue(label, (from, to), wire.rate, wire.delay, config.build(link, dice)?);
        network.limit(id, limit);
    }
    let groups: Vec<_> = scenario.groups.iter().map(|group| network.group(&group.name)).collect();
    let sources: Vec<_> = scenario.groups.iter().map(|group| source(&group.source)).collect();
    let mut within = vec![0; groups.len()];
    for flow in &plan.flows {
        let index = within[flow.group as usize];
        within[flow.group as usize] += 1;
        let id = network.flow(sim::Flow {
            group: groups[flow.group as usize],
            from: nodes[flow.from as usize],
            to: nodes[flow.to as usize],
            key: flow.key,
            class: scenario.groups[flow.group as usize].class.of(index),
            start: flow.start,
            stop: flow.stop,
            source: match &scenario.groups[flow.group as usize] {
                Group { source: Source::Replay(_, arrivals), count, .. } => {
                    let arrivals = arrivals.of(index, *count as usize);
                    sim::Source::Replay(tidegate_sim::sources::Replay { arrivals })
                }
                _ => with_data(&sources[flow.group as usize], flow.data),
            },
        });
        if !flow.again.is_empty() {
            network.again(id, flow.again.clone());
        }
    }
    Ok(network)
}

fn mean_packet(scenario: &Scenario) -> Bytes {
    match &scenario.network {
        Network::Dumbbell(dumbbell) => dumbbell.mean_packet,
        Network::Graph(graph) => graph.mean_packet,
    }
}

/// The simulator's source.
pub(crate) fn source(source: &Source) -> sim::Source {
    match source {
        Source::Tcp(connection)
        | Source::Finite(connection)
        | Source::Unresponsive(_, connection) => sim::Source::Tcp(lower_tcp(connection)),
        Source::Web(web, connection) => sim::Source::Web(tidegate_sim::sources::Web {
            tcp: lower_tcp(connection),
            size: web.size.law.clone(),
            think: web.think.law.clone(),
        }),
        Source::Replay(..) => {
            sim::Source::Replay(tidegate_sim::sources::Replay { arrivals: [].into() })
        } // each flow's own
        Source::Tfrc(t) => sim::Source::Tfrc(sim::Tfrc {
            packet: t.packet,
            report: t.report,
            rules: t.rules,
            damping: t.damping,
            ecn: codepoint(t.ecn),
        }),
        Source::Cbr(cbr) => sim::Source::Cbr(lower_cbr(cbr)),
        Source::OnOff(o) => sim::Source::OnOff(sim::OnOff {
            rate: o.rate,
            packet: o.packet,
            on: o.on.law.clone(),
            off: o.off.law.clone(),
            begin: o.begin,
            ecn: codepoint(o.ecn),
        }),
        Source::Voip(v) => sim::Source::OnOff(sim::OnOff {
            rate: v.rate,
            packet: v.packet,
            on: v.talk.law.clone(),
            off: v.silence.law.clone(),
            begin: tidegate_sim::sources::Begin::Either,
            ecn: codepoint(v.ecn),
        }),
        Source::Oscillating(o) => sim::Source::Oscillating(sim::Oscillating {
            high: o.high,
            low: o.low,
            high_during: o.high_during.times().into(),
            packet: o.packet,
            jitter: Prob::clip(o.jitter),
            ecn: codepoint(o.ecn),
        }),
    }
}

/// `source` with so much to send, rounded up to whole packets.
fn with_data(source: &sim::Source, data: Option<Bytes>) -> sim::Source {
    match (source.clone(), data) {
        (sim::Source::Tcp(tcp), Some(data)) => {
            let segments = data.get().div_ceil(tcp.segment.get()).clamp(1, u32::MAX as u64 - 2);
            sim::Source::Tcp(sim::Tcp { data: Some(segments as u32), ..tcp })
        }
        (source, _) => source,
    }
}

fn codepoint(ecn: Switch) -> Ecn {
    if ecn == Switch::On { Ecn::Ect0 } else { Ecn::NotEct }
}

fn lower_tcp(connection: &Connection) -> sim::Tcp {
    let t = &connection.tcp;
    let packets = |size: Size| size.in_packets(t.packet);
    let flavor = match t.loss_recovery {
        LossRecovery::Sack => tcp::Flavor::Sack,
        LossRecovery::NewReno => tcp::Flavor::NewReno,
        LossRecovery::Reno => tcp::Flavor::Reno,
        LossRecovery::Rack => tcp::Flavor::Rack,
    };
    let base = match t.rules {
        Rules::Rfc => sim::Tcp { flavor, ..sim::Tcp::reno() },
        Rules::Ns2 => sim::Tcp::ns2(flavor),
        Rules::Ns1 => sim::Tcp::ns1(flavor),
        Rules::Linux => sim::Tcp { flavor, rules: tcp::Rules::Linux, ..sim::Tcp::reno() },
    };
    sim::Tcp {
        congestion: connection.congestion.clone(),
        segment: t.packet,
        ack: t.ack,
        data: None, // each flow's own; see `with_data`
        initial_window: packets(t.initial_window),
        receiver_window: packets(t.window).min(u32::MAX as f64) as u32,
        handshake: match t.handshake {
            Handshake::Skip => tcp::Handshake::Skip,
            Handshake::Syn => tcp::Handshake::Syn,
        },
        ecn: if t.ecn == Switch::On { tcp::EcnUse::On } else { tcp::EcnUse::Off },
        limited_transmit: match t.limited_transmit {
            Switch::On => tcp::LimitedTransmit::On,
            Switch::Off => tcp::LimitedTransmit::Off,
        },
        timestamps: match t.timestamps {
            Timestamps::Auto => base.timestamps,
            Timestamps::On => tcp::Timestamps::On,
            Timestamps::Off => tcp::Timestamps::Off,
        },
        min_rto: t.min_rto,
        initial_rto: t.initial_rto,
        max_rto: t.max_rto,
        delayed_ack: t.delayed_ack,
        tick: t.tick,
        overhead: t.overhead,
        ..base
    }
}

fn lower_cbr(c: &Cbr) -> sim::Cbr {
    sim::Cbr { rate: c.rate, packet: c.packet, jitter: Prob::clip(c.jitter), ecn: codepoint(c.ecn) }
}

/// Milliseconds, the unit of delays in results.
pub(crate) fn milli(span: Option<Span>) -> Option<f64> {
    span.map(Span::as_millis)
}
