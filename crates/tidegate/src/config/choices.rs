//! Parameters that are one of several words.
use alloc::format;

use crate::units::UnitError;

/// Declares an enum whose variants are words: a mode is an enum, not a boolean. Bounds are `0 ..=
/// 0`.
///
/// ```
/// tidegate::choices! {
///     /// Which way.
///     pub enum Way { /** Up. */ Up = "up", /** Down. */ Down = "down" }
/// }
/// use tidegate::config::Value;
/// assert_eq!(Way::read("up").unwrap(), Way::Up);
/// assert!(Way::read("left").unwrap_err().why.contains("up | down"));
/// ```
#[macro_export]
macro_rules! choices {
    (
        $(#[$meta:meta])* pub enum $name:ident {
            $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name { $($(#[$vmeta])* $variant),+ }

        impl $crate::config::Value for $name {
            const KIND: &'static str = $crate::words!($($word),+);
            fn read(text: &str) -> Result<Self, $crate::units::UnitError> {
                match text {
                    $($word => Ok($name::$variant),)+
                    _ => Err($crate::config::not_a_choice(text, Self::KIND)),
                }
            }
            fn write(&self) -> $crate::config::Text {
                match self { $($name::$variant => $word),+ }.into()
            }
            fn magnitude(&self) -> f64 {
                0.0
            }
            fn write_bound(_: f64) -> $crate::config::Text {
                Self::KIND.into()
            }
        }
    };
}

/// The words of a choice with bars between them.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    ($first:literal $(, $rest:literal)*) => { concat!($first $(, " | ", $rest)*) };
}

/// The error for a word that is none of a choice's.
pub fn not_a_choice(text: &str, words: &str) -> UnitError {
    UnitError { text: text.into(), why: format!("must be one of {words}") }
}
