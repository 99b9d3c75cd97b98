//! A flood made in the kernel: a small XDP program gives frames their flows and sends them out.
//! That is so cheap that the same core has time to receive what they become.
// the bpf system call, which has no safe wrapper that runs programs on live frames
#![allow(unsafe_code)]

use std::ffi::c_long;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Frames made in one call.
pub const BURST: u32 = 1 << 20;
/// Frames made at a time, the most that the kernel takes.
const BATCH: u32 = 256;
/// Where the source port of UDP over IPv4 without options is in a frame.
const SOURCE_PORT: i16 = 34;
/// The mask of the flows' numbers: there are 1024.
const FLOWS: i32 = 1023;

const PROG_LOAD: c_long = 5;
const PROG_TEST_RUN: c_long = 10;
const XDP: u64 = 6;
const LIVE_FRAMES: u64 = 1 << 1;

/// Sends the same frame from one of 1024 source ports at random, whichever comes.
pub struct Flood {
    program: OwnedFd,
    frame: Vec<u8>,
}

impl Flood {
    /// A flood of `frame` out of the interface with this index in this thread's namespace.
    ///
    /// # Errors
    /// The kernel refuses the program.
    pub fn new(frame: Vec<u8>, interface: u32) -> io::Result<Flood> {
        // code, destination and source register, offset, immediate value
        let program = [
            op(0xbf, 6, 1, 0, 0),                      // r6 = context
            op(0x85, 0, 0, 0, 7),                      // r0 = a random number
            op(0x61, 2, 6, 0, 0),                      // r2 = where the frame begins
            op(0x61, 3, 6, 4, 0),                      // r3 = where it ends
            op(0xbf, 4, 2, 0, 0),                      //
            op(0x07, 4, 0, 0, SOURCE_PORT as i32 + 2), //
            op(0x2d, 4, 3, 6, 0),                      // too short: drop it
            op(0x57, 0, 0, 0, FLOWS),                  //
            op(0x6b, 2, 0, SOURCE_PORT, 0),            // the source port
            op(0xb7, 1, 0, 0, interface as i32),       //
            op(0xb7, 2, 0, 0, 0),                      //
            op(0x85, 0, 0, 0, 23),                     // send it out there
            op(0x95, 0, 0, 0, 0),                      //
            op(0xb7, 0, 0, 0, 1),                      // drop
            op(0x95, 0, 0, 0, 0),
        ];
        let licence = c"GPL";
        let mut attributes = [0_u64; 16];
        attributes[0] = XDP | (program.len() as u64) << 32;
        attributes[1] = program.as_ptr() as u64;
        attributes[2] = licence.as_ptr() as u64;
        let descriptor = bpf(PROG_LOAD, &mut attributes)?;
        // SAFETY: the kernel has made it just now and nobody else has it.
        Ok(Flood { program: unsafe { OwnedFd::from_raw_fd(descriptor as i32) }, frame })
    }

    /// Sends [`BURST`] frames.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn burst(&self) -> io::Result<()> {
        let mut attributes = [0_u64; 16];
        attributes[0] = self.program.as_raw_fd() as u64;
        attributes[1] = self.frame.len() as u64;
        attributes[2] = self.frame.as_ptr() as u64;
        attributes[4] = u64::from(BURST);
        attributes[8] = LIVE_FRAMES;
        attributes[9] = u64::from(BATCH);
        bpf(PROG_TEST_RUN, &mut attributes).map(drop)
    }
}

fn op(code: u8, to: u8, from: u8, offset: i16, value: i32) -> u64 {
    let [low, high] = offset.to_le_bytes();
    let [a, b, c, d] = value.to_le_bytes();
    u64::from_le_bytes([code, to | from << 4, low, high, a, b, c, d])
}

fn bpf(command: c_long, attributes: &mut [u64; 16]) -> io::Result<c_long> {
    // SAFETY: what the attributes point at outlives the call, which only reads it.
    match unsafe {
        libc::syscall(libc::SYS_bpf, command, attributes.as_mut_ptr(), size_of_val(attributes))
    } {
        -1 => Err(io::Error::last_os_error()),
        answer => Ok(answer),
    }
}
