//! The answer in one sentence, computed from the figures: who got what against the fair share.
use crate::interval::{self, Estimate};
use crate::{Conduct, Document, Figure, Group, Unsettled, human};

/// What must be known of every replay, in one line.
pub const REPLAY: &str = "In a replay senders do not react: this is what each queue would have done to these packets, \
                          not what would have become of the traffic.";

/// Why goodput can exceed throughput.
pub const GOODPUT: &str = "Goodput counts bytes when they are in order at the receiver, throughput when they arrive. \
                           Where a gap is filled after the warm-up, goodput includes what had arrived behind the gap \
                           before, so that of starved flows it can be above throughput.";

/// Whether some group's goodput is above its throughput, so that [`GOODPUT`] must be said.
pub fn goodput_exceeds(document: &Document) -> bool {
    let exceeds = |g: &Group| matches!((g.goodput_bps, g.throughput_bps), (Some(g), Some(t)) if g.mean() > t.mean());
    document.groups.iter().any(exceeds)
}

/// What the columns of the worst user and of the starved mean.
pub const STARVED: &str = "Worst user: least of a fair share that one user of the group got, by goodput; starved: users with less \
                           than a tenth of it. Both are means over seeds.";

/// Why a ratio has no interval though there are seeds enough.
pub const TOO_RARE: &str =
    "A loss without ± was seen too seldom, or in too few seeds, for an interval that holds.";

/// How far intervals can be trusted (`tests/coverage.rs` of tidegate-lab measures it).
pub const MEDIANS: &str = "With few seeds the interval of a median delay may hold in only 80 of 100 cases, since medians take few \
                           values; the others hold in 91 to 97. Near 100 % utilization and Jain's index have none.";

/// Whether there are intervals of few seeds, so that [`MEDIANS`] must be said.
pub fn few_seeds(documents: &[&Document]) -> bool {
    documents.iter().any(|d| (2..20).contains(&d.seeds.len()))
}

/// Whether the losses of some group were too rare for an interval, so that [`TOO_RARE`] must be
/// said.
pub fn too_rare(document: &Document) -> bool {
    let rare = |g: &Group| g.loss_ratio.is_some_and(|f| f.mean() > 0.0 && f.ci95().is_none());
    document.seeds.len() > 1 && document.groups.iter().any(rare)
}

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

/// What a group [`received`](Group::received) over its fair share; `None` if either is unknown.
pub fn share(group: &Group) -> Option<Figure> {
    group.received()?.over(group.fair_share_bps?.mean())
}

/// The worst user of a group and how many are starved, where there are several users and that is
/// known.
pub fn worst(group: &Group) -> Option<(Figure, Figure)> {
    Some((group.worst_share?, group.starved?)).filter(|_| group.users() > 1)
}

/// What a reader must know of the results before he takes a figure from them, a sentence each:
/// groups whose goodput is far below their throughput, and warm-ups that were too short.
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

/// Whether a group takes no heed of congestion and asks for more than its share, so that a queue
/// should hold it back. A call that sends at a steady 64 kbit/s heeds nothing either, but it asks
/// for no more than is fair.
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

/// The answer to "who got what?", one clause per result, the result that protects its responsive
/// groups best first. Of many results, the best and the worst.
pub fn clauses(documents: &[&Document]) -> Vec<Clause> {
    let mut ranked: Vec<&Document> = documents.to_vec();
    let rank =
        |document: &Document| least(document).map_or(f64::INFINITY, |(_, share)| share.mean());
    // A stable sort: results that protect equally well stay in the order they were asked for.
    ranked.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    let tied = ties(&ranked);
    let many = ranked.len() > SPELT_OUT;
    if many {
        ranked = vec![ranked[0], ranked[ranked.len() - 1]];
    }
    let tied = if many { vec![tied[0].clone(), tied[tied.len() - 1].clone()] } else { tied };
    let clause = |(i, document): (usize, &&Document)| {
        let (wording, place) = match (i, many) {
            (0, false) => (Wording::Full, ""),
            (0, true) => (Wording::Full, "best of all, "),
            (_, false) => (Wording::Short, ""),
            (_, true) => (Wording::Short, "worst, "),
        };
        Clause {
            title: human::plain(&format!("{place}{}", document.title())),
            text: human::plain(&text(document, wording, &tied[i])),
        }
    };
    ranked.iter().enumerate().map(clause).collect()
}

/// The [`clauses`] as one sentence:
/// `sfb: tcp gets 97 % of its fair share, flood is held to 0.40 Mbit/s; drop_tail: tcp gets 3 %,
/// flood takes …`. Empty without results.
pub fn answer(documents: &[&Document]) -> String {
    clauses(documents)
        .iter()
        .map(|c| format!("{}: {}", c.title, c.text))
        .collect::<Vec<_>>()
        .join("; ")
}

/// The responsive group that fares worst, and its share. A group of unknown conduct counts by how
/// far it is from its share either way; one that heeds nothing is not protected. `None`: there is
/// nobody to protect.
fn least(document: &Document) -> Option<(&Group, Figure)> {
    let fared = |group| {
        let share = share(group)?;
        let fared = match group.conduct {
            _ if offends(group) => None,
            // As far above its share as the inverse is below; so is the interval, to first order.
            None if share.mean() > 1.0 => share.over(share.mean() * share.mean()),
            _ => Some(share),
        };
        Some((group, fared?))
    };
    document.groups.iter().filter_map(fared).min_by(|(_, a), (_, b)| a.mean().total_cmp(&b.mean()))
}

/// The shares by seed of the group that decides a result's rank, on the scale of [`least`]; none
/// where they are unknown.
fn least_by_seed(document: &Document) -> Option<Vec<f64>> {
    let (group, fared) = least(document)?;
    let scale = fared.mean() / share(group)?.mean();
    (group.share_by_seed.len() > 1).then(|| group.share_by_seed.iter().map(|s| s * scale).collect())
}

/// Whether the ranks of two results can be told apart: whether zero lies outside the interval of
/// their difference. None where there is no interval.
fn differ(a: &Document, b: &Document) -> Option<bool> {
    if let (Some(of_a), Some(of_b)) = (least_by_seed(a), least_by_seed(b)) {
        return interval::differ(interval::difference(&of_a, &of_b, a.seeds == b.seeds)?);
    }
    // An older result has no shares by seed.
    let estimate =
        |document: &Document| Estimate::from_figure(least(document)?.1, document.seeds.len());
    interval::differ(interval::welch(estimate(a)?, estimate(b)?))
}

/// For each of the `ranked` results, from which others it cannot be told. Of the first, whatever
/// comes after it; of any other, what comes before it. Empty where the rank is plain.
fn ties(ranked: &[&Document]) -> Vec<String> {
    let others = |i: usize| if i == 0 && ranked.len() > SPELT_OUT { 1..ranked.len() } else { 0..i };
    let tie = |i: usize| {
        let names: Vec<&str> = others(i)
            .filter(|&j| differ(ranked[i], ranked[j]) == Some(false))
            .map(|j| ranked[j].title())
            .collect();
        match names.as_slice() {
            [] => String::new(),
            names => format!(" (not distinguishable from {})", listed(names)),
        }
    };
    (0..ranked.len()).map(tie).collect()
}

/// `a, b and c`; of many, the first two and how many more.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).into(),
        [first @ .., last] if names.len() < 4 => format!("{} and {last}", first.join(", ")),
        [first, second, rest @ ..] => format!("{first}, {second} and {} others", rest.len()),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wording {
    Full,
    Short,
}

fn text(document: &Document, wording: Wording, tie: &str) -> String {
    let deciding = least(document).map(|(group, _)| group.name.as_str());
    let mut groups: Vec<&Group> = document.groups.iter().collect();
    if groups.len() > GROUPS {
        let off = |g: &Group| {
            share(g).map_or(0.0, |s| if s.mean() < 1.0 { 1.0 - s.mean() } else { s.mean() - 1.0 })
        };
        groups.sort_by(|a, b| off(b).total_cmp(&off(a)));
        // The group that decides the rank is always spelt out.
        groups.sort_by_key(|g| deciding != Some(g.name.as_str()));
        groups.truncate(GROUPS);
    }
    // "of its fair share" is said once.
    let mut wording = wording;
    let part = |group: &Group| {
        let text = part(group, wording);
        if text.ends_with(" fair share") && !text.contains(" times ") {
            wording = Wording::Short;
        }
        let text = text + &worst_told(group);
        // The tie is said of the group that decides the rank.
        if deciding == Some(group.name.as_str()) { text + tie } else { text }
    };
    let parts: Vec<String> = groups.into_iter().map(part).collect();
    if parts.is_empty() { "no group of flows".into() } else { parts.join(", ") }
}

fn part(group: &Group, wording: Wording) -> String {
    let (name, rate) = (&group.name, human::rate_mean(group.throughput_bps));
    let [gets, takes, is, its] =
        if plural(name) { ["get", "take", "are", "their"] } else { ["gets", "takes", "is", "its"] };
    let Some(share) = share(group).map(|s| s.mean()) else {
        return format!("{name} {gets} {rate}");
    };
    let fair =
        if wording == Wording::Full { format!(" of {its} fair share") } else { String::new() };
    match Verdict::of(share) {
        Verdict::Greedy => {
            format!("{name} {takes} {rate}, {} times {its} fair share", times(share))
        }
        _ if offends(group) => format!("{name} {is} held to {rate}"),
        _ => format!("{name} {gets} {}{fair}", human::percent(share)),
    }
}

/// ` (worst user 12 %, 1.8 of 20 starved)`; nothing of an offender, nor where there is but one
/// user.
fn worst_told(group: &Group) -> String {
    let Some((share, starved)) = worst(group).filter(|_| !offends(group)) else {
        return String::new();
    };
    let starved = if starved.mean() > 0.0 {
        format!(", {} starved", starved_of(starved.mean(), group))
    } else {
        String::new()
    };
    format!(" (worst user {}{starved})", human::percent(share.mean()))
}

/// `1.8 of 20`.
fn starved_of(starved: f64, group: &Group) -> String {
    format!("{} of {}", human::few(starved), human::count(group.users()))
}

/// Whether a group's name is the plural of a word, as `users` is. Protocols and abbreviations that
/// end in s are not.
fn plural(name: &str) -> bool {
    let word = name.rsplit([' ', '-', '_']).next().unwrap_or(name);
    let stem = word.strip_suffix('s').unwrap_or_default();
    let a_word =
        stem.len() >= 3 && stem.chars().all(|c| c.is_ascii_alphabetic()) && !word.ends_with("ttps");
    a_word
        && stem.chars().skip(1).all(|c| c.is_ascii_lowercase())
        && !stem.ends_with(['s', 'u', 'i'])
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
        let groups = vec![
            group("tcp", tcp, Some(Conduct::Responsive)),
            group("flood", flood, Some(Conduct::Unresponsive)),
        ];
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
        let many: Vec<Document> =
            (1..=6).map(|i| document(&format!("q{i}"), i as f64 / 10.0, 1.0)).collect();
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
        assert!(
            text.starts_with("sfb: tcp gets 67 % of its fair share, udp gets 52 %; "),
            "{text}"
        );
    }

    #[test]
    fn who_asks_for_no_more_than_is_fair_is_not_held_back_but_served_or_starved() {
        let mut call = group("voip", 0.4, Some(Conduct::Unresponsive));
        call.offered_bps = Figure::exact(1e6);
        let starved =
            Document { label: "red".into(), groups: vec![call.clone()], ..Document::default() };
        assert_eq!(answer(&[&starved]), "red: voip gets 40 % of its fair share");
        call.offered_bps = Figure::exact(9e6);
        let held = Document { label: "red".into(), groups: vec![call], ..Document::default() };
        assert_eq!(answer(&[&held]), "red: voip is held to 400 kbit/s");
    }

    #[test]
    fn without_a_fair_share_only_rates() {
        let group =
            Group { name: "udp".into(), throughput_bps: Figure::exact(2e6), ..Group::default() };
        let document = Document { label: "red".into(), groups: vec![group], ..Document::default() };
        assert_eq!(answer(&[&document]), "red: udp gets 2.00 Mbit/s");
        assert_eq!(answer(&[]), "");
    }

    fn with_interval(label: &str, tcp: f64, half: f64) -> Document {
        let mut document = document(label, tcp, 20.0);
        document.groups[0].throughput_bps = Figure::new(tcp * 1e6, Some(half * 1e6));
        document.seeds = vec![1, 2, 3, 4, 5];
        document
    }

    /// A result whose users have these shares, one for each seed.
    fn by_seed(label: &str, shares: &[f64]) -> Document {
        let mut document = document(label, 1.0, 20.0);
        let figure = interval::mean(shares).unwrap();
        document.groups[0].throughput_bps =
            Figure::new(figure.mean() * 1e6, figure.ci95().map(|half| half * 1e6));
        document.groups[0].share_by_seed = shares.to_vec();
        document.seeds = (1..=shares.len() as u64).collect();
        document
    }

    #[test]
    fn the_difference_decides_not_the_overlap() {
        // The intervals overlap: .50 ± .020 and .53 ± .020. The difference is .03 ± .023.
        let (a, b) = (with_interval("a", 0.50, 0.02), with_interval("b", 0.53, 0.02));
        assert!(!answer(&[&a, &b]).contains("distinguishable"), "{}", answer(&[&a, &b]));
        let near = with_interval("c", 0.52, 0.02);
        assert!(
            answer(&[&a, &near]).contains("(not distinguishable from c)"),
            "{}",
            answer(&[&a, &near])
        );
        // Pair by pair b is ahead in every seed; by themselves the two spread too far.
        let shares = [0.3, 0.4, 0.5, 0.6, 0.7];
        let ahead = shares.map(|s| s + 0.01 + s / 100.0);
        let (a, mut b) = (by_seed("a", &shares), by_seed("b", &ahead));
        assert!(!answer(&[&a, &b]).contains("distinguishable"), "{}", answer(&[&a, &b]));
        b.seeds = vec![6, 7, 8, 9, 10];
        assert!(answer(&[&a, &b]).contains("distinguishable"), "other seeds are no pairs");
    }

    #[test]
    fn responsive_flows_go_by_goodput_and_the_worst_user_is_named() {
        let mut document = document("sfb", 0.9, 0.4);
        document.groups[0].goodput_bps = Figure::exact(0.6e6);
        document.groups[0].count = 20;
        document.groups[0].worst_share = Figure::exact(0.01);
        document.groups[0].starved = Figure::exact(1.8);
        let said = "sfb: tcp gets 60 % of its fair share (worst user 1 %, 1.8 of 20 starved), \
             flood is held to 400 kbit/s";
        assert_eq!(answer(&[&document]), said);
        let told = caveats(&[&document]);
        assert_eq!(told, ["tcp: goodput is only 67 % of throughput, the rest was received twice."]);
    }

    #[test]
    fn a_short_warmup_is_told() {
        let unsettled = |warmup_s| Unsettled {
            group: "tcp".into(),
            early_bps: 108.0,
            late_bps: 100.0,
            warmup_s,
        };
        let of = |u: Unsettled| {
            caveats(&[&Document { unsettled: vec![u], ..Document::default() }]).remove(0)
        };
        let begin = "tcp: not steady, in the first quarter 8 % higher than in the second half; ";
        assert_eq!(of(unsettled(Some(20.0))), format!("{begin}a run.warmup of 20 s would do."));
        assert!(
            of(unsettled(None)).starts_with(&format!("{begin}it does not settle within this run"))
        );
    }

    #[test]
    fn where_intervals_overlap_no_rank_is_claimed() {
        let all = [
            ("red", 0.0187, 0.0027),
            ("blue", 0.0161, 0.0060),
            ("sfb", 0.91, 0.02),
            ("drop_tail", 0.0005, 0.0001),
        ];
        let all = all.map(|(label, share, half)| with_interval(label, share, half));
        let texts: Vec<String> =
            clauses(&all.iter().collect::<Vec<_>>()).into_iter().map(|c| c.text).collect();
        let tied: Vec<bool> =
            texts.iter().map(|text| text.contains("not distinguishable")).collect();
        assert_eq!(tied, [false, false, true, false], "{texts:?}");
        assert!(
            texts[2].starts_with("tcp gets 1.6 % (not distinguishable from red), flood takes "),
            "{}",
            texts[2]
        );
        let one_seed = [document("red", 0.018, 20.0), document("blue", 0.018, 20.0)];
        assert!(
            !answer(&[&one_seed[0], &one_seed[1]]).contains("distinguishable"),
            "without intervals nothing is known"
        );
    }

    #[test]
    fn the_best_of_many_says_who_may_be_as_good() {
        let many: Vec<Document> = (1..=6)
            .map(|i| with_interval(&format!("q{i}"), 0.5 + i as f64 / 100.0, 0.01))
            .collect();
        let text = answer(&many.iter().collect::<Vec<_>>());
        let best = "best of all, q6: tcp gets 56 % of its fair share (not distinguishable from \
             q5), flood takes ";
        assert!(text.starts_with(best), "{text}");
        assert!(
            text.contains("worst, q1: tcp gets 51 % (not distinguishable from q2), "),
            "{text}"
        );
    }

    #[test]
    fn groups_named_in_the_plural() {
        let users =
            vec![group("users", 0.9, None), group("calls", 0.8, None), group("bursts", 3.0, None)];
        let document = Document { label: "red".into(), groups: users, ..Document::default() };
        let said = "red: users get 90 % of their fair share, calls get 80 %, bursts take 3.00 \
             Mbit/s, 3.0 times their fair share";
        assert_eq!(answer(&[&document]), said);
        assert!(["users", "web users", "voip_calls", "Users"].into_iter().all(plural));
        assert!(
            !["tcp", "https", "dns", "bus", "s", "", "access", "QUICs", "DNS"]
                .into_iter()
                .any(plural)
        );
    }

    #[test]
    fn a_label_cannot_command_the_terminal() {
        assert!(!answer(&[&document("\x1b[2J", 1.0, 1.0)]).contains('\x1b'));
    }
}
