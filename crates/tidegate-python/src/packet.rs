//! Packets and their fates, as Python sees them.
use std::sync::atomic::{AtomicU8, Ordering};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tidegate::{DropReason, Ecn, MarkReason};

/// A packet: what a queue knows of it.
#[pyclass(frozen, module = "tidegate")]
#[derive(Debug)]
pub struct Packet {
    /// Its number: of packets offered to one queue, no two have the same.
    #[pyo3(get)]
    pub id: u64,
    /// Its flow: equal for all packets of a flow.
    #[pyo3(get)]
    pub flow: u64,
    /// Its length on the wire, in bytes.
    #[pyo3(get)]
    pub bytes: u32,
    /// Its class of service; queues without classes ignore it.
    #[pyo3(get)]
    pub class_: u16,
    /// When it was offered to the queue, in ns.
    #[pyo3(get)]
    pub arrived: u64,
    ecn: AtomicU8,
}

impl Packet {
    /// Packet `id` as the queue has it; `flow` is what Python is to see.
    pub fn new(id: u64, flow: u64, packet: &tidegate::Packet) -> Packet {
        Packet {
            id,
            flow,
            bytes: packet.len,
            class_: packet.class,
            arrived: packet.arrived.as_nanos(),
            ecn: AtomicU8::new(packet.ecn as u8),
        }
    }

    /// Its ECN codepoint now.
    pub fn codepoint(&self) -> Ecn {
        Ecn::from_bits(self.ecn.load(Ordering::Relaxed))
    }

    /// Changes its ECN codepoint.
    pub fn set_codepoint(&self, ecn: Ecn) {
        self.ecn.store(ecn as u8, Ordering::Relaxed);
    }
}

#[pymethods]
impl Packet {
    /// Its ECN codepoint: `not_ect`, `ect0`, `ect1` or `ce`.
    #[getter]
    fn ecn(&self) -> &'static str {
        name(self.codepoint())
    }

    /// Whether it can be marked.
    #[getter]
    fn ecn_capable(&self) -> bool {
        self.codepoint().is_capable()
    }

    pub(crate) fn __repr__(&self) -> String {
        let Packet { id, flow, bytes, .. } = self;
        format!("<tidegate.Packet {id} of flow {flow}, {bytes} B, {}>", self.ecn())
    }
}

/// What became of a packet that was dropped or marked.
#[pyclass(frozen, get_all, module = "tidegate")]
pub struct Fate {
    /// `dropped` or `marked`.
    kind: &'static str,
    /// The packet: the one that was offered, or a victim.
    packet: Py<Packet>,
    /// Why: see [`DropReason`] and [`MarkReason`].
    reason: &'static str,
}

impl Fate {
    /// `packet` was dropped.
    pub fn dropped(packet: Py<Packet>, why: DropReason) -> Fate {
        Fate { kind: "dropped", packet, reason: why.name() }
    }

    /// `packet` was marked.
    pub fn marked(packet: Py<Packet>, why: MarkReason) -> Fate {
        Fate { kind: "marked", packet, reason: why.name() }
    }
}

#[pymethods]
impl Fate {
    pub(crate) fn __repr__(&self) -> String {
        format!("<tidegate.Fate {} ({}): {}>", self.kind, self.reason, self.packet.get().__repr__())
    }
}

/// What waits in a queue.
#[pyclass(frozen, get_all, eq, module = "tidegate")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// Waiting packets.
    packets: u32,
    /// Their lengths added up, in bytes.
    bytes: u64,
}

impl From<tidegate::Backlog> for Backlog {
    fn from(tidegate::Backlog { packets, bytes }: tidegate::Backlog) -> Backlog {
        Backlog { packets, bytes }
    }
}

#[pymethods]
impl Backlog {
    pub(crate) fn __repr__(&self) -> String {
        format!("Backlog(packets={}, bytes={})", self.packets, self.bytes)
    }
}

/// The link that a queue is built for.
#[pyclass(frozen, module = "tidegate")]
pub struct Link(pub tidegate::Link);

#[pymethods]
impl Link {
    /// Its rate, in bit/s.
    #[getter]
    fn rate(&self) -> u64 {
        self.0.rate.as_bps()
    }

    /// How much may wait: a number of `limit_unit`.
    #[getter]
    fn limit(&self) -> u64 {
        match self.0.limit {
            tidegate::Size::Packets(most) | tidegate::Size::Bytes(most) => most,
        }
    }

    /// `packets` or `bytes`.
    #[getter]
    fn limit_unit(&self) -> &'static str {
        match self.0.limit {
            tidegate::Size::Packets(_) => "packets",
            tidegate::Size::Bytes(_) => "bytes",
        }
    }

    /// The usual length of a packet, in bytes.
    #[getter]
    fn mean_packet(&self) -> u64 {
        self.0.mean_packet.get()
    }

    /// Whether one more packet of `length` bytes fits beside `packets` packets of `bytes` bytes.
    fn has_room(&self, packets: u32, bytes: u64, length: u32) -> bool {
        self.0.has_room(tidegate::Backlog { packets, bytes }, length)
    }

    pub(crate) fn __repr__(&self) -> String {
        let tidegate::Link { rate, limit, mean_packet } = self.0;
        format!("<tidegate.Link {rate}, limit {limit}, packets of {mean_packet}>")
    }
}

const CODEPOINTS: [(&str, Ecn); 4] =
    [("not_ect", Ecn::NotEct), ("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1), ("ce", Ecn::Ce)];

fn name(ecn: Ecn) -> &'static str {
    CODEPOINTS.iter().find(|(_, known)| *known == ecn).map_or("", |(name, _)| name)
}

/// The codepoint called `name`.
///
/// # Errors
/// There is none.
pub fn codepoint(name: &str) -> PyResult<Ecn> {
    let found = CODEPOINTS.iter().find(|(known, _)| *known == name).map(|(_, ecn)| *ecn);
    found.ok_or_else(|| {
        let known = CODEPOINTS.map(|(name, _)| name).join(", ");
        PyValueError::new_err(format!("ecn = {name:?}: must be one of {known}"))
    })
}

/// The reason of `all` that `name_of` calls `name`.
///
/// # Errors
/// There is none.
pub fn reason<R: Copy>(name: &str, all: &[R], name_of: fn(R) -> &'static str) -> PyResult<R> {
    all.iter().copied().find(|why| name_of(*why) == name).ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|why| name_of(*why)).collect();
        PyValueError::new_err(format!("reason = {name:?}: must be one of {}", known.join(", ")))
    })
}
