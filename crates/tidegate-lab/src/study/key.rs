//! The name of a case: a hash of all that its results hang on.
use std::fmt;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::results::VERSION;
use crate::scenario::Scenario;
use crate::spec::QueueSpec;

/// What is kept of a replication besides its figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keeps {
    /// Each flow.
    pub flows: bool,
    /// What happened over time.
    pub series: bool,
}

impl Keeps {
    /// What either keeps.
    pub fn and(self, other: Keeps) -> Keeps {
        Keeps { flows: self.flows || other.flows, series: self.series || other.series }
    }
}

/// The name of a case, 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CaseKey([u8; 16]);

impl CaseKey {
    /// The key of `queue` in `scenario`, whose replications store `keeps`. It is a hash of the
    /// resolved scenario without titles and seeds, of what it read from files, and of the sources
    /// of queues and simulator.
    pub fn new(scenario: &Scenario, queue: &QueueSpec, keeps: Keeps) -> CaseKey {
        let mut scenario = scenario.clone();
        (scenario.title, scenario.description) = (String::new(), String::new());
        (scenario.run.seed, scenario.run.seeds) = (0, 1);
        scenario.compare.clear();
        // What it is called does not change what comes of it.
        scenario.queue = QueueSpec { label: None, ..queue.clone() };
        let (resolved, read) = (scenario.resolved(), scenario.read_from_files());
        CaseKey::of(&[VERSION, &format!("{keeps:?}"), &resolved, &read])
    }

    /// The key of these texts. It is a name: no adversary chooses studies.
    pub fn of(texts: &[&str]) -> CaseKey {
        let mut hasher = SipHasher13::new_with_keys(0, 0);
        for text in texts {
            hasher.write(text.as_bytes());
            hasher.write_u8(0);
        }
        CaseKey(hasher.finish128().as_u128().to_be_bytes())
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The key that [`CaseKey::fmt`](fmt::Display) writes as these bits.
    pub(super) fn from_bits(bits: u128) -> CaseKey {
        CaseKey(bits.to_be_bytes())
    }

    /// The key of these bytes, if they are as many.
    pub fn from_bytes(bytes: &[u8]) -> Option<CaseKey> {
        bytes.try_into().ok().map(CaseKey)
    }
}

impl fmt::Display for CaseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for CaseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
