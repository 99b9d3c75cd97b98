//! Queues that a lane had before it was renewed, as long as frames wait in them.
use std::collections::VecDeque;

use tidegate::catalog::AnyQueue;
use tidegate::{Backlog, Packet, Qdisc, Time};

use crate::path::fate::GateSink;
use crate::watch::meter::ClassLayout;
use crate::watch::observer::Observer;

/// The previous queues: the first gives all it has before the next does.
#[derive(Debug, Default)]
pub(super) struct Previous {
    queues: VecDeque<AnyQueue>,
    /// When the last frame is to leave that came from one of them.
    settles: Time,
    /// So many of them, the first, have classes from before a reload.
    reclassified: usize,
}

impl Previous {
    /// A queue becomes the last of the previous ones.
    pub(super) fn push(&mut self, queue: AnyQueue) {
        self.queues.push_back(queue);
    }

    /// The classes are others from here on.
    pub(super) fn reclassify(&mut self) {
        self.reclassified = self.queues.len();
    }

    /// Whether there is no previous queue.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Whether all frames of previous queues have left at `now`.
    pub(super) fn is_settled(&self, now: Time) -> bool {
        self.queues.is_empty() && self.settles <= now
    }

    /// The last frame of a previous queue is to leave at `at`.
    pub(super) fn settle(&mut self, at: Time) {
        self.settles = at;
    }

    /// What waits in each.
    #[inline]
    pub(super) fn backlogs(&self) -> impl Iterator<Item = Backlog> {
        self.queues.iter().map(Qdisc::backlog)
    }

    /// What the first queue gives that has anything; those that have nothing go.
    pub(super) fn dequeue<W: Observer>(
        &mut self,
        now: Time,
        fate: &mut GateSink<'_, W>,
    ) -> Option<Packet> {
        while let Some(queue) = self.queues.front_mut() {
            fate.classes =
                if self.reclassified > 0 { ClassLayout::Previous } else { ClassLayout::Current };
            if let Some(packet) = queue.dequeue(now, fate) {
                return Some(fate.given(packet));
            }
            debug_assert_eq!(queue.backlog().packets, 0, "a previous queue holds packets back");
            self.queues.pop_front();
            self.reclassified = self.reclassified.saturating_sub(1);
        }
        None
    }
}
