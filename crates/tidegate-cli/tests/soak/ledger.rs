//! Who counted what: the wires at the far ends, the kernel's program at the gate, the gate itself.
//! Between any two of them no frame may be missing.
use std::fmt::{self, Display, Formatter};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tidegate_gateway::demo::Rig;
use tidegate_gateway::machine::namespaces::Namespace;

use crate::Sample;

/// How long senders may take to fall silent after they were stopped: TCP repeats its farewells.
const SILENCE: Duration = Duration::from_secs(20);
/// What memory of the gate's own may be more at the end than in the middle, in bytes: what an
/// allocator keeps for itself. The frames' memory alone is more than that, if one reload were to
/// leave it behind.
const GROWTH: f64 = 4e6;

/// Whether something holds, and by what figures.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub what: String,
    pub holds: bool,
    pub found: String,
}

impl Verdict {
    pub fn new(what: impl Into<String>, holds: bool, found: String) -> Verdict {
        Verdict { what: what.into(), holds, found }
    }
}

impl Display for Verdict {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let holds = if self.holds { "holds" } else { "FAILS" };
        write!(f, "{holds}: {}: {}", self.what, self.found)
    }
}

/// The wires' counters at one time: sent by the clients, by the server; sent by the gate to the
/// server, to the clients.
#[derive(Clone, Copy, Debug)]
struct Wires {
    offered: [u64; 2],
    left: [u64; 2],
    dropped: [u64; 2],
}

impl Wires {
    fn read(rig: &Rig) -> Wires {
        let count = |at: &Namespace, interface: &str, what: &str| -> u64 {
            let told =
                at.run(&["cat", &format!("/sys/class/net/{interface}/statistics/{what}")]).unwrap();
            told.trim().parse().unwrap()
        };
        let gate =
            |what: &str| ["east", "west"].map(|interface| count(&rig.gateway, interface, what));
        Wires {
            offered: [
                count(&rig.clients, "users", "tx_packets"),
                count(&rig.server, "server", "tx_packets"),
            ],
            left: gate("tx_packets"),
            dropped: gate("tx_dropped"),
        }
    }

    fn since(self, before: Wires) -> Wires {
        let minus = |now: [u64; 2], then: [u64; 2]| [now[0] - then[0], now[1] - then[1]];
        Wires {
            offered: minus(self.offered, before.offered),
            left: minus(self.left, before.left),
            dropped: minus(self.dropped, before.dropped),
        }
    }
}

/// The wires' counters at the beginning, when nobody sent yet.
pub struct Ledger(Wires);

/// What was found at the end.
pub struct Entries {
    pub verdicts: Vec<Verdict>,
    pub account: Value,
}

impl Ledger {
    pub fn open(rig: &Rig) -> Ledger {
        Ledger(Wires::read(rig))
    }

    /// When nobody sends any more, has the gate ended by `end`, which gives its account and what it
    /// said, and holds all counters against each other.
    pub fn close(self, rig: &Rig, end: impl FnOnce() -> (Value, String), flaps: u64) -> Entries {
        let begun = Instant::now();
        let mut before = Wires::read(rig);
        while begun.elapsed() < SILENCE {
            sleep(Duration::from_secs(1));
            let now = Wires::read(rig);
            if now.offered == before.offered && now.left == before.left {
                break;
            }
            before = now;
        }
        // Nothing is to come off the wires while the gate ends.
        rig.clients.run(&["ip", "link", "set", "users", "down"]).unwrap();
        rig.server.run(&["ip", "link", "set", "server", "down"]).unwrap();
        sleep(Duration::from_millis(300));
        let (account, told) = end();
        let wires = Wires::read(rig).since(self.0);
        let mut verdicts = vec![said(&told)];
        for (at, name) in ["managed", "reverse"].into_iter().enumerate() {
            verdicts.extend(direction(
                name,
                &account[name],
                [wires.offered[at], wires.left[at], wires.dropped[at]],
                flaps,
            ));
        }
        Entries { verdicts, account }
    }
}

/// The gate has not complained of itself.
fn said(told: &str) -> Verdict {
    let bad = told.lines().find(|line| {
        ["this is a bug", "not heeded", "error:"].iter().any(|word| line.contains(word))
    });
    let stopped = told.matches("we were stopped").count();
    let found = bad.map_or(
        format!("it ended well; {stopped} times it was kept from its processor"),
        String::from,
    );
    Verdict::new("one process from the beginning to the end", bad.is_none(), found)
}

/// One direction's counters, held against each other.
fn direction(
    name: &str,
    gate: &Value,
    [offered, left, dropped]: [u64; 3],
    flaps: u64,
) -> Vec<Verdict> {
    let count = |value: &Value| value.as_u64().unwrap();
    let frames = |key: &str| count(&gate[key]["frames"]);
    let [received, sent, held] = ["received", "sent", "held"].map(frames);
    let lost = |unit: &str| {
        gate["lost"].as_object().unwrap().values().map(|tally| count(&tally[unit])).sum::<u64>()
    };
    let [missed, unheard] = ["missed", "unheard"].map(|key| count(&gate[key]));
    let [taken, unmanaged] = ["taken", "unmanaged"].map(|key| count(&gate["kernel"][key]));
    let bytes = |key: &str| count(&gate[key]["bytes"]);
    let whole = lost("frames");
    vec![
        Verdict::new(
            format!("{name}: received = sent + lost + held"),
            received == sent + whole + held
                && bytes("received") == bytes("sent") + lost("bytes") + bytes("held"),
            format!("{received} = {sent} + {whole} + {held}"),
        ),
        Verdict::new(
            format!("{name}: off the wire = left to the gate + forwarded by the kernel"),
            offered == taken + unmanaged,
            format!("{offered} = {taken} + {unmanaged}"),
        ),
        Verdict::new(
            format!(
                "{name}: the same = received + missed + unheard (only by an interface that comes \
                 up again)"
            ),
            taken + unmanaged == received + missed + unheard && (unheard == 0 || flaps > 0),
            format!("{} = {received} + {missed} + {unheard}; {flaps} flaps", taken + unmanaged),
        ),
        // What the kernel forwards leaves by the same wire; what a wire that is down drops was
        // counted as sent by it.
        Verdict::new(
            format!("{name}: sent by the gate is on the wire"),
            sent <= left + dropped && left <= sent + unmanaged,
            format!(
                "{sent} sent; {left} on the wire, {dropped} dropped there; {unmanaged} from the \
                 kernel"
            ),
        ),
        Verdict::new(
            format!("{name}: nothing was lost for want of memory"),
            count(&gate["lost"]["no_memory"]["frames"]) == 0,
            format!("{} frames", gate["lost"]["no_memory"]["frames"]),
        ),
    ]
}

/// The gate takes no more in the last third than in the second: memory, threads, descriptors. Every
/// queue had its turn in each of them.
pub fn memory(samples: &[Sample]) -> Vec<Verdict> {
    let third = samples.len() / 3;
    let (second, last) = (&samples[third..2 * third], &samples[2 * third..]);
    let median = |of: &[Sample], what: fn(&Sample) -> f64| {
        let mut values: Vec<f64> = of.iter().map(what).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let grows = |name: &str, what: fn(&Sample) -> f64, by: f64, unit: f64, word: &str| {
        let (middle, end) = (median(second, what), median(last, what));
        let found = format!(
            "{word} {:.1} (median) in the second third, {:.1} in the last",
            middle / unit,
            end / unit
        );
        let more =
            if by > 0.0 { format!(" by more than {} {word}", by / unit) } else { String::new() };
        Verdict::new(format!("{name} do not grow{more}"), end <= middle + by, found)
    };
    vec![
        grows("the gate's own pages", |s| s.memory as f64, GROWTH, 1e6, "MB"),
        grows("its threads", |s| s.threads as f64, 0.0, 1.0, "threads"),
        grows("its descriptors", |s| s.descriptors as f64, 0.0, 1.0, "descriptors"),
    ]
}
