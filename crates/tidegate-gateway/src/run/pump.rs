//! The loop that gives a gate the time: it sleeps until shortly before the next departure, then
//! looks at the clock until it has come. Or it never sleeps, which costs a processor and spares the
//! frames its awakening. How long shortly is, the machine [teaches](Wakes), and what would be due
//! in a [tick](Tick) of the kernel's may be done just before it.
use std::io;
use std::os::fd::AsFd;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use nix::errno::Errno;
use tidegate::{Span, Time};

use crate::device::guard::{BEAT, Guard, PromiseState};
use crate::device::port::{Altered, Port};
use crate::machine::clock;
use crate::path::gate::{Gate, Next, Renewal, Superseded};
use crate::run::tick::Tick;
use crate::run::wakes::{self, Wakes};
use crate::watch::counters::Account;
use crate::watch::observer::Observer;
use crate::watch::sample::Sampler;

/// How long to pump, and whom to tell.
pub struct Commands<'a> {
    /// What it does until something is due.
    pub waits: Waits,
    /// When to stop by itself.
    pub duration: Option<Span>,
    /// How often to tell how things stand.
    pub status: Option<Span>,
    /// What is requested; polled every [`BEAT`].
    pub request: &'a dyn Fn() -> PumpRequest,
    /// How long what waits may take to leave after the request to [drain](PumpRequest::Drain).
    pub drain: Span,
    /// Whence changes come; looked at every [`BEAT`].
    pub changes: Option<&'a Receiver<Box<Change>>>,
    /// What is given a sample every [`BEAT`].
    pub sampler: Option<&'a mut Sampler>,
    /// Receives what happens. It must not wait: frames do.
    pub tell: &'a mut dyn FnMut(Event),
}

impl<'a> Commands<'a> {
    /// To pump, asleep between departures, as long as nothing else is requested.
    pub fn new(
        request: &'a dyn Fn() -> PumpRequest,
        tell: &'a mut dyn FnMut(Event),
    ) -> Commands<'a> {
        let (waits, drain) = (Waits::Asleep, Span::ZERO);
        Commands {
            waits,
            duration: None,
            status: None,
            request,
            drain,
            changes: None,
            sampler: None,
            tell,
        }
    }
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PumpRequest {
    /// Yes.
    GoOn,
    /// No: what arrives from here on is the kernel's, and what waits is to be sent, each frame at
    /// its time.
    Drain,
    /// No, at once.
    End,
}

/// What is to be otherwise from here on.
#[derive(Debug)]
pub struct Change {
    /// How to wait.
    pub waits: Waits,
    /// How long what waits may take to leave at the end.
    pub drain: Span,
    /// What both directions are to become.
    pub to: Renewal,
}

/// How to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waits {
    /// Asleep, except for the last [margin](Wakes::margin) before a departure.
    #[default]
    Asleep,
    /// Awake: it looks at the clock and at the devices all the time, and takes a processor.
    Awake,
}

/// Something has happened.
#[derive(Debug)]
pub enum Event {
    /// How things stand after so long.
    Status(Span, Box<Account>),
    /// A device is in trouble; frames for it are lost until it is well again.
    Trouble(DeviceSide, io::Error),
    /// A device is well again.
    Well(DeviceSide),
    /// Somebody has changed a device: it goes on with that.
    Altered(DeviceSide, Altered),
    /// We were not to be seen for a while, and the kernel forwarded frames in our stead; so many
    /// that had arrived meanwhile were thrown away in both directions.
    Lapsed(u64),
    /// It goes on [changed](Change). What it needed before is to be dropped; so many frames waited
    /// then.
    Changed(Box<Superseded>, u64),
    /// The first frame has come in by this device whose checksum its sender left to hardware that
    /// is not there. It is sent on as it is, and its receiver finds it damaged.
    Unfinished(DeviceSide),
}

/// Which device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceSide {
    /// The one that floods come from.
    Inner,
    /// The one that the protected link leads to.
    Outer,
}

/// Moves frames until it is stopped, or its time is over; how long it was.
///
/// # Errors
/// The system refuses to wait.
pub fn pump<A, B, W, G>(
    gate: &mut Gate<A, B, W>,
    guard: &mut G,
    mut commands: Commands<'_>,
) -> io::Result<Span>
where
    A: Port + AsFd,
    B: Port + AsFd,
    W: Observer,
    G: Guard,
{
    // Where the system refuses, sleeps end later and frames leave later; nothing else.
    let _ = clock::punctual();
    let mut processor = Processor { tick: Tick::new(clock::tick()), wakes: Wakes::default() };
    let begun = processor.now();
    let mut chores =
        Chores { begun, due: begun, status_due: begun, ill: [false; 2], unfinished: [false; 2] };
    let end = commands.duration.map_or(Time::MAX, |span| begun + span);
    loop {
        gate.count();
        let now = processor.now();
        if now >= end {
            leave(now, gate, guard);
            return Ok(now.since(begun));
        }
        if now >= chores.due {
            chores.due = (now + BEAT).min(end);
            chores.look_after(now, gate, &mut commands);
            beat(now, gate, guard, &mut commands);
            // After a beat, so that it has all the time till the next.
            change(now, gate, &mut commands);
            match (commands.request)() {
                PumpRequest::GoOn => {}
                PumpRequest::End => {
                    leave(now, gate, guard);
                    return Ok(now.since(begun));
                }
                PumpRequest::Drain => {
                    leave(now + BEAT, gate, guard);
                    return Ok(
                        drain(gate, clock::now() + commands.drain, commands.request).since(begun)
                    );
                }
            }
        }
        match (gate.turn(now, guard), commands.waits) {
            (Next::Now, _) => {}
            (Next::Renewal, _) => beat(clock::now(), gate, guard, &mut commands),
            (Next::At(_) | Next::Arrival, Waits::Awake) => std::hint::spin_loop(),
            (Next::At(departure), Waits::Asleep) => {
                let shortly_before =
                    departure.as_nanos().saturating_sub(processor.wakes.margin().as_nanos());
                processor.sleep(gate, chores.due.min(Time::from_nanos(shortly_before)))?;
            }
            (Next::Arrival, Waits::Asleep) => processor.sleep(gate, chores.due)?,
        }
    }
}

/// Goes on as the next change says, if there is one and the last has been come to in full.
fn change<A: Port, B: Port, W: Observer>(
    now: Time,
    gate: &mut Gate<A, B, W>,
    commands: &mut Commands<'_>,
) {
    if gate.is_settled(now)
        && let Some(change) = commands.changes.and_then(|changes| changes.try_recv().ok())
    {
        let Change { waits, drain, to } = *change;
        let superseded = gate.renew(now, to);
        (commands.waits, commands.drain) = (waits, drain);
        (commands.tell)(Event::Changed(Box::new(superseded), gate.account().held()));
    }
}

/// Takes what has arrived, until `end` and no longer, and leaves what comes to the kernel. What
/// comes in the moment between is lost, and counted.
fn leave<A: Port, B: Port, W: Observer>(
    end: Time,
    gate: &mut Gate<A, B, W>,
    guard: &mut impl Guard,
) {
    loop {
        gate.count();
        let now = clock::now();
        if now >= end || gate.turn(now, guard) != Next::Now {
            break;
        }
    }
    guard.leave();
    gate.decline(clock::now());
}

/// Sends what waits, each frame at its time, until nothing is left, or `until` then, or the end is
/// requested; when that was.
fn drain<A: Port, B: Port, W: Observer>(
    gate: &mut Gate<A, B, W>,
    until: Time,
    request: &dyn Fn() -> PumpRequest,
) -> Time {
    loop {
        let now = clock::now();
        let left = match gate.drain(now) {
            Some(next) if now < until && request() != PumpRequest::End => {
                next.min(until).min(now + BEAT).since(now)
            }
            _ => return now,
        };
        std::thread::sleep(Duration::from_nanos(
            left.as_nanos().saturating_sub(wakes::LEAST.as_nanos()),
        ));
    }
}

/// Renews the promise, and throws away what the kernel has forwarded while it had lapsed.
fn beat<A: Port, B: Port, W: Observer>(
    now: Time,
    gate: &mut Gate<A, B, W>,
    guard: &mut impl Guard,
    commands: &mut Commands<'_>,
) {
    if guard.beat() == PromiseState::Lapsed {
        let lost = gate.discard(now);
        (commands.tell)(Event::Lapsed(lost));
    }
}

/// Whether a device is in this trouble because it was taken away: one of its name may come again,
/// but is another.
pub fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::ENODEV as i32)
}

/// What is known of the processor that this thread runs on.
struct Processor {
    tick: Tick,
    wakes: Wakes,
}

impl Processor {
    /// Up to when what is due is to be done.
    #[inline]
    fn now(&mut self) -> Time {
        self.tick.look(clock::now())
    }

    /// Waits until a frame arrives, but not longer than until `then`.
    fn sleep<A: Port + AsFd, B: Port + AsFd, W: Observer>(
        &mut self,
        gate: &Gate<A, B, W>,
        then: Time,
    ) -> io::Result<()> {
        let left = then.since(clock::now());
        if left == Span::ZERO {
            return Ok(());
        }
        let undisturbed = clock::wait(gate.ports(), left)?;
        let woke = clock::now();
        if undisturbed {
            self.wakes.woke(woke.since(then));
        }
        self.tick.slept(woke);
        Ok(())
    }
}

/// What is done now and then.
struct Chores {
    begun: Time,
    due: Time,
    status_due: Time,
    /// Which of the devices were in trouble when last looked at.
    ill: [bool; 2],
    /// Whether unfinished frames were seen to come by each of them.
    unfinished: [bool; 2],
}

impl Chores {
    fn look_after<A: Port, B: Port, W: Observer>(
        &mut self,
        now: Time,
        gate: &mut Gate<A, B, W>,
        commands: &mut Commands<'_>,
    ) {
        for ((trouble, ill), side) in gate
            .trouble()
            .into_iter()
            .zip(&mut self.ill)
            .zip([DeviceSide::Inner, DeviceSide::Outer])
        {
            let fails = trouble.is_some();
            match (trouble, *ill) {
                // One that is taken away was mostly down before, and that was told.
                (Some(error), was) if !was || is_gone(&error) => {
                    (commands.tell)(Event::Trouble(side, error))
                }
                (None, true) => (commands.tell)(Event::Well(side)),
                (Some(_), _) | (None, false) => continue,
            }
            *ill = fails;
        }
        for (altered, side) in
            gate.altered().into_iter().zip([DeviceSide::Inner, DeviceSide::Outer])
        {
            altered.into_iter().for_each(|what| (commands.tell)(Event::Altered(side, what)));
        }
        gate.count_missed();
        if let Some(sampler) = &mut commands.sampler {
            sampler.take(|sample| gate.sample(now, sample));
        }
        for ((count, seen), side) in gate
            .unfinished()
            .into_iter()
            .zip(&mut self.unfinished)
            .zip([DeviceSide::Inner, DeviceSide::Outer])
        {
            if count > 0 && !*seen {
                *seen = true;
                (commands.tell)(Event::Unfinished(side));
            }
        }
        if let Some(every) = commands.status
            && now >= self.status_due
        {
            if self.status_due > self.begun {
                (commands.tell)(Event::Status(now.since(self.begun), Box::new(gate.account())));
            }
            self.status_due = now + every;
        }
    }
}
