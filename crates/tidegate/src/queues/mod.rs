//! One paper, one file: every queue, with its manual page as the module's documentation.
pub mod drop_tail;

pub use drop_tail::DropTail;
