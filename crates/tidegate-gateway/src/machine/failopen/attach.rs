//! Where the program sits: a filter at the ingress of an interface, by netlink so that it stays
//! when we go.
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::link::{LinkFlags, LinkMessage};
use netlink_packet_route::tc::{
    TcAttribute, TcBpfFlags, TcFilterBpfOption as Bpf, TcHandle, TcHeader, TcMessage, TcOption,
};

use crate::machine::netlink::Netlink;

/// The filter's name, as `tc filter show` tells it; by it we know our own.
pub const NAME: &str = "tidegate_gate";
/// The discipline that such filters hang on.
pub const CLSACT: &str = "clsact";
/// The one that it has replaced, which only knows frames that arrive. An interface has one of the
/// two.
pub const OLD_INGRESS: &str = "ingress";
/// Where the filter stands among those of the interface: first, before any that comes without a
/// place.
const PRIORITY: u16 = 1;
/// Its number there. Fixed, so that of two gates that start at once one is refused by the kernel.
const HANDLE: TcHandle = TcHandle { major: 0, minor: 1 };
/// Every protocol (`ETH_P_ALL`).
const EVERY_PROTOCOL: u16 = 3;

/// A filter at an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFilter {
    /// Which way the frames go that it sees.
    pub way: Hook,
    /// Its kind, as `bpf` or `flower`.
    pub kind: String,
    /// A bpf filter's name.
    pub name: Option<String>,
    /// A bpf filter's program.
    pub program: Option<u32>,
}

/// A direction through an interface, from the machine's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Frames that arrive.
    Ingress,
    /// Frames that leave.
    Egress,
}

impl KernelFilter {
    /// Whether it is one of ours.
    pub fn is_ours(&self) -> bool {
        self.way == Hook::Ingress && self.name.as_deref() == Some(NAME)
    }
}

/// How to put the program in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installation {
    /// Nothing of ours is there.
    Empty,
    /// Ours is there and is replaced without a moment between.
    Replace,
}

/// The filters of `interface`, both ways.
///
/// # Errors
/// The kernel's.
pub fn filters(netlink: &mut Netlink, interface: u32) -> io::Result<Vec<KernelFilter>> {
    let mut filters = Vec::new();
    // Asked where there is neither, the kernel answers for the root discipline.
    let ways: &[Hook] = if has(netlink, interface, CLSACT)? {
        &[Hook::Ingress, Hook::Egress]
    } else if has(netlink, interface, OLD_INGRESS)? {
        &[Hook::Ingress]
    } else {
        &[]
    };
    for &way in ways {
        for answer in netlink.ask(Message::GetTrafficFilter(at(interface, way)))? {
            let Message::NewTrafficFilter(told) = answer else { continue };
            // A filter's classifier is announced once without options before its filters follow.
            let options = told.attributes.iter().find_map(|a| match a {
                TcAttribute::Options(options) => Some(options),
                _ => None,
            });
            if let Some(options) = options {
                filters.push(KernelFilter {
                    way,
                    kind: kind(&told).into(),
                    name: name(options),
                    program: program(options),
                });
            }
        }
    }
    Ok(filters)
}

fn name(options: &[TcOption]) -> Option<String> {
    options.iter().find_map(|o| match o {
        TcOption::Bpf(Bpf::ProgName(name)) => Some(name.clone()),
        _ => None,
    })
}

fn program(options: &[TcOption]) -> Option<u32> {
    options.iter().find_map(|o| match o {
        TcOption::Bpf(Bpf::ProgId(id)) => Some(*id),
        _ => None,
    })
}

fn kind(message: &TcMessage) -> &str {
    let kind = message.attributes.iter().find_map(|a| match a {
        TcAttribute::Kind(kind) => Some(kind.as_str()),
        _ => None,
    });
    kind.unwrap_or("")
}

/// Whether `interface` has a discipline of this kind.
///
/// # Errors
/// The kernel's.
pub fn has(netlink: &mut Netlink, interface: u32, discipline: &str) -> io::Result<bool> {
    let all = netlink.ask(Message::GetQueueDiscipline(TcMessage::with_index(interface as i32)))?;
    Ok(all.iter().any(|answer| match answer {
        Message::NewQueueDiscipline(q) => {
            q.header.index == interface as i32 && kind(q) == discipline
        }
        _ => false,
    }))
}

/// Gives `interface` that discipline.
///
/// # Errors
/// The kernel's.
pub fn add_clsact(netlink: &mut Netlink, interface: u32) -> io::Result<()> {
    netlink.order(Message::NewQueueDiscipline(clsact(interface)), NLM_F_CREATE | NLM_F_EXCL)
}

/// Takes that discipline away, with every filter on it.
///
/// # Errors
/// The kernel's.
pub fn delete_clsact(netlink: &mut Netlink, interface: u32) -> io::Result<()> {
    netlink.order(Message::DelQueueDiscipline(clsact(interface)), 0)
}

/// Puts `program` at the ingress of `interface`.
///
/// # Errors
/// The kernel's; something is there although the place is called empty.
pub fn attach(
    netlink: &mut Netlink,
    interface: u32,
    program: BorrowedFd<'_>,
    place: Installation,
) -> io::Result<()> {
    let options = [
        Bpf::ProgFd(program.as_raw_fd() as u32),
        Bpf::ProgName(NAME.into()),
        Bpf::Flags(TcBpfFlags::DirectAction),
    ];
    let mut filter = ours(interface);
    filter.attributes.push(TcAttribute::Options(options.map(TcOption::Bpf).into()));
    let flags = match place {
        Installation::Empty => NLM_F_EXCL,
        Installation::Replace => NLM_F_REPLACE,
    };
    netlink.order(Message::NewTrafficFilter(filter), NLM_F_CREATE | flags)
}

/// Takes our program from `interface`.
///
/// # Errors
/// The kernel's.
pub fn detach(netlink: &mut Netlink, interface: u32) -> io::Result<()> {
    netlink.order(Message::DelTrafficFilter(ours(interface)), 0)
}

fn at(interface: u32, way: Hook) -> TcMessage {
    let minor = match way {
        Hook::Ingress => TcHandle::MIN_INGRESS,
        Hook::Egress => TcHandle::MIN_EGRESS,
    };
    let mut message = TcMessage::with_index(interface as i32);
    message.header.parent = TcHandle { major: TcHandle::CLSACT.major, minor };
    message
}

fn ours(interface: u32) -> TcMessage {
    let mut message = at(interface, Hook::Ingress);
    message.header.handle = HANDLE;
    message.header.info = u32::from(PRIORITY) << 16 | u32::from(EVERY_PROTOCOL.to_be());
    message.attributes.push(TcAttribute::Kind("bpf".into()));
    message
}

fn clsact(interface: u32) -> TcMessage {
    let header = TcHeader {
        index: interface as i32,
        handle: TcHandle { major: TcHandle::CLSACT.major, minor: 0 },
        parent: TcHandle::CLSACT,
        ..TcHeader::default()
    };
    TcMessage::from_parts(header, vec![TcAttribute::Kind(CLSACT.into())])
}

/// Whether `interface` takes frames for any address, by a flag that outlives the process that set
/// it.
///
/// # Errors
/// The kernel's.
pub fn is_promiscuous(netlink: &mut Netlink, interface: u32) -> io::Result<bool> {
    let links = netlink.ask(Message::GetLink(LinkMessage::default()))?;
    Ok(links.iter().any(|answer| match answer {
        Message::NewLink(link) => {
            link.header.index == interface && link.header.flags.contains(LinkFlags::Promisc)
        }
        _ => false,
    }))
}

/// Tells it to, or to stop.
///
/// # Errors
/// The kernel's.
pub fn set_promiscuous(netlink: &mut Netlink, interface: u32, on: bool) -> io::Result<()> {
    let mut link = LinkMessage::default();
    link.header.index = interface;
    link.header.change_mask = LinkFlags::Promisc;
    link.header.flags = if on { LinkFlags::Promisc } else { LinkFlags::empty() };
    netlink.order(Message::SetLink(link), 0)
}
