//! A network interface as a [`Port`]: frames come out of memory that the kernel shares, and go in by the batch.
//!
//! What arrives is read from an AF_PACKET receive ring of version 2, which hands over each frame at once; version 3
//! would save some work, but its blocks close by a timer of a millisecond at best, and a queue of our own is no excuse
//! for that delay on an idle link. What is sent goes by `sendmmsg`, which copies it. A transmit ring spares that copy
//! only on hardware: where a frame stays on the machine the kernel copies it after all, once it meets its receiver.
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::counters::Tally;
use crate::port::{Port, Received, Unsent};
use crate::system::{self, BATCH, Interface, Protocol};

mod slots;

use slots::Slots;

/// Length of an Ethernet header: two addresses and a type.
const ETHERNET: usize = 14;
/// Length of an 802.1Q or 802.1ad tag.
const TAG: usize = 4;
/// The type that says that an 802.1Q tag follows.
const DOT1Q: [u8; 2] = [0x81, 0x00];
/// Bytes that may be on their way from a socket. The default would refuse a batch of jumbo frames.
const SEND_BUFFER: libc::c_int = 8 << 20;
/// How many receives that find nothing pass between two looks whether the interface is still there.
const LOOK_EVERY: u32 = 16;

/// How many frames a ring holds unless somebody says otherwise: 7 ms of the shortest at the highest rate.
pub const SLOTS: usize = 4096;

/// An interface from which every frame is received, whoever it is for, and to which frames are sent.
///
/// Only the process that holds a ring makes its interface hear the frames that are for others.
#[derive(Debug)]
pub struct Ring {
    name: String,
    interface: Interface,
    // Before the socket, so that its memory goes first.
    slots: Slots,
    socket: OwnedFd,
    exit: OwnedFd,
    leaving: Leaving,
    missed: u64,
    unsent: Tally,
    idle: u32,
    down: bool,
}

/// Frames taken and not sent yet.
#[derive(Debug)]
struct Leaving {
    bytes: Vec<u8>,
    /// Where each frame ends in `bytes`.
    ends: Vec<usize>,
    /// How many of them are sent.
    sent: usize,
}

impl Ring {
    /// Opens interface `name` of this thread's network namespace with room for [`SLOTS`] frames that wait.
    ///
    /// # Errors
    /// There is no such interface, it is down, we are not allowed to, or there is no memory.
    pub fn open(name: &str) -> io::Result<Ring> {
        Ring::with_slots(name, SLOTS)
    }

    /// The same with room for about `slots` frames, or as many as 64 MiB hold.
    ///
    /// # Errors
    /// Those of [`open`](Ring::open).
    pub fn with_slots(name: &str, slots: usize) -> io::Result<Ring> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("interface {name}: {error}"));
        let socket = system::packet_socket().map_err(named)?;
        let exit = system::packet_socket().map_err(named)?;
        let interface = system::interface(socket.as_fd(), name).map_err(named)?;
        if !interface.up {
            return Err(named(io::Error::new(io::ErrorKind::NetworkDown, "it is down")));
        }
        let longest = interface.mtu.saturating_add(ETHERNET + 2 * TAG);
        let slots = Slots::new(socket.as_fd(), slots, longest).map_err(named)?;
        let mut ring = Ring {
            name: name.into(),
            interface: Interface { index: 0, ..interface },
            slots,
            socket,
            exit,
            leaving: Leaving { bytes: Vec::with_capacity(BATCH * longest), ends: Vec::with_capacity(BATCH), sent: 0 },
            missed: 0,
            unsent: Tally::default(),
            idle: 0,
            down: false,
        };
        let (entry, exit) = (ring.socket.as_fd(), ring.exit.as_fd());
        system::set_option(entry, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1).map_err(named)?;
        system::set_option(exit, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1).map_err(named)?;
        system::set_option(exit, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, SEND_BUFFER).map_err(named)?;
        ring.attach(interface).map_err(named)?;
        Ok(ring)
    }

    /// The most memory that [`open`](Ring::open) takes for an interface of this `mtu`: what the kernel shares, and frames
    /// that are about to be sent, in bytes.
    pub const fn memory(mtu: u32) -> u64 {
        let longest = mtu as usize + ETHERNET + 2 * TAG;
        (Slots::memory(SLOTS, longest) + BATCH * (longest + size_of::<usize>())) as u64
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The interface's number.
    pub fn index(&self) -> u32 {
        self.interface.index as u32
    }

    /// The longest frame that can be sent, in bytes with the Ethernet header and without a tag.
    pub fn longest(&self) -> usize {
        self.interface.mtu + ETHERNET
    }

    /// Ties the sockets to the interface, which is `now` so.
    fn attach(&mut self, now: Interface) -> io::Result<()> {
        if now.index != self.interface.index {
            system::hear_all(self.socket.as_fd(), now.index)?;
        }
        system::bind(self.socket.as_fd(), now.index, Protocol::All)?;
        system::bind(self.exit.as_fd(), now.index, Protocol::None)?;
        // What it has to say of the time before would be said of the first frame.
        system::option::<libc::c_int>(self.exit.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR)?;
        self.interface = now;
        Ok(())
    }

    /// Whether the interface is there and up, after some `LOOK_EVERY` calls; picks it up when it has come up again. One
    /// that was taken away stays gone: another of its name has not the kernel's program.
    fn look(&mut self) -> io::Result<()> {
        self.idle = self.idle.wrapping_add(1);
        if !self.down && !self.idle.is_multiple_of(LOOK_EVERY) {
            return Ok(());
        }
        let error: libc::c_int = system::option(self.socket.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR)?;
        if error != 0 {
            self.down = true;
        }
        if !self.down {
            return Ok(());
        }
        let now = system::interface(self.socket.as_fd(), &self.name)?;
        if now.index != self.interface.index {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        if !now.up {
            return Err(io::ErrorKind::NetworkDown.into());
        }
        self.attach(now)?;
        self.down = false;
        Ok(())
    }

    /// Gives up what was not sent.
    fn lose(&mut self, cause: io::Error) -> io::Error {
        while let Some(len) = self.leaving.skip() {
            self.unsent.add(len);
        }
        self.leaving.clear();
        self.down = true;
        cause
    }
}

impl AsFd for Ring {
    /// What can be polled until a frame arrives or the interface goes.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Port for Ring {
    fn waiting(&mut self, most: usize) -> usize {
        self.slots.waiting(most)
    }

    fn begun(&mut self) -> usize {
        self.slots.begun()
    }

    fn receive(&mut self, most: usize, take: &mut impl FnMut(Received<'_>)) -> io::Result<usize> {
        let mut count = 0;
        while count < most && self.slots.next(take) {
            count += 1;
        }
        if count == 0 {
            self.look()?;
        }
        Ok(count)
    }

    fn send(&mut self, frame: &[u8]) -> Result<(), Unsent> {
        // The kernel sends four bytes more than the MTU says only for one 802.1Q tag.
        let tag = if frame.get(12..14) == Some(&DOT1Q) { TAG } else { 0 };
        if frame.len() < ETHERNET || frame.len() > self.longest() + tag {
            return Err(Unsent::Length);
        }
        if self.leaving.ends.len() >= BATCH {
            return Err(Unsent::Full);
        }
        self.leaving.bytes.extend_from_slice(frame);
        self.leaving.ends.push(self.leaving.bytes.len());
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.leaving.waiting() > 0 {
            let error = match system::send_batch(self.exit.as_fd(), self.leaving.frames()) {
                Ok(count) => {
                    self.leaving.sent += count;
                    continue;
                }
                Err(error) => error,
            };
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The device dropped it (its cable is out, its queue full), has more on its way than it may, or its MTU
                // has shrunk meanwhile.
                Some(libc::ENOBUFS | libc::EAGAIN | libc::EMSGSIZE | libc::EINVAL) => {
                    self.leaving.skip().into_iter().for_each(|len| self.unsent.add(len));
                }
                _ => return Err(self.lose(error)),
            }
        }
        self.leaving.clear();
        Ok(())
    }

    fn missed(&mut self) -> u64 {
        // The kernel forgets its counters, of 32 bits, when they are read. While the interface is gone they stand still.
        let since = system::option::<libc::tpacket_stats>(self.as_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS);
        self.missed += since.map_or(0, |since| u64::from(since.tp_drops));
        self.missed
    }

    fn unsent(&self) -> Tally {
        self.unsent
    }
}

impl Leaving {
    fn waiting(&self) -> usize {
        self.ends.len() - self.sent
    }

    fn frames(&self) -> impl Iterator<Item = &[u8]> {
        (self.sent..self.ends.len()).map(|i| {
            let start = if i == 0 { 0 } else { self.ends[i - 1] };
            &self.bytes[start..self.ends[i]]
        })
    }

    /// Passes over the first that waits; its length.
    fn skip(&mut self) -> Option<u32> {
        let len = self.frames().next()?.len() as u32;
        self.sent += 1;
        Some(len)
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.sent = 0;
    }
}
