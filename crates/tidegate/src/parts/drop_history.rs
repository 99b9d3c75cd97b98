//! RED-PD's drop history (mahajan2001 §3.1): what each flow lost to RED in the last M lists and in
//! the one that is open, for a bounded number of flows. It also has what is known of flows that are
//! dropped from beforehand.
//!
//! A flow that stands in several lists is one that sends much: one that has lost several packets at
//! once stands in one list only.
//!
//! ```
//! use tidegate::parts::drop_history::{DropHistory, Keep};
//! let mut history: DropHistory<()> = DropHistory::new(5, 50, 1000);
//! for list in 0..5 {
//!     history.dropped(7, 1000);
//!     history.close();
//! }
//! history.each(|flow, account| {
//!     assert_eq!((flow, account.lists(), account.lost()), (7, 5, 5000));
//!     Keep::IfListed
//! });
//! ```
use alloc::vec::Vec;

use super::flow_table::FlowTable;

/// The most lists that a history can be asked to have.
pub const MOST_LISTS: u32 = 8;

/// What is known of a flow, with what its owner adds.
#[derive(Clone, Copy, Debug)]
pub struct FlowHistory<T> {
    /// Bytes that arrived since the list was opened, or since the flow became known.
    pub arrived: u64,
    /// Bytes of these that were dropped, by whomever.
    pub gone: u64,
    /// Bytes that RED dropped in the open list.
    open: u64,
    /// The owner's.
    pub own: Option<T>,
    /// The same in the closed lists, newest first.
    closed: [u64; MOST_LISTS as usize],
}

impl<T> FlowHistory<T> {
    /// In how many closed lists the flow stands.
    pub fn lists(&self) -> u32 {
        self.closed.iter().filter(|&&lost| lost > 0).count() as u32
    }

    /// Bytes that RED dropped in all closed lists.
    pub fn lost(&self) -> u64 {
        self.closed.iter().sum()
    }

    /// Whether it stands in the newest closed list.
    pub fn is_in_newest(&self) -> bool {
        self.closed[0] > 0
    }
}

/// What is to become of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// It stays while the flow stands in a list.
    IfListed,
    /// It stays.
    Always,
}

/// The history.
#[derive(Debug)]
pub struct DropHistory<T> {
    accounts: FlowTable<FlowHistory<T>>,
    lists: usize,
    list_flows: usize,
    /// Those of the list that is being closed, to find who lost most.
    ranking: Vec<(u64, u64)>,
    flows: u32,
}

impl<T: Copy> DropHistory<T> {
    /// An empty history of 1 to [`MOST_LISTS`] lists, of at most `list_flows` flows each, which
    /// knows at most `flows` flows at a time. Other numbers of lists are taken as the nearest of
    /// these.
    pub fn new(lists: u32, list_flows: u32, flows: u32) -> DropHistory<T> {
        DropHistory {
            accounts: FlowTable::new(flows),
            lists: lists.clamp(1, MOST_LISTS) as usize,
            list_flows: list_flows as usize,
            ranking: Vec::with_capacity(flows as usize),
            flows,
        }
    }

    /// What a history that knows `flows` flows takes, in bytes.
    pub fn bytes(flows: u32) -> u64 {
        FlowTable::<FlowHistory<T>>::state_bytes(flows)
            + flows as u64 * core::mem::size_of::<(u64, u64)>() as u64
    }

    /// How many flows are known.
    pub fn len(&self) -> u32 {
        self.accounts.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty()
    }

    /// The account of `flow`.
    #[inline]
    pub fn find(&mut self, flow: u64) -> Option<&mut FlowHistory<T>> {
        self.accounts.find(flow).map(|slot| &mut self.accounts[slot])
    }

    /// What is known of `flow`.
    pub fn get(&self, flow: u64) -> Option<&FlowHistory<T>> {
        self.accounts.find(flow).map(|slot| &self.accounts[slot])
    }

    /// The accounts, in no particular order.
    pub fn accounts(&self) -> impl Iterator<Item = &FlowHistory<T>> {
        self.accounts.states()
    }

    /// RED dropped `len` bytes of `flow`. A flow that is new finds no place in a full history.
    #[inline]
    pub fn dropped(&mut self, flow: u64, len: u32) {
        let slot = match self.accounts.find(flow) {
            Some(slot) => slot,
            None => {
                let closed = [0; MOST_LISTS as usize];
                let account =
                    FlowHistory { arrived: len as u64, gone: 0, open: 0, own: None, closed };
                match self.accounts.insert(flow, account) {
                    Some(slot) => slot,
                    None => return,
                }
            }
        };
        let account = &mut self.accounts[slot];
        account.gone += len as u64;
        account.open += len as u64;
    }

    /// The open list is closed, cut to the flows that lost most (of equals to those of larger
    /// number), and a new one opened; the oldest is forgotten.
    pub fn close(&mut self) {
        let least = self.least_of_a_full_list();
        let lists = self.lists;
        self.accounts.retain(|flow, account| {
            account.closed.copy_within(..lists - 1, 1);
            let open = core::mem::take(&mut account.open);
            account.closed[0] = if (open, flow) >= least { open } else { 0 };
            true
        });
    }

    /// What the last flow that has a place in the open list lost, and which it is.
    fn least_of_a_full_list(&mut self) -> (u64, u64) {
        let (accounts, ranking) = (&mut self.accounts, &mut self.ranking);
        ranking.clear();
        accounts.retain(|flow, account| {
            if account.open > 0 {
                ranking.push((account.open, flow));
            }
            true
        });
        if ranking.len() <= self.list_flows {
            return (0, 0);
        }
        let last = ranking.len() - self.list_flows;
        *ranking.select_nth_unstable(last).1
    }

    /// Shows each account to `look`, in no particular order, which says whether it is to stay; what
    /// arrived and what is gone count from zero again.
    pub fn each(&mut self, mut look: impl FnMut(u64, &mut FlowHistory<T>) -> Keep) {
        self.accounts.retain(|flow, account| {
            let keep = look(flow, account);
            (account.arrived, account.gone) = (0, 0);
            keep == Keep::Always || account.lists() > 0
        });
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.accounts.retain(|_, _| false);
    }
}

impl<T: Copy> Clone for DropHistory<T> {
    /// The copy has its memory at once, as the original has.
    fn clone(&self) -> Self {
        DropHistory {
            accounts: self.accounts.clone(),
            ranking: Vec::with_capacity(self.flows as usize),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use alloc::collections::BTreeMap;
    use alloc::vec;

    /// Against lists of maps that are sorted and cut.
    #[test]
    fn agrees_with_lists_of_maps() {
        for (lists, list_flows, flows) in [(5, 50, 30), (5, 4, 30), (1, 1, 5), (8, 7, 200)] {
            let mut dice = Rng::from_seed(lists as u64 + list_flows as u64);
            let mut history: DropHistory<()> = DropHistory::new(lists, list_flows, 1000);
            let mut plain: Vec<BTreeMap<u64, u64>> = vec![];
            for _ in 0..200 {
                let mut open: BTreeMap<u64, u64> = BTreeMap::new();
                for _ in 0..dice.below(60) {
                    let (flow, len) = (dice.below(flows), 1 + dice.below(3) as u32);
                    history.dropped(flow, len);
                    *open.entry(flow).or_default() += len as u64;
                }
                let mut ranking: Vec<(u64, u64)> =
                    open.into_iter().map(|(flow, lost)| (lost, flow)).collect();
                ranking.sort();
                let cut = ranking.len().saturating_sub(list_flows as usize);
                plain.insert(0, ranking[cut..].iter().map(|&(lost, flow)| (flow, lost)).collect());
                plain.truncate(lists as usize);
                history.close();
                history.each(|flow, account| {
                    let of = |list: &BTreeMap<u64, u64>| list.get(&flow).copied();
                    assert_eq!(account.lost(), plain.iter().filter_map(of).sum::<u64>());
                    assert_eq!(account.lists() as usize, plain.iter().filter_map(of).count());
                    assert_eq!(account.is_in_newest(), of(&plain[0]).is_some());
                    Keep::IfListed
                });
                let known: BTreeMap<u64, u64> =
                    plain.iter().flatten().map(|(&flow, &lost)| (flow, lost)).collect();
                assert_eq!(history.len() as usize, known.len());
                assert!(known.keys().all(|&flow| history.get(flow).is_some()));
            }
        }
    }

    #[test]
    fn a_full_history_knows_no_more_flows_and_takes_what_it_says() {
        let mut history: DropHistory<u64> = DropHistory::new(5, 50, 3);
        (0..100).for_each(|flow| history.dropped(flow, 1000));
        assert_eq!((history.len(), history.is_empty()), (3, false));
        history.dropped(2, 500);
        assert_eq!(history.get(2).unwrap().gone, 1500);
        assert!(history.get(3).is_none());
        history.find(1).unwrap().own = Some(7);
        assert_eq!(history.accounts().filter(|account| account.own.is_some()).count(), 1);
        // One that its owner keeps outlasts the lists.
        for _ in 0..6 {
            history.close();
            history.each(|flow, _| if flow == 1 { Keep::Always } else { Keep::IfListed });
        }
        assert_eq!((history.len(), history.get(1).unwrap().own), (1, Some(7)));
        history.clear();
        assert!(history.is_empty());
    }

    /// What arrives and what is gone count by lists, from the first drop on.
    #[test]
    fn accounts_count_by_lists() {
        let mut history: DropHistory<()> = DropHistory::new(5, 50, 100);
        history.dropped(7, 1000);
        history.find(7).unwrap().arrived += 500;
        for expected in [(1500, 1000), (0, 0)] {
            history.close();
            history.each(|_, account| {
                assert_eq!((account.arrived, account.gone), expected);
                Keep::IfListed
            });
        }
    }
}
