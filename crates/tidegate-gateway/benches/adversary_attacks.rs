//! The attackers of validation/scenarios/attacks.toml against every queue as the gate drives it:
//! its own hash of five-tuples, new keys, marks that nobody heeds. Users, flood and line are the
//! simulator's, as the scenario has them.
//!
//! `make validate-attacks` reads it. A line for each run: queue, preset, sources of the flood,
//! whether they claim to speak ECN, the run's number, and each user's goodput in bit/s. Always the
//! same, whatever the machine.
#![allow(clippy::disallowed_macros, reason = "a benchmark prints")]

#[path = "../tests/support/adversary.rs"]
mod adversary;
#[path = "../tests/support/gated.rs"]
mod gated;

use adversary::{Target, any_flow, secret, user};
use gated::Gated;
use tidegate::catalog::QUEUES;
use tidegate::{Bytes, Ecn, Prob, Rate, Rng, Seed, Span, Time};
use tidegate_packet::{FlowHasher, FlowKey};
use tidegate_sim::sources::tcp::EcnUse;
use tidegate_sim::{Cbr, Delays, Flow, GroupId, Network, NodeId, Plan, Source, Tcp, simulate};

/// As in validation/scenarios/attacks.toml.
const USERS: u16 = 8;
const PACKET: Bytes = Bytes::new(1000);
const FLOOD: u64 = 20_000_000;
/// When the flood begins, from when on is counted, and the end, in seconds.
const BEGINS: u64 = 10;
const COUNTS: u64 = 15;
const ENDS: u64 = 45;
/// Sources of the flood, and whether they claim to speak ECN.
const ATTACKS: [(u64, Ecn); 5] =
    [(1, Ecn::NotEct), (4, Ecn::NotEct), (16, Ecn::NotEct), (64, Ecn::NotEct), (16, Ecn::Ect0)];
/// Presets besides `auto`.
const MORE: [(&str, &str); 3] = [("sfb", "paper"), ("sfb", "moving"), ("sfb", "double")];

fn main() {
    let runs: u64 = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(5);
    let queues = QUEUES.iter().map(|row| (row.name, "auto")).chain(MORE);
    for (name, preset) in queues {
        let target = Target::new(name, preset, &[], 1.0);
        for (sources, ecn) in ATTACKS {
            for run in 1..=runs {
                let got: Vec<String> =
                    goodputs(&target, sources, ecn, run).iter().map(f64::to_string).collect();
                println!(
                    "{name},{preset},{sources},{},{run},{}",
                    u8::from(ecn.is_capable()),
                    got.join(",")
                );
            }
        }
    }
}

/// The network of a run: routers to the left and right of the line, users, and a flood.
struct Lan {
    network: Network<Gated>,
    routers: [NodeId; 2],
    hasher: FlowHasher,
    dice: Rng,
}

impl Lan {
    fn new(target: &Target, run: u64) -> Lan {
        let mut dice = Rng::from_seed(run);
        let secret = secret(&mut dice);
        let hasher = FlowHasher::new(FlowKey::FiveTuple, secret.hash);
        let queue = Gated::new(target.queue(secret), target.rehash, secret.seed);
        let mut network = Network::new();
        let (left, right) = (network.node("left"), network.node("right"));
        network.queue("line", (left, right), target.link.rate, Span::from_millis(10), queue);
        network.link("back", right, left, target.link.rate, Span::from_millis(10));
        network.ask(target.config.asks());
        Lan { network, routers: [left, right], hasher, dice }
    }

    fn add_users(&mut self, ecn: Ecn) {
        let group = self.network.group("users");
        let ecn = if ecn.is_capable() { EcnUse::On } else { EcnUse::Off };
        for number in 0..USERS {
            let key = self.hasher.hash(&user(number));
            let start = Time::ZERO + Span::from_micros(self.dice.below(1_000_000));
            let source = Source::Tcp(Tcp { segment: PACKET, ecn, ..Tcp::cubic() });
            self.add_flow(group, key, start, source);
        }
    }

    fn add_flood(&mut self, sources: u64, ecn: Ecn) {
        let group = self.network.group("flood");
        let rate = Rate::from_bps(FLOOD / sources);
        for _ in 0..sources {
            let begins = BEGINS * 1_000_000 + self.dice.below(100_000);
            let start = Time::ZERO + Span::from_micros(begins);
            let flood = Cbr::new(rate, PACKET).with_jitter(Prob::clip(0.5));
            let key = self.hasher.hash(&any_flow(&mut self.dice));
            self.add_flow(group, key, start, Source::Cbr(Cbr { ecn, ..flood }));
        }
    }

    /// A flow between hosts of its own.
    fn add_flow(&mut self, group: GroupId, key: u64, start: Time, source: Source) {
        let [from, to] = self.routers.map(|router| self.host(router));
        let stop = Time::MAX;
        self.network.flow(Flow { group, from, to, key, class: 0, start, stop, source });
    }

    /// A host with a line of its own to the router `at`.
    fn host(&mut self, at: NodeId) -> NodeId {
        let host = self.network.node("");
        self.network.duplex(host, at, Rate::from_bps(1_000_000_000), Span::from_millis(5));
        host
    }
}

/// What each user gets.
fn goodputs(target: &Target, sources: u64, ecn: Ecn, run: u64) -> Vec<f64> {
    let mut lan = Lan::new(target, run);
    lan.add_users(ecn);
    lan.add_flood(sources, ecn);
    let at = |seconds: u64| Time::ZERO + Span::from_millis(1000 * seconds);
    let plan = Plan { warmup: at(COUNTS), delays: Delays::Off, ..Plan::until(at(ENDS)) };
    let outcome = simulate(lan.network, &plan, Seed::new(run)).unwrap();
    outcome.flows[..USERS as usize]
        .iter()
        .map(|flow| flow.counters.goodput(plan.window()))
        .collect()
}
