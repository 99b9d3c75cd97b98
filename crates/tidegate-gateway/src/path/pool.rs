//! Where waiting frames lie: cells of one size, a frame in as many as it needs, all of them laid
//! out at the start.
//!
//! Cells suit frames of 64 and of 9000 bytes alike, without room for the longest being kept for
//! each. However frames come and go, none is lost to fragmentation: what is free is usable. The
//! first cells are touched at once, so that no frame waits for the system to find a page for it.
//! Those beyond are touched only when frames wait so deep.
//!
//! ```
//! use tidegate_gateway::path::pool::FramePool;
//! let mut pool = FramePool::new(4, 1514);
//! let slot = pool.put(&[7; 600]).unwrap();
//! assert_eq!(pool.bytes(slot), [7; 600]);
//! assert!(pool.put(&[8; 600]).is_none(), "it needs three of the four cells, and one is left");
//! pool.free(slot);
//! assert!(pool.has_room(1024));
//! ```
use serde::{Deserialize, Serialize};

/// Bytes in a cell: most headers and small frames fit one, a full frame of Ethernet takes six.
pub const CELL: usize = 256;
/// Cells that are touched at the start: 128 MiB of them, what 300 Mbit/s send in three seconds.
pub(crate) const TOUCHED: usize = 1 << 19;
/// The least that memory is found by, in bytes.
const PAGE: usize = 4096;
/// No cell.
const NONE: u32 = u32::MAX;

/// The memory that was laid out for waiting frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameMemory {
    /// Taken by frames now, in bytes.
    pub used_bytes: u64,
    /// In all, in bytes.
    pub bytes: u64,
}

impl FrameMemory {
    /// How much of `pool` is taken.
    pub(crate) fn of(pool: &FramePool) -> FrameMemory {
        let memory = |cells: u32| FramePool::memory(cells.into());
        FrameMemory { used_bytes: memory(pool.used()), bytes: memory(pool.cells()) }
    }
}

/// Frames that wait. One is known by its slot, the number of its first cell.
#[derive(Debug)]
pub struct FramePool {
    cells: Vec<u8>,
    /// The cell after this one, in a frame or in the list of free ones.
    next: Vec<u32>,
    /// The length of the frame that begins in this cell.
    lengths: Vec<u32>,
    /// What was noted of the frame that begins in this cell; 0 until something is.
    notes: Vec<u8>,
    /// Used before and free now.
    free: u32,
    /// Cells from here on were never used.
    fresh: u32,
    unused: u32,
    /// Where a frame of several cells is put together.
    whole: Vec<u8>,
}

impl FramePool {
    /// A pool of `cells` cells for frames of up to `longest` bytes.
    pub fn new(cells: u32, longest: u32) -> FramePool {
        let cells = cells.min(NONE - 1);
        let n = cells as usize;
        let longest = (longest as usize).next_multiple_of(CELL);
        let mut pool = FramePool {
            cells: vec![0; n * CELL],
            next: vec![0; n],
            lengths: vec![0; n],
            notes: vec![0; n],
            free: NONE,
            fresh: 0,
            unused: cells,
            whole: vec![0; longest],
        };
        let first = n.min(TOUCHED);
        touch(&mut pool.cells[..first * CELL], 1);
        touch(&mut pool.next[..first], 1);
        touch(&mut pool.lengths[..first], 1);
        touch(&mut pool.notes[..first], 1);
        pool
    }

    /// How many cells a frame of `len` bytes takes.
    #[inline]
    pub const fn cells_for(len: u32) -> u32 {
        if len as usize <= CELL { 1 } else { len.div_ceil(CELL as u32) }
    }

    /// The memory that a pool of so many cells takes when all of them were used, in bytes.
    pub const fn memory(cells: u64) -> u64 {
        cells.saturating_mul(CELL as u64 + 9)
    }

    /// Whether a frame of `len` bytes fits.
    #[inline]
    pub fn has_room(&self, len: u32) -> bool {
        FramePool::cells_for(len) <= self.unused && len as usize <= self.whole.len()
    }

    /// Puts a frame in; its slot, or `None` if it does not fit.
    pub fn put(&mut self, bytes: &[u8]) -> Option<u32> {
        if !self.has_room(bytes.len() as u32) {
            return None;
        }
        let slot = self.take();
        self.fill(slot, bytes);
        Some(slot)
    }

    /// Takes a cell for a frame that may yet be refused: [`fill`](FramePool::fill) or
    /// [`give_back`](FramePool::give_back) comes next. There must be [room](FramePool::has_room)
    /// for the frame.
    #[inline]
    pub(crate) fn take(&mut self) -> u32 {
        self.unused -= 1;
        let cell = match self.free {
            NONE => {
                self.fresh += 1;
                self.fresh - 1
            }
            used => {
                self.free = self.next[used as usize];
                used
            }
        };
        self.notes[cell as usize] = 0;
        cell
    }

    /// Gives a cell back that was [taken](FramePool::take) and not filled.
    #[inline]
    pub(crate) fn give_back(&mut self, cell: u32) {
        self.next[cell as usize] = self.free;
        self.free = cell;
        self.unused += 1;
    }

    /// Fills a cell that was [taken](FramePool::take), and more if needed, with a frame. When it
    /// was taken there was room for the frame.
    pub(crate) fn fill(&mut self, slot: u32, bytes: &[u8]) {
        self.lengths[slot as usize] = bytes.len() as u32;
        let mut cell = slot;
        let mut parts = bytes.chunks(CELL);
        let first = parts.next().unwrap_or_default();
        self.write(cell, first);
        for part in parts {
            let following = self.take();
            self.next[cell as usize] = following;
            self.write(following, part);
            cell = following;
        }
    }

    #[inline]
    fn write(&mut self, cell: u32, part: &[u8]) {
        self.cells[cell as usize * CELL..][..part.len()].copy_from_slice(part);
    }

    /// How many cells there are.
    pub fn cells(&self) -> u32 {
        self.next.len() as u32
    }

    /// How many of them are taken.
    pub fn used(&self) -> u32 {
        self.cells() - self.unused
    }

    /// The longest frame that there is room for, in bytes.
    pub fn longest(&self) -> u32 {
        self.whole.len() as u32
    }

    /// Lets frames of up to `longest` bytes in, if it did not: they find as many cells as there
    /// are.
    pub(crate) fn reach(&mut self, longest: u32) {
        let longest = (longest as usize).next_multiple_of(CELL).max(self.whole.len());
        self.whole.resize(longest, 0);
    }

    /// Keeps a note with the frame that is, or is about to be, in `slot`.
    #[inline]
    pub fn write_note(&mut self, slot: u32, note: u8) {
        self.notes[slot as usize] = note;
    }

    /// The note kept with the frame in `slot`; 0 if there is none.
    #[inline]
    pub fn note(&self, slot: u32) -> u8 {
        self.notes[slot as usize]
    }

    /// Lets the frames in two slots, with their notes, change places.
    pub(crate) fn exchange(&mut self, one: u32, other: u32) {
        let (one, other) = (one as usize, other as usize);
        let mut cell = [0; CELL];
        cell.copy_from_slice(&self.cells[one * CELL..][..CELL]);
        self.cells.copy_within(other * CELL..(other + 1) * CELL, one * CELL);
        self.cells[other * CELL..][..CELL].copy_from_slice(&cell);
        self.next.swap(one, other);
        self.lengths.swap(one, other);
        self.notes.swap(one, other);
    }

    /// How many cells were used at any time: the first.
    pub(crate) fn reached(&self) -> u32 {
        self.fresh
    }

    /// The length of the frame in `slot`, in bytes.
    #[inline]
    pub fn len(&self, slot: u32) -> u32 {
        self.lengths[slot as usize]
    }

    /// The frame in `slot`.
    #[inline]
    pub fn bytes(&mut self, slot: u32) -> &[u8] {
        let len = self.lengths[slot as usize] as usize;
        if len <= CELL {
            return &self.cells[slot as usize * CELL..][..len];
        }
        let mut cell = slot as usize;
        for at in (0..len).step_by(CELL) {
            self.whole[at..][..CELL].copy_from_slice(&self.cells[cell * CELL..][..CELL]);
            cell = self.next[cell] as usize;
        }
        &self.whole[..len]
    }

    /// The beginning of the frame in `slot`, as far as its first cell goes.
    #[inline]
    pub fn beginning(&mut self, slot: u32) -> &mut [u8] {
        let len = (self.lengths[slot as usize] as usize).min(CELL);
        &mut self.cells[slot as usize * CELL..][..len]
    }

    /// Forgets the frame in `slot`.
    #[inline]
    pub fn free(&mut self, slot: u32) {
        let mut cell = slot;
        for _ in 0..FramePool::cells_for(self.lengths[slot as usize]) {
            let following = self.next[cell as usize];
            self.give_back(cell);
            cell = following;
        }
    }

    /// Goes on in `larger`, which has more cells and nothing in it; what waits keeps its slot. What
    /// is left over is to be given back where that may take its time.
    pub(crate) fn grow(&mut self, mut larger: FramePool) -> FramePool {
        larger.reach(self.longest());
        if self.is_empty() {
            return std::mem::replace(self, larger);
        }
        let used = self.fresh as usize;
        larger.cells[..used * CELL].copy_from_slice(&self.cells[..used * CELL]);
        larger.next[..used].copy_from_slice(&self.next[..used]);
        larger.lengths[..used].copy_from_slice(&self.lengths[..used]);
        larger.notes[..used].copy_from_slice(&self.notes[..used]);
        larger.unused -= self.cells() - self.unused;
        (larger.free, larger.fresh) = (self.free, self.fresh);
        std::mem::replace(self, larger)
    }

    /// Whether no frame waits.
    pub fn is_empty(&self) -> bool {
        self.unused as usize == self.next.len()
    }
}

/// Writes something into every page of `list`: the system finds memory for a page when it is first
/// written to. What stands in a free cell means nothing.
fn touch<T: Copy>(list: &mut [T], something: T) {
    list.iter_mut().step_by(PAGE / size_of::<T>()).for_each(|item| *item = something);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::Rng;

    #[test]
    fn frames_of_all_lengths_come_back_as_they_were_and_no_cell_is_ever_lost() {
        let mut dice = Rng::from_seed(1);
        let mut pool = FramePool::new(500, 9018);
        let mut inside: Vec<(u32, Vec<u8>)> = Vec::new();
        let mut refused = 0;
        for _ in 0..100_000 {
            if dice.chance(0.6) || inside.is_empty() {
                let len =
                    [dice.below(64), dice.below(1514), dice.below(9018)][dice.below(3) as usize];
                let frame: Vec<u8> = (0..len).map(|_| dice.bits() as u8).collect();
                match pool.put(&frame) {
                    Some(slot) => inside.push((slot, frame)),
                    None => refused += 1,
                }
            } else {
                let (slot, frame) = inside.swap_remove(dice.below(inside.len() as u64) as usize);
                assert_eq!(pool.len(slot), frame.len() as u32);
                assert_eq!(pool.bytes(slot), frame);
                pool.free(slot);
            }
            let used: u32 =
                inside.iter().map(|(_, frame)| FramePool::cells_for(frame.len() as u32)).sum();
            assert_eq!(pool.unused, 500 - used);
        }
        assert!(refused > 1000, "the pool was never full: {refused}");
        inside.drain(..).for_each(|(slot, _)| pool.free(slot));
        assert!(pool.is_empty());
    }

    #[test]
    fn what_waits_stays_where_it_is_when_there_is_more_room() {
        let mut dice = Rng::from_seed(2);
        let mut pool = FramePool::new(40, 1514);
        let mut inside: Vec<(u32, Vec<u8>)> = Vec::new();
        for cells in [60, 61, 300] {
            for _ in 0..500 {
                let frame: Vec<u8> = (0..dice.below(1514)).map(|_| dice.bits() as u8).collect();
                if let Some(slot) = pool.put(&frame) {
                    inside.push((slot, frame));
                }
                while inside.len() > 6 {
                    let (slot, frame) =
                        inside.swap_remove(dice.below(inside.len() as u64) as usize);
                    assert_eq!(pool.bytes(slot), frame);
                    pool.free(slot);
                }
            }
            let old = pool.grow(FramePool::new(cells, 1514));
            assert_eq!(pool.unused - old.unused, cells - old.cells());
        }
        for (slot, frame) in inside {
            assert_eq!(pool.bytes(slot), frame);
            pool.free(slot);
        }
        assert!(pool.is_empty() && pool.cells() == 300);
        let slots: Vec<u32> = (0..300).map(|_| pool.put(&[1; 200]).unwrap()).collect();
        assert_eq!(
            slots.iter().collect::<std::collections::BTreeSet<_>>().len(),
            300,
            "each cell once"
        );
    }

    #[test]
    fn frames_that_change_places_take_their_cells_and_notes_along() {
        let mut dice = Rng::from_seed(3);
        let mut pool = FramePool::new(40, 1514);
        let lens = [0, 1, 255, 256, 257, 900, 1514];
        let mut frames: Vec<(u32, Vec<u8>)> = lens
            .map(|len| (0..len).map(|_| dice.bits() as u8).collect::<Vec<u8>>())
            .map(|frame| (pool.put(&frame).unwrap(), frame))
            .into();
        frames.iter().for_each(|(slot, frame)| pool.write_note(*slot, (frame.len() % 7) as u8));
        for _ in 0..1000 {
            let [one, other] = [(); 2].map(|()| dice.below(lens.len() as u64) as usize);
            pool.exchange(frames[one].0, frames[other].0);
            let slots = (frames[one].0, frames[other].0);
            (frames[other].0, frames[one].0) = slots;
            for (slot, frame) in &frames {
                assert_eq!(pool.note(*slot) as usize, frame.len() % 7);
                assert_eq!(pool.bytes(*slot), frame);
            }
        }
        frames.into_iter().for_each(|(slot, _)| pool.free(slot));
        assert!(pool.is_empty());
        let slots: Vec<u32> = (0..40).map(|_| pool.put(&[1; 200]).unwrap()).collect();
        assert_eq!(
            slots.iter().collect::<std::collections::BTreeSet<_>>().len(),
            40,
            "each cell once"
        );
    }

    #[test]
    fn longer_frames_fit_from_when_they_are_to() {
        let mut pool = FramePool::new(40, 1514);
        let (short, long) = (vec![7; 1514], vec![8; 5000]);
        let waits = pool.put(&short).unwrap();
        assert_eq!(pool.put(&long), None);
        pool.reach(5018);
        let slot = pool.put(&long).unwrap();
        pool.reach(1518);
        assert_eq!(
            (pool.longest(), pool.bytes(slot)),
            (5120, &long[..]),
            "it reaches no less than before"
        );
        // A pool with more cells that was laid out for the old length.
        pool.grow(FramePool::new(80, 1514));
        assert_eq!((pool.longest(), pool.bytes(slot)), (5120, &long[..]));
        assert_eq!(pool.bytes(waits), short);
    }

    #[test]
    fn a_cell_taken_in_vain_goes_back() {
        let mut pool = FramePool::new(1, 100);
        let cell = pool.take();
        assert!(!pool.has_room(1));
        pool.give_back(cell);
        let slot = pool.put(&[]).unwrap();
        assert!(pool.bytes(slot).is_empty());
        assert!(!pool.has_room(1));
        pool.free(slot);
        assert!(!pool.has_room(300), "longer than the longest");
    }
}
