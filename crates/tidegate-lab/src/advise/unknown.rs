//! What a capture could not tell, in sentences.
use tidegate::Span;
use tidegate_report::human;

use super::judge::{CongestedSenders, Judged, SenderKind, Spot, is_tcp};
use super::round_trip::KnownBy;
use super::round_trip::USUAL_RTT_MS;
use super::senders::{GroupConduct, Senders};
use super::survey::{CONVERSATIONS, Loaded, Survey};
use super::window::LinkLoad;

/// Part of the time in which a link is busy whose queue was seldom empty.
const OFTEN: f64 = 0.8;
/// Seconds from which on a capture says something of what goes on.
const LONG_ENOUGH: f64 = 5.0;
/// Round trips from which on a simulation says something of connections.
const ENOUGH_TRIPS: f64 = 20.0;
/// Of all flows, so many of one host are many.
const MANY: f64 = 0.3;

/// `1 connection`, `2 connections`.
fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// What is not known of who sends, and what was taken for it.
pub(super) fn of_senders(
    judgement: &CongestedSenders<'_>,
    loaded: &Loaded<'_>,
    load: &LinkLoad,
    senders: &[Senders],
) -> Vec<String> {
    let mut notes = vec![];
    if loaded.back_packets == 0 {
        notes.push("One direction only: nobody's answers were seen.".into());
    }
    notes.extend(spot(judgement, senders));
    let of_kind = |kind| judgement.flows.iter().filter(|j| j.kind == kind).count();
    match of_kind(SenderKind::Quic) {
        0 => {}
        n => notes.push(format!(
            "{} of QUIC: encryption hides losses and round trips. Taken to react as CUBIC.",
            count(n, "connection")
        )),
    }
    match of_kind(SenderKind::Untold) {
        0 => {}
        n => notes.push(format!(
            "{} of datagrams both ways at a varying rate: whether losses matter to them does not \
             show. Taken to react as CUBIC.",
            count(n, "flow")
        )),
    }
    notes.extend(round_trips(judgement, load));
    let seconds = judgement.window.seconds(load.grid);
    if seconds < LONG_ENOUGH {
        notes.push(format!("Only {seconds:.1} s of congestion: what is rare did not show."));
    }
    match judgement.unanswered as usize {
        0 => {}
        n => notes.push(format!("{} never answered; not rebuilt.", count(n, "request"))),
    }
    notes.extend(many(judgement));
    notes
}

fn spot(judgement: &CongestedSenders<'_>, senders: &[Senders]) -> Option<String> {
    let floods = senders.iter().any(|group| group.conduct == GroupConduct::Flood);
    match judgement.spot {
        Spot::Before if floods => Some(
            "Captured before the queue: what the flood gets now is what others leave it.".into(),
        ),
        Spot::Before => None,
        Spot::Behind if floods => Some(
            "Captured behind the queue: the flood sends more than was seen, how much is a guess."
                .into(),
        ),
        Spot::Behind => None,
        Spot::Unknown => {
            Some("Whether it was captured before or behind the queue does not show.".into())
        }
    }
}

fn round_trips(judgement: &CongestedSenders<'_>, load: &LinkLoad) -> Vec<String> {
    let mut notes = vec![];
    let reacts = |j: &&Judged<'_>| matches!(j.kind, SenderKind::Long | SenderKind::Short);
    let all: Vec<&Judged<'_>> = judgement.flows.iter().filter(reacts).collect();
    let known = |how: KnownBy| {
        all.iter().filter(|j| j.round_trip.is_some_and(|(_, known)| known == how)).count()
    };
    let unknown = all.iter().filter(|j| j.round_trip.is_none()).count();
    if unknown > 0 && unknown == all.len() {
        notes.push(format!(
            "No round trip is known (no handshake, and no answers in both directions): taken for \
             {USUAL_RTT_MS} ms."
        ));
    } else if unknown > 0 {
        notes.push(format!(
            "Of {} of {} no round trip is known: taken for the others' median.",
            count(unknown, "connection"),
            all.len()
        ));
    }
    match known(KnownBy::Reply) {
        0 => {}
        n => notes.push(format!(
            "{} of {} by a server's first data alone, its time to answer included.",
            count(n, "round trip"),
            all.len()
        )),
    }
    notes.extend(halves(known(KnownBy::Half), known(KnownBy::AtLeast), all.len()));
    if load.busy() > OFTEN && unknown < all.len() {
        let busy = human::percent(load.busy());
        notes.push(format!(
            "The link was busy for {busy} of the time: round trips may hold some of the wait."
        ));
    }
    notes
}

/// Of so many round trips, those that are known by half.
fn halves(filled: usize, at_least: usize, of: usize) -> Vec<String> {
    let mut notes = vec![];
    match filled {
        0 => {}
        n => notes.push(format!(
            "{} of {} by one side's answers alone; the other side's half is the others' median.",
            count(n, "round trip"),
            of
        )),
    }
    match at_least {
        0 => {}
        n => notes.push(format!(
            "Of {} of {} the round trip is known on one side only, and may be longer: taken for \
             the others' median or {USUAL_RTT_MS} ms, or for what was seen where that is more.",
            count(n, "connection"),
            of
        )),
    }
    notes
}

/// That the rebuilt traffic lasts so many `seconds` only, `trips` round trips of the farthest.
pub(super) fn of_length((seconds, trips): (f64, f64)) -> String {
    let span = Span::from_secs((seconds * 1e3).round() / 1e3);
    let much = format!("Many packets, or far senders: {span} were simulated of each queue.");
    if trips < ENOUGH_TRIPS {
        return format!(
            "{much} That is {trips:.0} round trips of the farthest, too few to choose a queue by."
        );
    }
    format!("{much} The worst user may do better in the long run.")
}

/// A host with many of the connections, which would be many users.
fn many(judgement: &CongestedSenders<'_>) -> Option<String> {
    let mut hosts = std::collections::BTreeMap::new();
    let tcp: Vec<_> = judgement.flows.iter().filter(|j| is_tcp(j.flow)).collect();
    for judged in &tcp {
        *hosts.entry(judged.flow.ends().source).or_insert(0usize) += 1;
    }
    let (host, most) = hosts.into_iter().max_by_key(|(_, n)| *n)?;
    let others = tcp.len() - most;
    (others > 0 && most > 3 && most as f64 > MANY * tcp.len() as f64).then(|| {
        format!(
            "{host} has {most} of {} connections and so as many shares; flow_key = \"source\" \
             makes it one user.",
            tcp.len()
        )
    })
}

/// What is odd about the file itself.
pub(super) fn of_capture(survey: &Survey) -> Vec<String> {
    let mut notes = vec![];
    if !survey.sides.agree() {
        notes.push(
            "Senders are on more than two sides, as behind a switch: each connection's heavier \
             direction counts."
                .into(),
        );
    }
    if survey.merged > 0 {
        notes.push(format!(
            "{} frames were longer than any wire carries (segmentation offload): counted as \
             frames of 1514 bytes.",
            survey.merged
        ));
    }
    if survey.others.packets > 0 {
        notes.push(format!(
            "More than {CONVERSATIONS} conversations: {} packets of later ones have no sender \
             here.",
            survey.others.packets
        ));
    }
    if survey.skipped.packets() > 0 {
        notes.push(format!("{}.", survey.skipped));
    }
    match survey.backward {
        0 => {}
        1 => notes.push("A packet was stamped earlier than the one before.".into()),
        many => notes.push(format!("{many} packets were stamped earlier than the one before.")),
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_round_trips_are_too_few_to_choose_by() {
        let said = of_length((0.4404, 4.4));
        assert!(
            said.contains(" 440 ms were simulated") && said.contains("4 round trips"),
            "{said}"
        );
        assert!(said.ends_with("too few to choose a queue by."), "{said}");
        assert!(of_length((2.0, 20.0)).ends_with("better in the long run."));
    }
}
