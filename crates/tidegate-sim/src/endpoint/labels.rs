//! What queues see of each flow's packets: its key and class, or a key that it forges; and its
//! hosts and code point where a queue asks for them.
use std::collections::BTreeMap;

use tidegate::{Asks, Hosts, Seed};

use crate::event::prefetch::fetch;
use crate::net::flight::{Body, Label};
use crate::net::forge::Forger;
use crate::net::ids::FlowId;
use crate::net::network::Network;

/// The labels of all flows.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    own: Vec<OwnLabel>,
    forgers: Vec<Forger>,
    /// The source hosts of flows by their keys, where somebody forges and a queue asks.
    sources: BTreeMap<u64, u16>,
    /// What queues may ask for, by flow; empty if none does.
    asked: Vec<LabelRequest>,
}

/// A flow's hosts, in the direction of its data, its code point, and whether its
/// acknowledgements are looked at.
#[derive(Clone, Copy, Debug)]
struct LabelRequest {
    hosts: Hosts,
    dscp: u8,
    acks: bool,
}

impl LabelRequest {
    /// The same for packet `body`, which may go the other way, or claim to come from another host.
    fn label(self, body: &Body, claimed: Option<u16>, label: Label) -> Label {
        let Hosts { source, destination } = self.hosts;
        let source = claimed.unwrap_or(source);
        let there = Hosts::new(source, destination);
        let hosts = if body.is_data() { there } else { Hosts::new(destination, source) };
        let acknowledges = self.acks && !body.is_data();
        Label { hosts: Some(hosts), dscp: self.dscp, acknowledges, ..label }
    }
}

/// A flow's own label, and the number of its forger from 1; 0 for none.
#[derive(Clone, Copy, Debug)]
struct OwnLabel {
    flow: u64,
    forger: u32,
    class: u16,
}

impl Labels {
    /// Those of `network`'s flows; forgers have dice of their own.
    pub fn new<Q>(network: &Network<Q>, seed: Seed) -> Labels {
        let own = Vec::with_capacity(network.flows.len());
        let mut labels = Labels { own, forgers: vec![], sources: BTreeMap::new(), asked: vec![] };
        for (i, flow) in network.flows.iter().enumerate() {
            let mut own = OwnLabel { flow: flow.key, forger: 0, class: flow.class };
            if let Some(forge) = network.forged.get(&FlowId(i as u32)) {
                let secret = seed.stream(&format!("forge {i}")).bits();
                labels.forgers.push(Forger::new(forge, secret));
                own.forger = labels.forgers.len() as u32;
            }
            labels.own.push(own);
            if network.asks != Asks::default() {
                // Numbers of nodes: hosts by hash would meet.
                let hosts = Hosts::new(flow.from.0 as u16, flow.to.0 as u16);
                let dscp = network.dscp.get(&FlowId(i as u32)).copied().unwrap_or(0);
                let acks = network.asks.acks && flow.source.tcp().is_some();
                labels.asked.push(LabelRequest { hosts, dscp, acks });
                if !network.forged.is_empty() {
                    labels.sources.insert(flow.key, hosts.source);
                }
            }
        }
        labels
    }

    /// The host of the flow `key`: its own if there is such a flow, or else a made-up one.
    fn source(&self, key: u64) -> u16 {
        self.sources.get(&key).copied().unwrap_or(key as u16)
    }

    /// What queues see of the packet `body` of flow `number`.
    #[inline]
    pub fn of(&self, number: u32, body: &Body) -> Label {
        let OwnLabel { flow, forger, class } = self.own[number as usize];
        let forger = (forger > 0).then(|| &self.forgers[forger as usize - 1]);
        let forged = forger.map(|forger| forger.key(body));
        let flow = forged.unwrap_or(flow);
        let label = Label { flow, class, hosts: None, dscp: 0, acknowledges: false };
        match self.asked.get(number as usize) {
            Some(asked) => {
                let feigned = forged.filter(|_| forger.is_some_and(Forger::feigns_hosts));
                asked.label(body, feigned.map(|key| self.source(key)), label)
            }
            None => label,
        }
    }

    /// A packet of `flow` will join a queue.
    #[inline]
    pub fn fetch(&self, flow: u32) {
        fetch(self.own.get(flow as usize));
    }
}
