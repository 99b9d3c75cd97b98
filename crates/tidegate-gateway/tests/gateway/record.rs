//! What a recorder writes, read back by two readers: the capture library's for the comments, ours
//! for the frames.
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime};

use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use tidegate::{Bytes, DropReason, MarkReason, Rng, Span, Time};
use tidegate_gateway::watch::counters::LossReason;
use tidegate_gateway::watch::observer::Observer;
use tidegate_gateway::watch::record::{Recorder, Recording};
use tidegate_packet::Capture;

/// A file that goes when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("tidegate-{}-{name}.pcapng", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn recording(limit: Option<u64>) -> Recording {
    Recording {
        interface: "east".into(),
        about: "from east to west through sfb at 100 Mbit/s".into(),
        zero: SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000),
        limit: limit.map(Bytes::new),
    }
}

/// Stamps, frames and comments of a capture.
fn read(path: &Path) -> Vec<(Duration, Vec<u8>, String)> {
    let mut reader = PcapNgReader::new(File::open(path).unwrap()).unwrap();
    let mut found = Vec::new();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
        let [EnhancedPacketOption::Comment(comment)] = &packet.options[..] else {
            panic!("{:?}", packet.options)
        };
        found.push((packet.timestamp, packet.data.to_vec(), comment.to_string()));
    }
    found
}

#[test]
fn every_frame_is_in_the_file_with_its_time_and_what_became_of_it() {
    let scratch = Scratch::new("all");
    let mut recorder = Recorder::create(&scratch.0, &recording(None)).unwrap();
    let mut dice = Rng::from_seed(1);
    let mut told = Vec::new();
    for i in 0..10_000_u64 {
        let at = Time::from_nanos(1_000_000_007 * i / 1000);
        let frame: Vec<u8> = (0..14 + dice.below(1500)).map(|_| dice.bits() as u8).collect();
        let waited = Span::from_nanos(1_234_567);
        let comment = match i % 4 {
            0 => {
                recorder.sent(at, waited, None, &frame);
                "sent after 1.235 ms"
            }
            1 => {
                recorder.sent(at, Span::ZERO, Some(MarkReason::Early), &frame);
                "marked early, sent after 0 ms"
            }
            2 => {
                recorder.lost(at, LossReason::Queue(DropReason::Overlimit), &frame);
                "dropped overlimit"
            }
            _ => {
                recorder.lost(at, LossReason::TooLong, &frame);
                "dropped too_long"
            }
        };
        told.push((
            Duration::from_nanos(1_000_000_000_000_000_000 + at.as_nanos()),
            frame,
            comment.to_string(),
        ));
    }
    let recorded = recorder.finish();
    assert_eq!((recorded.written, recorded.unwritten, recorded.trouble), (10_000, 0, None));
    assert_eq!(recorded.bytes, fs::metadata(&scratch.0).unwrap().len());
    assert!(read(&scratch.0) == told);
    let mut capture = Capture::open(&scratch.0).unwrap();
    for (stamp, frame, _) in &told {
        let packet = capture.next_packet().unwrap().unwrap();
        assert_eq!((packet.bytes, packet.wire_len as usize), (&frame[..], frame.len()));
        assert_eq!(packet.time.as_nanos(), (*stamp - told[0].0).as_nanos() as u64);
    }
    assert!(capture.next_packet().unwrap().is_none());
}

#[test]
fn the_file_stays_within_its_limit() {
    let scratch = Scratch::new("limit");
    let mut recorder = Recorder::create(&scratch.0, &recording(Some(10_000))).unwrap();
    for i in 0..20_000 {
        recorder.lost(Time::from_nanos(i), LossReason::CutOff, &[0; 200]);
    }
    let recorded = recorder.finish();
    let found = read(&scratch.0).len() as u64;
    assert_eq!((recorded.written, recorded.unwritten), (found, 20_000 - found));
    assert!((35..50).contains(&found) && recorded.bytes <= 10_000, "{recorded:?}");
    assert_eq!(recorded.trouble.as_deref(), Some("the file has reached its limit"));
}

/// A disk that writes the rest only when the test says so.
struct Slow(Receiver<()>, usize);

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1 += 1;
        if self.1 > 1 {
            let _ = self.0.recv();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_slow_disk_holds_nobody_up_and_what_it_missed_is_counted() {
    let (go, wait) = channel();
    let mut recorder = Recorder::to(Slow(wait, 0), &recording(None)).unwrap();
    // 64 MB of frames, four times what there is room for; this ends although nothing is written
    // before `go`.
    for i in 0..64_000 {
        recorder.sent(Time::from_nanos(i), Span::ZERO, None, &[0; 1000]);
    }
    drop(go);
    let recorded = recorder.finish();
    assert_eq!((recorded.written + recorded.unwritten, recorded.trouble), (64_000, None));
    assert!((10_000..20_000).contains(&recorded.written), "{}", recorded.written);
}

#[test]
fn a_full_disk_ends_the_recording_and_nothing_else() {
    let full = match File::options().write(true).open("/dev/full") {
        Ok(full) => full,
        Err(why) => return eprintln!("SKIPPED: /dev/full: {why}"),
    };
    let error = Recorder::to(full, &recording(None)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{error}");
    assert!(Recorder::create("/nowhere/at/all", &recording(None)).is_err());
    // And one that fills up later.
    struct Filling(usize);
    impl Write for Filling {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut recorder = Recorder::to(Filling(2_000_000), &recording(None)).unwrap();
    for i in 0..100_000 {
        recorder.sent(Time::from_nanos(i), Span::ZERO, None, &[0; 1000]);
    }
    let recorded = recorder.finish();
    assert_eq!(recorded.written + recorded.unwritten, 100_000);
    assert!(
        recorded.bytes <= 2_000_000 && recorded.written * 1000 < recorded.bytes,
        "{recorded:?}"
    );
    assert!(recorded.trouble.is_some(), "{recorded:?}");
}
