//! What sources are by their names: the defaults of connections, which keys they have, and what
//! follows for each kind of source.
use tidegate::{Bytes, Rate, Size};
use tidegate_lab::scenario::{Connection, EcnUse, LossRecovery, SOURCES, Source, Tcp};
use tidegate_sim::sources::tcp::Congestion;

use crate::jobs::scenario;

/// The names of all sources that are connections.
fn connections() -> impl Iterator<Item = &'static str> {
    let names = SOURCES.iter().map(|source| source.0);
    names.filter(|name| Connection::named(name).is_some())
}

fn named(name: &str) -> Connection {
    Connection::named(name).unwrap_or_else(|| panic!("{name} is no connection"))
}

#[test]
fn connections_have_the_names_by_which_they_are_found() {
    for name in connections() {
        assert_eq!(named(name).name(), name);
    }
    let recoveries = ["newreno", "sack", "rack"];
    let controls = Congestion::all();
    for name in recoveries.into_iter().chain(controls.iter().map(Congestion::name)) {
        assert!(connections().any(|connection| connection == name), "{name} is no source");
    }
    assert_eq!(connections().count(), recoveries.len() + controls.len());
    for name in ["finite", "web", "tfrc", "cbr", "on_off", "voip", "replay", "Reno", ""] {
        assert_eq!(Connection::named(name), None, "{name}");
    }
    assert_eq!(Connection::default(), named("newreno"));
}

#[test]
fn what_is_of_today_begins_with_ten_packets() {
    for name in connections() {
        let wanted = match name {
            "cubic" | "dctcp" | "prague" | "bbr" | "bbr3" => Size::Packets(10),
            // All that its receiver lets it.
            "unresponsive" => Size::Packets(1_000_000),
            _ => Size::Packets(2),
        };
        assert_eq!(named(name).tcp.initial_window, wanted, "{name}");
    }
    let deaf = named("unresponsive").tcp;
    assert_eq!(deaf.window, deaf.initial_window);
    assert_eq!(named("cubic").tcp.window, Tcp::default().window);
}

#[test]
fn losses_are_repaired_as_the_name_says() {
    for name in connections() {
        let wanted = match name {
            "reno" | "vegas" => LossRecovery::Reno,
            "newreno" => LossRecovery::NewReno,
            "rack" | "unresponsive" => LossRecovery::Rack,
            _ => LossRecovery::Sack,
        };
        assert_eq!(named(name).tcp.loss_recovery, wanted, "{name}");
        let marks = matches!(name, "dctcp" | "prague" | "vegas_rem" | "reno_num");
        let ecn = if marks { EcnUse::On } else { EcnUse::Off };
        assert_eq!(named(name).tcp.ecn, ecn, "{name}");
        let rate = (name == "unresponsive").then_some(());
        assert_eq!(named(name).rate().map(drop), rate, "{name}");
    }
}

#[test]
fn what_a_name_says_is_no_key_besides() {
    let has = |name: &str, key: &str| named(name).keys().iter().any(|(param, _)| param.name == key);
    for name in connections() {
        let lacks: &[&str] = match name {
            "reno" | "newreno" | "sack" | "rack" => &["loss_recovery"],
            "bbr" | "bbr3" | "prague" => &["overhead"],
            "unresponsive" => &["initial_window", "overhead", "rules"],
            _ => &[],
        };
        for key in ["loss_recovery", "overhead", "initial_window", "rules", "packet", "tick"] {
            assert_eq!(has(name, key), !lacks.contains(&key), "{name} {key}");
        }
        // Own keys come first, and none is there twice.
        let keys: Vec<&str> = named(name).keys().iter().map(|(param, _)| param.name).collect();
        let own = named(name).congestion.params().len();
        assert!(own == 0 || keys[0] == named(name).congestion.params()[0].name, "{name}");
        let mut once = keys.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), keys.len(), "{name}");
    }
}

/// The source of a group that is described so.
fn source(text: &str) -> Source {
    let text = format!(
        "[network]\nrate = \"1 Gbit/s\"\nlimit = \"99 packets\"\n[[group]]\nname = \"g\"\nsource \
         = {text}\n"
    );
    scenario(&text).groups[0].source.clone()
}

/// A source, its name, whether it heeds losses and always sends, the length of its packets and of
/// what answers them.
type Traits = (&'static str, &'static str, [bool; 2], u64, Option<u64>);

const TRAITS: [Traits; 13] = [
    ("\"sack\"", "sack", [true, true], 1000, Some(40)),
    ("\"sack\"\ndata = \"1 MB\"", "sack", [true, false], 1000, Some(40)),
    ("\"cubic\"\npacket = \"1500 B\"\nack = \"52 B\"", "cubic", [true, true], 1500, Some(52)),
    ("\"finite\"\ndata = \"1 MB\"", "finite", [true, false], 1000, Some(40)),
    ("\"web\"\npacket = \"576 B\"", "web", [true, false], 576, Some(40)),
    ("\"unresponsive\"", "unresponsive", [false, false], 1000, Some(40)),
    ("\"tfrc\"\nreport = \"60 B\"", "tfrc", [true, true], 1000, Some(60)),
    ("\"cbr\"\nrate = \"1 Mbit/s\"", "cbr", [false, true], 1000, None),
    ("\"cbr\"\nrate = \"1 Mbit/s\"\npacket = \"64 B\"", "cbr", [false, true], 64, None),
    ("\"on_off\"\nrate = \"1 Mbit/s\"", "on_off", [false, false], 1000, None),
    ("\"voip\"", "voip", [false, false], 200, None),
    (
        "\"oscillating\"\nhigh = \"2 Mbit/s\"\nlow = \"1 Mbit/s\"\nhigh_during = \"1 s..2 s\"",
        "oscillating",
        [false, false],
        1000,
        None,
    ),
    ("\"newreno\"\ndata = \"endless\"", "newreno", [true, true], 1000, Some(40)),
];

#[test]
fn sources_are_what_their_groups_say() {
    for (text, name, [heeds, always], packet, answer) in TRAITS {
        let source = source(text);
        assert_eq!(source.name(), name);
        assert_eq!((source.heeds_loss(), source.always_sends()), (heeds, always), "{text}");
        assert_eq!(source.packet(), Bytes::new(packet), "{text}");
        assert_eq!(source.answer(), answer.map(Bytes::new), "{text}");
        // What has connections is answered; so is tfrc, which has none.
        assert_eq!(source.tcp().is_some(), answer.is_some() && name != "tfrc", "{text}");
    }
}

#[test]
fn what_stands_above_a_connection_names_its_control() {
    let control = |text: &str| {
        let source = source(text);
        match source {
            Source::Finite(connection) | Source::Web(_, connection) => connection,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(control("\"web\""), Connection::default());
    assert_eq!(control("\"web\"\ncongestion = \"bbr\"").name(), "bbr");
    let cubic = control("\"finite\"\ndata = \"1 MB\"\ncongestion = \"cubic\"\nbeta = 0.6");
    assert_eq!((cubic.name(), cubic.tcp.initial_window), ("cubic", Size::Packets(10)));
    let beta = cubic.keys().into_iter().find(|(param, _)| param.name == "beta");
    assert_eq!(beta.unwrap().1, "0.6");
    let Source::Unresponsive(_, deaf) = source("\"unresponsive\"\nrate = \"7 Mbit/s\"") else {
        panic!("comes and goes")
    };
    assert_eq!(deaf.rate(), Some(Rate::from_bps(7_000_000)));
}
