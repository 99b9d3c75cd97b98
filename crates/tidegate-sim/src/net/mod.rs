//! The network: links, ports, routes, merge points, and the packets on their way.

pub(crate) mod channel;
mod feeds;
pub(crate) mod flight;
pub(crate) mod forge;
pub(crate) mod ids;
pub(crate) mod line;
pub(crate) mod medium;
pub(crate) mod merge;
pub(crate) mod merge_point;
pub(crate) mod network;
mod paths;
pub(crate) mod port;
pub(crate) mod routes;
pub(crate) mod wire;
