//! What sends: one file a source.
use tidegate::ConfigError;

mod cbr;
mod law;
pub mod tcp;

pub use cbr::Cbr;
pub(crate) use cbr::CbrSender;
pub use law::Law;
pub use tcp::{EcnUse, Flavor, Handshake, LimitedTransmit, Rules, Tcp};

/// What a flow sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A TCP connection with data to send.
    Tcp(Tcp),
    /// Packets at a constant rate, heedless of loss.
    Cbr(Cbr),
}

impl Source {
    /// Whether its parameters can be.
    ///
    /// # Errors
    /// Names the parameter, its value and the bound.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self {
            Source::Tcp(tcp) => tcp.check(),
            Source::Cbr(cbr) => cbr.check(),
        }
    }
}
