//! A bottleneck: a queue, the link behind it, and the way to the other end.
use std::cell::Cell;
use std::ffi::c_char;

use tidegate::bottleneck::{Capacity, Trace};
use tidegate::{Prob, Qdisc, Seed, Span, Time};

use crate::failure::{Failure, Held, Status, call, free, look, make, optional, read};
use crate::packet::{Backlog, Outcome, Packet, Reason, or_never};
use crate::queue::{LinkText, build, link_of, parse};

/// The way behind a queue, as text. Null means none, in each.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Way {
    /// From the link's end to the other end, as in "20 ms": at most an hour.
    pub delay: *const c_char,
    /// The share of packets lost at random after the link has sent them, as in "1 %" or "0.01".
    pub loss: *const c_char,
    /// A capacity that varies, as `mm-link` of mahimahi reads it: on each line a time in
    /// milliseconds at which the link can send 1500 bytes. In place of a rate.
    pub trace: *const c_char,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Fate {
    /// When: its last bit reached the other end, or would have, or the queue dropped it.
    pub at: u64,
    /// Yours, as it was offered.
    pub payload: u64,
    /// The packet. A mark is in its `ecn`.
    pub packet: Packet,
    /// What happened.
    pub outcome: Outcome,
    /// Why it was dropped.
    pub reason: Reason,
}

/// A queue, the link behind it, and the way to the other end: you offer packets and poll what comes
/// out.
#[derive(Debug)]
pub struct Bottleneck {
    inner: tidegate::Bottleneck<u64>,
    broken: Cell<bool>,
}

impl Held for Bottleneck {
    fn broken(&self) -> &Cell<bool> {
        &self.broken
    }
}

impl From<tidegate::bottleneck::Fate<u64>> for Fate {
    #[inline]
    fn from(fate: tidegate::bottleneck::Fate<u64>) -> Fate {
        let (outcome, reason) = match fate.outcome {
            tidegate::bottleneck::Outcome::Delivered => (Outcome::Delivered, Reason::None),
            tidegate::bottleneck::Outcome::Lost => (Outcome::Lost, Reason::None),
            tidegate::bottleneck::Outcome::Dropped(why) => (Outcome::Dropped, why.into()),
            _ => (Outcome::Other, Reason::Other),
        };
        let (at, payload) = (fate.at.as_nanos(), fate.payload);
        Fate { at, payload, packet: fate.packet.into(), outcome, reason }
    }
}

/// The bottleneck of these texts.
///
/// # Safety
/// All are null or valid.
unsafe fn new(
    queue: *const c_char,
    link: *const LinkText,
    way: *const Way,
    seed: u64,
) -> Result<Bottleneck, Failure> {
    // SAFETY: the caller says that it is valid if it is not null.
    let way = unsafe { way.as_ref() }.ok_or_else(|| Failure::null("way"))?;
    // SAFETY: the caller says that these texts are valid if they are not null.
    let (queue, delay, loss, trace) = unsafe {
        (
            read(queue, "queue")?,
            optional(way.delay, "way.delay")?,
            optional(way.loss, "way.loss")?,
            optional(way.trace, "way.trace")?,
        )
    };
    let trace = trace.map(|text| parse::<Trace>("way.trace", text)).transpose()?;
    // SAFETY: the caller says that it is valid if it is not null.
    let link = unsafe { link_of(link, trace.as_ref().map(Trace::mean_rate)) }?;
    let delay = delay.map_or(Ok(Span::ZERO), |text| parse("way.delay", text))?;
    let capacity = trace.map_or(Capacity::Rate(link.rate), Capacity::Trace);
    let queue = build(queue, link, seed)?;
    let mut inner = tidegate::Bottleneck::new(capacity, delay, queue)?;
    if let Some(loss) = loss {
        let loss: Prob = parse("way.loss", loss)?;
        inner = inner.with_loss(loss, Seed::new(seed).stream("loss"));
    }
    Ok(Bottleneck { inner, broken: Cell::default() })
}

/// Makes a bottleneck and puts it into `out`; null if it fails. `queue`, `link` and `seed` are as
/// for `tidegate_queue_new`.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_bottleneck_new(
    queue: *const c_char,
    link: *const LinkText,
    way: *const Way,
    seed: u64,
    out: *mut *mut Bottleneck,
) -> Status {
    // SAFETY: the caller says that all are null or valid.
    unsafe { make(out, || new(queue, link, way, seed)) }
}

/// Frees a bottleneck. Payloads that are still inside are yours: to have them all, poll the fates
/// at TIDEGATE_NEVER first. Null is no bottleneck, and fine.
///
/// # Safety
/// `bottleneck` is null, or came from `tidegate_bottleneck_new` and is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_bottleneck_free(bottleneck: *mut Bottleneck) {
    // SAFETY: the caller's promise.
    unsafe { free(bottleneck) }
}

/// Offers a packet at `now`, with a payload: a number, or a pointer cast to one. A time before an
/// earlier one counts as that one. Poll after each offer, since what nobody polls stays inside.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_bottleneck_offer(
    bottleneck: *mut Bottleneck,
    now: u64,
    packet: *const Packet,
    payload: u64,
) -> Status {
    let does = |bottleneck: &mut Bottleneck| {
        // SAFETY: the caller says that it is valid if it is not null.
        match unsafe { Packet::read(packet) } {
            Ok(packet) => bottleneck.inner.offer(Time::from_nanos(now), packet, payload),
            Err(status) => return status,
        }
        Status::Ok
    };
    // SAFETY: the caller's promise.
    unsafe { call(bottleneck, does) }
}

/// Takes the next packet that has reached the other end by `now` into `fate`, in the order of time;
/// TIDEGATE_STATUS_NOTHING if there is none. What was dropped or lost is discarded.
///
/// # Safety
/// Pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_bottleneck_poll(
    bottleneck: *mut Bottleneck,
    now: u64,
    fate: *mut Fate,
) -> Status {
    let does = |bottleneck: &mut Bottleneck| {
        if fate.is_null() {
            return Failure::null("fate").keep();
        }
        let Some(next) = bottleneck.inner.poll(Time::from_nanos(now)) else {
            return Status::Nothing;
        };
        // SAFETY: it is not null, and the caller says that it can be written to.
        unsafe { fate.write(next.into()) };
        Status::Ok
    };
    // SAFETY: the caller's promise.
    unsafe { call(bottleneck, does) }
}

/// Takes the next packets by `now`, delivered, lost or dropped, into `fates`, which has room for
/// `most`; `count` receives how many. They come in the order of time; of one time, drops come
/// first. If all the room was taken there may be more.
///
/// # Safety
/// Pointers are null or valid, and `fates` has that room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_bottleneck_poll_fates(
    bottleneck: *mut Bottleneck,
    now: u64,
    fates: *mut Fate,
    most: usize,
    count: *mut usize,
) -> Status {
    if count.is_null() {
        return Failure::null("count").keep();
    }
    let mut taken = 0;
    let does = |bottleneck: &mut Bottleneck| {
        if fates.is_null() {
            return Failure::null("fates").keep();
        }
        while taken < most
            && let Some(next) = bottleneck.inner.poll_fate(Time::from_nanos(now))
        {
            // SAFETY: the caller says that there is room for `most`, of which fewer are taken.
            unsafe { fates.add(taken).write(next.into()) };
            taken += 1;
        }
        Status::Ok
    };
    // SAFETY: the caller's promise.
    let status = unsafe { call(bottleneck, does) };
    // SAFETY: it is not null, and the caller says that it can be written to.
    unsafe { count.write(taken) };
    status
}

/// When to poll next if nothing is offered before; TIDEGATE_NEVER if nothing is inside, or there is
/// no bottleneck. It may come before there is something to poll, never after.
///
/// # Safety
/// `bottleneck` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_bottleneck_next_wake(bottleneck: *const Bottleneck) -> u64 {
    // SAFETY: the caller says that it is valid if it is not null.
    or_never(unsafe { look(bottleneck, None, |bottleneck| bottleneck.inner.next_wake()) })
}

/// How many packets were offered whose fate nobody has polled; 0 if there is no bottleneck.
///
/// # Safety
/// `bottleneck` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_bottleneck_inside(bottleneck: *const Bottleneck) -> usize {
    // SAFETY: the caller says that it is valid if it is not null.
    unsafe { look(bottleneck, 0, |bottleneck| bottleneck.inner.inside()) }
}

/// What waits in the queue; nothing if there is no bottleneck.
///
/// # Safety
/// `bottleneck` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidegate_bottleneck_backlog(bottleneck: *const Bottleneck) -> Backlog {
    // SAFETY: the caller says that it is valid if it is not null.
    unsafe { look(bottleneck, Backlog::default(), |held| held.inner.queue().backlog().into()) }
}
