//! AFD read straight from pan2003 §3: a FIFO, a shadow buffer of sampled packets, and the drop law
//! d = (1 − m_fair / m_i)+.
//!
//! It rolls a copy of the queue's own dice and says with which probability the packet is dropped
//! and what die fell.
use tidegate::Rng;

/// What became of the dice for one arrival.
#[derive(Clone, Copy, Debug)]
pub struct Rolled {
    pub sampled: bool,
    /// Of a packet that finds room.
    pub drop: Option<(f64, f64)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NaiveAfd {
    /// b: how many packets the shadow buffer has room for.
    pub size: usize,
    /// s: one of so many packets is sampled.
    pub sample: f64,
    pub alpha: f64,
    pub beta: f64,
    /// In packets.
    pub target: f64,
    pub shadow: Vec<u64>,
    pub m_fair: f64,
    pub q_old: f64,
}

impl NaiveAfd {
    /// m_fair begins with the whole shadow buffer: nobody is dropped before the queue has shown
    /// itself.
    pub fn new(size: usize, sample: f64, alpha: f64, beta: f64, target: f64) -> NaiveAfd {
        NaiveAfd {
            size,
            sample,
            alpha,
            beta,
            target,
            shadow: Vec::new(),
            m_fair: size as f64,
            q_old: 0.0,
        }
    }

    /// m_i: how many of the sampled packets are the flow's.
    pub fn count(&self, flow: u64) -> f64 {
        self.shadow.iter().filter(|&&other| other == flow).count() as f64
    }

    /// d_i.
    pub fn drop(&self, flow: u64) -> f64 {
        let m = self.count(flow);
        if m > 0.0 { (1.0 - self.m_fair / m).max(0.0) } else { 0.0 }
    }

    /// A packet of `flow` arrives, with or without room in the queue. A sampled one takes the place
    /// of a random one, once the shadow buffer is full.
    pub fn arrive(&mut self, flow: u64, has_room: bool, dice: &mut Rng) -> Rolled {
        let sampled = dice.uniform() < 1.0 / self.sample;
        if sampled && self.shadow.len() < self.size {
            self.shadow.push(flow);
        } else if sampled {
            let place = dice.below(self.size as u64) as usize;
            self.shadow[place] = flow;
        }
        Rolled { sampled, drop: has_room.then(|| (self.drop(flow), dice.uniform())) }
    }

    /// 1/f_s has gone by and `q` packets wait.
    pub fn update(&mut self, q: f64) {
        self.m_fair += self.alpha * (self.q_old - self.target) - self.beta * (q - self.target);
        self.m_fair = self.m_fair.clamp(1.0, self.size as f64);
        self.q_old = q;
    }
}
