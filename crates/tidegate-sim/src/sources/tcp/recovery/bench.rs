//! A sender and a receiver for golden sequences of recovery.
use tidegate::{Rng, Time};

use crate::sources::tcp::report::Report;
use crate::sources::tcp::{AckArrival, Receiver, Tcp, TcpSender};

/// A sender and a receiver 100 ms apart there and back; the test decides what arrives.
pub(super) struct Bench {
    pub sender: TcpSender,
    pub receiver: Receiver,
    pub dice: Rng,
    pub now: u64,
}

impl Bench {
    /// With a window of `cwnd`, all of it sent at 0, in congestion avoidance; now it is 100 ms.
    pub fn avoiding(tcp: Tcp, cwnd: u32) -> Bench {
        let mut dice = Rng::from_seed(1);
        let tcp = Tcp { initial_window: cwnd as f64, ..tcp };
        let mut sender = TcpSender::new(&tcp, &mut dice);
        sender.connection.window.ssthresh = cwnd as f64;
        let mut out = Vec::new();
        sender.wake(Time::ZERO, &mut dice, &mut out);
        assert_eq!(out.len() as u32, cwnd);
        Bench { sender, receiver: Receiver::new(&tcp), dice, now: 100_000_000 }
    }

    /// `seq` has arrived and its acknowledgement comes back now: what is sent then.
    pub fn arrive(&mut self, seq: u32) -> Vec<u32> {
        self.come(seq, false)
    }

    /// The same, and it says that a mark has arrived.
    pub fn echo(&mut self, seq: u32) -> Vec<u32> {
        self.come(seq, true)
    }

    fn come(&mut self, seq: u32, echo: bool) -> Vec<u32> {
        let received = self.receiver.receive(seq, false, false);
        let report = self.receiver.report().unwrap_or(Report::plain(received.ack));
        let mut out = Vec::new();
        let answers = self.sender.connection.answered;
        let arrival = AckArrival { report: &report, echo, part: false, answers };
        self.sender.on_ack(Time::from_nanos(self.now), &arrival, &mut self.dice, &mut out);
        out.iter().map(|o| o.seq).collect()
    }

    /// The retransmission timer runs out: what is sent then.
    pub fn time_out(&mut self) -> Vec<u32> {
        let at = self.sender.timeout_at();
        self.now = at.as_nanos();
        let mut out = Vec::new();
        assert!(self.sender.timed_out(at, &mut self.dice, &mut out));
        out.iter().map(|o| o.seq).collect()
    }

    /// The same of each of `segments`.
    pub fn arrive_all(&mut self, segments: impl IntoIterator<Item = u32>) -> Vec<u32> {
        segments.into_iter().flat_map(|seq| self.arrive(seq)).collect()
    }
}
