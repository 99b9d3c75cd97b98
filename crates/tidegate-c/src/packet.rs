//! Packets and what becomes of them, as C sees them.
use std::ffi::{c_char, c_int};

use tidegate::{DropReason, Ecn, Hosts, MarkReason, Time};

use crate::failure::{Failure, Status};

/// No time: nothing is waited for.
pub const NEVER: u64 = u64::MAX;

/// The shortest and the longest packet, in bytes: an IP header, and what it can say.
const LENGTHS: std::ops::RangeInclusive<u32> = 20..=65_535;

/// The highest DiffServ code point: six bits.
const MOST_DSCP: u8 = 63;

/// What a queue knows of a packet. Set all fields; those that you do not use are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Packet {
    /// The flow: equal for all packets of a flow, different for different flows. Where others
    /// choose what makes a flow, a keyed hash of that.
    pub flow: u64,
    /// When it was offered, in nanoseconds. Read only in what comes back.
    pub arrived: u64,
    /// Length on the wire in bytes, headers included: 20 to 65535.
    pub len: u32,
    /// Yours: comes back as it was. No queue reads it.
    pub slot: u32,
    /// The class of service; most queues ignore it.
    pub service_class: u16,
    /// The host that sends, by a number or a keyed hash of its address, for a queue that goes by
    /// hosts. If both hosts are 0, the flow has two of its own. What comes back has 0.
    pub source: u16,
    /// The host that receives, likewise.
    pub destination: u16,
    /// The ECN codepoint: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE. Higher bits are ignored, so that a
    /// TOS byte will do. A queue that marks sets 3.
    pub ecn: u8,
    /// The DiffServ code point, 0 to 63: the TOS byte without its two lowest bits. For a queue that
    /// goes by code points, as cake does.
    pub dscp: u8,
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Outcome {
    /// It has reached the other end.
    Delivered = 0,
    /// It was lost on the way, at random.
    Lost = 1,
    /// The queue dropped it.
    Dropped = 2,
    /// The queue marked it. It stays in the queue, or leaves by the same call.
    Marked = 3,
    /// What this header does not know.
    Other = 255,
}

/// Why a packet was dropped or marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Reason {
    /// It was neither dropped nor marked.
    None = 0,
    /// The hard limit: there was no room.
    Overlimit = 1,
    /// A rule rolled the dice.
    Early = 2,
    /// A rule was certain.
    Forced = 3,
    /// Every bin of the flow was full (SFB).
    BinFull = 4,
    /// The flow is judged unresponsive and had no token left.
    Penalty = 5,
    /// The flow holds more than its share.
    Unfair = 6,
    /// Evicted to make room for another packet.
    Evicted = 7,
    /// What this header does not know.
    Other = 255,
}

/// What waits in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Backlog {
    /// Their lengths added up, in bytes.
    pub bytes: u64,
    /// Waiting packets.
    pub packets: u32,
}

impl Packet {
    /// As the library has it; a status if that cannot be.
    ///
    /// # Safety
    /// `packet` is null or valid.
    #[inline]
    pub(crate) unsafe fn read(packet: *const Packet) -> Result<tidegate::Packet, Status> {
        // SAFETY: the caller says that it is valid if it is not null.
        let Some(packet) = (unsafe { packet.as_ref() }) else {
            return Err(Failure::null("packet").keep());
        };
        if !LENGTHS.contains(&packet.len) || packet.dscp > MOST_DSCP {
            return Err(packet.out_of_range());
        }
        Ok(tidegate::Packet::new(packet.flow, packet.len)
            .with_slot(packet.slot)
            .with_class(packet.service_class)
            .with_hosts(Hosts::new(packet.source, packet.destination))
            .with_ecn(Ecn::from_bits(packet.ecn))
            .with_dscp(packet.dscp))
    }

    #[cold]
    fn out_of_range(&self) -> Status {
        let (len, least, most) = (self.len, LENGTHS.start(), LENGTHS.end());
        let why = if LENGTHS.contains(&len) {
            format!("dscp = {}: must lie in 0 to {MOST_DSCP}", self.dscp)
        } else {
            format!("len = {len}: must lie in {least} to {most} bytes")
        };
        Failure::new(Status::OutOfRange, why).keep()
    }
}

impl From<tidegate::Packet> for Packet {
    #[inline]
    fn from(packet: tidegate::Packet) -> Packet {
        Packet {
            flow: packet.flow,
            arrived: packet.arrived.as_nanos(),
            len: packet.len,
            slot: packet.slot,
            service_class: packet.class,
            // Where they were is the queue's own by now.
            source: 0,
            destination: 0,
            ecn: packet.ecn as u8,
            dscp: packet.dscp,
        }
    }
}

impl From<DropReason> for Reason {
    #[inline]
    fn from(why: DropReason) -> Reason {
        match why {
            DropReason::Overlimit => Reason::Overlimit,
            DropReason::Early => Reason::Early,
            DropReason::Forced => Reason::Forced,
            DropReason::BinFull => Reason::BinFull,
            DropReason::Penalty => Reason::Penalty,
            DropReason::Unfair => Reason::Unfair,
            DropReason::Evicted => Reason::Evicted,
            _ => Reason::Other,
        }
    }
}

impl From<MarkReason> for Reason {
    #[inline]
    fn from(why: MarkReason) -> Reason {
        why.as_drop().into()
    }
}

impl From<tidegate::Backlog> for Backlog {
    fn from(backlog: tidegate::Backlog) -> Backlog {
        Backlog { bytes: backlog.bytes, packets: backlog.packets }
    }
}

/// A time that may not come.
pub(crate) fn or_never(time: Option<Time>) -> u64 {
    time.map_or(NEVER, Time::as_nanos)
}

/// A reason as a word, as in "bin_full"; "none" for 0, "other" for what this library does not know.
/// The text stays for ever.
#[unsafe(no_mangle)]
pub extern "C" fn tidegate_reason_name(reason: c_int) -> *const c_char {
    let names = [
        c"none",
        c"overlimit",
        c"early",
        c"forced",
        c"bin_full",
        c"penalty",
        c"unfair",
        c"evicted",
    ];
    usize::try_from(reason).ok().and_then(|at| names.get(at)).unwrap_or(&c"other").as_ptr()
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn name(reason: Reason) -> &'static str {
        // SAFETY: it ends with a zero byte and stays for ever.
        unsafe { CStr::from_ptr(tidegate_reason_name(reason as c_int)) }.to_str().unwrap()
    }

    #[test]
    fn every_reason_has_the_librarys_name() {
        for &why in DropReason::ALL {
            assert_eq!(name(why.into()), why.name());
        }
        for &why in MarkReason::ALL {
            assert_eq!(name(why.into()), why.name());
        }
        assert_eq!((name(Reason::None), name(Reason::Other)), ("none", "other"));
    }
}
