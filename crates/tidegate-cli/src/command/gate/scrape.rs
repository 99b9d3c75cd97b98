//! `--metrics`: where the figures are served to be scraped, and for whom.
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;

use tidegate::ConfigError;
use tidegate::units::UnitError;
use tidegate_gateway::watch::metrics::Pages;
use tidegate_gateway::watch::metrics::serve::{Limits, Listener};
use tidegate_gateway::watch::snapshot::Snapshot;

use super::notes::Pen;
use crate::failure::Failure;

/// An address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(SocketAddr);

impl FromStr for Address {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Address, UnitError> {
        let why = "must be an address and a port, as in 127.0.0.1:9465 or [::1]:9465";
        text.parse().map(Address).map_err(|_| UnitError { text: text.into(), why: why.into() })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where the figures are to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metrics {
    address: Address,
}

impl Metrics {
    /// At `address`; if others than this machine can reach that, they must be meant to: `public`.
    ///
    /// # Errors
    /// They are not.
    pub fn new(address: Address, public: bool) -> Result<Metrics, ConfigError> {
        if public || address.0.ip().is_loopback() {
            Ok(Metrics { address })
        } else {
            let why = "others can reach this address, and nobody is asked for a password \
                    there; take 127.0.0.1, or \
                           say metrics_public (--metrics-public) if it is meant";
            Err(ConfigError::new("metrics", address, why))
        }
    }

    /// What whoever starts it is to know, if there is something.
    fn warning(&self) -> Option<String> {
        let address = self.address;
        (!address.0.ip().is_loopback()).then(|| {
            format!(
                "warning: whoever reaches {address} can read how the gate is; nothing is \
                encrypted, nobody asked"
            )
        })
    }

    /// Takes the address and gives it back. That it is taken is well if it is `theirs`.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn try_out(&self, theirs: impl Fn(&io::Error) -> bool) -> Result<(), Failure> {
        match Listener::bind(self.address.0) {
            Err(error) if !theirs(&error) => Err(self.failed(error)),
            _ => Ok(()),
        }
    }

    fn failed(&self, error: io::Error) -> Failure {
        Failure::Runtime(format!("metrics at {}: {error}", self.address))
    }

    /// Takes the address; `pen` warns if others can reach it.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn listen(&self, pen: &Pen) -> Result<Listener, Failure> {
        if let Some(warning) = self.warning() {
            pen.note(warning);
        }
        Listener::bind(self.address.0).map_err(|error| self.failed(error))
    }
}

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.address.fmt(f)
    }
}

/// Serves what `snapshot` says by `listener`, as long as the process lives.
///
/// # Errors
/// The system refuses a thread.
pub fn serve(
    listener: Listener,
    snapshot: impl Fn() -> Snapshot + Send + Sync + 'static,
) -> Result<(), Failure> {
    let pages = Pages::default();
    let page = move || pages.page(snapshot());
    listener.serve(Arc::new(page), Limits::default()).map_err(Failure::runtime)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(address: &str, public: bool) -> Result<Metrics, String> {
        Metrics::new(address.parse().unwrap(), public).map_err(|error| error.to_string())
    }

    #[test]
    fn only_this_machine_is_served_unless_others_are_meant() {
        for address in ["127.0.0.1:9465", "127.9.9.9:1", "[::1]:9465"] {
            let metrics = metrics(address, false).unwrap();
            assert_eq!((metrics.warning(), metrics.to_string()), (None, address.to_string()));
        }
        for address in ["0.0.0.0:9465", "192.0.2.1:80", "[::]:9465", "[2001:db8::1]:9465"] {
            let told = metrics(address, false).unwrap_err();
            assert!(
                told.starts_with(&format!("metrics = {address}"))
                    && told.contains("metrics_public"),
                "{told}"
            );
            let warning = metrics(address, true).unwrap().warning().unwrap();
            assert!(
                warning.contains(address) && warning.contains("nothing is encrypted"),
                "{warning}"
            );
        }
    }

    #[test]
    fn an_address_has_a_port() {
        for text in ["localhost:9465", "127.0.0.1", ":9465", "9465", "127.0.0.1:70000", ""] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(error.why.contains("as in 127.0.0.1:9465") && error.text == text);
        }
    }
}
