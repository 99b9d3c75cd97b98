//! [`Check`] as text.
use std::fmt;

use tidegate::{Bytes, Rate, Span};

use super::{Check, GroupCheck};

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_path(f)?;
        for (path, value) in &self.besides {
            writeln!(f, "  {path} = {value}")?;
        }
        self.write_groups(f)?;
        self.write_warnings(f)?;
        self.write_links(f)?;
        self.write_queues(f)?;
        self.write_costs(f)
    }
}

impl Check {
    fn write_path(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} over {}", self.scenario, counted(self.flows, "flow"), self.rate)?;
        let packets = self.bdp.get() as f64 * self.limit_packets / self.limit_bytes().max(1.0);
        let rtts = milli_range(self.base_rtt);
        writeln!(f, "  base RTT        {rtts}, mean of responsive flows {}", milli(self.mean_rtt))?;
        writeln!(f, "  bandwidth-delay {} ({packets:.0} packets)", self.bdp)?;
        let (limit, drain) = (self.limit, milli(self.limit_delay));
        writeln!(
            f,
            "  queue limit     {limit} = {drain} = {:.1} × bandwidth-delay",
            self.limit_packets / packets.max(1e-9)
        )
    }

    fn write_groups(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  groups")?;
        for group in &self.groups {
            let offered = offers(group);
            let (name, count, share) =
                (&group.name, counted(group.count as u64, "flow"), rate_text(group.fair_share));
            writeln!(
                f,
                "    {name}: {count}, {offered}, fair share {share} each, RTT {}",
                milli_range(group.base_rtt)
            )?;
        }
        Ok(())
    }

    fn write_warnings(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for overload in &self.overloads {
            writeln!(f, "  WARNING: {overload}.")?;
        }
        for skipped in &self.skipped {
            writeln!(f, "  WARNING: {skipped}.")?;
        }
        Ok(())
    }

    fn write_queues(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  queues")?;
        for queue in &self.queues {
            let params: Vec<_> =
                queue.params.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            let params = if params.is_empty() { "no parameters".into() } else { params.join(", ") };
            writeln!(
                f,
                "    {} ({}/{}): {} of state; {params}",
                queue.label,
                queue.name,
                queue.preset,
                Bytes::new(queue.state_bytes)
            )?;
            if let Some(sharing) = queue.sharing {
                let chance = per_cent(sharing);
                writeln!(
                    f,
                    "      a flow has to share its place with a chance of {chance} while all {} \
                     are busy",
                    self.flows
                )?;
            }
        }
        Ok(())
    }

    fn write_links(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.links.is_empty() {
            writeln!(f, "  managed links")?;
        }
        let tried = match self.queues.as_slice() {
            [only] => only.label.as_str(),
            _ => "each of the queues below",
        };
        for link in &self.links {
            let watched = if link.watched { " (watched)" } else { "" };
            let queue = link.queue.as_deref().unwrap_or(tried);
            writeln!(f, "    {}{watched}: {}, {}, {queue}", link.name, link.rate, link.limit)?;
        }
        Ok(())
    }

    fn write_costs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (events, one) = (self.events / 1e6, seconds(self.replication_s));
        writeln!(f, "  a replication   about {events:.1} million events, {one} on an idle core")?;
        let (all, wall) = (counted(self.replications, "replication"), seconds(self.wall_s));
        let memory = scaled(self.memory_bytes, BYTE_STEPS, 2);
        write!(
            f,
            "  everything      {all}, {} at once: about {wall} and {memory} of memory",
            self.at_once
        )?;
        // Worth a word only where it weighs.
        if self.flows_bytes > self.memory_bytes / 10.0 {
            write!(f, ", {} more with --flows or --out", scaled(self.flows_bytes, BYTE_STEPS, 2))?;
        }
        Ok(())
    }

    fn limit_bytes(&self) -> f64 {
        self.rate.as_bps() as f64 / 8.0 * self.limit_delay.as_secs()
    }
}

/// What a group offers, and whether all of it can arrive.
fn offers(group: &GroupCheck) -> String {
    match (group.offered, group.arrives) {
        (None, _) => "all it gets".into(),
        (Some(offered), Some(arrives))
            if (arrives.as_bps() as f64) < offered.as_bps() as f64 * 0.9999 =>
        {
            format!("offers {}, but only {} can arrive", rate_text(offered), rate_text(arrives))
        }
        (Some(offered), _) => format!("offers {}", rate_text(offered)),
    }
}

/// A chance, which may be too small to print.
fn per_cent(chance: f64) -> String {
    if chance < 1e-4 { "less than .01 %".into() } else { format!("{:.2} %", chance * 100.0) }
}

fn milli_range((low, high): (Span, Span)) -> String {
    if low == high { milli(low) } else { format!("{} to {}", milli(low), milli(high)) }
}

fn milli(span: Span) -> String {
    format!("{:.1} ms", span.as_millis())
}

const RATE_STEPS: [&str; 4] = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];
const BYTE_STEPS: [&str; 4] = ["B", "kB", "MB", "GB"];

fn rate_text(rate: Rate) -> String {
    scaled(rate.as_bps() as f64, RATE_STEPS, 4)
}

/// `value` in the unit that leaves one to three digits before the point, with so many digits in
/// all, or fewer where the last ones would be zeros.
fn scaled(value: f64, units: [&str; 4], digits: usize) -> String {
    let (mut value, mut unit) = (value, 0);
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let before = [10.0, 100.0, 1000.0].iter().filter(|&&step| value >= step).count() + 1;
    let text = format!("{value:.*}", digits.saturating_sub(before));
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {}", units[unit])
}

fn seconds(seconds: f64) -> String {
    if seconds < 100.0 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_bytes_are_written_in_fitting_units() {
        let rate = |bps| rate_text(Rate::from_bps(bps));
        assert_eq!(
            [rate(0), rate(12), rate(1200), rate(243_902)],
            ["0 bit/s", "12 bit/s", "1.2 kbit/s", "243.9 kbit/s"]
        );
        assert_eq!([rate(30_000_000), rate(1_666_666)], ["30 Mbit/s", "1.667 Mbit/s"]);
        assert_eq!(rate(5_000_000_000_000), "5000 Gbit/s");
        assert_eq!(
            [scaled(4.4e9, BYTE_STEPS, 2), scaled(445e6, BYTE_STEPS, 2)],
            ["4.4 GB", "445 MB"]
        );
        assert_eq!([counted(1, "flow"), counted(2, "flow")], ["1 flow", "2 flows"]);
    }
}
