//! Golden rows: one fixed workload per queue and preset, and what came of it, to the last bit.
//! `TIDEGATE_BLESS=1` rewrites `tests/golden/`; look at the difference and say in the commit why it
//! changed.
use std::fmt::Write;

use crate::support::checked::Checked;
use crate::support::workload::Workload;
use crate::support::{bless, gauges, link, links};
use tidegate::{DropReason, MarkReason, NullSink, Qdisc, Rng, catalog};

fn row(name: &str, preset: &str, limit: &str) -> String {
    let link = link("10 Mbit/s", limit, "1000 B");
    let config = catalog::config(name, Some(preset), &link).unwrap();
    // Fixed dice, whatever TIDEGATE_SEED says: a golden row is one run.
    let mut queue = Checked::of(&config, config.build(link, Rng::from_seed(1)).unwrap(), link);
    let end = Workload::mixed(5_000).run(&mut queue, &link, &mut Rng::from_seed(2), &mut NullSink);
    let tally = queue.tally();
    let mut text = format!("{preset},{limit},{},{}", tally.offered, tally.dequeued);
    for why in DropReason::ALL {
        write!(text, ",{}", tally.dropped.get(why).unwrap_or(&0)).unwrap();
    }
    for why in MarkReason::ALL {
        write!(text, ",{}", tally.marked.get(why).unwrap_or(&0)).unwrap();
    }
    let backlog = queue.backlog();
    write!(
        text,
        ",{},{},{},{:016x},",
        backlog.packets,
        backlog.bytes,
        end.as_nanos(),
        queue.trace()
    )
    .unwrap();
    let state: Vec<String> =
        gauges(&queue).iter().map(|g| format!("{}={:?}", g.name, g.value)).collect();
    text + &state.join(" ") + "\n"
}

#[test]
fn golden_rows() {
    for queue in catalog::QUEUES {
        let reasons =
            |all: &[&str], of: &str| all.iter().map(|r| format!("{of}_{r},")).collect::<String>();
        let drops: Vec<&str> = DropReason::ALL.iter().map(|r| r.name()).collect();
        let marks: Vec<&str> = MarkReason::ALL.iter().map(|r| r.name()).collect();
        let mut text = format!(
            "preset,limit,offered,dequeued,{}{}held_packets,held_bytes,end_ns,trace,gauges\n",
            reasons(&drops, "dropped"),
            reasons(&marks, "marked")
        );
        for (preset, _) in (queue.presets)() {
            for limit in ["100 packets", "50 kB"] {
                text += &row(queue.name, preset, limit);
            }
        }
        bless::assert_file(&format!("tests/golden/{}.csv", queue.name), &text);
    }
}

/// What every preset makes of links of several kinds: the rules behind the presets.
#[test]
fn presets() {
    for row in catalog::QUEUES.iter().filter(|row| !row.params.is_empty()) {
        let names: Vec<&str> = row.params.iter().map(|param| param.name).collect();
        let mut text = format!("link,preset,{}\n", names.join(","));
        for link in links() {
            for (preset, _) in (row.presets)() {
                let config = catalog::config(row.name, Some(preset), &link).unwrap();
                let values: Vec<String> =
                    config.values().into_iter().map(|(_, value)| value).collect();
                text += &format!("{} {} {},{preset},", link.rate, link.limit, link.mean_packet);
                text += &format!("{}\n", values.join(","));
            }
        }
        bless::assert_file(&format!("tests/golden/presets/{}.csv", row.name), &text);
    }
}
