//! Programs of ours that are found at interfaces: whose they are, and how they are taken away.
use std::io;

use aya::maps::{Array, MapData, MapInfo};
use aya::programs::loaded_programs;
use tidegate::Time;

use super::gate::KernelGate;
use super::hold::Hold;
use super::{attach, is_refusal};
use crate::machine::netlink::Netlink;

/// A program of ours that was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Installed {
    /// Where it was found.
    pub(super) interface: u32,
    /// Its number.
    pub(super) program: u32,
    pub(super) gate: KernelGate,
}

impl Installed {
    /// Takes it from its interface and undoes what was changed there for it.
    pub(super) fn take_away(&self, netlink: &mut Netlink) -> io::Result<()> {
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
    pub(super) fn let_go_of_others(
        &self,
        netlink: &mut Netlink,
        interfaces: [u32; 2],
    ) -> io::Result<()> {
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
pub(super) fn installed(netlink: &mut Netlink, interface: u32) -> io::Result<Option<Installed>> {
    let filter =
        attach::filters(netlink, interface)?.into_iter().find(attach::KernelFilter::is_ours);
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
    let gate = KernelGate::from_words(state.get(&0, 0).map_err(io::Error::other)?);
    Ok(Some(Installed { interface, program, gate }))
}

/// The gate that is installed at `interface`, alive or left over.
///
/// # Errors
/// The kernel's; a filter of our name that is not ours.
pub fn find(netlink: &mut Netlink, interface: u32) -> io::Result<Option<KernelGate>> {
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

fn foreign(how: &str) -> io::Error {
    io::Error::other(format!("a filter named {} that {how} is installed", attach::NAME))
}
