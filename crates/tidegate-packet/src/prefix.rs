//! Prefixes of addresses, as `192.0.2.0/24`, and sets of them that are searched quickly.
//!
//! ```
//! use tidegate_packet::{Address, Prefix, PrefixSet};
//! let ours: PrefixSet = ["192.0.2.0/24".parse()?, "2001:db8::/32".parse()?].into_iter().collect();
//! assert!(ours.contains(Address::V4([192, 0, 2, 77])));
//! assert!(!ours.contains(Address::V4([192, 0, 3, 77])));
//! # Ok::<(), tidegate::units::UnitError>(())
//! ```
use core::fmt;
use core::str::FromStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tidegate::units::UnitError;

use crate::ends::Address;

/// All addresses that begin alike. An address alone is a prefix of all its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl Prefix {
    /// The first and the last address in it.
    fn ends(self) -> (IpAddr, IpAddr) {
        match self.address {
            IpAddr::V4(address) => {
                let rest = u32::MAX.checked_shr(self.bits.into()).unwrap_or(0);
                let first = u32::from(address) & !rest;
                (Ipv4Addr::from(first).into(), Ipv4Addr::from(first | rest).into())
            }
            IpAddr::V6(address) => {
                let rest = u128::MAX.checked_shr(self.bits.into()).unwrap_or(0);
                let first = u128::from(address) & !rest;
                (Ipv6Addr::from(first).into(), Ipv6Addr::from(first | rest).into())
            }
        }
    }
}

impl FromStr for Prefix {
    type Err = UnitError;

    /// `"192.0.2.0/24"`, `"2001:db8::/32"`, or an address alone. Bits beyond the prefix must be
    /// zero: a text that sets some has the address or the length wrong.
    fn from_str(text: &str) -> Result<Prefix, UnitError> {
        let refuse = |why: String| UnitError { text: text.into(), why };
        let (address, length) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let Ok(address) = address.trim().parse::<IpAddr>() else {
            return Err(refuse(
                "must be a prefix, as in 192.0.2.0/24 or 2001:db8::/32, or an address".into(),
            ));
        };
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match length.map(str::trim) {
            None => most,
            Some(digits) => match digits.parse::<u8>() {
                Ok(bits) if bits <= most && digits.bytes().all(|b| b.is_ascii_digit()) => bits,
                _ => {
                    return Err(refuse(format!(
                        "the prefix is `{digits}` long, but must be 0 to {most} bits"
                    )));
                }
            },
        };
        let prefix = Prefix { address, bits };
        let first = prefix.ends().0;
        if first == address {
            Ok(prefix)
        } else {
            Err(refuse(format!("has bits beyond its prefix; did you mean `{first}/{bits}`?")))
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// Any number of prefixes. A search takes the logarithm of their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixSet {
    v4: Ranges<u32>,
    v6: Ranges<u128>,
}

impl PrefixSet {
    /// Whether there is no prefix in it.
    pub fn is_empty(&self) -> bool {
        self.v4.0.is_empty() && self.v6.0.is_empty()
    }

    /// Whether `address` is in one of the prefixes. Addresses of Ethernet are in none.
    #[inline]
    pub fn contains(&self, address: Address) -> bool {
        match address {
            Address::V4(bytes) => self.v4.contains(u32::from_be_bytes(bytes)),
            Address::V6(bytes) => self.v6.contains(u128::from_be_bytes(bytes)),
            Address::Mac(_) => false,
        }
    }
}

impl FromIterator<Prefix> for PrefixSet {
    fn from_iter<I: IntoIterator<Item = Prefix>>(prefixes: I) -> PrefixSet {
        let mut set = PrefixSet::default();
        for prefix in prefixes {
            match prefix.ends() {
                (IpAddr::V4(first), IpAddr::V4(last)) => set.v4.0.push((first.into(), last.into())),
                (IpAddr::V6(first), IpAddr::V6(last)) => set.v6.0.push((first.into(), last.into())),
                _ => unreachable!("both ends are of one family"),
            }
        }
        set.v4.tidy();
        set.v6.tidy();
        set
    }
}

/// Ranges of addresses with their ends, in order and apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Ranges<T>(Vec<(T, T)>);

impl<T: Copy + Ord> Ranges<T> {
    /// Prefixes lie within each other or apart, so that only those within others have to go.
    fn tidy(&mut self) {
        self.0.sort_by(|(first, last), (other, end)| first.cmp(other).then(end.cmp(last)));
        let mut reached = None;
        self.0.retain(|&(_, last)| {
            let beyond = reached.is_none_or(|reached| last > reached);
            reached = reached.max(Some(last));
            beyond
        });
    }

    #[inline]
    fn contains(&self, address: T) -> bool {
        let behind = self.0.partition_point(|&(first, _)| first <= address);
        behind > 0 && address <= self.0[behind - 1].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::Rng;

    #[test]
    fn text_in_text_out_and_what_is_meant() {
        for (text, out) in [
            ("192.0.2.0/24", "192.0.2.0/24"),
            ("192.0.2.7", "192.0.2.7/32"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("::1", "::1/128"),
            ("0.0.0.0/0", "0.0.0.0/0"),
        ] {
            assert_eq!(text.parse::<Prefix>().unwrap().to_string(), out);
        }
        for (text, why) in [
            ("192.0.2.1/24", "did you mean `192.0.2.0/24`?"),
            ("2001:db8::1/32", "did you mean `2001:db8::/32`?"),
            ("192.0.2.0/33", "must be 0 to 32 bits"),
            ("::/129", "must be 0 to 128 bits"),
            ("10.0.0.0/+8", "must be 0 to 32 bits"),
            ("10.0.0/8", "must be a prefix, as in"),
            ("lan", "must be a prefix, as in"),
            ("", "must be a prefix, as in"),
        ] {
            let error = text.parse::<Prefix>().unwrap_err();
            assert!(error.why.contains(why), "{text}: {}", error.why);
        }
    }

    #[test]
    fn a_set_contains_what_one_of_its_prefixes_contains() {
        let mut dice = Rng::from_seed(4);
        for round in 0..200 {
            // Short addresses, so that prefixes lie within each other and are hit.
            let prefixes: Vec<Prefix> = (0..dice.below(12))
                .map(|_| {
                    let (bits, wide) = (dice.below(9) as u8, dice.chance(0.5));
                    let value =
                        dice.below(256) as u8 & u8::MAX.checked_shl(8 - bits as u32).unwrap_or(0);
                    if wide {
                        Prefix { address: Ipv4Addr::new(value, 0, 0, 0).into(), bits }
                    } else {
                        Prefix {
                            address: Ipv6Addr::new((value as u16) << 8, 0, 0, 0, 0, 0, 0, 0).into(),
                            bits,
                        }
                    }
                })
                .collect();
            let set: PrefixSet = prefixes.iter().copied().collect();
            assert_eq!(set.is_empty(), prefixes.is_empty());
            for value in 0..=255u8 {
                let (low, high) = (dice.bits() as u8, dice.bits() as u8);
                let v4 = Ipv4Addr::new(value, low, high, 1);
                let v6 =
                    Ipv6Addr::new((value as u16) << 8 | low as u16, 0, 0, 0, 0, 0, 0, high as u16);
                let within = |address: IpAddr| {
                    let inside = |p: &Prefix| {
                        let (first, last) = p.ends();
                        p.address.is_ipv4() == address.is_ipv4()
                            && (first..=last).contains(&address)
                    };
                    prefixes.iter().any(inside)
                };
                assert_eq!(
                    set.contains(Address::V4(v4.octets())),
                    within(v4.into()),
                    "{round}: {v4} {prefixes:?}"
                );
                assert_eq!(
                    set.contains(Address::V6(v6.octets())),
                    within(v6.into()),
                    "{round}: {v6} {prefixes:?}"
                );
            }
            assert!(!set.contains(Address::Mac([0; 6])));
        }
    }
}
