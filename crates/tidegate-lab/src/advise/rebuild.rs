//! The capture's traffic as a scenario: senders that hear what becomes of their packets.
use std::fmt::Write;

use tidegate::{Bytes, Rate, Size};
use tidegate_report::fair::max_min;

use super::senders::{Conduct, Senders, picked, rate, span};
use crate::problem::Problems;
use crate::scenario::Scenario;
use crate::spec::QueueSpec;

/// Simulated packets of all replications together. On two cores of 2026 they take six seconds.
const EFFORT: f64 = 20e6;
/// Simulated time, in seconds.
const SECONDS: (f64, f64) = (2.0, 30.0);
/// Round trips that a simulation lasts at least.
const TRIPS: f64 = 60.0;
/// Part of it that passes before anything counts.
const WARMUP: f64 = 0.3;
/// What is taken for a round trip where none is known, in ms.
pub(super) const USUAL_RTT_MS: f64 = 40.0;
/// Flows that are rebuilt of a group at most.
const MOST_FLOWS: u32 = 5_000;
/// What a sender's own line has at least.
const ACCESS: f64 = 1e9;
/// Header bytes of a full segment: Ethernet, IPv4 and TCP with time stamps.
const HEADERS: f64 = 66.0;

/// What a scenario is made for.
pub(super) struct Setting<'s> {
    pub(super) rate: Rate,
    pub(super) limit: Size,
    pub(super) mean_packet: Bytes,
    pub(super) queues: &'s [QueueSpec],
    pub(super) seeds: u32,
    pub(super) seed: u64,
    pub(super) name: &'s str,
}

/// The scenario of `senders`.
///
/// # Errors
/// A queue that cannot be. Everything else holds by how it is made.
pub(super) fn scenario(setting: &Setting<'_>, senders: &[Senders]) -> Result<Scenario, Problems> {
    let seconds = seconds(setting, senders);
    let mut text = String::new();
    head(&mut text, setting, senders, seconds);
    for group in senders {
        let usual = usual_round_trip(senders);
        write_group(&mut text, group, usual, seconds);
    }
    let scenario = Scenario::parse(text.as_bytes(), "advise.toml", &[])?;
    let scenario = scenario.with_compare(setting.queues.to_vec())?;
    Ok(Scenario { name: setting.name.into(), ..scenario })
}

/// How long to simulate: as long as the effort lasts, and long enough for the farthest sender.
fn seconds(setting: &Setting<'_>, senders: &[Senders]) -> f64 {
    let capacity = setting.rate.as_bps() as f64;
    let fixed = senders.iter().filter_map(|group| {
        Some(group.demand()? * f64::from(group.count) / (f64::from(group.packet) * 8.0))
    });
    let users = senders.iter().filter(|group| group.responsive());
    let shortest = users.map(|group| group.packet).min().unwrap_or(1514);
    let per_second = capacity / (f64::from(shortest) * 8.0) + fixed.sum::<f64>();
    let runs = setting.queues.len() as f64 * f64::from(setting.seeds);
    let farthest =
        senders.iter().filter_map(|group| group.round_trips_ms.last().copied()).fold(0.0, f64::max);
    let least = SECONDS.0.max(TRIPS * farthest / 1e3);
    (EFFORT / runs / per_second).clamp(least, least.max(SECONDS.1))
}

/// The median of all known round trips, in ms.
fn usual_round_trip(senders: &[Senders]) -> f64 {
    let mut all: Vec<f64> = senders.iter().flat_map(|g| g.round_trips_ms.iter().copied()).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(USUAL_RTT_MS)
}

fn head(text: &mut String, setting: &Setting<'_>, senders: &[Senders], seconds: f64) {
    let fixed = senders.iter().filter_map(|g| g.demand());
    let capacity = setting.rate.as_bps() as f64;
    let access = rate(fixed.fold(ACCESS.max(10.0 * capacity), |most, bps| most.max(4.0 * bps)));
    let (duration, warmup) = (span(seconds * 1e3), span(seconds * WARMUP * 1e3));
    let _ = write!(
        text,
        "title = \"The traffic of a capture, rebuilt\"\n\
         [run]\nduration = \"{duration}\"\nwarmup = \"{warmup}\"\nseeds = {}\nseed = {}\n\
         [network]\nkind = \"dumbbell\"\nrate = \"{}\"\ndelay = \"0 ns\"\nlimit = \"{}\"\n\
         mean_packet = \"{}\"\naccess_rate = \"{access}\"\n[queue]\nname = \"drop_tail\"\n",
        setting.seeds, setting.seed, setting.rate, setting.limit, setting.mean_packet,
    );
}

fn write_group(text: &mut String, group: &Senders, usual_ms: f64, seconds: f64) {
    let _ = writeln!(text, "[[group]]\nname = \"{}\"", group.name);
    let trips = if group.round_trips_ms.is_empty() {
        vec![usual_ms]
    } else {
        picked(&group.round_trips_ms)
    };
    // A round trip crosses four access links.
    let delays = list(trips.iter().map(|ms| span(ms / 4.0).to_string()));
    let _ = writeln!(text, "access_delay = {delays}\npacket = \"{} B\"", group.packet);
    let _ = writeln!(text, "ecn = \"{}\"", if group.ecn { "on" } else { "off" });
    let count = group.count.min(MOST_FLOWS);
    match group.conduct {
        Conduct::Users | Conduct::Quic | Conduct::Untold => {
            let _ = writeln!(text, "count = {count}\nsource = \"cubic\"");
            write_tcp(text);
        }
        Conduct::Short => {
            let gap = 1.0 / group.arrivals_per_s.unwrap_or(1.0).max(1e-3);
            let count = (seconds / gap * 1.3 + 10.0).min(f64::from(MOST_FLOWS)) as u32;
            let sizes = wire_sizes(group).into_iter().map(|size| format!("{size} B"));
            let _ = writeln!(
                text,
                "count = {count}\nsource = \"finite\"\ncongestion = \"cubic\"\n\
                 handshake = \"syn\"\nstart = \"every(exponential({}))\"\ndata = {}",
                span(gap * 1e3),
                list(sizes)
            );
            write_tcp(text);
        }
        Conduct::Flood | Conduct::Thin => {
            let share = f64::from(group.count) / f64::from(count);
            let _ = writeln!(text, "count = {count}");
            write_fixed(text, group, share);
        }
    }
}

/// As Linux's, as far as a queue notices.
fn write_tcp(text: &mut String) {
    *text +=
        "loss_recovery = \"rack\"\nrules = \"linux\"\ndelayed_ack = \"40 ms\"\nack = \"66 B\"\n";
}

fn write_fixed(text: &mut String, group: &Senders, share: f64) {
    if group.comes_and_goes() {
        let (on, off) = &group.periods_ms;
        let times = |ms: &[f64]| list(picked(ms).into_iter().map(|ms| span(ms).to_string()));
        let rate = rate(group.rate_bps * share);
        let (on, off) = (times(on), times(off));
        let _ = writeln!(text, "source = \"on_off\"\nrate = \"{rate}\"\non = {on}\noff = {off}");
    } else {
        let rate = rate(group.rate_bps * group.duty * share);
        let _ = writeln!(text, "source = \"cbr\"\nrate = \"{rate}\"");
    }
}

/// Sizes of transfers with their headers, in bytes.
fn wire_sizes(group: &Senders) -> Vec<u64> {
    let packet = f64::from(group.packet);
    let data = (packet - HEADERS).max(1.0);
    picked(&group.each).into_iter().map(|size| (size / data * packet).ceil() as u64).collect()
}

fn list(items: impl Iterator<Item = String>) -> String {
    let quoted: Vec<String> = items.map(|item| format!("\"{item}\"")).collect();
    match quoted.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// The fair rate of each sender of each group on a link of `capacity` bit/s, by max-min: what
/// reacts takes all it gets, the others what they ask for. Transfers that end take together what
/// they sent.
pub(super) fn fair_rates(senders: &[Senders], capacity: f64) -> Vec<f64> {
    let short = |group: &Senders| {
        let bits: f64 = wire_sizes(group).iter().map(|&size| size as f64 * 8.0).sum();
        let mean = bits / group.each.len().clamp(1, super::senders::MOST_LISTED) as f64;
        mean * group.arrivals_per_s.unwrap_or(0.0)
    };
    let mut demands = vec![];
    for (index, group) in senders.iter().enumerate() {
        let one = match group.conduct {
            Conduct::Short => vec![short(group)],
            _ => vec![group.demand().unwrap_or(f64::INFINITY); group.count as usize],
        };
        demands.extend(one.into_iter().map(|demand| (index, demand)));
    }
    let asked: Vec<f64> = demands.iter().map(|(_, demand)| *demand).collect();
    let mut rates = vec![0.0; senders.len()];
    for ((index, _), rate) in demands.iter().zip(max_min(&asked, capacity)) {
        rates[*index] = rate;
    }
    rates
}
