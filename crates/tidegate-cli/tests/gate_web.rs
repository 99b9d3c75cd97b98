//! The page of a running gate (`--web`), in a real browser: what it says, that it hears of breaks
//! and of the end, and beside a gate that moves frames.
#![cfg(target_os = "linux")]
mod browser;
mod common;
#[path = "common/net.rs"]
mod net;
#[path = "../../tidegate-gateway/tests/support/standing.rs"]
mod standing;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use browser::Page;
use common::Home;
use net::Net;
use serde_json::Value;
use standing::{flooded, gate};
use tidegate_gateway::watch::http::Listener;
use tidegate_gateway::watch::snapshot::Snapshot;
use tidegate_gateway::watch::web::{WatcherLimits, WebPage};

const HERE: &str = "127.0.0.1:0";

/// A page of a gate that is as a test says, told twenty times a second.
struct Served {
    now: Arc<Mutex<Snapshot>>,
    address: SocketAddr,
    web: Option<WebPage>,
}

impl Served {
    fn at(address: &str, bounds: WatcherLimits) -> Served {
        let listener = Listener::bind(address.parse().unwrap()).unwrap();
        let address = listener.address().unwrap();
        // A flood of 398 Mbit/s, second by second.
        let now = Arc::new(Mutex::new(gate()));
        let told = now.clone();
        let next = move || {
            let mut now = told.lock().unwrap();
            *now = flooded(&now);
            now.clone()
        };
        let web = WebPage::serve(listener, next, bounds).unwrap();
        Served { now, address, web: Some(web) }
    }

    fn new() -> Served {
        Served::at(
            HERE,
            WatcherLimits { every: Duration::from_millis(50), ..WatcherLimits::default() },
        )
    }

    fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    fn change(&self, change: impl FnOnce(&mut Snapshot)) {
        change(&mut self.now.lock().unwrap());
    }
}

/// Waits until the page has drawn what came after this.
fn redrawn(page: &mut Page) {
    let drawn = page.eval("tidegate.drawn").as_u64().unwrap();
    page.wait(&format!("tidegate.drawn > {drawn} + 1"));
}

fn open(page: &mut Page, url: &str) {
    page.load(url);
    page.wait("window.tidegate.drawn > 2");
}

/// The texts of all that `selector` finds.
fn texts(page: &mut Page, selector: &str) -> Vec<String> {
    let all = page.eval(&format!(
        "[...document.querySelectorAll({selector:?})].map((e) => e.innerText.replace(/\\s+/g, ' '))"
    ));
    all.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_string()).collect()
}

#[test]
fn it_says_first_how_the_links_are_and_a_click_shows_all_of_one() {
    let Some(mut page) = Page::open() else { return };
    let served = Served::new();
    open(&mut page, &served.url());
    assert_eq!(texts(&mut page, "#links button"), ["All links", "west", "lab"]);
    assert_eq!(texts(&mut page, "#state"), ["Live"]);
    let said = texts(&mut page, ".sentence");
    let west = "100 % busy; frames wait 12.3 ms, 99 of 100 at most 15.2 ms; 2 offenders send 311 \
                Mbit/s, 11.1 Mbit/s are fair to each; 299 Mbit/s dropped, most for penalty.";
    assert_eq!(said[0].replace('\u{a0}', " "), west);
    assert!(said[2].starts_with("This link has ended"), "{said:?}");
    assert_eq!(texts(&mut page, "table"), Vec::<String>::new(), "in brief");
    page.click("#links button:nth-child(2)");
    redrawn(&mut page);
    assert_eq!(page.eval("location.hash"), "#west");
    let rows = texts(&mut page, ".sides tbody tr");
    assert!(rows[0].starts_with("192.0.2.66:40001 -> 203.0.113.5:5001 udp"), "{rows:?}");
    assert!(rows[0].contains("288 Mbit/s 74 % 25.9 × 1"), "{rows:?}");
    assert!(rows.iter().any(|row| row.starts_with("penalty 24 000/s")), "{rows:?}");
    assert!(rows.iter().any(|row| row.starts_with("marked: early 12/s")), "{rows:?}");
    let offenders = page.eval("document.querySelectorAll('tr.offender').length");
    assert_eq!(offenders, 2);
    let titles = texts(&mut page, ".legend strong");
    for title in ["Rate", "Wait", "Dropped", "Frames waiting", "p_max", "price"] {
        assert!(titles.iter().any(|one| one == title), "{title}: {titles:?}");
    }
    let classes = texts(&mut page, ".way .card:has(h3) tbody tr");
    assert!(classes.iter().any(|row| row.starts_with("(rest) 99.7 Mbit/s 299 Mbit/s")));
    // The address names the link, and a link that is not there is none.
    for (hash, shown) in [("#lab", 2), ("#nowhere", 4), ("#%ff", 4)] {
        open(&mut page, &format!("{}{hash}", served.url()));
        assert_eq!(texts(&mut page, ".way").len(), shown, "{hash}");
    }
    page.is_well();
}

#[test]
fn a_picture_that_is_held_stays_and_names_are_no_markup() {
    let Some(mut page) = Page::open() else { return };
    let served = Served::new();
    served.change(|now| {
        let queue = now.links[0].managed.queue.as_mut().unwrap();
        queue.flows.offenders[0].flow = "<img src=x onerror=alert(1)>".into();
        queue.label = "<b>red</b>".into();
    });
    open(&mut page, &format!("{}#west", served.url()));
    assert!(page.text("h2").contains("<b>red</b>"));
    assert_eq!(page.eval("document.querySelector('#ways img')"), Value::Null);
    page.click("#pause");
    page.wait("document.getElementById('state').textContent.startsWith('Held')");
    let (held, heard) = (page.text("#process"), page.eval("tidegate.past.at(-1).time_s"));
    page.wait(&format!("tidegate.past.at(-1).time_s > {heard} + 3"));
    assert_eq!(page.text("#process"), held);
    page.click("#pause");
    redrawn(&mut page);
    assert_ne!(page.text("#process"), held);
    page.is_well();
}

/// A browser that comes sees the last minutes, and no more than those.
#[test]
fn a_new_page_begins_with_the_past_and_forgets_what_is_old() {
    let Some(mut page) = Page::open() else { return };
    let every = Duration::from_millis(5);
    let served = Served::at(HERE, WatcherLimits { every, points: 40, ..WatcherLimits::default() });
    open(&mut page, &served.url());
    page.wait("tidegate.past.length === 300");
    open(&mut page, &served.url());
    assert!(page.eval("tidegate.past.length").as_u64().unwrap() >= 40);
    page.wait("tidegate.past.length === 300");
    redrawn(&mut page);
    assert_eq!(page.eval("tidegate.past.length"), 300);
    assert!(page.text(".chart svg").contains("−4 min"));
    page.is_well();
}

#[test]
fn a_stream_that_breaks_is_said_and_taken_up_again_and_so_is_the_end() {
    let Some(mut page) = Page::open() else { return };
    let mut served = Served::new();
    let address = served.address.to_string();
    open(&mut page, &served.url());
    drop(served.web.take());
    page.wait("document.getElementById('state').textContent.startsWith('The gate ended at ')");
    let stale = "document.getElementById('ways').classList.contains('stale')";
    assert_eq!(page.eval(stale), true);
    let heard = page.eval("tidegate.past.length").as_u64().unwrap();
    assert!(heard > 0);
    // The process lives on and its port with it here: what it tells at once is the past.
    page.wait("document.getElementById('state').className === 'state broken'");
    drop(page);
    let Some(mut page) = Page::open() else { return };
    let few =
        WatcherLimits { pages: 1, every: Duration::from_millis(50), ..WatcherLimits::default() };
    let served = Served::at(HERE, few);
    assert_ne!(served.address.to_string(), address);
    open(&mut page, &served.url());
    page.eval("window.other = new EventSource('events'); 0");
    page.wait("document.getElementById('state').textContent.startsWith('Newer pages have taken')");
    page.eval("window.other.close(); 0");
    page.click("#state button");
    page.wait("document.getElementById('state').textContent === 'Live'");
    assert_eq!(page.eval(stale), false);
    page.is_well();
}

#[test]
fn it_fits_a_phone_and_the_dark() {
    let Some(mut page) = Page::open() else { return };
    let served = Served::new();
    for (width, scheme) in [(390, "light"), (390, "dark"), (1366, "dark"), (1366, "light")] {
        page.look(width, scheme);
        for of in ["", "#west", "#lab"] {
            open(&mut page, &format!("{}{of}", served.url()));
            let fits = page.eval("document.documentElement.scrollWidth <= window.innerWidth");
            assert_eq!(fits, true, "nothing sticks out at {width}, {scheme}, {of}");
            let broken = "/NaN|Infinity|undefined|null/.test(document.body.outerHTML)";
            assert_eq!(page.eval(broken), false, "{width}, {scheme}, {of}");
        }
    }
    page.print();
    let fits = page.eval("document.documentElement.scrollWidth <= window.innerWidth");
    assert_eq!(fits, true, "nothing sticks out of the paper");
    let shown = "getComputedStyle(document.querySelector('.tries')).display";
    assert_eq!(page.eval(shown), "none", "nobody can hold a picture on paper");
    page.is_well();
}

#[test]
fn the_page_of_a_gate_that_moves_frames() {
    let Some(net) = Net::new() else { return };
    let address = "127.0.0.1:9466";
    let gate = net.start(&["--web", address]);
    let inside = |shell: &str| net.rig.gateway.command(&[shell]);
    let Some(mut page) = Page::open_by(inside) else { return };
    let url = format!("http://{address}/");
    page.load(&url);
    page.wait("window.tidegate.drawn > 0");
    let sent = "tidegate.snapshot?.links[0].managed.sent.frames ?? 0";
    net.must_cross_the_gate();
    page.wait(&format!("({sent}) > 0"));
    assert!(page.text("h2").starts_with("west: west → east"), "{}", page.text("h2"));
    assert_eq!(page.eval("document.querySelectorAll('.way').length"), 2);
    let loaded = page.eval("performance.getEntriesByType('resource').map((entry) => entry.name)");
    for name in loaded.as_array().unwrap() {
        assert!(name.as_str().unwrap().starts_with(&url), "{name}");
    }
    // A process that is stopped says nothing, and goes on where it was.
    gate.signal(nix::sys::signal::Signal::SIGSTOP);
    page.wait("document.getElementById('state').textContent.includes('said nothing for 5 s')");
    gate.signal(nix::sys::signal::Signal::SIGCONT);
    page.wait("document.getElementById('state').textContent === 'Live'");
    page.is_well();
    let (code, _, told) = gate.stop();
    assert!(code == 0 && told.contains("watch it at http://127.0.0.1:9466/"), "{told}");
    page.wait("document.getElementById('state').textContent.startsWith('The gate ended at ')");
    // The next one is found, without a click.
    let gate = net.start(&["--web", address]);
    page.wait("document.getElementById('state').textContent === 'Live'");
    // One that is killed cannot say so.
    gate.kill();
    page.wait(
        "document.getElementById('state').textContent.startsWith('The stream from the gate')",
    );
}

#[test]
fn a_port_that_is_taken_is_refused_before_anything_is_changed() {
    let Some(net) = Net::new() else { return };
    net.refuses_a_taken_port("web", "127.0.0.1:9466");
}

#[test]
fn an_address_that_others_can_reach_must_be_meant() {
    let home = Home::new();
    home.refuses_a_public_address("web", "9466");
    let taken = "web = 127.0.0.1:9466: is the address of metrics; take another port";
    home.gate(&["--metrics", "127.0.0.1:9466", "--web", "127.0.0.1:9466"]).refused(2, &[taken]);
    home.gate_by_file("metrics = \"127.0.0.1:1\"\nweb = \"127.0.0.1:1\"")
        .refused(2, &["gate.toml:2:8: web = 127.0.0.1:1: is the address of metrics"]);
}
