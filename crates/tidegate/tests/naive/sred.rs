//! SRED read straight from its paper (ott1999 §2 to §5), in floats: a list of zombies, a hit
//! frequency, a law. Written to be plainly right, not fast.
//!
//! It rolls the dice that it is handed, in the order of the paper: which zombie, whether it is
//! overwritten, whether the packet is dropped (that one is the caller's).
use tidegate::Rng;

/// Which law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// §3: the same for all.
    Simple,
    /// §5: a hit costs more.
    Full,
}

/// What a packet that comes while the list fills is to the hit frequency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Filling {
    /// No hit.
    Miss,
    /// Nothing.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zombie {
    pub flow: u64,
    /// Hits since it came.
    pub count: f64,
}

/// The paper's constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// M.
    pub size: usize,
    /// p.
    pub overwrite: f64,
    pub alpha: f64,
    pub p_max: f64,
    /// From so many flows on drops are no more frequent: 256.
    pub many: f64,
    /// B, and its parts at which drops become likelier, in the unit of the lengths that the driver
    /// gives.
    pub buffer: f64,
    pub low: f64,
    pub high: f64,
    pub law: Law,
    pub filling: Filling,
}

#[derive(Clone, Debug)]
pub struct NaiveSred {
    pub set: Setting,
    pub zombies: Vec<Zombie>,
    /// P(t).
    pub p: f64,
}

impl NaiveSred {
    pub fn new(set: Setting) -> NaiveSred {
        NaiveSred { set, zombies: Vec::new(), p: 0.0 }
    }

    /// A packet of `flow` arrives (§2). Whether it was a hit.
    pub fn compare(&mut self, flow: u64, dice: &mut Rng) -> bool {
        let new = Zombie { flow, count: 0.0 };
        if self.zombies.len() < self.set.size {
            self.zombies.push(new);
            if self.set.filling == Filling::Miss {
                self.p *= 1.0 - self.set.alpha;
            }
            return false;
        }
        let drawn = dice.below(self.set.size as u64) as usize;
        let hit = self.zombies[drawn].flow == flow;
        if hit {
            self.zombies[drawn].count += 1.0;
        } else if dice.uniform() < self.set.overwrite {
            self.zombies[drawn] = new;
        }
        // (3.1)
        self.p = (1.0 - self.set.alpha) * self.p + self.set.alpha * f64::from(u8::from(hit));
        hit
    }

    /// How many flows there are: 1 / P(t) (§3).
    pub fn flows(&self) -> f64 {
        1.0 / self.p
    }

    /// p_sred(q), (4.1).
    pub fn p_sred(&self, q: f64) -> f64 {
        if q < self.set.low * self.set.buffer {
            0.0
        } else if q < self.set.high * self.set.buffer {
            self.set.p_max / 4.0
        } else {
            self.set.p_max
        }
    }

    /// p_zap for a packet that was or was not a hit and finds `q` waiting: (4.2), or (5.1).
    pub fn p_zap(&self, hit: bool, q: f64) -> f64 {
        let few = self.set.many * self.p;
        let simple = self.p_sred(q) * f64::min(1.0, 1.0 / (few * few));
        let p = match self.set.law {
            Law::Full if hit => simple * (1.0 + 1.0 / self.p),
            Law::Simple | Law::Full => simple,
        };
        p.min(1.0)
    }

    /// "Total occurrence" of a flow in the list (§2).
    pub fn occurrence(&self, flow: u64) -> f64 {
        self.zombies.iter().filter(|z| z.flow == flow).map(|z| z.count + 1.0).sum()
    }
}
