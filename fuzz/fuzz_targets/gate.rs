//! Arbitrary bytes as a gate's file: what is refused is refused with the line and the column of
//! every mistake; what is accepted keeps to the bounds, can be planned for or is refused with its
//! place, and means the same behind a line of comment.
#![no_main]
#![allow(dead_code, reason = "more of the command is compiled than read")]

use std::collections::HashSet;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use tidegate::{Rate, Span};
use tidegate_gateway::device::ring::PacketRing;
use tidegate_gateway::run::plan::GatePlan;
use tidegate_gateway::run::way::Secret;
use tidegate_lab::{Place, Problem, Problems};

mod command;
#[path = "../../crates/tidegate-cli/src/failure.rs"]
mod failure;
#[path = "../../crates/tidegate-cli/src/note.rs"]
mod note;
#[path = "../../crates/tidegate-cli/src/output.rs"]
mod output;

use command::config::parse;
use command::link::LinkConfig;
use failure::Failure;

const FILE: &str = "gate.toml";
const SECRET: Secret = Secret { hash: [1, 2], seed: 3 };
/// What is laid out for a plan, in bytes: 8 GB for frames, and what lists and rings take besides.
const MOST: u64 = 10_000_000_000;
/// A plan that takes more than this besides its rings, in bytes, is not tried.
const TRIED: u64 = 1 << 23;
/// MTUs of interfaces: the least and the most that there are, and the usual one.
const MTUS: [u32; 3] = [68, 1500, 65_535];

fuzz_target!(|data: &[u8]| {
    let first = read(data);
    match &first {
        Ok(links) => check_links(links),
        Err(problems) => problems.list().iter().for_each(|problem| check_problem(data, problem)),
    }
    // What the file lacks as a whole is told of the file, or of its beginning, whatever that is.
    let of_all =
        |place: &Place| matches!(place, Place::File(_) | Place::Line { line: 1, column: 1, .. });
    let whole = |problems: &Problems| problems.list().iter().any(|problem| of_all(&problem.place));
    // A mark of byte order is one at the beginning only.
    if !first.as_ref().is_err_and(whole) && !data.starts_with(b"\xef\xbb\xbf") {
        let behind = read(&[b"# A comment.\n", data].concat());
        assert_eq!(told(&behind, 0), told(&first, 1));
    }
});

/// The links in `data`.
fn read(data: &[u8]) -> Result<Vec<LinkConfig>, Problems> {
    parse(data, Path::new(FILE)).map(|config| config.links)
}

/// All that was read, or found wrong, with `more` added to the number of each line.
fn told(read: &Result<Vec<LinkConfig>, Problems>, more: usize) -> String {
    let moved = |place: &Place| match place {
        Place::Line { line, column, width, text, .. } => {
            format!("{}:{column}+{width} {text}", line + more)
        }
        other => format!("{other:?}"),
    };
    match read {
        Ok(links) => links.iter().fold(String::new(), |all, link| {
            let LinkConfig { name, settings, waits, drain, on_exit, record, places } = link;
            let places: Vec<_> =
                places.iter().map(|(field, place)| (field, moved(place))).collect();
            all + &format!(
                "{name} {settings:?} {waits:?} {drain} {on_exit:?} {record:?} \
                 {places:?}\n"
            )
        }),
        Err(problems) => problems.list().iter().fold(
            String::new(),
            |all, Problem { place, field, value, why }| {
                all + &format!("{} {field} = {value}: {why}\n", moved(place))
            },
        ),
    }
}

fn check_problem(data: &[u8], problem: &Problem) {
    assert!(!problem.why.is_empty(), "{problem}");
    match &problem.place {
        Place::Line { file, line, column, width, .. } => {
            let text = std::str::from_utf8(data).expect("what is no text has no lines");
            let there =
                text.split('\n').nth(line - 1).unwrap_or_else(|| panic!("there is no line {line}"));
            assert!(
                file == FILE && *column >= 1 && *column <= there.chars().count() + 1 && *width >= 1,
                "{problem}"
            );
        }
        Place::File(file) => {
            let empty = std::str::from_utf8(data).is_ok_and(|text| text.trim().is_empty());
            let no_text = std::str::from_utf8(data).is_err();
            assert!(file == FILE && problem.field.is_empty() && (empty || no_text), "{problem}");
        }
        Place::Set(_) => panic!("nothing was overridden: {problem}"),
    }
}

fn check_links(links: &[LinkConfig]) {
    assert!(!links.is_empty());
    let (mut names, mut interfaces) = (HashSet::new(), HashSet::new());
    for link in links {
        assert!(names.insert(&link.name) && !link.name.is_empty(), "{} twice", link.name);
        let ends = [&link.settings.inner, &link.settings.outer];
        let other = |end: &&String| !interfaces.contains(*end);
        assert!(ends.iter().all(other), "{ends:?}: one is another link's");
        // One link may have one twice, which its plan refuses.
        interfaces.extend(ends);
        assert!(link.settings.delay <= Span::from_millis(2000));
        assert!(link.drain <= Span::from_millis(60_000));
        for (_, way) in link.settings.ways() {
            let rates = Rate::from_bps(1)..=Rate::from_bps(1_000_000_000_000_000);
            assert!(rates.contains(&way.link.rate), "{}", way.link.rate);
            assert!(way.classes.iter().all(|class| (0.01..=10_000.0).contains(&class.weight)));
            assert!(
                way.classes
                    .iter()
                    .flat_map(|class| &class.priorities)
                    .all(|&priority| priority <= 7)
            );
        }
        assert!(link.may_follow(link).is_ok());
        for mtu in MTUS {
            match link.plan(mtu) {
                Ok(plan) => check_plan(link, &plan),
                Err(Failure::Input(why)) => assert!(why.starts_with("gate.toml:"), "{why}"),
                Err(other) => panic!("{other:?}"),
            }
        }
    }
}

fn check_plan(link: &LinkConfig, plan: &GatePlan) {
    assert!(
        plan.laid_out() <= MOST && plan.laid_out() <= plan.memory(),
        "{} laid out",
        plan.laid_out()
    );
    let lines = link.lines(plan);
    assert!(lines.iter().all(|(name, text)| !name.is_empty() && !text.is_empty()), "{lines:?}");
    if plan.memory() - 2 * PacketRing::memory(plan.mtu()) <= TRIED {
        plan.lanes(SECRET, ()).expect("what was planned can be built");
        plan.instead_of(plan, SECRET).expect("a plan may follow itself");
    }
}
