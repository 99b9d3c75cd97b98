//! Whose rules a connection follows, and what they say of each case where they differ.
//!
//! [`Rules`] is the setting. [`RuleSet`] is what the code reads: one small enum for each case. A
//! connection resolves the one into the other when it is built, and tests no `Rules` after that.
//! Another set of rules is another constant here.
use super::{EcnUse, Flavor, LimitedTransmit, Tcp};

/// Whose rules hold where the RFCs, Linux and ns differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rules {
    /// The RFCs': the data in flight are halved (RFC 5681 eq. 4); recovery ends with cwnd =
    /// ssthresh; Reno enters recovery at every third duplicate.
    Rfc,
    /// ns-2.35's: the congestion window is halved, ssthresh rounded down; recovery ends with cwnd
    /// where it stands; at most two segments leave per acknowledgement during recovery; Reno
    /// too enters recovery once per window; a connection whose SYN was lost begins with a window of
    /// one. With selective acknowledgements losses are repaired as by its Sack1, and each block
    /// makes an acknowledgement 8 bytes longer.
    Ns2,
    /// Linux's, which are the RFCs' with differences. The least timeout bounds only the
    /// deviation of the round trip, so it is a round trip longer. Every partial acknowledgement
    /// restarts the timer (RFC 6582 §4, "slow but steady"). The congestion window is cut, not the
    /// data in flight. A timeout in a recovery, or in the round trip of a mark, does not cut again.
    /// Reno, CUBIC and DCTCP have windows of whole segments. HyStart (ha2011) ends CUBIC's slow
    /// start. BBR has what Linux has beyond its draft. [`Flavor::Rack`] has Linux's states with it.
    Linux,
    /// ns-1's, for Reno and NewReno: see the [module](super).
    Ns1,
}

impl Rules {
    /// Whether they are those of ns, old or new.
    pub(super) const fn is_ns(self) -> bool {
        matches!(self, Rules::Ns2 | Rules::Ns1)
    }
}

/// The window that a loss, a mark or a timeout takes its share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutFrom {
    /// What is in flight (RFC 5681 eq. 4).
    Flight,
    /// The congestion window.
    Cwnd,
    /// The congestion window with the inflation of fast recovery.
    Inflated,
    /// The same in whole segments.
    WholeInflated,
}

/// Where a loss leaves the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutTo {
    /// At ssthresh, which is never below two segments.
    Ssthresh,
    /// At the share itself; only ssthresh is rounded down.
    Share,
    /// At the share, rounded down like ssthresh.
    WholeShare,
}

/// Where an echoed mark leaves a window of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkFloor {
    /// Below one segment: nothing is sent before the timer expires (RFC 3168 §6.1.2).
    BelowOne,
    /// Where a loss would leave it.
    LikeLoss,
}

/// Which timeouts lower ssthresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeoutCut {
    /// The first of a segment (RFC 5681 §3.1).
    FirstOfSegment,
    /// All of them.
    Every,
}

/// Where the window stands after fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterRecovery {
    /// At ssthresh (RFC 5681 §3.2 step 6).
    Ssthresh,
    /// Where it stood during recovery.
    Unchanged,
}

/// What a timeout does to a window that was reduced in the same round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeoutAfterCut {
    /// It cuts again.
    CutsAgain,
    /// After a mark it restarts the window and leaves ssthresh.
    RestartsAfterMark,
    /// It restarts the window and leaves ssthresh.
    Restarts,
}

/// Which duplicates count while nothing is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdleDuplicates {
    /// None (RFC 5681 §2).
    Ignored,
    /// All, as long as there are data to send.
    Counted,
}

/// When three duplicates begin a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecoveryEntry {
    /// Once for each window of data (RFC 6582 §3.2 step 2).
    OncePerWindow,
    /// Every time (Reno, RFC 5681 §3.2).
    EveryTime,
    /// Once for each window of data; a connection's first segment is a window of its own.
    OncePerWindowOrFirst,
    /// Always, unless it is of the window that a timeout sends again.
    UnlessTimeout,
}

/// Which partial acknowledgements restart the timer (RFC 6582 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartialAck {
    /// The first of a recovery: many holes end in a timeout ("impatient").
    FirstRestartsTimer,
    /// Each ("slow but steady").
    EachRestartsTimer,
}

/// Which echoed marks reduce the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkResponse {
    /// One for each window of data (RFC 3168 §6.1.2).
    FirstOfWindow,
    /// The same, and each after a timeout. At a window of one segment the timer backs off.
    AfterTimeoutToo,
    /// One for each round trip, before the acknowledgement itself counts.
    FirstOfRoundTrip,
}

/// Whether an acknowledgement that echoes a mark also opens the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkedAck {
    /// It does not.
    GrowsNothing,
    /// It does, like any other.
    Grows,
}

/// Which segments are ECN-capable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EctSegments {
    /// None.
    Never,
    /// New data (RFC 3168 §6.1.5).
    NewData,
    /// Data, new or sent again.
    AllData,
}

/// The window to begin with after a SYN was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterLostSyn {
    /// As without the loss.
    InitialWindow,
    /// One segment.
    OneSegment,
}

/// What idle time before a paced departure is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacingCredit {
    /// Nothing.
    None,
    /// Up to half of the time until the next departure (`tcp_update_skb_after_send`).
    HalfInterval,
}

/// What opens the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// What is acknowledged (RFC 3465; RFC 5681 §3.1 eq. 2 and its advice for avoidance).
    ByBytes,
    /// Each acknowledgement of new data.
    ByAck,
}

/// The states of RACK-TLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RackStates {
    /// Those of RFC 8985.
    Rfc,
    /// Linux's: CWR, Recovery and Loss, with F-RTO (RFC 5682).
    Linux,
}

/// The recovery that goes with selective acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SackRecovery {
    /// RFC 6675.
    Rfc,
    /// ns-2's Sack1.
    Sack1,
}

/// What the rules of a connection say of each case.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "the recoveries read the rest when they have moved")]
pub(super) struct RuleSet {
    pub cut_from: CutFrom,
    pub cut_to: CutTo,
    pub mark_floor: MarkFloor,
    pub timeout_cut: TimeoutCut,
    pub after_recovery: AfterRecovery,
    pub timeout_after_cut: TimeoutAfterCut,
    pub idle_duplicates: IdleDuplicates,
    pub entry: RecoveryEntry,
    pub partial_ack: PartialAck,
    pub limited_transmit: LimitedTransmit,
    /// The most segments that an acknowledgement lets out during recovery; `None` for no bound.
    pub recovery_burst: Option<u32>,
    pub mark_response: MarkResponse,
    pub marked_ack: MarkedAck,
    pub ect: EctSegments,
    pub after_lost_syn: AfterLostSyn,
    pub growth: Growth,
    pub pacing_credit: PacingCredit,
    pub rack: RackStates,
    pub sack: SackRecovery,
}

const RFC: RuleSet = RuleSet {
    cut_from: CutFrom::Flight,
    cut_to: CutTo::Ssthresh,
    mark_floor: MarkFloor::BelowOne,
    timeout_cut: TimeoutCut::FirstOfSegment,
    after_recovery: AfterRecovery::Ssthresh,
    timeout_after_cut: TimeoutAfterCut::CutsAgain,
    idle_duplicates: IdleDuplicates::Ignored,
    entry: RecoveryEntry::OncePerWindow,
    partial_ack: PartialAck::FirstRestartsTimer,
    limited_transmit: LimitedTransmit::On,
    recovery_burst: None,
    mark_response: MarkResponse::FirstOfWindow,
    marked_ack: MarkedAck::GrowsNothing,
    ect: EctSegments::NewData,
    after_lost_syn: AfterLostSyn::InitialWindow,
    growth: Growth::ByBytes,
    pacing_credit: PacingCredit::None,
    rack: RackStates::Rfc,
    sack: SackRecovery::Rfc,
};

const LINUX: RuleSet = RuleSet {
    cut_from: CutFrom::Cwnd,
    mark_floor: MarkFloor::LikeLoss,
    timeout_after_cut: TimeoutAfterCut::Restarts,
    partial_ack: PartialAck::EachRestartsTimer,
    pacing_credit: PacingCredit::HalfInterval,
    rack: RackStates::Linux,
    ..RFC
};

const NS2: RuleSet = RuleSet {
    cut_from: CutFrom::Inflated,
    cut_to: CutTo::Share,
    mark_floor: MarkFloor::LikeLoss,
    timeout_cut: TimeoutCut::Every,
    after_recovery: AfterRecovery::Unchanged,
    timeout_after_cut: TimeoutAfterCut::RestartsAfterMark,
    idle_duplicates: IdleDuplicates::Counted,
    entry: RecoveryEntry::OncePerWindowOrFirst,
    recovery_burst: Some(2),
    mark_response: MarkResponse::AfterTimeoutToo,
    ect: EctSegments::AllData,
    after_lost_syn: AfterLostSyn::OneSegment,
    growth: Growth::ByAck,
    sack: SackRecovery::Sack1,
    ..RFC
};

const NS1: RuleSet = RuleSet {
    cut_from: CutFrom::WholeInflated,
    cut_to: CutTo::WholeShare,
    mark_floor: MarkFloor::LikeLoss,
    timeout_cut: TimeoutCut::Every,
    after_recovery: AfterRecovery::Unchanged,
    idle_duplicates: IdleDuplicates::Counted,
    entry: RecoveryEntry::UnlessTimeout,
    limited_transmit: LimitedTransmit::Off,
    mark_response: MarkResponse::FirstOfRoundTrip,
    marked_ack: MarkedAck::Grows,
    ect: EctSegments::AllData,
    growth: Growth::ByAck,
    ..RFC
};

impl RuleSet {
    /// What the settings of `tcp` come to.
    pub fn of(tcp: &Tcp) -> RuleSet {
        let mut set = match tcp.rules {
            Rules::Rfc => RFC,
            Rules::Linux => LINUX,
            Rules::Ns2 => NS2,
            Rules::Ns1 => NS1,
        };
        if set.entry == RecoveryEntry::OncePerWindow && tcp.flavor == Flavor::Reno {
            set.entry = RecoveryEntry::EveryTime;
        }
        if tcp.limited_transmit == LimitedTransmit::Off {
            set.limited_transmit = LimitedTransmit::Off;
        }
        if tcp.ecn == EcnUse::Off {
            set.ect = EctSegments::Never;
        }
        set
    }
}
