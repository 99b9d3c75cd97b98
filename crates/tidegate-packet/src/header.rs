//! What a link header says, and how numbers are read from bytes.

/// What a frame says before its network header.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkHeader {
    pub(crate) macs: MacPair,
    pub(crate) next: NextHeader,
    /// Bytes at its beginning that were never on a wire.
    pub(crate) unsent: u32,
}

impl LinkHeader {
    /// A frame with nothing that can be read but its addresses.
    pub(crate) fn known_by(macs: MacPair) -> LinkHeader {
        LinkHeader { macs, ..LinkHeader::default() }
    }
}

/// Addresses that are cut off or not there count as zeros.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MacPair {
    pub(crate) source: [u8; 6],
    pub(crate) destination: [u8; 6],
}

/// What the link header says of what follows it. No EtherType: there was no room for one, or it is
/// none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NextHeader {
    pub(crate) ethertype: Option<u16>,
    pub(crate) at: usize,
}

/// The `N` bytes at `at`, if they are there.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// The big-endian 16-bit number at `at`, if it is there.
pub(crate) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_be_bytes)
}
