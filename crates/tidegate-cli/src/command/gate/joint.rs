//! Two interfaces, joined for a gate and let go again: what `tidegate gate` refuses, installs and leaves behind.
use std::time::Duration;

use tidegate_gateway::failopen::{self, FailOpen};
use tidegate_gateway::guard::Guard;
use tidegate_gateway::netlink::Netlink;
use tidegate_gateway::preflight::{self, Finding, Force, Obstacle, Preflight};
use tidegate_gateway::{clock, facts};

use super::notes::Pen;
use crate::failure::Failure;
use crate::output;

/// What the wire does when the gate has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum OnExit {
    /// The kernel goes on forwarding, unmanaged
    Open,
    /// Nothing is forwarded; everything is as it was before
    Close,
}

/// The interfaces called `names`, which may be joined.
///
/// # Errors
/// What stands against it, with the commands that mend it.
pub fn cleared(names: [&str; 2], force: Force) -> Result<(Preflight, [facts::Interface; 2]), Failure> {
    let preflight = inspect(names)?;
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
    Ok((preflight, ends))
}

/// What there is at the interfaces. A gate that was killed just now is given the time to be known as dead.
fn inspect(names: [&str; 2]) -> Result<Preflight, Failure> {
    let preflight = preflight::inspect(names, clock::now()).map_err(Failure::runtime)?;
    if holder(&preflight).is_none() {
        return Ok(preflight);
    }
    std::thread::sleep(Duration::from_nanos(failopen::VALID.as_nanos()));
    preflight::inspect(names, clock::now()).map_err(Failure::runtime)
}

/// That a living gate holds one of the interfaces.
fn holder(preflight: &Preflight) -> Option<&Finding> {
    preflight.findings.iter().find(|finding| matches!(finding.obstacle, Obstacle::Held(_)))
}

/// What joining does beyond moving frames, as pairs of a name and a text like the plan's.
pub fn lines(preflight: &Preflight, [one, other]: &[facts::Interface; 2], on_exit: OnExit) -> Vec<(String, String)> {
    let (one, other) = (&one.name, &other.name);
    let mut lines = vec![(
        "loaded",
        format!(
            "a program at the ingress of {one} and {other} (clsact), which forwards when we do not; both promiscuous"
        ),
    )];
    if !preflight.leftovers.is_empty() {
        lines.push(("replaced", format!("what a gate that is gone has left at {}", preflight.leftovers.join(", "))));
    }
    if !preflight.findings.is_empty() {
        let findings: Vec<_> = preflight.findings.iter().map(ToString::to_string).collect();
        lines.push(("in_spite_of", findings.join("; ")));
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
    names: [String; 2],
    on_exit: OnExit,
}

impl Joint {
    /// Joins `ends`: the kernel forwards between them until the first beat.
    ///
    /// # Errors
    /// The kernel refuses, or another gate was quicker.
    pub fn new(ends: &[facts::Interface; 2], on_exit: OnExit) -> Result<Joint, Failure> {
        let interfaces = ends.each_ref().map(|end| end.index);
        let fail_open = FailOpen::install(interfaces, clock::now()).map_err(Failure::runtime)?;
        Ok(Joint { fail_open, names: ends.each_ref().map(|end| end.name.clone()), on_exit })
    }

    /// Begins the heartbeat: what arrives from here on is ours.
    pub fn take_over(&mut self) {
        let _ = self.fail_open.beat(); // there was none before, so that it had lapsed
    }

    /// Who goes on with it.
    pub fn guard(&mut self) -> &mut impl Guard {
        &mut self.fail_open
    }

    /// There is no more to join: everything as it was before, where it still is.
    pub fn undo(self) {
        // Whoever undoes has a failure to tell already.
        let _ = self.fail_open.remove();
    }

    /// Lets the interfaces go, as was asked for; how many frames the kernel has forwarded in our stead. `pen` tells what
    /// stays.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn part(mut self, pen: &Pen) -> Result<u64, Failure> {
        self.fail_open.open().map_err(Failure::runtime)?;
        let unmanaged = self.fail_open.passed().map_err(Failure::runtime)?.unmanaged;
        let [one, other] = &self.names;
        match self.on_exit {
            OnExit::Close => self.fail_open.remove().map_err(Failure::runtime)?,
            OnExit::Open => pen.note(format!(
                "the kernel goes on forwarding between {one} and {other}, unmanaged; this ends it:\n  \
                 tidegate gate --remove --in {one} --out {other}"
            )),
        }
        Ok(unmanaged)
    }
}

/// `--remove`: takes away what a gate that is gone has left at the interfaces called `names`. What is left at one can be
/// taken away when the other is gone.
///
/// # Errors
/// An interface is missing, a living gate holds one, or the kernel refuses; the other's is taken away all the same.
pub fn remove(names: [&str; 2]) -> Result<(), Failure> {
    let all = Netlink::open().and_then(|mut line| facts::interfaces(&mut line)).map_err(Failure::runtime)?;
    let mut failures = Vec::new();
    for name in names {
        let index = all.iter().find(|interface| interface.name == name).map(|interface| interface.index);
        match index.map(failopen::remove) {
            None => failures.push(Failure::Input(format!("there is no interface {name}"))),
            Some(Ok(true)) => output::print(&format!("{name}: removed\n"))?,
            Some(Ok(false)) => output::print(&format!("{name}: there was nothing of ours\n"))?,
            Some(Err(error)) => failures.push(Failure::Runtime(format!("{name}: {error}"))),
        }
    }
    failures.into_iter().next().map_or(Ok(()), Err)
}
