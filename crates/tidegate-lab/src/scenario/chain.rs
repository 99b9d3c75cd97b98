//! Short forms of a network: routers in a chain with a managed link from each to the next, and
//! nodes at its two ends. They are written out as the links of a graph when they are read, and are
//! a graph from then on.
use tidegate::{Link, choices, params};

use super::medium::Ways;
use super::model::*;
use super::ways::way_keys;
use crate::reader::{Reader, Table};

choices! {
    /// Which links of a chain have a queue.
    pub enum Managed {
        /// Each link from a router to the next.
        All = "all",
        /// The first alone; the others never drop.
        First = "first",
    }
}

params! {
    /// `[network] kind = "chain"` or `"parking_lot"`, besides what its links have.
    pub struct Chain {
        /// In a `parking_lot`: number of links from router to router; the routers are `r0`, `r1`
        /// and so on.
        hops: u32 = 2, "", 1 ..= 500;
        /// Which links from router to router have a queue.
        managed: Managed = Managed::All, "", 0 ..= 0;
        /// The hop, from 1, whose queue and figures are reported.
        watch: u32 = 1, "", 1 ..= 500;
    }
}

/// Where flows come from and go to when their group does not say.
pub(super) type DefaultEnds = [Vec<String>; 2];

impl Reader<'_> {
    /// The network in `table`, of kind `kind`, which is `chain` or `parking_lot`.
    pub(super) fn chain(&mut self, table: &Table<'_>, kind: &str) -> (Network, DefaultEnds) {
        let which = if kind == "chain" { "routers" } else { "hops" };
        let shared = ["kind", "rate", "delay", "limit", "mean_packet", "managed", "watch"];
        let nodes = ["left", "right", "access_rate", "access_delay", which];
        let ways = way_keys();
        self.only(table, &format!("a {kind}'s [network]"), &[&shared[..], &nodes, &ways].concat());
        let (mut line, mut chain) = (Dumbbell::default(), Chain::default());
        self.params_of(table, &mut line, |name| {
            matches!(name, "rate" | "delay" | "limit" | "mean_packet")
        });
        self.params_of(table, &mut chain, |_| true);
        for key in ["rate", "limit"].into_iter().filter(|key| table.get(key).is_none()) {
            self.missing(table, key, "this key is required");
        }
        let routers = match kind {
            "chain" => self.nodes(table, "routers"),
            _ => (0..=chain.hops).map(|i| format!("r{i}")).collect(),
        };
        let [left, right] = ["left", "right"].map(|key| self.nodes(table, key));
        self.sound(table, &line, &chain, &routers, [&left, &right]);
        let spokes = Spokes {
            rates: self.values(table, "access_rate", Dumbbell::default(), |d| d.access_rate),
            delays: self.values(table, "access_delay", Dumbbell::default(), |d| d.access_delay),
        };
        let ways = self.ways(table, (line.rate, line.delay), true);
        let mut links: Vec<GraphLink> = routers
            .windows(2)
            .zip(1..)
            .map(|(ends, hop)| hop_of(ends, hop, &line, &chain, &ways))
            .collect();
        if let [first, .., last] = routers.as_slice() {
            links.extend(left.iter().enumerate().map(|(i, node)| spokes.link(i, node, first)));
            links.extend(right.iter().enumerate().map(|(i, node)| spokes.link(i, last, node)));
        }
        let end = |nodes: Vec<String>, router: Option<&String>| {
            if nodes.is_empty() { router.cloned().into_iter().collect() } else { nodes }
        };
        let ends = [end(left, routers.first()), end(right, routers.last())];
        (Network::Graph(Graph { mean_packet: line.mean_packet, links }), ends)
    }

    /// What the values of a chain must be to each other.
    fn sound(
        &mut self,
        table: &Table<'_>,
        line: &Dumbbell,
        chain: &Chain,
        routers: &[String],
        sides: [&[String]; 2],
    ) {
        if routers.len() < 2 {
            let why = "this key is required: the routers' names in order, two at least, as in \
                 [\"A\", \"B\", \"C\"]";
            self.refuse_key(table, "routers", why);
            return;
        }
        let hops = routers.len() - 1;
        if chain.watch as usize > hops {
            self.refuse_key(
                table,
                "watch",
                format!("there are {hops} links from router to router"),
            );
        } else if chain.managed == Managed::First && chain.watch > 1 {
            self.refuse_key(
                table,
                "watch",
                "only the first link has a queue (managed = \"first\")",
            );
        }
        if let Err(error) = Link::new(line.rate, line.limit, line.mean_packet) {
            self.refuse_key(table, &error.field, error.why);
        }
        let names: Vec<(&str, &String)> =
            [("routers", routers), ("left", sides[0]), ("right", sides[1])]
                .into_iter()
                .flat_map(|(key, names)| names.iter().map(move |name| (key, name)))
                .collect();
        let twice = |&(i, (_, name)): &(usize, &(&str, &String))| {
            names[..i].iter().any(|(_, other)| other == name)
        };
        if let Some((_, (key, name))) = names.iter().enumerate().find(twice) {
            self.refuse_key(table, key, format!("there is another node `{name}`"));
        }
        for key in ["access_rate", "access_delay"] {
            if table.get(key).is_some() && sides.iter().all(|side| side.is_empty()) {
                self.refuse_key(
                    table,
                    key,
                    "is for the links of left and right, of which there are none",
                );
            }
        }
    }
}

/// The link number `hop`, from 1, from a router to the next.
fn hop_of(ends: &[String], hop: u32, line: &Dumbbell, chain: &Chain, ways: &Ways) -> GraphLink {
    let limit = (chain.managed == Managed::All || hop == 1).then_some(line.limit);
    GraphLink {
        from: ends[0].clone(),
        to: ends[1].clone(),
        rate: line.rate,
        delay: line.delay,
        limit,
        queue: None,
        watch: hop == chain.watch,
        ways: if limit.is_some() { ways.clone() } else { Ways::default() },
    }
}

/// The links at the chain's ends; their values are dealt out in turn on each side.
struct Spokes {
    rates: Vec<tidegate::Rate>,
    delays: Vec<tidegate::Span>,
}

impl Spokes {
    /// The link number `i` of its side.
    fn link(&self, i: usize, from: &str, to: &str) -> GraphLink {
        let usual = Dumbbell::default();
        let rate =
            self.rates.get(i % self.rates.len().max(1)).copied().unwrap_or(usual.access_rate);
        let delay =
            self.delays.get(i % self.delays.len().max(1)).copied().unwrap_or(usual.access_delay);
        GraphLink {
            from: from.into(),
            to: to.into(),
            rate,
            delay,
            limit: None,
            queue: None,
            watch: false,
            ways: Ways::default(),
        }
    }
}
