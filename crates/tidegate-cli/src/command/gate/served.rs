//! `--metrics` and `--web`: what is served over HTTP, where, and for whom.
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::str::FromStr;

use tidegate::ConfigError;
use tidegate::units::UnitError;
use tidegate_gateway::watch::http::Listener;

use super::notes::NoteWriter;
use crate::failure::Failure;

/// An address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPort(SocketAddr);

impl FromStr for HostPort {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<HostPort, UnitError> {
        let why = "must be an address and a port, as in 127.0.0.1:9465 or [::1]:9465";
        text.parse().map(HostPort).map_err(|_| UnitError { text: text.into(), why: why.into() })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What there is to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServeTarget {
    /// Figures to be scraped.
    Metrics,
    /// The page in a browser.
    Web,
}

impl ServeTarget {
    /// Its key in a gate's file, and its option.
    pub const fn key(self) -> &'static str {
        match self {
            ServeTarget::Metrics => "metrics",
            ServeTarget::Web => "web",
        }
    }

    /// The key that says whether others may reach it. Its option has a hyphen.
    pub const fn public_key(self) -> &'static str {
        match self {
            ServeTarget::Metrics => "metrics_public",
            ServeTarget::Web => "web_public",
        }
    }
}

/// Something that is to be served at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    what: ServeTarget,
    address: HostPort,
}

impl Served {
    /// At `address`; if others than this machine can reach that, they must be meant to: `public`.
    ///
    /// # Errors
    /// They are not.
    pub fn new(what: ServeTarget, address: HostPort, public: bool) -> Result<Served, ConfigError> {
        if public || address.0.ip().is_loopback() {
            return Ok(Served { what, address });
        }
        let key = what.public_key();
        let why = format!(
            "others can reach this address, and nobody is asked for a password there; take \
             127.0.0.1, or say {key} (--{}) if it is meant",
            key.replace('_', "-")
        );
        Err(ConfigError::new(what.key(), address, why))
    }

    /// Its key in a gate's file.
    pub const fn key(&self) -> &'static str {
        self.what.key()
    }

    /// A warning for the user who starts it, if there is one.
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
        let why = match error.kind() {
            io::ErrorKind::AddrInUse => "another process listens there; take another port",
            io::ErrorKind::AddrNotAvailable => "this machine has no such address",
            io::ErrorKind::PermissionDenied => "take a port from 1024 on",
            _ => "nothing was changed",
        };
        Failure::Input(format!("{} at {}: {error}: {why}", self.what.key(), self.address))
    }

    /// Takes the address. `pen` warns if others can reach it, and says where the page is.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn listen(&self, pen: &NoteWriter) -> Result<Listener, Failure> {
        let listener = Listener::bind(self.address.0).map_err(|error| self.failed(error))?;
        if let Some(warning) = self.warning() {
            pen.note(warning);
        }
        if self.what == ServeTarget::Web {
            let address = listener.address().map_err(Failure::runtime)?;
            pen.note(format!("watch it at http://{address}/"));
        }
        Ok(listener)
    }
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.address.fmt(f)
    }
}

/// All that is served over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http<T = Served> {
    /// Figures to be scraped.
    pub metrics: Option<T>,
    /// The page in a browser.
    pub web: Option<T>,
}

impl<T> Default for Http<T> {
    fn default() -> Http<T> {
        Http { metrics: None, web: None }
    }
}

impl Http {
    /// What there is, in the order of the keys.
    pub fn all(self) -> impl Iterator<Item = Served> {
        self.metrics.into_iter().chain(self.web)
    }

    /// This, and where it has nothing `other`.
    ///
    /// # Errors
    /// Both of them at one address.
    pub fn or(self, other: Http) -> Result<Http, ConfigError> {
        let Http { metrics, web } =
            Http { metrics: self.metrics.or(other.metrics), web: self.web.or(other.web) };
        match (metrics, web) {
            (Some(one), Some(two)) if one.address == two.address && one.address.0.port() != 0 => {
                let why = "is the address of metrics; take another port";
                Err(ConfigError::new(ServeTarget::Web.key(), two.address, why))
            }
            _ => Ok(Http { metrics, web }),
        }
    }

    /// Takes all addresses; `pen` says what is to be said of them.
    ///
    /// # Errors
    /// One cannot be had.
    pub fn listen(self, pen: &NoteWriter) -> Result<Http<Listener>, Failure> {
        let of = |served: Option<Served>| served.map(|served| served.listen(pen)).transpose();
        Ok(Http { metrics: of(self.metrics)?, web: of(self.web)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(what: ServeTarget, address: &str, public: bool) -> Result<Served, String> {
        Served::new(what, address.parse().unwrap(), public).map_err(|error| error.to_string())
    }

    #[test]
    fn only_this_machine_is_served_unless_others_are_meant() {
        for what in [ServeTarget::Metrics, ServeTarget::Web] {
            for address in ["127.0.0.1:9465", "127.9.9.9:1", "[::1]:9465"] {
                let served = served(what, address, false).unwrap();
                assert_eq!((served.warning(), served.to_string()), (None, address.to_string()));
            }
            for address in ["0.0.0.0:9465", "192.0.2.1:80", "[::]:9465", "[2001:db8::1]:9465"] {
                let told = served(what, address, false).unwrap_err();
                let begins = told.starts_with(&format!("{} = {address}", what.key()));
                assert!(begins && told.contains(what.public_key()), "{told}");
                let warning = served(what, address, true).unwrap().warning().unwrap();
                assert!(
                    warning.contains(address) && warning.contains("nothing is encrypted"),
                    "{warning}"
                );
            }
        }
    }

    #[test]
    fn an_address_has_a_port() {
        for text in ["localhost:9465", "127.0.0.1", ":9465", "9465", "127.0.0.1:70000", ""] {
            let error = text.parse::<HostPort>().unwrap_err();
            assert!(error.why.contains("as in 127.0.0.1:9465") && error.text == text);
        }
    }

    #[test]
    fn the_command_line_comes_before_the_file_and_no_address_is_taken_twice() {
        let of = |what, address| served(what, address, false).ok();
        let (one, two) = ("127.0.0.1:9465", "127.0.0.1:9466");
        let file = Http { metrics: of(ServeTarget::Metrics, one), web: of(ServeTarget::Web, two) };
        assert_eq!(Http::default().or(file), Ok(file));
        let web = Http { metrics: None, web: of(ServeTarget::Web, "[::1]:9466") };
        assert_eq!(web.or(file), Ok(Http { metrics: file.metrics, ..web }));
        let same = Http { metrics: None, web: of(ServeTarget::Web, one) };
        let told = same.or(file).unwrap_err().to_string();
        assert!(told.starts_with("web = 127.0.0.1:9465: is the address of metrics"), "{told}");
    }
}
