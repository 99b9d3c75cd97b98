//! Arbitrary bytes as an Ethernet frame: Ours sees in it what etherparse sees, and marks it as
//! etherparse reckons. The gateway puts it into the class, and on or off the list, that follows
//! from what etherparse sees. Where the two differ on purpose stands with the oracle.
#![no_main]

use std::net::IpAddr;

use libfuzzer_sys::fuzz_target;
use tidegate::rng::mix;
use tidegate::{Packet, Rng};
use tidegate_gateway::path::overhead::Overhead;
use tidegate_gateway::path::sort::{Class, Sorted, Sorter};
use tidegate_packet::{Address, FlowHasher, FlowKey, Frame, LinkType, Prefix};

#[path = "../../crates/tidegate-packet/tests/support/oracle.rs"]
mod oracle;

use oracle::Seen;

fuzz_target!(|data: &[u8]| {
    if let Some(seen) = oracle::agree(data) {
        let seed = data.iter().fold(data.len() as u64, |hash, byte| mix(hash ^ *byte as u64));
        check_sorting(data, &seen, &mut Rng::from_seed(seed));
    }
});

/// A class as it is asked for, in words too simple to be wrong.
#[derive(Default)]
struct Asked {
    prefixes: Vec<(IpAddr, u8)>,
    dscp: Vec<u8>,
    priorities: Vec<u8>,
}

fn check_sorting(data: &[u8], seen: &Seen, dice: &mut Rng) {
    let classes: Vec<Asked> = (0..dice.below(4)).map(|_| asked(seen, dice)).collect();
    let allowed: Vec<(IpAddr, u8)> =
        (0..dice.below(3)).filter_map(|_| prefix(seen, dice)).collect();
    let hasher = FlowHasher::new(FlowKey::FiveTuple, [1, 2]);
    let built: Vec<Class> = classes.iter().map(Asked::build).collect();
    let list: Vec<Prefix> = allowed.iter().map(written).collect();
    let frame = Frame::parse(LinkType::Ethernet, data, data.len() as u32);
    let sorted = Sorter::new(hasher, Overhead::ETHERNET, &built, &list).sort(&frame, data);
    let class = classes.iter().position(|class| class.takes(seen)).unwrap_or(classes.len()) as u16;
    let expected = Packet { flow: hasher.hash(&seen.ends), class, ecn: seen.ecn, ..sorted.packet };
    assert_eq!(
        sorted,
        Sorted { packet: expected, allowed: allowed.iter().any(|prefix| is_of(seen, prefix)) }
    );
}

fn asked(seen: &Seen, dice: &mut Rng) -> Asked {
    let mut asked = Asked::default();
    if dice.chance(0.5) {
        asked.prefixes.extend((0..1 + dice.below(3)).filter_map(|_| prefix(seen, dice)));
    }
    if dice.chance(0.5) {
        let near = seen.dscp.unwrap_or_default();
        asked.dscp.extend(
            (0..1 + dice.below(3))
                .map(|_| if dice.chance(0.4) { near } else { dice.below(64) as u8 }),
        );
    }
    if dice.chance(0.3) {
        asked.priorities.extend((0..1 + dice.below(3)).map(|_| dice.below(8) as u8));
    }
    asked
}

/// A prefix that one of the frame's addresses is in, or nearly.
fn prefix(seen: &Seen, dice: &mut Rng) -> Option<(IpAddr, u8)> {
    let (value, width) =
        bits(if dice.chance(0.5) { seen.ends.source } else { seen.ends.destination })?;
    let length = dice.below(width as u64 + 1) as u32;
    let near = if dice.chance(0.4) { value ^ 1 << dice.below(width as u64) } else { value };
    let kept =
        near.checked_shr(width - length).unwrap_or(0).checked_shl(width - length).unwrap_or(0);
    let address = match width {
        32 => IpAddr::from((kept as u32).to_be_bytes()),
        _ => IpAddr::from(kept.to_be_bytes()),
    };
    Some((address, length as u8))
}

/// An address of the Internet as a number, and how many bits it has.
fn bits(address: Address) -> Option<(u128, u32)> {
    match address {
        Address::V4(bytes) => Some((u32::from_be_bytes(bytes) as u128, 32)),
        Address::V6(bytes) => Some((u128::from_be_bytes(bytes), 128)),
        Address::Mac(_) => None,
    }
}

fn written((address, length): &(IpAddr, u8)) -> Prefix {
    format!("{address}/{length}").parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Whether the sender or the receiver begins with the prefix.
fn is_of(seen: &Seen, (address, length): &(IpAddr, u8)) -> bool {
    let wanted = match address {
        IpAddr::V4(address) => (u32::from(*address) as u128, 32),
        IpAddr::V6(address) => (u128::from(*address), 128),
    };
    let begins = |address| {
        bits(address).is_some_and(|(value, width)| {
            width == wanted.1
                && (width - *length as u32..width).all(|bit| (value ^ wanted.0) >> bit & 1 == 0)
        })
    };
    begins(seen.ends.source) || begins(seen.ends.destination)
}

impl Asked {
    fn build(&self) -> Class {
        Class {
            name: "asked".into(),
            weight: 1.0,
            prefixes: self.prefixes.iter().map(written).collect(),
            dscp: self.dscp.iter().map(|dscp| dscp.to_string().parse().expect("0 to 63")).collect(),
            priorities: self.priorities.clone(),
        }
    }

    fn takes(&self, seen: &Seen) -> bool {
        (self.prefixes.is_empty() || self.prefixes.iter().any(|prefix| is_of(seen, prefix)))
            && (self.dscp.is_empty() || seen.dscp.is_some_and(|dscp| self.dscp.contains(&dscp)))
            && (self.priorities.is_empty()
                || seen.priority.is_some_and(|priority| self.priorities.contains(&priority)))
    }
}
