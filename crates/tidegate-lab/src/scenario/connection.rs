//! TCP in scenarios: a group names its congestion control, whose own keys stand beside those that
//! all share.
use tidegate::config::{Param, Params};
use tidegate::{Rate, Size};
pub use tidegate_sim::sources::tcp::Congestion;

use super::tcp::{EcnUse, LossRecovery, Tcp};

/// A TCP connection: its congestion control and what all connections have.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// How its window grows and shrinks, with what is its own.
    pub congestion: Congestion,
    /// The parameters that all connections share.
    pub tcp: Tcp,
}

/// The sources that have Reno's window, by the way in which they repair losses.
const RENO: &[(&str, LossRecovery)] = &[
    ("reno", LossRecovery::Reno),
    ("newreno", LossRecovery::NewReno),
    ("sack", LossRecovery::Sack),
    ("rack", LossRecovery::Rack),
];

impl Connection {
    /// The connection of the control called `name`, with the defaults that go with it.
    pub fn named(name: &str) -> Option<Connection> {
        if let Some(&(_, loss_recovery)) = RENO.iter().find(|reno| reno.0 == name) {
            let tcp = Tcp { loss_recovery, ..Tcp::default() };
            return Some(Connection { congestion: Congestion::Reno, tcp });
        }
        let congestion = Congestion::named(name)?;
        let mut tcp = Tcp::default();
        match congestion {
            // What is of today begins as today's do (RFC 6928).
            Congestion::Cubic(_)
            | Congestion::Dctcp(_)
            | Congestion::Prague(_)
            | Congestion::Bbr(_)
            | Congestion::Bbr3(_) => tcp.initial_window = Size::Packets(10),
            // Its window is the receiver's from the beginning; what is lost again, no timer need
            // tell.
            Congestion::Unresponsive(_) => {
                tcp.window = Size::Packets(1_000_000);
                (tcp.initial_window, tcp.loss_recovery) = (tcp.window, LossRecovery::Rack);
            }
            // Its fine timeouts are for Reno's recovery.
            Congestion::Vegas(_) => tcp.loss_recovery = LossRecovery::Reno,
            _ => {}
        }
        if congestion.counts_marks() {
            tcp.ecn = EcnUse::On;
        }
        Some(Connection { congestion, tcp })
    }

    /// The name of its control.
    pub fn name(&self) -> &'static str {
        let reno = RENO.iter().find(|reno| reno.1 == self.tcp.loss_recovery);
        reno.filter(|_| self.congestion == Congestion::Reno)
            .map_or(self.congestion.name(), |reno| reno.0)
    }

    /// The rate that it keeps whatever is lost; `None` for one that does not.
    pub fn rate(&self) -> Option<Rate> {
        match &self.congestion {
            Congestion::Unresponsive(sender) => Some(sender.rate),
            _ => None,
        }
    }

    /// The keys that it has, its own first, each with its value.
    pub fn keys(&self) -> Vec<(&'static Param, String)> {
        let own = self
            .congestion
            .params()
            .iter()
            .map(|p| (p, self.congestion.get(p.name).unwrap_or_default()));
        let shared = Tcp::PARAMS.iter().map(|p| (p, self.tcp.get(p.name).unwrap_or_default()));
        own.chain(shared.filter(|(param, _)| !self.is_named_by_source(param.name))).collect()
    }

    /// Whether the source's name says what this key of all TCP would.
    pub fn is_named_by_source(&self, key: &str) -> bool {
        match self.congestion {
            Congestion::Reno => key == "loss_recovery",
            // They pace.
            Congestion::Bbr(_) | Congestion::Bbr3(_) | Congestion::Prague(_) => key == "overhead",
            Congestion::Unresponsive(_) => ["initial_window", "overhead", "rules"].contains(&key),
            _ => false,
        }
    }
}

impl Default for Connection {
    fn default() -> Connection {
        let tcp = Tcp { loss_recovery: LossRecovery::NewReno, ..Tcp::default() };
        Connection { congestion: Congestion::Reno, tcp }
    }
}
