//! CARE read straight from its paper (chan2003 §III and §IV-D), recomputing everything for every
//! packet.
//!
//! Written to be plainly right, not fast: the capture list is a vector, marks are counted by
//! walking it, the frequencies are gathered anew. The jackknife's coefficients come from first
//! principles: the mean number of distinct animals when i of t occasions are left out. Binomial
//! coefficients are ratios.

use std::collections::BTreeMap;

/// What CARE would do with an arriving packet.
#[derive(Clone, Copy, Debug)]
pub struct Judgement {
    /// The estimated number of flows.
    pub flows: f64,
    /// The probability with which the packet is dropped.
    pub drop: f64,
}

#[derive(Clone, Debug)]
pub struct NaiveCare {
    pub t: usize,
    pub p_cap: f64,
    pub least_captures: usize,
    /// A capture weighs what the packet is long instead of 1.
    pub bytes: bool,
    /// The longer a packet, the likelier it is captured: this is the length at which p_cap holds.
    pub by_length: Option<f64>,
    /// Bytes below which a backlog tempers the drop probability; 0: none does.
    pub gate: f64,
    /// Nanoseconds after which a capture is forgotten.
    pub expire: Option<u64>,
    /// What the link carries in a second, and what its buffer holds, in bytes, where the fair
    /// share is one of the line.
    pub line: Option<(f64, f64)>,
    /// By what part an empty queue adds to that, and a full one takes away.
    pub pull: f64,
    /// Oldest first.
    pub list: Vec<Captured>,
    /// Bytes that arrived so far.
    arrived: f64,
    /// How much a flow may stand in the list, as the last capture or expiry left it.
    level: f64,
    /// The coefficients of every order by the list's length; they depend on nothing else.
    a: BTreeMap<usize, Vec<Vec<f64>>>,
}

#[derive(Clone, Debug)]
pub struct Captured {
    pub flow: u64,
    pub weight: f64,
    /// When, in ns, and how many bytes had arrived before it.
    pub at: u64,
    pub before: f64,
}

impl NaiveCare {
    pub fn new(t: usize, p_cap: f64, least_captures: usize) -> NaiveCare {
        NaiveCare {
            t,
            p_cap,
            least_captures,
            bytes: false,
            by_length: None,
            gate: 0.0,
            expire: None,
            line: None,
            pull: 0.0,
            list: Vec::new(),
            arrived: 0.0,
            level: f64::INFINITY,
            a: BTreeMap::new(),
        }
    }

    /// One arriving packet of `flow`, `len` bytes long, at `now` ns, while `backlog` bytes wait;
    /// `u` is the die of the capture.
    pub fn arrive(&mut self, now: u64, flow: u64, len: u32, backlog: f64, u: f64) -> Judgement {
        let kept = self.list.len();
        self.list.retain(|c| self.expire.is_none_or(|expire| now - c.at <= expire));
        let mut changed = self.list.len() < kept;
        let p_cap = self.by_length.map_or(self.p_cap, |mean| self.p_cap * len as f64 / mean);
        if u < p_cap {
            if self.list.len() == self.t {
                self.list.remove(0);
            }
            let weight = if self.bytes { len as f64 } else { 1.0 };
            self.list.push(Captured { flow, weight, at: now, before: self.arrived });
            changed = true;
        }
        self.arrived += len as f64;
        if changed {
            self.level = self.fair_level(now, backlog);
        }
        let judgement = self.judge(flow);
        let tempered = if self.gate > 0.0 { (backlog / self.gate).min(1.0) } else { 1.0 };
        Judgement { drop: judgement.drop * tempered, ..judgement }
    }

    /// The max-min fair share of what the line carried since the oldest capture, in captures.
    fn fair_level(&self, now: u64, backlog: f64) -> f64 {
        let (Some((per_second, buffer)), Some(oldest)) = (self.line, self.list.first()) else {
            return f64::INFINITY;
        };
        let could = per_second * ((now - oldest.at) as f64 / 1e9).max(buffer / per_second);
        let pulled = 1.0 + self.pull * (1.0 - 2.0 * backlog / buffer);
        let room = self.list.len() as f64 * could / (self.arrived - oldest.before) * pulled;
        let mut captures: Vec<u64> = self.list.iter().map(|c| c.flow).collect();
        captures.sort();
        let mut counts: Vec<f64> =
            captures.chunk_by(|a, b| a == b).map(|run| run.len() as f64).collect();
        if counts.len() < 2 {
            return f64::INFINITY;
        }
        counts.sort_by(f64::total_cmp);
        // The smallest have what they want; the rest shares what is left.
        let mut left = room;
        for (n, count) in counts.iter().enumerate() {
            let share = left / (counts.len() - n) as f64;
            if *count > share {
                return share;
            }
            left -= count;
        }
        f64::INFINITY
    }

    /// What the list says of `flow`, with a queue that is full enough.
    fn judge(&mut self, flow: u64) -> Judgement {
        if self.list.len() < self.least_captures {
            return Judgement { flows: 0.0, drop: 0.0 };
        }
        // While the list fills, as many occasions have passed as there are captures in it.
        let t: f64 = self.list.iter().map(|c| c.weight).sum();
        let b = t / self.p_cap;
        let own: Vec<f64> = self.list.iter().filter(|c| c.flow == flow).map(|c| c.weight).collect();
        let rate = b * own.iter().sum::<f64>() / t;
        // Flows are counted by captures, whatever they weigh.
        let captured: Vec<u64> = self.list.iter().map(|c| c.flow).collect();
        // No more than the packets that the list stands for.
        let a = self.a.entry(captured.len()).or_insert_with(|| all_coefficients(captured.len()));
        let flows = jackknife(&frequencies(&captured), a).min(captured.len() as f64 / self.p_cap);
        if self.line.is_some() {
            let count = own.len() as f64;
            return Judgement {
                flows,
                drop: if count > self.level { 1.0 - self.level / count } else { 0.0 },
            };
        }
        let s = b / flows;
        Judgement { flows, drop: if rate > s { 1.0 - s / rate } else { 0.0 } }
    }
}

/// `f[j]`: how many flows were captured exactly j times (`f[0]` unused).
pub fn frequencies(list: &[u64]) -> Vec<f64> {
    let mut f = vec![0.0; list.len() + 1];
    let mut sorted = list.to_vec();
    sorted.sort();
    for run in sorted.chunk_by(|a, b| a == b) {
        f[run.len()] += 1.0;
    }
    f
}

/// C(n, k), exactly; 0 where k > n.
fn choose(n: i128, k: i128) -> i128 {
    if k < 0 || k > n { 0 } else { (0..k).fold(1, |c, i| c * (n - i) / (i + 1)) }
}

/// a(t, K)_j for j = 0 ..= t, summed exactly in integers over the denominator K! · t (t − 1) … (t −
/// K + 1).
pub fn coefficients(t: usize, order: usize) -> Vec<f64> {
    let (t, order) = (t as i128, order as i128);
    let factorial = |n: i128| (1..=n).product::<i128>();
    let falling = |from: i128, to: i128| (to..=from).product::<i128>();
    let denominator = factorial(order) * falling(t, t - order + 1);
    let a = |j: i128| {
        let sum: i128 = (0..=order)
            .map(|i| {
                let sign = if i % 2 == 0 { 1 } else { -1 };
                // Caught j times, all on the i occasions left out: then the animal is missed.
                let (seen, all) = (choose(t, i) - choose(t - j, i - j), choose(t, i));
                // of seen / all, over the denominator
                let share = seen * factorial(i) * falling(t - i, t - order + 1);
                assert_eq!(falling(t, t - order + 1) % all, 0);
                sign * choose(order, i) * (t - i).pow(order as u32) * share
            })
            .sum();
        sum as f64 / denominator as f64
    };
    (0..=t).map(|j| if j == 0 { 0.0 } else { a(j) }).collect()
}

/// a(t, K)_j for K = 0 ..= 5 (no higher than t).
pub fn all_coefficients(t: usize) -> Vec<Vec<f64>> {
    (0..=5.min(t)).map(|k| if k == 0 { vec![1.0; t + 1] } else { coefficients(t, k) }).collect()
}

/// Burnham and Overton's estimate with their choice of the order (5 % level, two-sided) and
/// interpolation, clamped from below at the number of flows seen.
pub fn jackknife(f: &[f64], a: &[Vec<f64>]) -> f64 {
    let seen: f64 = f.iter().sum();
    if seen <= 1.0 {
        return seen;
    }
    let highest = a.len() - 1;
    let n: Vec<f64> = a.iter().map(|a| a.iter().zip(f).skip(1).map(|(a, f)| a * f).sum()).collect();
    let mut p = vec![0.0; highest];
    for m in 1..highest {
        let d = n[m + 1] - n[m];
        let squares: f64 =
            (1..f.len()).map(|j| (a[m + 1][j] - a[m][j]) * (a[m + 1][j] - a[m][j]) * f[j]).sum();
        let spread = squares - d * d / seen;
        let variance = seen / (seen - 1.0) * spread;
        // A variance of zero comes out as zero but for rounding.
        p[m] = if spread <= 1e-9 * squares {
            1.0
        } else {
            libm::erfc(d.abs() / variance.sqrt() / 2f64.sqrt())
        };
    }
    let estimate = match (1..highest).find(|&m| p[m] > 0.05) {
        Some(1) => n[1],
        Some(m) => {
            let c = (0.05 - p[m - 1]) / (p[m] - p[m - 1]);
            c * n[m] + (1.0 - c) * n[m - 1]
        }
        None => n[highest],
    };
    estimate.max(seen)
}
