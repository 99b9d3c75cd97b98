//! ns-2's Vegas at a loss, where it departs from every other sender: what duplicates add stands in
//! the window itself and may stay there, and only the threshold says whether slow start is over.
use super::super::{Control, Found, Window};
use super::{LEAST, Sent, Vegas, WORRIED};
use crate::sources::tcp::Tcp;

impl Vegas {
    /// What depends on whose rules hold.
    pub fn begin(&mut self, tcp: &Tcp) {
        self.by_threshold = tcp.is_ns2_vegas();
    }
}

impl Window {
    /// New data are acknowledged after more than three duplicates: back to what the last cut has
    /// left. A timeout forgets that, and then nothing is left.
    pub fn vegas_settles(&mut self) {
        if let Control::Vegas(vegas) = &self.control
            && self.cwnd > vegas.left
        {
            (self.cwnd, self.ssthresh) = (vegas.left, LEAST);
        }
    }

    /// The first segment not acknowledged is taken for lost, be it outstanding or not; so many
    /// `duplicates` have come. How often it has been sent.
    pub fn vegas_loses(&mut self, found: Found, outstanding: bool, duplicates: u32) -> u32 {
        let window = self.segments();
        let Control::Vegas(vegas) = &mut self.control else { return 0 };
        let sent = vegas.log.get(found.una).filter(|_| outstanding);
        let times = sent.map_or(0, |sent| sent.times);
        vegas.fine.back_off(times);
        vegas.worried = WORRIED.min(found.flight + 1);
        if let Some(Sent { at, .. }) = sent
            && vegas.cut.is_none_or(|cut| cut < at)
        {
            vegas.cut = Some(found.now);
            vegas.left = Vegas::leaves(window as u64, times);
            self.cwnd = vegas.left + duplicates as f64;
        }
        times
    }
}
