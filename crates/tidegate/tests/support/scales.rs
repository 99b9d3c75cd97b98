//! Scales for memory: an allocator that weighs. A test that uses it is a binary of its own, because
//! it counts for all.
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
    static MOST: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, as a test's `#[global_allocator]`, with the bytes that this thread holds
/// and has held at most.
pub struct Weighing;

fn weigh(bytes: i64) {
    HELD.with(|held| {
        held.set(held.get() + bytes);
        MOST.with(|most| most.set(most.get().max(held.get())));
    });
}

#[allow(
    unsafe_code,
    reason = "an allocator cannot be written without; it only weighs and passes on"
)]
unsafe impl GlobalAlloc for Weighing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        weigh(layout.size() as i64);
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        weigh(layout.size() as i64);
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        weigh(-(layout.size() as i64));
        unsafe { System.dealloc(ptr, layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        weigh(size as i64 - layout.size() as i64);
        unsafe { System.realloc(ptr, layout, size) }
    }
}

/// How many bytes `work` held at most, beyond what was held before.
pub fn heaviest<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let before = HELD.with(Cell::get);
    MOST.with(|most| most.set(before));
    let result = work();
    ((MOST.with(Cell::get) - before) as u64, result)
}
