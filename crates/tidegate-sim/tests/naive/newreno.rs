//! The plain NewReno sender of ns-2.35, in floats, from the facts in `validation/ns2.md`. It is
//! the oracle for ours: too simple to be wrong, and held against recorded runs of ns-2 itself.

/// Clock tick of the RTT samples, in seconds.
const TICK: f64 = 0.01;

/// A sender. After each call, `out` holds the packets to send now and `deadline` when to call
/// `expire`.
pub struct Sender {
    pub out: Vec<i64>,
    pub deadline: Option<f64>,
    cwnd: f64,
    ssthresh: f64,
    initial_window: f64,
    /// Inflation of the window in fast recovery, in packets.
    inflation: i64,
    duplicates: i64,
    recovering: bool,
    partial_seen: bool,
    /// Next packet to send, last one acknowledged, highest one sent (-1: none; 0 is the SYN).
    next: i64,
    last: i64,
    highest: i64,
    recover: i64,
    /// The packet being timed and when it was sent, and the highest ever timed.
    timed: Option<(i64, f64)>,
    timed_last: (i64, f64),
    /// In 1/8 and 1/4 ticks.
    srtt: i64,
    rttvar: i64,
    rto: f64,
    backoff: i64,
    /// Where in a tick this connection's clock started, in seconds.
    phase: f64,
}

impl Sender {
    pub fn new(phase: f64) -> Sender {
        Sender {
            out: vec![],
            deadline: None,
            cwnd: 1.0,
            ssthresh: 10_000.0,
            initial_window: 2.0,
            inflation: 0,
            duplicates: 0,
            recovering: false,
            partial_seen: false,
            next: 0,
            last: -1,
            highest: -1,
            recover: 0,
            timed: None,
            timed_last: (-1, 0.0),
            srtt: 0,
            rttvar: 0,
            rto: 3.0,
            backoff: 1,
            phase,
        }
    }

    /// Sends what the window allows.
    pub fn send_window(&mut self, now: f64) {
        while self.next <= self.last + (self.cwnd as i64 + self.inflation).min(10_000) {
            self.send(now, self.next);
            self.next += 1;
        }
    }

    /// The acknowledgement of everything up to packet `number`.
    pub fn ack(&mut self, now: f64, number: i64) {
        if number < self.last {
            return;
        } else if number == self.last {
            self.duplicate(now);
        } else if self.recovering && number < self.recover {
            self.partial(now, number);
        } else {
            self.new_ack(now, number);
        }
        if self.duplicates == 0 || self.duplicates > 2 {
            self.send_window(now);
        }
    }

    /// The retransmission timer ran out.
    pub fn expire(&mut self, now: f64) {
        (self.inflation, self.duplicates, self.recovering) = (0, 0, false);
        self.recover = self.highest;
        if self.last == -1 {
            self.initial_window = 1.0;
        }
        self.halve();
        self.cwnd = 1.0;
        if self.backoff < 64 || self.timeout() < 60.0 {
            self.backoff *= 2;
        }
        if self.backoff > 8 {
            self.rttvar += self.srtt >> 3;
            self.srtt = 0;
        }
        self.restart_timer(now);
        self.next = self.last + 1;
        self.timed = None;
        self.send_window(now);
    }

    fn new_ack(&mut self, now: f64, number: i64) {
        (self.inflation, self.duplicates) = (0, 0);
        (self.recovering, self.partial_seen) = (false, false);
        self.last = number;
        self.next = self.next.max(number + 1);
        if let Some((_, sent)) = self.timed.take_if(|(timed, _)| *timed <= number) {
            self.backoff = 1;
            self.sample(now, sent);
        }
        self.restart_timer(now);
        self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
        if number == 0 {
            self.cwnd = self.initial_window;
        }
    }

    fn partial(&mut self, now: f64, number: i64) {
        if !self.partial_seen {
            self.restart_timer(now);
        }
        self.partial_seen = true;
        let acked = number - self.last;
        if self.inflation > acked {
            self.inflation -= acked - 1;
        } else {
            self.cwnd = (self.cwnd - (acked - self.inflation) as f64).max(1.0);
            self.inflation = 1;
        }
        self.last = number;
        self.next = self.next.max(number + 1);
        if self.timed.take_if(|(timed, _)| *timed <= number).is_some() {
            self.backoff = 1;
        }
        self.send(now, number + 1);
    }

    fn duplicate(&mut self, now: f64) {
        self.duplicates += 1;
        match self.duplicates {
            1 | 2 if self.next as f64 <= self.last as f64 + self.cwnd + self.duplicates as f64 => {
                self.send(now, self.next);
                self.next += 1;
            }
            3 if self.last > self.recover || self.last == 0 => {
                self.recover = self.highest;
                self.restart_timer(now);
                self.timed = None;
                self.recovering = true;
                self.cwnd = self.halve();
                self.send(now, self.last + 1);
                self.inflation = 3;
            }
            4.. if self.recovering => self.inflation += 1,
            _ => {}
        }
    }

    /// Sets ssthresh; returns half the window.
    fn halve(&mut self) -> f64 {
        let half = (self.cwnd + self.inflation as f64) / 2.0;
        self.ssthresh = half.floor().max(2.0);
        half
    }

    fn send(&mut self, now: f64, number: i64) {
        self.out.push(number);
        let all_acked = self.last == self.highest;
        if number > self.highest {
            self.highest = number;
            if self.timed.is_none() {
                if number > self.timed_last.0 {
                    self.timed_last = (number, now);
                }
                self.timed = Some(self.timed_last);
            }
        }
        if all_acked || self.deadline.is_none() {
            self.restart_timer(now);
        }
    }

    fn restart_timer(&mut self, now: f64) {
        self.deadline = Some(now + self.timeout());
    }

    fn timeout(&self) -> f64 {
        (self.rto.max(0.2) * self.backoff as f64).min(60.0)
    }

    fn sample(&mut self, now: f64, sent: f64) {
        let ticks = (((now - sent + (sent + self.phase) % TICK) / TICK) as i64).max(1);
        if self.srtt == 0 {
            (self.srtt, self.rttvar) = (ticks << 3, ticks << 1);
        } else {
            let error = ticks - (self.srtt >> 3);
            self.srtt = (self.srtt + error).max(1);
            self.rttvar = (self.rttvar + error.abs() - (self.rttvar >> 2)).max(1);
        }
        self.rto = (((self.rttvar << 3) + self.srtt) >> 3) as f64 * TICK;
    }
}
