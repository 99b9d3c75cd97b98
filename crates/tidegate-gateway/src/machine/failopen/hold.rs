//! An interface is held by one process at a time: by a name that it gives to a socket.
//!
//! Names of this kind belong to the network namespace, as interfaces do, and the kernel frees them
//! with the process, however that ends. What is at an interface is only changed by who holds it.
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

/// An interface, held until this is dropped.
#[derive(Debug)]
pub struct Hold {
    _name: UnixListener,
}

impl Hold {
    /// Takes hold of the interface with this index.
    ///
    /// # Errors
    /// Somebody holds it: `ResourceBusy`, with the number of the process.
    pub fn take(interface: u32) -> io::Result<Hold> {
        let name = SocketAddr::from_abstract_name(format!("tidegate gate {interface}"))?;
        match UnixListener::bind_addr(&name) {
            Ok(listener) => Ok(Hold { _name: listener }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(busy(holder(&name))),
            Err(error) => Err(error),
        }
    }

    /// Takes hold of two, in an order that is the same for everybody, so that of two who want them
    /// one has both.
    ///
    /// # Errors
    /// Those of [`take`](Hold::take).
    pub fn both(mut interfaces: [u32; 2]) -> io::Result<[Hold; 2]> {
        interfaces.sort();
        Ok([Hold::take(interfaces[0])?, Hold::take(interfaces[1])?])
    }
}

/// That the process with this number, if it is known, holds an interface.
pub fn busy(process: Option<u32>) -> io::Error {
    let who = process.map_or(String::new(), |process| format!(" that runs as process {process}"));
    io::Error::new(io::ErrorKind::ResourceBusy, format!("a gate{who} holds it"))
}

/// Who has given itself that name; nobody if it is gone already.
fn holder(name: &SocketAddr) -> Option<u32> {
    let line = UnixStream::connect_addr(name).ok()?;
    let who = getsockopt(&line, PeerCredentials).ok()?;
    u32::try_from(who.pid()).ok().filter(|&process| process != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_an_interface_at_a_time_and_who_is_told() {
        // Numbers that no interface has.
        let [one, other] = [0x7fff_ff01, 0x7fff_ff00];
        let held = Hold::both([one, other]).unwrap();
        for interface in [one, other] {
            let refused = Hold::take(interface).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::ResourceBusy);
            assert_eq!(
                refused.to_string(),
                format!("a gate that runs as process {} holds it", std::process::id())
            );
        }
        drop(held);
        Hold::both([other, one]).unwrap();
    }
}
