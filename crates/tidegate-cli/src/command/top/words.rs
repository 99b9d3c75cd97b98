//! Figures as words, for the view and the table alike.
use tidegate_gateway::watch::rates::FrameRate;
use tidegate_gateway::watch::snapshot::{
    ClassAccount, Direction, FlowState, Flows, GaugeReading, Limit, QueueDelay, QueueSnapshot,
    Snapshot,
};
use tidegate_report::{Figure, human};

/// What stands where a figure is not known.
pub const UNKNOWN: &str = human::NONE;
/// Seconds of a minute, an hour, a day.
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A rate in bit/s.
pub fn bits(bps: f64) -> String {
    human::rate(Figure::exact(bps))
}

/// So many in a second.
pub fn per_second(frames: f64) -> String {
    // What is rare is not nothing.
    if frames > 0.0 && frames < 1.0 {
        "<1/s".into()
    } else {
        format!("{}/s", human::count(frames.round() as u64))
    }
}

/// Both, or that they are not known.
pub fn rate(rate: Option<FrameRate>) -> String {
    rate.map_or(UNKNOWN.into(), |rate| format!("{} {}", bits(rate.bps), per_second(rate.frames)))
}

/// Reasons, each with how often a second.
pub fn reasons(by: &[(String, f64)]) -> String {
    by.iter()
        .map(|(why, frames)| format!("{} {}", human::plain(why), per_second(*frames)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A time in seconds, as milliseconds.
pub fn millis(seconds: f64) -> String {
    human::millis(Figure::exact(seconds * 1e3))
}

/// An amount of bytes.
pub fn bytes(bytes: u64) -> String {
    human::bytes(Figure::exact(bytes as f64))
}

/// A part of a whole, in few letters.
pub fn share(share: f64) -> String {
    match share * 100.0 {
        percent if percent >= 9.95 || percent == 0.0 => format!("{percent:.0} %"),
        percent if percent >= 0.05 => format!("{percent:.1} %"),
        _ => "<0.1 %".into(),
    }
}

/// A time that has passed, in its two largest units.
pub fn since(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    match seconds {
        DAY.. => format!("{} d {} h", seconds / DAY, seconds % DAY / HOUR),
        HOUR.. => format!("{} h {} min", seconds / HOUR, seconds % HOUR / MINUTE),
        MINUTE.. => format!("{} min {} s", seconds / MINUTE, seconds % MINUTE),
        _ => format!("{seconds} s"),
    }
}

/// How the gate is as a whole.
pub fn process(of: &Snapshot) -> String {
    let reloads = match (of.reloads.done, of.reloads.refused) {
        (0, 0) => String::new(),
        (done, refused) => format!(", {} reloads, {refused} refused", done + refused),
    };
    let (up, memory) = (since(of.uptime_s), bytes(of.resident_bytes));
    format!("tidegate {}: up {up}, {memory}{reloads}", human::plain(&of.version))
}

/// A direction's interfaces, and what manages it.
pub fn way(of: &Direction) -> String {
    let managed = match &of.queue {
        Some(queue) => format!("{}, {}", human::plain(&queue.label), bits(queue.rate_bps as f64)),
        None => "not managed".into(),
    };
    format!("{} → {}: {managed}", human::plain(&of.from), human::plain(&of.to))
}

/// How long frames had waited that left a queue.
pub fn delay(of: Option<&QueueDelay>) -> String {
    of.map_or(UNKNOWN.into(), |delay| {
        let QueueDelay { mean_s, p50_s, p99_s, max_s, .. } = *delay;
        let [mean, half, most, longest] = [mean_s, p50_s, p99_s, max_s].map(millis);
        format!("mean {mean}, half {half}, 99 % {most}, longest {longest}")
    })
}

/// What waits, of what may.
pub fn backlog(of: &QueueSnapshot) -> String {
    let frames = human::count(of.backlog.frames);
    match of.limit {
        Limit::Bytes(limit) => {
            format!("{} of {}, {frames} frames", bytes(of.backlog.bytes), bytes(limit))
        }
        Limit::Packets(limit) => {
            format!("{frames} of {} frames, {}", human::count(limit), bytes(of.backlog.bytes))
        }
    }
}

/// Which part of the limit that is, 0 to 1. It is more if a reload has lowered the limit, or frames
/// that are not judged wait beside the queue: they have a limit of their own.
pub fn filled(of: &QueueSnapshot) -> f64 {
    match of.limit {
        Limit::Bytes(limit) => of.backlog.bytes as f64 / limit.max(1) as f64,
        Limit::Packets(limit) => of.backlog.frames as f64 / limit.max(1) as f64,
    }
}

/// A gauge with its name.
pub fn gauge(of: &GaugeReading) -> String {
    format!("{} {}", human::plain(&of.name), value(of))
}

/// A gauge's reading.
pub fn value(of: &GaugeReading) -> String {
    let Some(value) = of.value else { return UNKNOWN.into() };
    match of.unit.as_str() {
        "bit/s" => bits(value),
        "s" => millis(value),
        "B" | "bytes" => human::bytes(Figure::exact(value)),
        "" => human::number(Figure::exact(value)),
        unit => format!("{} {}", human::number(Figure::exact(value)), human::plain(unit)),
    }
}

/// What a class is called.
pub fn class(of: &ClassAccount) -> String {
    if of.name.is_empty() { "(rest)".into() } else { human::plain(&of.name) }
}

/// What the link has for each flow, and how many take too much.
pub fn congestion(of: &Flows) -> String {
    let offenders = match of.offenders.len() {
        0 => "no offender".into(),
        1 => "1 offender".into(),
        n => format!("{n} offenders"),
    };
    match of.fair_bps {
        Some(fair) => format!("{} fair to each, {offenders}", bits(fair)),
        None => format!("not congested, {offenders}"),
    }
}

/// What the columns of [`flow`] are called.
pub const FLOW: [&str; 6] = ["flow", "rate", "share", "of fair", "offender for", "lost"];

/// Who sends most: the offenders and the others that are listed, the largest first.
pub fn senders(of: &Flows) -> Vec<&FlowState> {
    let others =
        of.top.iter().filter(|flow| of.offenders.iter().all(|offender| offender.flow != flow.flow));
    let mut all: Vec<&FlowState> = of.offenders.iter().chain(others).collect();
    all.sort_by(|one, other| other.rate_bps.total_cmp(&one.rate_bps));
    all
}

/// A flow, `now` seconds from 1970 on.
pub fn flow(of: &FlowState, now: f64) -> [String; 6] {
    [
        human::plain(&of.flow),
        bits(of.rate_bps),
        share(of.share),
        of.fair_shares
            .map_or(UNKNOWN.into(), |times| format!("{} ×", human::number(Figure::exact(times)))),
        of.offender_since_s.map_or(String::new(), |began| since(now - began)),
        human::count(of.lost_frames),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::sample::gate;
    use super::*;

    #[test]
    fn times_are_told_in_their_two_largest_units() {
        let told = [-1.0, 0.0, 59.9, 60.0, 3599.0, 3600.0, 11_523.0, 86_400.0, 1e6].map(since);
        let expected = [
            "0 s",
            "0 s",
            "59 s",
            "1 min 0 s",
            "59 min 59 s",
            "1 h 0 min",
            "3 h 12 min",
            "1 d 0 h",
            "11 d 13 h",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_rare_is_not_nothing() {
        assert_eq!([0.0, 0.2, 1.0, 24_890.4].map(per_second), ["0/s", "<1/s", "1/s", "24 890/s"]);
        assert_eq!(
            [0.0, 0.0001, 0.0596, 0.0996, 3.884].map(share),
            ["0 %", "<0.1 %", "6.0 %", "10 %", "388 %"]
        );
        assert_eq!(
            reasons(&[("penalty".into(), 24e3), ("early".into(), 0.5)]),
            "penalty 24 000/s, early <1/s"
        );
    }

    #[test]
    fn gauges_have_their_units() {
        let gate = gate();
        let queue = gate.links[0].managed.queue.as_ref().unwrap();
        let told: Vec<String> = queue.gauges.iter().map(gauge).collect();
        let expected = [
            "virtual_time 12500 ms",
            "p_max 0.840",
            "tokens 1.50 kB",
            "bins_full 12.0 bins",
            "avg 88.5 packets",
            "price 8.00 Mbit/s",
            "age 3.00 periods",
            "odd –",
        ];
        assert_eq!(told, expected);
        assert_eq!(backlog(queue), "120 kB of 1.25 MB, 105 frames");
        let red = gate.links[1].managed.queue.as_ref().unwrap();
        assert_eq!((backlog(red).as_str(), filled(red)), ("0 of 8 000 frames, 0 B", 0.0));
    }

    #[test]
    fn every_sender_is_told_of_once_the_largest_first() {
        let mut flows = gate().links[0].managed.queue.clone().unwrap().flows;
        // More offenders than the ten that send most.
        let small =
            FlowState { flow: "10.9.9.9".into(), rate_bps: 1.0, ..flows.offenders[1].clone() };
        flows.offenders.push(small);
        let told: Vec<f64> = senders(&flows).iter().map(|flow| flow.rate_bps).collect();
        assert_eq!(told, [288.2e6, 23.1e6, 11e6, 10e6, 9e6, 8e6, 1.0]);
        assert_eq!(congestion(&flows), "11.1 Mbit/s fair to each, 3 offenders");
    }
}
