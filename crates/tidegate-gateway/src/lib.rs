//! A bump in the wire: frames in on one interface, out on the other, through any queue of the
//! catalog at a set rate.
//!
//! This is the only crate of Tidegate that reads a clock or talks to a network. What decides about
//! packets receives the time as an argument. It sees devices through one small trait,
//! [`Port`](device::port::Port). So it runs in tests without a clock and without a network.
//!
//! | wing | what it holds |
//! |---|---|
//! | [`device`] | the network interfaces that frames pass, one file a way of packet I/O |
//! | [`path`] | what a frame passes between two devices; reads no clock |
//! | [`watch`] | what is counted and measured on the way, and the documents that show it |
//! | [`run`] | the plan of a gate, and the loop that carries it out |
//! | [`machine`] | what a gate needs of its machine and its kernel |
//! | [`shell`] | a command behind a link of its own |
//! | [`demo`] | measures who gets what: kernel TCP and a flood through the gateway |
pub mod demo;
pub mod device;
pub mod machine;
pub mod path;
pub mod run;
pub mod shell;
pub mod watch;
