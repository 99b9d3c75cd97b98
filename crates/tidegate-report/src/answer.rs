//! The answer in one sentence, computed from the figures: who got what against the fair share.
mod notes;

use crate::interval::{self, Estimate};
use crate::{Conduct, Document, Figure, Group, Pool, human};
pub use notes::{
    FEW_SEEDS, GOODPUT, REPLAY, STARVED, TOO_RARE, caveats, few_seeds, goodput_exceeds, packets,
    too_rare,
};

/// How a group fared against its fair share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It got less than half.
    Starved,
    /// It got less than four fifths.
    Short,
    /// Near its share.
    Fair,
    /// Much more than its share.
    Greedy,
}

impl Standing {
    /// The verdict on a group that got `share` times its fair share.
    pub fn of(share: f64) -> Standing {
        match share {
            s if s < 0.5 => Standing::Starved,
            s if s < 0.8 => Standing::Short,
            s if s <= 1.5 => Standing::Fair,
            _ => Standing::Greedy,
        }
    }
}

/// What a group [`received`](Group::received) over its fair share; `None` if either is unknown.
/// Where what is fair differs between seeds, as behind a capacity that is drawn, it is the mean of
/// their ratios.
pub fn share(group: &Group) -> Option<Figure> {
    let fair = group.fair_share_bps?;
    if fair.ci95().is_some_and(|half| half > 0.0) && group.share_by_seed.len() > 1 {
        return Pool::Mean.figure(group.share_by_seed.iter().copied().map(Some));
    }
    group.received()?.over(fair.mean())
}

/// The worst user of a group and how many are starved, where there are several users and that is
/// known.
pub fn worst(group: &Group) -> Option<(Figure, Figure)> {
    Some((group.worst_share?, group.starved?)).filter(|_| group.users() > 1)
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

/// Whether the ranks of two results differ surely: whether zero lies outside the interval of their
/// difference. None where there is no interval.
fn differ(a: &Document, b: &Document) -> Option<bool> {
    if let (Some(of_a), Some(of_b)) = (least_by_seed(a), least_by_seed(b)) {
        return interval::differ(interval::difference(&of_a, &of_b, a.seeds == b.seeds)?);
    }
    // An older result has no shares by seed.
    let estimate =
        |document: &Document| Estimate::from_figure(least(document)?.1, document.seeds.len());
    interval::differ(interval::welch(estimate(a)?, estimate(b)?))
}

/// For each of the `ranked` results, the others that it does not surely differ from. For the first,
/// all that come after it; for any other, what comes before it. Empty where the rank is plain.
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
    match Standing::of(share) {
        Standing::Greedy => {
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
mod tests;
