//! The capture's traffic as a scenario: senders that hear what becomes of their packets.
use std::fmt::Write;

use tidegate::{Bytes, Rate, Size};
use tidegate_report::fair::max_min;

use super::round_trip::USUAL_RTT_MS;
use super::senders::{GroupConduct, Senders, picked, rate, span};
use crate::problem::Problems;
use crate::scenario::Scenario;
use crate::spec::QueueSpec;

/// Simulated packets of all replications together, each counted as often as it is [`dear`].
const EFFORT: f64 = 20e6;
/// The same where many or far senders need more time. On two cores of 2026, shared with others,
/// that took eight seconds of each.
const MOST_EFFORT: f64 = 32e6;
/// Flows whose state the first caches hold.
const AT_HAND: f64 = 20.0;
/// With so many times the flows at hand a packet takes this power of it longer. On a busy machine
/// it took 0.3 us with 20 flows, 0.5 us with 200, 2.5 us with 2000; on an idle one more flows cost
/// less.
const DEARER: f64 = 0.35;
/// Replications if nobody says how many: the first number where time is short. Then long ones are
/// better than many: of many users, the worst of a short time is worse than any is for long.
const SEEDS: (u32, u32) = (2, 5);
/// Simulated time, in seconds.
const SECONDS: (f64, f64) = (2.0, 30.0);
/// However fast the line is.
const SHORTEST: f64 = 0.01;
/// Round trips that a simulation lasts at least, if the effort lasts.
const TRIPS: f64 = 60.0;
/// Packets of each user while it counts, likewise.
const EACH: f64 = 150.0;
/// Part of it that passes before anything counts.
const WARMUP: f64 = 0.3;
/// Flows that are rebuilt of a group at most.
const MOST_FLOWS: u32 = 5_000;
/// What a sender's own line has at least.
const ACCESS: f64 = 1e9;
/// Header bytes of a full segment: Ethernet, IPv4 and TCP with time stamps.
const HEADERS: f64 = 66.0;

/// What a scenario is made for.
pub(super) struct RebuildSetting<'s> {
    pub(super) rate: Rate,
    pub(super) limit: Size,
    pub(super) mean_packet: Bytes,
    pub(super) queues: &'s [QueueSpec],
    /// How many queues there are if nobody names others.
    pub(super) usual: usize,
    /// How many; none for as many as time allows.
    pub(super) seeds: Option<u32>,
    pub(super) seed: u64,
    pub(super) name: &'s str,
}

/// The scenario. Where it is shorter than many or far senders would need, how long it is: in s, and
/// in round trips of the farthest.
pub(super) type Rebuilt = (Scenario, Option<(f64, f64)>);

/// The scenario of `senders`.
///
/// # Errors
/// A queue that cannot be. Everything else holds by how it is made.
pub(super) fn scenario(
    setting: &RebuildSetting<'_>,
    senders: &[Senders],
) -> Result<Rebuilt, Problems> {
    let length = SimulatedLength::new(setting, senders);
    let mut text = String::new();
    head(&mut text, setting, senders, length);
    for group in senders {
        let usual = usual_round_trip(senders);
        write_group(&mut text, group, usual, length.seconds);
    }
    let scenario = Scenario::parse(text.as_bytes(), "advise.toml", &[])?;
    let scenario = scenario.with_compare(setting.queues.to_vec())?;
    let short = (length.seconds < length.least).then(|| {
        let trips = length.seconds * 1e3 / farthest(senders).max(f64::MIN_POSITIVE);
        (length.seconds, trips)
    });
    Ok((Scenario { name: setting.name.into(), ..scenario }, short))
}

/// How much is simulated.
#[derive(Clone, Copy, Debug)]
struct SimulatedLength {
    seeds: u32,
    seconds: f64,
    /// What many or far senders need, in s.
    least: f64,
}

impl SimulatedLength {
    /// As long as the effort lasts, and long enough for many and far senders, if there is a way:
    /// with fewer replications.
    fn new(setting: &RebuildSetting<'_>, senders: &[Senders]) -> SimulatedLength {
        let (line, fixed) = packets_a_second(setting, senders);
        let per_second = (line + fixed) * dear(senders);
        let users = senders.iter().filter(|group| group.goes_on());
        let users: f64 = users.map(|group| f64::from(group.count.min(MOST_FLOWS))).sum();
        let least = SECONDS.0.max(TRIPS * farthest(senders) / 1e3);
        let least = least.max((EACH * users / line / (1.0 - WARMUP)).min(SECONDS.1));
        let lasts = |effort: f64, queues: usize, seeds: u32| {
            effort / (per_second * queues.max(1) as f64 * f64::from(seeds))
        };
        let queues = setting.queues.len();
        // A user that asks for more of them waits longer.
        let most = |seeds: u32| lasts(MOST_EFFORT, queues.min(setting.usual), seeds.min(SEEDS.1));
        let many = || (SEEDS.0..=SEEDS.1).rev().find(|&seeds| most(seeds) >= least);
        let seeds = setting.seeds.unwrap_or_else(|| many().unwrap_or(SEEDS.0));
        let seconds = lasts(EFFORT, queues, seeds).clamp(least, least.max(SECONDS.1));
        SimulatedLength { seeds, seconds: seconds.min(most(seeds)).max(SHORTEST), least }
    }
}

/// The longest round trip, in ms.
fn farthest(senders: &[Senders]) -> f64 {
    senders.iter().filter_map(|group| group.round_trips_ms.last().copied()).fold(0.0, f64::max)
}

/// About how many packets the line sends, and how many those make who heed nothing.
fn packets_a_second(setting: &RebuildSetting<'_>, senders: &[Senders]) -> (f64, f64) {
    let capacity = setting.rate.as_bps() as f64;
    let fixed = senders.iter().filter_map(|group| {
        Some(group.demand()? * f64::from(group.count) / (f64::from(group.packet) * 8.0))
    });
    let users = senders.iter().filter(|group| group.responsive());
    let shortest = users.map(|group| group.packet).min().unwrap_or(1514);
    (capacity / (f64::from(shortest) * 8.0), fixed.sum())
}

/// How many times longer a packet takes than with few flows.
fn dear(senders: &[Senders]) -> f64 {
    // Of transfers those count that are under way: they take about a second.
    let flows = senders.iter().map(|group| match group.arrivals_per_s {
        Some(arrivals) => arrivals,
        None => f64::from(group.count.min(MOST_FLOWS)),
    });
    (flows.sum::<f64>() / AT_HAND).max(1.0).powf(DEARER)
}

/// The median of all known round trips, in ms.
fn usual_round_trip(senders: &[Senders]) -> f64 {
    let mut all: Vec<f64> = senders.iter().flat_map(|g| g.round_trips_ms.iter().copied()).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(USUAL_RTT_MS)
}

fn head(
    text: &mut String,
    setting: &RebuildSetting<'_>,
    senders: &[Senders],
    length: SimulatedLength,
) {
    let fixed = senders.iter().filter_map(|g| g.demand());
    let capacity = setting.rate.as_bps() as f64;
    let access = rate(fixed.fold(ACCESS.max(10.0 * capacity), |most, bps| most.max(4.0 * bps)));
    let (duration, warmup) = (span(length.seconds * 1e3), span(length.seconds * WARMUP * 1e3));
    let _ = write!(
        text,
        "title = \"The traffic of a capture, rebuilt\"\n\
         [run]\nduration = \"{duration}\"\nwarmup = \"{warmup}\"\nseeds = {}\nseed = {}\n\
         [network]\nkind = \"dumbbell\"\nrate = \"{}\"\ndelay = \"0 ns\"\nlimit = \"{}\"\n\
         mean_packet = \"{}\"\naccess_rate = \"{access}\"\n[queue]\nname = \"drop_tail\"\n",
        length.seeds, setting.seed, setting.rate, setting.limit, setting.mean_packet,
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
        GroupConduct::Users | GroupConduct::Quic | GroupConduct::Untold => {
            let _ = writeln!(text, "count = {count}\nsource = \"cubic\"");
            write_tcp(text);
        }
        GroupConduct::Short => {
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
        GroupConduct::Flood | GroupConduct::Thin => {
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
            GroupConduct::Short => vec![short(group)],
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

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` users of this round trip, who ask for nothing but what the line gives.
    fn users(count: u32, round_trip_ms: f64) -> [Senders; 1] {
        [Senders {
            name: "users".into(),
            conduct: GroupConduct::Users,
            count,
            ecn: false,
            round_trips_ms: vec![round_trip_ms],
            rate_bps: 1e6,
            duty: 1.0,
            packet: 1514,
            lost: 0.0,
            who: vec![],
            each: vec![],
            periods_ms: (vec![], vec![]),
            arrivals_per_s: None,
            took_ms: vec![],
        }]
    }

    fn length(rate: &str, seeds: Option<u32>, senders: &[Senders]) -> (u32, f64, bool) {
        let queues = super::super::usual();
        let setting = RebuildSetting {
            rate: rate.parse().unwrap(),
            limit: "100 packets".parse().unwrap(),
            mean_packet: Bytes::new(1000),
            queues: &queues,
            usual: queues.len(),
            seeds,
            seed: 1,
            name: "capture",
        };
        let SimulatedLength { seeds, seconds, least } = SimulatedLength::new(&setting, senders);
        let (line, _) = packets_a_second(&setting, senders);
        let packets = line * seconds * 11.0 * f64::from(seeds) * dear(senders);
        assert!(packets < 1.001 * MOST_EFFORT * f64::from(seeds.div_ceil(SEEDS.1)), "{packets}");
        (seeds, seconds, seconds < least)
    }

    #[test]
    fn the_effort_is_bounded_however_many_fast_or_far_senders_are() {
        assert_eq!(length("10 Mbit/s", None, &users(10, 50.0)), (5, 30.0, false));
        let (seeds, seconds, short) = length("500 Mbit/s", None, &users(20, 50.0));
        assert!((seeds, short) == (5, false) && seconds > 8.0, "{seconds}");
        let (seeds, seconds, short) = length("500 Mbit/s", None, &users(200, 100.0));
        assert_eq!((seeds, seconds, short), (5, 6.0, false), "sixty round trips");
        let (seeds, seconds, short) = length("500 Mbit/s", None, &users(2000, 100.0));
        assert!((seeds, short) == (2, true) && seconds > 6.0, "{seconds}");
        assert_eq!(length("500 Mbit/s", Some(3), &users(2000, 100.0)).0, 3);
        assert_eq!(length("500 Mbit/s", Some(50), &users(20, 50.0)).0, 50);
        for rate in ["1 kbit/s", "1 Mbit/s", "40 Gbit/s"] {
            for count in [1, 5000] {
                let (_, seconds, _) = length(rate, None, &users(count, 999.0));
                assert!((SHORTEST..=60.0).contains(&seconds), "{rate}, {count}: {seconds}");
            }
        }
    }
}
