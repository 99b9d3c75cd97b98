//! What the program in the kernel knows of a gate, and who holds it.
use tidegate::Time;

/// What `struct gate` of the program says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelGate {
    /// The heartbeat is fresh before this time of the monotonic clock.
    pub valid_until: Time,
    /// The two interfaces, by index.
    pub interfaces: [u32; 2],
    /// The process that holds them, or held them until it was killed.
    pub holder: Option<Holder>,
    /// What is to be undone at each interface when the program is removed.
    pub(super) restore: [Restore; 2],
}

/// A process, told from others that had its number before or will have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its number.
    pub process: u32,
    /// When it began, in the system's ticks.
    pub started: u64,
}

impl Holder {
    pub(super) fn ourselves() -> Holder {
        let process = std::process::id();
        Holder { process, started: start_of(process).unwrap_or(0) }
    }

    fn lives(&self) -> bool {
        start_of(self.process) == Some(self.started)
    }
}

/// When the process with this number began, if there is one that has not ended.
fn start_of(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name stands in parentheses and may have some itself; after it the state, and the start as
    // the 22nd of all.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    match fields.next()? {
        "Z" | "X" => None, // ended, and not yet waited for
        _ => fields.nth(18)?.parse().ok(),
    }
}

/// What was changed at an interface besides the filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Restore {
    /// The discipline was added by us.
    pub(super) clsact: bool,
    /// It was we who told it to take frames for any address.
    pub(super) promiscuous: bool,
}

impl KernelGate {
    pub(super) fn words(&self) -> [u64; 6] {
        let restore = self.restore.map(|r| u64::from(r.clsact) | u64::from(r.promiscuous) << 1);
        let [one, other] = self.interfaces.map(u64::from);
        let (process, started) =
            self.holder.map_or((0, 0), |holder| (holder.process.into(), holder.started));
        [self.valid_until.as_nanos(), one, other, process, started, restore[0] | restore[1] << 2]
    }

    pub(super) fn from_words(
        [valid_until, one, other, process, started, restore]: [u64; 6],
    ) -> KernelGate {
        let bit = |n: u32| restore >> n & 1 == 1;
        KernelGate {
            valid_until: Time::from_nanos(valid_until),
            interfaces: [one as u32, other as u32],
            holder: (process != 0).then_some(Holder { process: process as u32, started }),
            restore: [0, 2].map(|at| Restore { clsact: bit(at), promiscuous: bit(at + 1) }),
        }
    }

    /// The process that holds the interfaces, if it lives: its heartbeat is fresh, or it is stopped
    /// or starved and may go on.
    pub fn held(&self, now: Time) -> Option<u32> {
        let holder = self.holder.filter(|holder| now < self.valid_until || holder.lives());
        holder.map(|holder| holder.process)
    }

    pub(super) fn restore_of(&self, interface: u32) -> Restore {
        match self.interfaces.iter().position(|&i| i == interface) {
            Some(at) => self.restore[at],
            None => Restore::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_is_told_can_be_read_back() {
        let on = Restore { clsact: true, promiscuous: false };
        let off = Restore { clsact: false, promiscuous: true };
        for restore in [[on, off], [off, on], [on, on], [Restore::default(), off]] {
            let holder =
                [Some(Holder { process: 77, started: 1 << 40 }), None][restore[0].clsact as usize];
            let gate = KernelGate {
                valid_until: Time::from_nanos(7),
                interfaces: [3, 9],
                holder,
                restore,
            };
            assert_eq!(KernelGate::from_words(gate.words()), gate);
            assert_eq!((gate.restore_of(3), gate.restore_of(9)), (restore[0], restore[1]));
            assert_eq!(gate.restore_of(4), Restore::default());
        }
    }

    #[test]
    fn a_gate_is_held_while_its_heartbeat_is_fresh_or_its_process_lives() {
        let ourselves = Holder::ourselves();
        assert!(ourselves.started > 0);
        let gone = Holder { started: ourselves.started - 1, ..ourselves };
        let gate = |holder| KernelGate {
            valid_until: Time::from_nanos(7),
            interfaces: [3, 9],
            holder,
            restore: Default::default(),
        };
        let held = |holder| [6, 7].map(|now| gate(holder).held(Time::from_nanos(now)));
        let us = Some(std::process::id());
        assert_eq!(
            (held(Some(ourselves)), held(Some(gone)), held(None)),
            ([us, us], [us, None], [None, None])
        );
    }
}
