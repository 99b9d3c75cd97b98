//! What a gate needs of its machine and its kernel.
//!
//! | module | what it holds |
//! |---|---|
//! | [`clock`] | the machine's clock and dice, and waiting for frames |
//! | [`failopen`] | the program in the kernel that forwards frames while the gate does not |
//! | [`netlink`] | questions to the kernel about interfaces |
//! | [`facts`], [`offloads`] | what interfaces are, and what their hardware merges |
//! | [`preflight`] | what stands against joining two interfaces |
//! | [`doctor`] | what a machine lacks |
//! | [`rights`] | what a process must be allowed to do |
//! | [`confine`] | what a running gate keeps of its rights |
//! | [`host`] | processors, priority and memory |
//! | [`net`], [`interfaces`] | network namespaces without names, and virtual cables between them |
//! | [`namespaces`] | networks of our own to try things in |
pub mod clock;
pub mod confine;
pub mod doctor;
pub mod facts;
pub mod failopen;
pub mod host;
pub mod interfaces;
pub(crate) mod named;
pub mod namespaces;
pub mod net;
pub mod netlink;
pub mod offloads;
pub mod preflight;
pub mod rights;
pub(crate) mod system;
