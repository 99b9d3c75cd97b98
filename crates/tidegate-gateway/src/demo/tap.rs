//! A tap on a wire: the beginning of every frame, with the time at which the kernel saw it.
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, MultiHeaders, SockFlag, SockProtocol,
    SockType, bind, recvmmsg, setsockopt, socket, sockopt,
};
use tidegate::Time;

/// Bytes of a frame that are looked at: the headers, and the number that iperf3 gives a datagram.
const SNAP: usize = 96;
/// Frames taken from the kernel at once.
const BATCH: usize = 64;
/// What the kernel keeps for us, in bytes: half a second of 300 Mbit/s, since it counts some 2 kB
/// for a frame.
const ROOM: usize = 64 << 20;

/// A packet socket that sees all frames of an interface.
pub struct Tap {
    socket: OwnedFd,
    headers: MultiHeaders<LinkAddr>,
    frames: Box<[[u8; SNAP]]>,
    lost: u32,
}

/// A frame.
pub struct SeenFrame<'a> {
    /// When, by the clock of [`now`].
    pub at: Time,
    /// Its first bytes.
    pub bytes: &'a [u8],
    /// Its length in bytes, without the frame check sequence.
    pub len: u32,
}

/// The time by the clock that stamps frames.
pub fn now() -> Time {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    Time::from_nanos(since.as_nanos() as u64)
}

/// A packet socket on `interface` of the calling thread's namespace; it stays there whatever thread
/// uses it.
///
/// # Errors
/// There is none of that name, or this process may not.
pub fn plug(interface: &str) -> io::Result<OwnedFd> {
    let socket =
        socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll)?;
    let address = getifaddrs()?
        .find(|i| i.interface_name == interface)
        .and_then(|i| i.address?.as_link_addr().copied());
    let address =
        address.ok_or_else(|| io::Error::other(format!("there is no interface {interface}")))?;
    setsockopt(&socket, sockopt::RcvBufForce, &ROOM)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    setsockopt(&socket, sockopt::RxqOvfl, &1)?;
    bind(socket.as_raw_fd(), &address)?;
    Ok(socket)
}

impl Tap {
    /// A tap at a `socket` that [`plug`] made.
    pub fn new(socket: OwnedFd) -> Tap {
        let room = nix::cmsg_space!(nix::sys::time::TimeSpec, u32);
        let headers = MultiHeaders::preallocate(BATCH, Some(room));
        Tap { socket, headers, frames: vec![[0; SNAP]; BATCH].into(), lost: 0 }
    }

    /// Shows what has come in since to `see`, oldest first; never waits.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn drain(&mut self, see: &mut impl FnMut(SeenFrame<'_>)) -> io::Result<()> {
        loop {
            let mut slices: Vec<[IoSliceMut; 1]> =
                self.frames.iter_mut().map(|f| [IoSliceMut::new(f)]).collect();
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
            let taken = match recvmmsg(
                self.socket.as_raw_fd(),
                &mut self.headers,
                slices.iter_mut(),
                flags,
                None,
            ) {
                Ok(taken) => taken,
                Err(Errno::EAGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let mut lens = Vec::with_capacity(BATCH);
            for message in taken {
                let mut at = Time::ZERO;
                for note in message.cmsgs()? {
                    match note {
                        ControlMessageOwned::ScmTimestampns(t) => {
                            at = Time::from_nanos(
                                t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64,
                            );
                        }
                        ControlMessageOwned::RxqOvfl(lost) => self.lost = lost,
                        _ => {}
                    }
                }
                lens.push((at, message.bytes as u32));
            }
            for (frame, (at, len)) in self.frames.iter().zip(&lens) {
                see(SeenFrame { at: *at, bytes: &frame[..SNAP.min(*len as usize)], len: *len });
            }
            if lens.len() < BATCH {
                return Ok(());
            }
        }
    }

    /// Frames that went by unseen because they were not drained in time.
    pub fn lost(&self) -> u32 {
        self.lost
    }
}
