//! Two interfaces, joined for a gate and let go again: what `tidegate gate` refuses, installs and
//! leaves behind.
use std::io::{self, ErrorKind};
use std::time::Duration;

use tidegate_gateway::device::guard::{Guard, PromiseState};
use tidegate_gateway::machine::clock;
use tidegate_gateway::machine::facts;
use tidegate_gateway::machine::failopen::{self, FailOpen, Passed};
use tidegate_gateway::machine::netlink::Netlink;
use tidegate_gateway::machine::preflight::{self, Force, Obstacle, Preflight};
use tidegate_gateway::machine::rights;

use super::notes::NoteWriter;
use super::on_exit::OnExit;
use crate::failure::Failure;
use crate::output;

/// What interfaces are looked at for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To join them.
    Start,
    /// To say what would be done. If a gate that runs holds them, a reload is how it changes.
    Show,
}

/// Interfaces that may be joined, and what was found of them.
pub struct Cleared {
    preflight: Preflight,
    /// The two.
    pub ends: [facts::Interface; 2],
    /// The process that holds one of them, if that is no matter.
    holder: Option<u32>,
}

impl Cleared {
    /// Whether a gate that runs holds one of them.
    pub fn is_held(&self) -> bool {
        self.holder.is_some()
    }
}

/// The interfaces called `names`, which may be joined.
///
/// # Errors
/// What stands against it, with the commands that mend it.
pub fn cleared(names: [&str; 2], force: Force, purpose: Purpose) -> Result<Cleared, Failure> {
    let mut preflight = inspect(names)?;
    let holder = holder(&preflight).filter(|_| purpose == Purpose::Show);
    if holder.is_some() {
        preflight.findings.retain(|finding| !matches!(finding.obstacle, Obstacle::Held(_)));
    }
    let ends = preflight.cleared(force).cloned().map_err(|against| {
        let mut told = String::from("this cannot start");
        for finding in &against {
            told += &format!("\n  {finding}");
            if let Some(command) = finding.mend() {
                told += &format!("\n      {command}");
            }
        }
        if force == Force::No && against.iter().all(|finding| finding.can_be_forced()) {
            told += "\nWith --force it starts all the same.";
        }
        match preflight.ends {
            Some(_) => Failure::Runtime(told),
            None => Failure::Input(told),
        }
    })?;
    Ok(Cleared { preflight, ends, holder })
}

/// What the kernel refuses, with what mends it. That a permission is missing is known before the
/// work begins, and is the caller's to change.
pub fn refused(error: io::Error) -> Failure {
    match error.kind() {
        ErrorKind::PermissionDenied => Failure::input(rights::explained(error)),
        _ => Failure::runtime(error),
    }
}

/// What there is at the interfaces. A gate that was killed just now is given the time to be known
/// as dead.
fn inspect(names: [&str; 2]) -> Result<Preflight, Failure> {
    let preflight = preflight::inspect(names, clock::now()).map_err(refused)?;
    if holder(&preflight).is_none() {
        return Ok(preflight);
    }
    std::thread::sleep(Duration::from_nanos(failopen::VALID.as_nanos()));
    preflight::inspect(names, clock::now()).map_err(refused)
}

/// The process of a living gate that holds one of the interfaces.
fn holder(preflight: &Preflight) -> Option<u32> {
    preflight.findings.iter().find_map(|finding| match finding.obstacle {
        Obstacle::Held(process) => Some(process),
        _ => None,
    })
}

/// What joining does beyond moving frames, as pairs of a name and a text like the plan's.
pub fn lines(
    Cleared { preflight, ends, holder }: &Cleared,
    on_exit: OnExit,
) -> Vec<(String, String)> {
    let [one, other] = ends.each_ref().map(|end| &end.name);
    let mut lines = vec![(
        "loaded",
        format!(
            "a program at the ingress of {one} and {other} (clsact), which forwards when we do \
             not; both promiscuous"
        ),
    )];
    if !preflight.leftovers.is_empty() {
        lines.push((
            "replaced",
            format!("what a gate that is gone has left at {}", preflight.leftovers.join(", ")),
        ));
    }
    if !preflight.findings.is_empty() {
        let findings: Vec<_> = preflight.findings.iter().map(ToString::to_string).collect();
        lines.push(("in_spite_of", findings.join("; ")));
    }
    if let Some(process) = holder {
        let held = format!(
            "by a gate that runs as process {process}: its reload goes by this, and no start"
        );
        lines.push(("held", held));
    }
    lines.push((
        "on_exit",
        match on_exit {
            OnExit::Open => "the program stays and forwards".into(),
            OnExit::Close => "the program is removed; nothing is forwarded".into(),
        },
    ));
    lines.into_iter().map(|(name, text)| (name.to_string(), text)).collect()
}

/// Two interfaces that are joined. If this is dropped the kernel forwards.
pub struct Joint {
    fail_open: FailOpen,
    /// The interfaces' numbers, and what they were called at the start.
    ends: [(u32, String); 2],
    on_exit: OnExit,
    /// What the program had done when we took over, and when we left.
    passed: [[Passed; 2]; 2],
}

impl Joint {
    /// Joins `ends`: the kernel forwards between them until the first beat.
    ///
    /// # Errors
    /// The kernel refuses, or another gate was quicker.
    pub fn new(ends: &[facts::Interface; 2], on_exit: OnExit) -> Result<Joint, Failure> {
        let interfaces = ends.each_ref().map(|end| end.index);
        let fail_open = FailOpen::install(interfaces, clock::now()).map_err(refused)?;
        Ok(Joint {
            fail_open,
            ends: ends.each_ref().map(|end| (end.index, end.name.clone())),
            on_exit,
            passed: Default::default(),
        })
    }

    /// Begins the heartbeat: what arrives from here on is ours. `begin` forgets what has arrived
    /// before.
    pub fn take_over(&mut self, begin: impl FnOnce()) {
        let _ = self.fail_open.beat(); // there was none before, so that it had lapsed
        begin();
        self.passed[0] = self.fail_open.passed().unwrap_or_default();
    }

    /// What the program did from when we took over until we left, at the one interface and at the
    /// other.
    pub fn passed(&self) -> [Passed; 2] {
        let [begun, left] = self.passed;
        [0, 1].map(|at| Passed {
            taken: left[at].taken.saturating_sub(begun[at].taken),
            unmanaged: left[at].unmanaged.saturating_sub(begun[at].unmanaged),
        })
    }

    /// There is no more to join: everything as it was before, where it still is.
    pub fn undo(self) {
        // Whoever undoes has a failure to tell already.
        let _ = self.fail_open.remove();
    }

    /// Lets the interfaces go, as was asked for; how many frames the kernel has forwarded in our
    /// stead between our taking over and our leaving. `pen` tells what stays.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn part(mut self, pen: &NoteWriter) -> Result<u64, Failure> {
        self.fail_open.open().map_err(Failure::runtime)?;
        let unmanaged = self.passed().iter().map(|by| by.unmanaged).sum();
        let [one, other] = &names_now(&self.ends);
        match self.on_exit {
            OnExit::Close => self.fail_open.remove().map_err(Failure::runtime)?,
            OnExit::Open => pen.note(format!(
                "the kernel goes on forwarding between {one} and {other}, unmanaged; this ends \
                 it:\n  \
                 tidegate gate --remove --in {one} --out {other}"
            )),
        }
        Ok(unmanaged)
    }
}

/// What interfaces are called now that had these numbers and names.
fn names_now(ends: &[(u32, String); 2]) -> [String; 2] {
    let all = Netlink::open().and_then(|mut line| facts::interfaces(&mut line)).unwrap_or_default();
    let now = |index| {
        all.iter()
            .find(|interface| interface.index == index)
            .map(|interface| interface.name.clone())
    };
    ends.each_ref().map(|(index, name)| now(*index).unwrap_or_else(|| name.clone()))
}

impl Guard for Joint {
    fn beat(&mut self) -> PromiseState {
        self.fail_open.beat()
    }

    #[inline]
    fn ours(&mut self) -> bool {
        self.fail_open.ours()
    }

    fn leave(&mut self) {
        self.fail_open.leave();
        // What it says that cannot be read was not done.
        self.passed[1] = self.fail_open.passed().unwrap_or_default();
    }
}

/// `--remove`: takes away what a gate that is gone has left at the interfaces called `names`. What
/// is left at one can be taken away when the other is gone.
///
/// # Errors
/// An interface is missing, a living gate holds one, or the kernel refuses; the other's is taken
/// away all the same.
pub fn remove(names: [&str; 2]) -> Result<(), Failure> {
    let all = Netlink::open()
        .and_then(|mut line| facts::interfaces(&mut line))
        .map_err(Failure::runtime)?;
    // What is the caller's to change, and what is not.
    let (mut theirs, mut failed) = (Vec::new(), Vec::new());
    for name in names {
        let index =
            all.iter().find(|interface| interface.name == name).map(|interface| interface.index);
        match index.map(failopen::remove) {
            None => theirs.push(format!("there is no interface {name}")),
            Some(Ok(true)) => output::print(&format!("{name}: removed\n"))?,
            Some(Ok(false)) => output::print(&format!("{name}: there was nothing of ours\n"))?,
            Some(Err(error)) => match refused(error) {
                Failure::Input(why) => theirs.push(format!("{name}: {why}")),
                other => failed.push(format!("{name}: {}", other.why())),
            },
        }
    }
    match (theirs.is_empty(), failed.is_empty()) {
        (true, true) => Ok(()),
        (false, true) => Err(Failure::Input(theirs.join("; "))),
        _ => Err(Failure::Runtime([failed, theirs].concat().join("; "))),
    }
}
