//! The list of congestion controls: the setting [`Congestion`], and [`Control`], one of them at
//! work. A new control needs a line in `controls!` below.
use tidegate::config::{Param, Params};
use tidegate::{ConfigError, Rng, Span, Time};

use super::aimd::{Aimd, AimdParams};
use super::bbr::{Bbr, BbrParams};
use super::bbr3::{Bbr3, Bbr3Params};
use super::binomial::{Binomial, BinomialParams};
use super::cubic::{Cubic, CubicParams};
use super::dctcp::{Dctcp, DctcpParams};
use super::ledbat::{Ledbat, LedbatParams};
use super::prague::{Prague, PragueParams};
use super::reno::Reno;
use super::reno_num::{RenoNum, RenoNumParams};
use super::unresponsive::{Unresponsive, UnresponsiveParams};
use super::vegas::{Vegas, VegasParams};
use super::vegas_rem::{VegasRem, VegasRemParams};
use super::{
    Acked, CongestionControl, LossSignal, MarkFeedback, Needs, Pacing, RateNews, Sending, SynAck,
    VegasCut, VegasLoss,
};
use crate::sources::tcp::Tcp;

/// Lists the congestion controls beside Reno: name, variant, parameters. The first token is a
/// dollar sign, for the macro that it defines.
macro_rules! controls {
    ($d:tt $($(#[doc = $doc:literal])+ $name:literal => $variant:ident($params:ident)),+ $(,)?) => {
        /// How the congestion window grows and shrinks: the congestion control.
        #[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
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

            /// What it needs of the connection around it.
            pub(crate) const fn needs(&self) -> Needs {
                match self {
                    Congestion::Reno => Reno::NEEDS,
                    $(Congestion::$variant(_) => $variant::NEEDS,)+
                }
            }

            /// Checks the parameters: each within its bounds, and together.
            pub(in super::super) fn check(&self) -> Result<(), ConfigError> {
                match self {
                    Congestion::Reno => Ok(()),
                    $(Congestion::$variant(params) => {
                        Params::check(params)?;
                        $variant::check(params)
                    })+
                }
            }
        }

        /// A congestion control at work. Only Reno stands here itself, so that connections with it
        /// stay small.
        #[derive(Clone, Debug)]
        pub(super) enum Control {
            Reno(Reno),
            $($variant(Box<$variant>),)+
        }

        impl Control {
            /// That of a connection like `tcp`.
            pub fn new(tcp: &Tcp) -> Control {
                match &tcp.congestion {
                    Congestion::Reno => Control::Reno(Reno::new(&(), tcp)),
                    $(Congestion::$variant(params) => {
                        Control::$variant(Box::new($variant::new(params, tcp)))
                    })+
                }
            }
        }

        /// Does the same with whichever it is.
        macro_rules! with {
            ($d control:expr, $d name:ident => $d call:expr) => {
                match $d control {
                    Control::Reno($d name) => $d call,
                    $(Control::$variant($d name) => $d call,)+
                }
            };
        }
    };
}

controls! { $
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
    /// In proportion to the fraction of packets marked, for L4S
    /// (draft-briscoe-iccrg-prague-congestion-control-04); with selective acknowledgements.
    "prague" => Prague(PragueParams),
    /// By the delay that it adds, so that it yields (RFC 6817).
    "ledbat" => Ledbat(LedbatParams),
    /// By a model of the path, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00);
    /// with selective acknowledgements.
    "bbr" => Bbr(BbrParams),
    /// The same with bounds that losses teach it, version 3 (draft-ietf-ccwg-bbr-04); with
    /// selective acknowledgements.
    "bbr3" => Bbr3(Bbr3Params),
    /// At a fixed rate, whatever is lost or marked; with selective acknowledgements.
    "unresponsive" => Unresponsive(UnresponsiveParams),
}

impl Congestion {
    /// The one called `name`, with its defaults.
    pub fn named(name: &str) -> Option<Congestion> {
        Congestion::all().into_iter().find(|congestion| congestion.name() == name)
    }

    /// Whether it reads how many packets are marked, so that each acknowledgement is to tell of its
    /// own packet.
    pub const fn counts_marks(&self) -> bool {
        !matches!(self.needs().marks, MarkFeedback::OncePerRound)
    }
}

/// What [`CongestionControl`] asks, passed on.
impl Control {
    #[inline]
    pub fn on_ack(&mut self, cwnd: f64, ssthresh: &mut f64, ack: &Acked) -> f64 {
        with!(self, control => control.on_ack(cwnd, ssthresh, ack))
    }

    pub fn on_loss(&mut self, loss: &LossSignal) -> f64 {
        with!(self, control => control.on_loss(loss))
    }

    pub fn on_ecn(&mut self, loss: &LossSignal) -> f64 {
        with!(self, control => control.on_ecn(loss))
    }

    pub fn on_rto(&mut self, loss: &LossSignal) -> f64 {
        with!(self, control => control.on_rto(loss))
    }

    pub fn on_repeated_rto(&mut self) {
        with!(self, control => control.on_repeated_rto());
    }

    pub fn restart_window(&self) -> f64 {
        with!(self, control => control.restart_window())
    }

    #[inline]
    pub fn on_sent(&mut self, sending: &Sending) {
        with!(self, control => control.on_sent(sending));
    }

    #[inline(always)]
    pub fn on_every_ack(&mut self, ack: &Acked) {
        with!(self, control => control.on_every_ack(ack));
    }

    pub fn on_delay(&mut self, now: Time, delay: u32) {
        with!(self, control => control.on_delay(now, delay));
    }

    pub fn on_open(&mut self, ack: &Acked) -> SynAck {
        with!(self, control => control.on_open(ack))
    }

    pub fn on_sample(&mut self, cwnd: f64, news: &RateNews, dice: &mut Rng) -> f64 {
        with!(self, control => control.on_sample(cwnd, news, dice))
    }

    #[inline]
    pub fn pacing(&self) -> Option<Pacing> {
        with!(self, control => control.pacing())
    }

    pub fn min_rtt(&self) -> Span {
        with!(self, control => control.min_rtt())
    }

    pub fn holds_back(&self) -> bool {
        with!(self, control => control.holds_back())
    }

    pub fn is_overdue(&self, seq: u32, now: Time) -> bool {
        with!(self, control => control.is_overdue(seq, now))
    }

    #[inline]
    pub fn sees_another_hole(&mut self, una: u32, in_flight: bool, now: Time) -> bool {
        with!(self, control => control.sees_another_hole(una, in_flight, now))
    }

    pub fn on_vegas_loss(&mut self, loss: &VegasLoss) -> VegasCut {
        with!(self, control => control.on_vegas_loss(loss))
    }

    pub fn vegas_window(&self) -> Option<f64> {
        with!(self, control => control.vegas_window())
    }
}
