//! Rings at the two ends of a virtual cable: frames arrive as they were sent, and what cannot be is
//! reported.
#[path = "support/rings.rs"]
mod rings;

use std::io;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tidegate_gateway::device::port::{Altered, Port, ReceivedFrame, Unsent};
use tidegate_gateway::device::ring::PacketRing;
use tidegate_gateway::machine::namespaces::{Namespace, cable, possible, run, skip};
use tidegate_gateway::watch::counters::Tally;

use rings::send;

const EAST: &str = "02:00:00:00:00:01";
const WEST: &str = "02:00:00:00:00:02";
/// From west's address to east's.
const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

/// A cable between two namespaces: `east` at one end and `west` at the other.
struct Rig {
    left: Namespace,
    right: Namespace,
}

impl Rig {
    /// `None`, having said why, where namespaces cannot be made.
    fn new(mtu: u32) -> Option<Rig> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if let Err(why) = possible() {
            skip(&why);
            return None;
        }
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let namespace =
            |side| Namespace::new(&format!("tg-ring-{side}-{process}-{count}")).unwrap();
        let rig = Rig { left: namespace("l"), right: namespace("r") };
        rig.connect(mtu);
        Some(rig)
    }

    fn connect(&self, mtu: u32) {
        cable((&self.left, "east"), (&self.right, "west"), mtu).unwrap();
        self.left.run(&["ip", "link", "set", "east", "address", EAST]).unwrap();
        self.right.run(&["ip", "link", "set", "west", "address", WEST]).unwrap();
    }

    fn east(&self) -> PacketRing {
        self.left.inside(|| PacketRing::open("east")).unwrap().unwrap()
    }

    fn west(&self) -> PacketRing {
        self.right.inside(|| PacketRing::open("west")).unwrap().unwrap()
    }
}

/// Receives until `count` frames are there or two seconds have passed.
fn receive<T>(
    ring: &mut PacketRing,
    count: usize,
    mut see: impl FnMut(ReceivedFrame<'_>) -> T,
) -> Vec<T> {
    let (mut seen, start) = (Vec::new(), Instant::now());
    while seen.len() < count && start.elapsed() < Duration::from_secs(2) {
        ring.receive(count - seen.len(), &mut |frame| seen.push(see(frame))).unwrap();
    }
    seen
}

/// Waits for `ring` to answer as `wanted`; the answer.
fn until(ring: &mut PacketRing, wanted: impl Fn(&io::Result<usize>) -> bool) -> io::Result<usize> {
    let start = Instant::now();
    loop {
        let answer = ring.receive(64, &mut |_| ());
        if wanted(&answer) || start.elapsed() > Duration::from_secs(2) {
            return answer;
        }
    }
}

fn whole(frame: ReceivedFrame<'_>) -> Vec<u8> {
    assert_eq!((frame.wire_len as usize, frame.checksum_missing), (frame.bytes.len(), false));
    frame.bytes.to_vec()
}

/// A frame of `len` bytes with these `tags` (protocol and content) and content that is its own.
fn frame(tags: &[(u16, u16)], len: usize) -> Vec<u8> {
    let mut frame = ADDRESSES.to_vec();
    for (protocol, content) in tags {
        frame.extend(protocol.to_be_bytes());
        frame.extend(content.to_be_bytes());
    }
    // IEEE 802's first local experimental type: no stack answers
    frame.extend(0x88b5_u16.to_be_bytes());
    let seed = len + 7 * tags.len();
    frame.extend((frame.len()..len).map(|i| (i * 31 + seed) as u8));
    frame
}

#[test]
fn frames_of_every_kind_arrive_as_they_were_sent() {
    const QINQ: [(u16, u16); 2] = [(0x88a8, 0x2064), (0x8100, 0x0007)];
    for mtu in [1500, 9000, 65_535] {
        let Some(rig) = Rig::new(mtu) else { return };
        let (mut from, mut to) = (rig.west(), rig.east());
        let longest = mtu as usize + 14;
        let mut frames = vec![
            frame(&[(0x8100, 0)], 64),          // a priority tag: network 0
            frame(&[(0x8100, 0xefff)], 64),     // every bit of the tag
            frame(&[(0x8100, 5)], longest + 4), // the longest there is
            frame(&[(0x88a8, 5)], longest),
            frame(&QINQ, 64),
            frame(&QINQ, longest),
            frame(&[(0x8100, 1), (0x8100, 2), (0x8100, 3)], 200),
        ];
        frames.extend((14..=longest).step_by(1 + mtu as usize / 300).map(|len| frame(&[], len)));
        // The kernel drops a tagged frame of less than 20 bytes before anybody sees it.
        frames.extend((20..80).map(|len| frame(&[(0x8100, 0x6001)], len)));
        send(&mut from, &frames);
        let arrived = receive(&mut to, frames.len(), whole);
        assert_eq!(arrived.len(), frames.len());
        assert!(arrived == frames, "{:?}", arrived.iter().zip(&frames).position(|(a, b)| a != b));
        assert_eq!((from.unsent(), to.missed()), (Tally::default(), 0));
    }
}

#[test]
fn what_was_sent_here_is_not_received_here() {
    let Some(rig) = Rig::new(1500) else { return };
    let (mut west, mut east) = (rig.west(), rig.east());
    let mut second = rig.west();
    send(&mut west, &vec![frame(&[], 100); 200]);
    assert_eq!(receive(&mut east, 200, whole).len(), 200);
    // East has them all, so west has long had what it was to get.
    assert_eq!((west.waiting(1), second.waiting(1)), (0, 0));
    send(&mut east, &[frame(&[], 60)]);
    assert_eq!(receive(&mut west, 1, whole), [frame(&[], 60)]);
    assert_eq!(receive(&mut second, 1, whole), [frame(&[], 60)]);
}

#[test]
fn frames_that_do_not_fit_are_told() {
    let Some(rig) = Rig::new(1500) else { return };
    let (mut west, mut east) = (rig.west(), rig.east());
    assert_eq!(west.send(&frame(&[], 1515)), Err(Unsent::Length));
    assert_eq!(west.send(&frame(&[(0x8100, 1)], 1519)), Err(Unsent::Length));
    assert_eq!(west.send(&frame(&[(0x88a8, 1)], 1515)), Err(Unsent::Length));
    assert_eq!(west.send(&frame(&[], 14)[..13]), Err(Unsent::Length));
    // Somebody lets longer frames in than the ring was laid out for: they are cut off.
    for (side, interface) in [(&rig.left, "east"), (&rig.right, "west")] {
        side.run(&["ip", "link", "set", interface, "mtu", "9000"]).unwrap();
    }
    let mut longer = rig.west();
    send(&mut longer, &[frame(&[], 9014), frame(&[(0x8100, 6)], 9018), frame(&[], 60)]);
    let arrived = receive(&mut east, 3, |frame| (frame.bytes.to_vec(), frame.wire_len));
    for ((bytes, wire_len), sent) in
        arrived.iter().zip([frame(&[], 9014), frame(&[(0x8100, 6)], 9018)])
    {
        assert_eq!(*wire_len as usize, sent.len());
        assert!(
            bytes.len() >= 1514 && bytes.len() < 2000 && sent.starts_with(bytes),
            "{}",
            bytes.len()
        );
    }
    assert_eq!(arrived[2], (frame(&[], 60), 60));
    // And now shorter ones: the device refuses what the ring takes.
    rig.right.run(&["ip", "link", "set", "west", "mtu", "1000"]).unwrap();
    send(&mut longer, &[frame(&[], 60), frame(&[], 1100), frame(&[], 1014)]);
    assert_eq!(receive(&mut east, 2, whole), [frame(&[], 60), frame(&[], 1014)]);
    assert_eq!(longer.unsent(), Tally { frames: 1, bytes: 1100 });
}

#[test]
fn a_full_ring_counts_what_it_missed_and_goes_round_many_times() {
    let Some(rig) = Rig::new(1500) else { return };
    let mut from = rig.west();
    let mut to = rig.left.inside(|| PacketRing::with_slots("east", 100)).unwrap().unwrap();
    let some: Vec<Vec<u8>> = (60..120).map(|len| frame(&[], len)).collect();
    for _ in 0..50 {
        send(&mut from, &some);
        assert_eq!(to.waiting(7), 7);
        assert!(receive(&mut to, some.len(), whole) == some);
    }
    for _ in 0..50 {
        send(&mut from, &some);
    }
    let start = Instant::now();
    let mut held = 0;
    while held as u64 + to.missed() < 50 * 60 && start.elapsed() < Duration::from_secs(2) {
        held = to.waiting(usize::MAX);
    }
    assert!((100..400).contains(&held), "{held}");
    assert_eq!(to.missed(), 50 * 60 - held as u64);
    assert_eq!(receive(&mut to, held, whole).len(), held);
    send(&mut from, &some);
    assert!(receive(&mut to, some.len(), whole) == some, "and it goes on");
}

#[test]
fn an_interface_that_goes_down_is_an_error_that_passes() {
    let Some(rig) = Rig::new(1500) else { return };
    let (mut west, mut east) = (rig.west(), rig.east());
    let set = |state| rig.left.run(&["ip", "link", "set", "east", state]).unwrap();
    set("down");
    let error = until(&mut east, |answer| answer.is_err()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NetworkDown);
    east.send(&frame(&[], 60)).unwrap();
    assert!(east.flush().is_err());
    assert_eq!(east.unsent(), Tally { frames: 1, bytes: 60 });
    // The far end's cable hangs loose: that is no error of its own, but nothing gets through.
    send(&mut west, &[frame(&[], 61), frame(&[], 62)]);
    assert_eq!(west.unsent(), Tally { frames: 2, bytes: 123 });
    set("up");
    assert!(until(&mut east, |answer| answer.is_ok()).is_ok());
    send(&mut west, &[frame(&[], 63)]);
    assert_eq!(receive(&mut east, 1, whole), [frame(&[], 63)]);
    send(&mut east, &[frame(&[], 64)]);
    assert_eq!(receive(&mut west, 1, whole), [frame(&[], 64)]);
}

#[test]
fn an_interface_goes_on_under_another_name() {
    let Some(rig) = Rig::new(1500) else { return };
    let (mut west, mut east) = (rig.west(), rig.east());
    let shell = |command: &str| rig.left.run(&["sh", "-ec", command]).unwrap();
    shell(
        "ip link set east down; ip link set east name far; ip link add east type veth peer name \
         another; ip link set far up",
    );
    assert!(until(&mut east, |answer| answer.is_ok()).is_ok());
    for _ in 0..40 {
        east.receive(1, &mut |_| ()).unwrap();
    }
    assert_eq!(east.altered(), Some(Altered::Name("far".into())));
    assert_eq!((east.altered(), east.name()), (None, "far"));
    send(&mut west, &[frame(&[], 70)]);
    assert_eq!(receive(&mut east, 1, whole), [frame(&[], 70)]);
    send(&mut east, &[frame(&[], 71)]);
    assert_eq!(receive(&mut west, 1, whole), [frame(&[], 71)]);
    // In another namespace it is nobody's, even if it comes back.
    let (here, there) = (rig.left.name(), rig.right.name());
    rig.left.run(&["ip", "link", "set", "far", "netns", there]).unwrap();
    rig.right.run(&["ip", "link", "set", "far", "netns", here]).unwrap();
    shell("ip link set far up");
    for _ in 0..2 {
        let error = until(&mut east, |answer| answer.is_err()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
        assert_eq!(east.altered(), None);
    }
}

#[test]
fn a_ring_grows_with_its_interface_and_loses_nothing_that_waits() {
    let Some(rig) = Rig::new(1500) else { return };
    let (mut west, mut east) = (rig.west(), rig.east());
    let mtu = |mtu: &str| {
        rig.left.run(&["ip", "link", "set", "east", "mtu", mtu]).unwrap();
        rig.right.run(&["ip", "link", "set", "west", "mtu", mtu]).unwrap();
    };
    assert_eq!((east.altered(), west.altered()), (None, None));
    let waiting: Vec<_> = (100..140).map(|len| frame(&[], len)).collect();
    send(&mut west, &waiting);
    mtu("9000");
    let astray = east.altered();
    assert!(
        matches!(&astray, Some(Altered::Outgrown(9000, why)) if why.contains("namespace")),
        "{astray:?}"
    );
    assert_eq!(east.altered(), None, "told once, though it is so still");
    mtu("8000");
    let grown = Some(Altered::Grown(8000));
    let (left, right) =
        (rig.left.inside(|| east.altered()).unwrap(), rig.right.inside(|| west.altered()).unwrap());
    assert_eq!((left, right), (grown.clone(), grown));
    assert_eq!((east.altered(), west.altered()), (None, None), "told once");
    assert_eq!(receive(&mut east, waiting.len(), whole), waiting);
    // Nothing waits any more: it moves in.
    assert_eq!(
        (east.receive(1, &mut |_| ()).unwrap(), west.receive(1, &mut |_| ()).unwrap()),
        (0, 0)
    );
    let long = [frame(&[], 8014), frame(&[(0x8100, 5)], 8018), frame(&[], 60)];
    send(&mut west, &long);
    let came = receive(&mut east, 3, whole);
    let lens: Vec<_> = came.iter().map(Vec::len).collect();
    assert!(came == long, "{lens:?}, not sent {:?}, missed {}", west.unsent(), east.missed());
    send(&mut east, &long);
    assert!(receive(&mut west, 3, whole) == long);
    mtu("1400");
    assert_eq!(east.altered(), Some(Altered::Shrunk(1400)));
    assert_eq!(east.send(&frame(&[], 1415)), Err(Unsent::Length));
    mtu("8000");
    assert_eq!(east.altered(), Some(Altered::Grown(8000)), "for which there is room already");
    send(&mut east, &long);
    assert!(receive(&mut west, 3, whole) == long);
    assert_eq!((east.missed(), west.missed(), east.unsent()), (0, 0, Tally::default()));
}

#[test]
fn an_interface_that_was_taken_out_stays_gone_whatever_has_its_name() {
    let Some(rig) = Rig::new(1500) else { return };
    let mut east = rig.east();
    rig.left.run(&["ip", "link", "delete", "east"]).unwrap();
    // So soon that the ring has not looked since.
    rig.connect(1500);
    let mut west = rig.west();
    for _ in 0..2 {
        let error = until(&mut east, |answer| answer.is_err()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
        send(&mut west, &[frame(&[], 80)]);
        assert_eq!(east.waiting(1), 0);
    }
}

#[test]
fn a_ring_is_not_opened_where_there_is_nothing_to_open() {
    let Some(rig) = Rig::new(1500) else { return };
    let open =
        |name: &str| rig.left.inside(|| PacketRing::open(name).unwrap_err().to_string()).unwrap();
    assert!(open("north").contains("interface north: No such device"), "{}", open("north"));
    assert!(
        open("").contains("1 to 15 bytes") && open("a-name-with-sixteen").contains("1 to 15 bytes")
    );
    run(Command::new("ip").args(["-n", rig.left.name(), "link", "set", "east", "down"])).unwrap();
    assert!(open("east").contains("interface east: it is down"), "{}", open("east"));
}

#[test]
fn an_mtu_that_no_ring_has_room_for_is_an_error() {
    if let Err(why) = possible() {
        return skip(&why);
    }
    let here = Namespace::new(&format!("tg-ring-mtu-{}", std::process::id())).unwrap();
    // The loopback interface is the one that every kernel has and that takes any.
    for (mtu, fits) in
        [("65535", true), ("65537", false), ("100000000", false), ("2147483647", false)]
    {
        here.run(&["ip", "link", "set", "lo", "mtu", mtu]).unwrap();
        match here.inside(|| PacketRing::open("lo")).unwrap() {
            Ok(_) => assert!(fits, "{mtu}"),
            Err(why) => {
                let told = format!(
                    "interface lo: its MTU of {mtu} bytes is too large: may be at most 65536"
                );
                assert!(!fits && why.to_string() == told, "{mtu}: {why}");
            }
        }
    }
}
