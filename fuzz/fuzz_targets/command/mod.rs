//! The part of the `tidegate` command that reads a gate's file; nothing can depend on a binary, so it is compiled anew.
#[path = "../../../crates/tidegate-cli/src/command/gate/config.rs"]
pub mod config;
#[path = "../../../crates/tidegate-cli/src/command/gate/link.rs"]
pub mod link;
#[path = "../../../crates/tidegate-cli/src/command/gate/notes.rs"]
pub mod notes;
#[path = "../../../crates/tidegate-cli/src/command/gate/scrape.rs"]
pub mod scrape;

/// Stands for what prints accounts, of which messages take only how many links there are.
pub mod account {
    /// How many links were asked for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Links {
        One,
        Several,
    }
}

/// Stands for what joins interfaces, of which reading takes the choices only.
pub mod joint {
    /// What the wire does when the gate has stopped.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum OnExit {
        Open,
        Close,
    }
}
