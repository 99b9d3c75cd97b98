//! The receive ring's memory: slots that belong to the kernel until it has put a frame into them,
//! then to us.
// memory shared with the kernel: what each access is trusted with stands beside it
#![allow(unsafe_code)]

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::tpacket2_hdr;

use super::TAG;
use tidegate::Time;

use crate::device::port::ReceivedFrame;
use crate::machine::system::{self, SharedMemory};

/// Where the tag stands in a frame: behind the two addresses.
const ADDRESSES: usize = 12;
/// Slots are a multiple of a cache line apart.
const LINE: usize = 64;
/// Where in its slot a frame begins: on a cache line's boundary, so that the shortest take no more
/// than one.
const START: usize = 2 * LINE;
/// The headroom that makes it so. The kernel leaves room for its header, an address and 16 bytes,
/// up to a multiple of 16, then for this; there the Ethernet header ends. A tag that the kernel has
/// taken out of the frame is put back here.
const HEADROOM: usize = START + super::ETHERNET - (libc::TPACKET2_HDRLEN + 16).next_multiple_of(16);
/// What the kernel is asked for at a time: big enough to waste little, small enough to be found.
const BLOCK: usize = 256 << 10;
/// Memory that a ring takes at most: slots for the longest frames there are would take a quarter of
/// a gigabyte.
const MOST: usize = 64 << 20;
/// The longest frame that a ring is laid out for: the largest MTU of a device that is no toy, and
/// two tags.
const LONGEST: usize = (1 << 16) + super::ETHERNET + 2 * TAG;
/// How many slots ahead the frame is fetched into the cache: the sender's core has written it.
const AHEAD: usize = 3;

/// The slots of a receive ring.
#[derive(Debug)]
pub struct Slots {
    memory: SharedMemory,
    /// Bytes from one slot to the next, and what fits into a block.
    size: usize,
    per_block: usize,
    block: usize,
    count: usize,
    /// The slot that the kernel fills next, or has filled first.
    next: usize,
}

impl Slots {
    /// Lays out about `count` slots for frames of up to `longest` bytes in the ring of `socket`,
    /// fewer if they would take more than 64 MiB.
    pub fn new(socket: BorrowedFd<'_>, count: usize, longest: usize) -> io::Result<Slots> {
        if longest > LONGEST {
            let why = format!(
                "its MTU of {} bytes is too large: may be at most {}",
                of_mtu(longest),
                of_mtu(LONGEST)
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let set = |name, value: i32| system::set_option(socket, libc::SOL_PACKET, name, value);
        set(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as i32)?;
        set(libc::PACKET_RESERVE, HEADROOM as i32)?;
        let SlotLayout { size, per_block, block, blocks } = SlotLayout::new(count, longest);
        let layout = libc::tpacket_req {
            tp_block_size: block as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: size as u32,
            tp_frame_nr: (blocks * per_block) as u32,
        };
        system::set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, layout)?;
        let memory = SharedMemory::new(socket, blocks * block)?;
        Ok(Slots { memory, size, per_block, block, count: blocks * per_block, next: 0 })
    }

    /// Memory that about `count` slots for frames of up to `longest` bytes take, in bytes.
    pub const fn memory(count: usize, longest: usize) -> usize {
        let SlotLayout { block, blocks, .. } = SlotLayout::new(count, longest);
        block * blocks
    }

    /// How many slots are filled, counted up to `most`.
    pub fn waiting(&self, most: usize) -> usize {
        let most = most.min(self.count);
        (0..most).take_while(|&ahead| self.is_ours(self.slot(ahead))).count()
    }

    /// How many slots there are up to the last that is filled. Looks at all.
    pub fn begun(&self) -> usize {
        (0..self.count)
            .rev()
            .find(|&ahead| self.is_ours(self.slot(ahead)))
            .map_or(0, |last| last + 1)
    }

    /// Shows the oldest frame to `take` and gives its slot back; whether there was one.
    pub fn next(&mut self, take: &mut impl FnMut(ReceivedFrame<'_>)) -> bool {
        let slot = self.slot(0);
        if !self.is_ours(slot) {
            return false;
        }
        self.fetch(self.slot(AHEAD));
        // SAFETY: the slot is ours until its status says otherwise, which only the line below this
        // makes it say.
        take(unsafe { frame(slot, self.size) });
        status(slot).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = if self.next + 1 == self.count { 0 } else { self.next + 1 };
        true
    }

    /// The slot `ahead` of the next one; there are more slots than that.
    fn slot(&self, ahead: usize) -> NonNull<u8> {
        let index = self.next + ahead;
        let index = if index >= self.count { index - self.count } else { index };
        let offset = index / self.per_block * self.block + index % self.per_block * self.size;
        debug_assert!(offset + self.size <= self.memory.len(), "a slot outside the ring");
        // SAFETY: `index` is below `count`, so the slot lies in its block and that in the memory.
        unsafe { self.memory.start().add(offset) }
    }

    /// Whether the kernel has handed this slot over; if so what it wrote before is seen.
    fn is_ours(&self, slot: NonNull<u8>) -> bool {
        status(slot).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// Asks for the first bytes of a frame; the slot need not be ours yet.
    fn fetch(&self, slot: NonNull<u8>) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: inside the slot; a prefetch reads nothing that the program could see.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(slot.as_ptr().cast());
            _mm_prefetch::<_MM_HINT_T0>(slot.as_ptr().add(START).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = slot;
    }
}

/// How slots lie in memory.
struct SlotLayout {
    size: usize,
    per_block: usize,
    block: usize,
    blocks: usize,
}

impl SlotLayout {
    /// About `count` slots for frames of up to `longest` bytes, at most [`LONGEST`].
    const fn new(count: usize, longest: usize) -> SlotLayout {
        // An odd number of lines, so that the slots' first lines do not fight for the same places
        // in the cache.
        let size = ((START + longest).div_ceil(LINE) | 1) * LINE;
        let block = if size > BLOCK { size.next_power_of_two() } else { BLOCK };
        let per_block = block / size;
        let most = MOST / size;
        let count = if count < AHEAD + 1 { AHEAD + 1 } else { count };
        let count = if count > most { most } else { count };
        SlotLayout { size, per_block, block, blocks: count.div_ceil(per_block) }
    }
}

const fn of_mtu(longest: usize) -> usize {
    longest - super::ETHERNET - 2 * TAG
}

/// The word that says who owns a slot.
fn status<'a>(slot: NonNull<u8>) -> &'a AtomicU32 {
    // SAFETY: a slot begins with this word, on a cache line's boundary, and both sides access it
    // atomically. It lives as long as the ring, and callers drop it at once.
    unsafe { AtomicU32::from_ptr(slot.cast().as_ptr()) }
}

/// The frame in `slot`, whose tag is put back where it was on the wire.
///
/// # Safety
/// The slot, of `size` bytes, is ours for as long as what is returned lives.
unsafe fn frame<'a>(slot: NonNull<u8>, size: usize) -> ReceivedFrame<'a> {
    // SAFETY: a slot begins with this header, aligned to a cache line; the kernel filled it before
    // it gave it to us.
    let header = unsafe { slot.cast::<tpacket2_hdr>().read() };
    // What the kernel says lies in the slot; the bounds hold even if it should not.
    let start = (header.tp_mac as usize).clamp(libc::TPACKET2_HDRLEN, size);
    let kept = (header.tp_snaplen as usize).min(size - start);
    // SAFETY: inside the slot, which is ours, and behind the header with its status: that begins 48
    // bytes earlier.
    let bytes =
        unsafe { std::slice::from_raw_parts_mut(slot.as_ptr().add(start - TAG), TAG + kept) };
    let tagged = header.tp_status & libc::TP_STATUS_VLAN_VALID != 0 && kept >= ADDRESSES;
    let (bytes, added) = if tagged { (bytes, TAG) } else { (&mut bytes[TAG..], 0) };
    if tagged {
        bytes.copy_within(TAG..TAG + ADDRESSES, 0);
        let tpid = match header.tp_status & libc::TP_STATUS_VLAN_TPID_VALID {
            0 => u16::from_be_bytes(super::DOT1Q),
            _ => header.tp_vlan_tpid,
        };
        bytes[ADDRESSES..ADDRESSES + 2].copy_from_slice(&tpid.to_be_bytes());
        bytes[ADDRESSES + 2..ADDRESSES + TAG].copy_from_slice(&header.tp_vlan_tci.to_be_bytes());
    }
    ReceivedFrame {
        bytes,
        wire_len: header.tp_len + added as u32,
        stamp: Time::from_nanos(
            u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
        ),
        checksum_missing: header.tp_status & libc::TP_STATUS_CSUMNOTREADY != 0,
    }
}
