//! A cable in memory, for tests: what one end sends, the other receives.
//!
//! ```
//! use tidegate_gateway::device::memory::{Cable, cable};
//! use tidegate_gateway::device::port::Port;
//!
//! let (mut here, mut there) = cable(Cable::default());
//! here.send(b"a frame of fourteen bytes or more").unwrap();
//! here.flush().unwrap();
//! assert_eq!(there.all().unwrap(), [b"a frame of fourteen bytes or more"]);
//! ```
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use tidegate::Time;

use crate::device::port::{Port, ReceivedFrame, Unsent};
use crate::watch::counters::Tally;

/// What a cable carries.
#[derive(Clone, Copy, Debug)]
pub struct Cable {
    /// The longest frame that it takes, in bytes.
    pub longest: usize,
    /// How many frames may wait to be received at an end; those that come then are missed.
    pub arrived: usize,
    /// How many frames an end takes between one flush and the next.
    pub taken: usize,
}

impl Default for Cable {
    /// The MTU of Ethernet with two tags, and the room of a usual ring.
    fn default() -> Cable {
        Cable { longest: 1522, arrived: 4096, taken: 1024 }
    }
}

/// One end of a cable.
#[derive(Debug)]
pub struct End {
    cable: Cable,
    up: Rc<RefCell<bool>>,
    arrives: Rc<RefCell<CableLine>>,
    leaves: Rc<RefCell<CableLine>>,
    taken: VecDeque<CableFrame>,
    unsent: Tally,
}

/// What is on its way in one direction.
#[derive(Debug, Default)]
struct CableLine {
    frames: VecDeque<CableFrame>,
    missed: u64,
    /// Emptied frames, so that a cable in use allocates nothing.
    spare: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct CableFrame {
    bytes: Vec<u8>,
    wire_len: u32,
    checksum_missing: bool,
}

/// The two ends of a cable that is up.
pub fn cable(cable: Cable) -> (End, End) {
    let (up, east, west) = (Rc::new(RefCell::new(true)), Rc::default(), Rc::default());
    let end = |arrives: &Rc<RefCell<CableLine>>, leaves: &Rc<RefCell<CableLine>>| End {
        cable,
        up: up.clone(),
        arrives: arrives.clone(),
        leaves: leaves.clone(),
        taken: VecDeque::new(),
        unsent: Tally::default(),
    };
    (end(&east, &west), end(&west, &east))
}

impl End {
    /// Pulls the cable out (`false`) or puts it back in; what was on it is lost when it is pulled.
    pub fn set_up(&self, up: bool) {
        self.up.replace(up);
        for line in [&self.arrives, &self.leaves] {
            line.borrow_mut().frames.clear();
        }
    }

    /// Sends a frame that was `wire_len` bytes long; only its first bytes arrive.
    pub fn send_cut_off(&mut self, bytes: &[u8], wire_len: u32) {
        self.put(CableFrame { bytes: bytes.to_vec(), wire_len, checksum_missing: false });
    }

    /// Sends a frame whose checksum is left for hardware to fill in.
    pub fn send_unfinished(&mut self, bytes: &[u8]) {
        self.put(CableFrame {
            bytes: bytes.to_vec(),
            wire_len: bytes.len() as u32,
            checksum_missing: true,
        });
    }

    /// Everything that has arrived, oldest first.
    ///
    /// # Errors
    /// The cable is pulled out.
    pub fn all(&mut self) -> io::Result<Vec<Vec<u8>>> {
        let mut all = Vec::new();
        self.receive(usize::MAX, &mut |frame| all.push(frame.bytes.to_vec()))?;
        Ok(all)
    }

    fn put(&mut self, frame: CableFrame) {
        let mut line = self.leaves.borrow_mut();
        if line.frames.len() < self.cable.arrived {
            line.frames.push_back(frame)
        } else {
            line.missed += 1
        }
    }

    fn still_up(&self) -> io::Result<()> {
        if *self.up.borrow() {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::NetworkDown, "the cable is pulled out"))
        }
    }
}

impl Port for End {
    fn waiting(&mut self, most: usize) -> usize {
        self.arrives.borrow().frames.len().min(most)
    }

    fn receive(
        &mut self,
        most: usize,
        take: &mut impl FnMut(ReceivedFrame<'_>),
    ) -> io::Result<usize> {
        self.still_up()?;
        let mut count = 0;
        while count < most {
            // The line is free while the frame is looked at: who takes it may send.
            let Some(frame) = self.arrives.borrow_mut().frames.pop_front() else { break };
            let CableFrame { bytes, wire_len, checksum_missing } = frame;
            take(ReceivedFrame { bytes: &bytes, wire_len, stamp: Time::ZERO, checksum_missing });
            self.arrives.borrow_mut().spare.push(bytes);
            count += 1;
        }
        Ok(count)
    }

    fn send(&mut self, frame: &[u8]) -> Result<(), Unsent> {
        if frame.len() > self.cable.longest {
            return Err(Unsent::Length);
        }
        if self.taken.len() >= self.cable.taken {
            return Err(Unsent::Full);
        }
        let mut bytes = self.leaves.borrow_mut().spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(frame);
        self.taken.push_back(CableFrame {
            bytes,
            wire_len: frame.len() as u32,
            checksum_missing: false,
        });
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Err(down) = self.still_up() {
            self.taken.drain(..).for_each(|frame| self.unsent.add(frame.wire_len));
            return Err(down);
        }
        while let Some(frame) = self.taken.pop_front() {
            self.put(frame);
        }
        Ok(())
    }

    fn missed(&mut self) -> u64 {
        self.arrives.borrow().missed
    }

    fn unsent(&self) -> Tally {
        self.unsent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_arrive_in_order_when_they_are_flushed_and_not_before() {
        let (mut here, mut there) = cable(Cable::default());
        for byte in 0..5 {
            here.send(&[byte; 60]).unwrap();
        }
        assert!(there.all().unwrap().is_empty());
        here.flush().unwrap();
        assert_eq!((there.waiting(3), there.waiting(usize::MAX), here.waiting(1)), (3, 5, 0));
        let mut first = Vec::new();
        assert_eq!(there.receive(2, &mut |frame| first.push(frame.bytes[0])).unwrap(), 2);
        assert_eq!(first, [0, 1]);
        assert_eq!(there.all().unwrap(), [[2; 60], [3; 60], [4; 60]]);
        assert!(here.all().unwrap().is_empty(), "an end does not see what it sends");
    }

    #[test]
    fn what_does_not_fit_is_refused_or_counted() {
        let (mut here, mut there) = cable(Cable { longest: 100, arrived: 3, taken: 4 });
        assert_eq!(here.send(&[0; 101]), Err(Unsent::Length));
        for _ in 0..4 {
            here.send(&[0; 100]).unwrap();
        }
        assert_eq!(here.send(&[0; 100]), Err(Unsent::Full));
        here.flush().unwrap();
        assert_eq!((there.all().unwrap().len(), there.missed()), (3, 1));
        assert_eq!((here.missed(), here.unsent()), (0, Tally::default()));
    }

    #[test]
    fn a_pulled_cable_is_an_error_that_passes() {
        let (mut here, mut there) = cable(Cable::default());
        here.send(&[0; 60]).unwrap();
        there.set_up(false);
        assert!(here.flush().is_err() && there.all().is_err());
        assert_eq!(here.unsent(), Tally { frames: 1, bytes: 60 });
        there.set_up(true);
        here.send(&[1; 60]).unwrap();
        here.flush().unwrap();
        assert_eq!(there.all().unwrap(), [[1; 60]]);
    }

    #[test]
    fn cut_and_unfinished_frames_are_told() {
        let (mut here, mut there) = cable(Cable::default());
        here.send_cut_off(&[0; 60], 9000);
        here.send_unfinished(&[0; 60]);
        let mut seen = Vec::new();
        there
            .receive(9, &mut |f| seen.push((f.bytes.len(), f.wire_len, f.checksum_missing)))
            .unwrap();
        assert_eq!(seen, [(60, 9000, false), (60, 60, true)]);
    }
}
