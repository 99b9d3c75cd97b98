//! Plots for print: from SVG to PDF and PNG, with the fonts that this machine has.
//!
//! ```
//! use tidegate_lab::print::{Fonts, Unprinted};
//! let fonts = Fonts::none();
//! let error = fonts.pdf("<svg/>", "Nimbus Roman").unwrap_err();
//! assert!(matches!(error, Unprinted::Font { .. }));
//! assert!(error.to_string().contains("Nimbus Roman"));
//! ```
mod font;
mod pdf;

use std::fmt;
use std::io::Write;

use fontdb::Database;
use resvg::{tiny_skia, usvg};

use crate::nearest::nearest;

/// Dots per inch of a PNG: what printers ask for.
pub const PNG_DPI: f32 = 300.0;
/// Pixels in an inch of a document, by CSS.
const CSS_DPI: f32 = 96.0;
/// Pixels of the largest PNG.
const MOST_PIXELS: f32 = 2e8;

/// The families that stand for those without a name, the first that is installed.
const SANS: [&str; 6] =
    ["Helvetica", "Arial", "Liberation Sans", "Nimbus Sans", "DejaVu Sans", "Noto Sans"];
const SERIF: [&str; 6] =
    ["Times New Roman", "Times", "Liberation Serif", "Nimbus Roman", "DejaVu Serif", "Noto Serif"];
const MONOSPACE: [&str; 5] =
    ["Courier New", "Liberation Mono", "Nimbus Mono PS", "DejaVu Sans Mono", "Noto Sans Mono"];

/// Fonts to print with.
#[derive(Clone, Debug)]
pub struct Fonts(std::sync::Arc<Database>);

/// Why a plot is not printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unprinted {
    /// There is no such font.
    Font {
        /// What was asked for.
        family: String,
        /// What there is.
        known: Vec<String>,
    },
    /// What the library that writes it says.
    Picture(String),
}

impl Fonts {
    /// Those that this machine has.
    pub fn installed() -> Fonts {
        let mut all = Database::new();
        all.load_system_fonts();
        Fonts::with_generic(all)
    }

    /// None.
    pub fn none() -> Fonts {
        Fonts(Database::new().into())
    }

    /// `all`, with families for `sans-serif`, `serif` and `monospace`.
    fn with_generic(mut all: Database) -> Fonts {
        let known = families(&all);
        let first = |wanted: &[&'static str]| {
            wanted.iter().copied().find(|family| known.iter().any(|known| known == family))
        };
        // A name without a font stands for none: it will not be found.
        all.set_sans_serif_family(first(&SANS).unwrap_or_default());
        all.set_serif_family(first(&SERIF).unwrap_or_default());
        all.set_monospace_family(first(&MONOSPACE).unwrap_or_default());
        Fonts(all.into())
    }

    /// The families that there are, in the order of the alphabet.
    pub fn families(&self) -> Vec<String> {
        families(&self.0)
    }

    /// Checks that one of the families in `list`, which commas part, is there.
    ///
    /// # Errors
    /// None of them is.
    pub fn check(&self, list: &str) -> Result<(), Unprinted> {
        let families = list.split(',').map(|name| name.trim().trim_matches(['"', '\'']));
        let found = families.into_iter().any(|name| {
            let family = match name {
                "sans-serif" => fontdb::Family::SansSerif,
                "serif" => fontdb::Family::Serif,
                "monospace" => fontdb::Family::Monospace,
                name => fontdb::Family::Name(name),
            };
            let query = fontdb::Query { families: &[family], ..fontdb::Query::default() };
            self.0.query(&query).is_some()
        });
        if found {
            return Ok(());
        }
        Err(Unprinted::Font { family: list.into(), known: self.families() })
    }

    fn tree(&self, svg: &str, family: &str) -> Result<usvg::Tree, Unprinted> {
        self.check(family)?;
        let options = usvg::Options { fontdb: self.0.clone(), ..usvg::Options::default() };
        usvg::Tree::from_str(svg, &options).map_err(|error| Unprinted::Picture(error.to_string()))
    }

    /// The picture as PDF. Text stays text, in the font of this family, which goes along.
    ///
    /// # Errors
    /// The font is not there.
    pub fn pdf(&self, svg: &str, family: &str) -> Result<Vec<u8>, Unprinted> {
        pdf::write(&self.tree(svg, family)?).map_err(Unprinted::Picture)
    }

    /// The picture as PNG with [`PNG_DPI`].
    ///
    /// # Errors
    /// The font is not there, or the picture has too many pixels.
    pub fn png(&self, svg: &str, family: &str) -> Result<Vec<u8>, Unprinted> {
        let tree = self.tree(svg, family)?;
        let zoom = PNG_DPI / CSS_DPI;
        let (width, height) = (tree.size().width() * zoom, tree.size().height() * zoom);
        let large = || {
            Unprinted::Picture(format!(
                "{width:.0} × {height:.0} pixels are too many; a PDF or an SVG has none"
            ))
        };
        if width * height > MOST_PIXELS {
            return Err(large());
        }
        let [width, height] = [width, height].map(|length| length.round() as u32);
        let mut pixels = tiny_skia::Pixmap::new(width, height).ok_or_else(large)?;
        let zoom = tiny_skia::Transform::from_scale(zoom, zoom);
        resvg::render(&tree, zoom, &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| Unprinted::Picture(error.to_string()))
    }
}

/// `bytes` as PDF's FlateDecode unpacks them.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::best());
    // Writing into memory cannot fail.
    let done = packer.write_all(bytes).and_then(|()| packer.finish());
    done.unwrap_or_default()
}

fn families(all: &Database) -> Vec<String> {
    let names = all.faces().filter_map(|face| Some(face.families.first()?.0.clone()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names
}

impl fmt::Display for Unprinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (family, known) = match self {
            Unprinted::Picture(why) => return f.write_str(why),
            Unprinted::Font { family, known } => (family, known),
        };
        if known.is_empty() {
            return write!(
                f,
                "the font {family} is needed, and this machine has no fonts at all; install some, \
                 such as Debian's fonts-dejavu-core, or ask for SVG only"
            );
        }
        let all: Vec<&str> = known.iter().map(String::as_str).collect();
        write!(f, "this machine has no font {family}; it has {}", known.join(", "))?;
        match nearest(family, &all) {
            Some(near) => write!(f, "; did you mean {near}?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Unprinted {}
