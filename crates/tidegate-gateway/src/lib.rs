//! A bump in the wire: frames in on one interface, out on the other, through any queue of the
//! catalog at a set rate.
//!
//! The only crate of Tidegate that reads a clock or talks to a network. What decides about packets
//! is told the time and sees devices through one small trait, [`Port`](port::Port), so that it runs
//! in tests without either.
//!
//! | module | what it does |
//! |---|---|
//! | [`port`], [`ring`], [`memory`] | a device: a network interface; one in memory, for tests |
//! | [`pool`], [`overhead`] | the memory of waiting frames; what a frame takes on the wire |
//! | [`sort`], [`rehash`], [`waiting`], [`lane`], [`wire`], [`delay`] | a managed direction: which flow and class, by which key, who came first, queue, pace, delay; an unmanaged one: delay |
//! | [`gate`] | both directions over two devices, without a clock |
//! | [`failopen`], [`netlink`] | the program in the kernel that forwards when we do not; questions to the kernel |
//! | [`facts`], [`offloads`], [`preflight`], [`doctor`] | what interfaces are; what stands against joining them; what a machine lacks |
//! | [`guard`], [`witness`] | what keeps the kernel informed that we live; who is shown every frame with its fate |
//! | [`plan`], [`pump`], [`clock`], [`host`] | what is to be done, checked before; the loop that gives the gate the time; what it asks of its machine |
//! | [`tick`], [`wakes`] | when the kernel takes the processor away; how late sleeps end |
//! | [`counters`], [`record`] | what became of every frame; the same as a capture file |
//! | [`meter`], [`heavy`], [`sojourn`] | what is measured on the way: flows that send most, in a fixed table; how long frames wait |
//! | [`sample`], [`desk`], [`snapshot`] | how a gate stands: plain figures from the thread that moves frames, kept, made a document |
//! | [`offenders`], [`fair`], [`socket`] | who sends too much for too long, and what is enough; the documents for whoever connects |
//! | [`metrics`] | the documents as OpenMetrics, over HTTP |
//! | [`demo`] | who gets what, measured: kernel TCP and a flood through the gateway |
//! | [`rights`], [`confine`] | what a process must be allowed, and what to say to one that is not; what a gate that runs keeps of that |
//! | [`namespaces`] | networks of our own to try things in |
mod aside;
pub mod clock;
pub mod confine;
pub mod counters;
pub mod delay;
pub mod demo;
pub mod desk;
pub mod doctor;
pub mod facts;
pub mod failopen;
pub mod fair;
mod fate;
pub mod gate;
pub mod guard;
pub mod heavy;
pub mod host;
pub mod lane;
pub mod memory;
pub mod meter;
pub mod metrics;
pub mod namespaces;
pub mod netlink;
pub mod offenders;
pub mod offloads;
pub mod overhead;
mod overload;
pub mod plan;
pub mod pool;
pub mod port;
pub mod preflight;
pub mod pump;
pub mod record;
pub mod rehash;
pub mod rights;
pub mod ring;
pub mod sample;
pub mod snapshot;
pub mod socket;
pub mod sojourn;
pub mod sort;
mod system;
pub mod tick;
pub mod waiting;
pub mod wakes;
pub mod wire;
pub mod witness;
