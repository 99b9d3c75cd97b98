//! What stands beside the answer: what a reader must know of the figures, and how many packets they
//! are of.
use crate::{Document, Group, Unsettled, human};

/// What must be known of every replay, in one line.
pub const REPLAY: &str = "In a replay senders do not react: this is what each queue would have \
                          done to these packets, not what would have become of the traffic.";

/// Why goodput can exceed throughput.
pub const GOODPUT: &str = "Goodput counts bytes when they are in order at the receiver, throughput \
                           when they arrive. Where a gap is filled after the warm-up, goodput \
                           includes what had arrived behind the gap before, so that of starved \
                           flows it can be above throughput.";

/// Whether some group's goodput is above its throughput, so that [`GOODPUT`] must be said.
pub fn goodput_exceeds(document: &Document) -> bool {
    let exceeds = |g: &Group| {
        let both = g.goodput_bps.zip(g.throughput_bps);
        both.is_some_and(|(goodput, throughput)| goodput.mean() > throughput.mean())
    };
    document.groups.iter().any(exceeds)
}

/// What the columns of the worst user and of the starved mean.
pub const STARVED: &str = "Worst user: least of a fair share that one user of the group got, by \
                           goodput; starved: users with less than a tenth of it. Both are means \
                           over seeds.";

/// Why a ratio has no interval though there are seeds enough.
pub const TOO_RARE: &str =
    "A loss without ± was seen too seldom, or in too few seeds, for an interval that holds.";

/// How far intervals can be trusted (`tests/all/coverage.rs` of tidegate-lab measures it).
pub const FEW_SEEDS: &str = "Intervals hold in 93 to 97 of 100 cases. Where runs fall in two kinds \
                             and one of them is seldom, few seeds miss it: a median delay may hold \
                             in 31. Near 100 % utilization and Jain's index have none.";

/// Whether there are intervals of few seeds, so that [`FEW_SEEDS`] must be said.
pub fn few_seeds(documents: &[&Document]) -> bool {
    documents.iter().any(|d| (2..20).contains(&d.seeds.len()))
}

/// Whether the losses of some group were too rare for an interval, so that [`TOO_RARE`] must be
/// said.
pub fn too_rare(document: &Document) -> bool {
    let rare = |g: &Group| g.loss_ratio.is_some_and(|f| f.mean() > 0.0 && f.ci95().is_none());
    document.seeds.len() > 1 && document.groups.iter().any(rare)
}

/// What a reader must know of the results before he takes a figure from them, a sentence each. It
/// names groups whose goodput is far below their throughput, and warm-ups that were too short.
pub fn caveats(documents: &[&Document]) -> Vec<String> {
    let mut told = vec![];
    let several = documents.len() > 1;
    for document in documents {
        let of = if several { format!("{}: ", document.title()) } else { String::new() };
        for group in &document.groups {
            if let Some(ratio) = group.wasteful() {
                let (name, ratio) = (&group.name, human::percent(ratio));
                told.push(format!(
                    "{of}{name}: goodput is only {ratio} of throughput, the rest was \
                     received twice."
                ));
            }
        }
        told.extend(document.unsettled.iter().map(|u| of.clone() + &unsettled(u)));
    }
    told.iter().map(|text| human::plain(text)).collect()
}

fn unsettled(u: &Unsettled) -> String {
    let change = u.early_bps / u.late_bps - 1.0;
    let (by, way) = (human::percent(change.abs()), if change > 0.0 { "higher" } else { "lower" });
    let advice = match u.warmup_s {
        Some(seconds) => format!("a run.warmup of {} would do", human::seconds(seconds)),
        None => "it does not settle within this run, so a longer run.duration is needed".into(),
    };
    format!(
        "{}: not steady, in the first quarter {by} {way} than in the second half; {advice}.",
        u.group
    )
}

/// How many packets these results are of: per queue where each had as many, as in a replay; `None`
/// where unknown.
pub fn packets(documents: &[&Document]) -> Option<String> {
    let counts: Vec<u64> = documents.iter().filter_map(|d| d.packets).collect();
    let total: u64 = counts.iter().sum();
    match counts.as_slice() {
        _ if total == 0 => None,
        [one] => Some(format!("{} packets", human::count(*one))),
        [first, rest @ ..] if rest.iter().all(|n| n == first) => Some(format!(
            "{} packets through each of {} queues",
            human::count(*first),
            counts.len()
        )),
        _ => Some(format!("{} packets over {} queues", human::count(total), counts.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_told_per_queue_where_each_had_as_many() {
        let of = |packets| Document { packets, ..Document::default() };
        let (a, b, none) = (of(Some(9_200)), of(Some(9_300)), of(None));
        assert_eq!(packets(&[&a]).unwrap(), "9 200 packets");
        assert_eq!(packets(&[&a, &a]).unwrap(), "9 200 packets through each of 2 queues");
        assert_eq!(packets(&[&a, &b]).unwrap(), "18 500 packets over 2 queues");
        assert_eq!(packets(&[&none]), None);
    }
}
