//! A QUIC upload (quinn-proto) beside a flood.
use quinn_proto::rustls::{RootCertStore, pki_types::PrivatePkcs8KeyDer};
use quinn_proto::{DatagramEvent as Came, *};
use std::time::{Duration, Instant};
use std::{error::Error, iter::from_fn, mem::take, sync::Arc};
use tidegate::{Ecn, Packet, Span, Time};
use tidegate_examples::{End, beside_a_flood, row};

const HEADERS: usize = 28; // IPv4 and UDP
const PEER: ([u8; 4], u16) = ([10, 0, 0, 1], 443);

struct Host {
    endpoint: Endpoint,
    quic: Option<(ConnectionHandle, Connection)>,
    stream: Option<StreamId>,
    start: Instant,
}

impl End for Host {
    fn act(&mut self, now: Time, send: &mut dyn FnMut(Packet, Vec<u8>)) {
        let now = self.start + Duration::from(now.since(Time::ZERO));
        let Some((handle, quic)) = &mut self.quic else { return };
        if quic.poll_timeout().is_some_and(|due| due <= now) {
            quic.handle_timeout(now);
        }
        if quic.side().is_client() {
            self.stream = self.stream.or_else(|| quic.streams().open(Dir::Uni));
            while self.stream.is_some_and(|id| quic.send_stream(id).write(&[0; 4096]).is_ok()) {}
        }
        let mut data = vec![];
        while let Some(sent) = quic.poll_transmit(now, 1, &mut data) {
            let ecn = Ecn::from_bits(sent.ecn.map_or(0, |ecn| ecn as u8));
            send(Packet::new(1, (data.len() + HEADERS) as u32).with_ecn(ecn), take(&mut data));
        }
        while quic.poll().is_some() {}
        let events: Vec<_> = from_fn(|| quic.poll_endpoint_events()).collect();
        let answers = events.into_iter().filter_map(|e| self.endpoint.handle_event(*handle, e));
        answers.for_each(|answer| quic.handle_event(answer));
    }

    fn receive(&mut self, now: Time, packet: Packet, payload: Vec<u8>) {
        let now = self.start + Duration::from(now.since(Time::ZERO));
        let (ecn, data) = (EcnCodepoint::from_bits(packet.ecn as u8), payload.as_slice().into());
        let (endpoint, out) = (&mut self.endpoint, &mut vec![]);
        match endpoint.handle(now, PEER.into(), None, ecn, data, out) {
            Some(Came::NewConnection(new)) => self.quic = endpoint.accept(new, now, out, None).ok(),
            Some(Came::ConnectionEvent(_, e)) => self.quic.as_mut().unwrap().1.handle_event(e),
            _ => {}
        }
    }

    fn timer(&mut self, _: Time) -> Option<Time> {
        let due = self.quic.as_mut()?.1.poll_timeout()?;
        Some(Time::ZERO + Span::from(due - self.start))
    }
}

fn upload(queue: &str) -> Result<f64, Box<dyn Error>> {
    let own = rcgen::generate_simple_self_signed(["host".into()])?;
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()).into();
    let mut server = ServerConfig::with_single_cert(vec![own.cert.der().clone()], key)?;
    let mut window = TransportConfig::default();
    server.transport = Arc::new(take(window.stream_receive_window(VarInt::MAX))); // Nobody reads.
    let (mut roots, start) = (RootCertStore::empty(), Instant::now());
    roots.add(own.cert.der().clone())?;
    let client = ClientConfig::with_root_certificates(Arc::new(roots))?;
    let mut ends = [None, Some(Arc::new(server))].map(|server| {
        let endpoint = Endpoint::new(Default::default(), server, true, None);
        Host { endpoint, quic: None, stream: None, start }
    });
    ends[0].quic = Some(ends[0].endpoint.connect(start, client, PEER.into(), "host")?);
    beside_a_flood(queue, ends)
}

#[test]
fn a_flood_starves_an_upload_behind_drop_tail_but_not_behind_others() {
    row("QUIC", upload);
}
