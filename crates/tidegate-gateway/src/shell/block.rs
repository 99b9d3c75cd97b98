//! Which addresses a shell and those within it have.
//!
//! All are of 100.64.0.0/10, which no host of the Internet has (RFC 6598). A shell owns a block of
//! it and gives parts of that to shells inside. So each way leads through one route, and nothing is
//! translated: a server sees which shell a packet comes from.
//!
//! ```
//! use tidegate_gateway::shell::block::AddressBlock;
//! let first = AddressBlock::ALL.parts().next().unwrap();
//! assert_eq!((first.base().to_string(), first.command().to_string()),
//!            ("100.64.0.1".into(), "100.64.0.2".into()));
//! let within = first.parts().nth(1).unwrap();
//! assert_eq!(within.base().to_string(), "100.64.32.1");
//! ```
use std::net::Ipv4Addr;

use crate::machine::interfaces::Ipv4Prefix;

/// The lengths of blocks, of the whole and then from level to level.
const LENGTHS: [u8; 6] = [10, 16, 19, 22, 25, 28];
/// How many bits the two ends of a shell's link share.
pub const LINK: u8 = 30;

/// A block of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressBlock(Ipv4Prefix);

impl AddressBlock {
    /// All that shells use.
    pub const ALL: AddressBlock =
        AddressBlock(Ipv4Prefix { first: Ipv4Addr::new(100, 64, 0, 0), length: LENGTHS[0] });

    /// The block that is this prefix, if it can be a shell's.
    pub fn of(prefix: Ipv4Prefix) -> Option<AddressBlock> {
        let known = LENGTHS[1..].contains(&prefix.length);
        (known && prefix.meets(AddressBlock::ALL.0)).then_some(AddressBlock(prefix))
    }

    /// As a prefix.
    pub fn prefix(self) -> Ipv4Prefix {
        self.0
    }

    /// The parts that shells inside can have, in order; none at the innermost level.
    pub fn parts(self) -> impl Iterator<Item = AddressBlock> {
        let Ipv4Prefix { first, length } = self.0;
        let next = LENGTHS.iter().copied().find(|&next| next > length);
        let count = next.map_or(0, |next| 1_u32 << (next - length));
        (0..count).filter_map(move |number| {
            let length = next?;
            let first = Ipv4Addr::from_bits(first.to_bits() | number << (32 - length));
            Some(AddressBlock(Ipv4Prefix { first, length }))
        })
    }

    /// The address of the outer end of the link.
    pub fn base(self) -> Ipv4Addr {
        self.nth(1)
    }

    /// The address of the inner end, which the command has.
    pub fn command(self) -> Ipv4Addr {
        self.nth(2)
    }

    fn nth(self, number: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.0.first.to_bits() + number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fill_their_block_and_do_not_meet() {
        let mut block = AddressBlock::ALL;
        let mut level = 0;
        while let Some(part) = block.parts().nth(1) {
            let all: Vec<Ipv4Prefix> = block.parts().map(AddressBlock::prefix).collect();
            for (at, one) in all.iter().enumerate() {
                assert!(one.meets(block.prefix()), "{one:?}");
                assert!(all[at + 1..].iter().all(|other| !one.meets(*other)), "{one:?}");
                assert_eq!(AddressBlock::of(*one), Some(AddressBlock(*one)));
            }
            (block, level) = (part, level + 1);
        }
        assert_eq!(level, 5, "so deep do shells nest");
        let link = Ipv4Prefix { first: block.base(), length: LINK };
        assert!(link.meets(Ipv4Prefix { first: block.command(), length: 32 }));
    }

    #[test]
    fn others_addresses_are_no_blocks() {
        let prefix = |first: &str, length| Ipv4Prefix { first: first.parse().unwrap(), length };
        assert_eq!(AddressBlock::of(prefix("10.0.0.0", 16)), None);
        assert_eq!(AddressBlock::of(prefix("100.64.0.0", 24)), None);
        assert!(!prefix("100.64.0.0", 16).meets(prefix("100.65.0.0", 16)));
        assert!(prefix("0.0.0.0", 0).meets(prefix("100.65.0.0", 16)));
    }
}
