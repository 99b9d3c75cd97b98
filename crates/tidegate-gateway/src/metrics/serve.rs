//! One page over HTTP, `/metrics`, for whoever scrapes it.
//!
//! Hyper speaks HTTP: it is well kept, and it bounds how long a request's head is and how long it may take. What needs no
//! runtime, such as tiny_http, has not been released since 2022 and bounds neither these nor the number of connections.
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Where the page is.
pub const PATH: &str = "/metrics";
/// What the page is (OpenMetrics 1.0, "Content Negotiation").
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// What everything else is.
const PLAIN: &str = "text/plain; charset=utf-8";
/// How long a request's head may be, in bytes; hyper takes no less.
const HEAD: usize = 8192;
/// The memory of the thread that serves, in bytes.
const STACK: usize = 256 * 1024;

/// Writes the page anew.
pub type Page = dyn Fn() -> String + Send + Sync;

/// What those who ask are granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections that are served at once; others wait in the kernel, which keeps few.
    pub at_once: usize,
    /// How long a connection may last, whatever it does.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { at_once: 8, patience: Duration::from_secs(5) }
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
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(self.0)?
        };
        let work = move || runtime.block_on(accept(listener, page, limits));
        thread::Builder::new().name("metrics".into()).stack_size(STACK).spawn(work).map(drop)
    }
}

/// Takes connections, no more at once than there are places.
async fn accept(listener: TcpListener, page: Arc<Page>, limits: Limits) {
    let room = Arc::new(Semaphore::new(limits.at_once));
    while let Ok(place) = room.clone().acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let page = page.clone();
                tokio::spawn(async move {
                    let _place = place;
                    // Who is not done by then has gone, or means no good.
                    let _ = timeout(limits.patience, converse(stream, page)).await;
                });
            }
            // Whoever asked has gone already, or there is no descriptor left; the latter passes, if at all, with time.
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Answers what is asked on a connection, once.
async fn converse(stream: TcpStream, page: Arc<Page>) {
    let service = service_fn(|request: Request<Incoming>| {
        let response = answer(&request, &*page);
        async { Ok::<_, Infallible>(response) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).keep_alive(false).max_buf_size(HEAD);
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
