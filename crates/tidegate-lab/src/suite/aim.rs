//! Queues aimed at a delay, for cells that have a `target`.
//!
//! RFC 7928 §4.3.1 asks to compare queues over a range of their targets, since a target means
//! something else in each. Where the queue has a parameter for it, that is aimed: the delay of
//! CoDel and PIE, or the length of REM and its kin. For RED and its kin it is the thresholds, which
//! the average is meant to stay between. For all others it is the room: what the line sends in that
//! time.
use tidegate::catalog::{self, Row};
use tidegate::config::Value;
use tidegate::{Bytes, Size, Span};

use crate::scenario::{Network, Scenario};
use crate::spec::QueueSpec;

/// CoDel's interval is at least so many targets (nichols2018 §4.3).
const INTERVAL: u64 = 10;
/// The least room, in packets: one that is sent, one that waits.
const LEAST: u64 = 2;

/// `spec` on the line of `scenario`, aimed at `target`.
pub(super) fn aimed(spec: &QueueSpec, target: Span, scenario: &Scenario) -> (QueueSpec, Scenario) {
    let (mut spec, mut scenario) = (spec.clone(), scenario.clone());
    let link = scenario.bottleneck();
    let bytes = link.rate.bytes_in(target).get().max(1);
    let row = if spec.foreign.is_some() { None } else { catalog::find(&spec.name) };
    let sets = row.map(|row| sets(row, target, bytes)).unwrap_or_default();
    if sets.is_empty()
        && let Network::Dumbbell(line, _) = &mut scenario.network
    {
        let packets = bytes.div_ceil(link.mean_packet.get()).max(LEAST);
        line.limit = Size::Packets(packets);
    }
    spec.params.extend(sets);
    (spec, scenario)
}

/// The parameters of a queue that are its target; none of a queue that has no target.
fn sets(row: &Row, target: Span, bytes: u64) -> Vec<(String, String)> {
    let kind = |name: &str| row.params.iter().find(|param| param.name == name).map(|p| p.kind);
    let text = |name: &str, value: String| (name.to_string(), value);
    let length = |bytes: u64| Bytes::new(bytes.max(1)).write();
    match kind("target") {
        Some(kind) if kind == Span::KIND => {
            let mut sets = vec![text("target", target.write())];
            let interval = Span::from_nanos(INTERVAL.saturating_mul(target.as_nanos()));
            if row.has("interval") {
                sets.push(text("interval", interval.max(Span::from_millis(100)).write()));
            }
            sets
        }
        Some(kind) if kind == Size::KIND || kind == Bytes::KIND => {
            vec![text("target", length(bytes))]
        }
        // BARE's is a probability.
        Some(_) => vec![],
        // In SFQ-RED and SFRED the thresholds are of a bin.
        None if kind("max").is_some_and(|kind| kind == Size::KIND) && kind("bins").is_none() => {
            vec![text("min", length(bytes / 2)), text("max", length(bytes / 2 * 3))]
        }
        None => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "[network]\nrate = \"12 Mbit/s\"\nlimit = \"100 packets\"\n\
                        mean_packet = \"1500 B\"\n[[group]]\nname = \"g\"\nsource = \"sack\"\n";

    #[test]
    fn every_queue_can_be_aimed_and_each_by_its_own_means() {
        let scenario = Scenario::parse(LINE.as_bytes(), "s.toml", &[]).unwrap();
        for row in catalog::QUEUES {
            for ms in [1, 5, 80] {
                let spec = QueueSpec::named(row.name);
                let (spec, aimed) = aimed(&spec, Span::from_millis(ms), &scenario);
                let link = aimed.bottleneck();
                spec.possible(&link).unwrap_or_else(|error| panic!("{}: {error}", row.name));
                assert!(spec.params.is_empty() != (aimed == scenario), "{} at {ms} ms", row.name);
            }
        }
        let of = |name: &str| {
            let (spec, scenario) = aimed(&QueueSpec::named(name), Span::from_millis(20), &scenario);
            let sets: Vec<String> = spec.params.iter().map(|(k, v)| format!("{k}={v}")).collect();
            (sets.join(" "), scenario.bottleneck().limit)
        };
        // 20 ms of 12 Mbit/s are 30 kB or 20 packets.
        let usual = Size::Packets(100);
        assert_eq!(of("codel"), ("target=20 ms interval=200 ms".into(), usual));
        assert_eq!(of("pie"), ("target=20 ms".into(), usual));
        assert_eq!(of("red"), ("min=15 kB max=45 kB".into(), usual));
        assert_eq!(of("rem"), ("target=30 kB".into(), usual));
        assert_eq!(of("drop_tail"), (String::new(), Size::Packets(20)));
        assert_eq!(of("sfq_red"), (String::new(), Size::Packets(20)));
    }
}
