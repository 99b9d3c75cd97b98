//! From a scenario's source to the simulator's.
use tidegate::{Bytes, Ecn, Prob, Size};
use tidegate_sim as sim;
use tidegate_sim::sources::tcp;

use super::connection::Connection;
use super::following::Following;
use super::sources::{Cbr, Source};
use super::tcp::{Acks, Codepoint, Handshake, LossRecovery, Rules, Switch, Timestamps};

/// The simulator's source.
pub(crate) fn lowered(source: &Source) -> sim::Source {
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
        // Each flow's own: another one, and segments of another length.
        Source::Following(f) => {
            sim::Source::Following(lower_following(f, sim::FlowId::nth(0), f.packet))
        }
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

fn codepoint(ecn: Codepoint) -> Ecn {
    match ecn {
        Codepoint::On => Ecn::Ect0,
        Codepoint::Ect1 => Ecn::Ect1,
        Codepoint::Off => Ecn::NotEct,
    }
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
        ecn: t.ecn,
        acks: match t.receiver {
            Acks::Honest => tcp::Acks::Honest,
            Acks::Divide => tcp::Acks::Divided(t.receiver_acks),
            Acks::Repeat => tcp::Acks::Repeated(t.receiver_acks),
            Acks::Anticipate => tcp::Acks::Anticipated(t.receiver_acks),
            Acks::HideMarks => tcp::Acks::Unmarked,
        },
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

/// The source that follows flow `follows`, whose segments have the length `segment`.
pub(crate) fn lower_following(
    f: &Following,
    follows: sim::FlowId,
    segment: Bytes,
) -> sim::Following {
    let (jitter, ecn) = (Prob::clip(f.jitter), codepoint(f.ecn));
    let flood = sim::Cbr { rate: f.rate, packet: f.packet, jitter, ecn };
    sim::Following { follows, flood, window: f.window.in_packets(segment), every: f.every }
}
