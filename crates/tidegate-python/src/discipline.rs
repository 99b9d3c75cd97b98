//! A queue written in Python, run in the simulator beside ours.
//!
//! Each replication and link has a deep copy of the user's object. [`Ledger`] is what its methods
//! `drop` and `mark` write into, and what holds Python to account: every packet that was offered
//! is dropped or sent once, or still held.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tidegate::{Backlog, ConfigError, DropReason, Ecn, Gauge, MarkReason, Qdisc, Rng, Sink, Time};
use tidegate_lab::foreign::Foreign;

use crate::attend::Stop;
use crate::packet::{Link, Packet, reason};

/// The first exception of any Python queue of a run, which then stops.
#[derive(Clone, Default)]
pub struct Trouble {
    first: Arc<Mutex<Option<PyErr>>>,
    pub stop: Arc<Stop>,
}

impl Trouble {
    fn note(&self, error: PyErr) {
        lock(&self.first).get_or_insert(error);
        self.stop.ask();
    }

    /// What it was, if there was one.
    pub fn take(&self) -> Option<PyErr> {
        lock(&self.first).take()
    }
}

/// The queue that `prototype`, a `tidegate.Discipline`, describes. Its exceptions go to `trouble`.
///
/// # Errors
/// It has no name that can stand in a table, or is no such object.
pub fn foreign(
    prototype: &Bound<'_, PyAny>,
    trouble: &Trouble,
) -> PyResult<Result<Foreign, ConfigError>> {
    let name: String = prototype.getattr("name")?.extract()?;
    let params: Bound<'_, PyDict> = prototype.call_method0("params")?.cast_into()?;
    let params = params
        .iter()
        .map(|(name, value)| Ok((name.str()?.to_string(), value.str()?.to_string())))
        .collect::<PyResult<Vec<_>>>()?;
    let (prototype, trouble) = (prototype.clone().unbind(), trouble.clone());
    let build = move |link, mut dice: Rng| {
        let seed = dice.bits();
        Python::attach(|py| Discipline::new(prototype.bind(py), link, seed, trouble.clone()))
            .map_err(|error| {
                let why = error.to_string();
                trouble.note(error);
                ConfigError::new("queue", "start", why)
            })
    };
    Ok(Foreign::new(&name, build).map(|foreign| foreign.with_params(params)))
}

/// One of a Python queue's copies, as the simulator drives it.
struct Discipline {
    object: Py<PyAny>,
    ledger: Py<Ledger>,
    held: Backlog,
    /// Whether the class has methods of these names that say more than nothing.
    wakes: bool,
    probes: bool,
    trouble: Trouble,
    failed: bool,
}

impl Discipline {
    fn new(
        prototype: &Bound<'_, PyAny>,
        link: tidegate::Link,
        seed: u64,
        trouble: Trouble,
    ) -> PyResult<Discipline> {
        let py = prototype.py();
        let object = py.import("copy")?.call_method1("deepcopy", (prototype,))?;
        let ledger = Py::new(py, Ledger::default())?;
        object.setattr("_ledger", ledger.clone_ref(py))?;
        object.call_method1("start", (Link(link), seed))?;
        let base = py.import("tidegate._discipline")?.getattr("Discipline")?;
        let own = |method: &str| -> PyResult<bool> {
            Ok(!object.get_type().getattr(method)?.is(base.getattr(method)?))
        };
        Ok(Discipline {
            wakes: own("wake_at")?,
            probes: own("probe")?,
            object: object.unbind(),
            ledger,
            held: Backlog::default(),
            trouble,
            failed: false,
        })
    }

    /// What a call to Python gave; `None`, and the end of the run, if it raised.
    fn settle<T>(&mut self, result: PyResult<T>) -> Option<T> {
        result
            .map_err(|error| {
                self.failed = true;
                self.trouble.note(error);
            })
            .ok()
    }

    /// Tells `out` what the last call dropped and marked.
    fn tell<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) {
        for (packet, event) in self.ledger.get().drain() {
            match event {
                Event::Dropped(why) => {
                    self.held.remove(packet.len);
                    out.dropped(now, &packet, why);
                }
                Event::Marked(why) => out.marked(now, &packet, why),
            }
        }
    }
}

impl Qdisc for Discipline {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: tidegate::Packet, out: &mut S) {
        let pkt = tidegate::Packet { arrived: now, ..pkt };
        if self.failed {
            // The run is being given up; nothing that it counts is seen.
            return out.dropped(now, &pkt, DropReason::Overlimit);
        }
        self.held.add(pkt.len);
        let called = Python::attach(|py| {
            let packet = self.ledger.get().offer(py, pkt)?;
            let arguments = (now.as_nanos(), packet);
            self.object.call_method1(py, intern!(py, "enqueue"), arguments).map(drop)
        });
        self.settle(called);
        self.tell(now, out);
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<tidegate::Packet> {
        if self.failed {
            return None;
        }
        let called = Python::attach(|py| {
            let arguments = (now.as_nanos(),);
            let returned = self.object.call_method1(py, intern!(py, "dequeue"), arguments)?;
            let returned = returned.bind(py);
            if returned.is_none() {
                return Ok(None);
            }
            let packet = returned.cast::<Packet>().map_err(|_| no_packet(returned))?;
            self.ledger.get().send(packet.get()).map(Some)
        });
        let packet = self.settle(called);
        self.tell(now, out);
        let packet = packet.flatten()?;
        self.held.remove(packet.len);
        Some(packet)
    }

    fn wake_at(&self) -> Option<Time> {
        if !self.wakes || self.failed {
            return None;
        }
        let wake = Python::attach(|py| self.object.call_method0(py, "wake_at")?.extract(py));
        let wake: Option<u64> = wake.unwrap_or_else(|error| {
            self.trouble.note(error);
            None
        });
        wake.map(Time::from_nanos)
    }

    fn backlog(&self) -> Backlog {
        self.held
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        if !self.probes || self.failed {
            return;
        }
        let gauges = Python::attach(|py| -> PyResult<BTreeMap<String, f64>> {
            self.object.call_method0(py, "probe")?.extract(py)
        });
        match gauges {
            Ok(gauges) => {
                gauges
                    .iter()
                    .filter_map(|(name, &value)| Some((interned(name)?, value)))
                    .for_each(|(name, value)| see(Gauge { name, unit: "", value }));
            }
            Err(error) => self.trouble.note(error),
        }
    }
}

/// `returned` is neither a packet nor None.
fn no_packet(returned: &Bound<'_, PyAny>) -> PyErr {
    let kind = returned.get_type().name().map_or("another".into(), |name| name.to_string());
    PyTypeError::new_err(format!("dequeue must return a packet or None, not {kind}"))
}

/// The most gauges that Python queues can have, by name.
const MOST_GAUGES: usize = 1000;

/// `name`, kept for ever: a gauge's name is. None beyond [`MOST_GAUGES`].
fn interned(name: &str) -> Option<&'static str> {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = lock(&NAMES);
    if let Some(known) = names.get(name) {
        return Some(known);
    }
    if names.len() == MOST_GAUGES {
        return None;
    }
    let name: &'static str = Box::leak(name.into());
    names.insert(name);
    Some(name)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What became of a packet.
enum Event {
    Dropped(DropReason),
    Marked(MarkReason),
}

/// The packets that a Python queue holds, and what it said of them since the last look.
#[pyclass(frozen)]
#[derive(Default)]
pub struct Ledger(Mutex<Book>);

#[derive(Default)]
struct Book {
    offered: u64,
    held: BTreeMap<u64, tidegate::Packet>,
    events: Vec<(tidegate::Packet, Event)>,
}

impl Book {
    fn held(&mut self, packet: &Packet) -> PyResult<&mut tidegate::Packet> {
        self.held.get_mut(&packet.id).ok_or_else(|| {
            let shown = packet.__repr__();
            PyRuntimeError::new_err(format!("{shown} is not held: it was sent or dropped before"))
        })
    }
}

impl Ledger {
    fn offer(&self, py: Python<'_>, packet: tidegate::Packet) -> PyResult<Py<Packet>> {
        let mut book = lock(&self.0);
        let id = book.offered;
        book.offered += 1;
        book.held.insert(id, packet);
        Py::new(py, Packet::new(id, packet.flow, &packet))
    }

    fn send(&self, packet: &Packet) -> PyResult<tidegate::Packet> {
        let mut book = lock(&self.0);
        let sent = *book.held(packet)?;
        book.held.remove(&packet.id);
        Ok(sent)
    }

    fn drain(&self) -> Vec<(tidegate::Packet, Event)> {
        std::mem::take(&mut lock(&self.0).events)
    }
}

#[pymethods]
impl Ledger {
    /// `packet`, which is held, is dropped.
    fn drop(&self, packet: &Packet, why: &str) -> PyResult<()> {
        let why = reason(why, DropReason::ALL, DropReason::name)?;
        let dropped = self.send(packet)?;
        lock(&self.0).events.push((dropped, Event::Dropped(why)));
        Ok(())
    }

    /// `packet`, which is held, is marked.
    fn mark(&self, packet: &Packet, why: &str) -> PyResult<()> {
        let why = reason(why, MarkReason::ALL, MarkReason::name)?;
        if !packet.codepoint().is_capable() {
            let shown = packet.__repr__();
            return Err(PyValueError::new_err(format!("{shown} cannot be marked; drop it")));
        }
        let mut book = lock(&self.0);
        let held = book.held(packet)?;
        held.ecn = Ecn::Ce;
        let marked = *held;
        book.events.push((marked, Event::Marked(why)));
        packet.set_codepoint(Ecn::Ce);
        Ok(())
    }

    /// A copy of a queue starts with a ledger of its own.
    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Ledger {
        Ledger::default()
    }
}
