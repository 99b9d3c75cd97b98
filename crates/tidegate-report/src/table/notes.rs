//! What stands below a table.
use super::{Intervals, aggregate_text};
use crate::answer::{
    FEW_SEEDS, GOODPUT, REPLAY, STARVED, TOO_RARE, caveats, few_seeds, goodput_exceeds, packets,
    too_rare, worst,
};
use crate::{Document, PacketSource, human};

/// What stands below a table: for one result its aggregate; always how it came about.
pub(super) fn notes(documents: &[&Document], intervals: Intervals) -> String {
    let Some(first) = documents.first() else { return String::new() };
    let mut notes = String::new();
    if let [one] = documents {
        let [jain, used, p50, p99] = aggregate_text(one, Intervals::Shown);
        notes += &format!("Jain {jain}, utilization {used}, queueing delay p50 {p50}, p99 {p99}\n");
        if goodput_exceeds(one) {
            notes += &format!("{GOODPUT}\n");
        }
    }
    for caveat in caveats(documents) {
        notes += &format!("{caveat}\n");
    }
    if documents.iter().any(|d| d.groups.iter().any(|g| worst(g).is_some())) {
        notes += &format!("{STARVED}\n");
    }
    if documents.iter().any(|d| too_rare(d)) {
        notes += &format!("{TOO_RARE}\n");
    }
    if few_seeds(documents) && intervals == Intervals::Shown {
        notes += &format!("{FEW_SEEDS}\n");
    }
    let mut made = vec![match first.source {
        PacketSource::Simulated => format!("simulated {}", first.scenario),
        PacketSource::Replayed => format!("replayed {}", first.scenario),
        PacketSource::Measured => format!("measured {}", first.scenario),
    }];
    match first.seeds.len() {
        0 => {}
        1 => made.push(format!("seed {}, so no intervals", first.seeds[0])),
        n if intervals == Intervals::Shown => {
            made.push(format!("{n} seeds, ± is the 95 % interval"))
        }
        n => made.push(format!("{n} seeds; more columns would show the 95 % intervals")),
    }
    made.extend(packets(documents));
    let wall: f64 = documents.iter().filter_map(|d| d.wall_s).sum();
    if wall > 0.0 {
        made.push(format!("{wall:.2} s"));
    }
    notes += &(human::plain(&made.join("; ")) + "\n");
    if first.source == PacketSource::Replayed {
        notes += &format!("{REPLAY}\n");
    }
    if let Some(why) = documents.iter().find_map(|d| d.incomplete.as_deref()) {
        notes += &format!("INCOMPLETE: {}\n", human::plain(why));
    }
    notes
}
