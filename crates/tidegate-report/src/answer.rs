//! The answer in one sentence, computed from the figures: who got what against the fair share.
use crate::{Conduct, Document, Figure, Group, human};

/// What must be known of every replay, in one line.
pub const REPLAY: &str = "In a replay senders do not react: this is what each queue would have done to these packets, \
                          not what would have become of the traffic.";

/// How a group fared against its fair share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It got less than half.
    Starved,
    /// It got less than four fifths.
    Short,
    /// Near its share.
    Fair,
    /// Much more than its share.
    Greedy,
}

impl Verdict {
    /// The verdict on a group that got `share` times its fair share.
    pub fn of(share: f64) -> Verdict {
        match share {
            s if s < 0.5 => Verdict::Starved,
            s if s < 0.8 => Verdict::Short,
            s if s <= 1.5 => Verdict::Fair,
            _ => Verdict::Greedy,
        }
    }
}

/// A group's throughput over its fair share; `None` if either is unknown.
pub fn share(group: &Group) -> Option<Figure> {
    group.throughput_bps?.over(group.fair_share_bps?.mean())
}

/// Whether a group takes no heed of congestion and asks for more than its share, so that a queue should hold it back.
/// A call that sends at a steady 64 kbit/s heeds nothing either, but it asks for no more than is fair.
pub fn offends(group: &Group) -> bool {
    let asks_too_much = match (group.offered_bps, group.fair_share_bps) {
        (Some(offered), Some(fair)) => offered.mean() > fair.mean() * 1.05,
        _ => true,
    };
    group.conduct == Some(Conduct::Unresponsive) && asks_too_much
}

/// At most so many results are spelt out; of more, the best and the worst.
const SPELT_OUT: usize = 4;
/// At most so many groups of a result are spelt out; of more, those farthest from their share.
const GROUPS: usize = 3;

/// What the answer says of one result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// The result, and whether it is the best or worst of many.
    pub title: String,
    /// Who got what.
    pub text: String,
}

/// The answer to "who got what?", one clause per result, the result that protects its responsive groups best first.
/// Of many results, the best and the worst.
pub fn clauses(documents: &[&Document]) -> Vec<Clause> {
    let mut ranked: Vec<&Document> = documents.to_vec();
    // A stable sort: results that protect equally well stay in the order they were asked for.
    ranked.sort_by(|a, b| protection(b).total_cmp(&protection(a)));
    let many = ranked.len() > SPELT_OUT;
    if many {
        ranked = vec![ranked[0], ranked[ranked.len() - 1]];
    }
    let clause = |(i, document): (usize, &&Document)| {
        let (wording, place) = match (i, many) {
            (0, false) => (Wording::Full, ""),
            (0, true) => (Wording::Full, "best of all, "),
            (_, false) => (Wording::Short, ""),
            (_, true) => (Wording::Short, "worst, "),
        };
        Clause {
            title: human::plain(&format!("{place}{}", document.title())),
            text: human::plain(&text(document, wording)),
        }
    };
    ranked.iter().enumerate().map(clause).collect()
}

/// The [`clauses`] as one sentence:
/// `sfb: tcp gets 97 % of its fair share, flood is held to 0.40 Mbit/s; drop_tail: tcp gets 3 %, flood takes …`.
/// Empty without results.
pub fn answer(documents: &[&Document]) -> String {
    clauses(documents).iter().map(|c| format!("{}: {}", c.title, c.text)).collect::<Vec<_>>().join("; ")
}

/// The share of the responsive group that fares worst. A group of unknown conduct counts by how far it is from its
/// share either way; one that heeds nothing is not protected.
fn protection(document: &Document) -> f64 {
    let fared = |group: &Group| {
        let share = share(group)?.mean();
        match group.conduct {
            _ if offends(group) => None,
            None if share > 1.0 => Some(1.0 / share),
            _ => Some(share),
        }
    };
    document.groups.iter().filter_map(fared).fold(f64::INFINITY, f64::min)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wording {
    Full,
    Short,
}

const OF_ITS_SHARE: &str = " of its fair share";

fn text(document: &Document, wording: Wording) -> String {
    let mut groups: Vec<&Group> = document.groups.iter().collect();
    if groups.len() > GROUPS {
        let off = |g: &Group| share(g).map_or(0.0, |s| if s.mean() < 1.0 { 1.0 - s.mean() } else { s.mean() - 1.0 });
        groups.sort_by(|a, b| off(b).total_cmp(&off(a)));
        groups.truncate(GROUPS);
    }
    // "of its fair share" is said once.
    let mut wording = wording;
    let part = |group: &Group| {
        let text = part(group, wording);
        if text.ends_with(OF_ITS_SHARE) {
            wording = Wording::Short;
        }
        text
    };
    let parts: Vec<String> = groups.into_iter().map(part).collect();
    if parts.is_empty() { "no group of flows".into() } else { parts.join(", ") }
}

fn part(group: &Group, wording: Wording) -> String {
    let (name, rate) = (&group.name, human::rate_mean(group.throughput_bps));
    let Some(share) = share(group).map(|s| s.mean()) else {
        return format!("{name} gets {rate}");
    };
    let fair = if wording == Wording::Full { OF_ITS_SHARE } else { "" };
    match Verdict::of(share) {
        Verdict::Greedy => format!("{name} takes {rate}, {} times its fair share", times(share)),
        _ if offends(group) => format!("{name} is held to {rate}"),
        _ => format!("{name} gets {}{fair}", human::percent(share)),
    }
}

fn times(share: f64) -> String {
    if share < 9.95 { format!("{share:.1}") } else { format!("{share:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, share: f64, conduct: Option<Conduct>) -> Group {
        Group {
            name: name.into(),
            throughput_bps: Figure::exact(share * 1e6),
            fair_share_bps: Figure::exact(1e6),
            conduct,
            ..Group::default()
        }
    }

    fn document(label: &str, tcp: f64, flood: f64) -> Document {
        let groups =
            vec![group("tcp", tcp, Some(Conduct::Responsive)), group("flood", flood, Some(Conduct::Unresponsive))];
        Document { label: label.into(), groups, ..Document::default() }
    }

    #[test]
    fn the_best_queue_comes_first() {
        let (tail, sfb) = (document("drop_tail", 0.03, 28.4), document("sfb", 0.97, 0.4));
        assert_eq!(
            answer(&[&tail, &sfb]),
            "sfb: tcp gets 97 % of its fair share, flood is held to 400 kbit/s; \
             drop_tail: tcp gets 3 %, flood takes 28.4 Mbit/s, 28 times its fair share"
        );
    }

    #[test]
    fn of_many_queues_the_best_and_the_worst() {
        let many: Vec<Document> = (1..=6).map(|i| document(&format!("q{i}"), i as f64 / 10.0, 1.0)).collect();
        let text = answer(&many.iter().collect::<Vec<_>>());
        assert!(text.starts_with("best of all, q6: tcp gets 60 %"), "{text}");
        assert!(text.contains("; worst, q1: tcp gets 10 %"), "{text}");
    }

    #[test]
    fn where_conduct_is_unknown_the_queue_nearest_to_fair_comes_first() {
        let unknown = |label: &str, a: f64, b: f64| {
            let groups = vec![group("tcp", a, None), group("udp", b, None)];
            Document { label: label.into(), groups, ..Document::default() }
        };
        let (tail, sfb) = (unknown("drop_tail", 0.67, 2.6), unknown("sfb", 0.67, 0.52));
        let text = answer(&[&tail, &sfb]);
        assert!(text.starts_with("sfb: tcp gets 67 % of its fair share, udp gets 52 %; "), "{text}");
    }

    #[test]
    fn who_asks_for_no_more_than_is_fair_is_not_held_back_but_served_or_starved() {
        let mut call = group("voip", 0.4, Some(Conduct::Unresponsive));
        call.offered_bps = Figure::exact(1e6);
        let starved = Document { label: "red".into(), groups: vec![call.clone()], ..Document::default() };
        assert_eq!(answer(&[&starved]), "red: voip gets 40 % of its fair share");
        call.offered_bps = Figure::exact(9e6);
        let held = Document { label: "red".into(), groups: vec![call], ..Document::default() };
        assert_eq!(answer(&[&held]), "red: voip is held to 400 kbit/s");
    }

    #[test]
    fn without_a_fair_share_only_rates() {
        let group = Group { name: "udp".into(), throughput_bps: Figure::exact(2e6), ..Group::default() };
        let document = Document { label: "red".into(), groups: vec![group], ..Document::default() };
        assert_eq!(answer(&[&document]), "red: udp gets 2.00 Mbit/s");
        assert_eq!(answer(&[]), "");
    }

    #[test]
    fn a_label_cannot_command_the_terminal() {
        assert!(!answer(&[&document("\x1b[2J", 1.0, 1.0)]).contains('\x1b'));
    }
}
