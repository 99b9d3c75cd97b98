//! The path of a frame between two devices. Nothing here reads a clock.
//!
//! | module | what it holds |
//! |---|---|
//! | [`gate`] | both directions over two devices |
//! | [`lane`] | a managed direction: sort, queue, pace, delay |
//! | [`wire`] | a direction that is not managed: delay only |
//! | [`sort`] | which flow and which class a frame belongs to |
//! | [`rehash`] | the key of the flows' hash, renewed from time to time |
//! | [`waiting`] | which frame of a flow came first |
//! | [`pool`] | the memory of waiting frames |
//! | [`pace`] | when frames leave for the link |
//! | [`overhead`] | how many bytes a frame takes on the link |
//! | [`delay`] | frames on their way for a fixed time |
pub(crate) mod bypass;
pub mod delay;
pub(crate) mod fate;
pub mod gate;
pub mod lane;
pub mod overhead;
pub(crate) mod overload;
pub mod pace;
pub mod pool;
pub mod rehash;
pub mod sort;
pub mod waiting;
pub mod wire;
