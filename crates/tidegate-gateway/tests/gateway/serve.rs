//! The page that is scraped: who gets it, who does not, and that nobody can keep it from others for
//! long.
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, socket};
use tidegate_gateway::watch::http::{Limits, Listener};
use tidegate_gateway::watch::metrics::site;

/// Serves `page` at a port that the system chooses.
fn serve(page: impl Fn() -> String + Send + Sync + 'static, limits: Limits) -> SocketAddr {
    let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = listener.address().unwrap();
    listener.serve("metrics", site(page), limits).unwrap();
    address
}

/// A busy machine may take its time to answer; nobody else is kept waiting by that here.
fn patient() -> Limits {
    let long = Duration::from_secs(60);
    Limits { head: long, patience: long, ..Limits::default() }
}

/// What is answered to `request`, until the connection ends.
fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut answer = String::new();
    // If it was ended in the midst of it, what came until then is the answer.
    let _ = stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_string(&mut answer));
    answer
}

fn get(address: SocketAddr, path: &str) -> String {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n"))
}

/// The status, the head's lines, and the body.
fn parts(answer: &str) -> (u16, Vec<String>, &str) {
    let (head, body) =
        answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {answer:?}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    (status, lines.map(str::to_lowercase).collect(), body)
}

#[test]
fn the_page_is_written_anew_for_each_who_asks() {
    let asked = AtomicU64::new(0);
    let address = serve(move || format!("page {}\n", asked.fetch_add(1, Relaxed)), patient());
    for turn in 0..20 {
        let answer = get(address, if turn % 2 == 0 { "/metrics" } else { "/metrics?from=here" });
        let (status, head, body) = parts(&answer);
        assert_eq!((status, body), (200, &*format!("page {turn}\n")));
        let kind =
            "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8".to_string();
        assert!(
            head.contains(&kind) && head.contains(&"connection: close".to_string()),
            "{answer}"
        );
    }
}

#[test]
fn there_is_one_page_and_it_can_only_be_read() {
    let address = serve(|| "page\n".into(), patient());
    for path in ["/", "/metrics/", "/metrics/x", "/METRICS", "/../etc/passwd", "//metrics"] {
        assert_eq!(parts(&get(address, path)).0, 404, "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "HEAD"] {
        let answer = ask(
            address,
            &format!("{method} /metrics HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\n\r\n"),
        );
        let (status, head, _) = parts(&answer);
        assert!(status == 405 && head.contains(&"allow: get".to_string()), "{answer}");
    }
    assert_eq!(parts(&ask(address, "what is this\r\n\r\n")).0, 400);
    let long = format!("GET /metrics HTTP/1.1\r\nHost: here\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    let answer = ask(address, &long);
    assert!(!answer.contains("page"), "a head of 20 kB was read: {answer}");
    assert_eq!(parts(&get(address, "/metrics")).2, "page\n", "nothing of that hurts");
}

/// Whether the other side has ended it.
fn is_over(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.read(&mut [0; 16]).is_ok_and(|read| read == 0)
}

#[test]
fn who_says_nothing_takes_one_place_and_loses_it_to_the_next_or_in_time() {
    let address = serve(|| "page\n".into(), Limits { at_once: 2, ..patient() });
    let [mut first, mut second] = [0, 1].map(|_| TcpStream::connect(address).unwrap());
    assert_eq!(parts(&get(address, "/metrics")).2, "page\n");
    assert!(is_over(&mut first), "the oldest was shown out");
    // The other still has its place, and its turn.
    second.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    let mut answer = String::new();
    second.read_to_string(&mut answer).unwrap();
    assert_eq!(parts(&answer).2, "page\n");
    // Nobody else needs the place here.
    let address =
        serve(|| "page\n".into(), Limits { head: Duration::from_millis(200), ..patient() });
    let mut silent = TcpStream::connect(address).unwrap();
    assert!(is_over(&mut silent));
    let address =
        serve(|| "page\n".into(), Limits { patience: Duration::from_millis(200), ..patient() });
    let mut slow = TcpStream::connect(address).unwrap();
    slow.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
    assert!(is_over(&mut slow));
}

const SECOND: Duration = Duration::from_secs(1);

/// Scrapes ten times. Each must take less than `most`.
fn scrape_in_time(address: SocketAddr, most: Duration, beside: &str) {
    for _ in 0..10 {
        let begun = Instant::now();
        assert_eq!(parts(&get(address, "/metrics")).2, "page\n");
        let took = begun.elapsed();
        assert!(took < most, "a scrape took {took:?} beside {beside}");
    }
}

#[test]
fn a_thousand_idle_connections_keep_nobody_waiting() {
    let address = serve(|| "page\n".into(), Limits::default());
    let mut idle: Vec<TcpStream> =
        (0..1000).map(|_| TcpStream::connect(address).unwrap()).collect();
    scrape_in_time(address, SECOND, "a thousand silent ones");
    // Those that are still there begin a request and do not end it.
    idle.iter_mut().for_each(|stream| _ = stream.write_all(b"GET /met"));
    scrape_in_time(address, SECOND, "a thousand slow ones");
    // One from elsewhere who comes again as often as he is sent away. He may fill the kernel's
    // backlog for a moment; a SYN that is refused then is sent again after one second, and after
    // two more (RFC 6298). Prometheus waits for ten.
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for place in (0..1000).cycle().take_while(|_| !done.load(Relaxed)) {
                idle[place] = connect_from(Ipv4Addr::new(127, 0, 0, 2), address);
            }
        });
        let scraped = std::panic::catch_unwind(|| {
            scrape_in_time(address, 4 * SECOND, "one who always comes again")
        });
        done.store(true, Relaxed);
        scraped.unwrap();
    });
}

/// A connection whose near end has the address `from`.
fn connect_from(from: Ipv4Addr, to: SocketAddr) -> TcpStream {
    let SocketAddr::V4(to) = to else { panic!("{to} is not of IPv4") };
    let (kind, flags) = (SockType::Stream, SockFlag::SOCK_CLOEXEC);
    let near = socket(AddressFamily::Inet, kind, flags, None).unwrap();
    bind(near.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(from, 0))).unwrap();
    connect(near.as_raw_fd(), &SockaddrIn::from(to)).unwrap();
    TcpStream::from(near)
}

#[test]
fn a_crowd_from_one_address_sends_nobody_else_away() {
    let address = serve(|| "page\n".into(), Limits { at_once: 4, ..patient() });
    let mut slow = TcpStream::connect(address).unwrap();
    let elsewhere = Ipv4Addr::new(127, 0, 0, 2);
    let mut crowd: Vec<TcpStream> = (0..20).map(|_| connect_from(elsewhere, address)).collect();
    // All but the last three were sent away, the first of them first; then he takes his turn.
    assert!(crowd[..17].iter_mut().all(is_over));
    slow.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert_eq!(parts(&answer).2, "page\n");
}

#[test]
fn an_address_is_given_to_one() {
    let first = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let refused = Listener::bind(first.address().unwrap()).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::AddrInUse);
}
