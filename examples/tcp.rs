//! A TCP upload (smoltcp) beside a flood, through a device whose wire is a bottleneck.
use smoltcp::{iface::*, phy::*, socket::tcp, time::Instant, wire::*};
use tidegate::{Packet, Time};
use tidegate_examples::{End, beside_a_flood, row};

const WINDOW: usize = 32_768; // Less than path and queue hold: smoltcp repairs losses slowly.

/// What has come, and what is to go.
#[derive(Default)]
struct Wire(Vec<Vec<u8>>, Vec<Vec<u8>>);
struct Came(Vec<u8>);

impl RxToken for Came {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}
impl TxToken for &mut Wire {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        self.1.push(vec![0; len]);
        write(self.1.last_mut().unwrap())
    }
}
impl Device for Wire {
    type RxToken<'a> = Came;
    type TxToken<'a> = &'a mut Wire;
    fn receive(&mut self, _: Instant) -> Option<(Came, &mut Wire)> {
        Some((Came(self.0.pop()?), self))
    }
    fn transmit(&mut self, _: Instant) -> Option<&mut Wire> {
        Some(self)
    }
    fn capabilities(&self) -> DeviceCapabilities {
        let mut device = DeviceCapabilities::default();
        (device.medium, device.max_transmission_unit) = (Medium::Ip, 1500);
        device
    }
}
struct Host(Wire, Interface, SocketSet<'static>, SocketHandle);
/// A host that may send `room` bytes ahead of their acknowledgement.
fn host(address: u8, room: usize) -> Host {
    let (mut wire, ip) = (Wire::default(), IpCidr::new(IpAddress::v4(10, 0, 0, address), 24));
    let mut stack = Interface::new(Config::new(HardwareAddress::Ip), &mut wire, Instant::ZERO);
    stack.update_ip_addrs(|all| all.push(ip).unwrap());
    let [receive, send] = [WINDOW, room].map(|size| tcp::SocketBuffer::new(vec![0; size]));
    let mut sockets = SocketSet::new(vec![]);
    let socket = sockets.add(tcp::Socket::new(receive, send));
    Host(wire, stack, sockets, socket)
}

impl End for Host {
    fn act(&mut self, now: Time, send: &mut dyn FnMut(Packet, Vec<u8>)) {
        let socket = self.2.get_mut::<tcp::Socket>(self.3);
        let _ = socket.recv(|data| (data.len(), ()));
        let _ = socket.send(|room| (room.len(), ()));
        let now = Instant::from_micros(now.as_nanos() as i64 / 1000);
        self.1.poll(now, &mut self.0, &mut self.2);
        self.0.1.drain(..).for_each(|data| send(Packet::new(1, data.len() as u32), data));
    }
    fn receive(&mut self, _: Time, _: Packet, payload: Vec<u8>) {
        self.0.0.insert(0, payload);
    }
    fn timer(&mut self, now: Time) -> Option<Time> {
        let due = self.1.poll_at(Instant::from_micros(now.as_nanos() as i64 / 1000), &self.2)?;
        Some(Time::from_nanos(due.total_micros() as u64 * 1000))
    }
}

#[test]
fn a_flood_starves_an_upload_behind_drop_tail_but_not_behind_others() {
    let upload = |queue: &str| {
        let (mut client, mut server) = (host(1, WINDOW), host(2, 0));
        server.2.get_mut::<tcp::Socket>(server.3).listen(80).unwrap();
        let socket = client.2.get_mut::<tcp::Socket>(client.3);
        socket.connect(client.1.context(), (IpAddress::v4(10, 0, 0, 2), 80), 50_000).unwrap();
        beside_a_flood(queue, [client, server])
    };
    row("TCP, a window of 32 kB", upload);
}
