//! Which flows send most, in memory that does not grow with their number: a fixed table of
//! counters.
//!
//! The counters are Misra and Gries's (Finding repeated elements, 1982) with lengths for weights.
//! When the table is full it is thinned (Anderson and others, A high-performance algorithm for
//! identifying frequent items in data streams, 2017). What the median counter has is taken from
//! all, and the half that then has nothing goes. A frame costs a look-up, and a thinning makes room
//! for half a table of new flows, so that forged senders cost some nanoseconds a frame.
//!
//! **Bound.** A thinning takes the median from at least half of the [`MOST`] counters. So all
//! thinnings together have taken no more than `arrived / (MOST / 2)`, about 1 %. So much may be
//! missing from a flow's count, and no more may have come of a flow that has no counter. A count is
//! never more than what came.
//!
//! ```
//! use tidegate_gateway::watch::heavy::Heavy;
//! use tidegate_packet::Ends;
//! let mut heavy = Heavy::new();
//! let ends = Ends::simulated(1, 2, 3, 4);
//! // Half of the frames are of flow 0.
//! (0..10_000).for_each(|number| heavy.arrived(number % 2 * number, 100, 0, &ends));
//! let most = heavy.flows().iter().max_by_key(|flow| flow.bytes).unwrap();
//! assert_eq!(most.hash, 0);
//! assert!(most.bytes <= 500_000 && most.bytes + heavy.unseen() >= 500_000);
//! ```
use tidegate_packet::Ends;

/// So many flows have a counter at most.
pub const MOST: usize = 192;
/// Places of the index: a power of two, more than half of them free, so that what is looked for is
/// found at once.
const PLACES: usize = 512;
/// A place of the index that is free.
const FREE: u8 = u8::MAX;
const _: () = assert!(PLACES.is_power_of_two() && 2 * MOST < PLACES && MOST < FREE as usize);

/// The flows that most has arrived from.
#[derive(Debug)]
pub struct Heavy {
    counters: Vec<CountedFlow>,
    /// Which counter a flow has: looked for from the place that its hash says on, until it is
    /// found or a place is free.
    index: [u8; PLACES],
    /// Where the median is found.
    sizes: Vec<u64>,
    arrived: u64,
    unseen: u64,
}

/// What is known of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedFlow {
    /// Its hash.
    pub hash: u64,
    /// Bytes that have arrived, up to [`Heavy::unseen`] too few.
    pub bytes: u64,
    /// Frames that were [lost](Heavy::lost) since it has a counter.
    pub lost: u32,
    /// Their bytes.
    pub lost_bytes: u64,
    /// The longest of its frames since then, in bytes.
    pub longest: u32,
    /// Its class.
    pub class: u16,
    /// The ends of one of its frames.
    pub ends: Ends,
}

impl Heavy {
    /// Nothing has arrived.
    pub fn new() -> Heavy {
        let (counters, sizes) = (Vec::with_capacity(MOST), Vec::with_capacity(MOST));
        Heavy { counters, index: [FREE; PLACES], sizes, arrived: 0, unseen: 0 }
    }

    /// A frame of `len` bytes between `ends` has arrived, of the flow of this hash. All frames of a
    /// hash are of one `class`.
    #[inline]
    pub fn arrived(&mut self, hash: u64, len: u32, class: u16, ends: &Ends) {
        let bytes = u64::from(len.max(1));
        self.arrived += bytes;
        let at = self.find(hash);
        match self.counters.get_mut(usize::from(self.index[at])) {
            Some(counter) => {
                counter.bytes += bytes;
                counter.longest = counter.longest.max(len);
            }
            None => self.insert(
                at,
                CountedFlow {
                    hash,
                    bytes,
                    longest: len,
                    lost: 0,
                    lost_bytes: 0,
                    class,
                    ends: *ends,
                },
            ),
        }
    }

    /// A frame of `len` bytes of the flow of this hash was lost.
    #[inline]
    pub fn lost(&mut self, hash: u64, len: u32) {
        let at = self.find(hash);
        if let Some(counter) = self.counters.get_mut(usize::from(self.index[at])) {
            counter.lost += 1;
            counter.lost_bytes += u64::from(len);
        }
    }

    /// How many bytes have arrived, of all flows.
    pub fn all(&self) -> u64 {
        self.arrived
    }

    /// So many bytes may be missing from each flow, and have come at most of one that is not told.
    pub fn unseen(&self) -> u64 {
        self.unseen
    }

    /// The flows, in no order.
    pub fn flows(&self) -> &[CountedFlow] {
        &self.counters
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.counters.clear();
        self.index = [FREE; PLACES];
        (self.arrived, self.unseen) = (0, 0);
    }

    /// The place of the flow, or the free one where it would be.
    #[inline]
    fn find(&self, hash: u64) -> usize {
        let mut at = hash as usize % PLACES;
        while self
            .counters
            .get(usize::from(self.index[at]))
            .is_some_and(|counter| counter.hash != hash)
        {
            at = (at + 1) % PLACES;
        }
        at
    }

    fn insert(&mut self, mut at: usize, counter: CountedFlow) {
        if self.counters.len() == MOST {
            self.thin();
            at = self.find(counter.hash);
        }
        self.index[at] = self.counters.len() as u8;
        self.counters.push(counter);
    }

    /// Takes from all counters what the median has.
    #[cold]
    fn thin(&mut self) {
        self.sizes.clear();
        self.sizes.extend(self.counters.iter().map(|counter| counter.bytes));
        let (_, &mut median, _) = self.sizes.select_nth_unstable(MOST / 2);
        self.unseen += median;
        self.counters.retain_mut(|counter| {
            counter.bytes = counter.bytes.saturating_sub(median);
            counter.bytes > 0
        });
        self.index = [FREE; PLACES];
        for number in 0..self.counters.len() {
            let at = self.find(self.counters[number].hash);
            self.index[at] = number as u8;
        }
    }
}

impl Default for Heavy {
    fn default() -> Heavy {
        Heavy::new()
    }
}
