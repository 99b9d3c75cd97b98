//! The page on which a gate that runs can be watched in a browser.
//!
//! The page and all that it needs are part of the program, so that it works without any other
//! network. It receives the gate's state once a second, by server-sent events. A new page first
//! receives how the last minutes were.
//!
//! | event | what it holds |
//! |---|---|
//! | `past` | a list of [points](past), of the last minutes |
//! | `now` | `snapshot`, the `rates` of the second before it, and its `point` |
//! | `away` | nothing: newer pages have all places |
//! | `end` | nothing: the gate ends |
//!
//! It can only be read. Any local user can read it, as `/metrics`. Pages of other sites cannot: who
//! asks must call us by an address, which a name that an attacker owns is not (DNS rebinding).
mod events;
mod past;

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hyper::header::{HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use crate::watch::http::{Content, Limits, Listener, only_get, refused, said};
use crate::watch::snapshot::Snapshot;

use events::Events;

/// Where the events are.
pub const EVENTS: &str = "/events";
/// The media type of events.
const EVENT_STREAM: &str = "text/event-stream";
const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The page and what it loads: where each file is, what it is, and itself. What it shares with the
/// page where one can play lies there.
const FILES: [(&str, &str, &str); 6] = [
    ("/", HTML, include_str!("../../web/index.html")),
    ("/play.css", CSS, include_str!("../../../../docs/play/play.css")),
    ("/gate.css", CSS, include_str!("../../web/gate.css")),
    ("/charts.js", SCRIPT, include_str!("../../../../docs/play/charts.js")),
    ("/view.js", SCRIPT, include_str!("../../web/view.js")),
    ("/gate.js", SCRIPT, include_str!("../../web/gate.js")),
];

/// What every answer asks of a browser: to load nothing from elsewhere, to let nobody show the page
/// within another, and to keep nothing.
const CARE: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// How much watchers may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatcherLimits {
    /// Pages that are served at once; of more, the oldest is sent away.
    pub pages: usize,
    /// How often they get an event.
    pub every: Duration,
    /// How many points of the past are kept.
    pub points: usize,
    /// How long all of these may be together, in bytes.
    pub bytes: usize,
    /// What connections are granted.
    pub limits: Limits,
}

impl Default for WatcherLimits {
    fn default() -> WatcherLimits {
        WatcherLimits {
            pages: 16,
            every: Duration::from_secs(1),
            points: 300,
            bytes: 2 << 20,
            limits: Limits::default(),
        }
    }
}

/// How long the end waits for pages to hear of it.
const FAREWELL: Duration = Duration::from_millis(200);

/// A page that is served. When this is dropped, those who watch hear that the gate has ended.
#[derive(Debug)]
pub struct WebPage {
    ends: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl WebPage {
    /// Serves the page by `listener`; `snapshot` says how the gate is.
    ///
    /// # Errors
    /// The system refuses a thread or what it waits with.
    pub fn serve(
        listener: Listener,
        snapshot: impl Fn() -> Snapshot + Send + 'static,
        bounds: WatcherLimits,
    ) -> io::Result<WebPage> {
        let events = Arc::new(Events::new(bounds));
        events.tell(snapshot());
        let served = events.clone();
        let site = Arc::new(move |request: &Request<_>| answer(request, &served));
        listener.serve("web", site, bounds.limits)?;
        let (ends, ended) = channel();
        let work = move || {
            while ended.recv_timeout(bounds.every) == Err(RecvTimeoutError::Timeout) {
                events.tell(snapshot());
            }
            events.end(FAREWELL);
        };
        let thread = thread::Builder::new().name("events".into()).spawn(work)?;
        Ok(WebPage { ends: Some(ends), thread: Some(thread) })
    }
}

impl Drop for WebPage {
    fn drop(&mut self) {
        drop(self.ends.take());
        // It ends within a moment; if it panicked, that was told.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn answer<B>(request: &Request<B>, events: &Events) -> Response<Content> {
    let path = request.uri().path();
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let file = FILES.iter().find(|(at, ..)| *at == path);
    let mut response = if !host.is_some_and(is_address) {
        refused(StatusCode::MISDIRECTED_REQUEST, "ask by an address, or by localhost")
    } else if file.is_none() && path != EVENTS {
        refused(StatusCode::NOT_FOUND, "the page is at /")
    } else if request.method() != Method::GET {
        only_get()
    } else if let Some(&(_, kind, text)) = file {
        said(StatusCode::OK, kind, text)
    } else {
        let stream = said(StatusCode::OK, EVENT_STREAM, "");
        stream.map(|_| Content::Stream(events.open()))
    };
    for (name, value) in CARE {
        let (name, value) = (HeaderName::from_static(name), HeaderValue::from_static(value));
        response.headers_mut().insert(name, value);
    }
    response
}

/// Whether `host` is an address or `localhost`, with a port or without: nobody but us owns these.
fn is_address(host: &str) -> bool {
    let port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let name = match host.rsplit_once(':') {
        Some((name, digits)) if port(digits) => name,
        _ => host,
    };
    let six = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    name.eq_ignore_ascii_case("localhost") || six.unwrap_or(name).parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_an_address_or_this_machine() {
        for host in
            ["127.0.0.1:9466", "127.0.0.1", "[::1]:9466", "[::1]", "localhost:9466", "LocalHost"]
        {
            assert!(is_address(host), "{host}");
        }
        for host in ["", "evil.example", "evil.example:9466", "127.0.0.1.evil.example:9466", ":1"] {
            assert!(!is_address(host), "{host}");
        }
        for host in ["localhost.evil.example", "127.0.0.1@evil.example", "[::1", "localhost:x"] {
            assert!(!is_address(host), "{host}");
        }
    }
}
