//! One end of the wire: where frames come in and go out.
use std::{fmt, io};

/// An Ethernet header and two tags, which an MTU leaves out, in bytes.
pub(crate) const HEADER: u32 = 14 + 2 * 4;

use tidegate::Time;

use crate::watch::counters::Tally;

/// A network device, or what stands for one in a test.
///
/// Frames are whole Ethernet frames without the frame check sequence, tags included, byte for byte
/// as on the wire.
pub trait Port {
    /// How many frames have arrived that were not received yet, counted up to `most`. Never waits,
    /// takes nothing.
    ///
    /// A forwarder counts first, then reads the clock. By the clock it judges whether the kernel's
    /// program still left the frames to us, and it receives no more than were counted. So a process
    /// that is stopped between any two of these steps never sends on what the kernel has forwarded
    /// in the meantime.
    fn waiting(&mut self, most: usize) -> usize;

    /// How many frames there are up to the last that has arrived. Frames before it that are still
    /// being written count, for a device with several queues may finish a later one first. Never
    /// waits, takes nothing.
    fn begun(&mut self) -> usize {
        self.waiting(usize::MAX)
    }

    /// Shows up to `most` frames that have arrived to `take`, oldest first; how many there were.
    /// Never waits.
    ///
    /// # Errors
    /// The device is gone or down; it may come back.
    fn receive(
        &mut self,
        most: usize,
        take: &mut impl FnMut(ReceivedFrame<'_>),
    ) -> io::Result<usize>;

    /// Takes `frame` to be sent, in order, no later than the next [`flush`](Port::flush).
    ///
    /// # Errors
    /// Why not: it is not sent then, now or later.
    fn send(&mut self, frame: &[u8]) -> Result<(), Unsent>;

    /// Sends what [`send`](Port::send) took. Never waits.
    ///
    /// # Errors
    /// The device is gone or down; what could not be sent is counted in [`unsent`](Port::unsent).
    fn flush(&mut self) -> io::Result<()>;

    /// What somebody has changed at the device since this was called last. It goes on with that as
    /// well as it can; called now and then, not for each frame.
    fn altered(&mut self) -> Option<Altered> {
        None
    }

    /// Frames that arrived but that the kernel had no room for, since the beginning.
    fn missed(&mut self) -> u64;

    /// Frames that were taken by [`send`](Port::send) and could not be sent after all, since the
    /// beginning.
    fn unsent(&self) -> Tally;
}

/// What somebody has changed at a device while it was in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Altered {
    /// It has this name now.
    Name(String),
    /// It carries packets of up to so many bytes now, fewer than before.
    Shrunk(u32),
    /// It carries packets of up to so many bytes now, more than before, and so do we.
    Grown(u32),
    /// It carries packets of up to so many bytes now, and we still only those that we carried
    /// before: why.
    Outgrown(u32, String),
}

impl Altered {
    /// How long packets are that we carry now and did not before, in bytes.
    pub fn grown(&self) -> Option<u32> {
        if let Altered::Grown(mtu) = self { Some(*mtu) } else { None }
    }
}

impl fmt::Display for Altered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Altered::Name(name) => write!(f, "it is called {name} now; the gate goes on"),
            Altered::Shrunk(mtu) => {
                write!(f, "its MTU is {mtu} B now; longer packets to it are lost (too_long)")
            }
            Altered::Grown(mtu) => {
                write!(f, "its MTU is {mtu} B now; the gate goes on with packets so long")
            }
            Altered::Outgrown(mtu, why) => {
                write!(
                    f,
                    "its MTU is {mtu} B now, and longer packets than before are lost (cut_off): \
                     {why}; start the gate anew"
                )
            }
        }
    }
}

/// A frame that has arrived.
#[derive(Debug)]
pub struct ReceivedFrame<'a> {
    /// Its bytes, cut off if the device had no room for all of them.
    pub bytes: &'a [u8],
    /// Its length on the wire in bytes; more than `bytes.len()` if it was cut off, and then it
    /// cannot be sent on.
    pub wire_len: u32,
    /// When the kernel took it from the wire, by the clock of the day (from 1970 on); zero where
    /// nobody says. For meters: what decides goes by the time at which a frame is received.
    pub stamp: Time,
    /// Whether its checksum is still to be filled in: the sender leaves that to hardware that is
    /// not there.
    pub checksum_missing: bool,
}

/// Why a frame was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// There is no room until frames before it are sent.
    Full,
    /// The device carries no frame of this length.
    Length,
}

impl fmt::Display for Unsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unsent::Full => "there is no room until frames before it are sent",
            Unsent::Length => "the device carries no frame of this length",
        })
    }
}

impl std::error::Error for Unsent {}
