//! Studies: a grid of scenarios and queues, its store, its tables.
mod heard;
mod store;
mod study;
mod swept;

pub(crate) use heard::Heard;
pub use store::Store;
pub use study::Study;
pub use swept::Published;
