//! The `tc` commands for the queues that Linux has.
use tidegate::catalog::AnyConfig;
use tidegate::{Link, Size, Span};

use crate::spec::QueueSpec;

/// What Linux's own sfb is called here: ours has other bins.
const SFB: &str = "linux";
/// Packets that Linux's sfq lets one flow have at most.
const SFQ_DEPTH: u64 = 127;
/// PIE's α and β are told to tc in sixteenths.
const SIXTEENTHS: f64 = 16.0;

/// The commands that put `spec` with the parameters `config` in front of `link`, on the interface
/// `interface`; none if Linux has no such queue.
pub fn commands(
    spec: &QueueSpec,
    config: &AnyConfig,
    link: &Link,
    interface: &str,
) -> Option<Vec<String>> {
    let queue = queue(spec, &Words { config, link })?;
    let rate = format!("{}bit", link.rate.as_bps());
    Some(vec![
        format!("tc qdisc replace dev {interface} root handle 1: htb default 1"),
        format!("tc class replace dev {interface} parent 1: classid 1:1 htb rate {rate}"),
        format!("tc qdisc replace dev {interface} parent 1:1 {queue}"),
    ])
}

fn queue(spec: &QueueSpec, words: &Words<'_>) -> Option<String> {
    let packets = words.packets();
    let ecn = words.ecn();
    let text = match spec.name.as_str() {
        "drop_tail" => format!("bfifo limit {}", words.bytes(words.link.limit)),
        "fq_codel" => format!(
            "fq_codel limit {packets} flows {} quantum {} target {} interval {}{ecn}",
            words.number("flows")?,
            words.size("quantum")?,
            words.time("target")?,
            words.time("interval")?
        ),
        "codel" => {
            let (target, interval) = (words.time("target")?, words.time("interval")?);
            format!("codel limit {packets} target {target} interval {interval}{ecn}")
        }
        "pie" => format!(
            "pie limit {packets} target {} tupdate {} alpha {} beta {}{ecn}",
            words.time("target")?,
            words.time("tupdate")?,
            words.sixteenths("alpha")?,
            words.sixteenths("beta")?
        ),
        "dualpi2" => words.dualpi2(packets)?,
        "fq_pie" => format!(
            "fq_pie limit {packets} flows {} target {} tupdate {} alpha {} beta {} quantum \
             {}{ecn}{}",
            words.number("flows")?,
            words.time("target")?,
            words.time("tupdate")?,
            words.sixteenths("alpha")?,
            words.sixteenths("beta")?,
            words.size("quantum")?,
            words.ecn_prob()?,
        ),
        "hhf" => words.hhf(packets)?,
        "sfq" => words.sfq(packets)?,
        "red" => format!("red limit {} {}", words.bytes(words.link.limit), words.red()?),
        "choke" => format!("choke limit {packets} {}", words.choke()?),
        "sfb" if spec.preset() == SFB => format!("sfb limit {packets}"),
        _ => return None,
    };
    Some(text)
}

/// A queue's parameters in tc's words.
struct Words<'c> {
    config: &'c AnyConfig,
    link: &'c Link,
}

impl Words<'_> {
    fn number(&self, param: &str) -> Option<f64> {
        self.config.get(param)?.parse().ok()
    }

    fn span(&self, param: &str) -> Option<Span> {
        self.config.get(param)?.parse().ok()
    }

    fn time(&self, param: &str) -> Option<String> {
        Some(format!("{}us", self.span(param)?.as_nanos() / 1000))
    }

    /// A size in bytes.
    fn size(&self, param: &str) -> Option<u64> {
        Some(self.bytes(self.config.get(param)?.parse().ok()?))
    }

    fn bytes(&self, size: Size) -> u64 {
        size.in_bytes(self.link.mean_packet)
    }

    /// The limit in packets.
    fn packets(&self) -> u64 {
        match self.link.limit {
            Size::Packets(packets) => packets,
            size => (self.bytes(size) / self.link.mean_packet.get()).max(1),
        }
    }

    fn sixteenths(&self, param: &str) -> Option<u64> {
        Some((self.number(param)? * SIXTEENTHS).round() as u64)
    }

    fn ecn(&self) -> &'static str {
        match self.config.get("ecn").as_deref() {
            Some("mark" | "on") => " ecn",
            _ => "",
        }
    }

    /// Linux has a step, no ramp: it is put where half the ramp's packets are marked.
    fn dualpi2(&self, packets: u64) -> Option<String> {
        let step = self.span("min_th")? + Span::from_nanos(self.span("range")?.as_nanos() / 2);
        Some(format!(
            "dualpi2 limit {packets} target {} tupdate {} alpha {} beta {} coupling_factor {} \
             step_thresh {}us classic_protection {}%",
            self.time("target")?,
            self.time("tupdate")?,
            self.number("alpha")?,
            self.number("beta")?,
            self.number("coupling_factor")?.round().max(1.0),
            step.as_nanos() / 1000,
            (self.number("classic_protection")? * 100.0).round()
        ))
    }

    fn hhf(&self, packets: u64) -> Option<String> {
        Some(format!(
            "hhf limit {packets} quantum {} hh_limit {} reset_timeout {} admit_bytes {} \
             evict_timeout {} non_hh_weight {}",
            self.size("quantum")?,
            self.number("hh_limit")?,
            self.time("reset_timeout")?,
            self.size("admit_bytes")?,
            self.time("evict_timeout")?,
            self.number("non_hh_weight")?,
        ))
    }

    /// In per cent, where there are marks.
    fn ecn_prob(&self) -> Option<String> {
        let per_cent = (100.0 * self.number("ecn_prob")?).round();
        Some(if self.ecn().is_empty() { String::new() } else { format!(" ecn_prob {per_cent}") })
    }

    fn sfq(&self, packets: u64) -> Option<String> {
        let divisor = (self.number("bins")? as u64).next_power_of_two().min(65_536);
        let flows = (divisor / 2).clamp(127, 65_408).max(packets.div_ceil(SFQ_DEPTH));
        let perturb = self.span("perturb")?.as_nanos() / 1_000_000_000;
        Some(format!(
            "sfq limit {packets} depth {SFQ_DEPTH} flows {flows} divisor {divisor} perturb \
             {perturb} quantum 1514"
        ))
    }

    fn red(&self) -> Option<String> {
        let average = self.link.mean_packet.get();
        let (min, max) = (self.size("min")?, self.size("max")?);
        // The least burst that tc lets pass: its average is to cross `min` with it.
        let burst = (2 * min + max) / (3 * average) + 1;
        Some(format!(
            "min {min} max {max} avpkt {average} burst {burst} probability {} bandwidth {}bit{}",
            self.number("probability")?,
            self.link.rate.as_bps(),
            self.ecn()
        ))
    }

    fn choke(&self) -> Option<String> {
        let packets = |param| Some(self.size(param)? / self.link.mean_packet.get());
        let (min, max): (u64, u64) = (packets("min")?, packets("max")?);
        Some(format!(
            "min {min} max {max} burst {} probability {} bandwidth {}bit{}",
            (2 * min + max) / 3 + 1,
            self.number("probability")?,
            self.link.rate.as_bps(),
            self.ecn()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::{Bytes, Rate};

    /// What is said of queues by their names here.
    const EXPECTED: &[(&str, &str)] = &[
        ("drop_tail", "bfifo limit 1250000"),
        (
            "fq_codel/paper",
            "fq_codel limit 1250 flows 1024 quantum 1514 target 5000us interval 100000us ecn",
        ),
        ("codel/paper", "codel limit 1250 target 5000us interval 100000us ecn"),
        ("pie/paper", "pie limit 1250 target 15000us tupdate 15000us alpha 2 beta 20 ecn"),
        (
            "fq_pie/paper",
            "fq_pie limit 1250 flows 1024 target 15000us tupdate 15000us alpha 2 beta 20 \
             quantum 1514",
        ),
        (
            "fq_pie/paper,ecn=on,flows=64",
            "fq_pie limit 1250 flows 64 target 15000us tupdate 15000us alpha 2 beta 20 \
             quantum 1514 ecn ecn_prob 10",
        ),
        (
            "hhf/paper",
            "hhf limit 1250 quantum 1514 hh_limit 2048 reset_timeout 40000us admit_bytes \
             131072 evict_timeout 1000000us non_hh_weight 2",
        ),
        ("sfb/linux", "sfb limit 1250"),
        (
            "dualpi2/linux",
            "dualpi2 limit 1250 target 15000us tupdate 16000us alpha 0.16 beta 3.2 \
             coupling_factor 2 step_thresh 1000us classic_protection 10%",
        ),
    ];

    #[test]
    fn the_queues_that_linux_has() {
        let link = Link {
            rate: Rate::from_bps(100_000_000),
            limit: Size::Bytes(1_250_000),
            mean_packet: Bytes::new(1000),
        };
        let told = |text: &str| {
            let spec: QueueSpec = text.parse().unwrap();
            let commands = commands(&spec, &spec.resolve(&link).unwrap(), &link, "eth2")?;
            assert!(commands[1].ends_with("htb rate 100000000bit"));
            Some(commands[2].clone())
        };
        let begin = "tc qdisc replace dev eth2 parent 1:1 ";
        for (queue, text) in EXPECTED {
            assert_eq!(told(queue), Some(format!("{begin}{text}")));
        }
        for queue in ["sfq", "red", "choke"] {
            assert!(told(queue).unwrap().starts_with(&format!("{begin}{queue} limit ")), "{queue}");
        }
        for queue in ["sfb", "drr", "care", "ewfq"] {
            assert_eq!(told(queue), None, "{queue}");
        }
    }
}
