//! The C interface: queues of the catalog and bottlenecks around them, for programs in other
//! languages.
//!
//! `include/tidegate.h` is made of these sources by `make c-header`, with their comments. Only this
//! crate's functions are unsafe: they trust that pointers which are not null are valid. Nothing
//! unwinds into the caller: what panics, and what it may have left half done, is refused from then
//! on.
#![allow(unsafe_code, reason = "C passes pointers; what each is trusted with stands beside it")]

mod bottleneck;
mod failure;
mod packet;
mod queue;

pub use bottleneck::*;
pub use failure::*;
pub use packet::*;
pub use queue::*;
