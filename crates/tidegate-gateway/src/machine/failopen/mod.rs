//! The wire that stays open when we do not: a program in the kernel forwards whenever our heartbeat
//! is stale.
//!
//! It sits at the ingress of both interfaces, behind the point where packet sockets take their
//! copies. While the gate lives it ends every frame there: the gate has its copy, and the machine's
//! own stack is to see nothing. When its [`beat`](Guard::beat) was not called for [`VALID`],
//! because every process of ours was killed or is stopped, it sends each frame out of the other
//! interface instead, unmanaged. It needs nobody to do so, and it stays until [`remove`] or a next
//! gate comes.
//!
//! **Why no frame goes out twice.** A frame is ours or the kernel's by the clock's reading when it
//! passed the program, a few microseconds after its copy was made. Whoever forwards therefore
//! counts the frames that wait, then asks whether they are [`ours`](Guard::ours), which reads the
//! clock, and takes no more than were counted: what had arrived by a moment at which the heartbeat
//! was still fresh is ours, all of it. [`GUARD`] is left between what we and the program call
//! fresh, for a processor that is interrupted between copy and program. After a lapse `beat` renews
//! first and says [`Promise::Lapsed`]; then what waits is thrown away, for the kernel has forwarded
//! it, and what comes is ours again. A frame that comes in between may be lost by that; none is
//! sent twice. (This needs the program to see our renewal or us to see the frame; the kernel's
//! wake-up of a packet socket's reader has the memory barrier for its side, we have a fence for
//! ours.)
pub mod attach;
mod hold;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{Ordering, fence};

use aya::Ebpf;
use aya::maps::{Array, MapData, MapInfo, PerCpuArray};
use aya::programs::{SchedClassifier, loaded_programs};
use tidegate::{Span, Time};

use crate::device::guard::{Guard, Promise};
use crate::machine::clock;
use crate::machine::netlink::Netlink;
use attach::Place;
use hold::Hold;

/// How long the heartbeat stays fresh after it was renewed, of which [`GUARD`] is not ours: time
/// for four of the [`BEAT`](crate::device::guard::BEAT)s, so that a busy machine does not make it
/// lapse.
pub const VALID: Span = Span::from_millis(300);
/// How long before its end we call it stale ourselves.
pub const GUARD: Span = Span::from_millis(100);

/// What `gate.bpf.c` compiles to.
const OBJECT: &[u8] = aya::include_bytes_aligned!("gate.bpf.o");

/// What `struct gate` of the program says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The heartbeat is fresh before this time of the monotonic clock.
    pub valid_until: Time,
    /// The two interfaces, by index.
    pub interfaces: [u32; 2],
    /// The process that holds them, or held them until it was killed.
    pub holder: Option<Holder>,
    /// What is to be undone at each interface when the program is removed.
    restore: [Restore; 2],
}

/// A process, told from others that had its number before or will have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its number.
    pub process: u32,
    /// When it began, in the system's ticks.
    pub started: u64,
}

impl Holder {
    fn ourselves() -> Holder {
        let process = std::process::id();
        Holder { process, started: start_of(process).unwrap_or(0) }
    }

    fn lives(&self) -> bool {
        start_of(self.process) == Some(self.started)
    }
}

/// When the process with this number began, if there is one that has not ended.
fn start_of(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name stands in parentheses and may have some itself; after it the state, and the start as
    // the 22nd of all.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    match fields.next()? {
        "Z" | "X" => None, // ended, and not yet waited for
        _ => fields.nth(18)?.parse().ok(),
    }
}

/// What was changed at an interface besides the filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Restore {
    /// The discipline was added by us.
    clsact: bool,
    /// It was we who told it to take frames for any address.
    promiscuous: bool,
}

impl Gate {
    fn words(&self) -> [u64; 6] {
        let restore = self.restore.map(|r| u64::from(r.clsact) | u64::from(r.promiscuous) << 1);
        let [one, other] = self.interfaces.map(u64::from);
        let (process, started) =
            self.holder.map_or((0, 0), |holder| (holder.process.into(), holder.started));
        [self.valid_until.as_nanos(), one, other, process, started, restore[0] | restore[1] << 2]
    }

    fn from_words([valid_until, one, other, process, started, restore]: [u64; 6]) -> Gate {
        let bit = |n: u32| restore >> n & 1 == 1;
        Gate {
            valid_until: Time::from_nanos(valid_until),
            interfaces: [one as u32, other as u32],
            holder: (process != 0).then_some(Holder { process: process as u32, started }),
            restore: [0, 2].map(|at| Restore { clsact: bit(at), promiscuous: bit(at + 1) }),
        }
    }

    /// The process that holds the interfaces, if it lives: its heartbeat is fresh, or it is stopped
    /// or starved and may go on.
    pub fn held(&self, now: Time) -> Option<u32> {
        let holder = self.holder.filter(|holder| now < self.valid_until || holder.lives());
        holder.map(|holder| holder.process)
    }

    fn restore_of(&self, interface: u32) -> Restore {
        match self.interfaces.iter().position(|&i| i == interface) {
            Some(at) => self.restore[at],
            None => Restore::default(),
        }
    }
}

/// What the program did with what came in by an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Frames that it left to us.
    pub taken: u64,
    /// Frames that it forwarded itself.
    pub unmanaged: u64,
}

/// The loaded program and its heartbeat, at two interfaces that nobody else may have meanwhile. The
/// program stays when this is dropped, and forwards from then on.
pub struct FailOpen {
    _holds: Option<[Hold; 2]>,
    state: Array<MapData, [u64; 6]>,
    counts: PerCpuArray<MapData, [u64; 2]>,
    gate: Gate,
    /// The program's number.
    program: u32,
}

impl FailOpen {
    /// Loads the program and puts it at both interfaces, which from then on are joined, unmanaged
    /// until the first beat. What a gate that is gone has left there is replaced.
    ///
    /// # Errors
    /// A living gate holds one of them; the kernel refuses. Then everything is as it was, but for
    /// leftovers.
    pub fn install(interfaces: [u32; 2], now: Time) -> io::Result<FailOpen> {
        let holds = Hold::both(interfaces)?;
        let netlink = &mut Netlink::open()?;
        let [one, other] = interfaces.map(|interface| installed(netlink, interface));
        let old = [one?, other?];
        if let Some(process) = old.iter().flatten().find_map(|old| old.gate.held(now)) {
            return Err(hold::busy(Some(process)));
        }
        for old in old.iter().flatten() {
            old.let_go_of_others(netlink, interfaces)?;
        }
        let restore = [0, 1]
            .map(|at| old[at].map_or_else(Restore::default, |o| o.gate.restore_of(interfaces[at])));
        let places = old.map(|old| if old.is_some() { Place::Replace } else { Place::Empty });
        let gate = Gate {
            valid_until: Time::ZERO,
            interfaces,
            holder: Some(Holder::ourselves()),
            restore,
        };
        let (mut fail_open, program) = FailOpen::load(gate)?;
        fail_open._holds = Some(holds);
        match fail_open.put(netlink, &program, places) {
            Ok(()) => Ok(fail_open),
            Err(why) => {
                // The first error is the one to tell.
                let _ = fail_open.remove();
                Err(why)
            }
        }
    }

    /// Puts the program at the loopback interface and takes it away again, to see whether this
    /// kernel lets us. For a network namespace in which nobody minds.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn try_out() -> io::Result<()> {
        let netlink = &mut Netlink::open()?;
        let loopback = [1, 1];
        let gate = Gate {
            valid_until: Time::ZERO,
            interfaces: loopback,
            holder: None,
            restore: Default::default(),
        };
        let (_fail_open, program) = FailOpen::load(gate)?;
        attach::add_clsact(netlink, 1)?;
        attach::attach(netlink, 1, program_fd(&program)?, Place::Empty)?;
        attach::detach(netlink, 1)?;
        attach::delete_clsact(netlink, 1)
    }

    fn load(gate: Gate) -> io::Result<(FailOpen, Ebpf)> {
        let mut program = Ebpf::load(OBJECT).map_err(told("the program cannot be loaded"))?;
        let state = program.take_map("GATE").ok_or_else(damaged)?;
        let counts = program.take_map("COUNTS").ok_or_else(damaged)?;
        classifier(&mut program)?.load().map_err(told("the program cannot be loaded"))?;
        let number = classifier(&mut program)?.info().map_err(io::Error::other)?.id();
        let mut fail_open = FailOpen {
            _holds: None,
            state: Array::try_from(state).map_err(io::Error::other)?,
            counts: PerCpuArray::try_from(counts).map_err(io::Error::other)?,
            gate,
            program: number,
        };
        fail_open.write(gate)?;
        Ok((fail_open, program))
    }

    /// Puts the program in its places; what has to be undone later is written down before it is
    /// done.
    fn put(&mut self, netlink: &mut Netlink, program: &Ebpf, places: [Place; 2]) -> io::Result<()> {
        let fd = program_fd(program)?;
        for (at, place) in places.into_iter().enumerate() {
            let interface = self.gate.interfaces[at];
            let lacks_clsact = !attach::has(netlink, interface, attach::CLSACT)?;
            let modest = !attach::is_promiscuous(netlink, interface)?;
            let mut gate = self.gate;
            gate.restore[at].clsact |= lacks_clsact;
            gate.restore[at].promiscuous |= modest;
            self.write(gate)?;
            if lacks_clsact {
                attach::add_clsact(netlink, interface)?;
            }
            if let Err(why) = attach::attach(netlink, interface, fd, place) {
                // Whoever removes later goes by the programs that he finds.
                if lacks_clsact && attach::filters(netlink, interface)?.is_empty() {
                    attach::delete_clsact(netlink, interface)?;
                }
                return Err(why);
            }
            if modest {
                attach::set_promiscuous(netlink, interface, true)?;
            }
        }
        Ok(())
    }

    /// Lets the heartbeat be fresh until `until`. Whether it had held is judged when that is
    /// written, not when `until` was decided upon: whoever is stopped in between finds out
    /// here.
    pub fn promise(&mut self, until: Time) -> Promise {
        let old = self.gate.valid_until;
        let renewed = self.write(Gate { valid_until: until, ..self.gate });
        fence(Ordering::SeqCst);
        if clock::now() + GUARD <= old && renewed.is_ok() { Promise::Kept } else { Promise::Lapsed }
    }

    /// Ends the heartbeat: from here on the kernel forwards.
    ///
    /// # Errors
    /// The kernel's; the heartbeat ends by itself then.
    pub fn open(&mut self) -> io::Result<()> {
        let ours = self.gate;
        let result = self.write(Gate { valid_until: Time::ZERO, holder: None, ..ours });
        self.gate.holder = ours.holder; // a beat takes it up again
        result
    }

    /// Ends the heartbeat and takes the program away, from wherever it still is; the interfaces are
    /// as before.
    ///
    /// # Errors
    /// The kernel's; both are tried.
    pub fn remove(mut self) -> io::Result<()> {
        let netlink = &mut Netlink::open()?;
        let opened = self.open();
        // Known by its number, which who may only change interfaces is told; what is in it we know
        // ourselves.
        let ours =
            |filter: &attach::Filter| filter.is_ours() && filter.program == Some(self.program);
        let [one, other] = self.gate.interfaces.map(|interface| {
            if attach::filters(netlink, interface)?.iter().any(ours) {
                Installed { interface, program: self.program, gate: self.gate }.take_away(netlink)
            } else {
                Ok(())
            }
        });
        opened.and(one).and(other)
    }

    /// What the program did since it was loaded, at the one interface and at the other.
    ///
    /// # Errors
    /// The kernel's.
    pub fn passed(&self) -> io::Result<[Passed; 2]> {
        let by = |interface: u32| -> io::Result<Passed> {
            let each = self.counts.get(&interface, 0).map_err(io::Error::other)?;
            let sum = |word: usize| each.iter().map(|words| words[word]).sum();
            Ok(Passed { taken: sum(0), unmanaged: sum(1) })
        };
        Ok([by(0)?, by(1)?])
    }

    fn write(&mut self, gate: Gate) -> io::Result<()> {
        self.state.set(0, gate.words(), 0).map_err(told("the heartbeat cannot be written"))?;
        self.gate = gate;
        Ok(())
    }
}

impl Guard for FailOpen {
    fn beat(&mut self) -> Promise {
        self.promise(clock::now() + VALID)
    }

    fn ours(&mut self) -> bool {
        clock::now() + GUARD <= self.gate.valid_until
    }

    fn leave(&mut self) {
        // If this fails the heartbeat ends by itself.
        let _ = self.open();
    }
}

impl Drop for FailOpen {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A program of ours that was found.
#[derive(Clone, Copy, Debug)]
struct Installed {
    /// Where it was found.
    interface: u32,
    /// Its number.
    program: u32,
    gate: Gate,
}

impl Installed {
    /// Takes it from its interface and undoes what was changed there for it.
    fn take_away(&self, netlink: &mut Netlink) -> io::Result<()> {
        let (restore, interface) = (self.gate.restore_of(self.interface), self.interface);
        attach::detach(netlink, interface)?;
        if restore.clsact && attach::filters(netlink, interface)?.is_empty() {
            attach::delete_clsact(netlink, interface)?;
        }
        if restore.promiscuous {
            attach::set_promiscuous(netlink, interface, false)?;
        }
        Ok(())
    }

    /// Takes it from the other end of its pair unless that is one of `interfaces`: it would go on
    /// sending here.
    fn let_go_of_others(&self, netlink: &mut Netlink, interfaces: [u32; 2]) -> io::Result<()> {
        for other in self.gate.interfaces.into_iter().filter(|other| !interfaces.contains(other)) {
            // Who holds it replaces what is there, or has done so.
            let Ok(_hold) = Hold::take(other) else { continue };
            if let Some(same) =
                installed(netlink, other)?.filter(|found| found.program == self.program)
            {
                same.take_away(netlink)?;
            }
        }
        Ok(())
    }
}

/// The program of ours at `interface`.
fn installed(netlink: &mut Netlink, interface: u32) -> io::Result<Option<Installed>> {
    let filter = attach::filters(netlink, interface)?.into_iter().find(attach::Filter::is_ours);
    let Some(program) = filter.and_then(|f| f.program) else { return Ok(None) };
    let mut all = loaded_programs().peekable();
    if let Some(Err(error)) = all.peek()
        && is_refusal(error)
    {
        let why = "whose program is at it cannot be seen (Operation not permitted)";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let map = all.flatten().find(|p| p.id() == program).and_then(|p| p.map_ids().ok().flatten());
    let named = |id: &u32| MapInfo::from_id(*id).is_ok_and(|m| m.name_as_str() == Some("GATE"));
    let id = map.into_iter().flatten().find(named).ok_or_else(|| foreign("has no map of ours"))?;
    let map = aya::maps::Map::from_map_data(MapData::from_id(id).map_err(io::Error::other)?);
    let state = map.and_then(Array::<_, [u64; 6]>::try_from).map_err(io::Error::other)?;
    let gate = Gate::from_words(state.get(&0, 0).map_err(io::Error::other)?);
    Ok(Some(Installed { interface, program, gate }))
}

/// The gate that is installed at `interface`, alive or left over.
///
/// # Errors
/// The kernel's; a filter of our name that is not ours.
pub fn find(netlink: &mut Netlink, interface: u32) -> io::Result<Option<Gate>> {
    Ok(installed(netlink, interface)?.map(|found| found.gate))
}

/// Whether the process with this number holds `interface` and its heartbeat is fresh: frames take
/// their way through it.
///
/// # Errors
/// The kernel's.
pub fn holds(process: u32, interface: u32, now: Time) -> io::Result<bool> {
    let gate = find(&mut Netlink::open()?, interface)?;
    Ok(gate.is_some_and(|gate| {
        gate.holder.is_some_and(|h| h.process == process) && now < gate.valid_until
    }))
}

/// Takes away what a gate that is gone has left at `interface`, which then is as before; whether
/// there was any.
///
/// # Errors
/// A gate holds it; the kernel's.
pub fn remove(interface: u32) -> io::Result<bool> {
    let _hold = Hold::take(interface)?;
    let netlink = &mut Netlink::open()?;
    let Some(found) = installed(netlink, interface)? else { return Ok(false) };
    found.take_away(netlink)?;
    Ok(true)
}

fn classifier(program: &mut Ebpf) -> io::Result<&mut SchedClassifier> {
    program.program_mut(attach::NAME).ok_or_else(damaged)?.try_into().map_err(io::Error::other)
}

fn program_fd(program: &Ebpf) -> io::Result<BorrowedFd<'_>> {
    Ok(program.program(attach::NAME).ok_or_else(damaged)?.fd().map_err(io::Error::other)?.as_fd())
}

fn damaged() -> io::Error {
    io::Error::other("the compiled program is not the one of the source")
}

fn foreign(how: &str) -> io::Error {
    io::Error::other(format!("a filter named {} that {how} is installed", attach::NAME))
}

/// Whether the kernel has said that we are not allowed.
pub(crate) fn is_refusal(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|error| {
        error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    })
}

fn told<E: std::error::Error + 'static>(what: &str) -> impl Fn(E) -> io::Error {
    move |error| {
        // The kernel's own answer is the last in the chain.
        let mut told = format!("{what}: {error}");
        let mut cause = error.source();
        while let Some(error) = cause {
            told = format!("{told}: {error}");
            cause = error.source();
        }
        if is_refusal(&error) {
            io::Error::new(io::ErrorKind::PermissionDenied, told)
        } else {
            io::Error::other(told)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_is_told_can_be_read_back() {
        let on = Restore { clsact: true, promiscuous: false };
        let off = Restore { clsact: false, promiscuous: true };
        for restore in [[on, off], [off, on], [on, on], [Restore::default(), off]] {
            let holder =
                [Some(Holder { process: 77, started: 1 << 40 }), None][restore[0].clsact as usize];
            let gate =
                Gate { valid_until: Time::from_nanos(7), interfaces: [3, 9], holder, restore };
            assert_eq!(Gate::from_words(gate.words()), gate);
            assert_eq!((gate.restore_of(3), gate.restore_of(9)), (restore[0], restore[1]));
            assert_eq!(gate.restore_of(4), Restore::default());
        }
    }

    #[test]
    fn a_gate_is_held_while_its_heartbeat_is_fresh_or_its_process_lives() {
        let ourselves = Holder::ourselves();
        assert!(ourselves.started > 0);
        let gone = Holder { started: ourselves.started - 1, ..ourselves };
        let gate = |holder| Gate {
            valid_until: Time::from_nanos(7),
            interfaces: [3, 9],
            holder,
            restore: Default::default(),
        };
        let held = |holder| [6, 7].map(|now| gate(holder).held(Time::from_nanos(now)));
        let us = Some(std::process::id());
        assert_eq!(
            (held(Some(ourselves)), held(Some(gone)), held(None)),
            ([us, us], [us, None], [None, None])
        );
    }
}
