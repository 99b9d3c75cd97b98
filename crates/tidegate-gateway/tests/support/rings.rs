//! Frames sent by hand.
use tidegate_gateway::device::port::{Port, Unsent};
use tidegate_gateway::device::ring::PacketRing;

/// Sends `frames`, all of them, with as many flushes as it takes.
pub fn send(ring: &mut PacketRing, frames: &[Vec<u8>]) {
    for frame in frames {
        if ring.send(frame) == Err(Unsent::Full) {
            ring.flush().unwrap();
            ring.send(frame).unwrap();
        }
    }
    ring.flush().unwrap();
}
