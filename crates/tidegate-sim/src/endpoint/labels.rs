//! What queues see of each flow's packets: its key and class, or a key that it forges.
use tidegate::Seed;

use crate::event::prefetch::fetch;
use crate::net::flight::{Body, Label};
use crate::net::forge::Forger;
use crate::net::network::{FlowId, Network};

/// The labels of all flows.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    own: Vec<Own>,
    forgers: Vec<Forger>,
}

/// A flow's own label, and the number of its forger from 1; 0 for none.
#[derive(Clone, Copy, Debug)]
struct Own {
    flow: u64,
    forger: u32,
    class: u16,
}

impl Labels {
    /// Those of `network`'s flows; forgers have dice of their own.
    pub fn new<Q>(network: &Network<Q>, seed: Seed) -> Labels {
        let mut labels = Labels { own: Vec::with_capacity(network.flows.len()), forgers: vec![] };
        for (i, flow) in network.flows.iter().enumerate() {
            let mut own = Own { flow: flow.key, forger: 0, class: flow.class };
            if let Some(forge) = network.forged.get(&FlowId(i as u32)) {
                let secret = seed.stream(&format!("forge {i}")).bits();
                labels.forgers.push(Forger::new(forge, secret));
                own.forger = labels.forgers.len() as u32;
            }
            labels.own.push(own);
        }
        labels
    }

    /// What queues see of the packet `body` of `flow`.
    #[inline]
    pub fn of(&self, flow: u32, body: &Body) -> Label {
        let Own { flow, forger, class } = self.own[flow as usize];
        let flow = if forger == 0 { flow } else { self.forgers[forger as usize - 1].key(body) };
        Label { flow, class }
    }

    /// A packet of `flow` will join a queue.
    #[inline]
    pub fn fetch(&self, flow: u32) {
        fetch(self.own.get(flow as usize));
    }
}
