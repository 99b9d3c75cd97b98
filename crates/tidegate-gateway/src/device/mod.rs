//! Devices: where frames come from and where they go.
//!
//! A new way of packet I/O is one file here that implements [`Port`](port::Port).
//!
//! | module | what it holds |
//! |---|---|
//! | [`port`] | the trait that every device implements |
//! | [`ring`] | a network interface of Linux, through packet rings in shared memory |
//! | [`lossy`] | a device that loses frames at random |
//! | [`memory`] | a device in memory, for tests |
//! | [`guard`] | what tells the kernel that the gate still runs |
pub mod guard;
pub mod lossy;
pub mod memory;
pub mod port;
pub mod ring;
