//! Prefetches memory before it is needed.
use prefetch_index::prefetch_index;

/// The length of a cache line, in bytes.
const LINE: usize = 64;

/// Prefetches all cache lines of `item`, if there is one. It reads no value and changes nothing
/// else.
#[inline]
pub(crate) fn fetch<T>(item: Option<&T>) {
    let Some(item) = item else { return };
    // Relative to an empty slice, an index works as an address.
    let nothing: &[u8] = &[];
    let start = std::ptr::from_ref(item).addr().wrapping_sub(nothing.as_ptr().addr());
    for line in (0..size_of::<T>()).step_by(LINE) {
        prefetch_index(nothing, start.wrapping_add(line));
    }
}
