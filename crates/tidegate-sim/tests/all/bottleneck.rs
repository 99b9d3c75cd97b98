//! The library's bottleneck against the simulator's links: the same packets are delivered and
//! dropped at the same nanoseconds, over one link and over two in a row.
use std::collections::BTreeSet;

use tidegate::bottleneck::{Capacity, Outcome, Steps, Trace};
use tidegate::catalog::{self, AnyQueue};
use tidegate::rng::mix;
use tidegate::{Bottleneck, Bytes, Ecn, Link, Packet, Prob, Rate, Rng, Seed, Size, Span, Time};
use tidegate_sim::sources::{Arrival, Replay};
use tidegate_sim::{Flow, Loss, Medium, Network, Plan, Simulation, Source, simulate_by_packet};

const FLOWS: u32 = 5;
const END: u64 = 2_000_000_000;

/// Links in a row, each with a queue, and what is offered to the first.
struct Case {
    links: Vec<(Link, Span, &'static str)>,
    /// By flow: when and how long.
    offers: Vec<Vec<(u64, u16)>>,
    /// What each link carries over time, and the loss behind it.
    capacities: Vec<Option<Capacity>>,
    loss: Option<Prob>,
    seed: u64,
}

/// Rates that change every few milliseconds, with outages, or a trace.
fn capacity(dice: &mut Rng, rate: Rate) -> Capacity {
    let mut at = 0;
    if dice.chance(0.5) {
        let mut line = || {
            at += dice.below(5) as u32;
            at
        };
        let lines: Vec<u32> = (0..30).map(|_| line()).collect();
        return Trace::new(lines.into_iter().chain([200])).unwrap().into();
    }
    let mut steps = vec![];
    for _ in 0..200 {
        let times = pick(dice, &[0, 1, 2, 3]);
        steps.push((Time::from_nanos(at as u64), Rate::from_bps(rate.as_bps() * times / 2)));
        at += pick(dice, &[500_000, 10_000_000, 777_777]) as u32;
    }
    steps.push((Time::from_nanos(at as u64), rate));
    Steps::new(steps).unwrap().into()
}

fn pick(dice: &mut Rng, from: &[u64]) -> u64 {
    from[dice.below(from.len() as u64) as usize]
}

/// As the simulator's record: deliveries as time, flow, number and length; drops as time, link,
/// flow and length; losses behind the queue the same, without a time.
type Seen = [Vec<(u64, u32, u32, u16)>; 3];

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
        let offers = (0..FLOWS).map(flow).collect();
        Case { links, offers, capacities: vec![None; hops as usize], loss: None, seed }
    }

    /// The same over links that change and lose.
    fn unsteady(self) -> Case {
        let mut dice = Rng::from_seed(mix(self.seed + 1));
        let mut of = |(link, ..): &(Link, Span, &str)| Some(capacity(&mut dice, link.rate));
        let capacities = self.links.iter().map(&mut of).collect();
        Case { capacities, loss: Some(Prob::clip(0.05)), ..self }
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
            let id = network.queue(name, ends, link.rate, delay, self.queue(hop));
            let mut medium = Medium::default();
            medium.capacity.clone_from(&self.capacities[hop]);
            medium.loss = self.loss.map(Loss::Random);
            network.medium(id, medium);
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
        let (mut dropped, mut lost, mut marked) = (vec![], vec![], BTreeSet::new());
        for hop in 0..self.links.len() {
            offers = self.over(hop, &offers, [&mut dropped, &mut lost], &mut marked);
        }
        let mut seen = [offers, dropped, lost];
        seen.iter_mut().for_each(|list| list.sort_unstable());
        seen
    }

    /// What comes out of link `hop`. A mark stays, and the next queue may go by it.
    fn over(
        &self,
        hop: usize,
        offers: &[(u64, u32, u32, u16)],
        [dropped, lost]: [&mut Vec<(u64, u32, u32, u16)>; 2],
        marked: &mut BTreeSet<(u32, u32)>,
    ) -> Vec<(u64, u32, u32, u16)> {
        let (link, delay, _) = self.links[hop];
        let capacity = self.capacities[hop].clone().unwrap_or(link.rate.into());
        let mut bottleneck = Bottleneck::new(capacity, delay, self.queue(hop)).unwrap();
        if let Some(loss) = self.loss {
            let dice = Seed::new(self.seed).stream(&format!("link {} loss", 2 * hop));
            bottleneck = bottleneck.with_loss(loss, dice);
        }
        for &(at, flow, number, len) in offers {
            let ecn = if marked.contains(&(flow, number)) { Ecn::Ce } else { Case::ecn(flow) };
            let packet = Packet::new(mix(flow as u64), len as u32).with_ecn(ecn);
            bottleneck.offer(Time::from_nanos(at), packet, (flow, number));
        }
        let mut out = vec![];
        while let Some(fate) = bottleneck.poll_fate(Time::from_nanos(END - 1)) {
            let ((flow, number), at) = (fate.payload, fate.at.as_nanos());
            if fate.packet.ecn == Ecn::Ce {
                marked.insert((flow, number));
            }
            match fate.outcome {
                Outcome::Delivered => out.push((at, flow, number, fate.packet.len as u16)),
                Outcome::Dropped(_) => {
                    dropped.push((at, 2 * hop as u32, flow, fate.packet.len as u16))
                }
                Outcome::Lost => lost.push((0, 2 * hop as u32, flow, fate.packet.len as u16)),
                other => panic!("{other:?}"),
            }
        }
        out
    }
}

fn agree(case: &Case) -> [usize; 3] {
    let (seed, queue, hops) = (case.seed, case.links[0].2, case.links.len());
    let plan = Plan::until(Time::from_nanos(END));
    let seen = case.by_bottlenecks();
    let run = Simulation::new(case.network(), plan.clone(), Seed::new(seed)).unwrap();
    let (_, fast) = run.finish_traced();
    let (_, plain) = simulate_by_packet(case.network(), &plan, Seed::new(seed)).unwrap();
    for trace in [fast, plain] {
        let mut lists = [trace.delivered, trace.dropped, trace.lost];
        lists.iter_mut().for_each(|list| list.sort_unstable());
        // The one says when it would have come, the other when it had left. Those that would have
        // come after the end are not polled.
        let [delivered, dropped, lost] = &lists;
        assert_eq!(delivered, &seen[0], "{queue}, {hops} links, seed {seed}");
        assert_eq!(dropped, &seen[1], "{queue}, {hops} links, seed {seed}");
        let mut timeless: Vec<_> = lost
            .iter()
            .filter(|(at, link, ..)| at + case.links[*link as usize / 2].1.as_nanos() < END)
            .map(|&(_, link, flow, len)| (0, link, flow, len))
            .collect();
        timeless.sort_unstable();
        assert_eq!(timeless, seen[2], "{queue}, {hops} links, seed {seed}");
    }
    [0, 1, 2].map(|list| seen[list].len())
}

#[test]
fn a_bottleneck_is_the_simulators_link() {
    let (mut delivered, mut dropped) = (0, 0);
    for row in catalog::QUEUES {
        for seed in 0..8 {
            let [through, refused, _] = agree(&Case::draw(seed, row.name, 1 + seed % 2));
            delivered += through;
            dropped += refused;
        }
    }
    assert!(delivered > 50_000 && dropped > 10_000, "{delivered} delivered, {dropped} dropped");
}

/// Rates that change, traces, and the same dice for losses.
#[test]
fn it_is_where_capacity_changes_and_packets_are_lost() {
    let mut sums = [0; 3];
    for row in catalog::QUEUES {
        for seed in 100..108 {
            let case = Case::draw(seed, row.name, 1 + seed % 2).unsteady();
            sums.iter_mut().zip(agree(&case)).for_each(|(sum, count)| *sum += count);
        }
    }
    let [delivered, dropped, lost] = sums;
    assert!(delivered > 30_000 && dropped > 10_000 && lost > 1_500, "{sums:?}");
}
