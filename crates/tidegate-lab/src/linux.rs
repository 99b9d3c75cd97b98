//! The `tc` commands for the queues that Linux has, as each queue's entry says them.
use tidegate::catalog::{AnyConfig, Linux, Row};
use tidegate::{ConfigError, Link, Size, Span, catalog};

use crate::spec::QueueSpec;

/// Packets that Linux's sfq lets one flow have at most.
const SFQ_DEPTH: u64 = 127;
/// What a full packet takes of the kernel's memory (its `truesize`), in bytes: a buffer of 2 KiB
/// and what describes it. Cake's `memlimit` counts that, not lengths.
const MEMORY: u64 = 2304;
/// The bits of the kernel's word: RED's greatest threshold and its average's weight share them.
const WORD: u32 = 32;
/// `tc` takes PIE's α and β in sixteenths.
const SIXTEENTHS: f64 = 16.0;

/// The commands that put `spec` with the parameters `config` in front of `link`, on the interface
/// `interface`; none if Linux has no such queue, or not by these commands alone.
pub fn commands(
    spec: &QueueSpec,
    config: &AnyConfig,
    link: &Link,
    interface: &str,
) -> Option<Vec<String>> {
    let linux = config.row().linux.filter(|linux| linux.whole)?;
    // Where Linux's queue is a preset of ours, the others are none of Linux's.
    if linux.preset != catalog::DEFAULT_PRESET && spec.preset() != linux.preset {
        return None;
    }
    // Of Linux's queues only cake serves hosts before flows.
    let by_hosts = config.get("isolation").is_some_and(|by| by != "flows");
    if by_hosts && config.name() != "cake" {
        return None;
    }
    let queue = filled(&linux, config, link)?;
    let rate = format!("{}bit", link.rate.as_bps());
    Some(vec![
        format!("tc qdisc replace dev {interface} root handle 1: htb default 1"),
        format!("tc class replace dev {interface} parent 1: classid 1:1 htb rate {rate}"),
        format!("tc qdisc replace dev {interface} parent 1:1 {queue}"),
    ])
}

/// The line for Linux's queue of the kind of `row` on `link`, and what it says of itself; none if
/// there is none, or only inside another.
///
/// # Errors
/// The queue cannot be on that link.
pub fn line(row: &Row, link: &Link) -> Result<Option<(String, Linux)>, ConfigError> {
    let Some(linux) = row.linux.filter(Linux::has_line) else { return Ok(None) };
    let config = catalog::config(row.name, Some(linux.preset), link)?;
    let text = filled(&linux, &config, link);
    Ok(text.map(|text| (format!("tc qdisc replace dev DEV root {text}"), linux)))
}

/// The words for `tc`, with every brace filled; none if one asks for what is not there.
fn filled(linux: &Linux, config: &AnyConfig, link: &Link) -> Option<String> {
    let words = TcWords { config, link };
    let mut text = String::new();
    let mut rest = linux.tc;
    while let Some((before, behind)) = rest.split_once('{') {
        let (asked, after) = behind.split_once('}')?;
        text += before;
        text += &words.word(asked)?;
        rest = after;
    }
    Some(text + rest)
}

/// A queue's parameters in tc's words.
struct TcWords<'c> {
    config: &'c AnyConfig,
    link: &'c Link,
}

impl TcWords<'_> {
    /// What stands in braces: a parameter or the limit, with its unit, or a word of its own.
    fn word(&self, asked: &str) -> Option<String> {
        let (name, unit) = asked.split_once(':').unwrap_or((asked, ""));
        let text = match (name, unit) {
            ("fifo", _) => {
                let packets = matches!(self.link.limit, Size::Packets(_));
                if packets { "pfifo" } else { "bfifo" }.into()
            }
            ("limit", "bytes") => self.bytes(self.link.limit).to_string(),
            ("limit", "packets") => self.packets().to_string(),
            ("limit", "memory") => (self.packets() * MEMORY).to_string(),
            ("limit", _) => match self.link.limit {
                Size::Packets(packets) => packets.to_string(),
                size => self.bytes(size).to_string(),
            },
            ("rate", _) => format!("{}bit", self.link.rate.as_bps()),
            ("packet", _) => self.link.mean_packet.get().to_string(),
            ("burst", unit) => self.burst(unit)?.to_string(),
            ("ecn", _) => self.ecn().into(),
            ("sfq_flows", _) => self.sfq_flows()?.to_string(),
            ("ack_filter", _) => match self.config.get(name)?.as_str() {
                "filter" => " ack-filter".into(),
                "aggressive" => " ack-filter-aggressive".into(),
                _ => String::new(),
            },
            ("ecn_prob", _) if self.ecn().is_empty() => String::new(),
            ("ecn_prob", unit) => format!(" ecn_prob {}", self.param(name, unit)?),
            // Linux marks from one delay on, ours with a ramp around it.
            ("step", _) => {
                let nanos = |name| Some(self.config.get(name)?.parse::<Span>().ok()?.as_nanos());
                format!("{}us", (nanos("min_th")? + nanos("range")? / 2) / 1000)
            }
            _ => self.param(name, unit)?,
        };
        Some(text)
    }

    fn param(&self, name: &str, unit: &str) -> Option<String> {
        let value = self.config.get(name)?;
        let nanos = || value.parse::<Span>().ok().map(Span::as_nanos);
        Some(match unit {
            "us" => format!("{}us", nanos()? / 1000),
            "s" => (nanos()? / 1_000_000_000).to_string(),
            "bytes" => self.bytes(value.parse().ok()?).to_string(),
            "packets" => self.in_packets(value.parse().ok()?).to_string(),
            "bit" => format!("{}bit", value.parse::<tidegate::Rate>().ok()?.as_bps()),
            "16ths" => ((value.parse::<f64>().ok()? * SIXTEENTHS).round() as u64).to_string(),
            "whole" => value.parse::<f64>().ok()?.round().max(1.0).to_string(),
            "percent" => (100.0 * value.parse::<f64>().ok()?).round().to_string(),
            "power" => self.divisor(name)?.to_string(),
            _ => value,
        })
    }

    fn bytes(&self, size: Size) -> u64 {
        size.in_bytes(self.link.mean_packet)
    }

    fn in_packets(&self, size: Size) -> u64 {
        self.bytes(size) / self.link.mean_packet.get()
    }

    /// The limit in packets.
    fn packets(&self) -> u64 {
        match self.link.limit {
            Size::Packets(packets) => packets,
            size => self.in_packets(size).max(1),
        }
    }

    fn ecn(&self) -> &'static str {
        match self.config.get("ecn").as_deref() {
            Some("mark" | "on") => " ecn",
            _ => "",
        }
    }

    /// The least burst that tc lets pass: its average is to cross `min` with it. None if the kernel
    /// has no bits left for such an average.
    fn burst(&self, unit: &str) -> Option<u64> {
        let size = |name| self.config.get(name)?.parse::<Size>().ok();
        let (min, max) = (size("min")?, size("max")?);
        match unit {
            "bytes" => {
                let (average, least) = (self.link.mean_packet.get(), self.bytes(min));
                let burst = (2 * least + self.bytes(max)) / (3 * average) + 1;
                let bits = u64::BITS - self.bytes(max).leading_zeros();
                let fits = bits + weight_bits(burst, least as f64 / average as f64)? < WORD;
                fits.then_some(burst)
            }
            _ => Some((2 * self.in_packets(min) + self.in_packets(max)) / 3 + 1),
        }
    }

    fn divisor(&self, name: &str) -> Option<u64> {
        let bins: f64 = self.config.get(name)?.parse().ok()?;
        Some((bins as u64).next_power_of_two().min(65_536))
    }

    fn sfq_flows(&self) -> Option<u64> {
        let flows = (self.divisor("bins")? / 2).clamp(127, 65_408);
        Some(flows.max(self.packets().div_ceil(SFQ_DEPTH)))
    }
}

/// The weight 2^-w that `tc` finds for RED's average, as w: with it a burst of so many packets
/// takes the average to `least` packets.
fn weight_bits(burst: u64, least: f64) -> Option<u32> {
    let above = burst as f64 + 1.0 - least;
    let mut weight = 0.5;
    (1..WORD).find(|_| {
        let remains = (1.0f64 - weight).powi(burst.min(i32::MAX as u64) as i32);
        let found = above <= (1.0 - remains) / weight;
        weight /= 2.0;
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::catalog::QUEUES;
    use tidegate::{Bytes, Rate};

    fn link() -> Link {
        Link {
            rate: Rate::from_bps(100_000_000),
            limit: Size::Bytes(1_250_000),
            mean_packet: Bytes::new(1000),
        }
    }

    /// What is said of queues by their names here.
    const EXPECTED: &[(&str, &str)] = &[
        ("drop_tail", "bfifo limit 1250000"),
        (
            "fq_codel/paper",
            "fq_codel limit 1250 flows 1024 quantum 1514 target 5000us interval 100000us \
             drop_batch 64 ecn",
        ),
        ("codel/paper", "codel limit 1250 target 5000us interval 100000us ecn"),
        ("codel/paper,ecn=off", "codel limit 1250 target 5000us interval 100000us"),
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
            "dualpi2/linux",
            "dualpi2 limit 1250 target 15000us tupdate 16000us alpha 0.16 beta 3.2 \
             coupling_factor 2 step_thresh 1000us classic_protection 10%",
        ),
        (
            "hhf/paper",
            "hhf limit 1250 quantum 1514 hh_limit 2048 reset_timeout 40000us admit_bytes \
             131072 evict_timeout 1000000us non_hh_weight 2",
        ),
        ("sfb/linux", "sfb limit 1250"),
        (
            "cake/linux",
            "cake bandwidth 100000000bit diffserv3 triple-isolate rtt 100000us memlimit \
             2880000",
        ),
        (
            "red/paper,min=100 kB,max=300 kB",
            "red limit 1250000 min 100000 max 300000 avpkt 1000 burst 167 probability 0.02 \
             bandwidth 100000000bit ecn",
        ),
        (
            "choke/paper,min=100 packets,max=300 packets",
            "choke limit 1250 min 100 max 300 burst 167 probability 0.02 bandwidth \
             100000000bit ecn",
        ),
        ("sfq/paper", "sfq limit 1250 depth 127 flows 512 divisor 1024 perturb 0 quantum 1514"),
    ];

    #[test]
    fn the_kernel_has_no_bits_for_a_long_average_of_long_queues() {
        let told = |rate: u64, limit: u64| {
            let (rate, limit) = (Rate::from_bps(rate), Size::Bytes(limit));
            let row = QUEUES.iter().find(|row| row.name == "red").unwrap();
            line(row, &Link { rate, limit, mean_packet: Bytes::new(1514) }).unwrap()
        };
        // A kernel took the one and refused the other (validation/linux/lines.py).
        assert!(told(100_000_000, 1_250_000).is_some());
        assert!(told(10_000_000_000, 50_000_000).is_none());
    }

    #[test]
    fn the_queues_that_linux_has() {
        let link = link();
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
        for queue in ["sfb", "drr", "care", "ewfq", "cake", "cobalt"] {
            assert_eq!(told(queue), None, "{queue}");
        }
        assert_eq!(told("fq_codel/paper,isolation=dual-srchost"), None);
        let filters = told("cake/linux,isolation=dual-srchost,ack_filter=aggressive").unwrap();
        assert!(filters.contains(" dual-srchost ack-filter-aggressive rtt "), "{filters}");
    }

    /// Every brace of every queue is filled, and says something.
    #[test]
    fn every_line_is_whole() {
        let mut found = Vec::new();
        for row in QUEUES {
            let Some((text, linux)) = line(row, &link()).unwrap() else {
                assert!(!row.linux.is_some_and(|linux| linux.has_line()), "{}", row.name);
                continue;
            };
            assert!(text.starts_with("tc qdisc replace dev DEV root "), "{text}");
            assert!(!text.contains(['{', '}']) && !text.contains("  "), "{text}");
            assert!(linux.differs.ends_with('.') && !linux.differs.contains(['\n', '{']));
            found.push(row.name);
        }
        let known = [
            "drop_tail",
            "red",
            "sfb",
            "codel",
            "fq_codel",
            "cake",
            "pie",
            "fq_pie",
            "choke",
            "sfq",
        ];
        assert!(known.iter().all(|name| found.contains(name)), "{found:?}");
        // In packets the FIFO is another one.
        let packets = Link { limit: Size::Packets(100), ..link() };
        let text = line(catalog::find("drop_tail").unwrap(), &packets).unwrap().unwrap().0;
        assert!(text.ends_with("root pfifo limit 100"), "{text}");
    }
}
