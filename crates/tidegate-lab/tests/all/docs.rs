//! The pages of `docs/reference` about queues, scenarios and results are written from the code.
//! `TIDEGATE_BLESS=1` rewrites them.
use std::fmt::Write;
use std::path::Path;

use serde_json::Value;
use tidegate::Size;
use tidegate::catalog::QUEUES;
use tidegate::config::Params;
use tidegate_lab::scenario::{
    Cbr, Chain, Connection, Dumbbell, Following, GroupParams, Medium, OnOff, Oscillating, Replay,
    RunSettings, SOURCES, Tcp, Tfrc, Unresponsive, Voip, Web,
};
use tidegate_sim::sources::tcp::{
    AimdParams, Bbr3Params, BbrParams, BinomialParams, Congestion, CubicParams, DctcpParams,
    LedbatParams, PragueParams, UnresponsiveParams, VegasParams, VegasRemParams,
};

/// Holds `docs/reference/NAME` against `text`, or writes it.
fn hold(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        return std::fs::write(&path, text).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).is_ok_and(|page| page == text),
        "docs/reference/{name} is old: TIDEGATE_BLESS=1 cargo test -p tidegate-lab --test all docs::"
    );
}

/// Before a table: its words are those of the code, which `make lint` does not judge here.
const FROM_CODE: &str = "<!-- words: this table is written from the code -->\n";

/// Keys that no declaration has: what names things, and what a parameter cannot hold.
type Written = &'static [(&'static str, &'static str, &'static str)];

const TOP: Written = &[
    ("title", "none", "One line for the head of a report."),
    ("description", "none", "At most 4000 characters."),
];
const QUEUE: Written = &[
    ("name", "`drop_tail`", "The queue; see [queues](queues.md)."),
    ("preset", "`auto`", "Where its parameters come from."),
    ("label", "made from the above", "What results call it."),
    ("any parameter", "the preset's", "`tidegate show NAME` lists them."),
];
const ROW: Written = &[
    ("routers", "required in a `chain`", "The routers' names in order, two at least."),
    ("rate", "required", "Of each link from router to router, as in a dumbbell."),
    ("limit", "required", "The same; also `delay` and `mean_packet`."),
    (
        "left",
        "none",
        "Names of nodes before the first router, each on a link that its flows share.",
    ),
    ("right", "none", "Names of nodes after the last router, likewise."),
    ("access_rate", "100 Mbit/s", "Of these links: a value, or a list dealt out on each side."),
    ("access_delay", "2 ms", "Likewise."),
];
const LINK: Written = &[
    ("from", "required", "One end: 1 to 40 letters, digits, `-`, `_`."),
    ("to", "required", "The other end."),
    ("rate", "required", "Rate, each way; bounds as in a dumbbell."),
    ("delay", "10 ms", "One-way delay; bounds as in a dumbbell."),
    ("limit", "none", "With a limit, `from` to `to` has a managed queue."),
    ("queue", "the scenario's", "A queue for this link only."),
    ("watch", "the first with a limit", "`true` at the one link whose queue is reported."),
];
const BACK: Written = &[(
    "back",
    "the same, without a queue",
    "The way back: a table of `rate`, `delay`, `limit`, `queue` and the keys above. Without a \
     `limit` it never drops and has only `rate` and `delay`.",
)];
const GROUP: Written = &[
    ("name", "required", "What results call it: 1 to 40 letters, digits, `-`, `_`."),
    ("source", "required", "What its flows send."),
    ("access_rate", "the network's", "A rate, or a list dealt out to the group's hosts in turn."),
    ("from", "required in a graph", "A node or a list of nodes; each host draws one."),
    ("to", "required in a graph", "A node or a list of nodes; each flow draws one."),
];

const HEAD: &str = "# Scenario keys

This page lists every key of a scenario. [Write a scenario](../study/scenario.md) is the guide;
[networks](../study/networks.md), [traffic](../study/traffic.md) and [TCP](../study/tcp.md) say what
the keys mean together. A test writes this page from the code.
A quantity may be [derived from others](../study/scenario.md#derived-values).

Bounds: 1000000 flows over all groups, 60000 connections of one host, 1000 groups, links or queues,
100000 points of a series, and 10^10 packets of a replication.
";

const QUEUES_HEAD: &str = "# Queues

This page lists all queues, with their presets. `auto` is what a name without a preset means. The
link leads to the queue's manual page with all parameters, as `tidegate show` prints it. [Which
queue for what](../study/choosing.md) compares them. A test writes this page from the catalog.

";

const RESULTS_HEAD: &str = "# Results

This page lists every key of `tidegate.result/1`, the document that `--json` prints and `--out`
writes as `result.json`. [Compare queues](../study/compare.md) has the formulas. A test writes this
page from the [schema](../../crates/tidegate-report/schema/tidegate.result-1.json).
";

const QUANTITIES_HEAD: &str = "# Quantities of a claim

This page lists what a claim of a [paper](../study/paper.md) may be about. A test writes it from the
code.

Units: `Mbit/s`, `kbit/s` (also ` each`, of a flow), `% of fair share`, `%`, `ms`, `s`, `flows`,
`bytes`, `kB`, or none for a ratio.

";

/// The keys of a section: those written here, then those declared.
struct Keys {
    rows: Vec<[String; 4]>,
}

impl Keys {
    fn written(rows: Written) -> Keys {
        let cells = |(name, default, what): &(&str, &str, &str)| {
            [format!("`{name}`"), default.to_string(), String::new(), what.to_string()]
        };
        Keys { rows: rows.iter().map(cells).collect() }
    }

    fn of<P: Params + Default>(unset: &[(&str, &str)]) -> Keys {
        Keys::written(&[]).and::<P>(unset)
    }

    /// Those that `P` declares; `unset` says how a default reads that is no value.
    fn and<P: Params + Default>(mut self, unset: &[(&str, &str)]) -> Keys {
        let defaults = P::default();
        self.rows.extend(P::PARAMS.iter().map(|param| {
            let special = unset.iter().find(|(name, _)| *name == param.name);
            let default = special
                .map_or_else(|| defaults.get(param.name).unwrap(), |(_, text)| text.to_string());
            // A bar between two words would end the cell.
            let range = (param.range)().replace(" | ", ", ");
            [format!("`{}`", param.name), default, range, param.doc.trim().into()]
        }));
        self
    }
}

/// Appends a section with a table.
fn section(page: &mut String, heading: &str, note: &str, keys: Keys) {
    let _ = write!(page, "\n{heading}\n\n");
    if !note.is_empty() {
        let _ = write!(page, "{note}\n\n");
    }
    page.push_str(FROM_CODE);
    page.push_str("| key | default | range | what |\n|---|---|---|---|\n");
    for [name, default, range, what] in keys.rows {
        let _ = writeln!(page, "| {name} | {default} | {range} | {what} |");
    }
}

fn networks(page: &mut String) {
    section(page, "## `[run]`", "", Keys::of::<RunSettings>(&[]));
    let required = [("rate", "required"), ("limit", "required")];
    let dumbbell = Keys::of::<Dumbbell>(&required);
    section(page, "## `[network]`, a dumbbell", "`kind = \"dumbbell\"`, the default.", dumbbell);
    let kinds = "`kind = \"chain\"` or `kind = \"parking_lot\"`.";
    let chain = Keys::written(ROW).and::<Chain>(&[]);
    section(page, "## `[network]`, a chain or a parking lot", kinds, chain);
    let graph = "Links of `kind = \"graph\"`, whose `[network]` has `mean_packet` as above.";
    section(page, "## `[[link]]`, a graph", graph, Keys::written(LINK));
    let ways = "Keys of a dumbbell's or a chain's `[network]`, of a `[[link]]` and of `back`. \
                [Networks](../study/networks.md) explains them.";
    let mut keys = Keys::of::<Medium>(&[]);
    keys.rows.extend(Keys::written(BACK).rows);
    section(page, "## What a managed link does besides", ways, keys);
    let compare = "As a table, or as a text `NAME[/PRESET][,param=value…][ as LABEL]`. \
                   `[compare]` has `queues`, a list of such texts.";
    section(page, "## `[queue]` and `[compare]`", compare, Keys::written(QUEUE));
    let unset = [
        ("hosts", "as many as flows"),
        ("class", "the group's place"),
        ("access_delay", "the network's"),
        ("active", "`start` to `stop`"),
        ("stop", "never"),
    ];
    let group = Keys::written(GROUP).and::<GroupParams>(&unset);
    section(page, "## `[[group]]`", "Keys that every group has.", group);
}

fn tcp(page: &mut String) {
    let ten = |name: &&str| {
        Connection::named(name).is_some_and(|of| of.tcp.initial_window == Size::Packets(10))
    };
    let ten: Vec<_> = SOURCES.iter().map(|source| source.0).filter(ten).collect();
    let initial = format!("10 packets with `{}`; else 2 packets", ten.join("`, `"));
    let unset = [
        ("initial_window", initial.as_str()),
        ("window", "33.554432 MB; 1000000 packets with `unresponsive`"),
        ("timestamps", "auto: on, but off with `rules = \"ns2\"` and `\"ns1\"`"),
    ];
    let all =
        "Keys of every TCP source. `reno`, `newreno`, `sack` and `rack` have no `loss_recovery`.";
    section(page, "## TCP", all, Keys::of::<Tcp>(&unset));
    let more = "The keys of TCP, and:";
    section(page, "### `cubic`", more, Keys::of::<CubicParams>(&[]));
    section(page, "### `aimd`", more, Keys::of::<AimdParams>(&[]));
    section(page, "### `binomial`", more, Keys::of::<BinomialParams>(&[]));
    section(page, "### `vegas`", more, Keys::of::<VegasParams>(&[]));
    let marked = "The keys of TCP (`ecn` must be on), and:";
    section(page, "### `vegas_rem`", marked, Keys::of::<VegasRemParams>(&[]));
    section(page, "### `dctcp`", marked, Keys::of::<DctcpParams>(&[]));
    let prague = "The keys of TCP (`ecn` must be on) without `overhead`, and:";
    section(page, "### `prague`", prague, Keys::of::<PragueParams>(&[]));
    section(page, "### `ledbat`", "The keys of TCP, and:", Keys::of::<LedbatParams>(&[]));
    let bbr = "The keys of TCP without `overhead`, and:";
    section(page, "### `bbr`", bbr, Keys::of::<BbrParams>(&[]));
    section(page, "### `bbr3`", bbr, Keys::of::<Bbr3Params>(&[]));
    let malicious = "The keys of TCP without `data`, `initial_window`, `rules` and `overhead`, no \
                     `active`, and:";
    let keys = Keys::of::<UnresponsiveParams>(&[]).and::<Unresponsive>(&[]);
    section(page, "### `unresponsive`", malicious, keys);
    let web = "The keys of TCP without `data`, `congestion`, and:";
    section(page, "### `web`", web, Keys::of::<Web>(&[]));
}

fn others(page: &mut String) {
    page.push_str("\n## Other sources\n");
    section(page, "### `tfrc`", "", Keys::of::<Tfrc>(&[]));
    section(page, "### `cbr`", "", Keys::of::<Cbr>(&[("rate", "required")]));
    let required = ["follows", "rate"].map(|name| (name, "required"));
    section(page, "### `following`", "", Keys::of::<Following>(&required));
    section(page, "### `on_off`", "", Keys::of::<OnOff>(&[("rate", "required")]));
    section(page, "### `voip`", "", Keys::of::<Voip>(&[]));
    let required = ["high", "low", "high_during"].map(|name| (name, "required"));
    section(page, "### `oscillating`", "", Keys::of::<Oscillating>(&required));
    section(page, "### `replay`", "", Keys::of::<Replay>(&[("capture", "required")]));
}

#[test]
fn the_page_of_scenario_keys_is_that_of_the_code() {
    let mut page = String::from(HEAD);
    section(&mut page, "## At the top", "", Keys::written(TOP));
    networks(&mut page);
    let _ = write!(page, "\n## Sources\n\n{FROM_CODE}| source | what it sends |\n|---|---|\n");
    for (name, what) in SOURCES {
        let _ = writeln!(page, "| `{name}` | {what} |");
    }
    tcp(&mut page);
    for control in Congestion::all().iter().filter(|control| !control.params().is_empty()) {
        let heading = format!("### `{}`", control.name());
        assert!(page.contains(&heading), "{heading} is missing: its keys are on no page");
    }
    others(&mut page);
    hold("scenarios.md", &page);
}

#[test]
fn the_page_of_queues_is_that_of_the_catalog() {
    let mut page = String::from(QUEUES_HEAD);
    page.push_str(FROM_CODE);
    page.push_str("| queue | what it is | paper |\n|---|---|---|\n");
    for queue in QUEUES {
        let manual = format!("../../crates/tidegate/src/queues/{}.md", queue.name);
        let (title, paper) = (queue.info.title, queue.info.paper);
        let _ = writeln!(page, "| [`{}`]({manual}) | {title} | {paper} |", queue.name);
    }
    let _ = write!(page, "\n## Presets\n\n{FROM_CODE}");
    page.push_str("| queue | preset | where its values come from |\n|---|---|---|\n");
    for queue in QUEUES {
        for (name, doc) in (queue.presets)() {
            let _ = writeln!(page, "| `{}` | `{name}` | {doc} |", queue.name);
        }
    }
    hold("queues.md", &page);
}

/// What the schema says of a value: its kind, if it refers to one, and its description.
fn described(property: &Value, kinds: &Value) -> (String, String) {
    let of = |value: &Value| {
        value["$ref"].as_str().and_then(|path| path.rsplit('/').next()).map(String::from)
    };
    let kind = of(property)
        .or_else(|| of(&property["items"]).map(|kind| format!("list of {kind}")))
        .unwrap_or_default();
    let own = property["description"].as_str();
    let inner = kind.trim_start_matches("list of ");
    let what = own.or_else(|| kinds[inner]["description"].as_str()).unwrap_or_default();
    (kind, what.replace('|', ","))
}

#[test]
fn the_page_of_results_is_that_of_the_schema() {
    let schema: Value = serde_json::from_str(tidegate_report::SCHEMA).unwrap();
    let kinds = &schema["$defs"];
    let mut page = String::from(RESULTS_HEAD);
    // The document first, then what it is made of.
    let names = ["document", "aggregate", "group", "flow", "link", "bottleneck", "unsettled"];
    let parts =
        ["overload", "number", "delay", "gaps", "counts", "per_flow", "over_flows", "over_time"];
    for name in names.iter().chain(&parts) {
        let kind = &kinds[*name];
        let _ = write!(page, "\n## `{name}`\n\n");
        if let Some(what) = kind["description"].as_str() {
            let _ = write!(page, "<!-- words: the schema's own -->\n{what}\n\n");
        }
        page.push_str(FROM_CODE);
        page.push_str("| key | kind | what |\n|---|---|---|\n");
        for (key, property) in kind["properties"].as_object().unwrap() {
            let (kind, what) = described(property, kinds);
            let _ = writeln!(page, "| `{key}` | {kind} | {what} |");
        }
    }
    let _ = write!(page, "\n## Kinds\n\n{FROM_CODE}");
    page.push_str("| kind | what |\n|---|---|\n");
    for kind in ["figure", "rate", "ratio", "amount", "reasons"] {
        let what = kinds[kind]["description"].as_str().unwrap();
        let _ = writeln!(page, "| {kind} | {what} |");
    }
    hold("results.md", &page);
}

#[test]
fn the_page_of_quantities_is_that_of_the_code() {
    let source = include_str!("../../src/paper/quantity.rs");
    let rows = source.lines().filter_map(|line| line.strip_prefix("//! |"));
    let table: String = rows.map(|row| format!("|{row}\n")).collect();
    hold("quantities.md", &format!("{QUANTITIES_HEAD}{FROM_CODE}{table}"));
}
