//! An allocator that counts. A test that uses it is a binary of its own, because it counts for all.
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
    static GIVEN_BACK: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting the calls of each thread.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

#[allow(
    unsafe_code,
    reason = "an allocator cannot be written without; it only counts and passes on"
)]
// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        GIVEN_BACK.set(GIVEN_BACK.get() + 1);
        unsafe { System.dealloc(ptr, layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        unsafe { System.realloc(ptr, layout, size) }
    }
}

/// How often this thread asked for memory and gave some back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calls {
    pub asked: u64,
    pub given_back: u64,
}

impl Calls {
    pub const NONE: Calls = Calls { asked: 0, given_back: 0 };
}

/// How often it did while `work` was done.
pub fn calls(work: impl FnOnce()) -> Calls {
    let before = (ASKED.get(), GIVEN_BACK.get());
    work();
    Calls { asked: ASKED.get() - before.0, given_back: GIVEN_BACK.get() - before.1 }
}

#[test]
fn the_counter_counts() {
    let once = Calls { asked: 1, given_back: 1 };
    assert_eq!(calls(|| drop(std::hint::black_box(vec![1_u8; 100]))), once);
    assert_eq!(calls(|| drop(std::hint::black_box(vec![0_u8; 100]))), once, "of zeros");
}
