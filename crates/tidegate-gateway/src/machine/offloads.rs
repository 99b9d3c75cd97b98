//! The offloads of an interface, read and set by the kernel's own interface for that: ethtool's
//! family of generic netlink.
//!
//! The crates that speak it are asynchronous and read only; this needs no more of it than two
//! messages.
use std::io;

use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLA_F_NESTED, NLM_F_ACK, Nla, NlasIterator, Parseable,
    ParseableParametrized,
};
use netlink_packet_generic::ctrl::nlas::GenlCtrlAttrs;
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_packet_generic::{GenlFamily, GenlHeader, GenlMessage};

use crate::machine::netlink::Netlink;

// linux/ethtool_netlink.h has these: the messages …
const GET: u8 = 11;
const SET: u8 = 12;
// … what is in them …
const HEADER: u16 = 1;
const WANTED: u16 = 3;
const ACTIVE: u16 = 4;
// … what is in a header …
const NAME: u16 = 2;
const FLAGS: u16 = 3;
const NO_REPLY: u32 = 2;
// … and in a set of bits, and in one of these.
const BITS: u16 = 3;
const BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

/// A message of the family, sent or received.
#[derive(Clone, Debug)]
struct Features {
    command: u8,
    attributes: Vec<DefaultNla>,
}

impl GenlFamily for Features {
    fn family_name() -> &'static str {
        "ethtool"
    }

    fn command(&self) -> u8 {
        self.command
    }

    fn version(&self) -> u8 {
        1
    }
}

impl Emitable for Features {
    fn buffer_len(&self) -> usize {
        self.attributes.as_slice().buffer_len()
    }

    fn emit(&self, buffer: &mut [u8]) {
        self.attributes.as_slice().emit(buffer);
    }
}

impl ParseableParametrized<[u8], GenlHeader> for Features {
    fn parse_with_param(bytes: &[u8], header: GenlHeader) -> Result<Features, DecodeError> {
        Ok(Features { command: header.cmd, attributes: attributes(bytes)? })
    }
}

fn attributes(bytes: &[u8]) -> Result<Vec<DefaultNla>, DecodeError> {
    NlasIterator::new(bytes).map(|one| DefaultNla::parse(&one?)).collect()
}

/// An attribute that holds others.
fn nest(kind: u16, inside: &[DefaultNla]) -> DefaultNla {
    let mut bytes = vec![0; inside.buffer_len()];
    inside.emit(&mut bytes);
    DefaultNla::new(kind | NLA_F_NESTED, bytes)
}

/// An attribute that is a text.
fn text(kind: u16, text: &str) -> DefaultNla {
    DefaultNla::new(kind, [text.as_bytes(), &[0]].concat())
}

fn value(attribute: &DefaultNla) -> Vec<u8> {
    let mut bytes = vec![0; attribute.value_len()];
    attribute.emit_value(&mut bytes);
    bytes
}

/// Ethtool's line to the kernel.
struct Ethtool {
    line: Netlink,
    /// The number of its family, which each kernel gives as it likes.
    family: u16,
}

impl Ethtool {
    fn open() -> io::Result<Ethtool> {
        let mut line = Netlink::generic()?;
        let name = GenlCtrlAttrs::FamilyName(Features::family_name().into());
        let question =
            GenlMessage::from_payload(GenlCtrl { cmd: GenlCtrlCmd::GetFamily, nlas: vec![name] });
        let answers = line.exchange(question, NLM_F_ACK).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::new(
                io::ErrorKind::Unsupported,
                "this kernel does not tell offloads (it lacks CONFIG_ETHTOOL_NETLINK)",
            ),
            _ => error,
        })?;
        let told = answers.iter().flat_map(|answer: &GenlMessage<GenlCtrl>| &answer.payload.nlas);
        let number = |told: &GenlCtrlAttrs| {
            if let GenlCtrlAttrs::FamilyId(id) = told { Some(*id) } else { None }
        };
        let family = told.filter_map(number).next();
        Ok(Ethtool { line, family: family.ok_or(io::ErrorKind::Unsupported)? })
    }

    fn exchange(&mut self, command: u8, attributes: Vec<DefaultNla>) -> io::Result<Vec<Features>> {
        let mut message = GenlMessage::from_payload(Features { command, attributes });
        message.set_resolved_family_id(self.family);
        let answers: Vec<GenlMessage<Features>> = self.line.exchange(message, NLM_F_ACK)?;
        Ok(answers.into_iter().map(|answer| answer.payload).collect())
    }

    fn active(&mut self, interface: &str) -> io::Result<Vec<String>> {
        let answers = self.exchange(GET, vec![nest(HEADER, &[text(NAME, interface)])])?;
        let not_understood =
            |why| io::Error::new(io::ErrorKind::InvalidData, format!("ethtool: {why}"));
        let active =
            answers.iter().flat_map(|answer| &answer.attributes).find(|one| kind(one) == ACTIVE);
        names(&active.map(value).unwrap_or_default()).map_err(not_understood)
    }
}

fn kind(attribute: &DefaultNla) -> u16 {
    attribute.kind() & !NLA_F_NESTED
}

/// The names in a set of bits. Each bit that is named is on.
fn names(set: &[u8]) -> Result<Vec<String>, DecodeError> {
    let mut names = Vec::new();
    for bits in attributes(set)?.iter().filter(|one| kind(one) == BITS) {
        for bit in attributes(&value(bits))?.iter().filter(|one| kind(one) == BIT) {
            for name in attributes(&value(bit))?.iter().filter(|one| kind(one) == BIT_NAME) {
                let bytes = value(name);
                let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
                names.push(String::from_utf8_lossy(text).into_owned());
            }
        }
    }
    Ok(names)
}

/// The names of the features that are on at `interface` of this network namespace, offloads among
/// them, as the kernel calls them.
///
/// # Errors
/// The kernel's.
pub fn active(interface: &str) -> io::Result<Vec<String>> {
    Ethtool::open()?.active(interface)
}

/// Turns features on or off.
///
/// # Errors
/// The kernel's; one that cannot be otherwise there is not as `wanted` afterwards.
pub fn set(interface: &str, wanted: &[(&str, bool)]) -> io::Result<()> {
    let mut line = Ethtool::open()?;
    let header = nest(
        HEADER,
        &[text(NAME, interface), DefaultNla::new(FLAGS, NO_REPLY.to_ne_bytes().to_vec())],
    );
    let bit = |&(name, on): &(&str, bool)| {
        let value = on.then(|| DefaultNla::new(BIT_VALUE, vec![]));
        nest(BIT, &[text(BIT_NAME, name)].into_iter().chain(value).collect::<Vec<_>>())
    };
    let bits: Vec<_> = wanted.iter().map(bit).collect();
    line.exchange(SET, vec![header, nest(WANTED, &[nest(BITS, &bits)])])?;
    let active = line.active(interface)?;
    match wanted.iter().find(|(name, on)| active.iter().any(|one| one == name) != *on) {
        None => Ok(()),
        Some((name, on)) => {
            let state = if *on { "off" } else { "on" };
            Err(io::Error::other(format!("{interface}: {name} stays {state}")))
        }
    }
}

/// What leaves frames unfinished or larger than the wire carries: checksums and segments left to
/// hardware, and frames made of several.
fn leaves_unfinished(feature: &str) -> bool {
    let alone = ["tx-generic-segmentation", "tx-udp-segmentation", "rx-gro", "rx-lro"];
    feature.starts_with("tx-checksum-") || feature.starts_with("tx-tcp") || alone.contains(&feature)
}

/// Turns everything off at `interface` that leaves its frames unfinished or larger than the wire
/// carries.
///
/// # Errors
/// The kernel's.
pub fn finish_frames(interface: &str) -> io::Result<()> {
    let on = active(interface)?;
    let off: Vec<_> = on
        .iter()
        .filter(|name| leaves_unfinished(name))
        .map(|name| (name.as_str(), false))
        .collect();
    set(interface, &off)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::namespaces::{Namespace, possible, skip};

    /// What the program `ethtool` says is on, by the kernel's names: another reader of the same.
    fn by_the_program(namespace: &Namespace, interface: &str) -> Option<Vec<String>> {
        std::process::Command::new("ethtool").arg("--version").output().ok()?;
        let told = namespace.run(&["ethtool", "-k", interface]).unwrap();
        // Those under names of its own (no dash before) stand for several, or bear older names.
        let on = told
            .lines()
            .filter_map(|line| line.trim().split_once(": on"))
            .map(|(name, _)| name.to_string());
        Some(on.collect())
    }

    #[test]
    fn features_are_read_and_set_as_ethtool_has_them() {
        if let Err(why) = possible() {
            return skip(&why);
        }
        let here = Namespace::new(&format!("tg-off-{}", std::process::id())).unwrap();
        here.run(&["ip", "link", "add", "one", "type", "veth", "peer", "name", "two"]).unwrap();
        let inside = |work: fn() -> io::Result<Vec<String>>| here.inside(work).unwrap().unwrap();
        let first = inside(|| active("one"));
        assert!(first.iter().any(|name| name == "tx-checksum-ip-generic"), "{first:?}");
        let after = inside(|| {
            finish_frames("one")?;
            active("one")
        });
        assert!(!after.iter().any(|name| leaves_unfinished(name)), "{after:?}");
        let grows = inside(|| {
            set("one", &[("rx-gro", true)])?;
            active("one")
        });
        assert_eq!(grows.len(), after.len() + 1, "{after:?} {grows:?}");
        if let Some(told) = by_the_program(&here, "one") {
            let same = [
                "tx-checksum-ip-generic",
                "tx-vlan-stag-hw-insert",
                "highdma",
                "tx-udp-segmentation",
            ];
            for name in same {
                assert_eq!(
                    told.iter().any(|n| n == name),
                    grows.iter().any(|n| n == name),
                    "{name}: {told:?} {grows:?}"
                );
            }
            assert!(told.iter().any(|name| name == "generic-receive-offload"), "{told:?}");
        }
        let refused =
            here.inside(|| set("one", &[("rx-lro", true)]).unwrap_err().to_string()).unwrap();
        assert!(refused.contains("one: rx-lro stays off"), "{refused}");
        let missing = here.inside(|| active("no").unwrap_err()).unwrap();
        assert_eq!(missing.raw_os_error(), Some(libc::ENODEV), "{missing}");
    }
}
