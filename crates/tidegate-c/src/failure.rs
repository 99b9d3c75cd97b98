//! What went wrong: a code, and a text for people.
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use tidegate::ConfigError;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Status {
    /// It did what it was called for.
    Ok = 0,
    /// There is no packet yet. This is no failure.
    Nothing = 1,
    /// A pointer was null.
    NullPointer = 2,
    /// A text was not UTF-8.
    NotText = 3,
    /// No such queue, preset or parameter, or a value out of its bounds.
    Refused = 4,
    /// A packet's length or code point, or a time that runs back.
    OutOfRange = 5,
    /// A fault of Tidegate's own. What was called refuses all calls from then on; free it.
    Bug = 6,
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// A call that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    status: Status,
    why: String,
}

impl Failure {
    pub fn new(status: Status, why: String) -> Failure {
        Failure { status, why }
    }

    /// The argument called `name` was null.
    #[cold]
    pub fn null(name: &str) -> Failure {
        Failure::new(Status::NullPointer, format!("{name} is a null pointer"))
    }

    #[cold]
    fn bug() -> Failure {
        let why = "a fault of Tidegate's own; free what was called, and report how it came about";
        Failure::new(Status::Bug, why.into())
    }

    /// Keeps the text for [`tidegate_last_error`].
    #[cold]
    pub fn keep(self) -> Status {
        let text = CString::new(self.why.replace('\0', "\u{fffd}")).unwrap_or_default();
        // A thread that is ending has nobody to read it.
        let _ = LAST.try_with(|last| last.replace(text));
        self.status
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Failure {
        Failure::new(Status::Refused, error.to_string())
    }
}

/// What C holds a pointer to.
pub(crate) trait Held {
    /// Whether a call panicked: then what it holds may be half done.
    fn broken(&self) -> &Cell<bool>;
}

/// Makes a `T` and puts it behind a pointer in `out`; null if that fails.
///
/// # Safety
/// `out` is null or can be written to.
pub(crate) unsafe fn make<T>(out: *mut *mut T, new: impl FnOnce() -> Result<T, Failure>) -> Status {
    if out.is_null() {
        return Failure::null("out").keep();
    }
    let made = catch_unwind(AssertUnwindSafe(new)).unwrap_or_else(|_| Err(Failure::bug()));
    let (pointer, status) = match made {
        Ok(made) => (Box::into_raw(Box::new(made)), Status::Ok),
        Err(failure) => (std::ptr::null_mut(), failure.keep()),
    };
    // SAFETY: it is not null, and the caller says that it can be written to.
    unsafe { out.write(pointer) };
    status
}

/// Calls what is behind `held`. What fails says so by [`Failure::keep`], so that a call that does
/// not has no failure to carry about.
///
/// # Safety
/// `held` is null, or came from [`make`], is not freed, and nobody else uses it meanwhile.
#[inline]
pub(crate) unsafe fn call<T: Held>(held: *mut T, does: impl FnOnce(&mut T) -> Status) -> Status {
    // SAFETY: the caller's promise is that of `as_mut`.
    let Some(held) = (unsafe { held.as_mut() }) else {
        return Failure::null("the queue or bottleneck").keep();
    };
    if held.broken().get() {
        return Failure::bug().keep();
    }
    catch_unwind(AssertUnwindSafe(|| does(held))).unwrap_or_else(|_| {
        held.broken().set(true);
        Failure::bug().keep()
    })
}

/// Reads what is behind `held`; `none` of nothing, of what panicked, and where reading panics.
///
/// # Safety
/// As for [`call`].
#[inline]
pub(crate) unsafe fn look<T: Held, R>(held: *const T, none: R, does: impl FnOnce(&T) -> R) -> R {
    // SAFETY: the caller's promise is that of `as_ref`.
    let Some(held) = (unsafe { held.as_ref() }).filter(|held| !held.broken().get()) else {
        return none;
    };
    catch_unwind(AssertUnwindSafe(|| does(held))).unwrap_or_else(|_| {
        held.broken().set(true);
        Failure::bug().keep();
        none
    })
}

/// Frees what is behind `held`.
///
/// # Safety
/// As for [`call`].
pub(crate) unsafe fn free<T>(held: *mut T) {
    if held.is_null() {
        return;
    }
    // SAFETY: it came from `make`, which had it from a box, and is freed for the first time.
    let held = unsafe { Box::from_raw(held) };
    if catch_unwind(AssertUnwindSafe(|| drop(held))).is_err() {
        Failure::bug().keep();
    }
}

/// The text behind `text`, the argument called `name`.
///
/// # Safety
/// `text` is null or ends with a zero byte, and stays as it is for as long as `'t`.
pub(crate) unsafe fn read<'t>(text: *const c_char, name: &str) -> Result<&'t str, Failure> {
    // SAFETY: the caller's promise is that of `optional`.
    unsafe { optional(text, name) }?.ok_or_else(|| Failure::null(name))
}

/// The same where null means that there is none.
///
/// # Safety
/// As for [`read`].
pub(crate) unsafe fn optional<'t>(
    text: *const c_char,
    name: &str,
) -> Result<Option<&'t str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: it is not null, and the caller says that it ends and stays.
    let text = unsafe { CStr::from_ptr(text) };
    let not_text = |_| Failure::new(Status::NotText, format!("{name} is not UTF-8"));
    text.to_str().map(Some).map_err(not_text)
}

/// Why the last call of this thread that failed did so: the field, its value, and what it must be.
/// The text stays until this thread's next failure. It is empty if there was none.
#[unsafe(no_mangle)]
pub extern "C" fn tidegate_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The version of the library, as in "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn tidegate_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Thing(Cell<bool>);

    impl Held for Thing {
        fn broken(&self) -> &Cell<bool> {
            &self.0
        }
    }

    fn last() -> String {
        // SAFETY: it ends with a zero byte and stays until the next failure.
        unsafe { CStr::from_ptr(tidegate_last_error()) }.to_str().unwrap().into()
    }

    #[test]
    fn a_panic_stays_inside_and_what_panicked_is_refused_from_then_on() {
        let mut out = std::ptr::null_mut();
        // SAFETY: `out` can be written to; the pointer in it is used here alone, and freed once.
        unsafe {
            assert_eq!(make(&mut out, || Ok(Thing::default())), Status::Ok);
            assert_eq!(call(out, |_| Status::Nothing), Status::Nothing);
            assert_eq!(look(out, 0, |_| 7), 7);
            assert_eq!(call(out, |_| panic!("on purpose")), Status::Bug);
            assert_eq!(call(out, |_| Status::Ok), Status::Bug);
            assert_eq!(look(out, 0, |_| 7), 0, "it may be half done");
            free(out);
            assert_eq!(make(&mut out, || panic!("on purpose")), Status::Bug);
        }
        assert!(out.is_null() && last().starts_with("a fault of Tidegate's own"), "{}", last());
    }

    #[test]
    fn texts_that_hold_a_zero_byte_are_kept() {
        Failure::new(Status::Refused, "a\0b".into()).keep();
        assert_eq!(last(), "a\u{fffd}b");
    }
}
