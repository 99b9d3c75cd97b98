//! A capture file of the managed direction: every frame as it left or was lost, with what became of
//! it as its comment.
//!
//! A thread that moves frames only copies them into memory that is there already; a thread of its
//! own writes them. If the disk is too slow, frames go unrecorded and are counted: a recorder never
//! holds up a frame.
use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use tidegate::{Bytes, MarkReason, Span, Time};

use crate::machine::confine;
use crate::watch::counters::LossReason;
use crate::watch::observer::Observer;

/// Frames are handed to the writing thread by so many bytes at a time …
const CHUNK: usize = 256 << 10;
/// … or so many frames …
const FRAMES: usize = 4096;
/// There is room for so many chunks, in memory and on their way to the disk.
const CHUNKS: usize = 64;
/// A chunk is handed over when its first frame is so old and another one comes.
const PATIENCE: Span = Span::from_millis(100);
/// What a block takes in the file beyond its frame and comment, at most.
const BLOCK: u64 = 64;

/// What is recorded, and where to stop.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The interface that the frames came in on.
    pub interface: String,
    /// What they went through, for people.
    pub about: String,
    /// What the wall clock said at time zero.
    pub zero: SystemTime,
    /// The file grows no larger; `None` for as large as the disk allows.
    pub limit: Option<Bytes>,
}

/// How a recording ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Frames in the file.
    pub written: u64,
    /// Frames that are not in the file, of those that there were.
    pub unwritten: u64,
    /// The file's length, in bytes.
    pub bytes: u64,
    /// What ended it early.
    pub trouble: Option<String>,
}

/// Records what it observes.
#[derive(Debug)]
pub struct Recorder {
    chunk: Chunk,
    full: SyncSender<Chunk>,
    spare: Receiver<Chunk>,
    writer: JoinHandle<Recorded>,
    seen: u64,
    ended: bool,
}

/// A file at `path` where nothing was before, not even a link that leads nowhere. Somebody who may
/// put a link there could else have any file overwritten that we may write.
fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            let what = match fs::symlink_metadata(path) {
                Ok(there) if there.is_symlink() => {
                    "is a symbolic link; name the file itself, which must be new"
                }
                Ok(there) if there.is_dir() => "is a directory; name a file in it",
                _ => "is there already, and is not overwritten; move it away or name another",
            };
            io::Error::new(ErrorKind::AlreadyExists, what)
        }
        _ => error,
    })
}

/// Some frames.
#[derive(Debug)]
struct Chunk {
    bytes: Vec<u8>,
    entries: Vec<RecordEntry>,
}

#[derive(Clone, Copy, Debug)]
struct RecordEntry {
    at: Time,
    len: usize,
    fate: FrameFate,
}

#[derive(Clone, Copy, Debug)]
enum FrameFate {
    Sent(Span, Option<MarkReason>),
    Lost(LossReason),
}

impl Recorder {
    /// Creates the file and begins to record. What is there already stays as it is.
    ///
    /// # Errors
    /// Something is there, the file cannot be created or written, or no thread started.
    pub fn create(path: impl AsRef<Path>, of: &Recording) -> io::Result<Recorder> {
        Recorder::to(new_file(path.as_ref())?, of)
    }

    /// Tries whether a capture could be created at `path`, and leaves nothing behind.
    ///
    /// # Errors
    /// Those of [`create`](Recorder::create).
    pub fn try_out(path: &Path) -> io::Result<()> {
        new_file(path)?;
        fs::remove_file(path)
    }

    /// The same into anything that can be written to.
    ///
    /// # Errors
    /// It cannot be written to, or no thread started.
    pub fn to(target: impl Write + Send + 'static, of: &Recording) -> io::Result<Recorder> {
        let file =
            RecordFile::begin(BufWriter::with_capacity(CHUNK, target), of).map_err(unwrap)?;
        let (full, written) = sync_channel::<Chunk>(CHUNKS);
        let (emptied, spare) = sync_channel(CHUNKS);
        for _ in 1..CHUNKS {
            let _ = emptied.send(Chunk::new());
        }
        let write = move || {
            // The file is open, and it needs nothing else. What it keeps, if the kernel refuses, it
            // does not use.
            let _ = confine::give_up();
            file.write(&written, &emptied)
        };
        let writer = thread::Builder::new().name("recorder".into()).spawn(write)?;
        Ok(Recorder { chunk: Chunk::new(), full, spare, writer, seen: 0, ended: false })
    }

    /// Writes what is still in memory, which may wait for the disk, and ends the recording.
    pub fn finish(self) -> Recorded {
        // It fails if the writer has ended for a reason of its own, which it says.
        let _ = self.full.send(self.chunk);
        drop(self.full);
        let mut recorded = self.writer.join().unwrap_or_else(|_| Recorded {
            written: 0,
            unwritten: 0,
            bytes: 0,
            trouble: Some("the writing thread panicked".into()),
        });
        recorded.unwritten = self.seen - recorded.written;
        recorded
    }

    #[inline]
    fn note(&mut self, at: Time, fate: FrameFate, frame: &[u8]) {
        self.seen += 1;
        let old = self.chunk.entries.first().is_some_and(|first| at.since(first.at) > PATIENCE);
        if (old || !self.chunk.has_room(frame.len())) && !self.ended {
            self.hand_over();
        }
        if !self.ended && self.chunk.has_room(frame.len()) {
            self.chunk.bytes.extend_from_slice(frame);
            self.chunk.entries.push(RecordEntry { at, len: frame.len(), fate });
        }
    }

    /// Exchanges the chunk for an empty one, if there is one.
    fn hand_over(&mut self) {
        let Ok(empty) = self.spare.try_recv() else { return };
        let full = std::mem::replace(&mut self.chunk, empty);
        // There is room for every chunk there is, so this can only fail because the writer has
        // ended.
        self.ended = self.full.try_send(full).is_err();
    }
}

impl Observer for Recorder {
    #[inline]
    fn sent(&mut self, at: Time, waited: Span, mark: Option<MarkReason>, frame: &[u8]) {
        self.note(at, FrameFate::Sent(waited, mark), frame);
    }

    #[inline]
    fn lost(&mut self, at: Time, why: LossReason, frame: &[u8]) {
        self.note(at, FrameFate::Lost(why), frame);
    }
}

impl Chunk {
    fn new() -> Chunk {
        Chunk { bytes: Vec::with_capacity(CHUNK), entries: Vec::with_capacity(FRAMES) }
    }

    fn has_room(&self, len: usize) -> bool {
        self.bytes.len() + len <= CHUNK && self.entries.len() < FRAMES
    }
}

impl FrameFate {
    /// As a comment.
    fn tell(self) -> String {
        match self {
            FrameFate::Sent(waited, None) => format!("sent after {} ms", millis(waited)),
            FrameFate::Sent(waited, Some(why)) => {
                format!("marked {}, sent after {} ms", why.name(), millis(waited))
            }
            FrameFate::Lost(why) => format!("dropped {}", why.name()),
        }
    }
}

/// Milliseconds to the microsecond, without zeros that say nothing.
fn millis(span: Span) -> f64 {
    (span.as_nanos() as f64 / 1e3).round() / 1e3
}

/// The file that is being written.
struct RecordFile<W: Write> {
    file: PcapNgWriter<Counting<BufWriter<W>>>,
    zero: Duration,
    limit: u64,
    recorded: Recorded,
}

impl<W: Write> RecordFile<W> {
    /// Writes what comes before the first frame.
    fn begin(target: BufWriter<W>, of: &Recording) -> Result<RecordFile<W>, PcapError> {
        let program = concat!("tidegate ", env!("CARGO_PKG_VERSION")).into();
        let options = vec![SectionHeaderOption::UserApplication(program)];
        let section =
            SectionHeaderBlock { endianness: Endianness::native(), options, ..Default::default() };
        let mut file = PcapNgWriter::with_section_header(Counting { target, bytes: 0 }, section)?;
        let options = vec![
            InterfaceDescriptionOption::IfName(of.interface.clone().into()),
            InterfaceDescriptionOption::IfDescription(of.about.clone().into()),
            InterfaceDescriptionOption::IfTsResol(9), // stamps are in 10^-9 s
        ];
        file.write_pcapng_block(InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: 0,
            options,
        })?;
        file.get_mut().flush().map_err(PcapError::IoError)?;
        let zero = of.zero.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let limit = of.limit.map_or(u64::MAX, Bytes::get);
        let recorded =
            Recorded { written: 0, unwritten: 0, bytes: file.get_ref().bytes, trouble: None };
        Ok(RecordFile { file, zero, limit, recorded })
    }

    /// Writes chunks and gives them back until there are no more or something is in the way.
    fn write(mut self, full: &Receiver<Chunk>, emptied: &SyncSender<Chunk>) -> Recorded {
        while self.recorded.trouble.is_none()
            && let Ok(mut chunk) = full.recv()
        {
            match self.write_chunk(&chunk) {
                Ok(frames) => {
                    self.recorded.written += frames;
                    self.recorded.bytes = self.file.get_ref().bytes;
                }
                Err(error) => self.recorded.trouble = Some(error.to_string()),
            }
            chunk.bytes.clear();
            chunk.entries.clear();
            let _ = emptied.try_send(chunk);
        }
        self.recorded
    }

    /// Writes what fits into the limit; how many frames that are.
    fn write_chunk(&mut self, chunk: &Chunk) -> Result<u64, PcapError> {
        let (mut bytes, mut frames) = (&chunk.bytes[..], 0);
        for entry in &chunk.entries {
            let (frame, rest) = bytes.split_at(entry.len);
            bytes = rest;
            let comment = entry.fate.tell();
            if self.file.get_ref().bytes + BLOCK + (frame.len() + comment.len()) as u64 > self.limit
            {
                self.recorded.trouble = Some("the file has reached its limit".into());
                break;
            }
            self.file.write_pcapng_block(EnhancedPacketBlock {
                interface_id: 0,
                timestamp: self.zero + Duration::from_nanos(entry.at.as_nanos()),
                original_len: frame.len() as u32,
                data: Cow::Borrowed(frame),
                options: vec![EnhancedPacketOption::Comment(comment.into())],
            })?;
            frames += 1;
        }
        self.file.get_mut().flush().map_err(PcapError::IoError)?;
        Ok(frames)
    }
}

/// Counts what is written.
struct Counting<W> {
    target: W,
    bytes: u64,
}

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.target.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.target.flush()
    }
}

/// What was behind it, where that was an error of the system.
fn unwrap(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
