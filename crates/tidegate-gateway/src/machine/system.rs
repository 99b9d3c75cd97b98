//! System calls about packets that the standard library does not know, each made safe to call and
//! otherwise as it is.
#![allow(unsafe_code)] // system calls: what each is trusted with stands beside it

use std::ffi::{c_int, c_long, c_ulong, c_void};
use std::io;
use std::mem::{MaybeUninit, size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::ptr::{self, NonNull};

use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal};

/// Which frames a packet socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameProtocol {
    /// Every one.
    All,
    /// Those of a type that is reserved never to be used, that is, none. It stands beside each
    /// frame that is sent, not in it, and spares the kernel a look into the frame for where its
    /// headers begin.
    None,
}

/// Sets the calling thread's nice value.
pub fn nice(value: c_int) -> io::Result<()> {
    // SAFETY: no memory is passed.
    done(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, value) }).map(drop)
}

/// A descriptor of another process, as one of ours.
pub fn borrow(process: u32, descriptor: RawFd) -> io::Result<OwnedFd> {
    let got = |answer: c_long| {
        let answer = c_int::try_from(answer).map_err(io::Error::other)?;
        // SAFETY: the kernel has just opened it for us.
        done(answer).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
    };
    // SAFETY: no memory is passed.
    let process = got(unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) })?;
    // SAFETY: no memory is passed, and `process` is open.
    got(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), descriptor, 0) })
}

/// Frames that [`send_batch`] hands over in one call at most.
pub const BATCH: usize = 64;

/// Starts `command` in a session of its own. No signal that a terminal sends to us and our children
/// reaches it, not even in the moment before it is on its own.
pub fn spawn_apart(command: &mut Command) -> io::Result<Child> {
    // What comes in that moment waits, and is thrown away: to ignore a signal discards what is
    // pending of it.
    let ours =
        SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT]);
    let before = ours.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let leave = move || {
        nix::unistd::setsid()?;
        for signal in &ours {
            // SAFETY: neither is a handler of ours.
            unsafe {
                nix::sys::signal::signal(signal, SigHandler::SigIgn)?;
                nix::sys::signal::signal(signal, SigHandler::SigDfl)?;
            }
        }
        Ok(before.thread_set_mask()?)
    };
    // SAFETY: it calls nothing between fork and exec but what may be called there
    // (signal-safety(7)).
    let started = unsafe { command.pre_exec(leave) }.spawn();
    before.thread_set_mask()?;
    started
}

/// Starts `command` with the signals of `mask` held. It ends when this thread does: nobody else
/// would know of it.
pub fn spawn_bound(command: &mut Command, mask: SigSet) -> io::Result<Child> {
    let ours = std::process::id();
    let bind = move || {
        nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
        mask.thread_set_mask()?;
        // We may have ended before.
        if nix::unistd::getppid().as_raw() as u32 == ours {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(libc::ESRCH))
        }
    };
    // SAFETY: it calls nothing between fork and exec but what may be called there
    // (signal-safety(7)).
    unsafe { command.pre_exec(bind) }.spawn()
}

/// What may cross [`set_option`] and [`option`]: plain numbers. Any bytes are a value of them, and
/// none is a pointer.
///
/// # Safety
/// The implementing type is `repr(C)`, without padding, without pointers, and all zero is a value
/// of it.
pub unsafe trait Plain: Copy {}
// SAFETY: numbers, and structures of numbers of one width.
unsafe impl Plain for c_int {}
unsafe impl Plain for u64 {}
unsafe impl Plain for libc::tpacket_req {}
unsafe impl Plain for libc::tpacket_stats {}

/// A packet socket for whole frames that nothing reaches before [`bind`], and on which no call
/// waits.
pub fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no memory is passed.
    let socket = done(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the descriptor was made just now and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// Sets a socket option.
pub fn set_option<T: Plain>(
    socket: BorrowedFd<'_>,
    level: c_int,
    name: c_int,
    value: T,
) -> io::Result<()> {
    let (at, len) = (ptr::from_ref(&value).cast::<c_void>(), size_of::<T>() as libc::socklen_t);
    // SAFETY: `value` outlives the call, which reads `len` bytes of it; `Plain` has no pointers to
    // follow.
    done(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, at, len) }).map(drop)
}

/// Reads a socket option.
pub fn option<T: Plain>(socket: BorrowedFd<'_>, level: c_int, name: c_int) -> io::Result<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut len = size_of::<T>() as libc::socklen_t;
    let at = value.as_mut_ptr().cast::<c_void>();
    // SAFETY: `value` outlives the call, which writes at most `len` bytes into it.
    done(unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, at, &raw mut len) })?;
    // SAFETY: zeros are a `Plain` value, and so is whatever the kernel wrote over them.
    Ok(unsafe { value.assume_init() })
}

/// What is to be known of an interface before a ring is laid out for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingInterface {
    /// Its number.
    pub index: c_int,
    /// The longest packet it carries, in bytes without the Ethernet header.
    pub mtu: usize,
    /// Whether it is set up, whatever its cable says.
    pub up: bool,
}

/// An interface's name, without memory of its own to look for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct InterfaceName([u8; libc::IFNAMSIZ]);

impl InterfaceName {
    /// It as text.
    pub fn as_str(&self) -> &str {
        let len = self.0.iter().position(|&byte| byte == 0).unwrap_or(self.0.len());
        std::str::from_utf8(&self.0[..len]).unwrap_or("?")
    }
}

/// The interface with this number in the namespace of `socket`, and what it is called now. An
/// interface keeps its number when it is renamed, and loses its name while somebody asks for it.
pub fn interface_at(
    socket: BorrowedFd<'_>,
    index: c_int,
) -> io::Result<(InterfaceName, RingInterface)> {
    let mut tries = 0;
    loop {
        // SAFETY: all zero is a value of every field of `ifreq`.
        let mut request: libc::ifreq = unsafe { zeroed() };
        request.ifr_ifru.ifru_ifindex = index;
        // SAFETY: `request` has the number and room for the name, and outlives the call.
        done(unsafe {
            libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFNAME as libc::Ioctl, &raw mut request)
        })?;
        let name = InterfaceName(request.ifr_name.map(|byte| byte as u8));
        match interface(socket, name.as_str()) {
            Ok(found) if found.index == index => return Ok((name, found)),
            // It was renamed between the two questions.
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
            Err(error) => return Err(error),
        }
        tries += 1;
        if tries == 4 {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
    }
}

/// The number of the interface that `socket` is bound to; none if that interface has left its
/// namespace.
pub fn bound_to(socket: BorrowedFd<'_>) -> io::Result<Option<c_int>> {
    // SAFETY: all zero is a value of every field of `sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    let mut len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: `address` outlives the call, which writes at most `len` bytes into it. (It writes
    // fewer, which nix refuses.)
    done(unsafe {
        libc::getsockname(socket.as_raw_fd(), (&raw mut address).cast(), &raw mut len)
    })?;
    Ok((address.sll_ifindex > 0).then_some(address.sll_ifindex))
}

/// The interface called `name` in the namespace of `socket`.
pub fn interface(socket: BorrowedFd<'_>, name: &str) -> io::Result<RingInterface> {
    let mut request = request(name)?;
    let mut ask = |what: c_ulong| {
        // SAFETY: `request` is a zero-terminated name and room for the answer, and outlives the
        // call.
        done(unsafe { libc::ioctl(socket.as_raw_fd(), what as libc::Ioctl, &raw mut request) })?;
        io::Result::Ok(request.ifr_ifru)
    };
    // SAFETY: each call fills the very field that is read after it.
    unsafe {
        let index = ask(libc::SIOCGIFINDEX)?.ifru_ifindex;
        let mtu = ask(libc::SIOCGIFMTU)?.ifru_mtu as usize;
        let up = ask(libc::SIOCGIFFLAGS)?.ifru_flags as c_int & libc::IFF_UP != 0;
        Ok(RingInterface { index, mtu, up })
    }
}

/// A question about the interface called `name`.
fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all zero is a value of every field of `ifreq`.
    let mut request: libc::ifreq = unsafe { zeroed() };
    if name.is_empty() || name.len() >= request.ifr_name.len() || name.contains('\0') {
        let why =
            format!("interface {name:?}: a name has 1 to {} bytes", request.ifr_name.len() - 1);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as _;
    }
    Ok(request)
}

/// Whether two sockets are of one network namespace, where an interface's number means the same.
/// Kernels before 5.14 do not tell: there it is taken for granted.
pub fn are_neighbours(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    let [one, other] =
        [one, other].map(|socket| option::<u64>(socket, libc::SOL_SOCKET, SO_NETNS_COOKIE).ok());
    one == other
}

/// As asm-generic/socket.h has it.
const SO_NETNS_COOKIE: c_int = 71;

/// Ties `socket` to the interface with this index: from now on frames come and go there.
pub fn bind(socket: BorrowedFd<'_>, index: c_int, protocol: FrameProtocol) -> io::Result<()> {
    // SAFETY: all zero is a value of every field of `sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    let number = match protocol {
        FrameProtocol::All => libc::ETH_P_ALL as u16,
        FrameProtocol::None => 0xffff,
    };
    address.sll_protocol = number.to_be();
    address.sll_ifindex = index;
    let (at, len) =
        (ptr::from_ref(&address).cast(), size_of::<libc::sockaddr_ll>() as libc::socklen_t);
    // SAFETY: `address` outlives the call, which reads `len` bytes of it.
    done(unsafe { libc::bind(socket.as_raw_fd(), at, len) }).map(drop)
}

/// Lets `socket` receive the frames on interface `index` that are for others; the kernel forgets it
/// with the socket.
pub fn hear_all(socket: BorrowedFd<'_>, index: c_int) -> io::Result<()> {
    let request = libc::packet_mreq {
        mr_ifindex: index,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    let (at, len) =
        (ptr::from_ref(&request).cast(), size_of::<libc::packet_mreq>() as libc::socklen_t);
    // SAFETY: `request` outlives the call, which reads `len` bytes of it.
    let answer = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, at, len)
    };
    done(answer).map(drop)
}

/// Sends `frames` in order in one call, up to [`BATCH`] of them; how many were sent before the
/// first that was not. An error concerns the first.
pub fn send_batch<'a>(
    socket: BorrowedFd<'_>,
    frames: impl Iterator<Item = &'a [u8]>,
) -> io::Result<usize> {
    let mut parts = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; BATCH];
    // SAFETY: all zero is a value of every field of `mmsghdr`.
    let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
    let mut count = 0;
    for ((part, message), frame) in parts.iter_mut().zip(&mut messages).zip(frames) {
        *part = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
        message.msg_hdr.msg_iov = part;
        message.msg_hdr.msg_iovlen = 1;
        count += 1;
    }
    // SAFETY: the first `count` messages point at parts and frames that outlive the call, which
    // only reads them.
    let sent = unsafe {
        // The flags are unsigned in some C libraries.
        libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), count, libc::MSG_DONTWAIT as _)
    };
    done(sent).map(|sent| sent as usize)
}

/// Memory that the kernel shares with us, zero at first, ours until this is dropped.
#[derive(Debug)]
pub struct SharedMemory {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: it is memory; only the kernel and the owner of this touch it, whatever thread the owner
// is on.
unsafe impl Send for SharedMemory {}

impl SharedMemory {
    /// The first `len` bytes of what `socket` shares.
    pub fn new(socket: BorrowedFd<'_>, len: usize) -> io::Result<SharedMemory> {
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), len, access, kind, socket.as_raw_fd(), 0) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => {
                Ok(SharedMemory { start, len })
            }
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Where it begins: an address on a page's boundary.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// How long it is, in bytes.
    pub fn len(&self) -> usize {
        self.len
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: this very mapping, made by `new`; who borrowed from it is gone.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

fn done(answer: c_int) -> io::Result<c_int> {
    match answer {
        0.. => Ok(answer),
        _ => Err(io::Error::last_os_error()),
    }
}
