//! Where a page has the chart library: in itself, or in a file that many pages share.
use std::fmt::Write;

use super::{CHARTS, NOTICES, SCRIPT, in_script};

/// The name of the file that pages share, beside them.
pub const LIBRARY: &str = "charts.js";

/// Where the chart library is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    /// In the page: one file that needs nothing else.
    Within,
    /// In [`LIBRARY`] beside it.
    Beside,
}

/// What is in [`LIBRARY`]: the chart library, the notices that go with it, and what draws a report.
pub fn library() -> String {
    let notices = NOTICES.join("\n\n").replace("*/", "* /");
    format!("/*\n{notices}\n*/\n{CHARTS}\nfunction tidegateReport() {{\n{}}}\n", script())
}

/// What draws a report, the body of a function.
fn script() -> String {
    format!("'use strict';\n{}", SCRIPT.join("\n"))
}

impl Library {
    /// What the page's policy lets it load, for a page's head.
    pub(crate) fn policy(self) -> &'static str {
        match self {
            Library::Within => "script-src 'unsafe-inline'",
            // A page that is opened from a disk has no origin: only its scheme can be named.
            Library::Beside => "script-src 'unsafe-inline' 'self' file:",
        }
    }

    /// Writes the library into `page`, or where it lies.
    pub(crate) fn write(self, page: &mut String) {
        let _ = match self {
            Library::Within => write!(
                page,
                "<script type=\"text/plain\" id=\"notices\">\n{}</script>\n\
                 <script>{CHARTS}</script>\n",
                in_script(&NOTICES.join("\n\n"))
            ),
            Library::Beside => writeln!(page, "<script src=\"{LIBRARY}\"></script>"),
        };
    }

    /// Writes what draws a report into `page`, behind the library.
    pub(super) fn draw(self, page: &mut String) {
        let _ = match self {
            Library::Within => {
                writeln!(page, "<script>\n(function () {{\n{}}})();\n</script>", script())
            }
            Library::Beside => writeln!(page, "<script>tidegateReport();</script>"),
        };
    }
}
