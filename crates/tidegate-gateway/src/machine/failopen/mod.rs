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
//! passed the program, a few microseconds after its copy was made. A forwarder therefore counts the
//! frames that wait, then asks whether they are [`ours`](Guard::ours), which reads the clock. It
//! takes no more than were counted. All that had arrived while the heartbeat was still fresh is
//! ours. [`GUARD`] is left between what we and the program call fresh, for a processor that is
//! interrupted between copy and program. After a lapse `beat` renews first and says
//! [`PromiseState::Lapsed`]; then what waits is thrown away, for the kernel has forwarded it, and
//! what comes is ours again. A frame that comes in between may be lost by that; none is sent twice.
//! For this, the program must see our renewal or we must see the frame. The kernel's wake-up of a
//! packet socket's reader is a memory barrier on its side, and we have a fence on ours.
pub mod attach;
mod gate;
mod hold;
mod installed;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{Ordering, fence};

use aya::Ebpf;
use aya::maps::{Array, MapData, PerCpuArray};
use aya::programs::SchedClassifier;
use tidegate::{Span, Time};

use crate::device::guard::{Guard, PromiseState};
use crate::machine::clock;
use crate::machine::netlink::Netlink;
use attach::Installation;
use gate::Restore;
pub use gate::{Holder, KernelGate};
use hold::Hold;
use installed::{Installed, installed};
pub use installed::{find, holds, remove};

/// How long the heartbeat stays fresh after it was renewed. That is time for four of the
/// [`BEAT`](crate::device::guard::BEAT)s, so that a busy machine does not make it lapse. The last
/// part of it, [`GUARD`], is not ours.
pub const VALID: Span = Span::from_millis(300);
/// How long before its end we call it stale ourselves.
pub const GUARD: Span = Span::from_millis(100);

/// What `gate.bpf.c` compiles to.
const OBJECT: &[u8] = aya::include_bytes_aligned!("gate.bpf.o");

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
    gate: KernelGate,
    /// The program's number.
    program: u32,
}

impl FailOpen {
    /// Loads the program and puts it at both interfaces, which from then on are joined, unmanaged
    /// until the first beat. What a gate that is gone has left there is replaced.
    ///
    /// # Errors
    /// A living gate holds one of them; the kernel refuses. Then everything is as it was, except
    /// for leftovers.
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
        let places =
            old.map(|old| if old.is_some() { Installation::Replace } else { Installation::Empty });
        let gate = KernelGate {
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
        let gate = KernelGate {
            valid_until: Time::ZERO,
            interfaces: loopback,
            holder: None,
            restore: Default::default(),
        };
        let (_fail_open, program) = FailOpen::load(gate)?;
        attach::add_clsact(netlink, 1)?;
        attach::attach(netlink, 1, program_fd(&program)?, Installation::Empty)?;
        attach::detach(netlink, 1)?;
        attach::delete_clsact(netlink, 1)
    }

    fn load(gate: KernelGate) -> io::Result<(FailOpen, Ebpf)> {
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
    fn put(
        &mut self,
        netlink: &mut Netlink,
        program: &Ebpf,
        places: [Installation; 2],
    ) -> io::Result<()> {
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
    /// written, not when `until` was decided upon: a thread that was stopped in between finds out
    /// here.
    pub fn promise(&mut self, until: Time) -> PromiseState {
        let old = self.gate.valid_until;
        let renewed = self.write(KernelGate { valid_until: until, ..self.gate });
        fence(Ordering::SeqCst);
        if clock::now() + GUARD <= old && renewed.is_ok() {
            PromiseState::Kept
        } else {
            PromiseState::Lapsed
        }
    }

    /// Ends the heartbeat: from here on the kernel forwards.
    ///
    /// # Errors
    /// The kernel's; the heartbeat ends by itself then.
    pub fn open(&mut self) -> io::Result<()> {
        let ours = self.gate;
        let result = self.write(KernelGate { valid_until: Time::ZERO, holder: None, ..ours });
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
        let ours = |filter: &attach::KernelFilter| {
            filter.is_ours() && filter.program == Some(self.program)
        };
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

    fn write(&mut self, gate: KernelGate) -> io::Result<()> {
        self.state.set(0, gate.words(), 0).map_err(told("the heartbeat cannot be written"))?;
        self.gate = gate;
        Ok(())
    }
}

impl Guard for FailOpen {
    fn beat(&mut self) -> PromiseState {
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

fn classifier(program: &mut Ebpf) -> io::Result<&mut SchedClassifier> {
    program.program_mut(attach::NAME).ok_or_else(damaged)?.try_into().map_err(io::Error::other)
}

fn program_fd(program: &Ebpf) -> io::Result<BorrowedFd<'_>> {
    Ok(program.program(attach::NAME).ok_or_else(damaged)?.fd().map_err(io::Error::other)?.as_fd())
}

fn damaged() -> io::Error {
    io::Error::other("the compiled program is not the one of the source")
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
