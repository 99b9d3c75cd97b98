//! What each flow may send of a congested link: max-min fair by what all of them sent, with the
//! weights of their classes.
//!
//! The **fair rate** is what no flow may exceed so that together they just fill the link (Bertsekas
//! and Gallager, Data Networks, §6.5.2). Where classes have [weights](Sharing), each class gets its
//! part first. What a class leaves goes to the others.
use crate::watch::interval::{FlowSent, Interval};

/// How a link is meant to be shared.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Sharing {
    /// Evenly among flows.
    #[default]
    Flows,
    /// Among classes by these weights, and evenly among the flows of each.
    Classes(Vec<f64>),
    /// Among flows, each by the weight of its class.
    Weighted(Vec<f64>),
}

/// The fair rates of an interval, as bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Fair {
    /// By class; infinite where nothing holds the class back. The last holds for those behind it,
    /// too.
    levels: Vec<f64>,
}

impl Fair {
    /// What `sent` might have sent.
    pub fn of(&self, sent: &FlowSent) -> f64 {
        let level = self.levels.get(usize::from(sent.class)).or(self.levels.last());
        level.copied().unwrap_or(f64::INFINITY)
    }

    /// The least of all classes.
    pub fn least(&self) -> f64 {
        self.levels.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// What is fair where `capacity` bytes could be sent; `None` if no more arrived. The flows are
/// sorted, the largest first. What is not told of any flow is taken for that of small ones, which
/// may send all they have.
pub fn fair(of: &Interval, capacity: u64, sharing: &Sharing) -> Option<Fair> {
    if of.arrived <= capacity {
        return None;
    }
    let told: u64 = of.flows.iter().map(|sent| sent.bytes).sum();
    let untold = of.arrived.saturating_sub(told) as f64;
    let least = of.unseen as f64;
    let levels = match sharing {
        Sharing::Flows => {
            let flows = of.flows.iter().map(|sent| (sent.bytes as f64, 1.0)).collect();
            vec![f64::max(level(flows, capacity as f64 - untold), least)]
        }
        Sharing::Weighted(weights) => {
            let weight =
                |sent: &FlowSent| weights.get(usize::from(sent.class)).copied().unwrap_or(1.0);
            let flows = of.flows.iter().map(|sent| (sent.bytes as f64, weight(sent))).collect();
            let level = level(flows, capacity as f64 - untold);
            weights.iter().map(|weight| f64::max(weight * level, least)).collect()
        }
        Sharing::Classes(weights) => by_class(of, capacity as f64, weights),
    };
    Some(Fair { levels })
}

/// The levels of classes: each gets its part of the capacity, which its flows share.
fn by_class(of: &Interval, capacity: f64, weights: &[f64]) -> Vec<f64> {
    let flows = |class: usize| of.flows.iter().filter(move |sent| usize::from(sent.class) == class);
    let told = |class: usize| flows(class).map(|sent| sent.bytes).sum::<u64>();
    let arrived =
        |class: usize| of.classes.get(class).copied().unwrap_or_default().max(told(class)) as f64;
    let classes =
        weights.iter().enumerate().map(|(class, &weight)| (arrived(class), weight)).collect();
    let part = level(classes, capacity);
    let of_class = |(class, weight): (usize, &f64)| {
        let may = weight * part;
        if arrived(class) > may {
            let untold = arrived(class) - told(class) as f64;
            let flows = flows(class).map(|sent| (sent.bytes as f64, 1.0)).collect();
            f64::max(level(flows, may - untold), of.unseen as f64)
        } else {
            f64::INFINITY
        }
    };
    weights.iter().enumerate().map(of_class).collect()
}

/// What none may exceed for each unit of its weight so that all get `capacity` together, of whom
/// each wants so much and has such a weight.
fn level(mut wants: Vec<(f64, f64)>, capacity: f64) -> f64 {
    wants.sort_by(|one, other| (other.0 / other.1).total_cmp(&(one.0 / one.1)));
    let mut below: f64 = wants.iter().map(|(bytes, _)| bytes).sum();
    let (mut weights, mut level) = (0.0, 0.0);
    for (number, (bytes, weight)) in wants.iter().enumerate() {
        weights += weight;
        below -= bytes;
        level = (capacity - below) / weights;
        if wants.get(number + 1).is_none_or(|(next, weight)| level >= next / weight) {
            break;
        }
    }
    level
}
