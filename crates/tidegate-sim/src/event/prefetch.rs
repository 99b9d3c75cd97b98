//! Memory asked for before it is needed.
use prefetch_index::prefetch_index;

/// The length of a line of the cache, in bytes.
const LINE: usize = 64;

/// Asks for all of `item`, if it is there, to be brought into the cache. Changes nothing else, and
/// reads nothing.
#[inline]
pub(crate) fn fetch<T>(item: Option<&T>) {
    let Some(item) = item else { return };
    // Counted from where nothing is, an index is an address.
    let nothing: &[u8] = &[];
    let start = std::ptr::from_ref(item).addr().wrapping_sub(nothing.as_ptr().addr());
    for line in (0..size_of::<T>()).step_by(LINE) {
        prefetch_index(nothing, start.wrapping_add(line));
    }
}
