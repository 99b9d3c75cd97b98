//! What the gateway finds out about frames before the queue sees them: which flow, which class, and
//! whether it is judged at all.
use std::fmt;

use tidegate::catalog::{AnyConfig, QUEUES};
use tidegate::config::SEPARATOR;
use tidegate::{Ack, Asks, ConfigError, Packet};
use tidegate_packet::{Dscp, FlowHasher, Frame, Prefix, PrefixSet, vlan_priority};

use crate::path::overhead::Overhead;
use crate::watch::heavy::CountedFlow;
use crate::watch::interval::FlowSent;

/// Frames of one class of service: those that meet all that is asked, where anything is. A list
/// asks for one of its entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Class {
    /// What to call it.
    pub name: String,
    /// Its part of the link, in proportion to the others'.
    pub weight: f64,
    /// Whose sender or receiver is in one of these; empty: any.
    pub prefixes: Vec<Prefix>,
    /// Which bear one of these code points; empty: any.
    pub dscp: Vec<Dscp>,
    /// Whose outermost VLAN tag has one of these priorities, 0 to 7; empty: any, also without a
    /// tag.
    pub priorities: Vec<u8>,
}

impl Class {
    /// Whether it asks for nothing, so that no frame goes to a class behind it.
    pub fn takes_all(&self) -> bool {
        self.prefixes.is_empty() && self.dscp.is_empty() && self.priorities.is_empty()
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (weight {}", self.name, self.weight)?;
        let mut list = |what: &str, all: Vec<String>| {
            if all.is_empty() { Ok(()) } else { write!(f, ", {what} {}", all.join(" ")) }
        };
        list("prefix", self.prefixes.iter().map(Prefix::to_string).collect())?;
        list("dscp", self.dscp.iter().map(Dscp::to_string).collect())?;
        list("priority", self.priorities.iter().map(u8::to_string).collect())?;
        f.write_str(")")
    }
}

/// The parameters that concern classes: the weights of the classes that a queue is given, and those
/// that make a queue go by classes.
pub const BY_CLASS: [&str; 3] = ["weights", "map", "classes"];

/// Tells `queue` of `classes`: how many there are, with one besides for frames that none takes, of
/// weight 1, and what each weighs. Without classes it is left as it is.
///
/// # Errors
/// It knows no classes; a class is behind one that takes all (`field` is its name); a weight is out
/// of bounds.
pub fn deal(queue: &mut AnyConfig, classes: &[Class]) -> Result<(), ConfigError> {
    let Some((last, others)) = classes.split_last() else { return Ok(()) };
    if !queue.row().has(BY_CLASS[0]) {
        let able: Vec<_> =
            QUEUES.iter().filter(|row| row.has(BY_CLASS[0])).map(|row| row.name).collect();
        let why = format!("knows no classes; those that do are {}", able.join(", "));
        return Err(ConfigError::new("queue", queue.name(), why));
    }
    if let Some(at) = others.iter().position(Class::takes_all) {
        let why = format!(
            "no frame comes to it: `{}` before it asks for nothing and takes all",
            others[at].name
        );
        return Err(ConfigError::new("class", &classes[at + 1].name, why));
    }
    let mut weights: Vec<String> = classes.iter().map(|class| class.weight.to_string()).collect();
    if !last.takes_all() {
        weights.push("1".into());
    }
    for (name, value) in
        BY_CLASS.into_iter().zip([&weights.join(SEPARATOR), "class", &weights.len().to_string()])
    {
        if queue.row().has(name) {
            queue.set(name, value)?;
        }
    }
    Ok(())
}

/// Sorts frames.
#[derive(Clone, Debug)]
pub struct Sorter {
    hasher: FlowHasher,
    overhead: Overhead,
    classes: Vec<ClassTest>,
    allowed: PrefixSet,
    asks: Asks,
}

/// A [`Class`] as it is looked up.
#[derive(Clone, Debug, PartialEq)]
struct ClassTest {
    prefixes: Option<PrefixSet>,
    /// A bit for each code point and for each priority.
    dscp: Option<u64>,
    priorities: Option<u8>,
}

/// A frame that was sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sorted {
    /// The frame as the queue is to see it.
    pub packet: Packet,
    /// Whether the queue is not to see it.
    pub allowed: bool,
}

impl Sorter {
    /// One that tells flows apart by `hasher`. A frame goes to the first of `classes` that takes
    /// it, and if none does to a last one besides them. A frame whose sender or receiver is in one
    /// of the prefixes `allowed` is not judged.
    pub fn new(
        hasher: FlowHasher,
        overhead: Overhead,
        classes: &[Class],
        allowed: &[Prefix],
    ) -> Sorter {
        let test = |class: &Class| ClassTest {
            prefixes: (!class.prefixes.is_empty())
                .then(|| class.prefixes.iter().copied().collect()),
            dscp: (!class.dscp.is_empty())
                .then(|| class.dscp.iter().fold(0, |all, dscp| all | 1 << dscp.get())),
            priorities: (!class.priorities.is_empty()).then(|| {
                class.priorities.iter().fold(0, |all, priority| all | 1 << (priority & 7))
            }),
        };
        let classes = classes.iter().map(test).collect();
        let allowed = allowed.iter().copied().collect();
        Sorter { hasher, overhead, classes, allowed, asks: Asks::default() }
    }

    /// The same for a queue that `asks` for more than the flow and its class.
    pub fn asking(self, asks: Asks) -> Sorter {
        Sorter { asks, ..self }
    }

    /// Sorts a frame; `bytes` has all of it.
    #[inline]
    pub fn sort(&self, frame: &Frame, bytes: &[u8]) -> Sorted {
        let class = if self.classes.is_empty() { 0 } else { self.class(frame, bytes) };
        let packet =
            Packet::new(self.hasher.hash(&frame.ends), self.overhead.on_wire(bytes.len() as u32));
        let allowed = !self.allowed.is_empty() && among(&self.allowed, frame);
        let packet = packet.with_ecn(frame.ecn).with_class(class);
        Sorted { packet: self.hasher.answer(self.asks, packet, frame, bytes), allowed }
    }

    /// What a frame acknowledges, if the queue asks for that.
    #[inline]
    pub fn ack(&self, frame: &Frame, bytes: &[u8]) -> Option<Ack> {
        self.hasher.ack(self.asks, frame, bytes)
    }

    /// Whether it tells the same flows and classes apart as `other`, which has the same secret.
    pub(crate) fn sorts_as(&self, other: &Sorter) -> bool {
        self.hasher.key() == other.hasher.key() && self.classes_as(other)
    }

    /// Whether it tells the same classes apart as `other`.
    pub(crate) fn classes_as(&self, other: &Sorter) -> bool {
        self.classes == other.classes
    }

    /// A flow that was counted, by what the flow key says that it is.
    pub(crate) fn sent(&self, counted: &CountedFlow) -> FlowSent {
        let CountedFlow { ends, bytes, longest, lost, lost_bytes, class, .. } = *counted;
        FlowSent { flow: self.hasher.flow(&ends), class, bytes, longest, lost, lost_bytes }
    }

    fn class(&self, frame: &Frame, bytes: &[u8]) -> u16 {
        let found = self.classes.iter().position(|test| test.takes(frame, bytes));
        found.unwrap_or(self.classes.len()) as u16
    }
}

impl ClassTest {
    fn takes(&self, frame: &Frame, bytes: &[u8]) -> bool {
        let asked = |all: Option<u64>, has: Option<u8>| {
            all.is_none_or(|all| has.is_some_and(|bit| all >> bit & 1 == 1))
        };
        asked(self.dscp, frame.dscp(bytes).map(Dscp::get))
            && asked(self.priorities.map(u64::from), vlan_priority(bytes))
            && self.prefixes.as_ref().is_none_or(|prefixes| among(prefixes, frame))
    }
}

#[inline]
fn among(prefixes: &PrefixSet, frame: &Frame) -> bool {
    prefixes.contains(frame.ends.source) || prefixes.contains(frame.ends.destination)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_packet::{FlowKey, LinkType};

    /// An IPv4 frame from 10.0.0.`from` to 10.0.1.1 with this code point, in a VLAN with this
    /// priority if there is one.
    fn frame(from: u8, dscp: u8, priority: Option<u8>) -> Vec<u8> {
        let mut bytes = vec![2; 12];
        if let Some(priority) = priority {
            bytes.extend([0x81, 0x00, priority << 5, 7]);
        }
        bytes.extend([0x08, 0x00, 0x45, dscp << 2, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0]);
        bytes.extend([10, 0, 0, from, 10, 0, 1, 1, 0, 7, 0, 9, 0, 8, 0, 0]);
        bytes.resize(64, 0);
        bytes
    }

    fn sorted(sorter: &Sorter, bytes: &[u8]) -> Sorted {
        sorter.sort(&Frame::parse(LinkType::Ethernet, bytes, bytes.len() as u32), bytes)
    }

    fn of(classes: &[Class], allowed: &[Prefix]) -> Sorter {
        Sorter::new(
            FlowHasher::new(FlowKey::FiveTuple, [1, 2]),
            Overhead::ETHERNET,
            classes,
            allowed,
        )
    }

    #[test]
    fn a_frame_goes_to_the_first_class_that_takes_it() {
        let prefix = |text: &str| vec![text.parse::<Prefix>().unwrap()];
        let voice =
            Class { dscp: vec!["EF".parse().unwrap(), "CS5".parse().unwrap()], ..Class::default() };
        let tagged =
            Class { priorities: vec![5, 6], prefixes: prefix("10.0.0.0/28"), ..Class::default() };
        let servers = Class { prefixes: prefix("10.0.0.8/29"), ..Class::default() };
        let sorter = of(&[voice, tagged, servers], &[]);
        for (from, dscp, priority, class) in [
            (1, 46, None, 0),
            (9, 40, Some(5), 0),
            (9, 0, Some(5), 1),
            (9, 0, Some(4), 2),
            (9, 0, None, 2),
            (1, 0, Some(6), 1),
            (1, 0, Some(4), 3),
            (100, 0, Some(6), 3),
        ] {
            let bytes = frame(from, dscp, priority);
            assert_eq!(sorted(&sorter, &bytes).packet.class, class, "{from} {dscp} {priority:?}");
        }
        let arp = [&[2; 12][..], &[0x08, 0x06], &[0; 46]].concat();
        assert_eq!(sorted(&sorter, &arp).packet.class, 3);
        let all = of(&[Class::default()], &[]);
        assert!(Class::default().takes_all());
        assert_eq!(sorted(&all, &arp).packet.class, 0);
    }

    /// A queue that divides shares among hosts gets them, and one that filters acknowledgements
    /// gets those. Others get neither.
    #[test]
    fn a_queue_is_told_what_it_asks_for() {
        let link = tidegate::Link::new(
            "1 Mbit/s".parse().unwrap(),
            "100 packets".parse().unwrap(),
            "1 kB".parse().unwrap(),
        );
        let asks = |name: &str, param: &str, value: &str| {
            let mut config = tidegate::catalog::config(name, None, link.as_ref().unwrap()).unwrap();
            config.set(param, value).unwrap();
            config.asks()
        };
        let plain = of(&[], &[]);
        let tags =
            |sorter: &Sorter| [1, 2].map(|from| sorted(sorter, &frame(from, 0, None)).packet.tag);
        assert_eq!(tags(&plain), [0, 0]);
        let by_hosts = QUEUES.iter().filter(|row| row.has("isolation"));
        let names: Vec<&str> = by_hosts.map(|row| row.name).collect();
        assert!(names.len() >= 8, "{names:?}");
        for name in names {
            let sorter = plain.clone().asking(asks(name, "isolation", "dual-srchost"));
            let [one, other] = tags(&sorter);
            assert!(one != other && one as u16 == other as u16, "{name}: {one:x} {other:x}");
        }
        // A bare acknowledgement: 40 bytes of IPv4, padded.
        let mut bytes = frame(1, 0, None);
        (bytes[17], bytes[23], bytes[46], bytes[47]) = (40, 6, 0x50, 0x10);
        let parsed = Frame::parse(LinkType::Ethernet, &bytes, 64);
        assert_eq!(plain.ack(&parsed, &bytes), None);
        let filters = plain.clone().asking(asks("cake", "ack_filter", "filter"));
        assert!(filters.ack(&parsed, &bytes).is_some_and(|ack| ack.is_pure()));
    }

    #[test]
    fn a_queue_is_told_of_classes_if_it_knows_any() {
        let link = tidegate::Link::new(
            "1 Mbit/s".parse().unwrap(),
            "100 packets".parse().unwrap(),
            "1 kB".parse().unwrap(),
        );
        let config = |name| tidegate::catalog::config(name, None, link.as_ref().unwrap()).unwrap();
        let some = |name: &str, weight| Class {
            name: name.into(),
            weight,
            dscp: vec!["EF".parse().unwrap()],
            ..Class::default()
        };
        let all = Class { name: "all".into(), weight: 2.5, ..Class::default() };
        for name in ["wfq", "ewfq", "drr"] {
            let mut queue = config(name);
            deal(&mut queue, &[some("voice", 3.0), all.clone()]).unwrap();
            let told = |queue: &AnyConfig| BY_CLASS.map(|param| queue.get(param).unwrap());
            assert_eq!(told(&queue), ["3:2.5", "class", "2"]);
            deal(&mut queue, &[some("voice", 3.0)]).unwrap();
            assert_eq!(told(&queue), ["3:1", "class", "2"]);
            let before = queue.clone();
            deal(&mut queue, &[]).unwrap();
            assert_eq!(queue, before);
            let error = deal(&mut queue, &[all.clone(), some("voice", 3.0)]).unwrap_err();
            assert_eq!((error.field.as_str(), error.value.as_str()), ("class", "voice"));
            assert!(
                deal(&mut config("csfq"), &[some("voice", 3.0)]).is_ok(),
                "it goes by classes anyway"
            );
            assert!(
                deal(&mut queue, &[some("voice", 0.0)]).unwrap_err().why.contains("must lie in")
            );
        }
        let error = deal(&mut config("sfb"), &[all]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "queue = sfb: knows no classes; those that do are csfq, wfq, ewfq, drr, tide, bc_pqp, hcsfq"
        );
    }

    #[test]
    fn either_end_may_be_on_the_list() {
        for (list, from, allowed) in [
            (&["10.0.0.9"][..], 9, true),
            (&["10.0.0.9"], 8, false),
            (&["192.0.2.0/24", "10.0.1.0/24"], 8, true),
            (&[], 8, false),
        ] {
            let list: Vec<Prefix> = list.iter().map(|text| text.parse().unwrap()).collect();
            let sorted = sorted(&of(&[], &list), &frame(from, 0, None));
            assert_eq!(
                (sorted.allowed, sorted.packet.class, sorted.packet.len),
                (allowed, 0, 88),
                "{list:?} {from}"
            );
        }
    }
}
