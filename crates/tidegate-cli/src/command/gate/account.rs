//! What became of every frame, told: a line, a table, a document.
use serde_json::{Map, Value, json};
use tidegate::{Bytes, MarkReason, Span};
use tidegate_gateway::counters::{Counters, Loss, Tally};
use tidegate_gateway::gate::Account;
use tidegate_gateway::plan::Plan;
use tidegate_gateway::record::Recorded;
use tidegate_report::{Figure, human};

use crate::manual::{Block, Page};

/// How things stand after `span`, in a line.
pub fn status(span: Span, account: &Account) -> String {
    let Counters { received, sent, held, .. } = account.managed;
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

/// The plan as an object.
pub fn named(lines: Vec<(&'static str, String)>) -> Value {
    Value::Object(lines.into_iter().map(|(name, text)| (name.into(), text.into())).collect())
}

/// The account as a document.
pub fn document(plan: &Plan, span: Span, account: &Account, recorded: Option<&Recorded>) -> Value {
    let recorded = recorded
        .map(|r| json!({ "written": r.written, "unwritten": r.unwritten, "bytes": r.bytes, "trouble": r.trouble }));
    json!({
        "schema": "tidegate.gate/1",
        "plan": named(plan.lines()),
        "duration_s": span.as_secs(),
        "managed": direction(&account.managed),
        "reverse": direction(&account.reverse),
        "recorded": recorded,
    })
}

fn direction(counters: &Counters) -> Value {
    let tally = |t: Tally| json!({ "frames": t.frames, "bytes": t.bytes });
    let lost: Map<_, _> = Loss::all().map(|why| (why.name().into(), tally(counters.lost(why)))).collect();
    let marked: Map<_, _> =
        MarkReason::ALL.iter().map(|&why| (why.name().into(), counters.marked[why as usize].into())).collect();
    json!({
        "received": tally(counters.received),
        "sent": tally(counters.sent),
        "held": tally(counters.held),
        "lost": lost,
        "marked": marked,
        "unfinished": counters.unfinished,
        "missed": counters.missed,
    })
}

/// The account as a table.
pub fn page(plan: &Plan, span: Span, account: &Account, recorded: Option<&Recorded>) -> String {
    let settings = plan.settings();
    let head = [
        format!("in {:.1} s", span.as_secs()),
        format!("{} -> {} ({})", settings.inner, settings.outer, settings.label),
        format!("{} -> {}", settings.outer, settings.inner),
    ];
    let both = [&account.managed, &account.reverse];
    let sizes =
        |name: &str, of: &dyn Fn(&Counters) -> Tally| [name.into(), size(of(both[0]), span), size(of(both[1]), span)];
    let counts = |name: &str, of: &dyn Fn(&Counters) -> u64| [name.into(), count(of(both[0])), count(of(both[1]))];
    let mut rows = vec![head, sizes("received", &|c| c.received), sizes("sent", &|c| c.sent)];
    let mut rare: Vec<[String; 3]> =
        Loss::all().map(|why| sizes(&format!("lost: {}", why.name()), &|c| c.lost(why))).collect();
    rare.extend(
        MarkReason::ALL.iter().map(|&why| counts(&format!("marked: {}", why.name()), &|c| c.marked[why as usize])),
    );
    rare.push(sizes("held at the end", &|c| c.held));
    rare.push(counts("missed by the kernel", &|c| c.missed));
    rare.push(counts("checksum not filled in", &|c| c.unfinished));
    rare.retain(|[_, there, back]| there != NOTHING || back != NOTHING);
    rows.extend(rare);
    let mut page = Page::default();
    page.add(Block::Table(rows.into_iter().map(Vec::from).collect()));
    if let Some(Recorded { written, unwritten, bytes, trouble }) = recorded {
        let because = trouble.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        let (written, unwritten) = (human::count(*written), human::count(*unwritten));
        let size = Bytes::new(*bytes);
        page.add(Block::Text(format!("Recorded {written} frames in {size}; {unwritten} went unrecorded{because}.")));
    }
    page.render()
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
