//! The plan of a gate, and the loop that carries it out.
//!
//! | module | what it holds |
//! |---|---|
//! | [`plan`] | what is to be done, checked before anything starts |
//! | [`way`] | a managed direction as it is asked for |
//! | [`pump`] | the loop that gives the gate the time |
//! | [`tick`] | when the kernel takes the processor away |
//! | [`wakes`] | how late sleeps end |
pub mod plan;
pub mod pump;
pub mod tick;
pub mod wakes;
pub mod way;
