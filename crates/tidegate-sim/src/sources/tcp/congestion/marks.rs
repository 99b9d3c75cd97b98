//! Marks, counted round trip by round trip, for those who read how many there are.
use super::{Acked, LossSignal};

/// The acknowledgements of one round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Segments acknowledged, and those of them whose acknowledgement echoes a mark.
    pub acked: u32,
    pub marked: u32,
    /// The round trip ends with the acknowledgement of this segment.
    pub end: u32,
}

impl Marks {
    /// Counts an acknowledgement; the counts of a round trip if it is over.
    pub fn count(&mut self, ack: &Acked) -> Option<Marks> {
        self.acked += ack.segments;
        self.marked += if ack.echo { ack.segments } else { 0 };
        if ack.una <= self.end {
            return None;
        }
        let whole = *self;
        *self = Marks { acked: 0, marked: 0, end: ack.max };
        Some(whole)
    }

    /// The fraction that is marked.
    pub fn fraction(&self) -> f64 {
        self.marked as f64 / self.acked.max(1) as f64
    }
}

/// The schedule of a window that the marks of each round trip set. Slow start, its end with the
/// first mark or loss, and what a loss leaves are Reno's.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    marks: Marks,
    /// What the last round trip was, until it is answered.
    round: Option<Marks>,
    searching: bool,
}

/// What an acknowledgement asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkTurn {
    /// To grow as in slow start.
    Search,
    /// To answer a round trip that is over.
    Answer(Marks),
    /// Nothing.
    Wait,
}

impl Rounds {
    pub fn new() -> Rounds {
        Rounds { marks: Marks::default(), round: None, searching: true }
    }

    /// Before [`CongestionControl::on_ack`](super::CongestionControl::on_ack) changes the window:
    /// whose turn it is.
    pub fn turn(&mut self, cwnd: f64, ssthresh: f64) -> MarkTurn {
        let round = self.round.take();
        self.searching &= cwnd < ssthresh && round.is_none_or(|round| round.marked == 0);
        match round {
            _ if self.searching => MarkTurn::Search,
            Some(round) => MarkTurn::Answer(round),
            None => MarkTurn::Wait,
        }
    }

    pub fn on_loss(&mut self, loss: &LossSignal) -> f64 {
        self.searching = false;
        loss.found / 2.0
    }

    pub fn on_rto(&mut self, loss: &LossSignal) -> f64 {
        self.searching = true;
        loss.found / 2.0
    }

    pub fn on_every_ack(&mut self, ack: &Acked) {
        self.round = self.marks.count(ack).or(self.round);
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::ack;
    use super::*;

    /// Of a window of four, the second and third marked; then one acknowledgement for all four of
    /// the next.
    #[test]
    fn a_round_trip_ends_with_what_was_sent_when_it_began() {
        let mut marks = Marks::default();
        let told = |marks: &mut Marks, una, max, segments, echo| {
            marks.count(&Acked { una, max, segments, echo, ..ack() }).map(|m| (m.acked, m.marked))
        };
        assert_eq!(
            told(&mut marks, 1, 4, 1, false),
            Some((1, 0)),
            "nothing was sent when the first began"
        );
        assert_eq!(told(&mut marks, 2, 5, 1, true), None);
        assert_eq!(told(&mut marks, 3, 6, 1, true), None);
        assert_eq!(told(&mut marks, 4, 7, 1, false), None);
        assert_eq!(told(&mut marks, 5, 8, 1, false), Some((4, 2)));
        assert_eq!(told(&mut marks, 9, 12, 4, true), Some((4, 4)));
    }
}
