//! Floods that forge their flows: what queues make of them, and who is charged.
use crate::jobs::{document, scenario};
use tidegate_report::Document;

/// Eight users and sixteen floods of twice the line together, behind `queue`; `floods` and `sets`
/// say how the floods forge.
fn figures(queue: &str, floods: &str, key: &str) -> Document {
    let text = format!(
        "[run]\nduration = \"22 s\"\nwarmup = \"2 s\"\nseeds = 3\nflow_key = \"{key}\"\n\
         [network]\nrate = \"10 Mbit/s\"\nlimit = \"125 packets\"\n\
         [[group]]\nname = \"users\"\nsource = \"sack\"\ncount = 8\nstart = \"0 s\"\n\
         [[group]]\nname = \"floods\"\nsource = \"cbr\"\nrate = \"1250 kbit/s\"\ncount = 16\n{floods}"
    );
    document(scenario(&text), queue)
}

/// What part of the line users get through.
fn users(document: &Document) -> f64 {
    document.groups[0].goodput_bps.unwrap().mean() / 1e7
}

#[test]
fn a_queue_that_knows_no_flows_sees_no_difference() {
    let honest = figures("drop_tail", "", "five-tuple");
    for forge in ["forge = \"random\"", "forge = 20\nnew_key = \"300 ms\"", "forge = \"victims\""] {
        let forged = figures("drop_tail", &format!("{forge}\n"), "five-tuple");
        assert_eq!(forged.groups, honest.groups, "{forge}");
    }
}

/// Meters count a forged packet to its sender, who gets no user's figures.
#[test]
fn who_forges_is_charged() {
    let forged = figures("fq_codel/auto", "forge = \"victims\"\n", "five-tuple");
    let sent = forged.groups[1].throughput_bps.unwrap().mean() + 1e7 * users(&forged);
    assert!((sent / 1e7 - 1.0).abs() < 0.05, "{sent}");
}

/// A flow of their own for 24 senders gives users a third of the line. Fresh flows with each packet
/// always find room as new ones. In users' own queues, floods fill them.
#[test]
fn fair_queueing_protects_from_honest_floods_only() {
    let of = |floods: &str| users(&figures("fq_codel/auto", floods, "five-tuple"));
    let (honest, random, victims) =
        (of(""), of("forge = \"random\"\n"), of("forge = \"victims\"\n"));
    assert!((0.25..0.36).contains(&honest), "{honest}");
    assert!(random < 0.6 * honest && victims < 0.2 * honest, "{honest} {random} {victims}");
}

/// Where a flow is a destination, forged sources change nothing.
#[test]
fn forged_sources_are_none_where_only_destinations_count() {
    let honest = figures("drr/auto", "", "destination");
    let forged = figures("drr/auto", "forge = \"random\"\n", "destination");
    assert_eq!(forged.groups, honest.groups);
    let one = figures("drr/auto", "forge = \"random\"\n", "source-prefix/0");
    assert_eq!(one.groups, figures("drr/auto", "", "source-prefix/0").groups);
}

/// Packets that are a new connection each find room as new flows, also where hosts divide what
/// backlogged flows get. Where a flow is a host, they are their host's.
#[test]
fn new_connections_are_their_hosts() {
    let of = |queue: &str, floods: &str, key: &str| figures(queue, floods, key);
    let ports = "forge = \"ports\"\n";
    let (honest, forged) =
        (of("fq_codel/auto", "", "five-tuple"), of("fq_codel/auto", ports, "five-tuple"));
    assert!(users(&forged) < 0.6 * users(&honest), "{} {}", users(&honest), users(&forged));
    let dual = users(&of("fq_codel/auto,isolation=dual-srchost", ports, "five-tuple"));
    assert!(dual < 0.6 * users(&honest), "{dual}");
    for queue in ["fq_codel", "drr", "tide", "cake"] {
        let by_host = format!("{queue}/auto,isolation=srchost");
        let kept = users(&of(&by_host, ports, "five-tuple"));
        assert!((0.25..0.40).contains(&kept), "{queue}: a third: {kept}");
        // Forged addresses seem to be other hosts. Tide has no room for their many flows either.
        let forged = users(&of(&by_host, "forge = \"random\"\n", "five-tuple"));
        assert!(queue == "tide" || forged < 0.6 * kept, "{queue}: {forged}");
    }
    for key in ["source", "pair", "source-prefix/24", "destination"] {
        assert_eq!(of("drr/auto", ports, key).groups, of("drr/auto", "", key).groups, "{key}");
    }
}

/// Who bears users' addresses is taken for their hosts: where a flow is a source host, shares are
/// those of flows by source.
#[test]
fn victims_addresses_are_their_hosts() {
    let victims = "forge = \"victims\"\n";
    for queue in ["drr", "fq_codel"] {
        let by_host =
            users(&figures(&format!("{queue}/auto,isolation=srchost"), victims, "five-tuple"));
        let by_source = users(&figures(&format!("{queue}/auto"), victims, "source"));
        assert!((by_host - by_source).abs() < 0.02, "{queue}: {by_host} {by_source}");
    }
}

/// With the queue's secret the floods sit in users' places; without, they sit there by chance. Of
/// sets of eight places, sixteen floods fill none, so that the secret is worth nothing.
#[test]
fn collisions_harm_where_places_are_hashed() {
    let of = |queue, forge: &str| {
        let floods = format!("forge = {forge}\nnew_key = \"1000 s\"\n");
        users(&figures(queue, &floods, "five-tuple"))
    };
    for (queue, most) in [("fq_codel/paper", 0.5), ("drr/auto,ways=1", 0.5), ("sfq/auto", 0.75)] {
        let (chance, known) = (of(queue, "1024"), of(queue, "\"colliding\""));
        assert!(known < most * chance, "{queue}: {chance} by chance, {known} with the secret");
    }
    for queue in ["fq_codel/auto", "drr/auto"] {
        let (chance, known) = (of(queue, "1024"), of(queue, "\"colliding\""));
        assert!((known / chance - 1.0).abs() < 0.03, "{queue}: {chance}, {known}");
    }
    // There is nothing to know.
    assert_eq!(of("drop_tail", "\"colliding\""), of("drop_tail", "\"random\""));
}
