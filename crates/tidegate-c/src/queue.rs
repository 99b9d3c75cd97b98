//! A queue of the catalog.
use std::cell::Cell;
use std::ffi::c_char;

use tidegate::catalog::AnyQueue;
use tidegate::written::Written;
use tidegate::{DropReason, Link, MarkReason, Qdisc, Seed, Sink, Time};

use crate::failure::{Failure, Held, Status, call, free, look, make, optional, read};
use crate::packet::{Backlog, Outcome, Packet, Reason, or_never};

/// The link that a queue is built for, as text. A queue fits its parameters to it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LinkText {
    /// Its rate, as in "10 Mbit/s". Null for the mean rate of a bottleneck's trace.
    pub rate: *const c_char,
    /// How much may wait in the queue, as in "100 packets" or "200 kB".
    pub limit: *const c_char,
    /// The usual length of a packet, as in "1000 B"; null for that.
    pub mean_packet: *const c_char,
}

/// A drop or a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Event {
    /// The packet that was offered, or one that waited.
    pub packet: Packet,
    /// TIDEGATE_OUTCOME_DROPPED or TIDEGATE_OUTCOME_MARKED.
    pub outcome: Outcome,
    /// Why.
    pub reason: Reason,
}

/// A queue: you offer packets, and ask for one whenever your link is free.
#[derive(Debug)]
pub struct Queue {
    queue: AnyQueue,
    now: u64,
    told: Told,
    broken: Cell<bool>,
}

impl Held for Queue {
    fn broken(&self) -> &Cell<bool> {
        &self.broken
    }
}

/// What the last call dropped and marked.
#[derive(Debug, Default)]
struct Told(Vec<Event>);

impl Sink for Told {
    #[inline]
    fn dropped(&mut self, _: Time, packet: &tidegate::Packet, why: DropReason) {
        let (packet, outcome) = ((*packet).into(), Outcome::Dropped);
        self.0.push(Event { packet, outcome, reason: why.into() });
    }

    #[inline]
    fn marked(&mut self, _: Time, packet: &tidegate::Packet, why: MarkReason) {
        let (packet, outcome) = ((*packet).into(), Outcome::Marked);
        self.0.push(Event { packet, outcome, reason: why.into() });
    }
}

impl Queue {
    /// Goes on to `now`, and forgets what the call before told; a status if time runs back.
    #[inline]
    fn go_on(&mut self, now: u64) -> Result<Time, Status> {
        if now < self.now {
            return Err(self.runs_back(now));
        }
        self.now = now;
        self.told.0.clear();
        Ok(Time::from_nanos(now))
    }

    #[cold]
    fn runs_back(&self, now: u64) -> Status {
        let why = format!("now = {now}: time must not run back; it was {} ns", self.now);
        Failure::new(Status::OutOfRange, why).keep()
    }

    /// See [`tidegate_queue_enqueue`].
    #[inline]
    fn enqueue(
        &mut self,
        now: u64,
        packet: Result<tidegate::Packet, Status>,
    ) -> Result<(), Status> {
        let (packet, now) = (packet?, self.go_on(now)?);
        self.queue.enqueue(now, packet, &mut self.told);
        Ok(())
    }
}

/// How a call ended that says only what failed.
#[inline]
fn status(ended: Result<(), Status>) -> Status {
    ended.err().unwrap_or(Status::Ok)
}

/// The link of `link`, at the rate `default` unless it says one.
///
/// # Safety
/// `link` is null or valid, and so are the texts in it.
pub(crate) unsafe fn link_of(
    link: *const LinkText,
    default: Option<tidegate::Rate>,
) -> Result<Link, Failure> {
    // SAFETY: the caller says that it is valid if it is not null.
    let link = unsafe { link.as_ref() }.ok_or_else(|| Failure::null("link"))?;
    // SAFETY: the caller says that these texts are valid.
    let (rate, limit, mean_packet) = unsafe {
        (
            optional(link.rate, "link.rate")?,
            read(link.limit, "link.limit")?,
            optional(link.mean_packet, "link.mean_packet")?,
        )
    };
    let rate = match (rate, default) {
        (Some(text), _) => parse("link.rate", text)?,
        (None, Some(rate)) => rate,
        (None, None) => return Err(Failure::null("link.rate")),
    };
    let mean_packet = parse("link.mean_packet", mean_packet.unwrap_or("1000 B"))?;
    Ok(Link::new(rate, parse("link.limit", limit)?, mean_packet)?)
}

/// The value that `text` says.
pub(crate) fn parse<T>(field: &str, text: &str) -> Result<T, Failure>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    text.parse().map_err(|error| Failure::new(Status::Refused, format!("{field}: {error}")))
}

/// The queue of `text` for `link`.
pub(crate) fn build(text: &str, link: Link, seed: u64) -> Result<AnyQueue, Failure> {
    let config = Written::read(text)?.config(&link)?;
    Ok(config.build(link, Seed::new(seed).stream("queue"))?)
}

/// Makes an empty queue for `link` and puts it into `out`; null if it fails.
///
/// `queue` is written NAME[/PRESET][,param=value...], as in "sfb/paper,bins=32";
/// `tidegate list queues` has the names. The same seed gives the same drops.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_queue_new(
    queue: *const c_char,
    link: *const LinkText,
    seed: u64,
    out: *mut *mut Queue,
) -> Status {
    let new = || {
        // SAFETY: the caller says that both are null or valid.
        let (queue, link) = unsafe { (read(queue, "queue")?, link_of(link, None)?) };
        let queue = build(queue, link, seed)?;
        Ok(Queue { queue, now: 0, told: Told::default(), broken: Cell::default() })
    };
    // SAFETY: the caller says that it is null or can be written to.
    unsafe { make(out, new) }
}

/// Frees a queue and what waits in it. Null is no queue, and fine.
///
/// # Safety
/// `queue` is null, or came from `tidegate_queue_new` and is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_queue_free(queue: *mut Queue) {
    // SAFETY: the caller's promise.
    unsafe { free(queue) }
}

/// Offers a packet at `now`. Every packet leaves by `tidegate_queue_dequeue`, or it is among the
/// events as dropped: the packet offered, or others in its place.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_queue_enqueue(
    queue: *mut Queue,
    now: u64,
    packet: *const Packet,
) -> Status {
    // SAFETY: the caller's promise.
    let does = |queue: &mut Queue| status(queue.enqueue(now, unsafe { Packet::read(packet) }));
    // SAFETY: the caller's promise.
    unsafe { call(queue, does) }
}

/// Takes the packet to send at `now` into `packet`. TIDEGATE_STATUS_NOTHING if there is none to
/// send yet: then ask again after the next arrival, or at `tidegate_queue_wake_at`.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_queue_dequeue(
    queue: *mut Queue,
    now: u64,
    packet: *mut Packet,
) -> Status {
    let does = |queue: &mut Queue| {
        if packet.is_null() {
            return Failure::null("packet").keep();
        }
        let now = match queue.go_on(now) {
            Ok(now) => now,
            Err(status) => return status,
        };
        let Some(sent) = queue.queue.dequeue(now, &mut queue.told) else {
            return Status::Nothing;
        };
        // SAFETY: it is not null, and the caller says that it can be written to.
        unsafe { packet.write(sent.into()) };
        Status::Ok
    };
    // SAFETY: the caller's promise.
    unsafe { call(queue, does) }
}

/// What the last call of this queue that succeeded dropped and marked, in order; `count` receives
/// how many. The array stays until the next call of this queue. It is null if there is none.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_queue_events(
    queue: *const Queue,
    count: *mut usize,
) -> *const Event {
    // SAFETY: the caller says that it is valid if it is not null.
    let (first, len) = unsafe {
        look(queue, (std::ptr::null(), 0), |queue| (queue.told.0.as_ptr(), queue.told.0.len()))
    };
    if !count.is_null() {
        // SAFETY: it is not null, and the caller says that it can be written to.
        unsafe { count.write(len) };
    }
    if len == 0 || count.is_null() { std::ptr::null() } else { first }
}

/// Does the periodic work that has fallen due by `now`, on a link that neither offers nor asks.
///
/// # Safety
/// `queue` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_queue_advance(queue: *mut Queue, now: u64) -> Status {
    let does = |queue: &mut Queue| status(queue.go_on(now).map(|now| queue.queue.advance(now)));
    // SAFETY: the caller's promise.
    unsafe { call(queue, does) }
}

/// When to ask again, in nanoseconds, of a queue that holds packets back although the link is free.
/// TIDEGATE_NEVER if there is nothing to wait for, or no queue.
///
/// # Safety
/// `queue` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_queue_wake_at(queue: *const Queue) -> u64 {
    // SAFETY: the caller says that it is valid if it is not null.
    or_never(unsafe { look(queue, None, |queue| queue.queue.wake_at()) })
}

/// What waits; nothing if there is no queue.
///
/// # Safety
/// `queue` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_queue_backlog(queue: *const Queue) -> Backlog {
    // SAFETY: the caller says that it is valid if it is not null.
    unsafe { look(queue, Backlog::default(), |queue| queue.queue.backlog().into()) }
}
