//! RED-PD read straight from its paper (mahajan2001 §3 and §4), in floats. Constants that the text
//! leaves open are as the authors' scripts for ns-2 have them. Lists of drops are maps, and
//! everything is worked out anew at the end of each. RED beside it has a twin of its own.
//!
//! Times are whole nanoseconds, as drivers have them, so that nothing hangs on the rounding of a
//! sum.
use std::collections::BTreeMap;

/// What a flow must have lost in the list that ends, to be dropped from more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tightens {
    /// Something to RED.
    RedDrop,
    /// Something, to the pre-filter or to RED.
    AnyDrop,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// R, in seconds.
    pub rtt: f64,
    /// M and K.
    pub lists: usize,
    pub appearances: usize,
    /// The most flows in a list.
    pub list_flows: usize,
    /// At this P or below a flow is released; and one that was found unresponsive.
    pub release: f64,
    pub release_unresponsive: f64,
    /// The most that P falls at once.
    pub decrease: f64,
    /// The least time between two changes of a flow's P, in nanoseconds.
    pub hold: u64,
    /// Weight of the newest list in the drop rate.
    pub weight: f64,
    /// Bounds of a list's length, in nanoseconds.
    pub least: u64,
    pub most: u64,
    /// No flow is identified while the drop rate is at this or below, or before that time.
    pub least_loss: f64,
    pub start: u64,
    pub tightens: Tightens,
    /// Whether flows are tested for responsiveness.
    pub test: bool,
    /// After so many lists without an arrival everything is forgotten.
    pub silence: u64,
}

/// A flow that is dropped from before RED sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Monitored {
    pub p: f64,
    /// Packets since the last drop.
    pub count: f64,
    pub last_change: u64,
    pub unresponsive: bool,
    /// Arrival rate and drop rate of the lists in which P was set.
    pub records: Vec<(f64, f64)>,
}

/// Bytes of a flow since the list began, or since the flow became known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    pub arrived: f64,
    pub lost: f64,
}

#[derive(Clone, Debug)]
pub struct NaiveRedPd {
    pub set: Setting,
    /// Bytes that RED dropped, by flow: the closed lists, oldest first, and the one that is open.
    pub history: Vec<BTreeMap<u64, f64>>,
    pub open: BTreeMap<u64, f64>,
    pub accounts: BTreeMap<u64, Account>,
    pub monitored: BTreeMap<u64, Monitored>,
    /// What came to RED and what RED dropped since the list began.
    pub arrived: f64,
    pub dropped: f64,
    pub p_avg: f64,
    /// How long lists were, newest last.
    pub lengths: Vec<u64>,
    pub due: u128,
    /// The length of the one that is open.
    pub length: u64,
    pub offered: bool,
    pub silent: u64,
}

/// P of the next packet so that gaps between drops are uniform, as RED's are.
pub fn uniformise(p: f64, count: f64) -> f64 {
    if count * p < 1.0 { (p / (1.0 - count * p)).min(1.0) } else { 1.0 }
}

impl NaiveRedPd {
    pub fn new(set: Setting) -> NaiveRedPd {
        NaiveRedPd {
            set,
            history: Vec::new(),
            open: BTreeMap::new(),
            accounts: BTreeMap::new(),
            monitored: BTreeMap::new(),
            arrived: 0.0,
            dropped: 0.0,
            p_avg: 0.0,
            lengths: Vec::new(),
            due: set.most.into(),
            length: set.most,
            offered: false,
            silent: 0,
        }
    }

    /// The time in which a TCP of round-trip time R loses one packet where one in 1/p is lost, in
    /// seconds: CEL(R, p).
    pub fn congestion_epoch(rtt: f64, p: f64) -> f64 {
        rtt / (1.5 * p).sqrt()
    }

    /// tau: M lists are K congestion epochs.
    pub fn list_length(&self) -> u64 {
        let (k, m) = (self.set.appearances as f64, self.set.lists as f64);
        if self.p_avg == 0.0 {
            return self.set.most;
        }
        let seconds = k / m * NaiveRedPd::congestion_epoch(self.set.rtt, self.p_avg);
        ((seconds * 1e9 + 0.5) as u64).clamp(self.set.least, self.set.most)
    }

    /// A packet of `flow` comes to the pre-filter: the probability with which it is dropped there,
    /// if its flow is monitored. `busy`: the queue is such that responsive flows are dropped
    /// from.
    pub fn arrive(&mut self, flow: u64, len: f64, busy: bool) -> Option<f64> {
        self.offered = true;
        if let Some(account) = self.accounts.get_mut(&flow) {
            account.arrived += len;
        }
        let monitored = self.monitored.get(&flow)?;
        let p = uniformise(monitored.p, monitored.count);
        Some(if busy || monitored.unresponsive { p } else { 0.0 })
    }

    /// The pre-filter dropped it.
    pub fn filtered(&mut self, flow: u64, len: f64) {
        self.monitored.get_mut(&flow).unwrap().count = 0.0;
        self.accounts.get_mut(&flow).unwrap().lost += len;
    }

    /// It passed on to RED.
    pub fn passed(&mut self, flow: u64, len: f64) {
        if let Some(monitored) = self.monitored.get_mut(&flow) {
            monitored.count += 1.0;
        }
        self.arrived += len;
    }

    /// RED dropped or marked it, or found no room.
    pub fn red_dropped(&mut self, flow: u64, len: f64) {
        self.dropped += len;
        *self.open.entry(flow).or_default() += len;
        self.accounts.entry(flow).or_insert(Account { arrived: len, lost: 0.0 }).lost += len;
    }

    /// Ends every list that is due.
    pub fn catch_up(&mut self, now: u64) {
        while self.due <= now.into() {
            self.end_of_list();
        }
    }

    fn end_of_list(&mut self) {
        let now = self.due as u64;
        let p_cur = if self.arrived > 0.0 { self.dropped / self.arrived } else { 0.0 };
        self.p_avg = self.set.weight * p_cur + (1.0 - self.set.weight) * self.p_avg;
        self.close();
        self.lengths.push(self.length);
        if p_cur > self.set.least_loss && now >= self.set.start {
            self.tighten(now, p_cur.min(self.p_avg));
        }
        self.loosen(now);
        self.silent = if self.offered { 0 } else { self.silent + 1 };
        if self.silent >= self.set.silence {
            (self.history, self.accounts, self.monitored, self.p_avg) = Default::default();
        }
        (self.arrived, self.dropped, self.offered) = (0.0, 0.0, false);
        self.accounts.retain(|f, _| {
            self.monitored.contains_key(f) || self.history.iter().any(|l| l.contains_key(f))
        });
        self.accounts.values_mut().for_each(|account| *account = Account::default());
        self.length = self.list_length();
        self.due += u128::from(self.length);
    }

    /// The list joins the history, cut to those that lost most.
    fn close(&mut self) {
        let mut flows: Vec<(f64, u64)> =
            std::mem::take(&mut self.open).into_iter().map(|(f, lost)| (lost, f)).collect();
        flows.sort_by(|a, b| b.partial_cmp(a).unwrap());
        flows.truncate(self.set.list_flows);
        self.history.push(flows.into_iter().map(|(lost, f)| (f, lost)).collect());
        if self.history.len() > self.set.lists {
            self.history.remove(0);
        }
    }

    /// How long the last `lists` lists were together, or `hold` if that is longer.
    fn wait(&self, lists: usize) -> u64 {
        self.lengths.iter().rev().take(lists).sum::<u64>().max(self.set.hold)
    }

    /// The identified flows and what each has lost in all lists.
    pub fn identified(&self) -> Vec<(u64, f64)> {
        let mut all: BTreeMap<u64, (usize, f64)> = BTreeMap::new();
        for list in &self.history {
            for (&flow, lost) in list {
                let entry = all.entry(flow).or_default();
                (entry.0, entry.1) = (entry.0 + 1, entry.1 + lost);
            }
        }
        all.retain(|_, (times, _)| *times >= self.set.appearances);
        all.into_iter().map(|(flow, (_, lost))| (flow, lost)).collect()
    }

    fn tighten(&mut self, now: u64, p_use: f64) {
        let identified = self.identified();
        let mean = identified.iter().map(|(_, lost)| lost).sum::<f64>() / identified.len() as f64;
        let wait = self.wait(self.set.lists - 1);
        for (flow, lost) in identified {
            let account = self.accounts[&flow];
            let lost_now = match self.set.tightens {
                Tightens::RedDrop => self.history.last().unwrap().contains_key(&flow),
                Tightens::AnyDrop => account.lost > 0.0,
            };
            let waits = self.monitored.get(&flow).is_some_and(|m| now - m.last_change < wait);
            if !lost_now || waits {
                continue;
            }
            let pre = p_use * lost / mean;
            let test = self.set.test;
            let monitored = self
                .monitored
                .entry(flow)
                .and_modify(|m| {
                    m.unresponsive = m.unresponsive || (test && is_unresponsive(&m.records));
                    m.p = tightened(m.p, pre, m.unresponsive);
                })
                .or_insert_with(|| Monitored {
                    p: pre.min(2.0 * p_use).min(0.5),
                    count: 0.0,
                    last_change: now,
                    unresponsive: false,
                    records: Vec::new(),
                });
            monitored.last_change = now;
            monitored.records.push((
                account.arrived / (self.length as f64 / 1e9),
                account.lost / account.arrived,
            ));
            if monitored.records.len() > 5 {
                monitored.records.remove(0);
            }
        }
    }

    fn loosen(&mut self, now: u64) {
        let set = self.set;
        let [wait, longer] = [set.appearances, set.lists].map(|lists| self.wait(lists));
        let history = &self.history;
        self.monitored.retain(|flow, m| {
            let wait = if m.unresponsive { longer } else { wait };
            if history.iter().any(|list| list.contains_key(flow)) || now - m.last_change < wait {
                return true;
            }
            m.last_change = now;
            match loosened(m.p, m.unresponsive, &set) {
                Some(p) => m.p = p,
                None => return false,
            }
            true
        });
    }
}

/// P of a monitored flow that is still identified, where RED alone would have to drop `pre`.
pub fn tightened(p: f64, pre: f64, unresponsive: bool) -> f64 {
    let (factor, part) = if unresponsive { (3.0, 2.0) } else { (2.0, 1.0) };
    let new = if pre > p { factor * p } else { p + part * pre };
    if new > 1.0 { 1.0 - (1.0 - p) / factor } else { new }
}

/// P of a monitored flow that has lost nothing to RED in any list; `None`: it is released.
pub fn loosened(p: f64, unresponsive: bool, set: &Setting) -> Option<f64> {
    let (release, by) =
        if unresponsive { (set.release_unresponsive, 1.5) } else { (set.release, 2.0) };
    if p <= release {
        None
    } else if p > by * set.decrease {
        Some(p - set.decrease)
    } else {
        Some(p / by)
    }
}

/// Whether the rate has fallen less than TCP's would when drops became more frequent, in most pairs
/// of records.
pub fn is_unresponsive(records: &[(f64, f64)]) -> bool {
    let (mut good, mut bad) = (0, 0);
    for &(rate1, p1) in records {
        for &(rate2, p2) in records {
            if p1 < p2 && p1 / p2 > 0.1 {
                if rate2 / rate1 > (p1 / p2).sqrt() {
                    bad += 1;
                } else {
                    good += 1;
                }
            }
        }
    }
    match good {
        0 => bad >= 3,
        1 => bad >= 4,
        _ => bad >= 4 * good,
    }
}
