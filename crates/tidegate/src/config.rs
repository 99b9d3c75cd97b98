//! Parameters as text and as values: one declaration gives the struct, its bounds, its parser and
//! its table.
//!
//! A queue declares its parameters with [`params!`](crate::params); the command line, the scenario
//! reader, the manual page and the tests all read the same [`Param`] table.
mod by_class;
mod choices;
#[doc(hidden)] // For the pages of Tidegate's own crates.
pub mod readable;
mod value;

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

pub use by_class::ByClass;
#[doc(hidden)] // For the macros, and for Tidegate's own crates.
pub use by_class::{Element, SEPARATOR};
#[doc(hidden)]
pub use choices::not_a_choice;
pub use value::Value;
#[doc(hidden)]
pub use value::read_error;

/// A configuration that cannot be: which field, what it was, and what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The field's name.
    pub field: String,
    /// The value that was refused, as text.
    pub value: String,
    /// The bound it breaks, or what was expected.
    pub why: String,
}

impl ConfigError {
    /// `field` was `value`, and that is wrong because of `why`.
    pub fn new(
        field: impl Into<String>,
        value: impl ToString,
        why: impl Into<String>,
    ) -> ConfigError {
        ConfigError { field: field.into(), value: value.to_string(), why: why.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: {}", self.field, self.value, self.why)
    }
}

impl core::error::Error for ConfigError {}

/// What is known of one parameter.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The name that users write.
    pub name: &'static str,
    /// The paper's symbol.
    pub symbol: &'static str,
    /// What it is, in one line.
    pub doc: &'static str,
    /// What kind of text it takes: `number`, `time`, or the words of a choice.
    pub kind: &'static str,
    /// Least and greatest value, in the base unit (packets or bytes for a [`Size`](crate::Size)).
    pub bounds: (f64, f64),
    /// The bounds as text, units included.
    pub range: fn() -> String,
}

/// Checks `value` against `param`'s bounds.
///
/// # Errors
/// When it lies outside, or is not a number.
#[doc(hidden)] // For the macros.
pub fn check_bounds<V: Value>(param: &Param, value: &V) -> Result<(), ConfigError> {
    let (least, most) = param.bounds;
    let (smallest, largest) = value.extent();
    if smallest >= least && largest <= most {
        return Ok(());
    }
    Err(ConfigError::new(param.name, value.write(), format!("must lie in {}", (param.range)())))
}

/// A set of parameters that can be read and written by name. Implemented by
/// [`params!`](crate::params).
pub trait Params: Clone + 'static {
    /// Every parameter, in the order of the manual page.
    const PARAMS: &'static [Param];
    /// Sets the parameter called `name` from text and checks its bounds; on error nothing changes.
    ///
    /// # Errors
    /// An unknown name (`why` lists the known ones), a text that is no such value, a value out of
    /// bounds.
    fn set(&mut self, name: &str, text: &str) -> Result<(), ConfigError>;
    /// The parameter called `name` as text.
    fn get(&self, name: &str) -> Option<String>;
    /// Checks every parameter against its bounds, for a value that was built in code.
    ///
    /// # Errors
    /// The first parameter out of bounds.
    fn check(&self) -> Result<(), ConfigError>;
}

/// The error for a name that is no parameter.
#[doc(hidden)] // For the macros.
pub fn unknown_param(name: &str, text: &str, params: &[Param]) -> ConfigError {
    let known: String = params.iter().map(|p| format!("{}, ", p.name)).collect();
    let why = match known.trim_end_matches(", ") {
        "" => "no such parameter; this queue has none".to_string(),
        known => format!("no such parameter; known are {known}"),
    };
    ConfigError::new(name, text, why)
}

/// Declares a struct of parameters: fields with their type, default, paper's symbol and closed
/// bounds.
///
/// ```
/// tidegate::params! {
///     /// What a toy is made of.
///     pub struct ToyConfig {
///         /// How much of it.
///         weight: f64 = 0.002, "w_q", 1e-9 ..= 1.0;
///     }
/// }
/// use tidegate::config::Params;
/// let mut toy = ToyConfig::default();
/// assert!(toy.set("weight", "2").unwrap_err().why.contains("must lie in"));
/// toy.set("weight", "0.5").unwrap();
/// assert_eq!(toy.get("weight").unwrap(), "0.5");
/// ```
///
/// A struct may share parameters with another one, its base. A field without symbol and bounds
/// takes them from the base's field of the same name, and its documentation unless it has its own.
/// `base()` gives the base with the values of these fields.
///
/// ```
/// # tidegate::params! {
/// #     /// What a toy is made of.
/// #     pub struct ToyConfig {
/// #         /// How much of it.
/// #         weight: f64 = 0.002, "w_q", 1e-9 ..= 1.0;
/// #     }
/// # }
/// tidegate::params! {
///     /// A toy on wheels.
///     pub struct CarConfig: ToyConfig {
///         /// The number of wheels.
///         wheels: u32 = 4, "", 1 ..= 100;
///         weight: f64 = 0.5;
///     }
/// }
/// use tidegate::config::Params;
/// assert_eq!(CarConfig::PARAMS[1].symbol, "w_q");
/// assert_eq!(CarConfig::default().base(), ToyConfig { weight: 0.5 });
/// ```
#[macro_export]
macro_rules! params {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident : $type:ty = $default:expr, $symbol:literal,
                    $least:literal ..= $most:literal;
            )*
        }
    ) => {
        $crate::params! {
            @build $(#[$meta])* $name
            { $( $(#[doc = $doc])+ $field: $type = $default; )* }
            { $( $crate::param!($field: $type, [$($doc),+], $symbol, $least, $most); )* }
        }
    };
    (
        $(#[$meta:meta])*
        pub struct $name:ident : $base:ident {
            $(
                $(#[doc = $doc:literal])*
                $field:ident : $type:ty = $default:expr
                $(, $symbol:literal, $least:literal ..= $most:literal)?;
            )*
        }
    ) => {
        $crate::params! {
            @build $(#[$meta])* $name
            {
                $(
                    $(#[doc = $doc])*
                    #[doc = concat!("Parameter `", stringify!($field), "`.")]
                    $field: $type = $default;
                )*
            }
            {
                $( $crate::param!(
                    $field: $type, [$($doc),*], $($symbol, $least, $most)? in $base
                ); )*
            }
        }

        impl $name {
            /// The base with the values of the parameters that both have.
            pub fn base(&self) -> $base {
                let mut base = $base::default();
                $( $crate::copy_param!(self, base, $field $(, $symbol)?); )*
                base
            }
        }
    };
    (
        @build $(#[$meta:meta])* $name:ident
        { $( $(#[$field_meta:meta])+ $field:ident : $type:ty = $default:expr; )* }
        { $( $row:expr; )* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $( $(#[$field_meta])+ pub $field: $type, )*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $( $field: $default, )* }
            }
        }

        impl $crate::config::Params for $name {
            const PARAMS: &'static [$crate::config::Param] = &[$( $row, )*];

            #[allow(unused_variables, unused_mut, unused_assignments)]
            fn set(&mut self, name: &str, text: &str) -> Result<(), $crate::ConfigError> {
                let mut index = 0;
                $(
                    if name == stringify!($field) {
                        let value = <$type as $crate::config::Value>::read(text)
                            .map_err(|e| $crate::config::read_error(&Self::PARAMS[index], e))?;
                        $crate::config::check_bounds(&Self::PARAMS[index], &value)?;
                        self.$field = value;
                        return Ok(());
                    }
                    index += 1;
                )*
                Err($crate::config::unknown_param(name, text, Self::PARAMS))
            }

            #[allow(unused_variables)]
            fn get(&self, name: &str) -> Option<$crate::config::Text> {
                $(
                    if name == stringify!($field) {
                        return Some($crate::config::Value::write(&self.$field));
                    }
                )*
                None
            }

            #[allow(unused_variables, unused_mut, unused_assignments)]
            fn check(&self) -> Result<(), $crate::ConfigError> {
                let mut index = 0;
                $(
                    $crate::config::check_bounds(&Self::PARAMS[index], &self.$field)?;
                    index += 1;
                )*
                Ok(())
            }
        }
    };
}

/// The row of one parameter in its table: declared here, or taken from a base.
#[doc(hidden)]
#[macro_export]
macro_rules! param {
    (
        $field:ident : $type:ty, [$($doc:literal),+], $symbol:literal, $least:literal, $most:literal
        $(in $base:ident)?
    ) => {
        $crate::config::Param {
            name: stringify!($field),
            symbol: $symbol,
            doc: concat!($($doc),+),
            kind: <$type as $crate::config::Value>::KIND,
            bounds: ($least as f64, $most as f64),
            range: || $crate::config::range_text::<$type>($least as f64, $most as f64),
        }
    };
    ($field:ident : $type:ty, [$($doc:literal),*], in $base:ident) => {
        $crate::config::shared_param(
            <$base as $crate::config::Params>::PARAMS,
            stringify!($field),
            concat!($($doc),*),
        )
    };
}

/// Copies a parameter to the base if it is the base's, which is if it has no symbol of its own.
#[doc(hidden)]
#[macro_export]
macro_rules! copy_param {
    ($from:ident, $to:ident, $field:ident) => {
        $to.$field = $from.$field.clone();
    };
    ($from:ident, $to:ident, $field:ident, $symbol:literal) => {};
}

/// The parameter `name` of `base`, with `doc` for its documentation unless that is empty.
#[doc(hidden)]
pub const fn shared_param(base: &[Param], name: &str, doc: &'static str) -> Param {
    let mut i = 0;
    while i < base.len() {
        if same(base[i].name, name) {
            let doc = if doc.is_empty() { base[i].doc } else { doc };
            return Param { doc, ..base[i] };
        }
        i += 1;
    }
    panic!("the base has no parameter of this name");
}

/// Whether two texts are equal, at compile time.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// The owned string that parameters are written into.
#[doc(hidden)] // For the macros.
pub type Text = String;

/// Bounds as text. Choices have no bounds and list their words instead.
#[doc(hidden)] // For the macros.
pub fn range_text<V: Value>(least: f64, most: f64) -> String {
    let (least, most) = (V::write_bound(least), V::write_bound(most));
    if least == most { most } else { format!("{least} to {most}") }
}

#[cfg(test)]
mod tests {
    use crate::{Link, Size, catalog};

    #[test]
    fn a_text_that_is_no_whole_number_is_told_the_range() {
        let link =
            Link::new("10 Mbit/s".parse().unwrap(), Size::Packets(100), "1000 B".parse().unwrap())
                .unwrap();
        let mut sfb = catalog::config("sfb", Some("paper"), &link).unwrap();
        for text in ["2.5", "-1", "1e300"] {
            let error = sfb.set("levels", text).unwrap_err();
            assert_eq!((error.field.as_str(), error.value.as_str()), ("levels", text));
            assert_eq!(error.why, "must be a whole number from 1 to 8");
        }
    }
}
