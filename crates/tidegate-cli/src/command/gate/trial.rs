//! What a dry run tries beyond the interfaces: the places at which a start would put its socket,
//! its page and its captures.
use std::io::{self, ErrorKind};
use std::path::Path;

use tidegate_gateway::watch::record::Recorder;
use tidegate_gateway::watch::socket::Socket;

use super::link::LinkConfig;
use super::run::capture_of_now;
use super::served::Http;
use crate::failure::Failure;

/// Who may have the places already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceHolder {
    /// Nobody.
    Nobody,
    /// A gate that runs and holds the interfaces: the places may be its own.
    Gate,
}

/// The places of all links together.
#[derive(Clone, Copy, Debug)]
pub struct WatchPlaces<'a> {
    /// Where clients connect to learn how things stand.
    pub socket: Option<&'a Path>,
    /// What to serve over HTTP.
    pub http: Http,
}

impl WatchPlaces<'_> {
    /// Tries what a start of `links` would put at these places and at their own, and leaves nothing
    /// behind.
    ///
    /// # Errors
    /// As those of the start.
    pub fn try_out<'l>(
        &self,
        links: impl IntoIterator<Item = &'l LinkConfig>,
        beside: PlaceHolder,
    ) -> Result<(), Failure> {
        let taken = |error: &io::Error| {
            matches!(error.kind(), ErrorKind::AddrInUse | ErrorKind::AlreadyExists)
        };
        let theirs = |error: &io::Error| beside == PlaceHolder::Gate && taken(error);
        if let Some(Err(error)) = self.socket.map(Socket::try_out)
            && !theirs(&error)
        {
            return Err(Failure::runtime(error));
        }
        self.http.all().try_for_each(|served| served.try_out(theirs))?;
        for (path, _) in links.into_iter().filter_map(|link| link.record.as_ref()) {
            if let Err(error) = Recorder::try_out(&capture_of_now(path))
                && !theirs(&error)
            {
                return Err(Failure::Input(format!("{}: {error}", path.display())));
            }
        }
        Ok(())
    }

    /// Them as pairs of a name and a text, like the plan's.
    pub fn lines(&self) -> Vec<(String, String)> {
        let socket = self.socket.map(|path| ("socket".into(), path.display().to_string()));
        let http = self.http.all().map(|served| (served.key().into(), served.to_string()));
        socket.into_iter().chain(http).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::served::{ServeTarget, Served};
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    fn tried(socket: Option<&Path>, http: Option<Http>, beside: PlaceHolder) -> Result<(), String> {
        let http = http.unwrap_or_default();
        WatchPlaces { socket, http }.try_out([], beside).map_err(Failure::why)
    }

    #[test]
    fn places_that_are_taken_are_in_the_way_unless_a_gate_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let [own, taken] = ["new/gate.sock", "taken.sock"].map(|name| folder.path().join(name));
        let _listener = UnixListener::bind(&taken).unwrap();
        assert_eq!(tried(Some(&own), None, PlaceHolder::Nobody), Ok(()));
        assert!(!own.parent().unwrap().exists(), "nothing is left");
        assert!(
            tried(Some(&taken), None, PlaceHolder::Nobody)
                .unwrap_err()
                .contains("somebody listens there already")
        );
        assert_eq!(tried(Some(&taken), None, PlaceHolder::Gate), Ok(()));
        for beside in [PlaceHolder::Nobody, PlaceHolder::Gate] {
            let nowhere = folder.path().join("no/such/gate.sock");
            assert!(tried(Some(&nowhere), None, beside).unwrap_err().contains("try mkdir -p"));
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = port.local_addr().unwrap().to_string();
        let web = Served::new(ServeTarget::Web, address.parse().unwrap(), false).ok();
        let http = Http { web, ..Http::default() };
        assert!(
            tried(None, Some(http), PlaceHolder::Nobody)
                .unwrap_err()
                .starts_with(&format!("web at {address}: "))
        );
        assert_eq!(tried(None, Some(http), PlaceHolder::Gate), Ok(()));
    }
}
