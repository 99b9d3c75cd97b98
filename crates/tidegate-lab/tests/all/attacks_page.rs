//! `validation/attacks.md` has every queue of the catalog, `validation/adversary.md` those that
//! hash flows to places, and the pages that quote them say what they say.
use std::fs;

use tidegate::Link;
use tidegate::catalog::{self, QUEUES};

use crate::jobs::in_repository;
use crate::markdown::tables;

/// The floods that are the columns of `validation/attacks.md`.
const FLOODS: [&str; 5] = ["1", "4", "16", "64", "16 ECT"];

/// The pages.
#[derive(Clone)]
struct Pages {
    attacks: String,
    adversary: String,
    security: String,
    readme: String,
}

impl Pages {
    fn read() -> Pages {
        let page = |path| fs::read_to_string(in_repository(path)).unwrap().replace("\r\n", "\n");
        Pages {
            attacks: page("validation/attacks.md"),
            adversary: page("validation/adversary.md"),
            security: page("docs/operate/security.md"),
            readme: page("validation/README.md"),
        }
    }
}

/// The rows of each table with these columns.
fn rows(page: &str, columns: &[&str]) -> Vec<Vec<Vec<String>>> {
    tables(page).into_iter().filter(|table| table.has(columns)).map(|table| table.rows).collect()
}

/// Of a fair share, in per cent: what users got together and what the worst got.
#[derive(Clone, Copy, Debug)]
struct Got {
    mean: i64,
    worst: i64,
}

/// `mean ± half; worst; below a tenth`.
fn got(cell: &str) -> Option<Got> {
    let [mean, worst, below] = cell.split("; ").collect::<Vec<_>>()[..] else { return None };
    below.parse::<f64>().ok().filter(|below| (0.0..=8.0).contains(below))?;
    let (mean, half) = mean.split_once(" ± ")?;
    half.parse::<u32>().ok()?;
    Some(Got { mean: mean.parse().ok()?, worst: worst.parse().ok()? })
}

/// A table of `validation/attacks.md`.
struct Attacks(Vec<(String, Vec<Got>)>);

impl Attacks {
    /// In the simulator, and on the gate's path.
    fn both(page: &str) -> [Attacks; 2] {
        let header: Vec<&str> = ["queue"].into_iter().chain(FLOODS).collect();
        let read = |rows: Vec<Vec<String>>| {
            let row = |row: Vec<String>| {
                let got: Option<Vec<Got>> = row[1..].iter().map(|cell| got(cell)).collect();
                (row[0].clone(), got.unwrap_or_else(|| panic!("{row:?}")))
            };
            Attacks(rows.into_iter().map(row).collect())
        };
        let found: Vec<Attacks> = rows(page, &header).into_iter().map(read).collect();
        found.try_into().unwrap_or_else(|found: Vec<_>| panic!("{} tables", found.len()))
    }

    /// What users got behind `queue`, in its preset `auto` unless it has another.
    fn of(&self, queue: &str) -> Option<&[Got]> {
        let name = if queue.contains('/') { queue.into() } else { format!("{queue}/auto") };
        self.0.iter().find(|(queue, _)| *queue == name).map(|(_, got)| &got[..])
    }

    /// How many queues in `auto` leave users 90 % and the worst 50 %, against all floods of up to
    /// sixteen sources.
    fn protect(&self) -> usize {
        let enough = |got: &Got| got.mean >= 90 && got.worst >= 50;
        let autos = self.0.iter().filter(|(queue, _)| queue.ends_with("/auto"));
        autos.filter(|(_, got)| [0, 1, 2, 4].iter().all(|&flood| enough(&got[flood]))).count()
    }
}

/// What a page lacks that has to be there.
fn lacks(page: &str, of: &str, wanted: &str) -> Option<String> {
    (!page.contains(wanted)).then(|| format!("{of}: no `{wanted}`"))
}

/// Queues that have no row, and rows that have no queue.
fn missing(pages: &Pages) -> Vec<String> {
    let mut missing = vec![];
    for (path, attacks) in ["simulator", "gate"].into_iter().zip(Attacks::both(&pages.attacks)) {
        let without = QUEUES.iter().filter(|queue| attacks.of(queue.name).is_none());
        missing.extend(without.map(|queue| format!("{path}: {}", queue.name)));
        for (row, got) in &attacks.0 {
            let (name, preset) = row.split_once('/').expect("queue/preset");
            let known = catalog::find(name)
                .is_some_and(|queue| (queue.presets)().iter().any(|known| known.0 == preset));
            if !known || got.len() != FLOODS.len() {
                missing.push(format!("{path}: row {row}"));
            }
        }
    }
    let parsed =
        ("10 Mbit/s".parse().unwrap(), "125 packets".parse().unwrap(), "1000 B".parse().unwrap());
    let link = Link::new(parsed.0, parsed.1, parsed.2).unwrap();
    let left = watched(&pages.adversary);
    for queue in QUEUES {
        let config = catalog::config(queue.name, None, &link).unwrap();
        // What DualPI2 hashes flows for bounds no shares.
        let hashes = config.bucket_lifetime().is_some() && queue.name != "dualpi2"
            || ["tide", "sfb", "sfred"].contains(&queue.name);
        if hashes && !left.iter().any(|row| row.0 == format!("{}/auto", queue.name)) {
            missing.push(format!("adversary.md: {}", queue.name));
        }
    }
    missing
}

/// Queue, whether the gate gives flows new keys, and what users get of the line in per cent. The
/// first figure is under a flood at random, the second under one that was chosen by watching.
fn watched(page: &str) -> Vec<(String, bool, i64, i64)> {
    let header = [
        "queue",
        "places change",
        "no flood",
        "random: first second",
        "all",
        "guessed",
        "watched: first second",
        "all",
        "last 5 s",
        "the worst user",
        "secret: all",
        "last 5 s",
    ];
    let percent = |cell: &str| {
        let mean = cell.split(" ± ").next().unwrap();
        mean.parse::<f64>().unwrap_or_else(|_| panic!("{cell}")).round() as i64
    };
    rows(page, &header)
        .remove(0)
        .iter()
        .map(|row| {
            let gate = row[1].starts_with("by the gate");
            (row[0].clone(), gate, percent(&row[4]), percent(&row[7]))
        })
        .collect()
}

/// Where the pages that quote figures say something else than those that have them.
fn misquoted(pages: &Pages) -> Vec<String> {
    let mut wrong = vec![];
    let number = |cell: &String| -> i64 { cell.trim_end_matches(" %").parse().unwrap() };
    let [simulator, gate] = Attacks::both(&pages.attacks);

    let header = ["queue", "1 source", "16 sources", "16: the worst user", "64 sources"];
    for row in rows(&pages.security, &header).remove(0) {
        let of = gate.of(&row[0]).unwrap_or_else(|| panic!("{row:?}"));
        let is = [of[0].mean, of[2].mean, of[2].worst, of[3].mean];
        let said: Vec<i64> = row[1..].iter().map(number).collect();
        if said != is {
            wrong.push(format!("security.md: {row:?} is {is:?}"));
        }
    }

    let adversary = watched(&pages.adversary);
    let header = ["queue", "rehash", "at random", "by watching"];
    for row in rows(&pages.security, &header).remove(0) {
        let (name, given) = row[0].split_once(',').unwrap_or((&row[0], ""));
        let name = format!("{name}/auto{}{given}", if given.is_empty() { "" } else { "," });
        let by_gate = row[1] != "off";
        let of = adversary.iter().find(|of| of.0 == name && of.1 == by_gate);
        let of = of.unwrap_or_else(|| panic!("{row:?}"));
        if [number(&row[2]), number(&row[3])] != [of.2, of.3] {
            wrong.push(format!("security.md: {row:?} is {of:?}"));
        }
    }

    let all = QUEUES.len();
    for (attacks, at) in [(&simulator, 0), (&gate, 1)] {
        let said = format!("ECT or not, {} of {all} queues", attacks.protect());
        let section = pages.attacks.split("\n## ").nth(1 + at).unwrap_or_default();
        wrong.extend(lacks(section, "attacks.md", &said));
    }
    let said =
        format!("{} of {all} queues simulated, {} behind", simulator.protect(), gate.protect());
    wrong.extend(lacks(&pages.readme, "validation/README.md", &said));
    wrong
}

#[test]
fn every_queue_has_its_rows() {
    assert_eq!(missing(&Pages::read()), [""; 0], "`make validate-attacks` makes the page anew");
}

#[test]
fn pages_say_what_the_tables_say() {
    assert_eq!(misquoted(&Pages::read()), [""; 0], "correct what the pages say of the table");
}

/// So that the tests above can fail.
#[test]
fn a_row_that_lacks_and_a_figure_that_differs_are_found() {
    let pages = Pages::read();
    let lines = pages.attacks.lines().filter(|line| !line.starts_with("| tide/auto |"));
    let less = Pages { attacks: lines.collect::<Vec<_>>().join("\n"), ..pages.clone() };
    assert_eq!(missing(&less), ["simulator: tide", "gate: tide"]);

    let row = pages.security.lines().find(|line| line.starts_with("| `drr` |")).unwrap();
    let cells = row.trim_end_matches('|').rsplit_once('|').unwrap().0;
    let other = format!("{cells}| 12 % |");
    let off = Pages { security: pages.security.replacen(row, &other, 1), ..pages };
    let wrong = misquoted(&off);
    assert!(wrong.len() == 1 && wrong[0].contains("drr"), "{wrong:?}");
}
