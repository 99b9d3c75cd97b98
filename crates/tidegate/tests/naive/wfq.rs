//! WF2Q+ and SCFQ with a buffer for each class, read straight from their papers: bennett1997 and
//! golestani1994; static buffers from §V of the EWFQ paper.
//!
//! Tags in bytes per unit of weight. Everything is searched, nothing is sorted. Tags that differ by
//! rounding only are equal: weights and lengths in the tests are such that true differences are far
//! larger.
use std::collections::VecDeque;

use super::hosts::{Divided, Hosts};

/// Below this two tags are the same.
pub const SAME: f64 = 1e-6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Wf2qPlus,
    Scfq,
}

#[derive(Clone, Debug)]
#[allow(dead_code, reason = "EWFQ's test takes the order only: its classes share one buffer")]
pub struct Class {
    pub weight: f64,
    /// B_i, bytes or packets.
    pub buffer: f64,
    /// Ids and lengths.
    pub packets: VecDeque<(u32, f64)>,
    /// S_i and F_i of the head packet; of the last one sent while there is none.
    pub start: f64,
    pub finish: f64,
    /// Whose it is.
    pub hosts: Hosts,
}

#[derive(Clone, Debug)]
pub struct NaiveWfq {
    pub order: Order,
    pub classes: Vec<Class>,
    /// How many times the free room a class may hold, and the room for all; choudhury1998 eq. (1).
    pub dynamic: (f64, f64),
    /// Which hosts divide a share.
    pub divided: Divided,
    pub v: f64,
    /// What was sent since V was last brought up to date.
    pub sent: f64,
}

impl NaiveWfq {
    /// Classes with these weights and buffers.
    pub fn new(order: Order, classes: &[(f64, f64)]) -> NaiveWfq {
        let class = |&(weight, buffer)| Class {
            weight,
            buffer,
            packets: VecDeque::new(),
            start: 0.0,
            finish: 0.0,
            hosts: (0, 0),
        };
        NaiveWfq {
            order,
            classes: classes.iter().map(class).collect(),
            dynamic: (0.0, 0.0),
            divided: Divided::default(),
            v: 0.0,
            sent: 0.0,
        }
    }

    #[allow(dead_code, reason = "see above")]
    pub fn bytes(&self, class: usize) -> f64 {
        self.classes[class].packets.iter().map(|p| p.1).sum()
    }

    #[allow(dead_code, reason = "see above")]
    /// §V of the EWFQ paper: the class's own buffer decides, in bytes here. Where the room is
    /// shared it is so many times what is free of it before the packet comes.
    pub fn has_room(&self, class: usize, len: f64) -> bool {
        let (alpha, most) = self.dynamic;
        let free = most - (0..self.classes.len()).map(|class| self.bytes(class)).sum::<f64>();
        self.bytes(class) + len <= self.classes[class].buffer.max((alpha * free).floor())
    }

    /// The part of the link of a class with packets, in proportion: its weight over the number of
    /// its host's classes with packets.
    fn part(&self, class: usize) -> f64 {
        let busy = self.classes.iter().filter(|class| !class.packets.is_empty());
        let busy: Vec<Hosts> = busy.map(|class| class.hosts).collect();
        let Class { weight, hosts, .. } = self.classes[class];
        weight / self.divided.load(hosts, &busy) as f64
    }

    /// A packet joins its class. One that comes to an empty class starts at V, or where the class's
    /// last one finished if that is later.
    pub fn push(&mut self, class: usize, hosts: Hosts, id: u32, len: f64) {
        self.classes[class].packets.push_back((id, len));
        if self.classes[class].packets.len() == 1 {
            self.classes[class].hosts = hosts;
            let part = self.part(class);
            let class = &mut self.classes[class];
            class.start = class.finish.max(self.v);
            class.finish = class.start + len / part;
        }
    }

    /// The packet to send: its class and id.
    pub fn pop(&mut self) -> Option<(usize, u32)> {
        let backlogged: Vec<usize> =
            (0..self.classes.len()).filter(|&i| !self.classes[i].packets.is_empty()).collect();
        if backlogged.is_empty() {
            // The system is idle: a new busy period begins at nought.
            (self.v, self.sent) = (0.0, 0.0);
            self.classes.iter_mut().for_each(|class| (class.start, class.finish) = (0.0, 0.0));
            return None;
        }
        let may: Vec<usize> = match self.order {
            Order::Wf2qPlus => {
                // V never falls behind all of those who wait, and only who would have started in
                // the fluid system may be sent.
                let all: f64 = self.classes.iter().map(|class| class.weight).sum();
                let least =
                    backlogged.iter().map(|&i| self.classes[i].start).fold(f64::INFINITY, f64::min);
                self.v = (self.v + self.sent / all).max(least);
                backlogged.into_iter().filter(|&i| self.classes[i].start <= self.v + SAME).collect()
            }
            Order::Scfq => backlogged,
        };
        let first = may.iter().map(|&i| self.classes[i].finish).fold(f64::INFINITY, f64::min);
        let i = *may.iter().find(|&&i| self.classes[i].finish <= first + SAME).unwrap();
        let class = &mut self.classes[i];
        if self.order == Order::Scfq {
            self.v = class.finish; // the tag of the packet in service
        }
        let (id, len) = class.packets.pop_front().unwrap();
        self.sent = len;
        if let Some(&(_, next)) = class.packets.front() {
            let part = self.part(i);
            let class = &mut self.classes[i];
            class.start = class.finish;
            class.finish = class.start + next / part;
        }
        Some((i, id))
    }
}
