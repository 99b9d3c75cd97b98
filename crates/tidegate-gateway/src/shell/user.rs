//! What a process may do to networks: to that which it is in, or only to one of its own.
use std::fs;
use std::io;

use caps::{CapSet, Capability};
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::link::LinkMessage;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

use crate::machine::netlink::Netlink;

/// No interface has this number.
const NOBODY: u32 = 0x7fff_fff0;
/// What a command keeps in a user namespace: it is root of its network there, for `ping`, `tcpdump`
/// and another shell inside, and nobody special elsewhere.
const KEPT: [Capability; 4] = [
    Capability::CAP_NET_ADMIN,
    Capability::CAP_NET_RAW,
    Capability::CAP_NET_BIND_SERVICE,
    Capability::CAP_SYS_ADMIN,
];

/// What network there is outside of a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// The one that the process is in: it may change it.
    Callers,
    /// One of our own, which leads nowhere by itself.
    Own,
}

/// What network there can be outside of a shell that this process makes.
///
/// # Errors
/// The kernel does not tell.
pub fn outside() -> io::Result<Outside> {
    let may = caps::has_cap(None, CapSet::Effective, Capability::CAP_SYS_ADMIN);
    let may = may.map_err(io::Error::other)? && may_change_network()?;
    Ok(if may { Outside::Callers } else { Outside::Own })
}

/// Whether interfaces can be added here. Having the capability does not mean that: it may be that
/// of another user namespace than the network's. So the kernel is asked for what comes to nothing.
fn may_change_network() -> io::Result<bool> {
    let mut nobody = LinkMessage::default();
    nobody.header.index = NOBODY;
    match Netlink::open()?.order(Message::SetLink(nobody), 0) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
        _ => Ok(true),
    }
}

/// Makes the process root of namespaces that it makes from here on, and no more than it was in
/// those that there are. It keeps its user and its group. Programs that it begins keep what it
/// takes to change such networks. To be called before there is another thread.
///
/// # Errors
/// The kernel refuses.
pub fn become_own() -> io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    // Who may leave groups could get at what they are kept from (user_namespaces(7)).
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    for capability in KEPT {
        for set in [CapSet::Inheritable, CapSet::Ambient] {
            caps::raise(None, set, capability).map_err(io::Error::other)?;
        }
    }
    Ok(())
}
