//! What queues are built from. Parts know no queue.
pub mod ring;
