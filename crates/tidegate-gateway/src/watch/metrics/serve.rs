//! One page over HTTP, `/metrics`, for whoever scrapes it.
//!
//! Hyper speaks HTTP: it is well kept, and it bounds how long a request's head is and how long it
//! may take. What needs no runtime, such as tiny_http, has not been released since 2022 and bounds
//! neither these nor the number of connections.
//!
//! Any local user can connect, so places are never kept for those who came first. Each connection
//! is accepted at once. When all places are taken, the oldest connection that has not asked for
//! anything must go. A scraper sends its request as it connects, so it has been answered before as
//! many others as there are places have come behind it.
use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use std::{io, thread};

use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use nix::sys::socket::{Backlog, listen};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{sleep, timeout};

/// Where the page is.
pub const PATH: &str = "/metrics";
/// What the page is (OpenMetrics 1.0, "Content Negotiation").
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// What everything else is.
const PLAIN: &str = "text/plain; charset=utf-8";
/// How long a request's head may be, in bytes; hyper takes no less.
const HEAD: usize = 8192;
/// How many connections the kernel keeps until we take them: who comes when all are taken knocks
/// again a second later.
const KNOCKING: i32 = 1024;
/// The memory of the thread that serves, in bytes.
const STACK: usize = 256 * 1024;

/// Writes the page anew.
pub type Page = dyn Fn() -> String + Send + Sync;

/// What those who ask are granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections that are served at once; of more, the oldest that has not asked yet is ended,
    /// or else the oldest.
    pub at_once: usize,
    /// How long a request's head may take.
    pub head: Duration,
    /// How long a connection may last, whatever it does.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { at_once: 64, head: Duration::from_secs(1), patience: Duration::from_secs(5) }
    }
}

/// An address that is ours.
#[derive(Debug)]
pub struct Listener(std::net::TcpListener);

impl Listener {
    /// Takes `address`; connections wait from here on.
    ///
    /// # Errors
    /// It is another's, or not of this machine.
    pub fn bind(address: SocketAddr) -> io::Result<Listener> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        listen(&listener, Backlog::new(KNOCKING)?)?;
        Ok(Listener(listener))
    }

    /// The address, with the port that the system chose if none was said.
    ///
    /// # Errors
    /// The system does not know it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Serves `page` from here on by a thread of its own, as long as the process lives.
    ///
    /// # Errors
    /// The system refuses a thread or what it waits with.
    pub fn serve(self, page: Arc<Page>, limits: Limits) -> io::Result<()> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(self.0)?
        };
        let work = move || runtime.block_on(accept(listener, page, limits));
        thread::Builder::new().name("metrics".into()).stack_size(STACK).spawn(work).map(drop)
    }
}

/// A connection that is served.
struct Guest {
    task: JoinHandle<()>,
    /// Whether its request has come.
    asked: Arc<AtomicBool>,
}

/// Takes connections, no more at once than there are places.
async fn accept(listener: TcpListener, page: Arc<Page>, limits: Limits) {
    let mut guests = VecDeque::with_capacity(limits.at_once);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                guests.retain(|guest: &Guest| !guest.task.is_finished());
                make_room(&mut guests, limits.at_once);
                guests.push_back(receive(stream, page.clone(), limits));
                // So that who has just come is heard before the next is let in.
                yield_now().await;
            }
            // Whoever asked has gone already, or there is no descriptor left; the latter passes, if
            // at all, with time.
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Ends connections until there is a place for another among `places`.
fn make_room(guests: &mut VecDeque<Guest>, places: usize) {
    while guests.len() >= places.max(1) {
        let silent = guests.iter().position(|guest| !guest.asked.load(Relaxed));
        if let Some(guest) = guests.remove(silent.unwrap_or(0)) {
            guest.task.abort();
        }
    }
}

fn receive(stream: TcpStream, page: Arc<Page>, limits: Limits) -> Guest {
    let asked = Arc::new(AtomicBool::new(false));
    let heard = asked.clone();
    let task = tokio::spawn(async move {
        // Who is not done by then has gone, or means no good.
        let _ = timeout(limits.patience, converse(stream, page, heard, limits.head)).await;
    });
    Guest { task, asked }
}

/// Answers what is asked on a connection, once.
async fn converse(stream: TcpStream, page: Arc<Page>, asked: Arc<AtomicBool>, head: Duration) {
    let service = service_fn(|request: Request<Incoming>| {
        asked.store(true, Relaxed);
        let response = answer(&request, &*page);
        async { Ok::<_, Infallible>(response) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head).keep_alive(false).max_buf_size(HEAD);
    // An error is the other side's: it has gone, or speaks no HTTP, which hyper has told it.
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}

fn answer<B>(request: &Request<B>, page: &Page) -> Response<String> {
    let said = |status, text: &str| (status, PLAIN, format!("{text}\n"));
    let (status, kind, text) = match (request.uri().path(), request.method()) {
        (PATH, &Method::GET) => (StatusCode::OK, OPEN_METRICS, page()),
        (PATH, _) => said(StatusCode::METHOD_NOT_ALLOWED, "only GET"),
        _ => said(StatusCode::NOT_FOUND, "what there is to see is at /metrics"),
    };
    let mut response = Response::new(text);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
    }
    response
}
