//! Traffic sources, one file each.
use tidegate::{Bytes, ConfigError, Rate};

use crate::net::ids::FlowId;

mod cbr;
mod following;
mod law;
mod on_off;
mod open;
mod oscillating;
mod replay;
pub mod tcp;
mod tfrc;
mod web;

pub use cbr::Cbr;
pub use following::Following;
pub use law::Law;
pub use on_off::{Begin, OnOff};
pub(crate) use open::{Open, OpenPacket};
pub(crate) use oscillating::check_periods;
pub use oscillating::{Oscillating, Period};
pub use replay::{Arrival, Replay};
pub use tcp::{Acks, EcnUse, Flavor, Handshake, LimitedTransmit, Rules, Tcp, Timestamps};
pub use tfrc::{Damping, Tfrc, TfrcRules, Times};
pub(crate) use tfrc::{Feedback, TfrcArrival, TfrcReceiver, TfrcSender};
pub(crate) use web::Session;
pub use web::Web;

/// What a flow sends.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Source {
    /// A TCP connection with data to send.
    Tcp(Tcp),
    /// One TCP connection after the other, each for one object, with think times between them.
    Web(Web),
    /// Packets at a rate by TCP's throughput equation.
    Tfrc(Tfrc),
    /// Packets at a constant rate, whatever is lost.
    Cbr(Cbr),
    /// Packets at a constant rate while the congestion window of another flow is open wide.
    Following(Following),
    /// Packets at a constant rate during on periods of random length, silence between them.
    OnOff(OnOff),
    /// Packets at a rate that switches between two values on a timetable.
    Oscillating(Oscillating),
    /// Packets at listed times.
    Replay(Replay),
}

impl Source {
    /// Whether somebody answers it.
    pub fn is_answered(&self) -> bool {
        self.tcp().is_some() || matches!(self, Source::Tfrc(_))
    }

    /// The flow whose window it follows, if it follows one.
    pub(crate) fn follows(&self) -> Option<FlowId> {
        match self {
            Source::Following(source) => Some(source.follows),
            _ => None,
        }
    }

    /// The parameters of its connections, if it uses TCP.
    pub fn tcp(&self) -> Option<&Tcp> {
        match self {
            Source::Tcp(tcp) => Some(tcp),
            Source::Web(web) => Some(&web.tcp),
            Source::Tfrc(_)
            | Source::Cbr(_)
            | Source::Following(_)
            | Source::OnOff(_)
            | Source::Oscillating(_)
            | Source::Replay(_) => None,
        }
    }

    /// Checks its parameters.
    ///
    /// # Errors
    /// Names the parameter, its value and the bound.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self {
            Source::Tcp(tcp) => tcp.check(),
            Source::Web(web) => web.check(),
            Source::Tfrc(tfrc) => tfrc.check(),
            Source::Cbr(cbr) => cbr.check(),
            Source::Following(source) => source.check(),
            Source::OnOff(source) => source.check(),
            Source::Oscillating(source) => source.check(),
            Source::Replay(source) => source.check(),
        }
    }
}

fn check_rate(name: &str, rate: Rate) -> Result<(), ConfigError> {
    if rate.as_bps() == 0 || rate.as_bps() > 1_000_000_000_000_000 {
        return Err(ConfigError::new(name, rate, "must lie above 0 bit/s, up to 1 Pbit/s"));
    }
    Ok(())
}

fn check_packet(packet: Bytes) -> Result<(), ConfigError> {
    if !(1..=65_535).contains(&packet.get()) {
        return Err(ConfigError::new("packet", packet, "must lie in 1 B to 65535 B"));
    }
    Ok(())
}
