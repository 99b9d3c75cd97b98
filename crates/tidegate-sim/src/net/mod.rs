//! The network: links, ports, routes, merge points, and the packets on their way.

pub(crate) mod flight;
pub(crate) mod line;
pub(crate) mod merge;
pub(crate) mod network;
pub(crate) mod port;
pub(crate) mod routes;
pub(crate) mod wire;
