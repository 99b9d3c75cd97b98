//! A network interface as a [`Port`]: frames come out of memory that the kernel shares, and go in
//! by the batch.
//!
//! What arrives is read from an AF_PACKET receive ring of version 2, which hands over each frame at
//! once. Version 3 would save some work, but its blocks close by a timer of a millisecond at best.
//! An idle link must not have that delay. What is sent goes by `sendmmsg`, which copies it. A
//! transmit ring spares that copy only on hardware: where a frame stays on the machine the kernel
//! copies it after all, once it meets its receiver.
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::device::port::{Altered, Port, ReceivedFrame, Unsent};
use crate::machine::named::named;
use crate::machine::system::{self, BATCH, FrameProtocol, InterfaceName, RingInterface};
use crate::watch::counters::Tally;

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

/// How many frames a ring holds unless somebody says otherwise: 7 ms of the shortest at the highest
/// rate.
pub const SLOTS: usize = 4096;

/// An interface from which every frame is received, whatever its destination, and to which frames
/// are sent.
///
/// Only the process that holds a ring makes its interface hear the frames that are for others.
#[derive(Debug)]
pub struct PacketRing {
    name: String,
    interface: RingInterface,
    entry: RingEntry,
    /// Takes the place of `entry` when nothing waits there any more: it has room for longer
    /// frames.
    next: Option<RingEntry>,
    /// How long frames are that there is room for, in bytes.
    room: usize,
    /// So many slots were asked for.
    wanted: usize,
    /// The largest MTU that this refused as too large.
    refused: usize,
    exit: OwnedFd,
    leaving: Leaving,
    missed: u64,
    unsent: Tally,
    idle: u32,
    down: bool,
}

/// Where frames come in.
#[derive(Debug)]
struct RingEntry {
    // Before the socket, so that its memory goes first.
    slots: Slots,
    socket: OwnedFd,
}

impl RingEntry {
    /// One for frames of up to `longest` bytes, which nothing reaches yet.
    fn new(slots: usize, longest: usize) -> io::Result<RingEntry> {
        let socket = system::packet_socket()?;
        let slots = Slots::new(socket.as_fd(), slots, longest)?;
        system::set_option(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        Ok(RingEntry { slots, socket })
    }
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

impl PacketRing {
    /// Opens interface `name` of this thread's network namespace with room for [`SLOTS`] frames
    /// that wait.
    ///
    /// # Errors
    /// There is no such interface, it is down, we are not allowed to, or there is no memory.
    pub fn open(name: &str) -> io::Result<PacketRing> {
        PacketRing::with_slots(name, SLOTS)
    }

    /// The same with room for about `slots` frames, or as many as 64 MiB hold.
    ///
    /// # Errors
    /// Those of [`open`](PacketRing::open).
    pub fn with_slots(name: &str, slots: usize) -> io::Result<PacketRing> {
        let named = named(format!("interface {name}"));
        let exit = system::packet_socket().map_err(&named)?;
        let interface = system::interface(exit.as_fd(), name).map_err(&named)?;
        if !interface.up {
            return Err(named(io::Error::new(io::ErrorKind::NetworkDown, "it is down")));
        }
        let longest = longest(interface.mtu);
        let entry = RingEntry::new(slots, longest).map_err(&named)?;
        let mut ring = PacketRing {
            name: name.into(),
            interface: RingInterface { index: 0, ..interface },
            entry,
            next: None,
            room: longest,
            wanted: slots,
            refused: 0,
            exit,
            leaving: Leaving {
                bytes: Vec::with_capacity(BATCH * longest),
                ends: Vec::with_capacity(BATCH),
                sent: 0,
            },
            missed: 0,
            unsent: Tally::default(),
            idle: 0,
            down: false,
        };
        let exit = ring.exit.as_fd();
        system::set_option(exit, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1).map_err(&named)?;
        let room = |name| system::set_option(exit, libc::SOL_SOCKET, name, SEND_BUFFER);
        // Who is root of its own namespaces only has what the system gives everybody.
        room(libc::SO_SNDBUFFORCE).or_else(|_| room(libc::SO_SNDBUF)).map_err(&named)?;
        ring.attach(interface).map_err(&named)?;
        Ok(ring)
    }

    /// The most memory that [`open`](PacketRing::open) takes for an interface of this `mtu`: what
    /// the kernel shares, and frames that are about to be sent, in bytes.
    pub const fn memory(mtu: u32) -> u64 {
        let longest = longest(mtu as usize);
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
    fn attach(&mut self, now: RingInterface) -> io::Result<()> {
        let entry = self.entry.socket.as_fd();
        if now.index != self.interface.index {
            system::hear_all(entry, now.index)?;
        }
        system::bind(entry, now.index, FrameProtocol::All)?;
        system::bind(self.exit.as_fd(), now.index, FrameProtocol::None)?;
        // What it has to say of the time before would be said of the first frame.
        system::option::<libc::c_int>(self.exit.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR)?;
        self.interface = now;
        Ok(())
    }

    /// The interface as it is now, by its number, which it keeps whatever it is called. One that
    /// has left this namespace stays gone: another of its name or number has not the kernel's
    /// program.
    fn interface_now(&self) -> io::Result<(InterfaceName, RingInterface)> {
        if system::bound_to(self.exit.as_fd())? != Some(self.interface.index) {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        system::interface_at(self.exit.as_fd(), self.interface.index)
    }

    /// Whether the interface is there and up, after some `LOOK_EVERY` calls; picks it up when it
    /// has come up again.
    fn look(&mut self) -> io::Result<()> {
        if self.next.is_some() {
            self.move_in()?;
        }
        self.idle = self.idle.wrapping_add(1);
        if !self.down && !self.idle.is_multiple_of(LOOK_EVERY) {
            return Ok(());
        }
        let error: libc::c_int =
            system::option(self.entry.socket.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR)?;
        if error != 0 {
            self.down = true;
        }
        if !self.down {
            return Ok(());
        }
        let (_, now) = self.interface_now()?;
        if !now.up {
            return Err(io::ErrorKind::NetworkDown.into());
        }
        // What has changed of its MTU is for `altered` to find.
        self.attach(RingInterface { mtu: self.interface.mtu, ..now })?;
        self.down = false;
        Ok(())
    }

    /// Lays out room for frames of up to `longest` bytes. What comes in until it is in use, a few
    /// milliseconds of an idle link, is not heard.
    fn make_room(&mut self, longest: usize) -> io::Result<()> {
        let next = RingEntry::new(self.wanted, longest)?;
        if !system::are_neighbours(next.socket.as_fd(), self.exit.as_fd()) {
            return Err(io::Error::other(
                "this thread is in another network namespace than the interface",
            ));
        }
        system::hear_all(next.socket.as_fd(), self.interface.index)?;
        self.leaving.bytes.reserve((BATCH * longest).saturating_sub(self.leaving.bytes.len()));
        system::bind(self.entry.socket.as_fd(), self.interface.index, FrameProtocol::None)?;
        (self.next, self.room) = (Some(next), longest);
        Ok(())
    }

    /// Goes on in the new room if nothing waits in the old one.
    fn move_in(&mut self) -> io::Result<()> {
        self.missed();
        if self.entry.slots.begun() == 0
            && let Some(next) = self.next.take()
        {
            self.entry = next;
            system::bind(self.entry.socket.as_fd(), self.interface.index, FrameProtocol::All)?;
        }
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

impl AsFd for PacketRing {
    /// What can be polled until a frame arrives or the interface goes.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.entry.socket.as_fd()
    }
}

impl Port for PacketRing {
    fn waiting(&mut self, most: usize) -> usize {
        self.entry.slots.waiting(most)
    }

    fn begun(&mut self) -> usize {
        self.entry.slots.begun()
    }

    fn receive(
        &mut self,
        most: usize,
        take: &mut impl FnMut(ReceivedFrame<'_>),
    ) -> io::Result<usize> {
        let mut count = 0;
        while count < most && self.entry.slots.next(take) {
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
                // The device dropped it (its cable is out, its queue full), has more on its way
                // than it may, or its MTU has shrunk meanwhile.
                Some(libc::ENOBUFS | libc::EAGAIN | libc::EMSGSIZE | libc::EINVAL) => {
                    self.leaving.skip().into_iter().for_each(|len| self.unsent.add(len));
                }
                _ => return Err(self.lose(error)),
            }
        }
        self.leaving.clear();
        Ok(())
    }

    fn altered(&mut self) -> Option<Altered> {
        // One that is gone or down is told of by whoever receives.
        let (name, now) = self.interface_now().ok().filter(|_| !self.down)?;
        if name.as_str() != self.name {
            self.name = name.as_str().into();
            return Some(Altered::Name(self.name.clone()));
        }
        let (was, mtu) = (self.interface.mtu, now.mtu as u32);
        if now.mtu == was || now.mtu == self.refused {
            return None;
        }
        if longest(now.mtu) > self.room
            && let Err(why) = self.make_room(longest(now.mtu))
        {
            self.refused = now.mtu;
            return Some(Altered::Outgrown(mtu, why.to_string()));
        }
        (self.interface.mtu, self.refused) = (now.mtu, 0);
        Some(if now.mtu > was { Altered::Grown(mtu) } else { Altered::Shrunk(mtu) })
    }

    fn missed(&mut self) -> u64 {
        // The kernel forgets its counters, of 32 bits, when they are read. While the interface is
        // gone they stand still.
        let since = system::option::<libc::tpacket_stats>(
            self.as_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
        );
        self.missed += since.map_or(0, |since| u64::from(since.tp_drops));
        self.missed
    }

    fn unsent(&self) -> Tally {
        self.unsent
    }
}

/// The longest frame of an interface of this `mtu`, in bytes, tags and all.
const fn longest(mtu: usize) -> usize {
    mtu.saturating_add(ETHERNET + 2 * TAG)
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
