//! Hosts before flows, read from tc-cake(8): n flows of one host have an n-th of a share each.
use tidegate::Packet;

/// Who sends and who receives.
pub type Hosts = (u16, u16);

/// Which hosts a flow's share is divided among: by whose flows that count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Divided {
    pub by_source: bool,
    pub by_destination: bool,
}

impl Divided {
    /// As the parameter `isolation` has it.
    pub fn by(isolation: &str) -> Divided {
        let triple = isolation == "triple-isolate";
        Divided {
            by_source: triple || isolation == "dual-srchost",
            by_destination: triple || isolation == "dual-dsthost",
        }
    }

    /// By how many a flow of these hosts shares: the flows that count of the busier one.
    pub fn load(self, own: Hosts, counted: &[Hosts]) -> u64 {
        let source = counted.iter().filter(|hosts| self.by_source && hosts.0 == own.0);
        let destination = counted.iter().filter(|hosts| self.by_destination && hosts.1 == own.1);
        (source.count().max(destination.count()) as u64).max(1)
    }

    /// The same for a line, where all lines with something in them count.
    pub fn load_of(self, line: usize, hosts: &[Hosts], waits: impl Fn(usize) -> bool) -> u64 {
        let counted: Vec<Hosts> =
            (0..hosts.len()).filter(|&other| waits(other)).map(|other| hosts[other]).collect();
        self.load(hosts[line], &counted)
    }
}

/// The hosts of a packet.
pub fn of(pkt: &Packet) -> Hosts {
    (pkt.hosts().source, pkt.hosts().destination)
}

/// What is one flow, as the parameter `isolation` has it.
pub fn key(isolation: &str, pkt: &Packet) -> u64 {
    let (source, destination) = (u64::from(of(pkt).0), u64::from(of(pkt).1));
    match isolation {
        "flowblind" => 0,
        "srchost" => source,
        "dsthost" => destination,
        "hosts" => 65_536 * 65_536 * source + destination,
        _ => pkt.flow,
    }
}
