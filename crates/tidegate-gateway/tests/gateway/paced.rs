//! A direction that a trace paces, and one that nothing does.

use tidegate::bottleneck::Trace;
use tidegate::{Link, Span, Time, catalog};
use tidegate_gateway::device::guard::Unguarded;
use tidegate_gateway::device::memory::{Cable, cable};
use tidegate_gateway::device::port::Port;
use tidegate_gateway::path::gate::{Gate, Next};
use tidegate_gateway::path::overhead::Overhead;
use tidegate_gateway::path::pace::Paced;
use tidegate_gateway::run::plan::{GatePlan, Settings};
use tidegate_gateway::run::way::{Secret, Way};

const START: Time = Time::from_nanos(7_000_000_123);

/// When frames of these lengths leave that arrive so many milliseconds after the start, in ms.
fn left(way: Way, frames: &[(u64, usize)]) -> Vec<f64> {
    let settings = Settings {
        inner: "west".into(),
        outer: "east".into(),
        there: way,
        back: Some(Way::open().unwrap()),
        delay: Span::ZERO,
    };
    let plan = GatePlan::new(settings, 1500).unwrap();
    let secret = Secret { hash: [1, 2], seed: 3 };
    let (there, back) = plan.lanes_seen_by(secret, [(), ()]).unwrap();
    let ((mut clients, inner), (outer, mut servers)) =
        (cable(Cable::default()), cable(Cable::default()));
    let mut gate = Gate::new(there, back, inner, outer);
    let (mut frames, mut now, mut left) = (frames.iter().peekable(), START, vec![]);
    loop {
        while let Some((_, len)) = frames.next_if(|(at, _)| START + Span::from_millis(*at) <= now) {
            clients.send(&vec![0; *len]).unwrap();
        }
        clients.flush().unwrap();
        let next = gate.turn(now, &mut Unguarded);
        let millis = now.since(START).as_millis();
        left.extend(servers.all().unwrap().iter().map(|_| millis));
        let arrival = frames.peek().map(|(at, _)| START + Span::from_millis(*at));
        now = match (next, arrival) {
            (Next::Now, _) => now,
            (Next::At(at), Some(arrival)) => at.min(arrival),
            (Next::At(at), None) => at,
            (_, Some(arrival)) => arrival,
            _ => return left,
        };
    }
}

fn by_trace(text: &str) -> Way {
    let trace: Trace = text.parse().unwrap();
    let link =
        Link::new(trace.mean_rate(), "100 packets".parse().unwrap(), "1000 B".parse().unwrap());
    let link = link.unwrap();
    let queue = catalog::config("drop_tail", None, &link).unwrap();
    let way = Way::new(link, queue, "drop_tail");
    Way { paced: Paced::ByTrace(trace, START), overhead: Overhead::IP, ..way }
}

#[test]
fn frames_leave_at_the_times_of_a_trace_as_mm_link_has_it() {
    // A full packet takes an opportunity, and one of two opportunities that nobody uses is lost.
    assert_eq!(left(by_trace("2\n5\n5\n"), &[(0, 1514), (0, 1514), (0, 1514)]), [2.0, 5.0, 5.0]);
    assert_eq!(left(by_trace("2\n5\n5\n"), &[(0, 1514), (3, 1514), (6, 1514)]), [2.0, 5.0, 7.0]);
    // Three short ones share one.
    assert_eq!(
        left(by_trace("1\n3\n"), &[(0, 514), (0, 514), (0, 514), (0, 514)]),
        [1.0, 1.0, 1.0, 3.0]
    );
    // A packet that does not fit into what is left goes on in the next.
    assert_eq!(left(by_trace("1\n3\n"), &[(0, 1014), (0, 1014), (0, 1014)]), [1.0, 3.0, 3.0]);
    // The trace begins again at its last time.
    assert_eq!(left(by_trace("4\n"), &[(0, 1514), (0, 1514), (0, 1514)]), [4.0, 8.0, 12.0]);
    // What arrives at the moment of an opportunity has missed it.
    assert_eq!(left(by_trace("4\n"), &[(4, 1514)]), [8.0]);
}

#[test]
fn frames_leave_at_once_where_nothing_paces() {
    let frames: Vec<(u64, usize)> = (0..300).map(|number| (number / 100, 1514)).collect();
    let expected: Vec<f64> = frames.iter().map(|(at, _)| *at as f64).collect();
    assert_eq!(left(Way::open().unwrap(), &frames), expected);
}
