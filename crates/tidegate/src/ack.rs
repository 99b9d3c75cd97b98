//! What a TCP segment acknowledges, for a queue that asks for it ([`Asks::acks`](crate::Asks)).

/// The most blocks of a selective acknowledgement: no more fit into a header (RFC 2018 §3).
const BLOCKS: usize = 4;

/// What a segment of TCP acknowledges. Numbers wrap around at 2^32.
///
/// A driver makes one of every segment with the flag ACK and without SYN.
///
/// ```
/// use tidegate::Ack;
/// let ack = Ack::new(0xc0, 1_000).with_blocks(&[[2_000, 3_000]]).with_stamps(Some([7, 6]));
/// assert_eq!((ack.number(), ack.blocks().len(), ack.is_pure()), (1_000, 1, true));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    connection: u64,
    number: u32,
    blocks: [[u32; 2]; BLOCKS],
    count: u8,
    echo: u8,
    says_more: bool,
    stamps: Option<[u32; 2]>,
}

impl Ack {
    /// Of all before `number`, in one direction of `connection`: a keyed hash of addresses and
    /// ports, whatever the flow key is. It says nothing else.
    pub const fn new(connection: u64, number: u32) -> Ack {
        let blocks = [[0; 2]; BLOCKS];
        Ack { connection, number, blocks, count: 0, echo: 0, says_more: false, stamps: None }
    }

    /// The same with selective acknowledgements (RFC 2018) of the first number of each block up to,
    /// but not with, the second. The first four count.
    pub fn with_blocks(mut self, blocks: &[[u32; 2]]) -> Ack {
        let count = blocks.len().min(BLOCKS);
        self.blocks = [[0; 2]; BLOCKS];
        self.blocks[..count].copy_from_slice(&blocks[..count]);
        self.count = count as u8;
        self
    }

    /// The same with the time stamp of the segment and the one that it echoes (RFC 7323).
    pub const fn with_stamps(self, stamps: Option<[u32; 2]>) -> Ack {
        Ack { stamps, ..self }
    }

    /// The same with these ECN flags: ECE and CWR, in any two bits (RFC 3168 §6.1).
    pub const fn with_echo(self, echo: u8) -> Ack {
        Ack { echo, ..self }
    }

    /// The same on a segment that says more: it has data, other flags, or options that are not
    /// known to say nothing.
    pub const fn saying_more(self) -> Ack {
        Ack { says_more: true, ..self }
    }

    /// Whose it is.
    pub const fn connection(&self) -> u64 {
        self.connection
    }

    /// Up to, but not with, which number everything has come.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// What has come beyond.
    pub fn blocks(&self) -> &[[u32; 2]] {
        &self.blocks[..self.count as usize]
    }

    /// Its ECN flags.
    pub const fn echo(&self) -> u8 {
        self.echo
    }

    /// Its time stamp and the one that it echoes.
    pub const fn stamps(&self) -> Option<[u32; 2]> {
        self.stamps
    }

    /// Whether the segment says nothing else.
    pub const fn is_pure(&self) -> bool {
        !self.says_more
    }
}
