//! When what happens: the event queue, and what keeps it cheap.

pub(crate) mod divide;
pub(crate) mod prefetch;
pub(crate) mod queue;
