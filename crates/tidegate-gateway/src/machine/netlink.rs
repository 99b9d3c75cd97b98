//! Questions and orders to the kernel about its interfaces, one at a time, each waited for.
use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkBuffer, NetlinkDeserializable, NetlinkHeader,
    NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::protocols::{NETLINK_GENERIC, NETLINK_ROUTE};
use netlink_sys::{Socket, SocketAddr};

/// A line to the kernel, about the network namespace that it was opened in.
#[derive(Debug)]
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Opens a line.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open() -> io::Result<Netlink> {
        Netlink::to(NETLINK_ROUTE)
    }

    /// Opens one to the families that have no protocol of their own.
    pub(crate) fn generic() -> io::Result<Netlink> {
        Netlink::to(NETLINK_GENERIC)
    }

    fn to(protocol: isize) -> io::Result<Netlink> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // Without this the kernel repeats the whole order in its refusal and says no more than the
        // error's number.
        socket.set_cap_ack(true)?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// Everything that answers `question`.
    ///
    /// # Errors
    /// The kernel's, or an answer that is not understood.
    pub fn ask(&mut self, question: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.exchange(question, NLM_F_DUMP)
    }

    /// Has `order` carried out; `flags` says whether to create, replace or neither (`NLM_F_CREATE`
    /// and its like).
    ///
    /// # Errors
    /// The kernel's.
    pub fn order(&mut self, order: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.exchange(order, NLM_F_ACK | flags).map(|_| ())
    }

    /// Everything that answers `message`, which is sent with these `flags`.
    pub(crate) fn exchange<M>(&mut self, message: M, flags: u16) -> io::Result<Vec<M>>
    where
        M: NetlinkSerializable + NetlinkDeserializable,
        NetlinkPayload<M>: From<M>,
    {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        (header.flags, header.sequence_number) = (NLM_F_REQUEST | flags, self.sequence);
        let mut packet = NetlinkMessage::new(header, NetlinkPayload::from(message));
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        self.answers()
    }

    fn answers<M: NetlinkDeserializable>(&mut self) -> io::Result<Vec<M>> {
        let mut answers = Vec::new();
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            let mut rest = &datagram[..];
            while !rest.is_empty() {
                let (len, message) = read(rest)?;
                // The rest of an answer that was given up on in the middle is not ours to hear.
                if message.header.sequence_number == self.sequence {
                    match message.payload {
                        NetlinkPayload::InnerMessage(answer) => answers.push(answer),
                        NetlinkPayload::Error(error) if error.code.is_some() => {
                            return Err(error.to_io());
                        }
                        NetlinkPayload::Done(_) | NetlinkPayload::Error(_) => return Ok(answers),
                        _ => {}
                    }
                }
                rest = &rest[len.min(rest.len())..];
            }
        }
    }
}

/// The first message of `bytes`, and how many bytes it takes up.
fn read<M: NetlinkDeserializable>(bytes: &[u8]) -> io::Result<(usize, NetlinkMessage<M>)> {
    let not_understood = |e| io::Error::new(io::ErrorKind::InvalidData, format!("netlink: {e}"));
    let len = NetlinkBuffer::new_checked(bytes).map_err(not_understood)?.length() as usize;
    let message = NetlinkMessage::deserialize(bytes).map_err(not_understood)?;
    Ok((len.next_multiple_of(4).max(4), message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_route::link::{LinkAttribute, LinkMessage};

    #[test]
    fn the_kernel_names_its_loopback_and_refuses_what_cannot_be() {
        let mut netlink = Netlink::open().unwrap();
        let links = netlink.ask(RouteNetlinkMessage::GetLink(LinkMessage::default())).unwrap();
        let loopback = LinkAttribute::IfName("lo".into());
        let found = |message: &RouteNetlinkMessage| match message {
            RouteNetlinkMessage::NewLink(link) => link.attributes.contains(&loopback),
            _ => false,
        };
        assert!(links.iter().any(found), "{links:?}");
        let mut nobody = LinkMessage::default();
        nobody.header.index = 0x7fff_fff0;
        netlink.order(RouteNetlinkMessage::SetLink(nobody), 0).unwrap_err();
        assert_eq!(
            netlink.ask(RouteNetlinkMessage::GetLink(LinkMessage::default())).unwrap().len(),
            links.len()
        );
    }
}
