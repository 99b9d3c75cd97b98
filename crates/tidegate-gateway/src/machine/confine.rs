//! What a gate may still do once it has started: little, with root's rights or without.
//!
//! A start needs much: to load a program, to find one that is there already, to open files that
//! only root reads. An attacker who has found a mistake in a running gate must get none of that.
//! Threads that move frames keep [`KEPT`], all others no capability at all. Nobody gets any back
//! (`no_new_privs`). Calls to the kernel that a running gate does not need are refused with `EPERM`
//! in every thread. They are refused, and do not kill: a gate that is killed leaves its users
//! unprotected, one that is refused something says so and goes on.
//!
//! Capabilities belong to threads, and no thread can change another's. So threads that are begun
//! before the start is over begin [without](apart) or [give up](give_up) what they have.
use std::collections::BTreeMap;
use std::io;
use std::thread;

use caps::{CapSet, Capability, CapsHashSet};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule,
};

use crate::machine::doctor;

/// The capabilities that threads that move frames keep, if they have them. One opens a packet
/// socket when an MTU has grown. One gives its buffer more than others may have, and takes the
/// program away at the end. One writes the heartbeat, which kernels before 5.19 let nobody else do.
pub const KEPT: [Capability; 3] =
    [Capability::CAP_NET_ADMIN, Capability::CAP_NET_RAW, Capability::CAP_BPF];

/// From this kernel on who has a map open may write to it.
const OPEN_MAPS: (u32, u32) = (5, 19);
/// What is needed beside it until threads have begun: to come before others, and to keep memory in
/// memory.
const BEGINNING: [Capability; 2] = [Capability::CAP_SYS_NICE, RELOADS];
/// What who reads the file again needs: what a reload lays out is to stay in memory, too.
const RELOADS: Capability = Capability::CAP_IPC_LOCK;

/// What a thread does once the start is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadWork {
    /// It moves frames: it keeps [`KEPT`].
    Frames,
    /// It reads the file again, or begins who does: it may lock memory.
    Reloads,
    /// Anything else: nothing.
    Other,
}

/// This thread, and those that it begins from here on, keep of what they have what `work` needs.
///
/// # Errors
/// The kernel's.
pub fn keep_for(work: ThreadWork) -> io::Result<()> {
    let held = caps::read(None, CapSet::Permitted).map_err(io::Error::other)?;
    keep(&match work {
        ThreadWork::Frames => kept(&held, doctor::kernel_version()),
        ThreadWork::Reloads => held.get(&RELOADS).copied().into_iter().collect(),
        ThreadWork::Other => CapsHashSet::new(),
    })
}

/// This thread, and those that it begins from here on, have no capability any more.
///
/// # Errors
/// The kernel's.
pub fn give_up() -> io::Result<()> {
    keep_for(ThreadWork::Other)
}

/// What `work` says on a thread that [gave up](give_up) all it could do; threads that it begins can
/// do no more.
///
/// # Errors
/// The kernel's.
pub fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| give_up().map(|()| work()));
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The start is over. This thread, and those that it begins from here on, keep only what it takes
/// to begin threads that move frames. Each of those then [keeps](keep_for) its part. Every thread
/// of the process may only call what a running gate calls.
///
/// # Errors
/// The kernel knows no such thing, or refuses; as much was done as could be.
pub fn confine() -> io::Result<()> {
    let held = caps::read(None, CapSet::Permitted).map_err(io::Error::other)?;
    let mut kept = kept(&held, doctor::kernel_version());
    kept.extend(BEGINNING.iter().filter(|one| held.contains(one)));
    let capabilities = keep(&kept);
    nix::sys::prctl::set_no_new_privs()?;
    capabilities.and(filter())
}

/// What is kept of what is `held` with this kernel.
fn kept(held: &CapsHashSet, kernel: Option<(u32, u32)>) -> CapsHashSet {
    let mut kept: CapsHashSet = KEPT.into_iter().filter(|one| held.contains(one)).collect();
    // There it is what CAP_BPF is a part of.
    if !held.contains(&Capability::CAP_BPF) && kernel.is_none_or(|kernel| kernel < OPEN_MAPS) {
        kept.extend(held.get(&Capability::CAP_SYS_ADMIN));
    }
    kept
}

fn keep(kept: &CapsHashSet) -> io::Result<()> {
    // Old kernels have no ambient set, and only who may change it can lower the bounding set:
    // nothing is gained by either without a program that is executed, and none is.
    let _ = caps::clear(None, CapSet::Ambient);
    for one in caps::runtime::thread_all_supported().difference(kept) {
        let _ = caps::drop(None, CapSet::Bounding, *one);
    }
    // What is effective must be permitted.
    for set in [CapSet::Effective, CapSet::Permitted] {
        caps::set(None, set, kept).map_err(io::Error::other)?;
    }
    caps::clear(None, CapSet::Inheritable).map_err(io::Error::other)
}

/// Has every thread of the process refused what is not [allowed].
fn filter() -> io::Result<()> {
    let arch = std::env::consts::ARCH;
    let program = |rules, otherwise, matched| -> io::Result<BpfProgram> {
        let arch = arch.try_into().map_err(io::Error::other)?;
        SeccompFilter::new(rules, otherwise, matched, arch)
            .and_then(TryInto::try_into)
            .map_err(io::Error::other)
    };
    // What this call is to do stands in memory, where no filter reads it. The C library takes the
    // other call if there is none.
    let no_clone3 = BTreeMap::from([(libc::SYS_clone3, vec![])]);
    let no_clone3 =
        program(no_clone3, SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32))?;
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let only = program(allowed().map_err(io::Error::other)?, refused, SeccompAction::Allow)?;
    for program in [no_clone3, only] {
        seccompiler::apply_filter_all_threads(&program).map_err(io::Error::other)?;
    }
    Ok(())
}

type ConfinementRules = BTreeMap<i64, Vec<SeccompRule>>;

/// What a running gate calls, and what its reloads, its threads and its end do.
fn allowed() -> Result<ConfinementRules, seccompiler::BackendError> {
    let mut rules: ConfinementRules =
        ANYHOW.iter().chain(OLD).map(|&call| (call, vec![])).collect();
    let one =
        |argument, value: u64| SeccompCondition::new(argument, Dword, SeccompCmpOp::Eq, value);
    let bits = |argument, mask: u64, value: u64| {
        SeccompCondition::new(argument, Dword, SeccompCmpOp::MaskedEq(mask), value)
    };
    let mut only =
        |call, conditions: Vec<SeccompCondition>| -> Result<(), seccompiler::BackendError> {
            let each = conditions.into_iter().map(|condition| SeccompRule::new(vec![condition]));
            rules.insert(call, each.collect::<Result<_, _>>()?);
            Ok(())
        };
    // Threads, no processes.
    only(libc::SYS_clone, vec![bits(0, libc::CLONE_THREAD as u64, libc::CLONE_THREAD as u64)?])?;
    // No memory that can be executed.
    let executable = libc::PROT_EXEC as u64;
    only(libc::SYS_mmap, vec![bits(2, executable, 0)?])?;
    only(libc::SYS_mprotect, vec![bits(2, executable, 0)?])?;
    // Frames, the kernel's answers about interfaces, the manager: no connection to anywhere else.
    let families = [libc::AF_UNIX, libc::AF_NETLINK, libc::AF_PACKET];
    only(
        libc::SYS_socket,
        families.iter().map(|&family| one(0, family as u64)).collect::<Result<_, _>>()?,
    )?;
    only(libc::SYS_socketpair, vec![one(0, libc::AF_UNIX as u64)?])?;
    // The heartbeat and the counters of the kernel's program.
    only(
        libc::SYS_bpf,
        [MAP_LOOKUP, MAP_UPDATE].iter().map(|&what| one(0, what)).collect::<Result<_, _>>()?,
    )?;
    // C libraries differ in the type, and none has more than 32 bits.
    let questions = [
        libc::SIOCGIFNAME as u32,
        libc::SIOCGIFINDEX as u32,
        libc::SIOCGIFMTU as u32,
        libc::SIOCGIFFLAGS as u32,
        libc::FIONBIO as u32,
        libc::FIOCLEX as u32,
        libc::TCGETS as u32,
        libc::TIOCGWINSZ as u32,
    ];
    only(
        libc::SYS_ioctl,
        questions.iter().map(|&what| one(1, u64::from(what))).collect::<Result<_, _>>()?,
    )?;
    let own =
        [libc::PR_SET_NAME, libc::PR_GET_NAME, libc::PR_SET_TIMERSLACK, libc::PR_CAPBSET_DROP];
    let more = [libc::PR_CAPBSET_READ, libc::PR_CAP_AMBIENT, PR_SET_VMA];
    only(
        libc::SYS_prctl,
        own.iter().chain(&more).map(|&what| one(0, what as u64)).collect::<Result<_, _>>()?,
    )?;
    Ok(rules)
}

/// `BPF_MAP_LOOKUP_ELEM` and `BPF_MAP_UPDATE_ELEM` of linux/bpf.h.
const MAP_LOOKUP: u64 = 1;
const MAP_UPDATE: u64 = 2;
/// Names memory for readers of /proc: an allocator may.
const PR_SET_VMA: i32 = 0x5356_4d41;

/// Calls that are allowed whatever their arguments.
const ANYHOW: &[i64] = &[
    // Threads: their birth, their end, their waiting, their place and rank.
    libc::SYS_clone3, // refused by a filter of its own
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_futex,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getpriority,
    libc::SYS_setpriority,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getppid,
    libc::SYS_getsid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_capget,
    libc::SYS_capset,
    libc::SYS_prlimit64,
    libc::SYS_getrusage,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    // Signals, to ourselves: who aborts sends one.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    libc::SYS_tgkill,
    libc::SYS_restart_syscall,
    // Memory.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_mlockall,
    libc::SYS_membarrier,
    // Time and chance.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_nanosleep,
    libc::SYS_getrandom,
    // Files: the configuration, captures, /proc and /sys, the socket's name.
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_faccessat,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_fcntl,
    libc::SYS_unlinkat,
    // Sockets and waiting for them.
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_accept4,
    libc::SYS_accept,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_shutdown,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    libc::SYS_pipe2,
    libc::SYS_dup3,
];

/// The older ways to call the same, which newer architectures have not.
#[cfg(target_arch = "x86_64")]
const OLD: &[i64] = &[
    libc::SYS_poll,
    libc::SYS_epoll_wait,
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_unlink,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[i64] = &[];

#[cfg(test)]
mod tests {
    use super::*;
    use Capability::{CAP_BPF, CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN, CAP_SYS_NICE};

    #[test]
    fn what_is_kept_depends_on_what_the_kernel_asks_for_a_map() {
        let root =
            CapsHashSet::from([CAP_BPF, CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN, CAP_SYS_NICE]);
        let unit = CapsHashSet::from([CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN]);
        let net = CapsHashSet::from([CAP_NET_ADMIN, CAP_NET_RAW]);
        assert_eq!(kept(&root, Some((5, 10))), CapsHashSet::from(KEPT));
        assert_eq!(kept(&root, Some((6, 1))), CapsHashSet::from(KEPT));
        assert_eq!(kept(&unit, Some((6, 1))), net);
        assert_eq!(kept(&unit, Some((5, 18))), unit);
        assert_eq!(kept(&unit, None), unit);
        assert_eq!(kept(&CapsHashSet::new(), Some((5, 18))), CapsHashSet::new());
    }

    #[test]
    fn a_thread_that_works_apart_has_no_capability_and_nor_have_those_that_it_begins() {
        let had = caps::read(None, CapSet::Permitted).unwrap();
        let of =
            || [CapSet::Effective, CapSet::Permitted].map(|set| caps::read(None, set).unwrap());
        let (own, child) = apart(|| (of(), thread::spawn(of).join().unwrap())).unwrap();
        assert!(own.iter().chain(&child).all(CapsHashSet::is_empty), "{own:?} {child:?}");
        assert_eq!(
            caps::read(None, CapSet::Permitted).unwrap(),
            had,
            "whoever asked has what he had"
        );
    }
}
