//! `docs/study/rfc7928.md`: what RFC 7928 asks for and where its suite does it, made from
//! `suites/rfc7928/rfc.toml`, the catalog and the benchmark. `TIDEGATE_BLESS=1` writes it anew.
use std::fmt::Write;
use std::path::{Path, PathBuf};

use tidegate::catalog::{self, QUEUES};
use tidegate::config::Param;
use tidegate::{Bytes, Link, Rate, Size};
use tidegate_lab::scenario::{Network, Scenario};
use tidegate_report::{Aggregate, Group};
use toml_span::Value;

const FROM_CODE: &str = "<!-- words: this table is written from the code -->\n";
/// A rule's `tests` that means every cell.
const ALL: &str = "all";
/// The tables of the page, as rules refer to them, with their headings.
const TABLES: [(&str, &str); 2] = [("control", "operator-control"), ("cost", "cost")];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites/rfc7928")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// One sentence of the RFC.
struct Rule {
    section: String,
    weight: String,
    says: String,
    how: String,
    not: String,
    tests: Vec<String>,
    metrics: Vec<String>,
    tables: Vec<String>,
}

fn text(table: &Value<'_>, key: &str) -> String {
    let found = table.as_table().and_then(|table| table.get(key)).and_then(|v| v.as_str());
    found.unwrap_or_default().to_string()
}

fn texts(table: &Value<'_>, key: &str) -> Vec<String> {
    let found = table.as_table().and_then(|table| table.get(key)).and_then(|v| v.as_array());
    found.into_iter().flatten().filter_map(|v| v.as_str()).map(String::from).collect()
}

fn tables<'v, 't>(root: &'v Value<'t>, key: &str) -> Vec<&'v Value<'t>> {
    let found = root.as_table().and_then(|table| table.get(key)).and_then(|v| v.as_array());
    found.into_iter().flatten().collect()
}

fn rules() -> Vec<Rule> {
    let file = read(&folder().join("rfc.toml"));
    let root = toml_span::parse(&file).expect("rfc.toml");
    let rule = |table: &Value<'_>| Rule {
        section: text(table, "section"),
        weight: text(table, "weight"),
        says: text(table, "says"),
        how: text(table, "how"),
        not: text(table, "not"),
        tests: texts(table, "tests"),
        metrics: texts(table, "metrics"),
        tables: texts(table, "tables"),
    };
    tables(&root, "rule").into_iter().map(rule).collect()
}

/// Name, title, question and cells of each test.
fn tests() -> Vec<(String, String, String, usize)> {
    let file = read(&folder().join("suite.toml"));
    let root = toml_span::parse(&file).expect("suite.toml");
    let cells = |id: &str| -> usize {
        let own = tables(&root, "cell").into_iter().filter(|cell| text(cell, "test") == id);
        let count = |cell: &Value<'_>| {
            let vary = cell.as_table().and_then(|table| table.get("vary")?.as_table());
            vary.and_then(|lists| lists.values().next()?.as_array()).map_or(1, |list| list.len())
        };
        own.map(count).sum()
    };
    let test = |table: &Value<'_>| {
        let id = text(table, "id");
        let count = cells(&id);
        (id, text(table, "title"), text(table, "asks"), count)
    };
    tables(&root, "test").into_iter().map(test).collect()
}

fn section(text: &str) -> Vec<u32> {
    text.split('.').map(|part| part.parse().expect("a section is numbers")).collect()
}

#[test]
fn every_rule_is_met_or_says_why_not_by_what_exists() {
    let (tests, rules) = (tests(), rules());
    let metrics: Vec<&str> =
        Group::METRICS.iter().chain(Aggregate::METRICS).map(|metric| metric.name).collect();
    for rule in &rules {
        let what = format!("§{}: {}", rule.section, rule.says);
        for name in rule.tests.iter().filter(|name| *name != ALL) {
            assert!(tests.iter().any(|test| test.0 == *name), "{what}: no test {name}");
        }
        for name in &rule.metrics {
            assert!(metrics.contains(&name.as_str()), "{what}: no metric {name}");
        }
        for name in &rule.tables {
            assert!(TABLES.iter().any(|table| table.0 == name), "{what}: no table {name}");
        }
        let met = [&rule.tests, &rule.metrics, &rule.tables].iter().any(|list| !list.is_empty());
        assert!(met == rule.not.is_empty(), "{what}: met, or says why not");
        assert!(!rule.weight.is_empty() && rule.says.ends_with('.'), "{what}");
    }
    for (id, ..) in &tests {
        let named = |rule: &Rule| rule.tests.contains(id);
        assert!(rules.iter().any(named), "no rule needs test {id}");
    }
    let order: Vec<Vec<u32>> = rules.iter().map(|rule| section(&rule.section)).collect();
    assert!(order.is_sorted(), "rules stand in the order of sections");
}

/// RFC 7928 §8.2.1 to §8.2.4: 0.036, 0.081 and 0.114 times bdp and buffer in packets.
#[test]
fn congestion_levels_are_the_rfc_s() {
    let scenario = Scenario::open(&folder().join("line.toml"), &[]).unwrap();
    let Network::Dumbbell(line, ..) = &scenario.network else { panic!("a dumbbell") };
    let rtt = 2.0 * (line.delay.as_secs() + 2.0 * line.access_delay.as_secs());
    let bdp = line.rate.as_bps() as f64 * rtt / 8.0 / 1500.0;
    let Size::Packets(buffer) = line.limit else { panic!("a buffer in packets") };
    let level = |factor: f64| (factor * (bdp + buffer as f64)).round() as u64;
    assert_eq!([0.036, 0.081, 0.114].map(level), [6, 14, 19]);
    let suite = read(&folder().join("suite.toml"));
    for flows in [6, 14, 19] {
        assert!(suite.contains(&format!("group.users.count={flows}")), "{flows} connections");
    }
    let phases = Scenario::open(&folder().join("phases.toml"), &[]).unwrap();
    let counts: Vec<u32> = phases.groups.iter().map(|group| group.count).collect();
    assert_eq!(counts, [6, 14 - 6, 19 - 14]);
}

const HEAD: &str = "# RFC 7928, sentence by sentence

This page says what RFC 7928 asks of a characterisation of queues, and where
`tidegate suite rfc7928` does it. It is for those who must know whether a result follows the RFC.

    tidegate suite rfc7928 --quick       # some cells, in seconds
    tidegate suite rfc7928               # all cells, every queue

The suite measures and gives no verdict. A test writes this page from `suites/rfc7928/rfc.toml`,
the catalog and the benchmark. It refuses a rule without a cell, a metric, a table or a reason.

";

fn page() -> String {
    let mut page = String::from(HEAD);
    let _ = write!(
        page,
        "## Tests\n\n{FROM_CODE}| section | test | asks | cells |\n|---|---|---|---|\n"
    );
    for (id, title, asks, cells) in tests() {
        let _ = writeln!(page, "| {id} | {title} | {asks} | {cells} |");
    }
    page.push_str(
        "\n## Rules\n\nThe text read is the RFC's own source. Weights are its words, mostly \
                   small letters. \
                   Sentences are in our words.\n\n",
    );
    let _ = write!(
        page,
        "{FROM_CODE}| § | weight | what it asks | tests | metrics | how, or why not |\n\
         |---|---|---|---|---|---|\n"
    );
    for rule in rules() {
        let code = |list: &[String]| {
            list.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let linked = |name: &String| {
            let (_, heading) = TABLES.iter().find(|table| table.0 == name).expect("checked");
            format!("[{name}](#{heading})")
        };
        let tests: Vec<String> =
            rule.tests.iter().cloned().chain(rule.tables.iter().map(linked)).collect();
        let why = [rule.how.as_str(), rule.not.as_str()].join(" ");
        let Rule { section, weight, says, metrics, .. } = &rule;
        let _ = writeln!(
            page,
            "| {section} | {weight} | {says} | {} | {} | {} |",
            tests.join(", "),
            code(metrics),
            why.trim()
        );
    }
    control(&mut page);
    cost(&mut page);
    page
}

fn link(mbit: u64, packets: u64) -> Link {
    Link::new(Rate::from_bps(mbit * 1_000_000), Size::Packets(packets), Bytes::new(1500)).unwrap()
}

/// §12: how many parameters each queue has, which of them `auto` makes from the line.
fn control(page: &mut String) {
    page.push_str(
        "\n## Operator control\n\nWhat `auto` makes from the line needs nobody's hand (RFC 7928 \
         §12). The rest stays as published. `tidegate show QUEUE` explains each parameter.\n\n",
    );
    let _ = write!(
        page,
        "{FROM_CODE}| queue | parameters | made from the line | ECN |\n|---|---|---|---|\n"
    );
    for row in QUEUES {
        let of = |link: &Link| {
            catalog::config(row.name, Some(catalog::DEFAULT_PRESET), link).unwrap().values()
        };
        let lines = [link(10, 85), link(10, 340), link(100, 850), link(1, 20)];
        let all: Vec<Vec<(&Param, String)>> = lines.iter().map(of).collect();
        let moves = |at: &usize| all.iter().any(|other| other[*at].1 != all[0][*at].1);
        let made: Vec<String> =
            (0..all[0].len()).filter(moves).map(|at| format!("`{}`", all[0][at].0.name)).collect();
        let ecn = all[0].iter().find(|(param, _)| param.name == "ecn");
        let none = if row.marks_most { "always marks" } else { "never marks" };
        let ecn = ecn.map_or(none.into(), |(_, value)| format!("`ecn = {value}`"));
        let _ =
            writeln!(page, "| `{}` | {} | {} | {ecn} |", row.name, all[0].len(), made.join(", "));
    }
}

/// §11: time of a packet as measured for the comparison of all queues, and the most that a queue
/// keeps besides packets on the suite's line.
fn cost(page: &mut String) {
    page.push_str(
        "\n## Cost\n\nTime of a packet from the [benchmark](../../papers/comparison/cost.csv), \
         memory besides the packets on a line of 10 Mbit/s with 85 packets (RFC 7928 §11).\n\n",
    );
    let _ = write!(page, "{FROM_CODE}| queue | ns per packet | bytes |\n|---|---|---|\n");
    let file =
        read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/comparison/cost.csv"));
    for row in QUEUES {
        let line = link(10, 85);
        let config = catalog::config(row.name, Some(catalog::DEFAULT_PRESET), &line).unwrap();
        let ns = file.lines().find_map(|known| known.strip_prefix(&format!("{},", row.name)));
        let _ = writeln!(
            page,
            "| `{}` | {} | {} |",
            row.name,
            ns.unwrap_or("?"),
            config.state_bytes(&line)
        );
    }
}

#[test]
fn the_page_of_the_rfc_is_that_of_its_rules() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/study/rfc7928.md");
    let page = page();
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        return std::fs::write(&path, page).unwrap();
    }
    assert!(read(&path) == page, "docs/study/rfc7928.md is old: TIDEGATE_BLESS=1");
}
