//! The answer for people: one screen.
use tidegate_lab::advise::{Advice, Choice, Conclusion, GroupConduct, Promise, Senders};
use tidegate_report::page::{Block, Page};
use tidegate_report::{Figure, human};

/// Queues that are shown; all are in the JSON and the report.
const SHOWN: usize = 5;

/// The answer of `advice`.
pub fn page(advice: &Advice) -> Page {
    let mut page = Page::default();
    page.add(Block::Title(headline(advice)));
    page.add(Block::Text(seen(advice)));
    if !advice.senders.is_empty() {
        page.add(Block::Heading("Who sends".into()));
        page.add(Block::Table(senders(&advice.senders)));
    }
    if !advice.tried.is_empty() {
        page.add(Block::Heading("What users get of a fair share".into()));
        page.add(Block::Table(promises(advice)));
    }
    for (choice, heading) in [(&advice.choice, "Do this"), (&advice.linux, "With Linux alone")] {
        if let Some(choice) = choice {
            page.add(Block::Heading(heading.into()));
            page.add(Block::Code(commands(choice, heading == "Do this")));
        }
    }
    if !advice.unknown.is_empty() {
        page.add(Block::Heading("Not known".into()));
        page.extend(advice.unknown.iter().map(|note| Block::Item(human::plain(note))).collect());
    }
    page
}

fn percent(figure: Option<Figure>) -> String {
    figure.map_or(human::NONE.into(), |figure| human::percent(figure.mean()))
}

/// The promise of the queue that is to be chosen.
fn chosen(advice: &Advice) -> Option<&Promise> {
    let choice = advice.choice.as_ref()?;
    advice.tried.iter().find(|promise| promise.queue == choice.queue)
}

fn headline(advice: &Advice) -> String {
    let rate = human::rate(Figure::exact(advice.rate_bps));
    match (advice.verdict, chosen(advice)) {
        (Conclusion::Change, Some(to)) => {
            let from = advice.now.as_ref().filter(|now| now.worst.is_some());
            let worst = percent(from.and_then(|now| now.worst));
            let mut text = format!("Choose {}", to.queue);
            if to.worst.is_some() {
                text += &format!(
                    ": the worst user would get {} of a fair share; now {worst}",
                    percent(to.worst)
                );
            }
            text + "."
        }
        (Conclusion::Keep, _) => "Keep drop-tail: no queue that was tried helps users more.".into(),
        (Conclusion::NobodyToHelp, _) => {
            "Nobody here could be helped: all who send heed nothing.".into()
        }
        _ => format!(
            "Nothing to mend: {rate} were never used up. The most was {}.",
            human::rate(Figure::exact(advice.seen.most_bps))
        ),
    }
}

fn seen(advice: &Advice) -> String {
    let seen = &advice.seen;
    let mut text = format!(
        "{}: {} packets in {}",
        human::plain(&advice.capture),
        human::count(seen.packets),
        human::seconds(seen.seconds)
    );
    if let Some((from, to)) = seen.window_s {
        text += &format!(
            "; congested at {}, judged from {} to {}",
            human::rate(Figure::exact(advice.rate_bps)),
            human::seconds(from),
            human::seconds(to)
        );
    }
    text += &format!("; {} of TCP's segments were lost.", human::percent(seen.lost));
    if seen.window_s.is_none() && seen.lost > 0.01 {
        text += " If that is this link's doing, its rate is lower than --rate says.";
    }
    text
}

fn senders(groups: &[Senders]) -> Vec<Vec<String>> {
    let head = ["group", "count", "what", "round trip", "each", "lost"].map(String::from);
    let row = |group: &Senders| {
        let lost = match group.conduct {
            GroupConduct::Flood | GroupConduct::Thin => human::NONE.into(),
            _ => human::percent(group.lost),
        };
        vec![
            group.name.clone(),
            human::count(group.count.into()),
            what(group),
            round_trips(&group.round_trips_ms),
            each(group),
            lost,
        ]
    };
    std::iter::once(head.to_vec()).chain(groups.iter().map(row)).collect()
}

fn what(group: &Senders) -> String {
    let what = match group.conduct {
        GroupConduct::Users => "TCP, reacts",
        GroupConduct::Short => "TCP, ends",
        GroupConduct::Flood => "heeds nothing",
        GroupConduct::Thin => "asks for little",
        GroupConduct::Quic => "QUIC",
        GroupConduct::Untold => "may react",
        _ => "other",
    };
    let ecn = if group.ecn { ", ECN" } else { "" };
    format!("{what}{ecn}")
}

fn round_trips(ms: &[f64]) -> String {
    let whole = |ms: f64| human::millis(Figure::exact(ms));
    match (ms.first(), ms.last()) {
        (Some(&least), Some(&most)) if most > least * 1.05 => {
            format!("{} to {}", whole(least), whole(most))
        }
        (Some(&least), _) => whole(least),
        _ => human::NONE.into(),
    }
}

fn each(group: &Senders) -> String {
    match group.arrivals_per_s {
        Some(arrivals) => format!("{arrivals:.1} a second"),
        None => human::rate(Figure::exact(group.rate_bps)),
    }
}

/// The rows: what is now, and the queues worth showing.
fn promises(advice: &Advice) -> Vec<Vec<String>> {
    let transfers = advice.tried.iter().any(|promise| promise.transfer_ms.is_some());
    let mut head = vec!["", "worst user", "all users", "each user", "floods have", "95 % wait"];
    if transfers {
        head.push("95 % of transfers");
    }
    let mut rows = vec![head.into_iter().map(String::from).collect::<Vec<_>>()];
    let now = advice.now.iter().map(|now| ("now, captured".to_string(), now));
    let shown = shown(advice).into_iter().map(|promise| (promise.queue.clone(), promise));
    for (name, promise) in now.chain(shown) {
        let mut row = vec![
            name,
            human::ratio(promise.worst),
            human::ratio(promise.users),
            human::rate(promise.user_bps),
            human::ratio(promise.flood),
            human::millis(promise.wait_ms),
        ];
        if transfers {
            row.push(human::millis(promise.transfer_ms));
        }
        rows.push(row);
    }
    rows
}

/// Drop-tail, the advised queues, and the best of the others.
fn shown(advice: &Advice) -> Vec<&Promise> {
    let named = |choice: &Option<Choice>, promise: &Promise| {
        choice.as_ref().is_some_and(|choice| choice.queue == promise.queue)
    };
    let mut ranked: Vec<&Promise> = advice.tried.iter().collect();
    let worst = |promise: &Promise| promise.worst.map_or(0.0, |figure| figure.mean().min(1.0));
    ranked.sort_by(|a, b| worst(b).total_cmp(&worst(a)));
    let first = |promise: &&Promise| {
        promise.queue == "drop_tail"
            || named(&advice.choice, promise)
            || named(&advice.linux, promise)
    };
    let (mut shown, others): (Vec<_>, Vec<_>) = ranked.into_iter().partition(first);
    shown.sort_by(|a, b| worst(a).total_cmp(&worst(b)));
    let room = SHOWN.saturating_sub(shown.len());
    shown.extend(others.into_iter().take(room));
    shown
}

fn commands(choice: &Choice, gate: bool) -> String {
    let keys = ["rate", "limit", "queue"];
    let is_key = |line: &&str| keys.iter().any(|key| line.starts_with(&format!("{key} = ")));
    let mut lines: Vec<String> = vec![];
    if gate {
        lines.push("# gate.toml, below your [[link]]; --out DIR writes the file".into());
        lines.extend(choice.gate_toml.lines().filter(is_key).map(String::from));
    }
    lines.extend(choice.tc.iter().flatten().cloned());
    lines.join("\n")
}
