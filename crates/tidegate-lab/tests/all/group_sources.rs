//! What a group's source asks of the group's other values, and where its flows may go: each
//! refusal with its place and its words.
use crate::jobs::in_repository;
use crate::parts::part;
use crate::refusals::{accepted, changed, problems_of, refused, refused_there, set};

const DUMBBELL: &str = concat!(
    part!(dumbbell),
    "\n[[group]]\nname = \"calm\"\nsource = \"cbr\"\nrate = \"1 Mbit/s\"\n",
    part!(flood)
);

const GRAPH: &str = concat!(
    part!(one_link),
    "\n[[link]]\nfrom = \"C\"\nto = \"D\"\nrate = \"45 Mbit/s\"\n",
    part!(tcp),
    "from = \"A\"\nto = \"B\"\n"
);

const FLOOD: &str = "source = \"cbr\"\nrate = \"20 Mbit/s\"";

#[test]
fn forgers_need_somebody_who_heeds_losses() {
    let forge = |word: &str| format!("{FLOOD}\nforge = \"«{word}»\"");
    let nobody = "there is nobody to forge: no group heeds losses";
    for word in ["victims", "colliding"] {
        let text = changed(DUMBBELL, FLOOD, &forge(word));
        refused(&text, &format!("group.flood.forge = {word}: {nobody}"));
        // What keeps its rate is no user either, nor is what is replayed or called.
        for deaf in ["source = \"unresponsive\"", "source = \"voip\""] {
            let text = changed(&text, "source = \"cbr\"\nrate = \"1 Mbit/s\"", deaf);
            refused(&text, &format!("group.flood.forge = {word}: {nobody}"));
        }
        for user in ["source = \"web\"", "source = \"tfrc\"", "source = \"prague\""] {
            accepted(&changed(&text, "source = \"cbr\"\nrate = \"1 Mbit/s\"", user));
        }
    }
    // Made-up flows are nobody's.
    for word in ["random", "off"] {
        accepted(&changed(DUMBBELL, FLOOD, &forge(word)));
    }
    let text = changed(DUMBBELL, FLOOD, &format!("{FLOOD}\nnew_key = \"«2 s»\""));
    refused(&text, "group.flood.new_key = 2 s: says nothing without forge");
    accepted(&changed(&text, "new_key", "forge = 3\nnew_key"));
    accepted(&text.replace("2 s", "0 s"));
    let told = set(DUMBBELL, "group.flood.forge=victims");
    let words = format!("--set group.flood.forge=victims: group.flood.forge = victims: {nobody}");
    assert_eq!(told, words);
}

#[test]
fn receivers_have_what_they_cheat_with() {
    let tcp = |line: &str| format!("source = \"cubic\"\n{line}");
    let marks = "hides marks, which no packet here can bear: set ecn = \"on\"";
    let number = "is for a receiver that divides, repeats or anticipates acknowledgements";
    refused_there(
        DUMBBELL,
        &[
            (
                FLOOD,
                &tcp("receiver = \"«hide_marks»\""),
                &format!("group.flood.receiver = hide_marks: {marks}"),
            ),
            (
                FLOOD,
                &tcp("receiver_acks = «5»"),
                &format!("group.flood.receiver_acks = 5: {number}"),
            ),
            (
                FLOOD,
                &tcp("ecn = \"on\"\nreceiver = \"hide_marks\"\nreceiver_acks = «0»"),
                &format!("group.flood.receiver_acks = 0: {number}"),
            ),
            (
                FLOOD,
                "source = \"finite\"\ndata = \"1 MB\"\nreceiver_acks = «7»",
                &format!("group.flood.receiver_acks = 7: {number}"),
            ),
        ],
    );
    for fine in [
        "receiver_acks = 4",
        "receiver = \"hide_marks\"\necn = \"ect1\"",
        "receiver = \"anticipate\"\nreceiver_acks = 100000",
    ] {
        accepted(&changed(DUMBBELL, FLOOD, &tcp(fine)));
    }
}

#[test]
fn what_ends_has_an_amount_and_tfrc_has_one_period() {
    let endless = "must be an amount, as in \"5 MB\"; what never ends is source = \"newreno\"";
    let once = "a tfrc flow has one period only; it cannot start again";
    refused_there(
        DUMBBELL,
        &[
            (
                FLOOD,
                "source = \"finite\"\ndata = \"«endless»\"",
                &format!("group.flood.data = endless: {endless}"),
            ),
            (
                FLOOD,
                "source = \"tfrc\"\nactive = «[\"1 s..2 s\", \"3 s..\"]»",
                &format!("group.flood.active: {once}"),
            ),
        ],
    );
    accepted(&changed(DUMBBELL, FLOOD, "source = \"newreno\"\ndata = \"endless\""));
    accepted(&changed(DUMBBELL, FLOOD, "source = \"tfrc\"\nactive = \"1 s..2 s\""));
}

#[test]
fn a_capture_has_flows_for_all() {
    let capture = in_repository("captures/flood.pcapng").display().to_string();
    let with = |count: &str| {
        let replay = format!("source = \"replay\"\ncapture = {capture:?}\ncount = {count}");
        changed(DUMBBELL, FLOOD, &replay)
    };
    let refusal = problems_of(&with("900000"));
    let why = "is more than the capture's flows, ";
    let flows = refusal.list()[0].why.strip_prefix(why).expect(why).to_string();
    // One more than there are is refused, as many are not.
    let flows: u32 = flows.parse().unwrap();
    refused(
        &with(&format!("«{}»", flows + 1)),
        &format!("group.flood.count = {}: {why}{flows}", flows + 1),
    );
    assert_eq!(accepted(&with(&flows.to_string())).groups[1].count, flows);
}

#[test]
fn calls_and_connections_can_be_counted() {
    let voip = |line: &str| format!("source = \"voip\"\n{line}");
    let mean = "has no mean, so that no rate of calls makes so many at a time";
    let text = voip("erlangs = 1\ncall = \"«pareto(1, 1 s)»\"");
    refused(
        &changed(DUMBBELL, FLOOD, &text),
        &format!("group.flood.call = pareto(1, 1 s): {mean}"),
    );
    // Without a rate of calls, a call lasts as long as the flow.
    accepted(&changed(DUMBBELL, FLOOD, &voip("call = \"pareto(1, 1 s)\"")));
    // 60 seconds of calls of 60 us are a million for each Erlang, and one.
    let calls = "makes about 1.0e7 calls; at most 1e7 can be";
    let of = |erlangs: &str| voip(&format!("erlangs = {erlangs}\ncall = \"60 us\""));
    let text = changed(DUMBBELL, FLOOD, &of("«10»"));
    refused(&text, &format!("group.flood.erlangs = 10: {calls}"));
    accepted(&changed(DUMBBELL, FLOOD, &of("9.99998")));
    // 60 seconds of lives of 600 us are a hundred thousand for each flow.
    let lives = "makes about 1.0e7 connections; at most 1e7 can be";
    let of = |count: u32| {
        let text = "source = \"unresponsive\"\non = \"«500 us»\"\noff = \"100 us\"\ncount = ";
        changed(DUMBBELL, FLOOD, &format!("{text}{count}"))
    };
    refused(&of(101), &format!("group.flood.on = 500 us: {lives}"));
    accepted(&of(100));
}

#[test]
fn flows_of_a_dumbbell_go_from_left_to_right() {
    let why = "is for [network] kind = \"graph\"; in a dumbbell flows go from left to right";
    refused_there(
        DUMBBELL,
        &[
            (
                FLOOD,
                &format!("{FLOOD}\nto = \"«right»\""),
                &format!("group.flood.to = right: {why}"),
            ),
            (FLOOD, &format!("{FLOOD}\nfrom = «[\"left\"]»"), &format!("group.flood.from: {why}")),
        ],
    );
    let both = format!("{FLOOD}\nfrom = \"a\"\nto = \"b\"");
    let text = changed(DUMBBELL, FLOOD, &both);
    let problems = problems_of(&text);
    let fields: Vec<&str> = problems.list().iter().map(|p| p.field.as_str()).collect();
    assert_eq!(fields, ["group.flood.from", "group.flood.to"]);
}

#[test]
fn flows_of_a_graph_go_between_its_nodes() {
    let ends = "source = \"newreno\"\nfrom = \"A\"\nto = \"B\"\n";
    let with = |from: &str, to: &str| format!("source = \"newreno\"\nfrom = {from}\nto = {to}\n");
    let strange = "no link ends at a node `E`";
    refused_there(
        GRAPH,
        &[
            (ends, &with("\"«E»\"", "\"B\""), &format!("group.tcp.from = E: {strange}")),
            (ends, &with("\"A\"", "«[\"B\", \"E\"]»"), &format!("group.tcp.to: {strange}")),
            (
                ends,
                &with("\"A\"", "«[\"B\", \"A\"]»"),
                "group.tcp.to: `A` is in from and in to; a flow cannot end where it begins",
            ),
            (ends, &with("\"A\"", "\"«D»\""), "group.tcp.to = D: no links lead from `A` to `D`"),
            (
                ends,
                &with("«[\"A\", \"C\"]»", "\"B\""),
                "group.tcp.from: no links lead from `C` to the other nodes named",
            ),
        ],
    );
    // Links lead both ways.
    accepted(&changed(GRAPH, ends, &with("\"B\"", "\"A\"")));
    let unnamed = changed(GRAPH, ends, "source = \"newreno\"\n");
    let problems = problems_of(&unnamed);
    let told: Vec<String> =
        problems.list().iter().map(|p| format!("{}: {}", p.field, p.why)).collect();
    let required = "this key is required in a graph: a node or a list of nodes";
    assert_eq!(told, ["from", "to"].map(|key| format!("group.tcp.{key}: {required}")));
}

#[test]
fn a_slip_in_a_node_s_name_is_guessed() {
    let named = GRAPH.replace("\"A\"", "\"paris\"").replace("\"B\"", "\"london\"");
    let ends = |from: &str| format!("source = \"newreno\"\nfrom = \"{from}\"");
    let slip = changed(&named, &ends("paris"), &ends("«pariss»"));
    let why = "no link ends at a node `pariss`; did you mean `paris`?";
    refused(&slip, &format!("group.tcp.from = pariss: {why}"));
}
