//! A queue of the catalog, driven packet by packet from Python.
use std::hash::Hasher;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use siphasher::sip::SipHasher13;
use tidegate::catalog::AnyQueue;
use tidegate::{ConfigError, DropReason, MarkReason, Qdisc, Seed, Sink, Time};
use tidegate_lab::QueueSpec;

use crate::failure;
use crate::packet::{Backlog, Fate, Link, Packet, codepoint};
use crate::show::link;

/// The longest packet, in bytes: what an IP header can say.
const LONGEST: u32 = 65_535;
/// The shortest packet, in bytes: an IP header.
const SHORTEST: u32 = 20;

/// A queue of the catalog, to be driven packet by packet.
///
/// Times are whole nanoseconds, so that they are exact, and never run back. Where a flow belongs is
/// decided by a hash of its number, which the seed keys, as everywhere in Tidegate.
#[pyclass(module = "tidegate")]
pub struct Queue {
    queue: AnyQueue,
    text: String,
    params: Vec<(String, String)>,
    link: tidegate::Link,
    seed: u64,
    now: u64,
    offered: u64,
    held: Held,
}

/// The packets in the queue by their slots, and the slots that are free.
#[derive(Default)]
struct Held {
    packets: Vec<Option<Py<Packet>>>,
    free: Vec<u32>,
}

impl Held {
    fn keep(&mut self, packet: Py<Packet>) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.packets[slot as usize] = Some(packet);
            return slot;
        }
        self.packets.push(Some(packet));
        self.packets.len() as u32 - 1
    }

    fn take(&mut self, packet: &tidegate::Packet) -> Option<Py<Packet>> {
        let found = self.packets.get_mut(packet.slot as usize)?.take()?;
        self.free.push(packet.slot);
        found.get().set_codepoint(packet.ecn);
        Some(found)
    }
}

/// Makes a list of what a call tells.
struct Told<'p, 'h> {
    py: Python<'p>,
    held: &'h mut Held,
    fates: Vec<Fate>,
}

impl Sink for Told<'_, '_> {
    fn dropped(&mut self, _: Time, packet: &tidegate::Packet, why: DropReason) {
        self.fates.extend(self.held.take(packet).map(|packet| Fate::dropped(packet, why)));
    }

    fn marked(&mut self, _: Time, packet: &tidegate::Packet, why: MarkReason) {
        let Some(Some(known)) = self.held.packets.get(packet.slot as usize) else { return };
        known.get().set_codepoint(packet.ecn);
        self.fates.push(Fate::marked(known.clone_ref(self.py), why));
    }
}

impl Queue {
    /// Goes on to `now`.
    fn go_on(&mut self, now: u64) -> PyResult<Time> {
        if now < self.now {
            let why = format!("now = {now}: time must not run back; it was {} ns", self.now);
            return Err(PyValueError::new_err(why));
        }
        self.now = now;
        Ok(Time::from_nanos(now))
    }
}

#[pymethods]
impl Queue {
    #[new]
    #[pyo3(signature = (queue, *, rate, limit, mean_packet="1000 B", seed=1))]
    fn new(
        py: Python<'_>,
        queue: &str,
        rate: &str,
        limit: &str,
        mean_packet: &str,
        seed: u64,
    ) -> PyResult<Queue> {
        let refused = |error: ConfigError| failure::queue(py, &error);
        let link = link(rate, limit, mean_packet).map_err(refused)?;
        let spec: QueueSpec = queue.parse().map_err(refused)?;
        let config = spec.resolve(&link).map_err(refused)?;
        let params =
            config.values().into_iter().map(|(param, of)| (param.name.into(), of)).collect();
        let built = config.build(link, Seed::new(seed).stream("queue")).map_err(refused)?;
        let (text, held) = (spec.to_string(), Held::default());
        Ok(Queue { queue: built, text, params, link, seed, now: 0, offered: 0, held })
    }

    /// Offers a packet at `now` ns. Returns what was dropped or marked: the packet, or victims.
    #[pyo3(signature = (now, *, flow, bytes, ecn="not_ect", class_=0))]
    fn enqueue(
        &mut self,
        py: Python<'_>,
        now: u64,
        flow: u64,
        bytes: u32,
        ecn: &str,
        class_: u16,
    ) -> PyResult<Vec<Fate>> {
        if !(SHORTEST..=LONGEST).contains(&bytes) {
            let why = format!("bytes = {bytes}: must lie in {SHORTEST} to {LONGEST}");
            return Err(PyValueError::new_err(why));
        }
        let ecn = codepoint(ecn)?;
        let time = self.go_on(now)?;
        let packet = tidegate::Packet::new(hashed(flow, self.seed), bytes);
        let packet = tidegate::Packet { arrived: time, ..packet.with_ecn(ecn).with_class(class_) };
        let known = Py::new(py, Packet::new(self.offered, flow, &packet))?;
        self.offered += 1;
        let packet = packet.with_slot(self.held.keep(known));
        let mut told = Told { py, held: &mut self.held, fates: vec![] };
        self.queue.enqueue(time, packet, &mut told);
        Ok(told.fates)
    }

    /// Takes the packet to send at `now` ns. Returns it, None for none, and what was dropped or
    /// marked on the way.
    fn dequeue(&mut self, py: Python<'_>, now: u64) -> PyResult<(Option<Py<Packet>>, Vec<Fate>)> {
        let time = self.go_on(now)?;
        let mut told = Told { py, held: &mut self.held, fates: vec![] };
        let packet = self.queue.dequeue(time, &mut told);
        let fates = told.fates;
        Ok((packet.and_then(|packet| self.held.take(&packet)), fates))
    }

    /// Does the periodic work that has fallen due by `now` ns, while nobody offers or asks.
    fn advance(&mut self, now: u64) -> PyResult<()> {
        let time = self.go_on(now)?;
        self.queue.advance(time);
        Ok(())
    }

    /// The queue's inner state: a number for each gauge, in the paper's terms.
    fn probe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut gauges = vec![];
        self.queue.probe(&mut |gauge| gauges.push((gauge.name, gauge.value)));
        gauges.into_py_dict(py)
    }

    /// What waits.
    #[getter]
    fn backlog(&self) -> Backlog {
        self.queue.backlog().into()
    }

    /// When to ask again, in ns, of a queue that holds packets back although the link is free;
    /// None for the next departure or arrival.
    #[getter]
    fn wake_at(&self) -> Option<u64> {
        self.queue.wake_at().map(Time::as_nanos)
    }

    /// The link it was built for.
    #[getter]
    fn link(&self) -> Link {
        Link(self.link)
    }

    /// Every parameter with its value on this link, as text.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.params.iter().map(|(name, value)| (name, value)).into_py_dict(py)
    }

    fn __repr__(&self) -> String {
        format!("<tidegate.Queue {} at {} ns, {}>", self.text, self.now, self.backlog().__repr__())
    }
}

/// A flow's number as queues see it: hashed, by the seed's key.
fn hashed(flow: u64, seed: u64) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(seed, 0);
    hasher.write_u64(flow);
    hasher.finish()
}
