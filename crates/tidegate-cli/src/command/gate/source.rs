//! What a gate's file says, and what of it cannot change while gates run.
use std::path::PathBuf;

use tidegate_gateway::watch::socket::SocketPath;
use tidegate_lab::{Problem, Problems};

use super::link::LinkConfig;
use super::served::Http;
use crate::failure::Failure;

/// What gates are to do.
#[derive(Clone, Debug)]
pub struct Config {
    /// The links.
    pub links: Vec<LinkConfig>,
    /// The file that says so; none for the command line.
    pub source: Option<GateFile>,
}

/// A file that says what gates are to do, and what it says of all of them.
#[derive(Clone, Debug)]
pub struct GateFile {
    /// Where it is.
    pub path: PathBuf,
    /// Where the socket is to be, if there is to be one.
    pub socket: Option<SocketPath>,
    /// What is to be served over HTTP.
    pub http: Http,
    /// Where each of [`FIXED`] stands, or the beginning of the file.
    pub places: [tidegate_lab::Place; FIXED.len()],
}

/// Keys of the file that cannot change while gates run.
pub const FIXED: [&str; 3] = ["socket", "metrics", "web"];

impl GateFile {
    /// Whether what gates that run cannot change is as in `old`.
    ///
    /// # Errors
    /// What is not.
    pub fn may_follow(&self, old: &GateFile) -> Result<(), Failure> {
        let told = |of: &GateFile| {
            [
                of.socket.as_ref().map(SocketPath::to_string),
                of.http.metrics.map(|served| served.to_string()),
                of.http.web.map(|served| served.to_string()),
            ]
        };
        let mut all =
            FIXED.into_iter().zip(&self.places).zip(told(self).into_iter().zip(told(old)));
        let Some(((field, place), (now, _))) = all.find(|(_, (now, before))| now != before) else {
            return Ok(());
        };
        let why = "cannot be otherwise while the gate runs; end it and start it anew".into();
        let (place, field, value) = (place.clone(), field.into(), now.unwrap_or("none".into()));
        Err(Failure::input(Problems::one(Problem { place, field, value, why })))
    }
}
