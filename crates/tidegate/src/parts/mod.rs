//! What queues are built from. Parts know no queue.
pub mod bins;
pub mod every;
pub mod ring;
pub mod token_bucket;
