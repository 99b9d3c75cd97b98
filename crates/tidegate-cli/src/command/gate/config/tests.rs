use super::*;
use crate::failure::Failure;
use tidegate::Span;
use tidegate_gateway::run::plan::GatePlan;
use tidegate_gateway::watch::offenders::OffenderRules;
use tidegate_gateway::watch::socket::SocketPath;

use super::super::link::DRAIN;

/// The example of `docs/operate/settings.md`.
fn example() -> &'static str {
    let page = include_str!("../../../../../../docs/operate/settings.md");
    let (_, rest) = page.split_once("```toml\n").expect("an example");
    rest.split_once("```").expect("its end").0
}

fn config(text: &str) -> Config {
    parse(text.as_bytes(), Path::new("gate.toml")).unwrap_or_else(|problems| panic!("{problems}"))
}

fn links(text: &str) -> Vec<LinkConfig> {
    config(text).links
}

fn refused(text: &str) -> String {
    match parse(text.as_bytes(), Path::new("gate.toml")) {
        Ok(config) => panic!("nothing is wrong with {config:?}"),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn the_example_of_the_documentation_says_what_it_is_said_to() {
    let links = links(example());
    let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["uplink", "lab"]);
    let plans: Vec<GatePlan> = links.iter().map(|link| link.plan(1500).unwrap()).collect();
    let told = |at: usize, name: &str| {
        let lines = links[at].lines(&plans[at]);
        lines.into_iter().find(|(known, _)| known == name).map(|(_, text)| text).unwrap_or_default()
    };
    assert_eq!(
        (told(0, "in"), told(0, "out"), told(0, "rate")),
        ("eth1".into(), "eth2".into(), "100 Mbit/s".into())
    );
    assert_eq!(
        told(0, "classes"),
        "voice (weight 3, dscp EF CS5); backup (weight 0.5, prefix 192.0.2.16/28 2001:db8:7::/48); \
         rest (weight 1)"
    );
    assert!(
        told(0, "parameters").contains("classes = 3")
            && told(0, "parameters").contains("weights = 3:0.5:1")
    );
    assert_eq!(told(0, "allow"), "198.51.100.7/32");
    assert_eq!(
        (told(0, "back.queue"), told(0, "back.rate")),
        ("fq_codel".into(), "400 Mbit/s".into())
    );
    assert_eq!((told(1, "back.queue"), told(1, "queue")), (String::new(), "sfb,bins=46".into()));
    assert!(told(1, "parameters").contains("bins = 46") && told(1, "waits").starts_with("awake"));
    assert!(
        told(0, "offenders").is_empty()
            && told(1, "offenders").contains("factor = 3, after = 20, clear_factor = 1.2")
    );
    assert_eq!((links[0].on_exit, links[1].on_exit), (OnExit::Open, OnExit::Close));
}

const LINK: &str = "[[link]]\nin = \"a\"\nout = \"b\"\nrate = \"1 Mbit/s\"\nqueue = \"red\"\n";

#[test]
fn what_a_file_leaves_out_is_as_on_the_command_line() {
    let link = links(LINK).remove(0);
    assert_eq!(
        (link.name.as_str(), link.waits, link.drain, link.record.clone()),
        ("a", Waits::Asleep, DRAIN, None)
    );
    let there = &link.settings.there;
    assert_eq!(
        (there.link.limit.to_string(), there.flow_key.to_string()),
        ("12.5 kB".into(), "five-tuple".into())
    );
    assert!(there.classes.is_empty() && there.allowed.is_empty() && link.settings.back.is_none());
    // What cannot be marked is dropped on a wire.
    let rem = links(&LINK.replace("red", "rem")).remove(0);
    assert_eq!(rem.settings.there.queue.get("non_ect").as_deref(), Some("drop"));
}

/// Each mistake with its line, its field, its value and what was meant.
#[test]
#[allow(clippy::too_many_lines, reason = "a list of refusals")]
fn mistakes_are_told_with_their_place_and_what_was_meant() {
    let class = |text: &str| {
        format!("{}\n[[link.class]]\nname = \"x\"\n{text}\n", LINK.replace("red", "wfq"))
    };
    let mut missed = String::new();
    for (text, told) in [
        (
            "",
            "gate.toml: is empty; a gate's file has at least one [[link]] with in, out, rate and \
             queue",
        ),
        (
            "x = 1",
            "gate.toml:1:1: x: no such key; a gate's file knows socket, metrics, metrics_public, \
             web, web_public, link",
        ),
        (
            "[link]\nin = \"a\"",
            "gate.toml:1:1: link: must be a list of tables: write [[link]] with double brackets",
        ),
        (
            &LINK.replace("rate =", "rat ="),
            "gate.toml:4:1: link.a.rat: no such key; a [[link]] knows name, in, out, back, delay, \
             busy, drain, on_exit, record, record_limit, rate, limit, mean_packet, queue, \
             flow_key, rehash, overhead, allow, class, offenders; did you mean `rate`?",
        ),
        (
            &LINK.replace("rate =", "rat ="),
            "gate.toml:1:1: link.a.rate: this key is required: a rate",
        ),
        (
            &LINK.replace("out = \"b\"\n", ""),
            "gate.toml:1:1: link.a.out: this key is required: the name of an interface",
        ),
        (&LINK.replace("\"1 Mbit/s\"", "1"), "gate.toml:4:8: link.a.rate = 1: "),
        (
            &LINK.replace("1 Mbit/s", "2000000 Gbit/s"),
            "link.a.rate = 2000000 Gbit/s: must lie in 1 bit/s to ",
        ),
        (
            &LINK.replace("red", "rid"),
            "gate.toml:5:10: link.a.queue = rid: no such queue; known are ",
        ),
        (&LINK.replace("red", "rid"), "; did you mean `red`?"),
        (&LINK.replace("red", "red,max=1 packets"), "gate.toml:5:10: link.a.queue.m"),
        (
            &LINK.replace("\"red\"", "{ name = \"sfb\", bins = 0 }"),
            "gate.toml:5:32: link.a.queue.bins = 0: must lie in 1 to ",
        ),
        (
            &format!("{LINK}flow_key = \"src\""),
            "gate.toml:6:13: link.a.flow_key = src: no such flow key; did you mean `source`?",
        ),
        (
            &format!("{LINK}rehash = \"5 ms\""),
            "gate.toml:6:11: link.a.rehash = 5 ms: must lie in 100 ms to 3600 s, or be off",
        ),
        (
            &format!("{LINK}rehash = \"on\""),
            "gate.toml:6:11: link.a.rehash = on: does not begin with a number; or write `off`",
        ),
        (
            &format!("{LINK}allow = [\"10.0.0.1/8\"]"),
            "gate.toml:6:11: link.a.allow = 10.0.0.1/8: has bits beyond its prefix; did you mean \
             `10.0.0.0/8`?",
        ),
        (&format!("{LINK}busy = 1"), "gate.toml:6:8: link.a.busy = 1: must be true or false"),
        (
            &format!("{LINK}delay = \"3 s\""),
            "gate.toml:6:10: link.a.delay = 3 s: must lie in 0 ns to 2 s",
        ),
        (
            &format!("{LINK}offenders = {{ factor = 0.5 }}"),
            "gate.toml:6:24: link.a.offenders.factor = 0.5: must lie in 1 to 1000",
        ),
        (
            &format!("{LINK}offenders = {{ factr = 2 }}"),
            "link.a.offenders.factr: no such key; `offenders` knows interval, factor, after, \
             clear_factor, clear_after; did you mean `factor`?",
        ),
        (
            &format!("{LINK}offenders = {{ factor = 1.1 }}"),
            "link.a.offenders.clear_factor: must be at most the factor, 1.1",
        ),
        (&format!("socket = 3\n{LINK}"), "gate.toml:1:10: socket = 3: must be the path of a file"),
        (&format!("{LINK}on_exit = \"opn\""), "must be one of open | close; did you mean `open`?"),
        (
            &format!("{LINK}record_limit = \"1 GB\""),
            "link.a.record_limit = 1 GB: there is no `record` that it could limit",
        ),
        (
            &format!("{LINK}limit = \"10 B\""),
            "gate.toml:6:10: link.a.limit = 10 B: must hold at least one packet of the mean length",
        ),
        (
            &format!("{LINK}[link.back]\nrate = \"1 Mbit/s\""),
            "gate.toml:6:1: link.a.back.queue: this key is required",
        ),
        (
            &format!("{LINK}[link.back]\nin = \"c\""),
            "link.a.back.in: no such key; a [link.back] knows rate, limit",
        ),
        (
            &format!("{LINK}[[link.class]]\nname = \"x\""),
            "gate.toml:5:10: link.a.queue = red: knows no classes; those that do are csfq, wfq",
        ),
        (
            &class("dscp = 64"),
            "gate.toml:9:8: link.a.class.1.dscp = 64: must be a number from 0 to 63, or a name",
        ),
        (
            &class("dscp = [\"EF\", \"XY\"]"),
            "link.a.class.1.dscp = XY: must be a number from 0 to 63, or a name",
        ),
        (&class("priority = 8"), "link.a.class.1.priority = 8: must be a whole number from 0 to 7"),
        (&class("weight = 0"), "link.a.class.1.weight = 0: must lie in 0.01 to 10000"),
        (
            &class("mark = 7"),
            "link.a.class.1.mark: no such key: a firewall's mark is set after frames were taken",
        ),
        (
            &format!("{0}{0}", LINK.replace("[[link]]", "[link]")),
            "gate.toml:6:1: the table [link] is given twice: write [[link]] with double brackets",
        ),
        (
            &class("colour = 7"),
            "link.a.class.1.colour: no such key; a [[class]] knows name, weight, prefix, dscp, \
             priority\n",
        ),
        (
            &LINK.replace("\"b\"", "\"a\""),
            "gate.toml:3:8: link.a.out = a: must be another interface than `in`",
        ),
        (
            &class("prefix = \"lan\""),
            "link.a.class.1.prefix = lan: must be a prefix, as in 192.0.2.0/24",
        ),
        (
            &class("[[link.class]]\nname = \"y\""),
            "link.a.class = y: no frame comes to it: `x` before it asks for nothing",
        ),
        (
            &class("dscp = 1\n[[link.class]]\nname = \"x\""),
            "link.a.class.name = x: two classes of a direction cannot",
        ),
        (
            &class("dscp = 1").replace("\"wfq\"", "\"wfq,weights=2\""),
            "link.a.queue.weights = 2: follows from the classes: leave it out",
        ),
        (&format!("{LINK}{LINK}"), "gate.toml:7:7: link.a.in = a: the link `a` has this interface"),
        (
            &format!(
                "{LINK}name = \"z\"\n{}name = \"z\"",
                LINK.replace("\"a\"", "\"c\"").replace("\"b\"", "\"d\"")
            ),
            "link.z.name = z: another link is called that too",
        ),
        (
            &format!(
                "{LINK}name = \"c\"\n{}",
                LINK.replace("\"a\"", "\"c\"").replace("\"b\"", "\"d\"")
            ),
            "gate.toml:8:7: link.c.in = c: another link is called that too",
        ),
    ] {
        let problems = refused(text);
        if !problems.contains(told) {
            missed += &format!("{text}\n\n{problems}\n\n{told}\n\n");
        }
    }
    assert!(missed.is_empty(), "{missed}");
}

#[test]
fn socket_and_metrics_stay_where_they_are_while_gates_run() {
    let source = |text: &str| config(&format!("{text}{LINK}")).source.unwrap();
    let (one, other, none) =
        (source("socket = \"/run/a\"\n"), source("\nsocket = \"/run/b\"\n"), source(""));
    assert_eq!(one.socket.as_ref().map(SocketPath::path), Some(Path::new("/run/a")));
    let port = source("metrics_public = true\nmetrics = \"[::]:2\"\n");
    assert!(
        port.may_follow(&port).is_ok()
            && one.may_follow(&one).is_ok()
            && none.may_follow(&none).is_ok()
    );
    for (new, old, told) in [
        (&other, &one, "gate.toml:2:11: socket = /run/b: cannot be otherwise while the gate runs"),
        (&none, &one, "gate.toml:1:1: socket = none: cannot be otherwise while the gate runs"),
        (&port, &none, "gate.toml:2:12: metrics = [::]:2: cannot be otherwise while the gate runs"),
        (&none, &port, "gate.toml:1:1: metrics = none: cannot be otherwise while the gate runs"),
    ] {
        let Err(Failure::Input(why)) = new.may_follow(old) else { panic!("it cannot") };
        assert!(why.starts_with(told), "{why}");
    }
}

#[test]
fn offenders_are_told_by_the_rules_of_their_direction() {
    let text =
        format!("{LINK}offenders = {{ interval = \"1 s\", factor = 3, after = 2 }}\n[link.back]\n")
            + "rate = \"1 Mbit/s\"\nqueue = \"red\"\n";
    let settings = links(&text).remove(0).settings;
    let expected = OffenderRules {
        interval: Span::from_millis(1000),
        factor: 3.0,
        after: 2,
        ..OffenderRules::default()
    };
    assert_eq!(settings.there.offenders, expected);
    assert_eq!(settings.back.unwrap().offenders, OffenderRules::default());
}

#[test]
fn all_mistakes_are_told_at_once() {
    let text = LINK.replace("1 Mbit/s", "1 Mbps").replace("red", "rid") + "delay = \"3 s\"\n";
    let problems = refused(&text);
    assert_eq!(
        problems.matches("gate.toml:").count(),
        2,
        "the queue hangs on the rate: {problems}"
    );
}

#[test]
fn what_turns_out_later_has_its_place_too() {
    let config = links(&format!("{LINK}limit = \"16000000 packets\"\n")).remove(0);
    let Err(crate::failure::Failure::Input(told)) = config.plan(9000) else {
        panic!("so much memory")
    };
    assert!(
        told.starts_with("gate.toml:6:10: link.a.limit = 16000000 packets: with delay 0 ns needs "),
        "{told}"
    );
    let mut other = links(LINK).remove(0);
    other.on_exit = OnExit::Close;
    let Err(crate::failure::Failure::Input(told)) = other.may_follow(&config) else {
        panic!("it cannot")
    };
    assert!(
        told.contains("link.a.on_exit = close: cannot be otherwise while the gate runs"),
        "{told}"
    );
}
