//! What this machine has of what a gateway needs, and the command that gets the rest.
//!
//! Whatever can be tried is tried rather than asked for. The program is put at an interface, in a
//! network namespace that only the trying thread is in and that ends with it.
use std::fs;
use std::io;

use nix::sched::{CloneFlags, unshare};

use crate::machine::clock;
use crate::machine::failopen::{FailOpen, is_refusal};
use crate::machine::preflight::Preflight;
use crate::machine::rights::{self, CAPABILITIES};
use crate::machine::system;

/// How one thing stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorCheck {
    /// What was looked at, in a word or two.
    pub name: &'static str,
    /// How it stands.
    pub state: Health,
    /// What was found.
    pub found: String,
    /// The command that mends or betters it.
    pub mend: Option<String>,
}

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// As it should be.
    Ok,
    /// It works, but not as well as it could.
    Advice,
    /// A gateway does not start, or does not do what it should.
    Lacks,
}

impl Health {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Health::Ok => "ok",
            Health::Advice => "advice",
            Health::Lacks => "lacks",
        }
    }
}

impl DoctorCheck {
    fn new(
        name: &'static str,
        state: Health,
        found: impl Into<String>,
        mend: Option<&str>,
    ) -> DoctorCheck {
        let mend = mend.filter(|_| state != Health::Ok).map(str::to_string);
        DoctorCheck { name, state, found: found.into(), mend }
    }
}

impl DoctorCheck {
    /// One that could not be looked at because of `error`.
    pub fn unknown(name: &'static str, error: &io::Error) -> DoctorCheck {
        DoctorCheck::new(name, Health::Lacks, error.to_string(), None)
    }
}

/// Looks at the machine. Changes nothing.
pub fn machine() -> Vec<DoctorCheck> {
    vec![
        kernel(),
        capabilities(),
        packet_sockets(),
        program(),
        clock_source(),
        governor(),
        processors(),
    ]
}

/// The same for two interfaces, by what was found of them.
pub fn interfaces(preflight: &Preflight) -> Vec<DoctorCheck> {
    let mut checks = Vec::new();
    for end in preflight.ends.iter().flatten().filter(|end| end.ethernet) {
        let found = format!(
            "{}: Ethernet, MTU {} B, {}",
            end.name,
            end.mtu,
            end.kind.as_deref().unwrap_or("hardware")
        );
        checks.push(DoctorCheck::new("interface", Health::Ok, found, None));
        if end.kind.as_deref() == Some("veth") {
            // What its other end does cannot be seen from here; segments without checksums come
            // from there.
            let found = format!(
                "{}: the other end of a virtual cable must not leave checksums and segments to us",
                end.name
            );
            let mend =
                "ethtool -K OTHER_END tx off tso off gso off gro off tx-udp-segmentation off";
            checks.push(DoctorCheck::new("interface", Health::Advice, found, Some(mend)));
        }
    }
    if let [one, ..] = &preflight.leftovers[..] {
        let found =
            format!("{one}: the program of a gate that is gone forwards; a next gate replaces it");
        checks.push(DoctorCheck::new(
            "leftovers",
            Health::Advice,
            found,
            Some("tidegate gate --remove --in IF1 --out IF2"),
        ));
    }
    let lacking = preflight.findings.iter().map(|f| DoctorCheck {
        name: "interface",
        state: Health::Lacks,
        found: f.to_string(),
        mend: f.mend(),
    });
    checks.extend(lacking);
    checks
}

/// The oldest kernel that will do: a program that is not under the GPL may read the clock from this
/// one on.
const KERNEL: (u32, u32) = (5, 8);

/// The first two numbers of the kernel that runs.
pub(crate) fn kernel_version() -> Option<(u32, u32)> {
    version(&fs::read_to_string("/proc/sys/kernel/osrelease").ok()?)
}

fn kernel() -> DoctorCheck {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let state = match version(&release) {
        Some(version) if version >= KERNEL => Health::Ok,
        _ => Health::Lacks,
    };
    let found = format!("Linux {}; {}.{} or later is needed", release.trim(), KERNEL.0, KERNEL.1);
    DoctorCheck::new(
        "kernel",
        state,
        found,
        Some("apt-get install linux-image-$(dpkg --print-architecture)"),
    )
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn capabilities() -> DoctorCheck {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let held = held_capabilities(&status);
    let lacking: Vec<_> = CAPABILITIES
        .iter()
        .filter(|(bit, _)| held >> bit & 1 == 0)
        .map(|(_, name)| *name)
        .collect();
    let names = rights::names();
    let (state, found) = if lacking.is_empty() {
        (Health::Ok, names)
    } else {
        (Health::Lacks, format!("{} not held; root holds them", lacking.join(",")))
    };
    DoctorCheck::new("capabilities", state, found, Some(&rights::mend()))
}

fn held_capabilities(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
}

fn packet_sockets() -> DoctorCheck {
    tried("packet sockets", system::packet_socket().map(|_| "can be opened"), "modprobe af_packet")
}

fn program() -> DoctorCheck {
    let fits = tried_apart(FailOpen::try_out)
        .map(|()| "loads, and can be put at the ingress of an interface");
    tried("kernel program", fits, "modprobe -a sch_ingress cls_bpf")
}

/// How something stands that was tried. What was not allowed says nothing of what is there, and no
/// module mends it.
fn tried(name: &'static str, outcome: io::Result<&str>, mend: &str) -> DoctorCheck {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    judged(name, outcome, mend, held_capabilities(&status))
}

fn judged(name: &'static str, outcome: io::Result<&str>, mend: &str, held: u64) -> DoctorCheck {
    match outcome {
        Ok(found) => DoctorCheck::new(name, Health::Ok, found, None),
        Err(why)
            if is_refusal(&why) && CAPABILITIES.iter().all(|(bit, _)| held >> bit & 1 == 1) =>
        {
            let found = format!(
                "{why}, although the capabilities are held: a container or a security module \
                 refuses it"
            );
            DoctorCheck::new(name, Health::Lacks, found, None)
        }
        Err(why) if is_refusal(&why) => {
            let found = format!("{why}: not permitted, so that it cannot be tried");
            DoctorCheck::new(name, Health::Lacks, found, Some(&rights::mend()))
        }
        Err(why) => DoctorCheck::new(name, Health::Lacks, why.to_string(), Some(mend)),
    }
}

/// What `work` says in a network namespace of its own.
fn tried_apart(work: fn() -> io::Result<()>) -> io::Result<()> {
    let thread = std::thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).map_err(io::Error::from)?;
        work()
    });
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The longest that reading the clock may take, in nanoseconds: there are a few readings to a
/// frame.
const QUICK: u64 = 200;

fn clock_source() -> DoctorCheck {
    let place = "/sys/devices/system/clocksource/clocksource0";
    let told = |file| fs::read_to_string(format!("{place}/{file}")).unwrap_or_default();
    let cost = reading();
    let state = if cost <= QUICK { Health::Ok } else { Health::Advice };
    let found = format!(
        "{}, read in {cost} ns; {QUICK} ns or less is wanted",
        told("current_clocksource").trim()
    );
    let better = told("available_clocksource")
        .contains("tsc")
        .then(|| format!("echo tsc > {place}/current_clocksource"));
    DoctorCheck::new("clock", state, found, better.as_deref())
}

/// How long it takes to read the clock, in nanoseconds: the least of a few tries, as others use the
/// machine too.
fn reading() -> u64 {
    const READINGS: u64 = 1000;
    let once = || {
        let begun = clock::now();
        (1..READINGS).for_each(|_| _ = std::hint::black_box(clock::now()));
        clock::now().since(begun).as_nanos() / READINGS
    };
    (0..5).map(|_| once()).min().unwrap_or(u64::MAX)
}

fn governor() -> DoctorCheck {
    let place = "/sys/devices/system/cpu";
    let numbered = (0..1024).map(|n| format!("{place}/cpu{n}/cpufreq/scaling_governor"));
    let mut governors: Vec<String> =
        numbered.map_while(|file| fs::read_to_string(file).ok()).collect();
    governors.iter_mut().for_each(|g| *g = g.trim().into());
    governors.sort();
    governors.dedup();
    let (state, found) = match governors.iter().all(|g| g == "performance") {
        true if governors.is_empty() => (Health::Ok, "the frequency is not ours to set".into()),
        true => (Health::Ok, "performance".to_string()),
        false => (
            Health::Advice,
            format!(
                "{}: a processor that slows down when it waits sends late",
                governors.join(", ")
            ),
        ),
    };
    DoctorCheck::new(
        "governor",
        state,
        found,
        Some(&format!("echo performance | tee {place}/cpu*/cpufreq/scaling_governor")),
    )
}

fn processors() -> DoctorCheck {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let state = if count >= 2 { Health::Ok } else { Health::Advice };
    let found =
        format!("{count}; one is the gateway's while frames wait, or with --busy all the time");
    DoctorCheck::new("processors", state, found, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_permitted_is_told_from_what_is_missing() {
        let tried = |error: i32, held| {
            judged("x", Err(io::Error::from_raw_os_error(error)), "modprobe y", held)
        };
        let all = CAPABILITIES.iter().map(|(bit, _)| 1 << bit).sum();
        for error in [libc::EPERM, libc::EACCES] {
            let lacks = tried(error, 0);
            assert!(lacks.found.contains("not permitted"), "{lacks:?}");
            assert!(
                lacks.mend.as_ref().is_some_and(|mend| mend.starts_with("setcap ")),
                "{lacks:?}"
            );
            let refused = tried(error, all);
            assert!(refused.found.contains("a container or a security module"), "{refused:?}");
            assert_eq!((refused.mend, refused.state), (None, Health::Lacks));
        }
        for held in [0, all] {
            let missing = tried(libc::EAFNOSUPPORT, held);
            assert_eq!(
                (missing.mend.as_deref(), missing.state),
                (Some("modprobe y"), Health::Lacks)
            );
        }
    }

    #[test]
    fn releases_and_capabilities_are_read() {
        assert_eq!(version("6.18.44-amd64\n"), Some((6, 18)));
        assert_eq!(version("5.8"), Some((5, 8)));
        assert_eq!((version("six"), version("")), (None, None));
        assert!(version("5.10.0").unwrap() > KERNEL && version("4.19.1").unwrap() < KERNEL);
        assert_eq!(held_capabilities("Name:\tx\nCapEff:\t000000000000f000\nCapBnd:\tff\n"), 0xf000);
        assert_eq!(held_capabilities("Name:\tx\n"), 0);
    }
}
