//! The tables of `docs/reference/scenarios.md` are those of the code. `TIDEGATE_BLESS=1` rewrites them.
use std::fmt::Write;
use std::path::Path;

use tidegate::config::Params;
use tidegate_lab::scenario::{
    Cbr, Chain, Dumbbell, GroupParams, OnOff, Oscillating, Replay, Run, Tcp, Tfrc, Unresponsive,
    Voip, Web,
};
use tidegate_sim::sources::tcp::{
    AimdParams, BbrParams, BinomialParams, CubicParams, DctcpParams, UnresponsiveParams,
    VegasParams, VegasRemParams,
};

fn table<P: Params + Default>(required: &[&str], unset: &[(&str, &str)]) -> String {
    let mut out = String::from("| key | default | range | what |\n|---|---|---|---|\n");
    let defaults = P::default();
    for param in P::PARAMS {
        let own = defaults.get(param.name).unwrap();
        let special =
            unset.iter().find(|(name, _)| *name == param.name).map(|(_, text)| text.to_string());
        let default =
            if required.contains(&param.name) { "required".into() } else { special.unwrap_or(own) };
        // A bar between two words would end the cell.
        let range = (param.range)().replace(" | ", ", ");
        let _ = writeln!(out, "| `{}` | {default} | {range} | {} |", param.name, param.doc.trim());
    }
    out
}

#[test]
fn the_tables_are_those_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/scenarios.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut wanted = page.clone();
    for (name, table) in [
        ("run", table::<Run>(&[], &[])),
        ("dumbbell", table::<Dumbbell>(&["rate", "limit"], &[])),
        ("chain", table::<Chain>(&[], &[])),
        (
            "group",
            table::<GroupParams>(
                &[],
                &[
                    ("hosts", "as many as flows"),
                    ("class", "the group's place"),
                    ("access_delay", "the network's"),
                    ("active", "`start` to `stop`"),
                    ("stop", "never"),
                ],
            ),
        ),
        (
            "tcp",
            table::<Tcp>(
                &[],
                &[
                    ("initial_window", "10 packets with `cubic`, `dctcp`, `bbr`; else 2 packets"),
                    ("window", "33.554432 MB; 1000000 packets with `unresponsive`"),
                    ("timestamps", "auto: on, but off with `rules = \"ns2\"` and `\"ns1\"`"),
                ],
            ),
        ),
        ("cubic", table::<CubicParams>(&[], &[])),
        ("aimd", table::<AimdParams>(&[], &[])),
        ("binomial", table::<BinomialParams>(&[], &[])),
        ("vegas", table::<VegasParams>(&[], &[])),
        ("vegas_rem", table::<VegasRemParams>(&[], &[])),
        ("dctcp", table::<DctcpParams>(&[], &[])),
        ("bbr", table::<BbrParams>(&[], &[])),
        ("unresponsive", table::<UnresponsiveParams>(&[], &[])),
        ("lives", table::<Unresponsive>(&[], &[])),
        ("web", table::<Web>(&[], &[])),
        ("tfrc", table::<Tfrc>(&[], &[])),
        ("cbr", table::<Cbr>(&["rate"], &[])),
        ("on_off", table::<OnOff>(&["rate"], &[])),
        ("voip", table::<Voip>(&[], &[])),
        ("replay", table::<Replay>(&["capture"], &[])),
        ("oscillating", table::<Oscillating>(&["high", "low", "high_during"], &[])),
    ] {
        let begin = format!("<!-- {name}: generated, TIDEGATE_BLESS=1 rewrites -->\n");
        let end = format!("<!-- end of {name} -->");
        let from = wanted.find(&begin).unwrap_or_else(|| panic!("no table {name}")) + begin.len();
        let to = from + wanted[from..].find(&end).unwrap_or_else(|| panic!("no end of {name}"));
        wanted.replace_range(from..to, &table);
    }
    if std::env::var_os("TIDEGATE_BLESS").is_some() {
        std::fs::write(&path, wanted).unwrap();
    } else {
        assert!(
            page == wanted,
            "docs/reference/scenarios.md is out of date: TIDEGATE_BLESS=1 cargo test -p tidegate-lab --test docs"
        );
    }
}
