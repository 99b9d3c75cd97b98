//! A command in a network of its own, behind a link that a gate emulates.
//!
//! | module | what it holds |
//! |---|---|
//! | [`user`] | what a process may do to networks |
//! | [`block`] | the addresses of a shell and of those within it |
//! | [`network`] | the namespaces and the cables between them |
//! | [`command`] | the command, its signals and its end |
//! | [`forward`] | ports of this machine that it can reach |
//! | [`link`] | the gate that joins them |
pub mod block;
pub mod command;
pub mod forward;
pub mod link;
pub mod network;
pub mod user;
