//! The networks of a shell, and the cables between them.
//!
//! ```text
//! the command 100.64.0.2 "link" --- "west" gate "east" --- "tg-PID" 100.64.0.1 outside
//! ```
//!
//! The gate stands in a namespace of its own, which nobody but its process holds. When that process
//! ends, however it does, the namespace goes, with it both cables, and with them their ends outside
//! and at the command.
use std::fs;
use std::io;

use crate::machine::interfaces::{
    CableEnd, Ipv4Prefix, add_address, add_end, add_route, cable, introduce, routes, until_running,
    up,
};
use crate::machine::net::Net;
use crate::machine::netlink::Netlink;
use crate::machine::offloads;
use crate::shell::block::{AddressBlock, LINK};

/// The gate's interface towards the command.
pub const WEST: &str = "west";
/// The gate's interface towards the outside.
pub const EAST: &str = "east";
/// The longest packet of the cables, in bytes.
pub const MTU: u32 = 1500;
/// The command's interface.
const INNER: &str = "link";
/// The hardware addresses of the ends, outside and at the command: each cable has these two.
const OUTER_ADDRESS: [u8; 6] = [2, b't', b'g', 0, 0, 1];
const INNER_ADDRESS: [u8; 6] = [2, b't', b'g', 0, 0, 2];
/// How many names for the outer end are tried. Processes of several containers may have one number.
const NAMES: u32 = 100;
const EVERYWHERE: Ipv4Prefix = Ipv4Prefix { first: std::net::Ipv4Addr::UNSPECIFIED, length: 0 };

/// The networks of a shell.
#[derive(Debug)]
pub struct ShellNetwork {
    /// Where the command is to be.
    pub inner: Net,
    /// Where the gate is, between [`WEST`] and [`EAST`].
    pub middle: Net,
    /// What the command can reach.
    pub outer: Net,
    /// The addresses.
    pub block: AddressBlock,
    /// What the end of the cable outside is called.
    pub name: String,
}

impl ShellNetwork {
    /// Makes the namespaces and lays the cables, whose one end is in `outer`.
    ///
    /// # Errors
    /// The kernel refuses, or all addresses are taken.
    pub fn build(outer: Net) -> io::Result<ShellNetwork> {
        let (inner, middle) = (Net::new()?, Net::new()?);
        let name = middle.inside(|| lay(&middle, &inner, &outer))??;
        let block = outer.inside(|| join(&name))??;
        inner.inside(|| settle(block))??;
        for (net, ends) in [(&middle, &[WEST, EAST][..]), (&inner, &[INNER]), (&outer, &[&name])] {
            net.inside(|| {
                let mut line = Netlink::open()?;
                ends.iter().try_for_each(|end| until_running(&mut line, end))
            })??;
        }
        Ok(ShellNetwork { inner, middle, outer, block, name })
    }
}

/// An empty network that nothing leads to, for the outside of a shell where there is no other.
///
/// # Errors
/// The kernel refuses.
pub fn nowhere() -> io::Result<Net> {
    let net = Net::new()?;
    net.inside(|| up(&mut Netlink::open()?, "lo"))??;
    Ok(net)
}

/// Lays both cables, from the middle; what the outer end is called.
fn lay(middle: &Net, inner: &Net, outer: &Net) -> io::Result<String> {
    let mut line = Netlink::open()?;
    let here = |name| CableEnd { net: middle, name, address: None };
    let there = CableEnd { net: inner, name: INNER, address: Some(INNER_ADDRESS) };
    cable(&mut line, [here(WEST), there])?;
    let pid = std::process::id();
    let name = (0..NAMES).map(|number| match number {
        0 => format!("tg-{pid}"),
        _ => format!("tg-{pid}-{number}"),
    });
    for name in name {
        let there = CableEnd { net: outer, name: &name, address: Some(OUTER_ADDRESS) };
        match cable(&mut line, [here(EAST), there]) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => {
                up(&mut line, WEST)?;
                up(&mut line, EAST)?;
                return Ok(name);
            }
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("all names tg-{pid}-N are taken")))
}

/// Gives the outer end an address of a block that nobody outside uses; which block.
fn join(name: &str) -> io::Result<AddressBlock> {
    offloads::finish_frames(name)?;
    let mut line = Netlink::open()?;
    let number = up(&mut line, name)?;
    let taken = routes(&mut line)?;
    let owned = taken.ends.iter().filter_map(|end| AddressBlock::of(*end));
    let owned = owned.max_by_key(|block| block.prefix().length).unwrap_or(AddressBlock::ALL);
    for block in owned.parts() {
        if taken.reached.iter().any(|used| used.meets(block.prefix())) {
            continue;
        }
        // Of two shells that begin at once the kernel refuses one here.
        match add_route(&mut line, number, block.prefix(), block.command()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => {
                add_address(&mut line, number, block.base(), LINK)?;
                introduce(&mut line, number, block.command(), INNER_ADDRESS)?;
                return Ok(block);
            }
        }
    }
    let Ipv4Prefix { first, length } = owned.prefix();
    let why = match owned.parts().next() {
        None => "shells nest no deeper".to_string(),
        Some(_) => format!("every part of {first}/{length} has a route already"),
    };
    Err(io::Error::new(io::ErrorKind::AddrInUse, why))
}

/// Gives the command's end its address and its way out.
fn settle(block: AddressBlock) -> io::Result<()> {
    offloads::finish_frames(INNER)?;
    let mut line = Netlink::open()?;
    up(&mut line, "lo")?;
    let number = up(&mut line, INNER)?;
    add_address(&mut line, number, block.command(), LINK)?;
    introduce(&mut line, number, block.base(), OUTER_ADDRESS)?;
    add_route(&mut line, number, EVERYWHERE, block.base())?;
    add_end(&mut line, block.prefix())?;
    // For shells inside. Where this cannot be written they reach this network and no further.
    let _ = fs::write("/proc/sys/net/ipv4/ip_forward", "1");
    Ok(())
}
