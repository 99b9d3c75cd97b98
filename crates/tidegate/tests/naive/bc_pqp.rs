//! BC-PQP read from its authors' public account of it (tahir2024), in whole bytes, written to be
//! plainly right: it makes every step and every turn.
//!
//! - Phantom queues hold bytes, no packets. A packet that fits its phantom queue is admitted, and
//!   its bytes are added there. Any other is dropped.
//! - They are served at a rate. Those with bytes take turns, as many bytes each. One that gets
//!   bytes while it has none goes behind all others. What nobody takes is saved, up to the burst.
//! - At the end of each window, every phantom queue is judged. Mode `growth`: it grew by more than
//!   θ times what it was served: it is filled up. It shrank by more than that: what filled it up is
//!   taken out again. Mode `share`: more than 1 + θ shares were admitted within the window: it is
//!   filled up at once. Less than 1 − θ at the end of a window in which it was not filled up: that
//!   is taken out again.
//! - After 64 windows without an arrival that found room everything is forgotten.
//!
//! The driver says to which phantom queue a packet belongs.
use std::collections::VecDeque;

/// When a phantom queue is filled up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    Off,
    Growth,
    Share,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NaivePhantom {
    pub size: u64,
    /// How much of that it was filled up with; it leaves last.
    pub magic: u64,
    /// Its size at the last window's end.
    pub before: u64,
    /// In this window, in bytes.
    pub served: u64,
    pub admitted: u64,
    pub filled: bool,
}

#[derive(Clone, Debug)]
pub struct NaiveBcPqp {
    /// Bit/s.
    pub rate: u64,
    pub limit: u64,
    pub burst: u64,
    /// Nanoseconds.
    pub window: u64,
    pub theta: f64,
    pub control: Control,
    pub quantum: Vec<u64>,
    pub phantoms: Vec<NaivePhantom>,
    pub turns: VecDeque<usize>,
    /// What the first may still take before it is the next one's turn.
    pub left: u64,
    pub saved: u64,
    pub now: u64,
    pub ends: u64,
    pub quiet: u32,
}

impl NaiveBcPqp {
    pub fn new(
        rate: u64,
        (limit, burst): (u64, u64),
        (window, theta, control): (u64, f64, Control),
        quantum: Vec<u64>,
    ) -> NaiveBcPqp {
        let phantoms = vec![NaivePhantom::default(); quantum.len()];
        NaiveBcPqp {
            rate,
            limit,
            burst,
            window,
            theta,
            control,
            quantum,
            phantoms,
            turns: VecDeque::new(),
            left: 0,
            saved: burst,
            now: 0,
            ends: window,
            quiet: 0,
        }
    }

    /// What is served from the beginning until `at`, if there always is something.
    fn earned(&self, at: u64) -> u128 {
        self.rate as u128 * at as u128 / 8_000_000_000
    }

    fn begin_turn(&mut self) {
        self.left = self.turns.front().map_or(0, |&first| self.quantum[first]);
    }

    fn serve(&mut self, until: u64) {
        let mut bytes = self.saved as u128 + self.earned(until) - self.earned(self.now);
        while bytes > 0
            && let Some(&first) = self.turns.front()
        {
            let phantom = &mut self.phantoms[first];
            let taken = phantom.size.min(self.left).min(bytes.min(u64::MAX as u128) as u64);
            phantom.size -= taken;
            phantom.magic = phantom.magic.min(phantom.size);
            phantom.served += taken;
            self.left -= taken;
            bytes -= taken as u128;
            if phantom.size == 0 {
                self.turns.pop_front();
                self.begin_turn();
            } else if self.left == 0 {
                self.turns.rotate_left(1);
                self.begin_turn();
            }
        }
        self.saved = bytes.min(self.burst as u128) as u64;
        self.now = until;
    }

    fn fill_up(&mut self, one: usize) {
        let phantom = &mut self.phantoms[one];
        phantom.magic += self.limit - phantom.size;
        phantom.size = self.limit;
    }

    fn take_out(&mut self, one: usize) {
        let phantom = &mut self.phantoms[one];
        let gone = phantom.magic.min(phantom.size);
        phantom.size -= gone;
        phantom.magic -= gone;
        if phantom.size == 0 && self.turns.contains(&one) {
            let was_first = self.turns.front() == Some(&one);
            self.turns.retain(|&other| other != one);
            if was_first {
                self.begin_turn();
            }
        }
    }

    /// What `one` may send in a window if all that have bytes always have.
    fn share(&self, one: usize) -> f64 {
        let all: u64 = self.turns.iter().map(|&other| self.quantum[other]).sum();
        let all = if self.turns.contains(&one) { all } else { all + self.quantum[one] };
        let window = self.rate as f64 / 8e9 * self.window as f64;
        window * self.quantum[one] as f64 / all as f64
    }

    fn window_ends(&mut self) {
        let shares: Vec<f64> = (0..self.phantoms.len()).map(|one| self.share(one)).collect();
        for (one, share) in shares.into_iter().enumerate() {
            let phantom = &self.phantoms[one];
            let grown = phantom.size as f64 - phantom.before as f64;
            let bound = self.theta * phantom.served as f64;
            match self.control {
                Control::Growth if grown > bound => self.fill_up(one),
                Control::Growth if grown < -bound => self.take_out(one),
                Control::Share
                    if !phantom.filled
                        && (phantom.admitted as f64) < (1.0 - self.theta) * share =>
                {
                    self.take_out(one)
                }
                _ => {}
            }
            let phantom = &mut self.phantoms[one];
            (phantom.before, phantom.served, phantom.admitted) = (phantom.size, 0, 0);
            phantom.filled = false;
        }
        self.quiet += 1;
        if self.quiet == 64 {
            self.phantoms.fill(NaivePhantom::default());
            self.turns.clear();
            self.saved = self.burst;
        }
    }

    pub fn catch_up(&mut self, now: u64) {
        while self.ends <= now {
            if self.quiet >= 64 {
                // There is nothing to judge until the last of these windows.
                self.ends += (now - self.ends) / self.window * self.window;
            }
            self.serve(self.ends);
            self.window_ends();
            self.ends += self.window;
        }
        self.serve(now);
    }

    /// Whether a packet that finds room is admitted.
    pub fn arrive(&mut self, now: u64, one: usize, len: u64) -> bool {
        self.catch_up(now);
        self.quiet = 0;
        if self.phantoms[one].size + len > self.limit {
            return false;
        }
        if self.phantoms[one].size == 0 && len > 0 {
            self.turns.push_back(one);
            if self.turns.len() == 1 {
                self.begin_turn();
            }
        }
        self.phantoms[one].size += len;
        self.phantoms[one].admitted += len;
        let admitted = self.phantoms[one].admitted as f64;
        if self.control == Control::Share
            && len > 0
            && admitted > (1.0 + self.theta) * self.share(one)
        {
            self.fill_up(one);
            (self.phantoms[one].admitted, self.phantoms[one].filled) = (0, true);
        }
        true
    }
}
