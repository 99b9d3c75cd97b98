//! The simulator as a module for browsers: a request in, an answer out, both JSON.
//!
//! The page asks for room for a request ([`room`]), writes it there, has it answered ([`answer`])
//! and reads as many bytes as [`length`] says. The module imports nothing: it knows no clock, no
//! file and no network. `make wasm` builds it into `docs/play/engine.js`.
//!
//! ```
//! let text = tidegate_wasm::reply(br#"{"run": {"sets": ["run.duration=6 s"], "queue": "sfb"}}"#);
//! assert!(text.starts_with(r#"{"played":"#));
//! let text = tidegate_wasm::reply(br#"{"run": {"sets": [], "queue": "sbf"}}"#);
//! assert!(text.contains("did you mean `sfb`?"));
//! ```
#![allow(unsafe_code, reason = "a function by its plain name; nothing else here is unsafe")]

mod play;
mod request;

use std::sync::{Mutex, MutexGuard, PoisonError};

use play::{Played, queues};
use request::{Queue, Request};
use serde::Serialize;

/// The longest request, in bytes.
pub const LONGEST: usize = 1 << 16;

/// The request and the answer, which stay where they are until the next ones.
struct Room {
    request: Vec<u8>,
    answer: String,
}

static ROOM: Mutex<Room> = Mutex::new(Room { request: vec![], answer: String::new() });

fn locked() -> MutexGuard<'static, Room> {
    ROOM.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where to write a request of `length` bytes; null if it is longer than [`LONGEST`].
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    if length > LONGEST {
        return std::ptr::null_mut();
    }
    let mut room = locked();
    room.request = vec![0; length];
    room.request.as_mut_ptr()
}

/// Answers the request; where the answer begins.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    let mut room = locked();
    room.answer = reply(&room.request);
    room.answer.as_ptr()
}

/// The length of the answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    locked().answer.len()
}

/// What comes back.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    /// The queues that there are.
    Queues(Vec<Queue>),
    /// A result.
    Played(Box<Played>),
    /// What is wrong with the request.
    Problem(String),
}

/// The answer to a request, both JSON.
pub fn reply(request: &[u8]) -> String {
    let reply = match serde_json::from_slice(request) {
        Ok(Request::Queues) => Reply::Queues(queues()),
        Ok(Request::Run(run)) => {
            Played::new(&run).map_or_else(Reply::Problem, |played| Reply::Played(Box::new(played)))
        }
        Err(error) => Reply::Problem(format!("the request: {error}")),
    };
    serde_json::to_string(&reply).expect("names are strings and numbers are numbers or null")
}
