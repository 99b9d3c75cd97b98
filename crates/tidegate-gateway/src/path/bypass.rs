//! The line of frames that nobody judges. Each leaves as if it had waited behind what was in the
//! queue when it came: when as much as that has left, and no sooner.
use std::collections::VecDeque;

use tidegate::{Backlog, Link, Packet};

/// Frames that wait beside the queue. A counter of what the queue has given says whose turn it is.
#[derive(Debug, Default)]
pub(crate) struct Bypass {
    waiting: VecDeque<BypassFrame>,
    backlog: Backlog,
    /// What has left the queue so far, sent or dropped, in bytes.
    given: u64,
}

/// A frame, and up to where the queue goes before it.
#[derive(Clone, Copy, Debug)]
struct BypassFrame {
    packet: Packet,
    behind: u64,
}

impl Bypass {
    /// Whether there is room for one more of `len` bytes: the line may be as long as the queue may.
    pub(crate) fn has_room(&self, link: &Link, len: u32) -> bool {
        link.has_room(self.backlog, len)
    }

    /// `packet` waits behind the `ahead` bytes that are in the queue.
    pub(crate) fn push(&mut self, packet: Packet, ahead: u64) {
        self.backlog.add(packet.len);
        self.waiting.push_back(BypassFrame { packet, behind: self.given + ahead });
    }

    /// `len` bytes have left the queue.
    #[inline]
    pub(crate) fn passed(&mut self, len: u32) {
        self.given += u64::from(len);
    }

    /// The first, if its turn has come.
    #[inline]
    pub(crate) fn due(&mut self) -> Option<Packet> {
        match self.waiting.front() {
            Some(first) if first.behind <= self.given => self.pop(),
            _ => None,
        }
    }

    /// The first, even if something would have to go before it: the queue is empty.
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        let BypassFrame { packet, .. } = self.waiting.pop_front()?;
        self.backlog.remove(packet.len);
        Some(packet)
    }

    /// What waits.
    pub(crate) fn backlog(&self) -> Backlog {
        self.backlog
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::Size;

    #[test]
    fn each_leaves_behind_what_waited_when_it_came() {
        let mut bypass = Bypass::default();
        let packet = |number| Packet::new(number, 100);
        bypass.push(packet(1), 0);
        bypass.push(packet(2), 1500);
        bypass.push(packet(3), 1000);
        assert_eq!(bypass.due().map(|p| p.flow), Some(1));
        assert_eq!(bypass.due(), None);
        bypass.passed(1000);
        assert_eq!(bypass.due(), None, "the one before it waits");
        bypass.passed(500);
        assert_eq!([bypass.due(), bypass.due()].map(|p| p.unwrap().flow), [2, 3]);
        bypass.push(packet(4), 9000);
        assert_eq!((bypass.due(), bypass.backlog().packets), (None, 1));
        assert_eq!(bypass.pop().unwrap().flow, 4, "nothing goes before it any more");
        assert_eq!(bypass.backlog(), Backlog::default());
    }

    #[test]
    fn the_line_has_the_limit_of_the_queue() {
        let link =
            Link::new("1 Mbit/s".parse().unwrap(), Size::Packets(2), "100 B".parse().unwrap())
                .unwrap();
        let mut bypass = Bypass::default();
        for _ in 0..2 {
            assert!(bypass.has_room(&link, 100));
            bypass.push(Packet::new(1, 100), 0);
        }
        assert!(!bypass.has_room(&link, 100));
    }
}
