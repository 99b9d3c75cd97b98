//! The library's bottleneck against the simulator's links: the same packets are delivered and
//! dropped at the same nanoseconds, over one link and over two in a row.
use tidegate::bottleneck::Outcome;
use tidegate::catalog::{self, AnyQueue};
use tidegate::rng::mix;
use tidegate::{Bottleneck, Bytes, Ecn, Link, Packet, Rate, Rng, Seed, Size, Span, Time};
use tidegate_sim::sources::{Arrival, Replay};
use tidegate_sim::{Flow, Network, Plan, Simulation, Source, simulate_by_packet};

const FLOWS: u32 = 5;
const END: u64 = 2_000_000_000;

/// Links in a row, each with a queue, and what is offered to the first.
struct Case {
    links: Vec<(Link, Span, &'static str)>,
    /// By flow: when and how long.
    offers: Vec<Vec<(u64, u16)>>,
    seed: u64,
}

fn pick(dice: &mut Rng, from: &[u64]) -> u64 {
    from[dice.below(from.len() as u64) as usize]
}

/// As the simulator's record: deliveries as time, flow, number and length; drops as time, link,
/// flow and length.
type Seen = (Vec<(u64, u32, u32, u16)>, Vec<(u64, u32, u32, u16)>);

impl Case {
    fn draw(seed: u64, queue: &'static str, hops: u64) -> Case {
        let mut dice = Rng::from_seed(mix(seed));
        let links = (0..hops)
            .map(|_| {
                let rate = Rate::from_bps(
                    pick(&mut dice, &[1, 2, 8, 8, 10, 45]) * 1_000_000 - pick(&mut dice, &[0, 9]),
                );
                let limit = Size::Packets(pick(&mut dice, &[1, 5, 20, 60]));
                let link = Link::new(rate, limit, Bytes::new(1000)).unwrap();
                (link, Span::from_nanos(pick(&mut dice, &[1, 1_000_000, 20_000_001])), queue)
            })
            .collect();
        let gap = pick(&mut dice, &[200_000, 1_000_000, 8_000_000]);
        let flow = |_| {
            let mut at = 0;
            let mut packet = || {
                // Round times, so that flows meet; of one flow at least a nanosecond apart.
                at += 1 + dice.below(gap / 50_000) * 50_000;
                (at, [1000, 40, 1500][dice.below(3) as usize])
            };
            (0..300).map(|_| packet()).take_while(|&(at, _)| at < END).collect()
        };
        Case { links, offers: (0..FLOWS).map(flow).collect(), seed }
    }

    fn queue(&self, hop: usize) -> AnyQueue {
        let (link, _, name) = self.links[hop];
        let dice = Seed::new(self.seed).stream(&format!("queue {hop}"));
        catalog::config(name, None, &link).unwrap().build(link, dice).unwrap()
    }

    fn ecn(flow: u32) -> Ecn {
        if flow.is_multiple_of(2) { Ecn::Ect0 } else { Ecn::NotEct }
    }

    fn network(&self) -> Network {
        let mut network = Network::new();
        let nodes: Vec<_> = (0..=self.links.len()).map(|n| network.node(format!("{n}"))).collect();
        for (hop, &(link, delay, name)) in self.links.iter().enumerate() {
            let ends = (nodes[hop], nodes[hop + 1]);
            network.queue(name, ends, link.rate, delay, self.queue(hop));
            network.link("back", ends.1, ends.0, link.rate, delay);
        }
        let group = network.group("all");
        for (key, offers) in self.offers.iter().enumerate() {
            let arrival = |&(at, len): &(u64, u16)| Arrival {
                at: Span::from_nanos(at),
                len,
                ecn: Case::ecn(key as u32),
            };
            let arrivals = offers.iter().map(arrival).collect();
            network.flow(Flow {
                group,
                from: nodes[0],
                to: nodes[self.links.len()],
                key: mix(key as u64),
                class: 0,
                start: Time::ZERO,
                stop: Time::MAX,
                source: Source::Replay(Replay { arrivals }),
            });
        }
        network
    }

    fn by_bottlenecks(&self) -> Seen {
        let mut offers: Vec<_> = (0..FLOWS)
            .flat_map(|flow| {
                let packets = self.offers[flow as usize].iter().zip(0..);
                packets.map(move |(&(at, len), number)| (at, flow, number, len))
            })
            .collect();
        offers.sort_unstable();
        let mut dropped = vec![];
        for hop in 0..self.links.len() {
            offers = self.over(hop, &offers, &mut dropped);
        }
        dropped.sort_unstable();
        offers.sort_unstable();
        (offers, dropped)
    }

    /// What comes out of link `hop`.
    fn over(
        &self,
        hop: usize,
        offers: &[(u64, u32, u32, u16)],
        dropped: &mut Vec<(u64, u32, u32, u16)>,
    ) -> Vec<(u64, u32, u32, u16)> {
        let (link, delay, _) = self.links[hop];
        let mut bottleneck = Bottleneck::new(link.rate, delay, self.queue(hop)).unwrap();
        for &(at, flow, number, len) in offers {
            let packet = Packet::new(mix(flow as u64), len as u32).with_ecn(Case::ecn(flow));
            bottleneck.offer(Time::from_nanos(at), packet, (flow, number));
        }
        let mut out = vec![];
        while let Some(fate) = bottleneck.poll_fate(Time::from_nanos(END - 1)) {
            let ((flow, number), at) = (fate.payload, fate.at.as_nanos());
            match fate.outcome {
                Outcome::Delivered => out.push((at, flow, number, fate.packet.len as u16)),
                Outcome::Dropped(_) => {
                    dropped.push((at, 2 * hop as u32, flow, fate.packet.len as u16))
                }
                other => panic!("{other:?} without loss"),
            }
        }
        out
    }
}

fn agree(seed: u64, queue: &'static str, hops: u64) -> (usize, usize) {
    let case = Case::draw(seed, queue, hops);
    let plan = Plan::until(Time::from_nanos(END));
    let seen = case.by_bottlenecks();
    let run = Simulation::new(case.network(), plan.clone(), Seed::new(seed)).unwrap();
    let (_, fast) = run.finish_traced();
    let (_, plain) = simulate_by_packet(case.network(), &plan, Seed::new(seed)).unwrap();
    for trace in [fast, plain] {
        let (mut delivered, mut dropped) = (trace.delivered, trace.dropped);
        delivered.sort_unstable();
        dropped.sort_unstable();
        assert_eq!(delivered, seen.0, "{queue}, {hops} links, seed {seed}");
        assert_eq!(dropped, seen.1, "{queue}, {hops} links, seed {seed}");
    }
    (seen.0.len(), seen.1.len())
}

#[test]
fn a_bottleneck_is_the_simulators_link() {
    let (mut delivered, mut dropped) = (0, 0);
    for row in catalog::QUEUES {
        for seed in 0..8 {
            let (through, lost) = agree(seed, row.name, 1 + seed % 2);
            delivered += through;
            dropped += lost;
        }
    }
    assert!(delivered > 50_000 && dropped > 10_000, "{delivered} delivered, {dropped} dropped");
}
