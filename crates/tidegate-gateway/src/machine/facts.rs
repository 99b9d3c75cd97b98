//! What the kernel says of the interfaces that a gate is to join. Only asks; what follows is in
//! [`preflight`](crate::machine::preflight).
use std::io;
use std::net::IpAddr;

use aya::programs::{SchedClassifier, TcAttachType};
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    LinkAttribute, LinkFlags, LinkInfo, LinkLayerType, LinkMessage, LinkXdp, XdpAttached,
};
use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteType};

use crate::machine::failopen::attach::{self, KernelFilter};
use crate::machine::failopen::{self, KernelGate};
use crate::machine::netlink::Netlink;
use crate::machine::offloads;

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Whether its frames are Ethernet's.
    pub ethernet: bool,
    /// Its kind if it is a virtual one, as `veth` or `bridge`.
    pub kind: Option<String>,
    /// The longest packet that it carries, in bytes without the Ethernet header.
    pub mtu: u32,
    /// Whether it is set up.
    pub up: bool,
    /// Whether the other end of its cable is there and up.
    pub carrier: bool,
    /// The bridge, bond or the like that it belongs to.
    pub controller: Option<u32>,
    /// The interface that it stands on, or its other end if it is a `veth`, in this namespace.
    pub below: Option<u32>,
    /// Whether a program takes frames before anybody else sees them (XDP).
    pub xdp: bool,
}

/// What there is to know of an interface besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Whether a default route leads through it.
    pub default_route: bool,
    /// The filters at it, ours too.
    pub filters: Vec<KernelFilter>,
    /// Whether these filters are at the discipline of old, which has the place of the one that is
    /// needed.
    pub old_ingress: bool,
    /// Whether programs are tied to it by the newer way, which come before every filter.
    pub tcx: bool,
    /// The gate that is installed there, alive or left over.
    pub gate: Option<KernelGate>,
    /// Which of the offloads are on that make one frame of several, as `ethtool` calls them.
    pub merging: Vec<&'static str>,
}

/// Every interface of this network namespace.
///
/// # Errors
/// The kernel's.
pub fn interfaces(netlink: &mut Netlink) -> io::Result<Vec<Interface>> {
    let answers = netlink.ask(Message::GetLink(LinkMessage::default()))?;
    Ok(answers
        .into_iter()
        .filter_map(|a| if let Message::NewLink(link) = a { Some(interface(&link)) } else { None })
        .collect())
}

fn interface(link: &LinkMessage) -> Interface {
    let flags = link.header.flags;
    let mut told = Interface {
        index: link.header.index,
        ethernet: link.header.link_layer_type == LinkLayerType::Ether,
        up: flags.contains(LinkFlags::Up),
        carrier: flags.contains(LinkFlags::LowerUp),
        ..Interface::default()
    };
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::IfName(name) => told.name.clone_from(name),
            LinkAttribute::Mtu(mtu) => told.mtu = *mtu,
            LinkAttribute::Controller(index) => told.controller = Some(*index),
            LinkAttribute::Link(index) => told.below = Some(*index),
            LinkAttribute::LinkInfo(info) => {
                told.kind = info.iter().find_map(|i| {
                    if let LinkInfo::Kind(kind) = i { Some(kind.to_string()) } else { None }
                });
            }
            LinkAttribute::Xdp(xdp) => {
                told.xdp = xdp
                    .iter()
                    .any(|x| matches!(x, LinkXdp::Attached(how) if *how != XdpAttached::None));
            }
            _ => {}
        }
    }
    // The number of an interface of another namespace says nothing here.
    if link.attributes.iter().any(|a| matches!(a, LinkAttribute::LinkNetNsId(_))) {
        told.below = None;
    }
    told
}

/// The details of `interface`.
///
/// # Errors
/// The kernel's.
pub fn details(netlink: &mut Netlink, interface: &Interface) -> io::Result<Details> {
    Ok(Details {
        addresses: addresses(netlink, interface.index)?,
        default_route: has_default_route(netlink, interface.index)?,
        filters: attach::filters(netlink, interface.index)?,
        old_ingress: attach::has(netlink, interface.index, attach::OLD_INGRESS)?,
        // A kernel that knows no such programs has none.
        tcx: SchedClassifier::query_tcx(&interface.name, TcAttachType::Ingress)
            .is_ok_and(|(_, p)| !p.is_empty()),
        gate: failopen::find(netlink, interface.index)?,
        merging: merging(&interface.name)?,
    })
}

fn addresses(netlink: &mut Netlink, index: u32) -> io::Result<Vec<IpAddr>> {
    let answers = netlink.ask(Message::GetAddress(AddressMessage::default()))?;
    let mut found = Vec::new();
    for answer in answers {
        let Message::NewAddress(told) = answer else { continue };
        let own = |a: &AddressAttribute| matches!(a, AddressAttribute::Local(_));
        let any = |a: &AddressAttribute| matches!(a, AddressAttribute::Address(_));
        // The local address where there are two, as on a line between two points; IPv6 tells one
        // only.
        let address = told
            .attributes
            .iter()
            .find(|a| own(a))
            .or_else(|| told.attributes.iter().find(|a| any(a)));
        if let Some(AddressAttribute::Local(ip) | AddressAttribute::Address(ip)) = address
            && told.header.index == index
        {
            found.push(*ip);
        }
    }
    Ok(found)
}

fn has_default_route(netlink: &mut Netlink, index: u32) -> io::Result<bool> {
    let through = |a: &RouteAttribute| match a {
        RouteAttribute::Oif(out) => *out == index,
        RouteAttribute::MultiPath(hops) => hops.iter().any(|hop| hop.interface_index == index),
        _ => false,
    };
    let answers = netlink.ask(Message::GetRoute(RouteMessage::default()))?;
    Ok(answers.iter().any(|answer| match answer {
        Message::NewRoute(route) => {
            let default = route.header.destination_prefix_length == 0
                && route.header.kind == RouteType::Unicast;
            default && route.attributes.iter().any(through)
        }
        _ => false,
    }))
}

/// The offloads that make one frame of several that arrived, by the kernel's name and by
/// `ethtool`'s.
const MERGING: [(&str, &str); 3] =
    [("rx-gro", "gro"), ("rx-lro", "lro"), ("rx-gro-hw", "rx-gro-hw")];

fn merging(name: &str) -> io::Result<Vec<&'static str>> {
    let on = offloads::active(name)?;
    Ok(MERGING
        .into_iter()
        .filter(|(kernels, _)| on.iter().any(|f| f == kernels))
        .map(|(_, name)| name)
        .collect())
}
