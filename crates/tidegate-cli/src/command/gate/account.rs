//! What became of every frame, told: a line, a table, a document.
use serde_json::{Map, Value, json};
use tidegate::{Bytes, MarkReason, Span};
use tidegate_gateway::machine::failopen::Passed;
use tidegate_gateway::watch::counters::{Account, DirectionCounters, LossReason, Tally};
use tidegate_gateway::watch::record::Recorded;
use tidegate_report::page::{Block, Page};
use tidegate_report::table::Look;
use tidegate_report::{Figure, human};

use super::notes::LinkCount;
use super::ready::EndedGate;
use crate::failure::Failure;
use crate::output;

/// A plan as pairs of a name and a text.
pub type PlanLines = Vec<(String, String)>;

/// Prints plans, one for each link: as JSON an object, or a list of them if there are several.
///
/// # Errors
/// They cannot be written.
pub fn print_plans(plans: &[PlanLines], json: bool) -> Result<(), Failure> {
    if json {
        return print_documents(plans.iter().map(named).collect(), LinkCount::of(plans.len()));
    }
    let width = plans.iter().flatten().map(|(name, _)| name.len()).max().unwrap_or(0);
    let page = |lines: &PlanLines| {
        lines.iter().map(|(name, text)| format!("{name:width$}  {text}\n")).collect::<String>()
    };
    output::print(&plans.iter().map(page).collect::<Vec<_>>().join("\n"))
}

/// Prints what became of the frames of each link that ended well, of so many as were asked for,
/// likewise.
///
/// # Errors
/// It cannot be written.
pub fn print(ended: &[EndedGate], links: LinkCount, json: bool) -> Result<(), Failure> {
    if json {
        print_documents(ended.iter().map(document).collect(), links)
    } else {
        output::print(&ended.iter().map(page).collect::<Vec<_>>().join("\n"))
    }
}

fn print_documents(mut documents: Vec<Value>, links: LinkCount) -> Result<(), Failure> {
    let document = match (links, documents.pop()) {
        (LinkCount::One, None) => return Ok(()),
        (LinkCount::One, Some(document)) => document,
        (LinkCount::Several, last) => documents.into_iter().chain(last).collect(),
    };
    output::print(&format!("{document:#}\n"))
}

/// How things stand after `span`, in a line.
pub fn status(span: Span, account: &Account) -> String {
    let DirectionCounters { received, sent, held, .. } = account.managed;
    let marked: u64 = account.managed.marked.iter().sum();
    format!(
        "{:.0} s: received {}, sent {}, lost {}, marked {marked}, held {}; back {}",
        span.as_secs(),
        received.frames,
        sent.frames,
        account.managed.lost_in_all().frames,
        held.frames,
        account.reverse.sent.frames
    )
}

fn named(lines: &PlanLines) -> Value {
    Value::Object(lines.iter().map(|(name, text)| (name.clone(), text.clone().into())).collect())
}

fn document(EndedGate { config, plan, span, account, passed, recorded }: &EndedGate) -> Value {
    let recorded = recorded.as_ref().map(|r| {
        json!({
            "written": r.written, "unwritten": r.unwritten, "bytes": r.bytes, "trouble": r.trouble,
        })
    });
    json!({
        "schema": "tidegate.gate/1",
        "link": config.name,
        "plan": named(&config.lines(plan)),
        "duration_s": span.as_secs(),
        "managed": direction(&account.managed, passed[0]),
        "reverse": direction(&account.reverse, passed[1]),
        "recorded": recorded,
    })
}

fn direction(counters: &DirectionCounters, passed: Passed) -> Value {
    let tally = |t: Tally| json!({ "frames": t.frames, "bytes": t.bytes });
    let lost: Map<_, _> =
        LossReason::all().map(|why| (why.name().into(), tally(counters.lost(why)))).collect();
    let marked: Map<_, _> = MarkReason::ALL
        .iter()
        .map(|&why| (why.name().into(), counters.marked[why as usize].into()))
        .collect();
    json!({
        "received": tally(counters.received),
        "sent": tally(counters.sent),
        "held": tally(counters.held),
        "lost": lost,
        "marked": marked,
        "allowed": tally(counters.allowed),
        "unfinished": counters.unfinished,
        "missed": counters.missed,
        "unheard": unheard(counters, passed),
        "kernel": { "taken": passed.taken, "unmanaged": passed.unmanaged },
    })
}

/// Frames that the kernel's program has counted at an interface, and that never came to us. Nobody
/// heard the interface, as in the moment after it has come up again.
fn unheard(counters: &DirectionCounters, passed: Passed) -> u64 {
    (passed.taken + passed.unmanaged).saturating_sub(counters.received.frames + counters.missed)
}

/// The account as a table.
fn page(EndedGate { plan, span, account, passed, recorded, .. }: &EndedGate) -> String {
    let (settings, span) = (plan.settings(), *span);
    let by = |label: Option<&str>| label.map(|label| format!(" ({label})")).unwrap_or_default();
    let back = by(settings.back.as_ref().map(|way| way.label.as_str()));
    let head = [
        format!("in {:.1} s", span.as_secs()),
        format!("{} -> {}{}", settings.inner, settings.outer, by(Some(&settings.there.label))),
        format!("{} -> {}{back}", settings.outer, settings.inner),
    ];
    let both = [&account.managed, &account.reverse];
    let sizes = |name: &str, of: &dyn Fn(&DirectionCounters) -> Tally| {
        [name.into(), size(of(both[0]), span), size(of(both[1]), span)]
    };
    let counts = |name: &str, of: &dyn Fn(&DirectionCounters) -> u64| {
        [name.into(), count(of(both[0])), count(of(both[1]))]
    };
    let mut rows = vec![head, sizes("received", &|c| c.received), sizes("sent", &|c| c.sent)];
    let mut rare: Vec<[String; 3]> = LossReason::all()
        .map(|why| sizes(&format!("lost: {}", why.name()), &|c| c.lost(why)))
        .collect();
    rare.extend(
        MarkReason::ALL
            .iter()
            .map(|&why| counts(&format!("marked: {}", why.name()), &|c| c.marked[why as usize])),
    );
    rare.push(sizes("not judged", &|c| c.allowed));
    rare.push(sizes("held at the end", &|c| c.held));
    rare.push(counts("missed by the kernel", &|c| c.missed));
    let [there, back] = [0, 1].map(|at| count(unheard(both[at], passed[at])));
    rare.push(["came while nobody heard".into(), there, back]);
    rare.push(counts("checksum not filled in", &|c| c.unfinished));
    rare.retain(|[_, there, back]| there != NOTHING || back != NOTHING);
    rows.extend(rare);
    let mut page = Page::default();
    page.add(Block::Table(rows.into_iter().map(Vec::from).collect()));
    if let Some(Recorded { written, unwritten, bytes, trouble }) = recorded {
        let because = trouble.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        let (written, unwritten) = (human::count(*written), human::count(*unwritten));
        let size = Bytes::new(*bytes);
        page.add(Block::Text(format!(
            "Recorded {written} frames in {size}; {unwritten} went unrecorded{because}."
        )));
    }
    page.render(&Look::stdout())
}

/// What stands where nothing happened.
const NOTHING: &str = "–";

fn count(frames: u64) -> String {
    if frames == 0 { NOTHING.into() } else { human::count(frames) }
}

/// Frames, and what they were as a rate.
fn size(tally: Tally, span: Span) -> String {
    if tally.frames == 0 {
        return NOTHING.into();
    }
    let rate = Figure::exact(tally.bytes as f64 * 8.0 / span.as_secs().max(1e-9));
    format!("{} ({})", human::count(tally.frames), human::rate(rate))
}
