//! CHOKe read straight from pan2000 (§II, and §III for several candidates), on top of the naive
//! RED. Written to be plainly right, not fast.
//!
//! The driver says which waiting packet a draw finds, and rolls RED's die.
use super::red::{self, NaiveRed, is_near};

/// What is to become of an arriving packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// It goes, and so do these waiting packets: they are of its flow.
    Match(Vec<u32>),
    /// There is no room for it.
    Full,
    /// What RED says.
    Red(red::Said),
}

#[derive(Clone, Debug)]
pub struct NaiveChoke {
    pub red: NaiveRed,
    /// m, the number of candidates.
    pub candidates: usize,
    /// k: above 0, the thresholds' interval has so many equal regions, and m is 2 i in the i-th.
    pub regions: usize,
    /// What waits: id and flow, in no order.
    pub waiting: Vec<(u32, u64)>,
}

impl NaiveChoke {
    /// Where the average lies between the thresholds, in regions from the lower one.
    fn place(&self) -> f64 {
        (self.red.avg - self.red.min) / (self.red.max - self.red.min) * self.regions as f64
    }

    /// How many candidates are drawn at this average. Above the upper threshold as many as just
    /// below it.
    pub fn m(&self) -> usize {
        if self.regions == 0 {
            return self.candidates;
        }
        let region = 1 + self.place().floor() as usize;
        2 * region.min(self.regions)
    }

    /// Whether rounding decides for somebody whose average is `theirs`.
    pub fn is_edge(&self, theirs: f64) -> bool {
        let border = self.place().round();
        let inner = border >= 1.0 && border < self.regions as f64;
        (inner && theirs != self.red.avg && is_near(self.place(), border))
            || self.red.is_edge(theirs)
    }

    /// A packet of `flow` arrives; `draw` names a waiting packet. From the lower threshold on it is
    /// compared with the candidates and goes with all of them that are of its own flow; who was
    /// drawn twice goes once.
    pub fn arrive(
        &mut self,
        now: f64,
        (packets, bytes, has_room): (f64, f64, bool),
        (flow, size): (u64, f64),
        mut draw: impl FnMut() -> u32,
    ) -> Said {
        self.red.estimate(now, packets, bytes);
        if self.red.avg >= self.red.min && !self.waiting.is_empty() {
            let mut matched = Vec::new();
            for _ in 0..self.m() {
                let id = draw();
                let of = self.waiting.iter().find(|waiting| waiting.0 == id).expect("it waits").1;
                if of == flow && !matched.contains(&id) {
                    matched.push(id);
                }
            }
            if !matched.is_empty() {
                self.waiting.retain(|(id, _)| !matched.contains(id));
                return Said::Match(matched);
            }
        }
        if !has_room {
            self.red.overflowed(packets);
            return Said::Full;
        }
        Said::Red(self.red.judge(packets, size))
    }

    /// It was let in.
    pub fn admitted(&mut self, id: u32, flow: u64) {
        self.red.admitted();
        self.waiting.push((id, flow));
    }

    /// The head leaves.
    pub fn depart(&mut self, id: u32) {
        self.waiting.retain(|waiting| waiting.0 != id);
    }
}
