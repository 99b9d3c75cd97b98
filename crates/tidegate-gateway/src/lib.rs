//! A bump in the wire: frames in on one interface, out on the other, through any queue of the catalog at a set rate.
//!
//! The only crate of Tidegate that reads a clock or talks to a network. What decides about packets is told the time
//! and sees devices through one small trait, [`Port`](port::Port), so that it runs in tests without either.
#[cfg(target_os = "linux")]
pub mod failopen;
pub mod memory;
pub mod namespaces;
#[cfg(target_os = "linux")]
pub mod netlink;
pub mod port;
