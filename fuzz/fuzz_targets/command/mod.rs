//! The part of the `tidegate` command that reads a gate's file; nothing can depend on a binary, so
//! it is compiled anew.
#[path = "../../../crates/tidegate-cli/src/command/gate/config.rs"]
pub mod config;
#[path = "../../../crates/tidegate-cli/src/command/gate/direction.rs"]
pub mod direction;
#[path = "../../../crates/tidegate-cli/src/command/gate/fields.rs"]
pub mod fields;
#[path = "../../../crates/tidegate-cli/src/command/gate/keys.rs"]
pub mod keys;
#[path = "../../../crates/tidegate-cli/src/command/gate/link.rs"]
pub mod link;
#[path = "../../../crates/tidegate-cli/src/command/gate/notes.rs"]
pub mod notes;
#[path = "../../../crates/tidegate-cli/src/command/gate/served.rs"]
pub mod served;
#[path = "../../../crates/tidegate-cli/src/command/gate/source.rs"]
pub mod source;

/// Stands for the choice that the command line knows, too: without that, no `clap` is needed here.
pub mod on_exit {
    /// What the wire does when the gate has stopped.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum OnExit {
        Open,
        Close,
    }
}
