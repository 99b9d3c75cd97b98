//! Whether two interfaces may be joined: what stands against it, and the command that mends it.
//!
//! A gate takes every frame that arrives on its interfaces away from the machine's own stack. This
//! finds obstacles before anything is touched. The machine may need its frames (addresses, the
//! default route, a bridge). Something may take or change frames before us (other filters, merging
//! offloads). The wire may be unlike a wire (two MTUs, no carrier). `--force` overrides all that
//! can be overridden.
use std::fmt::{self, Display, Formatter};
use std::io;
use std::net::IpAddr;

use tidegate::Time;

use crate::machine::facts::{self, Details, Interface};
use crate::machine::netlink::Netlink;

/// Something that stands against joining the interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The interface.
    pub interface: String,
    /// What was found.
    pub obstacle: Obstacle,
}

/// What stands against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// There is no such interface; those that there are.
    Missing(Vec<String>),
    /// It is both ends.
    Twice,
    /// Its frames are not Ethernet's.
    NotEthernet,
    /// A living gate holds it, in this process.
    Held(u32),
    /// It is not set up.
    Down,
    /// There is nothing at the other end of its cable.
    NoCarrier,
    /// The default route leads through it.
    DefaultRoute,
    /// It has addresses: the machine is to be reached by it.
    Addresses(Vec<IpAddr>),
    /// It belongs to a bridge, a bond or the like.
    PartOf(String),
    /// Other interfaces stand on it, as those of VLANs.
    Carries(Vec<String>),
    /// Others' filters see its frames, by their kinds.
    Filters(Vec<String>),
    /// The discipline that was in the place of ours before there was ours, with filters of these
    /// kinds.
    OldIngress(Vec<String>),
    /// Others' programs come before every filter.
    Tcx,
    /// A program takes frames before us.
    Xdp,
    /// Offloads that make one frame of several are on.
    Merging(Vec<&'static str>),
    /// It carries packets up to so many bytes, and the other interface fewer.
    LargerMtu(u32, u32),
}

use Obstacle::{
    Addresses, Carries, DefaultRoute, Down, Filters, Held, LargerMtu, Merging, Missing, NoCarrier,
    NotEthernet, OldIngress, PartOf, Tcx, Twice, Xdp,
};

impl Finding {
    /// Whether one may go on in spite of it.
    pub fn can_be_forced(&self) -> bool {
        !matches!(self.obstacle, Missing(_) | Twice | NotEthernet | Held(_) | Down | OldIngress(_))
    }

    /// The command that mends it, if there is one.
    pub fn mend(&self) -> Option<String> {
        let name = &self.interface;
        match &self.obstacle {
            Missing(_) | Twice | NotEthernet | NoCarrier => None,
            Held(process) => Some(format!("kill {process}")),
            Down => Some(format!("ip link set {name} up")),
            DefaultRoute => Some(format!("ip route delete default dev {name}")),
            Addresses(all) => {
                let old = all
                    .iter()
                    .any(IpAddr::is_ipv4)
                    .then(|| format!("ip -4 address flush dev {name}"));
                // IPv6 takes an address by itself whenever the interface comes up.
                let new = all
                    .iter()
                    .any(IpAddr::is_ipv6)
                    .then(|| format!("sysctl -w net/ipv6/conf/{name}/disable_ipv6=1"));
                Some(old.into_iter().chain(new).collect::<Vec<_>>().join(" && "))
            }
            PartOf(_) => Some(format!("ip link set {name} nomaster")),
            Carries(others) => Some(
                others
                    .iter()
                    .map(|o| format!("ip link delete {o}"))
                    .collect::<Vec<_>>()
                    .join(" && "),
            ),
            Filters(_) => Some(format!("tc qdisc delete dev {name} clsact")),
            OldIngress(_) => Some(format!("tc qdisc delete dev {name} ingress")),
            Tcx => Some(format!("bpftool net detach tcx_ingress dev {name}")),
            Xdp => Some(format!("ip link set dev {name} xdp off")),
            Merging(all) => Some(format!(
                "ethtool -K {name} {}",
                all.iter().map(|o| format!("{o} off")).collect::<Vec<_>>().join(" ")
            )),
            LargerMtu(_, smaller) => Some(format!("ip link set {name} mtu {smaller}")),
        }
    }
}

impl Display for Finding {
    #[allow(clippy::too_many_lines, reason = "a list of refusals")]
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = &self.interface;
        match &self.obstacle {
            Missing(there) => {
                write!(f, "there is no interface {name}; there are {}", there.join(", "))
            }
            Twice => write!(f, "{name} cannot be both ends"),
            NotEthernet => write!(f, "{name} does not carry Ethernet frames"),
            Held(process) => {
                write!(f, "{name} is already used: a gate that runs as process {process} holds it")
            }
            Down => write!(f, "{name} is down"),
            NoCarrier => {
                write!(f, "{name} has no carrier: nothing is up at the other end of its cable")
            }
            DefaultRoute => write!(f, "the default route leads through {name}"),
            Addresses(all) => {
                let all: Vec<_> = all.iter().map(IpAddr::to_string).collect();
                write!(f, "{name} is already used: it has the address {}", all.join(", "))
            }
            PartOf(controller) => write!(f, "{name} is already used: it is part of {controller}"),
            Carries(others) => {
                write!(
                    f,
                    "{name} is already used: other interfaces stand on it ({})",
                    others.join(", ")
                )
            }
            Filters(kinds) => write!(
                f,
                "{name} is already used: filters of others are at it ({})",
                kinds.join(", ")
            ),
            OldIngress(kinds) => {
                let with = if kinds.is_empty() {
                    String::new()
                } else {
                    format!(" with filters ({})", kinds.join(", "))
                };
                write!(
                    f,
                    "{name} is already used: the old ingress discipline is at it{with}, in the \
                     place of ours"
                )
            }
            Tcx => write!(f, "{name} is already used: others' tcx programs are at it"),
            Xdp => write!(f, "{name} is already used: an XDP program takes its frames first"),
            Merging(all) => {
                write!(f, "{name} makes one frame of several that arrive ({})", all.join(", "))
            }
            LargerMtu(own, smaller) => {
                write!(
                    f,
                    "{name} carries packets of up to {own} B, the other interface only of up to \
                     {smaller} B"
                )
            }
        }
    }
}

/// What the interfaces are, and what stands against joining them.
#[derive(Clone, Debug)]
pub struct Preflight {
    /// The two of them, if they are there.
    pub ends: Option<[Interface; 2]>,
    /// What stands against it, the first first.
    pub findings: Vec<Finding>,
    /// At which of them a gate that is gone has left its program.
    pub leftovers: Vec<String>,
}

impl Preflight {
    /// The two interfaces if they may be joined, in spite of what can be forced if `force` says so;
    /// or else what stands against it.
    ///
    /// # Errors
    /// What stands against it, never empty.
    pub fn cleared(&self, force: Force) -> Result<&[Interface; 2], Vec<&Finding>> {
        let against = self.findings.iter().filter(|f| force == Force::No || !f.can_be_forced());
        match (&self.ends, against.collect::<Vec<_>>()) {
            (Some(ends), none) if none.is_empty() => Ok(ends),
            (_, some) => Err(some),
        }
    }
}

/// Whether to go on in spite of what can be overridden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// Yes.
    Yes,
    /// No.
    No,
}

/// Looks at the interfaces called `names`, in this network namespace. Changes nothing.
///
/// # Errors
/// The kernel does not answer.
pub fn inspect(names: [&str; 2], now: Time) -> io::Result<Preflight> {
    let netlink = &mut Netlink::open()?;
    let all = facts::interfaces(netlink)?;
    let mut preflight = Preflight { ends: None, findings: Vec::new(), leftovers: Vec::new() };
    let [Some(one), Some(other)] = names.map(|name| all.iter().find(|i| i.name == name)) else {
        let is_there = |name: &&str| all.iter().any(|i| i.name == **name);
        let there: Vec<String> =
            all.iter().filter(|i| i.ethernet).map(|i| i.name.clone()).collect();
        let missing = names.iter().filter(|name| !is_there(name));
        preflight.findings.extend(missing.map(|name| finding(name, Missing(there.clone()))));
        return Ok(preflight);
    };
    for end in [one, other] {
        let details = facts::details(netlink, end)?;
        if details.gate.is_some_and(|gate| gate.held(now).is_none()) {
            preflight.leftovers.push(end.name.clone());
        }
        preflight
            .findings
            .extend(judge(end, &details, &all, now).into_iter().map(|o| finding(&end.name, o)));
    }
    preflight.findings.extend(judge_pair(one, other));
    preflight.ends = Some([one.clone(), other.clone()]);
    Ok(preflight)
}

fn finding(interface: &str, obstacle: Obstacle) -> Finding {
    Finding { interface: interface.into(), obstacle }
}

/// What stands against `end` by itself.
fn judge(end: &Interface, details: &Details, all: &[Interface], now: Time) -> Vec<Obstacle> {
    if !end.ethernet {
        return vec![NotEthernet];
    }
    let mut against = Vec::new();
    let mut found = |so: bool, what: Obstacle| {
        if so {
            against.push(what);
        }
    };
    let holder = details.gate.and_then(|gate| gate.held(now));
    let controller = end.controller.map(|index| name_of(index, all));
    let on_it: Vec<String> =
        all.iter().filter(|other| stands_on(other, end)).map(|o| o.name.clone()).collect();
    let foreign: Vec<String> =
        details.filters.iter().filter(|f| !f.is_ours()).map(|f| f.kind.clone()).collect();
    found(holder.is_some(), Held(holder.unwrap_or(0)));
    found(!end.up, Down);
    found(end.up && !end.carrier, NoCarrier);
    found(details.default_route, DefaultRoute);
    found(!details.addresses.is_empty(), Addresses(details.addresses.clone()));
    found(controller.is_some(), PartOf(controller.unwrap_or_default()));
    found(!on_it.is_empty(), Carries(on_it));
    if details.old_ingress {
        found(true, OldIngress(foreign))
    } else {
        found(!foreign.is_empty(), Filters(foreign))
    }
    found(details.tcx, Tcx);
    found(end.xdp, Xdp);
    found(!details.merging.is_empty(), Merging(details.merging.clone()));
    against
}

fn judge_pair(one: &Interface, other: &Interface) -> Option<Finding> {
    if one.index == other.index {
        return Some(finding(&one.name, Twice));
    }
    let (larger, smaller) = if one.mtu > other.mtu { (one, other) } else { (other, one) };
    (larger.mtu != smaller.mtu).then(|| finding(&larger.name, LargerMtu(larger.mtu, smaller.mtu)))
}

fn name_of(index: u32, all: &[Interface]) -> String {
    all.iter()
        .find(|i| i.index == index)
        .map_or_else(|| format!("interface {index}"), |i| i.name.clone())
}

/// Whether `other` gets its frames through `end`; the two ends of a virtual cable name each other,
/// too.
fn stands_on(other: &Interface, end: &Interface) -> bool {
    other.below == Some(end.index)
        && other.index != end.index
        && other.kind.as_deref() != Some("veth")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::failopen::attach::{Hook, KernelFilter};

    fn interface(index: u32, name: &str) -> Interface {
        let name = name.into();
        Interface {
            index,
            name,
            ethernet: true,
            mtu: 1500,
            up: true,
            carrier: true,
            ..Interface::default()
        }
    }

    #[test]
    fn a_plain_pair_is_cleared_and_each_obstacle_is_named() {
        let (one, other) = (interface(2, "east"), interface(3, "west"));
        assert_eq!(judge(&one, &Details::default(), std::slice::from_ref(&one), Time::ZERO), []);
        assert_eq!(judge_pair(&one, &other), None);
        assert_eq!(judge_pair(&one, &one).unwrap().obstacle, Twice);

        let bridge = interface(9, "br0");
        let vlan =
            Interface { below: Some(2), kind: Some("vlan".into()), ..interface(10, "east.5") };
        let cable = Interface { below: Some(2), kind: Some("veth".into()), ..interface(11, "far") };
        let strange = Interface { ethernet: false, up: false, ..one.clone() };
        assert_eq!(judge(&strange, &Details::default(), &[], Time::ZERO), [NotEthernet]);
        let bad = Interface { up: false, controller: Some(9), xdp: true, ..one.clone() };
        let filter =
            KernelFilter { way: Hook::Egress, kind: "flower".into(), name: None, program: None };
        let details = Details {
            addresses: vec!["10.0.0.1".parse().unwrap(), "fe80::1".parse().unwrap()],
            default_route: true,
            filters: vec![filter],
            old_ingress: false,
            tcx: true,
            gate: None,
            merging: vec!["gro", "lro"],
        };
        let found = judge(&bad, &details, &[bad.clone(), bridge, vlan, cable], Time::ZERO);
        let told = |o: &Obstacle| {
            let finding = finding("east", o.clone());
            let force = if finding.can_be_forced() { "" } else { "!" };
            format!("{force}{finding} | {}", finding.mend().unwrap_or_default())
        };
        assert_eq!(
            found.iter().map(told).collect::<Vec<_>>(),
            [
                "!east is down | ip link set east up",
                "the default route leads through east | ip route delete default dev east",
                "east is already used: it has the address 10.0.0.1, fe80::1 | \
                 ip -4 address flush dev east && sysctl -w net/ipv6/conf/east/disable_ipv6=1",
                "east is already used: it is part of br0 | ip link set east nomaster",
                "east is already used: other interfaces stand on it (east.5) | ip link delete \
                 east.5",
                "east is already used: filters of others are at it (flower) | tc qdisc delete dev \
                 east clsact",
                "east is already used: others' tcx programs are at it | bpftool net detach \
                 tcx_ingress dev east",
                "east is already used: an XDP program takes its frames first | ip link set dev \
                 east xdp off",
                "east makes one frame of several that arrive (gro, lro) | ethtool -K east gro off \
                 lro off",
            ]
        );
    }
}
