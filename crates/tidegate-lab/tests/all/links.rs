//! Links and short forms of networks: each refusal with its place and its words.
use crate::parts::part;
use crate::refusals::{accepted, changed, problems_of, refused, refused_there, said};

const DUMBBELL: &str = concat!(part!(dumbbell), part!(tfrc));

const GRAPH: &str = concat!(part!(graph), part!(tfrc), part!(a_to_c));

const CHAIN: &str = r#"
[network]
kind = "chain"
routers = ["A", "B", "C"]
rate = "45 Mbit/s"
limit = "200 kB"
left = ["L1", "L2"]
right = "R"

[[group]]
name = "g"
source = "tfrc"
"#;

const WAY_KEYS: &str = "capacity, loss, jitter, reorder, bleach";
const LIMIT: &str = "limit = \"100 packets\"";

#[test]
fn kinds_of_networks_are_four() {
    let kinds = "must be one of dumbbell | graph | chain | parking_lot";
    let network = "[network]\n";
    let kind = |kind: &str| format!("{network}kind = {kind}\n");
    refused_there(
        DUMBBELL,
        &[
            (network, &kind("\"«star»\""), &format!("network.kind = star: {kinds}")),
            (
                network,
                &kind("\"«dumbell»\""),
                &format!("network.kind = dumbell: {kinds}; did you mean `dumbbell`?"),
            ),
            (network, &kind("«3»"), "network.kind = 3: must be a text in quotes, not a number"),
            (
                "[[group]]",
                "«[[link]]»\nfrom = \"A\"\n[[group]]",
                "link: links are for [network] kind = \"graph\"; a dumbbell has its own",
            ),
        ],
    );
    let lot = changed(DUMBBELL, network, &kind("\"parking_lot\""));
    refused(
        &changed(&lot, "[[group]]", "«[[link]]»\nfrom = \"A\"\n[[group]]"),
        "link: links are for [network] kind = \"graph\"; a parking_lot has its own",
    );
}

#[test]
fn a_network_and_a_group_are_the_least() {
    let told = |text: &str| said(&problems_of(text)).join("\n");
    let network = "network: the scenario needs a table [network] with a rate and a limit";
    let group = "group: the scenario needs at least one [[group]] of flows";
    assert_eq!(told("title = \"a\"\n"), format!("s.toml:1:1: {network}\ns.toml:1:1: {group}"));
    let no_links =
        told("[network]\nkind = \"graph\"\n[[group]]\nname = \"g\"\nsource = \"tfrc\"\n");
    assert!(no_links.contains("link: a graph needs at least one [[link]]"), "{no_links}");
}

#[test]
fn links_have_what_they_know() {
    let rate = "rate = \"45 Mbit/s\"\n\n";
    let known = format!("from, to, rate, delay, limit, queue, watch, {WAY_KEYS}, back");
    let plain = "is for links with a queue: this one has no limit, and so none";
    refused_there(
        GRAPH,
        &[
            (
                "kind = \"graph\"",
                "kind = \"graph\"\n«rate» = \"1 Mbit/s\"",
                "network.rate: no such key; a graph's [network] knows kind, mean_packet",
            ),
            (
                rate,
                &format!("«speed» = 3\n{rate}"),
                &format!("link.2.speed: no such key; a [[link]] knows {known}"),
            ),
            (
                rate,
                &format!("«lenght» = 3\n{rate}"),
                &format!("link.2.lenght: no such key; a [[link]] knows {known}"),
            ),
            (rate, &format!("loss = «0.1»\n{rate}"), &format!("link.2.loss = 0.1: {plain}")),
            (
                rate,
                &format!("bleach = \"«before»\"\n{rate}"),
                &format!("link.2.bleach = before: {plain}"),
            ),
            (
                rate,
                &format!("back = {{ jitter = \"«1 ms»\" }}\n{rate}"),
                &format!("link.2.back.jitter = 1 ms: {plain}"),
            ),
            (
                "limit = \"200 kB\"",
                "limit = \"200 kB\"\ndelay = \"«101 s»\"",
                "link.1.delay = 101 s: must lie in 0 ns to 100 s",
            ),
        ],
    );
}

#[test]
fn ways_back_have_what_they_know() {
    let back = |keys: &str| format!("{LIMIT}\nback = {{ {keys} }}");
    let known = format!("rate, delay, limit, queue, {WAY_KEYS}");
    refused_there(
        DUMBBELL,
        &[
            (
                LIMIT,
                &format!("{LIMIT}\nback = «3»"),
                "network.back = 3: must be a table, not a number",
            ),
            (
                LIMIT,
                &back("«watch» = true"),
                &format!("network.back.watch: no such key; a link's `back` knows {known}"),
            ),
            (
                LIMIT,
                &back("queue = \"«red»\""),
                "network.back.queue = red: a way back with a queue needs a limit",
            ),
            (
                LIMIT,
                &back("rate = \"«1 bit/s»\""),
                "network.back.rate = 1 bit/s: must lie in 1 kbit/s to 1000 Gbit/s",
            ),
            (
                LIMIT,
                &back("limit = \"9 packets\", loss = «2»"),
                "network.back.loss = 2: a probability lies in 0 to 1",
            ),
        ],
    );
    // What it does not say is as on the way there.
    let text = changed(DUMBBELL, LIMIT, &back("limit = \"9 packets\""));
    let written = accepted(&text).resolved();
    assert!(
        written.contains("[network.back]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n"),
        "{written}"
    );
}

#[test]
fn rates_over_time_are_written_as_they_are() {
    let capacity = |text: &str| format!("{LIMIT}\ncapacity = {text}");
    let form = "a change is written RATE from TIME, as in \"2 Mbit/s from 10 s\"; else fixed, \
                walk(LEAST, MOST, STEP, EVERY) or trace(FILE)";
    refused_there(
        DUMBBELL,
        &[
            (LIMIT, &capacity("\"«2 Mbit/s»\""), &format!("network.capacity = 2 Mbit/s: {form}")),
            (
                LIMIT,
                &capacity("«[\"2 Mbit/s from 2 s\", \"1 Mbit/s from 2 s\"]»"),
                "network.capacity = 1 Mbit/s from 2 s: must be later than the one before, at 2 s",
            ),
            (
                LIMIT,
                &capacity("«[\"2 Mbit/s from 2 s\", \"0 bit/s from 3 s\"]»"),
                "network.capacity = 0 bit/s from 3 s: the last rate holds for ever and must be \
                 above 0 bit/s",
            ),
            (
                LIMIT,
                &capacity("\"«walk(1 Mbit/s, 20 Mbit/s, 30 Mbit/s, 1 s)»\""),
                "network.capacity = walk(1 Mbit/s, 20 Mbit/s, 30 Mbit/s, 1 s): a step must lie \
                 above 0 bit/s, up to 20 Mbit/s",
            ),
            (
                LIMIT,
                &capacity("\"«trace()»\""),
                "network.capacity = trace(): is written trace(FILE)",
            ),
            (LIMIT, &capacity("\"«trace(.)»\""), "network.capacity = trace(.): .: is no file"),
        ],
    );
}

#[test]
fn routers_are_two_at_least_and_have_names_of_their_own() {
    let routers = "[\"A\", \"B\", \"C\"]";
    let least = "this key is required: the routers' names in order, two at least, as in [\"A\", \
                 \"B\", \"C\"]";
    let other = |name: &str| format!("there is another node `{name}`");
    refused_there(
        CHAIN,
        &[
            (routers, "\"«A»\"", &format!("network.routers = A: {least}")),
            (routers, "«[\"A\"]»", &format!("network.routers: {least}")),
            (routers, "«[\"A\", \"B\", \"A\"]»", &format!("network.routers: {}", other("A"))),
            ("[\"L1\", \"L2\"]", "«[\"L1\", \"L1\"]»", &format!("network.left: {}", other("L1"))),
            ("right = \"R\"", "right = \"«B»\"", &format!("network.right = B: {}", other("B"))),
            ("right = \"R\"", "right = \"«L2»\"", &format!("network.right = L2: {}", other("L2"))),
            (
                routers,
                &format!("{routers}\n«hops» = 3"),
                "network.hops: no such key; a chain's [network] knows kind, rate, delay, limit, \
                 mean_packet, managed, watch, left, right, access_rate, access_delay, routers, \
                 capacity, loss, jitter, reorder, bleach, back; did you mean `loss`?",
            ),
        ],
    );
    let missing = changed(CHAIN, "[network]", "«[network]»");
    let missing = changed(&missing, "routers = [\"A\", \"B\", \"C\"]\n", "");
    refused(&missing, &format!("network.routers: {least}"));
}

#[test]
fn the_watched_hop_is_one_of_the_chain() {
    let limit = "limit = \"200 kB\"";
    let with = |keys: &str| format!("{limit}\n{keys}");
    refused_there(
        CHAIN,
        &[
            (
                limit,
                &with("watch = «3»"),
                "network.watch = 3: there are 2 links from router to router",
            ),
            (
                limit,
                &with("managed = \"first\"\nwatch = «2»"),
                "network.watch = 2: only the first link has a queue (managed = \"first\")",
            ),
            (
                limit,
                &with("managed = \"«last»\""),
                "network.managed = last: must be one of all | first",
            ),
            (limit, &with("watch = «0»"), "network.watch = 0: must lie in 1 to 500"),
            (
                limit,
                "limit = \"«10 B»\"",
                "network.limit = 10 B: must hold at least one packet of the mean length",
            ),
        ],
    );
    accepted(&changed(CHAIN, limit, &with("watch = 2")));
    let bare = changed(
        CHAIN,
        "left = [\"L1\", \"L2\"]\nright = \"R\"\n",
        "access_rate = \"«1 Mbit/s»\"\n",
    );
    let why = "is for the links of left and right, of which there are none";
    refused(&bare, &format!("network.access_rate = 1 Mbit/s: {why}"));
}

#[test]
fn what_the_links_of_a_chain_have_is_refused_in_its_network() {
    let limit = "limit = \"200 kB\"";
    let walk = "walk(1 kbit/s, 2 kbit/s, 1 bit/s, 1 s)";
    let why = "the walk begins at the rate, 45 Mbit/s, and must reach it";
    // Once, though each of two links has it.
    refused(
        &changed(CHAIN, limit, &format!("{limit}\ncapacity = \"«{walk}»\"")),
        &format!("network.capacity = {walk}: {why}"),
    );
    let back = format!("{limit}\nback = {{ limit = \"9 packets\", capacity = \"«{walk}»\" }}");
    refused(&changed(CHAIN, limit, &back), &format!("network.back.capacity = {walk}: {why}"));
    // Only the first of them, where the others have no queue to do it.
    let first = format!("{limit}\nmanaged = \"first\"\nloss = 0.5");
    let written = accepted(&changed(CHAIN, limit, &first)).resolved();
    assert_eq!(written.matches("loss = \"0.5\"").count(), 1, "{written}");
    let all = accepted(&changed(CHAIN, limit, &format!("{limit}\nloss = 0.5"))).resolved();
    assert_eq!(all.matches("loss = \"0.5\"").count(), 2, "{all}");
}
