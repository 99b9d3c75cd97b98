//! When each segment in flight was sent, and how often.
use tidegate::Time;

use super::Sending;

/// When a segment was last sent, and how many times it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LastSent {
    pub at: Time,
    pub times: u32,
}

/// When the segments in flight were sent, each at its number modulo the length.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    sent: Vec<LastSent>,
}

impl Log {
    fn place(&self, seq: u32) -> usize {
        seq as usize & self.sent.len().wrapping_sub(1)
    }

    pub fn get(&self, seq: u32) -> Option<LastSent> {
        self.sent.get(self.place(seq)).copied().filter(|sent| sent.times > 0)
    }

    /// `seq` is sent, and nothing below `una` is in flight.
    pub fn on_sent(&mut self, sending: &Sending) {
        let Sending { now, seq, una, again } = *sending;
        if (seq - una) as usize >= self.sent.len() {
            self.widen(seq, una);
        }
        let place = self.place(seq);
        let times = if again { self.sent[place].times + 1 } else { 1 };
        self.sent[place] = LastSent { at: now, times };
    }

    /// Makes room up to `seq`; the receiver's window bounds it.
    #[cold]
    fn widen(&mut self, seq: u32, una: u32) {
        let old = std::mem::take(self);
        self.sent = vec![LastSent::default(); (seq - una + 1).next_power_of_two().max(16) as usize];
        for known in (una..seq).take(old.sent.len()) {
            let place = self.place(known);
            self.sent[place] = old.sent[old.place(known)];
        }
    }
}
