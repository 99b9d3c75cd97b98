//! How results came about: the command, its version, the machine.
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::ResultFile;

/// The file that marks a directory of results as ours.
pub const MARK: &str = "run.json";
/// What stands in it.
pub(crate) const MAKER: &str = "tidegate";
/// The version, and with it [`SOURCES`]: results of other code are not taken for ours.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("TIDEGATE_SOURCES"));
/// A hash of the sources that decide what a simulation gives.
pub const SOURCES: &str = env!("TIDEGATE_SOURCES");
/// The commit that the program was built from; none but in a release built from a clone.
pub const COMMIT: Option<&str> = option_env!("TIDEGATE_COMMIT");

/// What stands in [`MARK`].
///
/// ```
/// use tidegate_lab::results::Manifest;
/// let manifest = Manifest::new("flood", &[1, 2], &["red"]);
/// let again = Manifest::read(&manifest.file().bytes).unwrap();
/// assert_eq!(again, manifest);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    made_by: String,
    /// What kind of results, if not those of one scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Tidegate's version.
    pub version: String,
    /// [`SOURCES`].
    #[serde(default)]
    pub sources: String,
    /// [`COMMIT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The scenario's name, or the capture's.
    pub scenario: String,
    /// The seeds of the replications.
    pub seeds: Vec<u64>,
    /// The queues, by their labels.
    pub queues: Vec<String>,
    /// The command, where that is known.
    #[serde(flatten)]
    pub how: Option<How>,
}

/// What differs each time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct How {
    /// The command with its arguments.
    pub command: Vec<String>,
    /// Each value that `--set` changed, `path=value`.
    pub settings: Vec<String>,
    /// On which machine.
    pub machine: Machine,
    /// When the work began, in UTC, as in `2026-11-25T10:39:21Z`.
    pub begun: String,
    /// How long it took, in seconds.
    pub duration_s: f64,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name, or its architecture.
    pub processor: String,
    /// How many cores the program may use.
    pub cores: usize,
    /// Its memory, in bytes; none where that is not known.
    pub memory_bytes: Option<u64>,
    /// The system, as in `Linux 6.1.0 x86_64`.
    pub system: String,
}

impl Manifest {
    /// That of results of `scenario` with these seeds and queues.
    pub fn new(scenario: &str, seeds: &[u64], queues: &[&str]) -> Manifest {
        Manifest {
            made_by: MAKER.into(),
            kind: None,
            version: env!("CARGO_PKG_VERSION").into(),
            sources: SOURCES.into(),
            commit: COMMIT.map(Into::into),
            scenario: scenario.into(),
            seeds: seeds.into(),
            queues: queues.iter().map(|&queue| queue.into()).collect(),
            how: None,
        }
    }

    /// The same, of results that came about so.
    pub fn made(self, how: How) -> Manifest {
        Manifest { how: Some(how), ..self }
    }

    /// The file [`MARK`].
    pub fn file(&self) -> ResultFile {
        let text = serde_json::to_string_pretty(self).expect("texts and numbers make JSON");
        ResultFile { name: MARK.into(), bytes: (text + "\n").into_bytes() }
    }

    /// What `bytes` of such a file say; `None` if it is not ours.
    pub fn read(bytes: &[u8]) -> Option<Manifest> {
        let manifest: Manifest = serde_json::from_slice(bytes).ok()?;
        (manifest.made_by == MAKER).then_some(manifest)
    }
}

/// The moment at which work begins.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    wall: SystemTime,
    clock: Instant,
}

impl Begun {
    /// Now, which is `wall` by the clock on the wall.
    pub fn at(wall: SystemTime) -> Begun {
        Begun { wall, clock: Instant::now() }
    }

    /// How results came about that `command` made since then, with each of `settings` changed.
    pub fn how(self, command: Vec<String>, settings: Vec<String>) -> How {
        let took = self.clock.elapsed();
        // To the millisecond; more is noise.
        let took = Duration::from_millis(took.as_millis() as u64);
        How {
            command,
            settings,
            machine: Machine::here(),
            begun: in_utc(self.wall),
            duration_s: took.as_secs_f64(),
        }
    }
}

fn in_utc(moment: SystemTime) -> String {
    let at = OffsetDateTime::from(moment);
    let (date, time) = (at.date(), at.time());
    let (hour, minute, second) = time.as_hms();
    format!("{date}T{hour:02}:{minute:02}:{second:02}Z")
}

impl Machine {
    /// This one, as far as it says.
    pub fn here() -> Machine {
        let line = |path: &str, key: &str| value(&std::fs::read_to_string(path).ok()?, key);
        let kibibytes = line("/proc/meminfo", "MemTotal");
        Machine {
            processor: line("/proc/cpuinfo", "model name")
                .unwrap_or_else(|| std::env::consts::ARCH.into()),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            memory_bytes: kibibytes
                .and_then(|text| text.trim_end_matches("kB").trim().parse::<u64>().ok())
                .map(|kibibytes| kibibytes * 1024),
            system: system(),
        }
    }
}

/// Name, release and architecture of the system.
fn system() -> String {
    let kernel = Path::new("/proc/sys/kernel");
    let read = |name: &str| std::fs::read_to_string(kernel.join(name)).ok();
    let words = [
        read("ostype").unwrap_or_else(|| std::env::consts::OS.into()),
        read("osrelease").unwrap_or_default(),
        std::env::consts::ARCH.into(),
    ];
    let words: Vec<&str> = words.iter().map(|word| word.trim()).filter(|w| !w.is_empty()).collect();
    words.join(" ")
}

/// What stands behind `key` and a colon in `text`, the first time.
fn value(text: &str, key: &str) -> Option<String> {
    let behind = |line: &str| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_string())
    };
    text.lines().find_map(behind).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_utc() {
        let at = |seconds| in_utc(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        // By `date -u -d @N`.
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(at(4_102_444_799), "2099-12-31T23:59:59Z");
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let begun = Begun::at(SystemTime::UNIX_EPOCH);
        let how = begun.how(vec!["tidegate".into(), "run".into()], vec!["run.seed=2".into()]);
        assert!(how.machine.cores >= 1 && !how.machine.processor.is_empty(), "{how:?}");
        assert!(how.duration_s >= 0.0 && how.duration_s < 60.0);
        let mut manifest = Manifest::new("flood", &[1, 2], &["red", "sfb as \"mine\""]);
        manifest.how = Some(how);
        manifest.kind = Some("study".into());
        assert_eq!(Manifest::read(&manifest.file().bytes), Some(manifest));
    }

    #[test]
    fn earlier_manifests_are_read_and_others_are_not() {
        let earlier = br#"{"made_by": "tidegate", "queues": ["red"], "scenario": "flood",
            "seeds": [1], "version": "0.1.0"}"#;
        let read = Manifest::read(earlier).unwrap();
        assert_eq!((read.scenario.as_str(), read.how, read.commit), ("flood", None, None));
        assert_eq!(Manifest::read(&earlier.map(|b| if b == b'g' { b'x' } else { b })), None);
        assert_eq!(Manifest::read(b"[]"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_machine_says_what_it_is() {
        let here = Machine::here();
        assert!(here.memory_bytes.unwrap() > 1 << 26, "{here:?}");
        assert!(here.system.starts_with("Linux "), "{here:?}");
        assert_eq!(value("a : b\nmodel name\t: X 1: y\n", "model name").unwrap(), "X 1: y");
        assert_eq!(value("model name:\n", "model name"), None);
    }
}
