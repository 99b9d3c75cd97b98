//! Which tin a code point goes to, and up to which part of the line a tin has priority (tc-cake(8),
//! *Priority queue parameters*).
//!
//! A tin with a higher number goes first as long as it keeps to its part of the line. So best
//! effort, whose part is the whole line, is the lowest, and bulk has its sixteenth before it.
//!
//! ```
//! use tidegate::parts::diffserv::Diffserv;
//! let three = Diffserv::Three;
//! assert_eq!([8, 0, 46].map(|dscp| three.tin_of(dscp)), [1, 0, 2]); // CS1, CS0, EF
//! assert_eq!((three.tins(), three.share(1), three.share(2)), (3, 1.0 / 16.0, 0.25));
//! ```
use crate::choices;

choices! {
    /// How many tins there are, and who goes to which: the parameter `diffserv`.
    pub enum Diffserv {
        /// One for all.
        BestEffort = "besteffort",
        /// Eight, by the upper three bits of the code point: IP precedence (RFC 791).
        Precedence = "precedence",
        /// Three: best effort, bulk, voice.
        Three = "diffserv3",
        /// Four: best effort, bulk, video, voice.
        Four = "diffserv4",
        /// Eight: background, throughput, best effort, streaming, transactions, shell, latency,
        /// network control.
        Eight = "diffserv8",
    }
}

/// The most tins there can be.
const MOST: usize = 8;

/// The part of the line that each of eight tins has of what the one below it has.
const STEP: f64 = 7.0 / 8.0;

/// Code points by name (RFC 2474, 2597, 3246, 5865, 8622); TOS is the field before them (RFC 1349).
mod dscp {
    pub const LE: u8 = 1;
    pub const TOS_THROUGHPUT: u8 = 2;
    pub const TOS_DELAY: u8 = 4;
    pub const VA: u8 = 44;
    pub const EF: u8 = 46;

    /// CSn.
    pub const fn cs(n: u8) -> u8 {
        n << 3
    }

    /// Whether `code` is AFn1, AFn2 or AFn3.
    pub const fn is_af(code: u8, n: u8) -> bool {
        code >> 3 == n && matches!(code & 7, 2 | 4 | 6)
    }
}

impl Diffserv {
    /// How many tins.
    pub const fn tins(self) -> usize {
        match self {
            Diffserv::BestEffort => 1,
            Diffserv::Three => 3,
            Diffserv::Four => 4,
            Diffserv::Precedence | Diffserv::Eight => MOST,
        }
    }

    /// Up to which part of the line `tin` goes before those below it. Above it has what is left.
    pub fn share(self, tin: usize) -> f64 {
        let of = |shares: &[f64]| shares[tin.min(shares.len() - 1)];
        match self {
            Diffserv::BestEffort => 1.0,
            Diffserv::Three => of(&[1.0, 1.0 / 16.0, 0.25]),
            Diffserv::Four => of(&[1.0, 1.0 / 16.0, 0.5, 0.25]),
            Diffserv::Precedence | Diffserv::Eight => (0..tin).fold(1.0, |share, _| share * STEP),
        }
    }

    /// The tin of code point `dscp`; what is none counts as the highest, 63.
    pub fn tin_of(self, dscp: u8) -> usize {
        let code = dscp.min(63);
        match self {
            Diffserv::BestEffort => 0,
            Diffserv::Precedence => (code >> 3) as usize,
            Diffserv::Three => three(code),
            Diffserv::Four => four(code),
            Diffserv::Eight => eight(code),
        }
    }
}

/// Best effort, bulk, voice.
fn three(code: u8) -> usize {
    use dscp::{EF, LE, TOS_DELAY, VA, cs};
    match code {
        LE => 1,
        EF | VA | TOS_DELAY => 2,
        _ if code == cs(1) => 1,
        _ if code == cs(6) || code == cs(7) => 2,
        _ => 0,
    }
}

/// Best effort, bulk, video, voice.
fn four(code: u8) -> usize {
    use dscp::{EF, LE, TOS_DELAY, VA, cs, is_af};
    match code {
        LE => 1,
        EF | VA => 3,
        TOS_DELAY => 2,
        _ if code == cs(1) => 1,
        _ if code & 7 == 0 && code >= cs(4) => 3,
        _ if code == cs(2) || code == cs(3) => 2,
        _ if (2..=4).any(|n| is_af(code, n)) => 2,
        _ => 0,
    }
}

/// Background, throughput, best effort, streaming, transactions, shell, latency, control.
fn eight(code: u8) -> usize {
    use dscp::{EF, LE, TOS_DELAY, TOS_THROUGHPUT, VA, cs, is_af};
    match code {
        LE => 0,
        TOS_THROUGHPUT => 1,
        TOS_DELAY => 4,
        EF | VA => 6,
        _ if code == cs(1) => 0,
        _ if is_af(code, 1) => 1,
        _ if code == cs(3) || is_af(code, 3) || is_af(code, 4) => 3,
        _ if is_af(code, 2) => 4,
        _ if code == cs(2) => 5,
        _ if code == cs(4) || code == cs(5) => 6,
        _ if code == cs(6) || code == cs(7) => 7,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tc-cake(8): what goes to bulk, video and voice; all else to best effort.
    #[test]
    fn the_manual_pages_lists() {
        let af = |n: u8| [n << 3 | 2, n << 3 | 4, n << 3 | 6];
        let (cs, ef, va, le, tos4) = (|n: u8| n << 3, 46, 44, 1, 4);
        let bulk = vec![cs(1), le];
        let voice3 = vec![cs(7), cs(6), ef, va, tos4];
        let voice4 = vec![cs(7), cs(6), ef, va, cs(5), cs(4)];
        let video4 = [&af(4)[..], &af(3), &[cs(3)], &af(2), &[cs(2), tos4]].concat();
        for code in 0..64 {
            let place = |lists: &[&Vec<u8>]| lists.iter().position(|list| list.contains(&code));
            let three = match place(&[&bulk, &voice3]) {
                None => 0,
                Some(list) => list + 1,
            };
            assert_eq!(Diffserv::Three.tin_of(code), three, "{code}");
            let four = match place(&[&bulk, &video4, &voice4]) {
                None => 0,
                Some(list) => list + 1,
            };
            assert_eq!(Diffserv::Four.tin_of(code), four, "{code}");
            assert_eq!(Diffserv::Precedence.tin_of(code), code as usize / 8);
            assert_eq!(Diffserv::BestEffort.tin_of(code), 0);
        }
        assert_eq!(Diffserv::Eight.tin_of(u8::MAX), Diffserv::Eight.tin_of(63));
    }

    /// Background, throughput, best effort, streaming, transactions, shell, latency, control: what
    /// is on no list is best effort.
    #[test]
    fn the_lists_of_eight() {
        let af = |n: u8| [n << 3 | 2, n << 3 | 4, n << 3 | 6];
        let (cs, ef, va, le, tos2, tos4) = (|n: u8| n << 3, 46, 44, 1, 2, 4);
        let lists = [
            vec![cs(1), le],
            [&af(1)[..], &[tos2]].concat(),
            vec![],
            [&af(4)[..], &af(3), &[cs(3)]].concat(),
            [&af(2)[..], &[tos4]].concat(),
            vec![cs(2)],
            vec![ef, va, cs(5), cs(4)],
            vec![cs(7), cs(6)],
        ];
        for code in 0..64 {
            let tin = lists.iter().position(|list| list.contains(&code)).unwrap_or(2);
            assert_eq!(Diffserv::Eight.tin_of(code), tin, "{code}");
        }
    }

    #[test]
    fn thresholds() {
        let shares = |of: Diffserv| (0..of.tins()).map(|tin| of.share(tin)).collect::<Vec<_>>();
        assert_eq!(shares(Diffserv::Three), [1.0, 0.0625, 0.25]);
        assert_eq!(shares(Diffserv::Four), [1.0, 0.0625, 0.5, 0.25]);
        assert_eq!(shares(Diffserv::Eight)[..3], [1.0, 0.875, 0.765625]);
        // A tin that is not there counts as the last.
        assert_eq!((Diffserv::Three.share(9), Diffserv::Four.share(4)), (0.25, 0.25));
    }
}
