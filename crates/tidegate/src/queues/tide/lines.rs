//! What waits: the main line, and the express line for flows without a virtual backlog.
use alloc::vec;
use alloc::vec::Vec;

use crate::choices;
use crate::packet::Packet;
use crate::parts::bins::FlowBins;
use crate::parts::ring::Ring;
use crate::qdisc::Backlog;

choices! {
    /// Whether flows without a virtual backlog have a line of their own.
    pub enum Express {
        /// They have.
        On = "on",
        /// All wait in one line.
        Off = "off",
    }
}

/// In so many rows the cells know their flows' last packet in the main line.
const ROWS: usize = 2;

/// The two lines.
#[derive(Clone, Debug)]
pub(super) struct TideLines {
    main: Ring<Packet>,
    express: Ring<Packet>,
    backlog: Backlog,
    /// So many packets have room in either line. Both grow at once, or the express line would still
    /// do so long after what waits has been at its most.
    room: usize,
    /// How many packets ever entered and left the main line, modulo 2^32.
    entered: u32,
    left: u32,
    /// Bytes of the express line that overtook the main line, less what that has sent.
    lead: u64,
    /// By cell of the first rows, the number of its flows' last packet in the main line. Empty
    /// without an express line.
    last: Vec<u32>,
    rows: usize,
}

impl TideLines {
    pub(super) fn new(express: Express, rows: u32, cells: u32) -> TideLines {
        let rows = (rows as usize).min(ROWS);
        let known = if express == Express::On { rows * cells as usize } else { 0 };
        TideLines {
            main: Ring::new(),
            express: Ring::new(),
            backlog: Backlog::default(),
            room: 0,
            entered: 0,
            left: 0,
            lead: 0,
            last: vec![0; known],
            rows,
        }
    }

    /// What this takes besides itself and packets, in bytes.
    pub(super) fn bytes(express: Express, rows: u32, cells: u32) -> u64 {
        match express {
            Express::On => 4 * u64::from(rows.min(ROWS as u32) * cells),
            Express::Off => 0,
        }
    }

    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Whether the main line's packet number `last` has left.
    #[inline]
    fn is_gone(&self, last: u32) -> bool {
        last.wrapping_sub(self.left) as i32 <= 0
    }

    /// A packet comes; `sparse`, its flow has no virtual backlog.
    #[inline]
    pub(super) fn join(&mut self, pkt: Packet, places: &FlowBins, sparse: bool) {
        self.backlog.add(pkt.len);
        if self.backlog.packets as usize > self.room {
            self.grow();
        }
        if self.last.is_empty() {
            return self.main.push(pkt);
        }
        let mut rows = 0..self.rows;
        if sparse && rows.any(|row| self.is_gone(self.last[places.on(row).index()])) {
            return self.express.push(pkt);
        }
        self.entered = self.entered.wrapping_add(1);
        for row in 0..self.rows {
            self.last[places.on(row).index()] = self.entered;
        }
        self.main.push(pkt);
    }

    #[cold]
    fn grow(&mut self) {
        self.room = (self.backlog.packets as usize).next_power_of_two();
        self.main.make_room(self.room);
        self.express.make_room(self.room);
    }

    /// The packet to send: of the express line if that came first, or while it is not `most` bytes
    /// ahead.
    #[inline]
    pub(super) fn next(&mut self, most: u64) -> Option<Packet> {
        let pkt = if self.is_express(most) {
            self.express.pop()
        } else {
            let pkt = self.main.pop()?;
            self.left = self.left.wrapping_add(1);
            self.lead = self.lead.saturating_sub(u64::from(pkt.len));
            Some(pkt)
        };
        pkt.inspect(|pkt| self.backlog.remove(pkt.len))
    }

    /// Whether the express line's head goes next; if it overtakes the main line's, that counts.
    #[inline]
    fn is_express(&mut self, most: u64) -> bool {
        let Some(first) = self.express.head() else { return false };
        let Some(other) = self.main.head() else { return true };
        if first.arrived <= other.arrived {
            return true;
        }
        let overtakes = self.lead < most;
        self.lead += if overtakes { u64::from(first.len) } else { 0 };
        overtakes
    }

    /// Numbers of packets that left long ago must not seem to lie ahead.
    pub(super) fn sweep(&mut self) {
        let left = self.left;
        for last in &mut self.last {
            *last = if (last.wrapping_sub(left) as i32) < 0 { left } else { *last };
        }
    }

    /// Takes what waits in `old`. Whose packets these are is not known, so nobody overtakes them.
    pub(super) fn inherit(&mut self, old: &mut TideLines) {
        core::mem::swap(&mut self.main, &mut old.main);
        core::mem::swap(&mut self.express, &mut old.express);
        core::mem::swap(&mut self.backlog, &mut old.backlog);
        core::mem::swap(&mut self.room, &mut old.room);
        self.lead = old.lead;
        self.entered = self.left.wrapping_add(self.main.len() as u32);
        self.last.fill(self.entered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::bins::Bins;
    use crate::rng::Rng;
    use crate::units::Time;

    /// By hand: 3000 bytes may go ahead. Three packets of 1000 do, then one for each of the main
    /// line's. Last come those who were there before that line's last packet.
    #[test]
    fn the_main_line_has_every_second_byte() {
        let mut bins: Bins<u8> = Bins::new(2, 64);
        bins.rekey(&mut Rng::from_seed(1));
        let mut lines = TideLines::new(Express::On, 2, 64);
        let join = |lines: &mut TideLines, at, flow, sparse| {
            let pkt = Packet { arrived: Time::from_nanos(at), ..Packet::new(flow, 1000) };
            lines.join(pkt, &bins.places(flow), sparse);
        };
        (0..4).for_each(|_| join(&mut lines, 0, 1, false));
        // A flow of the main line stays there while its packets are.
        join(&mut lines, 1, 1, true);
        (2..10).for_each(|flow| join(&mut lines, 1, flow, true));
        join(&mut lines, 2, 1, false);
        let sent: Vec<u64> = (0..14).map(|_| lines.next(3000).unwrap().flow).collect();
        assert_eq!(sent, [2, 3, 4, 1, 5, 1, 6, 1, 7, 1, 8, 9, 1, 1]);
        assert_eq!((lines.next(3000), lines.backlog()), (None, Backlog::default()));
        // All of its packets have left.
        join(&mut lines, 3, 1, true);
        assert!(lines.main.is_empty());
    }

    /// 2^32 packets after a flow's last one its number does not seem to lie ahead.
    #[test]
    fn numbers_may_run_over() {
        let mut bins: Bins<u8> = Bins::new(2, 64);
        bins.rekey(&mut Rng::from_seed(1));
        let mut lines = TideLines::new(Express::On, 2, 64);
        for quarter in 0..8_u32 {
            (lines.entered, lines.left) = (quarter << 30, quarter << 30);
            lines.sweep();
            lines.join(Packet::new(1, 1000), &bins.places(1), true);
            assert!(lines.main.is_empty() && lines.next(0).is_some(), "quarter {quarter}");
        }
    }
}
