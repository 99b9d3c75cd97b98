//! How much a flow of each source asks for, worked out by hand.
use tidegate::{Rate, Span};
use tidegate_lab::check;

use crate::jobs::{in_repository, scenario};

const HEAD: &str = "[run]\nduration = \"60 s\"\n[network]\nrate = \"1 Gbit/s\"\nlimit = \"1000 \
                    packets\"\n[[group]]\nname = \"g\"\n";

fn text(group: &str) -> String {
    format!("{HEAD}{group}\n")
}

/// What one flow of `group` asks for in a run of so many seconds, in bit/s.
fn demand(group: &str, seconds: f64) -> Option<u64> {
    let scenario = scenario(&text(group));
    scenario.groups[0].demand(Span::from_secs(seconds)).map(Rate::as_bps)
}

/// The same in the whole run of 60 seconds.
fn whole(group: &str) -> Option<u64> {
    demand(group, 60.0)
}

#[test]
fn what_takes_all_it_gets_asks_for_nothing_in_particular() {
    for source in ["newreno", "sack", "cubic", "bbr", "dctcp", "ledbat", "vegas", "web", "tfrc"] {
        assert_eq!(whole(&format!("source = \"{source}\"")), None, "{source}");
    }
    assert_eq!(whole("source = \"finite\"\ndata = \"1 MB\""), None);
    // Nor does a limit to its window, which the round trip decides on.
    assert_eq!(whole("source = \"newreno\"\nwindow = \"1 packet\""), None);
}

#[test]
fn a_fixed_rate_is_what_is_asked_for() {
    let cbr = "source = \"cbr\"\nrate = \"1.5 Mbit/s\"";
    assert_eq!(whole(cbr), Some(1_500_000));
    // While it is active: when that is does not matter, nor do jitter, packets and other flows.
    for more in [
        "active = [\"1 s..2 s\"]",
        "start = \"59 s\"",
        "jitter = 0",
        "packet = \"40 B\"",
        "count = 9",
    ] {
        assert_eq!(whole(&format!("{cbr}\n{more}")), Some(1_500_000), "{more}");
    }
}

#[test]
fn on_and_off_share_the_time_by_their_means() {
    let on_off = |times: &str| whole(&format!("source = \"on_off\"\nrate = \"1 Mbit/s\"\n{times}"));
    // By default half a second each.
    assert_eq!(on_off(""), Some(500_000));
    assert_eq!(on_off("on = \"1 s\"\noff = \"3 s\""), Some(250_000));
    assert_eq!(on_off("on = \"1 s\"\noff = \"0 s\""), Some(1_000_000));
    // The mean of pareto(1.5, 1 s) is 3 s, of uniform(0 s, 2 s) one.
    let drawn = "on = \"pareto(1.5, 1 s)\"\noff = \"uniform(0 s, 2 s)\"";
    assert_eq!(on_off(drawn), Some(750_000));
    // A list's mean is that of its values.
    assert_eq!(on_off("on = [\"1 s\", \"3 s\"]\noff = \"6 s\""), Some(250_000));
    // Without a mean it is on for ever, or off.
    assert_eq!(on_off("on = \"pareto(1, 1 s)\"\noff = \"9 s\""), Some(1_000_000));
    assert_eq!(on_off("on = \"9 s\"\noff = \"pareto(1, 1 s)\""), Some(0));
}

#[test]
fn callers_talk_for_part_of_their_calls() {
    let voip = |more: &str| whole(&format!("source = \"voip\"\n{more}"));
    // ITU P.59: 1.004 s of talk, 1.587 s of silence, at 25 kbit/s.
    let talk = 25_000.0 * 1.004 / 2.591;
    assert_eq!(voip(""), Some(talk as u64));
    assert_eq!(voip("talk = \"1 s\"\nsilence = \"4 s\"\nrate = \"100 kbit/s\""), Some(20_000));
    // Twenty calls on forty lines: each is busy for half of the time.
    assert_eq!(voip("count = 40\nerlangs = 20"), Some((talk / 2.0) as u64));
    // No line has more than one.
    assert_eq!(voip("count = 40\nerlangs = 40"), Some(talk as u64));
    assert_eq!(voip("count = 40\nerlangs = 400"), Some(talk as u64));
    // How long each is does not matter.
    assert_eq!(voip("count = 40\nerlangs = 20\ncall = \"1 s\""), Some((talk / 2.0) as u64));
}

#[test]
fn what_heeds_nothing_comes_and_goes() {
    let deaf =
        |more: &str| whole(&format!("source = \"unresponsive\"\nrate = \"4 Mbit/s\"\n{more}"));
    // By default ten seconds each.
    assert_eq!(deaf(""), Some(2_000_000));
    assert_eq!(deaf("on = \"3 s\"\noff = \"1 s\""), Some(3_000_000));
    assert_eq!(deaf("off = \"0 s\""), Some(4_000_000));
    assert_eq!(deaf("off = \"pareto(0.5, 1 s)\""), Some(0));
}

#[test]
fn a_timetable_counts_up_to_the_end_of_the_run() {
    let group = "source = \"oscillating\"\nhigh = \"5 Mbit/s\"\nlow = \"100 kbit/s\"\n\
                 high_during = [\"10 s..30 s\", \"50 s..70 s\"]";
    for (seconds, high) in [(5.0, 0.0), (10.0, 0.0), (20.0, 10.0), (40.0, 20.0), (60.0, 30.0)] {
        let share: f64 = high / seconds;
        let wanted = 5e6 * share + 1e5 * (1.0 - share);
        assert_eq!(demand(group, seconds), Some(wanted as u64), "{seconds}");
    }
    // A period without an end.
    let ever = group.replace("\"50 s..70 s\"", "\"50 s..\"");
    assert_eq!(demand(&ever, 100.0), Some((5e6 * 0.7 + 1e5 * 0.3) as u64));
    let silent = group.replace("100 kbit/s", "0 bit/s");
    assert_eq!((demand(&silent, 10.0), demand(&silent, 20.0)), (Some(0), Some(2_500_000)));
}

#[test]
fn a_capture_s_bytes_are_spread_over_its_time() {
    let path = in_repository("captures/flood.pcapng");
    let mut capture = tidegate_packet::Capture::open(&path).unwrap();
    let (mut bytes, mut first, mut last) = (0u64, f64::INFINITY, 0.0f64);
    while let Some(packet) = capture.next_packet().unwrap() {
        bytes += packet.frame().len as u64;
        (first, last) = (first.min(packet.time.as_secs()), last.max(packet.time.as_secs()));
    }
    let group = format!("source = \"replay\"\ncapture = {:?}", path.display().to_string());
    let rate = bytes as f64 * 8.0 / (last - first);
    for count in [1, 3] {
        let got = whole(&format!("{group}\ncount = {count}")).unwrap() as f64;
        assert!((got * count as f64 / rate - 1.0).abs() < 1e-3, "{got} of {count}, {rate}");
    }
}

#[test]
fn a_group_offers_what_its_flows_ask_for() {
    let offered = |group: &str| {
        let checked = check(&scenario(&text(group)), &[]).unwrap();
        (checked.groups[0].offered.map(Rate::as_bps), checked.groups[0].arrives.map(Rate::as_bps))
    };
    let seven = "source = \"on_off\"\nrate = \"2 Mbit/s\"\ncount = 7";
    assert_eq!(offered(seven), (Some(7_000_000), Some(7_000_000)));
    assert_eq!(offered("source = \"cubic\"\ncount = 7"), (None, None));
    // Nine tenths of what one host's seven calls send fit its link.
    let calls = "source = \"voip\"\ncount = 10\nhosts = 1\nerlangs = 10\ntalk = \"1 s\"\nsilence = \
                 \"0 s\"\nrate = \"1 Mbit/s\"\naccess_rate = \"9 Mbit/s\"";
    assert_eq!(offered(calls), (Some(10_000_000), Some(9_000_000)));
}
