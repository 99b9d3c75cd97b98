//! Capture files of every kind, whole, cut at every byte and damaged.
use std::io::{self, Read, Write};
use std::process::{Command, Stdio};

use proptest::prelude::*;
use tidegate_packet::capture::MAX_FRAME;
use tidegate_packet::{Capture, CaptureError, Fault, LinkType, Within};

/// One packet read: time in nanoseconds, length on the wire, captured bytes.
type Read1 = (u64, u32, Vec<u8>);

/// Everything that can be read of `bytes`, what was wrong then, and how many stamps ran back.
fn read(bytes: impl Read) -> (Vec<Read1>, Option<CaptureError>, u64) {
    let mut packets = Vec::new();
    let mut capture = match Capture::from_reader(bytes) {
        Ok(capture) => capture,
        Err(error) => return (packets, Some(error), 0),
    };
    let error = loop {
        match capture.next_packet() {
            Ok(Some(p)) => packets.push((p.time.as_nanos(), p.wire_len, p.bytes.to_vec())),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    assert!(capture.next_packet().unwrap().is_none(), "nothing after the end");
    assert_eq!(capture.packets(), packets.len() as u64);
    (packets, error, capture.backward())
}

fn why(bytes: &[u8]) -> String {
    read(bytes).1.expect("an error").to_string()
}

/// Writes numbers in either byte order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Little,
    Big,
}
use Order::{Big, Little};

impl Order {
    fn n16(self, n: u16) -> Vec<u8> {
        if self == Little { n.to_le_bytes().into() } else { n.to_be_bytes().into() }
    }
    fn n32(self, n: u32) -> Vec<u8> {
        if self == Little { n.to_le_bytes().into() } else { n.to_be_bytes().into() }
    }
    fn n64(self, n: u64) -> Vec<u8> {
        if self == Little { n.to_le_bytes().into() } else { n.to_be_bytes().into() }
    }
}

fn pcap_header(order: Order, magic: u32, link: u32) -> Vec<u8> {
    let mut file = order.n32(magic);
    file.extend([order.n16(2), order.n16(4)].concat());
    [0, 0, 96, link].iter().for_each(|&n| file.extend(order.n32(n)));
    file
}

fn pcap_record(order: Order, stamp: (u32, u32), wire_len: u32, bytes: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    [stamp.0, stamp.1, bytes.len() as u32, wire_len]
        .iter()
        .for_each(|&n| record.extend(order.n32(n)));
    record.extend(bytes);
    record
}

fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let len = order.n32(body.len() as u32 + 12);
    [order.n32(kind), len.clone(), body, len].concat()
}

fn section(order: Order) -> Vec<u8> {
    let body = [order.n32(0x1a2b_3c4d), order.n16(1), order.n16(0), order.n64(u64::MAX)].concat();
    block(order, 0x0a0d_0d0a, &body)
}

fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = [order.n16(code), order.n16(value.len() as u16), value.to_vec()].concat();
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

fn interface(order: Order, link: u16, snap_len: u32, options: &[Vec<u8>]) -> Vec<u8> {
    let fixed = [order.n16(link), order.n16(0), order.n32(snap_len)].concat();
    block(order, 1, &[fixed, options.concat()].concat())
}

fn enhanced(order: Order, interface: u32, stamp: u64, wire_len: u32, bytes: &[u8]) -> Vec<u8> {
    let numbers = [interface, (stamp >> 32) as u32, stamp as u32, bytes.len() as u32, wire_len];
    let mut body: Vec<u8> = numbers.iter().flat_map(|&n| order.n32(n)).collect();
    body.extend(bytes);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend([option(order, 1, b"a comment"), option(order, 0, &[])].concat());
    block(order, 6, &body)
}

#[test]
fn pcap_in_both_orders_and_both_resolutions() {
    for order in [Little, Big] {
        for (magic, scale) in [(0xa1b2_c3d4, 1000), (0xa1b2_3c4d, 1)] {
            let mut file = pcap_header(order, magic, 1);
            file.extend(pcap_record(order, (5, 999_999), 1514, b"abc"));
            file.extend(pcap_record(order, (6, 1), 60, b""));
            // A frame said to be shorter than what there is of it is as long as that.
            file.extend(pcap_record(order, (3_000_000_000, 0), 0, b"abcdef"));
            let (packets, error, backward) = read(&file[..]);
            assert_eq!((error, backward), (None, 0));
            let gap = 1_000_000_000 - 999_998 * scale;
            let late = 2_999_999_995 * 1_000_000_000 - 999_999 * scale;
            assert_eq!(
                packets,
                [(0, 1514, b"abc".to_vec()), (gap, 60, vec![]), (late, 6, b"abcdef".to_vec())],
                "{order:?} {magic:x}"
            );
        }
    }
}

/// A section with three interfaces and every kind of block.
fn pcapng(order: Order) -> Vec<Vec<u8>> {
    let nanos = [option(order, 2, b"eth0"), option(order, 9, &[9]), option(order, 0, &[])];
    let binary = [option(order, 9, &[0x80 | 10]), option(order, 14, &order.n64((-3i64) as u64))];
    let obsolete = {
        let fixed = [
            order.n16(1),
            order.n16(0),
            order.n32(0),
            order.n32(10_000_004),
            order.n32(2),
            order.n32(77),
        ];
        block(order, 2, &[fixed.concat(), b"ob".to_vec()].concat())
    };
    vec![
        section(order),
        interface(order, 1, 5, &nanos),
        interface(order, 101, 0, &[]),
        block(order, 5, &[1; 12]),
        interface(order, 276, 0, &binary),
        enhanced(order, 0, 10_000_000_000, 1514, b"abcde"),
        enhanced(order, 1, 10_000_003, 60, b"xyz"),
        obsolete,
        block(order, 3, &[order.n32(900), b"snaps".to_vec()].concat()),
        block(order, 0x0bad, &[9; 64]),
        // 13 s and 1/1024, and three seconds back.
        enhanced(order, 2, 13 * 1024 + 1, 61, b""),
    ]
}

fn pcapng_packets() -> Vec<Read1> {
    vec![
        (0, 1514, b"abcde".to_vec()),
        (3_000, 60, b"xyz".to_vec()),
        (4_000, 77, b"ob".to_vec()),
        (4_000, 900, b"snaps".to_vec()),
        (976_562, 61, vec![]),
    ]
}

#[test]
fn pcapng_with_interfaces_of_their_own_resolution_offset_and_link_type() {
    for order in [Little, Big] {
        assert_eq!(read(&pcapng(order).concat()[..]), (pcapng_packets(), None, 0));
    }
    let file = pcapng(Little).concat();
    let mut capture = Capture::from_reader(&file[..]).unwrap();
    assert_eq!(capture.started(), None);
    let mut links = Vec::new();
    while let Some(packet) = capture.next_packet().unwrap() {
        links.push(packet.link);
    }
    use LinkType::{Ethernet, LinuxSll2, Raw};
    assert_eq!(links, [Ethernet, Raw, Raw, Ethernet, LinuxSll2]);
    assert_eq!(capture.started(), Some(10_000_000_000));
}

#[test]
fn a_new_section_forgets_the_interfaces_and_may_turn_the_byte_order() {
    let file = [pcapng(Little).concat(), pcapng(Big).concat()].concat();
    let (packets, error, backward) = read(&file[..]);
    assert_eq!(error, None);
    // The second section's stamps begin again: its first four run back behind the first section's
    // last.
    assert_eq!(packets.len(), 10);
    assert_eq!(backward, 3, "the simple packet has no stamp");
    assert!(packets.is_sorted_by_key(|p| p.0));
    let file = [pcapng(Little).concat(), section(Big), enhanced(Big, 0, 1, 60, b"a")].concat();
    assert!(
        why(&file).starts_with("a packet of interface 0, where the section has 0"),
        "{}",
        why(&file)
    );
}

#[test]
fn stamps_of_any_resolution() {
    let gap = |resolution: u8, stamp: u64| {
        let options = [option(Little, 9, &[resolution])];
        let parts = [section(Little), interface(Little, 1, 0, &options)];
        let file =
            [parts.concat(), enhanced(Little, 0, 0, 60, b""), enhanced(Little, 0, stamp, 60, b"")]
                .concat();
        read(&file[..]).0.get(1).map(|p| p.0)
    };
    assert_eq!(gap(0, 7), Some(7_000_000_000));
    assert_eq!(gap(9, 7), Some(7));
    assert_eq!(gap(12, 7_999), Some(7));
    assert_eq!(gap(127, u64::MAX), Some(0));
    assert_eq!(gap(0x80, 7), Some(7_000_000_000));
    assert_eq!(gap(0x80 | 32, 1 << 31), Some(500_000_000));
    assert_eq!(gap(0x80 | 127, u64::MAX), Some(0));
    // A hundred years are too many for one capture.
    assert_eq!(gap(0, 3_000_000_000), Some(3_000_000_000_000_000_000));
    assert_eq!(gap(0, 3_200_000_000), None);
    assert_eq!(gap(0, u64::MAX), None);
}

#[test]
fn time_never_runs_back() {
    let mut file = pcap_header(Little, 0xa1b2_3c4d, 1);
    for nanos in [500, 700, 600, 100, 700, 800] {
        file.extend(pcap_record(Little, (9, nanos), 60, b""));
    }
    let (packets, error, backward) = read(&file[..]);
    assert_eq!((error, backward), (None, 2));
    assert_eq!(packets.iter().map(|p| p.0).collect::<Vec<_>>(), [0, 200, 200, 200, 200, 300]);
}

#[test]
fn a_file_cut_at_any_byte_gives_what_is_whole_and_says_where_it_ends() {
    let pcap = vec![
        pcap_header(Big, 0xa1b2_c3d4, 1),
        pcap_record(Big, (1, 1), 100, b"first"),
        pcap_record(Big, (1, 2), 100, b""),
        pcap_record(Big, (1, 3), 100, b"third"),
    ];
    for parts in [pcap, pcapng(Little), pcapng(Big)] {
        let file = parts.concat();
        let (all, _, _) = read(&file[..]);
        let mut begins = vec![0];
        parts.iter().for_each(|part| begins.push(begins[begins.len() - 1] + part.len()));
        for cut in 4..file.len() {
            let (packets, error, _) = read(&file[..cut]);
            assert_eq!(packets, all[..packets.len()]);
            if begins.contains(&cut) {
                assert_eq!(error, None, "cut between two parts, at {cut}");
                continue;
            }
            let error = error.expect("an error");
            assert_eq!(error.fault, Fault::CutShort, "{error}");
            let begin = begins.iter().rev().find(|&&b| b < cut).unwrap();
            assert_eq!(
                (error.offset, error.packets),
                (*begin as u64, packets.len() as u64),
                "cut at {cut}"
            );
            assert!(
                error.why.contains(&format!("ends {} bytes into", cut - begin)),
                "cut at {cut}: {error}"
            );
            // Nothing that is whole in the cut file is missing.
            let (whole, _, _) = read(&file[..*begin]);
            assert_eq!(packets.len(), whole.len());
        }
    }
}

#[test]
fn a_damaged_record_of_pcap_is_named() {
    let record = |stamp, captured: u32, wire_len: u32| {
        let good = [pcap_header(Little, 0xa1b2_c3d4, 1), pcap_record(Little, (1, 1), 60, b"good")]
            .concat();
        let header: Vec<u8> =
            [1, stamp, captured, wire_len].iter().flat_map(|&n| Little.n32(n)).collect();
        why(&[good, header, vec![0; captured.min(300_000) as usize]].concat())
    };
    assert_eq!(
        record(1_000_000, 0, 60),
        "a stamp with 1000000 of the 1000000 parts of a second (at byte 44, after 1 packet)"
    );
    assert_eq!(
        record(2, MAX_FRAME + 1, 60),
        "a record of 262145 bytes, above the limit of 262144 (at byte 44, after 1 packet)"
    );
    assert!(
        record(2, 4, u32::MAX)
            .starts_with("a packet of 4294967295 bytes, above the limit of 16777216 (at byte 44")
    );
}

/// What is said of these bytes behind a packet of pcapng that is whole.
fn after_a_packet(bytes: Vec<u8>) -> String {
    let good = [section(Little), interface(Little, 1, 0, &[]), enhanced(Little, 0, 1, 60, b"good")]
        .concat();
    let (packets, error, _) = read(&[&good[..], &bytes].concat()[..]);
    let error = error.expect("an error");
    assert_eq!((packets.len(), error.offset), (1, good.len() as u64));
    error.why
}

#[test]
fn a_block_of_pcapng_with_a_wrong_length_is_named() {
    let mut trailer = enhanced(Little, 0, 2, 60, b"abcd");
    let end = trailer.len() - 4;
    trailer[end] += 1;
    assert_eq!(
        after_a_packet(trailer),
        "a packet block of 56 bytes at its beginning, 57 at its end"
    );
    for (kind, len, told) in [
        (99, 8, "a block of 8 bytes, where at least 12 and a multiple of 4 are due"),
        (99, 13, "a block of 13 bytes, where at least 12 and a multiple of 4 are due"),
        (99, 0xffff_fffc, "a block of 4294967292 bytes, above the limit of 16777216"),
        (6, 28, "a packet block of 28 bytes has not the room for what it says it holds"),
    ] {
        let block = [Little.n32(kind), Little.n32(len), vec![0; 100]].concat();
        assert_eq!(after_a_packet(block), told);
    }
}

#[test]
fn a_block_of_pcapng_that_holds_what_cannot_be_is_named() {
    let words = |words: [u32; 5]| words.iter().flat_map(|&n| Little.n32(n)).collect::<Vec<u8>>();
    for (block, told) in [
        (enhanced(Little, 5, 2, 60, b""), "a packet of interface 5, where the section has 1"),
        (
            block(Little, 6, &words([0, 0, 2, MAX_FRAME + 1, 60])),
            "a frame of 262145 bytes, above the limit of 262144",
        ),
        (
            block(Little, 6, &words([0, 0, 2, 100, 100])),
            "a packet block of 32 bytes has not the room for what it says it holds",
        ),
        (interface(Little, 1, 0, &[option(Little, 9, &[6, 6])]), "option 9 with 2 bytes"),
    ] {
        assert_eq!(after_a_packet(block), told);
    }
    let section_mark = after_a_packet(block(Little, 0x0a0d_0d0a, &[1, 2, 3, 4]));
    assert!(section_mark.contains("[01, 02, 03, 04] in place of the byte-order mark"));
}

#[test]
fn what_cannot_be_read_is_named() {
    assert_eq!(why(b""), "the file is empty");
    assert_eq!(why(b"ab"), "no capture: the file has only 2 bytes");
    assert_eq!(
        why(b"GIF89a"),
        "neither pcap nor pcapng: the file begins with the bytes 47 49 46 38"
    );
    let zstd = why(&[0x28, 0xb5, 0x2f, 0xfd]);
    assert_eq!(zstd, "the file is compressed with zstd; decompress it first");
    let zigbee = why(&pcap_header(Little, 0xa1b2_c3d4, 195));
    assert!(
        zigbee.starts_with("link type 195 (IEEE 802.15.4) cannot be read; Ethernet (1),"),
        "{zigbee}"
    );
    let mut old = pcap_header(Little, 0xa1b2_c3d4, 1);
    old[4] = 1;
    assert!(why(&old).starts_with("pcap version 1.4 cannot be read"), "{}", why(&old));
    let missing = Capture::open("no/such/file.pcap").unwrap_err();
    assert!(
        missing.to_string().starts_with("cannot open `no/such/file.pcap`: No such file"),
        "{missing}"
    );
    let directory = Capture::open("src").unwrap_err();
    assert_eq!(directory.to_string(), "`src` is a directory, not a capture file");
}

/// Three interfaces. The second and the third have link types that cannot be read.
fn mixed(order: Order) -> Vec<Vec<u8>> {
    vec![
        section(order),
        interface(order, 1, 0, &[]),
        interface(
            order,
            195,
            0,
            &[option(order, 2, b"lowpan0"), option(order, 9, &[9]), option(order, 0, &[])],
        ),
        interface(order, 60_000, 0, &[]),
        enhanced(order, 1, 1, 60, b"one"),
        enhanced(order, 0, 5, 60, b"two"),
        enhanced(order, 2, 7, 60, b"three"),
        enhanced(order, 1, u64::MAX, 60, b"four"),
        enhanced(order, 0, 9, 60, b"five"),
    ]
}

#[test]
fn packets_of_unknown_link_types_are_skipped_counted_and_named() {
    for order in [Little, Big] {
        let file = mixed(order).concat();
        let mut capture = Capture::from_reader(&file[..]).unwrap();
        let mut seen = vec![];
        while let Some(p) = capture.next_packet().unwrap() {
            seen.push((p.time.as_nanos(), p.bytes.to_vec()));
        }
        // Time begins with the first packet that can be read.
        assert_eq!(seen, [(0, b"two".to_vec()), (4_000, b"five".to_vec())]);
        assert_eq!((capture.packets(), capture.skipped().packets()), (2, 3));
        let named: Vec<_> =
            capture.skipped().named().iter().map(|s| (s.interface, s.link.0, s.packets)).collect();
        assert_eq!(named, [(1, 195, 2), (2, 60_000, 1)]);
        assert_eq!(
            capture.skipped().to_string(),
            "3 packets were skipped, of link types that cannot be read: \
             2 of interface 1 (`lowpan0`), link type 195 (IEEE 802.15.4); 1 of interface 2, link \
        type 60000"
        );
    }
}

#[test]
fn a_capture_of_unknown_link_types_alone_is_refused() {
    // The link type of an interface matters when it has a packet.
    let silent = [section(Little), interface(Little, 195, 0, &[])].concat();
    assert_eq!(read(&silent[..]), (vec![], None, 0));
    let heard = [silent.clone(), enhanced(Little, 0, 1, 60, b"")].concat();
    let error = read(&heard[..]).1.unwrap();
    assert_eq!((error.fault, error.packets), (Fault::Unsupported, 0));
    let expected = "1 packet was skipped, of link types that cannot be read: 1 of interface 0, \
                    link type 195 \
                    (IEEE 802.15.4); link type 195 (IEEE 802.15.4) cannot be read; Ethernet (1)";
    assert!(error.to_string().starts_with(expected), "{error}");
    // A simple packet belongs to the first interface.
    let simple = [silent, block(Little, 3, &[Little.n32(4), b"snap".to_vec()].concat())].concat();
    assert!(why(&simple).starts_with("1 packet was skipped"), "{}", why(&simple));
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_packed_capture_reads_as_it_would_unpacked() {
    let pcap = [pcap_header(Big, 0xa1b2_3c4d, 1), pcap_record(Big, (1, 1), 100, b"first")].concat();
    for file in [pcap, pcapng(Little).concat(), pcapng(Big).concat()] {
        let plain = read(&file[..]);
        assert_eq!(plain.1, None);
        assert_eq!(read(&packed(&file)[..]), plain);
        assert_eq!(read(OneByOne(&packed(&file))), plain);
        // gzip's streams may follow one another, and the seam may be anywhere.
        for seam in 0..file.len() {
            let two = [packed(&file[..seam]), packed(&file[seam..])].concat();
            assert_eq!(read(&two[..]), plain, "seam at {seam}");
        }
    }
}

/// A reader that gives a byte at a time.
struct OneByOne<'a>(&'a [u8]);

impl Read for OneByOne<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let into = if into.is_empty() { into } else { &mut into[..1] };
        self.0.read(into)
    }
}

#[test]
fn gzip_of_the_system_is_read() {
    let file =
        [pcap_header(Little, 0xa1b2_c3d4, 1), pcap_record(Little, (1, 1), 100, b"first")].concat();
    let mut gzip = Command::new("gzip")
        .args(["-9c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    gzip.stdin.take().unwrap().write_all(&file).unwrap();
    let out = gzip.wait_with_output().unwrap().stdout;
    assert_eq!(out[..2], [0x1f, 0x8b]);
    assert_eq!(read(&out[..]), read(&file[..]));
    // RFC 1952 §2.3.1: extra bytes, a name, a comment and a check of the header.
    let (mut rich, body) = (out[..10].to_vec(), &out[10..]);
    rich[3] = 4 | 8 | 16;
    rich.extend([3, 0, b'x', b'y', b'z']);
    rich.extend(b"a.pcap\0by hand\0");
    rich.extend(body);
    assert_eq!(read(&rich[..]), read(&file[..]));
}

#[test]
fn a_packed_file_that_is_cut_short_or_damaged_gives_what_came_before() {
    let file = pcapng(Little).concat();
    let (all, packed) = (pcapng_packets(), packed(&file));
    for cut in 3..packed.len() {
        let (packets, error, _) = read(&packed[..cut]);
        assert_eq!(packets, all[..packets.len()], "cut at {cut}");
        let error = error.expect("an error");
        assert_eq!(
            (error.fault, error.within),
            (Fault::CutShort, Within::Gzip),
            "cut at {cut}: {error}"
        );
        assert!(error.offset <= file.len() as u64);
        let text = error.to_string();
        assert!(
            text.starts_with(
                "the file, packed by gzip, ends before what is packed in it (at byte "
            ),
            "{text}"
        );
        let plural = if packets.len() == 1 { "" } else { "s" };
        let end = format!(" of what gzip unpacks, after {} packet{plural})", packets.len());
        assert!(text.ends_with(&end), "{text}");
    }
    // The check sum stands eight bytes before the end.
    let mut wrong = packed.clone();
    let at = wrong.len() - 8;
    wrong[at] ^= 1;
    let (packets, error, _) = read(&wrong[..]);
    assert_eq!(packets, all);
    assert_eq!(error.unwrap().fault, Fault::Damaged);
    // What is wrong within is said as it would be, and where.
    let cut = self::packed(&file[..file.len() - 1]);
    let error = read(&cut[..]).1.unwrap();
    assert!(error.to_string().contains("bytes into a packet block (at byte "), "{error}");
    assert!(error.to_string().contains(" of what gzip unpacks, after 4 packets)"), "{error}");
    assert_eq!(why(&self::packed(b"GIF89a")), format!("{} (in what gzip unpacks)", why(b"GIF89a")));
    assert_eq!(
        why(&self::packed(&packed)),
        "packed by gzip once more; unpack it once (in what gzip unpacks)"
    );
    assert_eq!(why(&self::packed(b"")), "the file is empty (in what gzip unpacks)");
}

#[test]
fn what_is_packed_is_unpacked_as_it_is_read() {
    // A hundred million bytes of frames in a hundred thousand: nothing of it is kept.
    let record = pcap_record(Little, (1, 1), 200_000, &vec![0; 200_000]);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&pcap_header(Little, 0xa1b2_c3d4, 1)).unwrap();
    (0..500).for_each(|_| encoder.write_all(&record).unwrap());
    let file = encoder.finish().unwrap();
    assert!(file.len() < 1_000_000, "{}", file.len());
    let mut capture = Capture::from_reader(&file[..]).unwrap();
    let mut furthest = 0;
    while let Some(packet) = capture.next_packet().unwrap() {
        assert_eq!(packet.bytes.len(), 200_000);
        assert!(capture.offset() >= furthest && capture.offset() <= file.len() as u64);
        furthest = capture.offset();
    }
    assert_eq!((capture.packets(), furthest), (500, file.len() as u64), "progress is of the file");
}

/// What pcap-file, which writes our captures, makes of `bytes`: how many packets, and its error.
fn by_library(bytes: &[u8]) -> (usize, Option<String>) {
    let mut reader = match pcap_file::pcapng::PcapNgReader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return (0, Some(error.to_string())),
    };
    let mut packets = 0;
    while let Some(block) = reader.next_block() {
        match block {
            Ok(pcap_file::pcapng::Block::EnhancedPacket(_)) => packets += 1,
            Ok(_) => {}
            Err(error) => return (packets, Some(error.to_string())),
        }
    }
    (packets, None)
}

/// Why one library does not serve for reading, too. Where this fails because the library reads more
/// or says more, think again.
#[test]
fn the_library_that_writes_would_lose_captures_and_messages() {
    let packet = || enhanced(Little, 0, 1, 60, b"good");
    let with = |options: &[Vec<u8>]| {
        [section(Little), interface(Little, 1, 0, options), packet()].concat()
    };
    // Sound captures that it refuses: stamps in picoseconds or in parts of a power of two, a name
    // that is not UTF-8, a long block.
    let picoseconds = with(&[option(Little, 9, &[12])]);
    let binary = with(&[option(Little, 9, &[0x80 | 10])]);
    let named = with(&[option(Little, 2, &[0xff, 0xfe])]);
    let long = [with(&[]), block(Little, 0x0bad, &vec![0; 9_000_000]), packet()].concat();
    for (file, packets) in [(picoseconds, 1), (binary, 1), (named, 1), (long, 2)] {
        let (theirs, refused) = by_library(&file);
        assert!(theirs < packets && refused.is_some(), "{theirs}, {refused:?}");
        let (ours, error, _) = read(&file[..]);
        assert_eq!((ours.len(), error), (packets, None));
    }
    // Different damage under one message, without the place.
    let good = with(&[]);
    let cut = good[..good.len() - 3].to_vec();
    let huge = [&good[..], &Little.n32(99), &Little.n32(0xffff_fffc), &[0; 100]].concat();
    assert_eq!(by_library(&cut).1.as_deref(), Some("Error reading bytes"));
    assert_eq!(by_library(&huge).1.as_deref(), Some("Error reading bytes"));
    assert_eq!(
        why(&cut),
        "the file ends 53 bytes into a packet block (at byte 48, after 0 packets)"
    );
    let expected =
        "a block of 4294967292 bytes, above the limit of 16777216 (at byte 104, after 1 packet)";
    assert_eq!(why(&huge), expected);
    // A packet of an interface that is not there passes.
    let stray = [good, enhanced(Little, 5, 1, 60, b"good")].concat();
    assert_eq!(by_library(&stray), (2, None));
    assert!(
        why(&stray).starts_with("a packet of interface 5, where the section has 1"),
        "{}",
        why(&stray)
    );
}

#[test]
fn interfaces_are_limited() {
    let one = interface(Little, 1, 0, &[]);
    let file = |n: usize| [section(Little), one.repeat(n)].concat();
    assert_eq!(read(&file(4096)[..]).1, None);
    assert!(why(&file(4097)).starts_with("more than 4096 interfaces in a section"));
}

/// A reader that gives a byte at a time, and at last an error of its own.
struct Drip<'a>(&'a [u8]);

impl Read for Drip<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some((&first, rest)) = self.0.split_first() else {
            return Err(io::Error::other("the disk is on fire"));
        };
        self.0 = rest;
        into[0] = first;
        Ok(1)
    }
}

#[test]
fn a_failing_reader_loses_nothing_that_came_before() {
    let file = pcapng(Big).concat();
    let (packets, error, _) = read(Drip(&file));
    assert_eq!(packets, pcapng_packets());
    let error = error.unwrap();
    assert_eq!((error.fault, error.offset), (Fault::Read, file.len() as u64));
    assert!(error.to_string().starts_with("cannot be read: the disk is on fire"), "{error}");
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() }
}

/// No packet is longer than a frame may be, or than it was on the wire.
fn lengths_hold(packets: &[Read1]) -> bool {
    packets.iter().all(|p| p.2.len() <= MAX_FRAME as usize && p.1 as usize >= p.2.len())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn damage_anywhere_never_panics_and_leaves_what_came_before(
        at in any::<prop::sample::Index>(),
        bytes in proptest::collection::vec(any::<u8>(), 1..6),
        kind in 0..4,
    ) {
        let parts = match kind {
            0 => vec![
                pcap_header(Little, 0xa1b2_c3d4, 1),
                pcap_record(Little, (1, 1), 100, b"first"),
                pcap_record(Little, (1, 3), 100, b"second"),
            ],
            1 => pcapng(Little),
            2 => pcapng(Big),
            _ => mixed(Little),
        };
        let mut file = parts.concat();
        let before = read(&file[..]).0;
        let at = at.index(file.len());
        for (byte, new) in file[at..].iter_mut().zip(&bytes) {
            *byte = *new;
        }
        let (after, _, _) = read(&file[..]);
        let untouched = read(&file[..at]).0.len();
        prop_assert_eq!(&before[..untouched], &after[..untouched]);
        prop_assert!(lengths_hold(&after));
        prop_assert!(after.is_sorted_by_key(|p| p.0));
    }

    #[test]
    fn damage_anywhere_in_a_packed_file_never_panics(
        at in any::<prop::sample::Index>(), bytes in proptest::collection::vec(any::<u8>(), 1..6)
    ) {
        let mut file = packed(&pcapng(Little).concat());
        let at = at.index(file.len());
        for (byte, new) in file[at..].iter_mut().zip(&bytes) {
            *byte = *new;
        }
        let (packets, _, _) = read(&file[..]);
        prop_assert!(lengths_hold(&packets));
        prop_assert!(packets.is_sorted_by_key(|p| p.0));
    }
}
