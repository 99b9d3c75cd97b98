//! What an acknowledgement says beside its number (RFC 2018, RFC 6817), and where that is kept
//! while it is under way.

/// The most blocks of one acknowledgement: beside time stamps no more fit (RFC 2018 §3).
pub(crate) const BLOCKS: usize = 3;

/// Segments from the first up to, but not with, the second; none if they are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SackBlock {
    pub from: u32,
    pub to: u32,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// The segment expected next.
    pub ack: u32,
    /// What is there beyond, the most recent first.
    pub blocks: [SackBlock; BLOCKS],
    /// How long the segment that it answers was under way, in microseconds, if the sender goes by
    /// that (RFC 6817 §2.4.1).
    pub delay: Option<u32>,
}

impl Report {
    /// How many blocks it has.
    pub fn count(&self) -> u16 {
        self.blocks.iter().filter(|block| block.from < block.to).count() as u16
    }

    /// One that says nothing else.
    #[inline]
    pub fn plain(ack: u32) -> Report {
        Report { ack, blocks: [SackBlock::default(); BLOCKS], delay: None }
    }
}

/// The reports of acknowledgements that wait or are under way, so that a packet needs no room for
/// them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports {
    reports: Vec<Report>,
    free: Vec<u32>,
}

impl Reports {
    /// Keeps `report`: its place.
    pub fn keep(&mut self, report: Report) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.reports[place as usize] = report;
                place
            }
            None => {
                self.reports.push(report);
                // Some day all of them may be free.
                self.free.reserve(self.reports.len());
                self.reports.len() as u32 - 1
            }
        }
    }

    /// The report at `place`.
    pub fn look(&self, place: u32) -> &Report {
        &self.reports[place as usize]
    }

    /// The report at `place`, for the last time.
    pub fn take(&mut self, place: u32) -> Report {
        self.free.push(place);
        self.reports[place as usize]
    }
}
