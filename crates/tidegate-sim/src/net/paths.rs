//! The shortest ways through a network.
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::network::Network;

/// Finds shortest ways, and remembers the trees of those found so far.
pub(super) struct Finder {
    /// The links out of each node, in the order of links.
    pub(super) out: Vec<Vec<u32>>,
    /// Where each link ends, and its delay.
    pub(super) ends: Vec<(u32, u32, u64)>,
    pub(super) trees: BTreeMap<u32, Vec<u32>>,
}

pub(super) const NONE: u32 = u32::MAX;
/// The hops and the delay of a way to a node that no way has reached yet.
const UNREACHED: (u64, u64) = (u64::MAX, u64::MAX);

impl Finder {
    pub(super) fn new<Q>(network: &Network<Q>) -> Finder {
        let mut out = vec![Vec::new(); network.nodes.len()];
        for (i, link) in network.links.iter().enumerate() {
            out[link.from.index()].push(i as u32);
        }
        let ends = network.links.iter().map(|l| (l.from.0, l.to.0, l.delay.as_nanos())).collect();
        Finder { out, ends, trees: BTreeMap::new() }
    }

    /// The links from `from` to `to`.
    pub(super) fn way(&mut self, from: u32, to: u32) -> Option<Vec<u32>> {
        let mut way = Vec::new();
        let mut root = from;
        // A node with one link out, such as a host, has no choice to make; so one tree serves all
        // hosts of a node.
        if let [only] = self.out[from as usize][..] {
            way.push(only);
            root = self.ends[only as usize].1;
            if root == to {
                return Some(way);
            }
        }
        let first = way.len();
        let (out, ends) = (&self.out, &self.ends);
        let tree = self.trees.entry(root).or_insert_with(|| tree(out, ends, root));
        let mut at = to;
        while at != root {
            let link = tree[at as usize];
            if link == NONE {
                return None;
            }
            way.push(link);
            at = self.ends[link as usize].0;
        }
        way[first..].reverse();
        Some(way)
    }
}

/// The last link of the shortest way from `root` to each node: fewest hops, least delay, first
/// declared.
pub(super) fn tree(out: &[Vec<u32>], ends: &[(u32, u32, u64)], root: u32) -> Vec<u32> {
    let mut via = vec![NONE; out.len()];
    let mut cost = vec![UNREACHED; out.len()];
    let mut queue = BinaryHeap::new();
    cost[root as usize] = (0, 0);
    queue.push(Reverse(((0, 0), root)));
    while let Some(Reverse((here, node))) = queue.pop() {
        if here > cost[node as usize] {
            continue;
        }
        for &link in &out[node as usize] {
            let (_, to, delay) = ends[link as usize];
            let there = (here.0 + 1, here.1 + delay);
            if (there, link) < (cost[to as usize], via[to as usize]) && to != root {
                if there < cost[to as usize] {
                    queue.push(Reverse((there, to)));
                }
                cost[to as usize] = there;
                via[to as usize] = link;
            }
        }
    }
    via
}
