//! TCP in scenarios: a group names its congestion control, whose own keys stand beside those that all share.
use tidegate::config::{Param, Params};
use tidegate::{Size, params};
pub use tidegate_sim::sources::tcp::{FastConvergence, SlowStart};

use super::model::{LossRecovery, Tcp};

/// A TCP connection: its congestion control and what all connections have.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// How its window grows and shrinks.
    pub control: Control,
    /// The parameters that all connections share.
    pub tcp: Tcp,
}

/// A congestion control, by which a group names its source.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// Reno's window, and its recovery from loss.
    Reno,
    /// Reno's window with NewReno's recovery.
    NewReno,
    /// Reno's window with selective acknowledgements.
    Sack,
    /// CUBIC.
    Cubic(Cubic),
}

params! {
    /// The keys of `source = "cubic"` beside those of all TCP.
    pub struct Cubic {
        /// What a loss leaves of the window.
        beta: f64 = 0.7, "beta_cubic", 0.1 ..= 0.95;
        /// How fast the cubic grows, in packets per second cubed.
        c: f64 = 0.4, "C", 0.001 ..= 100.0;
        /// Whether a flow that loses at a smaller window than before gives up more (RFC 9438 §4.7).
        fast_convergence: FastConvergence = FastConvergence::On, "", 0 ..= 0;
        /// How slow start ends: with a loss or a mark, or also when round-trip times begin to grow (HyStart++, RFC 9406).
        slow_start: SlowStart = SlowStart::HyStart, "", 0 ..= 0;
    }
}

impl Connection {
    /// The connection of the control called `name`, with the defaults that go with it.
    pub fn named(name: &str) -> Option<Connection> {
        let old = |control, loss_recovery| Connection { control, tcp: Tcp { loss_recovery, ..Tcp::default() } };
        let new = |control| Connection { control, tcp: Tcp { initial_window: Size::Packets(10), ..Tcp::default() } };
        Some(match name {
            "reno" => old(Control::Reno, LossRecovery::Reno),
            "newreno" => old(Control::NewReno, LossRecovery::NewReno),
            "sack" => old(Control::Sack, LossRecovery::Sack),
            "cubic" => new(Control::Cubic(Cubic::default())),
            _ => return None,
        })
    }

    /// The name of its control.
    pub fn name(&self) -> &'static str {
        match self.control {
            Control::Reno => "reno",
            Control::NewReno => "newreno",
            Control::Sack => "sack",
            Control::Cubic(_) => "cubic",
        }
    }

    /// The keys that it has, its own first, each with its value.
    pub fn keys(&self) -> Vec<(&'static Param, String)> {
        fn of<P: Params>(params: &P) -> Vec<(&'static Param, String)> {
            P::PARAMS.iter().map(|param| (param, params.get(param.name).unwrap_or_default())).collect()
        }
        let mut keys = match &self.control {
            Control::Reno | Control::NewReno | Control::Sack => vec![],
            Control::Cubic(cubic) => of(cubic),
        };
        keys.extend(of(&self.tcp).into_iter().filter(|(param, _)| !self.is_named_by_source(param.name)));
        keys
    }

    /// Whether the source's name says what this key of all TCP would.
    pub fn is_named_by_source(&self, key: &str) -> bool {
        key == "loss_recovery" && matches!(self.control, Control::Reno | Control::NewReno | Control::Sack)
    }
}

impl Default for Connection {
    fn default() -> Connection {
        let tcp = Tcp { loss_recovery: LossRecovery::NewReno, ..Tcp::default() };
        Connection { control: Control::NewReno, tcp }
    }
}
