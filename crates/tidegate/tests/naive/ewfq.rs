//! EWFQ read straight from lu2012 §§III to V; the order of service is the naive WF2Q+'s.
//! Sample-and-hold from estan2002, as §III-B there has it with match-hit.
//!
//! It rolls a copy of the queue's own dice. Weights are such that the least is 1 (§III-A).
use std::collections::BTreeMap;

use tidegate::Rng;

#[derive(Clone, Debug)]
pub struct Class {
    pub weight: f64,
    pub responsive: bool,
    /// n_i.
    pub flows: f64,
}

/// A class in the holding table.
#[derive(Clone, Debug)]
pub struct Held {
    /// m_i: bytes in this interval, and in the one before if it was held then. With a window that
    /// slides, what it sent of that interval since it was found, taken for the whole of it.
    pub m: f64,
    pub m_last: Option<f64>,
    /// With a window that slides: what it sent in the t_i until the last update.
    pub slid: Option<f64>,
    pub gamma: f64,
    /// In seconds.
    pub since: f64,
}

/// Table I, and what it leaves open.
#[derive(Clone, Debug)]
pub struct Setting {
    pub alpha: f64,
    pub beta: f64,
    /// q_target, bytes.
    pub target: f64,
    /// C t_i / 8.
    pub link: f64,
    /// t_i, in updates of 1/f_s and in seconds.
    pub updates: u32,
    pub interval: f64,
    pub rtt: f64,
    /// size_p.
    pub packet: f64,
    /// p, per byte.
    pub p: f64,
    /// T over the mean of m_fair.
    pub threshold: f64,
    pub stages: u32,
    /// N_c.
    pub cache: usize,
    /// p_c, and whether it goes for every packet that is not held or for the sampled ones.
    pub insertion: f64,
    pub every: bool,
    /// A class is not judged before it has been held so long.
    pub settle: f64,
    /// Whether a class is judged by a window that slides, not by whole intervals.
    pub sliding: bool,
    /// Whether m_fair may fall to the r_fair of §III-A only, not to a packet.
    pub fair: bool,
    /// A class that sends no more than so many times m_fair loses nothing.
    pub leeway: f64,
    /// Whether m_fair may rise to the largest m_i / w_i only (§III-A), not to what the link sends.
    pub largest: bool,
}

#[derive(Clone, Debug)]
pub struct NaiveEwfq {
    pub set: Setting,
    pub classes: Vec<Class>,
    pub held: BTreeMap<usize, Held>,
    pub matches: BTreeMap<usize, u32>,
    pub packets: Vec<usize>,
    pub m_fair: f64,
    pub q_old: f64,
    pub m_fairs: Vec<f64>,
    pub r_fair: f64,
    /// At how many updates m_fair was held up by r_fair, and held down by what classes sent.
    pub raised: u32,
    pub capped: u32,
}

impl NaiveEwfq {
    pub fn new(set: Setting, classes: Vec<Class>, m_fair: f64) -> NaiveEwfq {
        NaiveEwfq {
            set,
            classes,
            held: BTreeMap::new(),
            matches: BTreeMap::new(),
            packets: Vec::new(),
            m_fair,
            q_old: 0.0,
            m_fairs: Vec::new(),
            r_fair: 0.0,
            raised: 0,
            capped: 0,
        }
    }

    /// §III-B: a packet of a class that is not held is sampled by the byte. A sampled one is
    /// compared with a packet of the cache. At the k-th match of an interval its class is held.
    fn identify(&mut self, now: f64, class: usize, len: f64, dice: &mut Rng) {
        let p = self.set.p / self.classes[class].weight;
        let sampled = dice.uniform() < 1.0 - libm::pow(1.0 - p, len);
        if self.set.stages == 0 {
            // estan2002's own sample-and-hold: no cache.
            if sampled {
                self.held.insert(
                    class,
                    Held { m: len, m_last: None, slid: None, gamma: 1.0, since: now },
                );
            }
            return;
        }
        if sampled && !self.packets.is_empty() {
            let other = self.packets[dice.below(self.packets.len() as u64) as usize];
            if other == class {
                *self.matches.entry(class).or_default() += 1;
                if self.matches[&class] == self.set.stages {
                    self.held.insert(
                        class,
                        Held { m: len, m_last: None, slid: None, gamma: 1.0, since: now },
                    );
                }
            }
        }
        if (sampled || self.set.every) && dice.uniform() < self.set.insertion {
            if self.packets.len() < self.set.cache {
                self.packets.push(class);
            } else {
                let place = dice.below(self.set.cache as u64) as usize;
                self.packets[place] = class;
            }
        }
    }

    /// Eq. (1) for the fair amount of the moment.
    pub fn eq1(&self) -> f64 {
        let window = self.m_fair / self.set.packet * self.set.rtt / self.set.interval;
        1.0 / (0.66 * window * window)
    }

    /// What a class that was found lately sends in t_i at its pace since; nothing is known of one
    /// that was found just now.
    fn pace(&self, now: f64, held: &Held) -> Option<f64> {
        let elapsed = now - held.since;
        (elapsed >= self.set.settle).then(|| held.m * self.set.interval / elapsed)
    }

    /// What a class sent in t_i, as far as it is known.
    fn sent(&self, now: f64, held: &Held) -> Option<f64> {
        if self.set.sliding { held.slid } else { held.m_last.or(self.pace(now, held)) }
    }

    /// What the classes sent, where it is known, and their weights.
    fn known(&self, now: f64) -> Vec<(f64, f64)> {
        let known = |(&class, held): (&usize, &Held)| {
            Some((self.sent(now, held)?, self.classes[class].weight))
        };
        self.held.iter().filter_map(known).collect()
    }

    /// §III-A: where C = sum of min(r_i, r_fair w_i) has a solution, it has one that is no larger
    /// than the largest r_i / w_i.
    fn most(&self, known: &[(f64, f64)]) -> f64 {
        match known.iter().map(|(m, w)| m / w).reduce(f64::max) {
            Some(largest) if self.set.largest => largest.min(self.set.link),
            _ => self.set.link,
        }
    }

    /// That solution, a step nearer: Those who sent no more than the last one keep what they sent.
    /// The others share the rest by weight, no less than an equal part. With less sent than C, the
    /// largest.
    pub fn next_r_fair(&self, known: &[(f64, f64)]) -> f64 {
        let link = self.set.link;
        if known.iter().map(|(m, _)| m).sum::<f64>() <= link {
            return known.iter().map(|(m, w)| m / w).fold(0.0, f64::max);
        }
        let equal = link / known.iter().map(|(_, w)| w).sum::<f64>();
        let (low, high): (Vec<_>, Vec<_>) = known.iter().partition(|(m, w)| m / w <= self.r_fair);
        if high.is_empty() {
            return equal;
        }
        ((link - low.iter().map(|(m, _)| m).sum::<f64>())
            / high.iter().map(|(_, w)| w).sum::<f64>())
        .max(equal)
    }

    /// The probability with which a packet of `class` is dropped: eq. (2), or §III-A for a class
    /// that heeds nothing.
    pub fn drop(&self, now: f64, class: usize) -> f64 {
        let Some(held) = self.held.get(&class) else { return 0.0 };
        let Some(m) = self.sent(now, held) else { return 0.0 };
        let Class { weight, responsive, flows } = self.classes[class];
        if m / weight <= self.m_fair * self.set.leeway {
            0.0
        } else if responsive {
            held.gamma * held.gamma * flows * flows / (weight * weight) * self.eq1()
        } else {
            1.0 - self.m_fair * weight / m
        }
    }

    /// A packet arrives: the probability with which it is dropped. It counts whatever becomes of
    /// it.
    pub fn arrive(&mut self, now: f64, class: usize, len: f64, dice: &mut Rng) -> f64 {
        match self.held.get_mut(&class) {
            Some(held) => held.m += len,
            None => self.identify(now, class, len, dice),
        }
        self.drop(now, class)
    }

    /// 1/f_s has gone by and `q` bytes wait; at the last update of an interval, §IV-B.
    pub fn update(&mut self, now: f64, q: f64) {
        let gone = (self.m_fairs.len() + 1) as f64 / self.set.updates as f64;
        for held in self.held.clone() {
            // What was sent in the interval before is taken to have been sent evenly.
            let slid = held.1.m_last.map(|m_last| held.1.m + (1.0 - gone) * m_last);
            self.held.get_mut(&held.0).unwrap().slid = slid.or(self.pace(now, &held.1));
        }
        self.m_fair +=
            self.set.alpha * (self.q_old - self.set.target) - self.set.beta * (q - self.set.target);
        let known = self.known(now);
        let most = self.most(&known);
        self.r_fair = self.next_r_fair(&known);
        if self.set.fair && !known.is_empty() {
            self.raised += u32::from(self.m_fair < self.r_fair.min(most));
            self.m_fair = self.m_fair.max(self.r_fair);
        }
        self.capped += u32::from(self.m_fair > most && most < self.set.link);
        self.m_fair = self.m_fair.min(most).max(self.set.packet);
        self.q_old = q;
        self.m_fairs.push(self.m_fair);
        if self.m_fairs.len() < self.set.updates as usize {
            return;
        }
        let mean = self.m_fairs.iter().sum::<f64>() / self.m_fairs.len() as f64;
        self.m_fairs.clear();
        self.matches.clear();
        let mut kept = BTreeMap::new();
        for (&class, held) in &self.held {
            // What it sent in this interval; with a window that slides, at its pace if it was found
            // in it.
            let sent = match held.m_last {
                None if self.set.sliding => self.pace(now, held),
                _ => Some(held.m),
            };
            let Some(sent) = sent else {
                kept.insert(class, held.clone());
                continue;
            };
            let m = sent / self.classes[class].weight;
            if m >= self.set.threshold * mean {
                // Of use for a class that heeds drops only; beyond 10^9 nothing passes and so
                // nothing changes.
                let gamma = if self.classes[class].responsive {
                    (0.5 * held.gamma + 0.5 * held.gamma * m / mean).clamp(1.0, 1e9)
                } else {
                    1.0
                };
                kept.insert(
                    class,
                    Held { m: 0.0, m_last: Some(sent), slid: Some(sent), gamma, since: held.since },
                );
            }
        }
        self.held = kept;
    }
}
