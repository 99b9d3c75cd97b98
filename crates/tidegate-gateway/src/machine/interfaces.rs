//! Orders to the kernel that lay virtual cables and give their ends addresses and routes. Each is
//! about the namespace that the line to the kernel was opened in.
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::{AddressFamily, route};

use crate::machine::net::Net;
use crate::machine::netlink::Netlink;

/// A new thing, and an error if it is there.
const NEW: u16 = NLM_F_CREATE | NLM_F_EXCL;
/// How long both ends of a cable may take to carry frames; it takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// One end of a cable that is to be laid.
#[derive(Clone, Copy, Debug)]
pub struct CableEnd<'a> {
    /// Where it is.
    pub net: &'a Net,
    /// What it is called there.
    pub name: &'a str,
    /// Its hardware address; the kernel's choice where there is none.
    pub address: Option<[u8; 6]>,
}

/// Part of the addresses of IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Prefix {
    /// Its first address.
    pub first: Ipv4Addr,
    /// How many bits all its addresses share.
    pub length: u8,
}

impl Ipv4Prefix {
    /// Whether some address is in both.
    pub fn meets(self, other: Ipv4Prefix) -> bool {
        let shared = u32::from(self.length.min(other.length));
        let differ = self.first.to_bits() ^ other.first.to_bits();
        shared == 0 || differ >> (32 - shared) == 0
    }
}

/// Lays a cable between two namespaces.
///
/// # Errors
/// The kernel's; that there is an interface of that name is [`io::ErrorKind::AlreadyExists`].
pub fn cable(line: &mut Netlink, [one, other]: [CableEnd<'_>; 2]) -> io::Result<()> {
    let mut link = end(one);
    let peer = InfoData::Veth(InfoVeth::Peer(end(other)));
    link.attributes
        .push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth), LinkInfo::Data(peer)]));
    line.order(Message::NewLink(link), NEW)
}

fn end(CableEnd { net, name, address }: CableEnd<'_>) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.attributes =
        vec![LinkAttribute::IfName(name.into()), LinkAttribute::NetNsFd(net.number())];
    link.attributes.extend(address.map(|bytes| LinkAttribute::Address(bytes.to_vec())));
    link
}

/// Waits until the interface called `name` carries frames: the kernel finds out a little after both
/// ends are up, and loses what is sent before.
///
/// # Errors
/// There is none, it does not within [`PATIENCE`], or the kernel's.
pub fn until_running(line: &mut Netlink, name: &str) -> io::Result<()> {
    let begun = Instant::now();
    while !find(line, name)?.header.flags.contains(LinkFlags::Running) {
        if begun.elapsed() > PATIENCE {
            let why = format!("{name} does not come up");
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// The interface called `name`.
fn find(line: &mut Netlink, name: &str) -> io::Result<LinkMessage> {
    let called = |link: &LinkMessage| {
        link.attributes.iter().any(|a| matches!(a, LinkAttribute::IfName(found) if found == name))
    };
    let answers = line.ask(Message::GetLink(LinkMessage::default()))?;
    let found = answers.into_iter().find_map(|answer| match answer {
        Message::NewLink(link) if called(&link) => Some(link),
        _ => None,
    });
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no interface {name}")))
}

/// Sets the interface called `name` up; its number. Nothing speaks there unasked: it gets no
/// address of IPv6.
///
/// # Errors
/// There is none, or the kernel's.
pub fn up(line: &mut Netlink, name: &str) -> io::Result<u32> {
    let index = find(line, name)?.header.index;
    // Where there is no IPv6, or its settings cannot be written, it is left as it is.
    let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
    let mut link = LinkMessage::default();
    link.header.index = index;
    (link.header.flags, link.header.change_mask) = (LinkFlags::Up, LinkFlags::Up);
    line.order(Message::SetLink(link), 0)?;
    Ok(index)
}

/// Gives an interface an address, which shares so many bits with its neighbours'.
///
/// # Errors
/// The kernel's.
pub fn add_address(
    line: &mut Netlink,
    index: u32,
    address: Ipv4Addr,
    length: u8,
) -> io::Result<()> {
    let mut message = AddressMessage::default();
    (message.header.family, message.header.prefix_len) = (AddressFamily::Inet, length);
    message.header.index = index;
    message.attributes = vec![
        AddressAttribute::Local(IpAddr::V4(address)),
        AddressAttribute::Address(IpAddr::V4(address)),
    ];
    line.order(Message::NewAddress(message), NEW)
}

/// Tells whose hardware address an address has, once and for all.
///
/// # Errors
/// The kernel's.
pub fn introduce(
    line: &mut Netlink,
    index: u32,
    address: Ipv4Addr,
    hardware: [u8; 6],
) -> io::Result<()> {
    let mut message = NeighbourMessage::default();
    (message.header.family, message.header.ifindex) = (AddressFamily::Inet, index);
    message.header.state = NeighbourState::Permanent;
    message.attributes = vec![
        NeighbourAttribute::Destination(NeighbourAddress::Inet(address)),
        NeighbourAttribute::LinkLayerAddress(hardware.to_vec()),
    ];
    line.order(Message::NewNeighbour(message), NLM_F_CREATE | NLM_F_REPLACE)
}

/// Sends what is for `to` by `through`, a neighbour at the interface with this number.
///
/// # Errors
/// The kernel's; that there is such a route is [`io::ErrorKind::AlreadyExists`].
pub fn add_route(
    line: &mut Netlink,
    index: u32,
    to: Ipv4Prefix,
    through: Ipv4Addr,
) -> io::Result<()> {
    let mut message = route_to(to, RouteType::Unicast);
    message.header.flags = RouteFlags::Onlink;
    message
        .attributes
        .extend([RouteAttribute::Gateway(RouteAddress::Inet(through)), RouteAttribute::Oif(index)]);
    line.order(Message::NewRoute(message), NEW)
}

/// Refuses what is for `to` and has no longer prefix of its own.
///
/// # Errors
/// The kernel's.
pub fn add_end(line: &mut Netlink, to: Ipv4Prefix) -> io::Result<()> {
    line.order(Message::NewRoute(route_to(to, RouteType::Unreachable)), NEW)
}

fn route_to(to: Ipv4Prefix, kind: RouteType) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Inet;
    message.header.destination_prefix_length = to.length;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = RouteScope::Universe;
    message.header.kind = kind;
    if to.length > 0 {
        message.attributes.push(RouteAttribute::Destination(RouteAddress::Inet(to.first)));
    }
    message
}

/// What a routing table has of IPv4.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoutingTable {
    /// Where there are ways to, the machine's own addresses among it. Without the default.
    pub reached: Vec<Ipv4Prefix>,
    /// What was [refused](add_end).
    pub ends: Vec<Ipv4Prefix>,
}

/// The routes of the namespace.
///
/// # Errors
/// The kernel's.
pub fn routes(line: &mut Netlink) -> io::Result<RoutingTable> {
    let mut all = RouteMessage::default();
    all.header.address_family = AddressFamily::Inet;
    let mut routes = RoutingTable::default();
    for answer in line.ask(Message::GetRoute(all))? {
        let Message::NewRoute(told) = answer else { continue };
        let to = told.attributes.iter().find_map(|a| match a {
            RouteAttribute::Destination(route::RouteAddress::Inet(first)) => Some(*first),
            _ => None,
        });
        let Some(first) = to else { continue };
        let prefix = Ipv4Prefix { first, length: told.header.destination_prefix_length };
        match told.header.kind {
            RouteType::Unreachable => routes.ends.push(prefix),
            _ => routes.reached.push(prefix),
        }
    }
    Ok(routes)
}
