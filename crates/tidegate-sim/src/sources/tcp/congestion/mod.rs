//! The congestion window: how it grows, and what a loss, a timeout or an echoed mark does to it.
//! Each congestion control has a file of its own and a line in the list below.
use tidegate::config::{Param, Params};
use tidegate::{ConfigError, Rng, Span, Time};

use super::delivery::SegmentRate;
use super::{Rules, Tcp};

mod aggregation;
mod aimd;
mod bbr;
mod binomial;
mod cubic;
mod cubic_linux;
mod dctcp;
mod hystart;
mod hystart_linux;
mod marks;
mod reno;
mod reno_num;
mod unresponsive;
mod vegas;
mod vegas_rem;
mod whole;

use aimd::Aimd;
pub use aimd::{AimdParams, Share};
use bbr::Bbr;
pub use bbr::BbrParams;
pub(super) use bbr::{News, Repair};
use binomial::Binomial;
pub use binomial::{BinomialParams, Reading};
use cubic::Cubic;
pub use cubic::{CubicParams, FastConvergence, SlowStart};
use dctcp::Dctcp;
pub use dctcp::DctcpParams;
use reno::Reno;
use reno_num::RenoNum;
pub use reno_num::RenoNumParams;
use unresponsive::Unresponsive;
pub use unresponsive::UnresponsiveParams;
use vegas::Vegas;
pub use vegas::VegasParams;
use vegas_rem::VegasRem;
pub use vegas_rem::VegasRemParams;

/// What a congestion control decides. Windows are in segments.
trait Law {
    /// New data are acknowledged and recovery, if there was one, is over: the new window.
    fn acked(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64;

    /// What a loss leaves of the window that it is held against.
    fn lost(&mut self, loss: &Loss) -> f64;

    /// The same for an echoed mark.
    fn marked(&mut self, loss: &Loss) -> f64 {
        self.lost(loss)
    }

    /// The same for a timeout: where slow start will end.
    fn timed_out(&mut self, loss: &Loss) -> f64 {
        self.lost(loss)
    }

    /// A timeout that nothing is cut for: what is to be forgotten all the same.
    fn forget(&mut self) {}

    /// The window after a timeout.
    fn restart(&self) -> f64 {
        1.0
    }

    /// New data are acknowledged, be it in recovery, before anything else is made of it.
    fn heard(&mut self, _: &Acked) {}

    /// A SYN is acknowledged.
    fn opened(&mut self, _: &Acked) {}

    /// A segment is sent.
    fn sent(&mut self, _: &Sending) {}

    /// Whether `seq`, which is in flight, has been so for longer than it ever should.
    fn expired(&self, _seq: u32, _now: Time) -> bool {
        false
    }

    /// Whether an acknowledgement up to `una`, which is `in_flight` or not, shows another hole
    /// there, to be repaired at once.
    fn worried(&mut self, _una: u32, _in_flight: bool, _now: Time) -> bool {
        false
    }
}

/// Lists the congestion controls beside Reno: name, variant, parameters.
macro_rules! controls {
    ($($(#[doc = $doc:literal])+ $name:literal => $variant:ident($params:ident)),+ $(,)?) => {
        /// How the congestion window grows and shrinks: the congestion control.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub enum Congestion {
            /// One segment more in a round trip, half of them after a loss (RFC 5681).
            #[default]
            Reno,
            $($(#[doc = $doc])+ $variant($params),)+
        }

        impl Congestion {
            /// Each with its defaults.
            pub fn all() -> Vec<Congestion> {
                vec![Congestion::Reno, $(Congestion::$variant($params::default())),+]
            }

            /// Its name.
            pub const fn name(&self) -> &'static str {
                match self {
                    Congestion::Reno => "reno",
                    $(Congestion::$variant(_) => $name,)+
                }
            }

            /// Its parameters.
            pub const fn params(&self) -> &'static [Param] {
                match self {
                    Congestion::Reno => &[],
                    $(Congestion::$variant(_) => <$params as Params>::PARAMS,)+
                }
            }

            /// The parameter called `name` as text.
            pub fn get(&self, name: &str) -> Option<String> {
                match self {
                    Congestion::Reno => None,
                    $(Congestion::$variant(params) => params.get(name),)+
                }
            }

            /// Sets the parameter called `name` from text; on error nothing changes.
            ///
            /// # Errors
            /// An unknown parameter, a text that is no such value, a value out of bounds.
            pub fn set(&mut self, name: &str, text: &str) -> Result<(), ConfigError> {
                match self {
                    Congestion::Reno => Err(tidegate::config::unknown_param(name, text, &[])),
                    $(Congestion::$variant(params) => params.set(name, text),)+
                }
            }

            /// Whether each parameter is within its bounds.
            fn check_bounds(&self) -> Result<(), ConfigError> {
                match self {
                    Congestion::Reno => Ok(()),
                    $(Congestion::$variant(params) => Params::check(params),)+
                }
            }
        }

        /// A congestion control at work. What Reno has no need of stands elsewhere, so that its connections stay small.
        #[derive(Clone, Debug)]
        enum Control {
            Reno(Reno),
            $($variant(Box<$variant>),)+
        }

        impl Control {
            fn new(congestion: &Congestion, rules: Rules) -> Control {
                match congestion {
                    Congestion::Reno => Control::Reno(Reno::new(rules)),
                    $(Congestion::$variant(params) => Control::$variant(Box::new($variant::new(params))),)+
                }
            }
        }

        impl Law for Control {
            #[inline]
            fn acked(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
                match self {
                    Control::Reno(law) => law.acked(cwnd, ssthresh, ack),
                    $(Control::$variant(law) => law.acked(cwnd, ssthresh, ack),)+
                }
            }
            fn lost(&mut self, loss: &Loss) -> f64 {
                match self {
                    Control::Reno(law) => law.lost(loss),
                    $(Control::$variant(law) => law.lost(loss),)+
                }
            }
            fn marked(&mut self, loss: &Loss) -> f64 {
                match self {
                    Control::Reno(law) => law.marked(loss),
                    $(Control::$variant(law) => law.marked(loss),)+
                }
            }
            fn timed_out(&mut self, loss: &Loss) -> f64 {
                match self {
                    Control::Reno(law) => law.timed_out(loss),
                    $(Control::$variant(law) => law.timed_out(loss),)+
                }
            }
            fn forget(&mut self) {
                match self {
                    Control::Reno(law) => law.forget(),
                    $(Control::$variant(law) => law.forget(),)+
                }
            }
            fn restart(&self) -> f64 {
                match self {
                    Control::Reno(law) => law.restart(),
                    $(Control::$variant(law) => law.restart(),)+
                }
            }
            #[inline(always)]
            fn heard(&mut self, ack: &Acked) {
                match self {
                    Control::Reno(law) => law.heard(ack),
                    $(Control::$variant(law) => law.heard(ack),)+
                }
            }
            fn opened(&mut self, ack: &Acked) {
                match self {
                    Control::Reno(law) => law.opened(ack),
                    $(Control::$variant(law) => law.opened(ack),)+
                }
            }
            #[inline]
            fn sent(&mut self, sending: &Sending) {
                match self {
                    Control::Reno(law) => law.sent(sending),
                    $(Control::$variant(law) => law.sent(sending),)+
                }
            }
            fn expired(&self, seq: u32, now: Time) -> bool {
                match self {
                    Control::Reno(law) => law.expired(seq, now),
                    $(Control::$variant(law) => law.expired(seq, now),)+
                }
            }
            #[inline]
            fn worried(&mut self, una: u32, in_flight: bool, now: Time) -> bool {
                match self {
                    Control::Reno(law) => law.worried(una, in_flight, now),
                    $(Control::$variant(law) => law.worried(una, in_flight, now),)+
                }
            }
        }
    };
}

controls! {
    /// A cubic of the time since the last loss (RFC 9438).
    "cubic" => Cubic(CubicParams),
    /// Reno's with other steps (yang2000).
    "aimd" => Aimd(AimdParams),
    /// Steps that are powers of the window (bansal2001).
    "binomial" => Binomial(BinomialParams),
    /// By the number of its own packets that wait (brakmo1995).
    "vegas" => Vegas(VegasParams),
    /// Vegas with REM's price, as marks tell it, in place of the delay (low2003).
    "vegas_rem" => VegasRem(VegasRemParams),
    /// Reno as a law of rates, which answers every mark (low2003).
    "reno_num" => RenoNum(RenoNumParams),
    /// In proportion to the fraction of packets marked (RFC 8257).
    "dctcp" => Dctcp(DctcpParams),
    /// By a model of the path, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00); with selective acknowledgements.
    "bbr" => Bbr(BbrParams),
    /// At a fixed rate, whatever is lost or marked; with selective acknowledgements.
    "unresponsive" => Unresponsive(UnresponsiveParams),
}

impl Congestion {
    /// The one called `name`, with its defaults.
    pub fn named(name: &str) -> Option<Congestion> {
        Congestion::all().into_iter().find(|congestion| congestion.name() == name)
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.check_bounds()?;
        match self {
            Congestion::Binomial(params) => params.check_reading(),
            Congestion::Vegas(params) => params.check_order(),
            _ => Ok(()),
        }
    }

    /// Whether it reads how many packets are marked, so that each acknowledgement is to tell of its
    /// own packet.
    pub const fn counts_marks(&self) -> bool {
        matches!(self, Congestion::Dctcp(_) | Congestion::RenoNum(_) | Congestion::VegasRem(_))
    }
}

/// What an acknowledgement of new data tells a congestion control.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    pub now: Time,
    /// How many segments it acknowledges.
    pub segments: u32,
    /// The most of them that it may count for: [`Window::step`].
    pub step: u32,
    /// The smoothed round-trip time in nanoseconds, 0 before the first measurement.
    pub rtt: u64,
    /// When the segment was sent that it answers.
    pub sent: Time,
    /// The first segment not acknowledged now, the segment to send next, and one past the greatest
    /// sent.
    pub una: u32,
    pub next: u32,
    pub max: u32,
    /// Whether it echoes a mark.
    pub echo: bool,
}

impl Acked {
    /// For how many segments it opens a window that grows by so much for each.
    #[inline]
    fn counted(&self) -> f64 {
        self.segments.min(self.step) as f64
    }

    /// The round-trip time of the segment that it answers, in nanoseconds.
    fn sample(&self) -> u64 {
        self.now.since(self.sent).as_nanos()
    }
}

/// A segment that is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub now: Time,
    pub seq: u32,
    /// The first segment not acknowledged.
    pub una: u32,
    /// Whether it was sent before.
    pub again: bool,
}

/// What a loss, a mark or a timeout finds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub now: Time,
    /// The first segment not acknowledged.
    pub una: u32,
    /// How many segments are in flight.
    pub flight: u32,
}

/// What a congestion control is told of a loss, a mark or a timeout. Windows in segments.
#[derive(Clone, Copy, Debug)]
struct Loss {
    now: Time,
    /// The first segment not acknowledged: of a loss, the one that is lost.
    una: u32,
    cwnd: f64,
    /// The same with what fast recovery has added.
    inflated: f64,
    ssthresh: f64,
    /// The window that it is held against: by the RFCs what is in flight.
    found: f64,
}

impl Loss {
    /// The window that it is held against, with the fraction of a segment that what is in flight
    /// has not: for those who give up less than half of it.
    fn window(&self) -> f64 {
        if self.found >= (self.cwnd as u64) as f64 { self.cwnd } else { self.found }
    }

    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// The congestion window of one connection, in segments.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub cwnd: f64,
    pub ssthresh: f64,
    /// What fast recovery adds for segments that have left the network.
    pub inflation: u32,
    /// The receiver's window.
    most: u32,
    /// The most segments that one acknowledgement counts for, in the congestion controls that once
    /// counted acknowledgements.
    pub step: u32,
    rules: Rules,
    control: Control,
}

/// Where acknowledgements are delayed, one counts for at most two segments (RFC 3465 §2.2, L);
/// where none is, for one, however many a filled hole brings along (RFC 5681 §3.1).
const DELAYED_STEP: u32 = 2;

/// The least window after a halving, in segments (RFC 5681 eq. 4).
const LEAST: f64 = 2.0;

impl Window {
    pub fn new(tcp: &Tcp, cwnd: f64) -> Window {
        let mut control = Control::new(&tcp.congestion, tcp.rules);
        match (&mut control, &tcp.congestion) {
            (Control::Cubic(cubic), Congestion::Cubic(params)) => cubic.by(tcp.rules, params),
            (Control::Bbr(bbr), _) => bbr.begin(tcp),
            (Control::Vegas(vegas), _) => vegas.begin(tcp),
            (Control::Unresponsive(sender), _) => sender.begin(tcp),
            _ => {}
        }
        Window {
            cwnd,
            ssthresh: tcp.receiver_window as f64,
            inflation: 0,
            most: tcp.receiver_window,
            step: if tcp.delayed_ack > Span::ZERO { DELAYED_STEP } else { 1 },
            rules: tcp.rules,
            control,
        }
    }

    /// The congestion control that goes by a model of the path, if it is one, and not by losses and
    /// marks.
    fn bbr(&self) -> Option<&Bbr> {
        match &self.control {
            Control::Bbr(bbr) => Some(bbr),
            _ => None,
        }
    }

    /// Whether neither losses that acknowledgements tell of nor marks cut it.
    pub fn is_heedless(&self) -> bool {
        self.bbr().is_some() || self.never_waits()
    }

    /// Whether timeouts change nothing either, and are not backed off.
    pub fn never_waits(&self) -> bool {
        matches!(self.control, Control::Unresponsive(_))
    }

    /// The least round-trip time of its model, nothing before the first.
    pub fn least_rtt(&self) -> Span {
        self.bbr().map_or(Span::ZERO, Bbr::least)
    }

    /// Whether it holds data back to see the path empty.
    pub fn holds_back(&self) -> bool {
        self.bbr().is_some_and(Bbr::holds_back)
    }

    /// The pace at which segments leave and how many at a time, if it says.
    pub fn pace(&self) -> Option<(SegmentRate, u32)> {
        match &self.control {
            Control::Bbr(bbr) => Some(bbr.pace()),
            Control::Unresponsive(sender) => Some(sender.pace()),
            _ => None,
        }
    }

    /// The model takes in what an acknowledgement says.
    pub fn model(&mut self, news: &News, dice: &mut Rng) {
        if let Control::Bbr(bbr) = &mut self.control {
            self.cwnd = bbr.learn(self.cwnd, news, dice);
        }
    }

    /// How many segments may be in flight.
    #[inline]
    pub fn segments(&self) -> u32 {
        // A float beyond the integers becomes the greatest of them.
        (self.cwnd as u32).saturating_add(self.inflation).min(self.most)
    }

    /// The receiver's window.
    #[inline]
    pub fn most(&self) -> u32 {
        self.most
    }

    /// An acknowledgement of new data.
    #[inline(always)]
    pub fn grow(&mut self, ack: &Acked) {
        match &mut self.control {
            Control::Reno(reno) => self.cwnd = reno.acked(self.cwnd, &mut self.ssthresh, ack),
            // What the receiver does not let out cannot have been tried.
            control => {
                self.cwnd = control.acked(self.cwnd, &mut self.ssthresh, ack).min(self.most as f64)
            }
        }
    }

    /// An acknowledgement of new data has come, whatever else is made of it.
    #[inline(always)]
    pub fn heard(&mut self, ack: &Acked) {
        self.control.heard(ack);
    }

    /// The handshake is over: data may go, `initial` segments.
    pub fn open(&mut self, initial: f64, ack: &Acked) {
        self.cwnd = initial;
        match self.rules {
            Rules::Rfc | Rules::Linux => self.control.opened(ack),
            // There its acknowledgement is one as any other to Vegas.
            Rules::Ns2 if self.has_fine_timeout() => self.grow(ack),
            Rules::Ns2 | Rules::Ns1 => {}
        }
    }

    /// Whether marks are counted, and answered by how many there are.
    #[inline]
    pub fn answers_marks_itself(&self) -> bool {
        matches!(self.control, Control::RenoNum(_) | Control::VegasRem(_))
    }

    /// Whether it has a timeout finer than the sender's, by which a hole is repaired early.
    #[inline]
    pub fn has_fine_timeout(&self) -> bool {
        matches!(self.control, Control::Vegas(_))
    }

    /// A segment is sent.
    #[inline]
    pub fn sent(&mut self, sending: &Sending) {
        self.control.sent(sending);
    }

    /// Whether `seq`, which is in flight, has been so for longer than it ever should.
    pub fn expired(&self, seq: u32, now: Time) -> bool {
        self.control.expired(seq, now)
    }

    /// Whether an acknowledgement up to `una`, which is `in_flight` or not, shows another hole
    /// there, to be repaired at once.
    #[inline]
    pub fn worried(&mut self, una: u32, in_flight: bool, now: Time) -> bool {
        self.control.worried(una, in_flight, now)
    }

    fn loss(&self, found: Found) -> Loss {
        let Found { now, una, flight } = found;
        let found = match self.rules {
            Rules::Rfc => flight as f64,
            // A mark echoed as recovery ends finds the window still inflated.
            Rules::Ns2 => (self.cwnd + self.inflation as f64).min(self.most as f64),
            Rules::Linux => self.cwnd.min(self.most as f64),
            Rules::Ns1 => self.segments() as f64,
        };
        let inflated = self.cwnd + self.inflation as f64;
        Loss { now, una, cwnd: self.cwnd, inflated, ssthresh: self.ssthresh, found }
    }

    /// A loss.
    pub fn cut(&mut self, found: Found) {
        if self.is_heedless() {
            return; // a model is told with the acknowledgement
        }
        let loss = self.loss(found);
        let left = self.control.lost(&loss);
        self.reduce(left);
    }

    fn reduce(&mut self, left: f64) {
        match self.rules {
            Rules::Rfc | Rules::Linux => {
                self.ssthresh = left.max(LEAST);
                self.cwnd = self.ssthresh;
            }
            Rules::Ns2 => {
                self.ssthresh = ((left as u64) as f64).max(LEAST);
                self.cwnd = left;
            }
            Rules::Ns1 => {
                self.cwnd = (left as u64) as f64;
                self.ssthresh = self.cwnd.max(LEAST);
            }
        }
    }

    /// An echoed mark. From one segment the window falls below one (by ns-1's rules to none); by
    /// Linux's it does not fall below two.
    pub fn mark(&mut self, found: Found) {
        let loss = self.loss(found);
        let left = self.control.marked(&loss);
        match self.rules {
            Rules::Rfc => {
                self.ssthresh = left.max(LEAST);
                self.cwnd = if self.cwnd <= 1.0 { 0.5 } else { left.max(1.0) };
            }
            Rules::Linux | Rules::Ns2 | Rules::Ns1 => self.reduce(left),
        }
    }

    /// Whether it lies below one segment, so that nothing is sent before the timer runs out (RFC
    /// 3168 §6.1.2).
    #[inline]
    pub fn closed(&self) -> bool {
        self.cwnd < 1.0
    }

    /// A timeout: back to the least window. `first` says that the segment was not lost by timeout
    /// before (RFC 5681 §3.1 holds ssthresh otherwise), nor, by Linux's rules, cut for before.
    pub fn collapse(&mut self, found: Found, first: bool) {
        self.inflation = 0;
        let loss = self.loss(found);
        match self.rules {
            Rules::Rfc | Rules::Linux if first => {
                self.ssthresh = self.control.timed_out(&loss).max(LEAST)
            }
            Rules::Rfc => {}
            Rules::Linux => self.control.forget(),
            Rules::Ns2 | Rules::Ns1 => {
                self.ssthresh = ((self.control.timed_out(&loss) as u64) as f64).max(LEAST)
            }
        }
        self.restart();
    }

    /// The least window (Vegas's is two segments), and nothing added to it.
    pub fn restart(&mut self) {
        self.cwnd = self.control.restart();
        self.inflation = 0;
    }

    /// A partial acknowledgement of `acked` segments: the window shrinks by them and grows by one
    /// (RFC 6582 §3.2 step 5).
    pub fn deflate(&mut self, acked: u32) {
        if self.inflation > acked {
            self.inflation -= acked - 1;
        } else {
            self.cwnd = (self.cwnd - (acked - self.inflation) as f64).max(1.0);
            self.inflation = 1;
        }
    }

    /// Fast recovery is over.
    pub fn recovered(&mut self) {
        self.inflation = 0;
        if !self.rules.is_ns() && !self.is_heedless() {
            self.cwnd = self.ssthresh;
        }
    }
}

/// What tests of single controls begin with.
#[cfg(test)]
mod bench {
    use super::*;

    /// An acknowledgement of one segment after a round trip of 100 ms.
    pub fn ack() -> Acked {
        let now = Time::from_nanos(1_000_000_000);
        Acked {
            now,
            segments: 1,
            step: 1,
            rtt: 100_000_000,
            sent: Time::from_nanos(900_000_000),
            una: 1,
            next: 1,
            max: 1,
            echo: false,
        }
    }

    /// A loss that finds a window of `cwnd`, all of it in flight.
    pub fn loss(cwnd: f64, ssthresh: f64) -> Loss {
        Loss { now: ack().now, una: 0, cwnd, inflated: cwnd, ssthresh, found: cwnd }
    }
}
