//! HTTP that serves `/metrics` and the page in a browser.
//!
//! Hyper speaks HTTP: it is well kept, and it bounds how long a request's head is and how long it
//! may take. What needs no runtime, such as tiny_http, has not been released since 2022 and bounds
//! neither these nor the number of connections.
//!
//! Any local user can connect, so places are never kept for those who came first. Each connection
//! is accepted at once. When all places are taken, a connection that has not asked for anything
//! must go: the oldest of the address that has most of these. So who comes from elsewhere is never
//! sent away for a crowd from one address. At one address, a scraper sends its request as it
//! connects, so it is mostly answered before as many others as there are places have come behind
//! it.
//!
//! A body may be a stream that goes on. Its connection lasts as long as the other side reads.
use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{io, thread};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use nix::sys::socket::{Backlog, listen};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::Receiver;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{sleep, timeout};

/// What is a text and nothing else.
const PLAIN: &str = "text/plain; charset=utf-8";
/// How long a request's head may be, in bytes; hyper takes no less.
const HEAD: usize = 8192;
/// How many connections the kernel keeps until we take them: who comes when all are taken knocks
/// again a second later.
const KNOCKING: i32 = 1024;
/// The memory of the thread that serves, in bytes.
const STACK: usize = 256 * 1024;

/// Answers requests.
pub type Site = dyn Fn(&Request<Incoming>) -> Response<Content> + Send + Sync;

/// What an answer holds.
#[derive(Debug)]
pub enum Content {
    /// All of it.
    Whole(Bytes),
    /// What comes piece by piece, until the other end is dropped.
    Stream(Receiver<Bytes>),
}

/// An answer with a text of the media type `kind`.
pub fn said(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Response<Content> {
    let mut response = Response::new(Content::Whole(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A refusal that says `why`.
pub fn refused(status: StatusCode, why: &str) -> Response<Content> {
    said(status, PLAIN, format!("{why}\n"))
}

/// What is said to any method but GET.
pub fn only_get() -> Response<Content> {
    let mut response = refused(StatusCode::METHOD_NOT_ALLOWED, "only GET");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
    response
}

/// What those who ask are granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections that are served at once. Of more, one that has not asked yet is ended, the
    /// oldest of the address that has most of these; or else one that has no stream; or else any.
    pub at_once: usize,
    /// How long a request's head may take.
    pub head: Duration,
    /// How long a connection may last, whatever it does; of a stream, how long it may take nothing
    /// of what there is for it.
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

    /// Serves `site` from here on by a thread called `name`, as long as the process lives.
    ///
    /// # Errors
    /// The system refuses a thread or what it waits with.
    pub fn serve(self, name: &str, site: Arc<Site>, limits: Limits) -> io::Result<()> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(self.0)?
        };
        let work = move || runtime.block_on(accept(listener, site, limits));
        thread::Builder::new().name(name.into()).stack_size(STACK).spawn(work).map(drop)
    }
}

/// A connection that is served.
struct Guest {
    task: JoinHandle<()>,
    seen: Arc<SeenConnection>,
    home: IpAddr,
}

/// What was seen of a connection.
#[derive(Debug, Default)]
struct SeenConnection {
    /// Its request has come.
    asked: AtomicBool,
    /// It was given a stream.
    streams: AtomicBool,
    /// It has taken a piece of that since this was last looked at.
    taken: AtomicBool,
}

/// Takes connections, no more at once than there are places.
async fn accept(listener: TcpListener, site: Arc<Site>, limits: Limits) {
    let mut guests = VecDeque::with_capacity(limits.at_once);
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                guests.retain(|guest: &Guest| !guest.task.is_finished());
                make_room(&mut guests, limits.at_once);
                guests.push_back(receive(stream, home(from.ip()), site.clone(), limits));
                // So that who has just come is heard before the next is let in.
                yield_now().await;
            }
            // Whoever asked has gone already, or there is no descriptor left; the latter passes, if
            // at all, with time.
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Ends connections until there is a place for another among `places`: first of those who have not
/// asked, then of those who have no stream.
fn make_room(guests: &mut VecDeque<Guest>, places: usize) {
    while guests.len() >= places.max(1) {
        let leaves = oldest_of_most(guests, |guest| !guest.seen.asked.load(Relaxed))
            .or_else(|| oldest_of_most(guests, |guest| !guest.seen.streams.load(Relaxed)))
            .or_else(|| oldest_of_most(guests, |_| true));
        if let Some(guest) = leaves.and_then(|place| guests.remove(place)) {
            guest.task.abort();
        }
    }
}

/// Of the guests that `may` go, the oldest of the address that has most of them.
fn oldest_of_most(guests: &VecDeque<Guest>, may: impl Fn(&Guest) -> bool) -> Option<usize> {
    let mut homes: HashMap<IpAddr, (usize, Reverse<usize>)> = HashMap::new();
    for (place, guest) in guests.iter().enumerate().filter(|(_, guest)| may(guest)) {
        homes.entry(guest.home).or_insert((0, Reverse(place))).0 += 1;
    }
    homes.into_values().max().map(|(_, Reverse(place))| place)
}

/// The address that a guest is known by: a network may give a host of IPv6 all addresses with the
/// same 64 leading bits.
fn home(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
        v4 @ IpAddr::V4(_) => v4,
    }
}

fn receive(stream: TcpStream, home: IpAddr, site: Arc<Site>, limits: Limits) -> Guest {
    let seen = Arc::new(SeenConnection::default());
    let task = tokio::spawn(converse(stream, site, seen.clone(), limits));
    Guest { task, seen, home }
}

/// Answers what is asked on a connection, once.
async fn converse(stream: TcpStream, site: Arc<Site>, seen: Arc<SeenConnection>, limits: Limits) {
    let service = service_fn(|request: Request<Incoming>| {
        seen.asked.store(true, Relaxed);
        let response = site(&request).map(|content| SentContent { content, seen: seen.clone() });
        seen.streams.store(matches!(response.body().content, Content::Stream(_)), Relaxed);
        async { Ok::<_, Infallible>(response) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head);
    http.keep_alive(false).max_buf_size(HEAD);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    // An error is the other side's: it has gone, or speaks no HTTP, which hyper has told it. Who is
    // not done in time, and takes nothing of a stream, has gone or means no good.
    while timeout(limits.patience, connection.as_mut()).await.is_err() {
        if !seen.taken.swap(false, Relaxed) {
            return;
        }
    }
}

/// Content that is sent, and whether the client takes it.
struct SentContent {
    content: Content,
    seen: Arc<SeenConnection>,
}

impl Body for SentContent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = match &mut self.content {
            Content::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Content::Whole(bytes) => Poll::Ready(Some(std::mem::take(bytes))),
            Content::Stream(pieces) => pieces.poll_recv(context),
        };
        if matches!((&self.content, &piece), (Content::Stream(_), Poll::Ready(Some(_)))) {
            self.seen.taken.store(true, Relaxed);
        }
        piece.map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.content, Content::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Stream(_) => SizeHint::default(),
        }
    }
}
