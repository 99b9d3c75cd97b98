//! Plots as PDF and PNG. A machine without fonts must say so; with some, files are looked into.
use std::io::Read;

use resvg::tiny_skia::Pixmap;
use tidegate_lab::print::{Fonts, Unprinted};

/// 88 mm by 30 mm, a square of 20 by 20 points at (10, 10), and a word.
fn picture(family: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"88mm\" height=\"30mm\" \
         viewBox=\"0 0 249.45 85.04\" font-family=\"{family}\" font-size=\"7\">\
         <rect width=\"249.45\" height=\"85.04\" fill=\"#fff\"/>\
         <rect x=\"10\" y=\"10\" width=\"20\" height=\"20\" fill=\"#440154\"/>\
         <path d=\"M50 20L90 20\" fill=\"none\" stroke=\"#d55e00\" stroke-dasharray=\"4 2\"/>\
         <circle cx=\"100\" cy=\"20\" r=\"5\" fill=\"#0072b2\" fill-opacity=\"0.5\"/>\
         <text x=\"120\" y=\"40\">delay (ms)</text></svg>"
    )
}

/// The fonts of this machine and a family of them, if there is one.
fn installed() -> Option<(Fonts, String)> {
    let fonts = Fonts::installed();
    let family = fonts.families().into_iter().find(|name| name.is_ascii());
    if family.is_none() {
        let why = fonts.pdf(&picture("serif"), "serif").unwrap_err().to_string();
        assert!(why.contains("this machine has no fonts at all"), "{why}");
    }
    Some((fonts, family?))
}

/// All of a PDF, its packed streams unpacked.
fn unpacked(pdf: &[u8]) -> String {
    let find = |from: usize, what: &[u8]| {
        pdf[from..].windows(what.len()).position(|part| part == what).map(|at| from + at)
    };
    let (mut text, mut at) = (String::new(), 0);
    while let Some(start) = find(at, b"stream\n") {
        let end = find(start, b"\nendstream").expect("a stream ends");
        text += &String::from_utf8_lossy(&pdf[at..start]);
        let mut stream = vec![];
        let packed = &pdf[start + b"stream\n".len()..end];
        match flate2::read::ZlibDecoder::new(packed).read_to_end(&mut stream) {
            Ok(_) => text += &String::from_utf8_lossy(&stream),
            Err(_) => text += &String::from_utf8_lossy(packed),
        }
        at = end + b"\nendstream".len();
    }
    text + &String::from_utf8_lossy(&pdf[at..])
}

#[test]
fn a_pdf_has_the_size_the_paths_and_the_font() {
    let Some((fonts, family)) = installed() else { return };
    let pdf = fonts.pdf(&picture(&family), &family).unwrap();
    let text = unpacked(&pdf);
    assert!(text.starts_with("%PDF-1.7"), "{}", &text[..20]);
    assert!(text.contains("/MediaBox [0 0 249.44882 85.03937]"), "88 mm are 249.449 points");
    assert!(text.contains("[4 2] 0 d"), "dashes");
    assert!(text.contains("0.26666668 0.003921569 0.32941177 rg"), "the square's colour");
    assert!(text.contains("/ca 0.5"), "the circle's opacity");
    assert!(text.contains("/FontFile"), "the font goes along");
    for letter in "delay(ms)".chars() {
        let code = format!("<{:04X}>", u32::from(letter));
        assert!(text.contains(&code), "{letter} can be read out");
    }
    assert!(pdf.len() < 60_000, "{} bytes: only the letters that are used", pdf.len());
    assert_eq!(pdf, fonts.pdf(&picture(&family), &family).unwrap(), "the same bytes");
}

#[test]
fn a_png_has_300_dots_per_inch() {
    let Some((fonts, family)) = installed() else { return };
    let png = fonts.png(&picture(&family), &family).unwrap();
    let pixels = Pixmap::decode_png(&png).unwrap();
    // 88 mm and 30 mm of 25.4 mm, times 300.
    assert_eq!((pixels.width(), pixels.height()), (1039, 354));
    let at = |x: f64, y: f64| {
        let [x, y] = [x, y].map(|points| (points * 300.0 / 72.0) as u32);
        let colour = pixels.pixel(x, y).unwrap();
        [colour.red(), colour.green(), colour.blue()]
    };
    assert_eq!(at(20.0, 20.0), [0x44, 0x01, 0x54]);
    assert_eq!(at(40.0, 20.0), [255, 255, 255]);
    let ink = (120..150).flat_map(|x| (34..42).map(move |y| (x, y)));
    assert!(ink.into_iter().any(|(x, y)| at(f64::from(x), f64::from(y))[0] < 128), "a word");
}

#[test]
fn a_font_that_is_not_there_is_refused_with_those_that_are() {
    let Some((fonts, family)) = installed() else { return };
    for wrong in ["No Such Font", "No Such Font, Nor This"] {
        let error = fonts.pdf(&picture(wrong), wrong).unwrap_err();
        let Unprinted::Font { family: asked, known } = &error else { panic!("{error}") };
        assert_eq!((asked.as_str(), known.contains(&family)), (wrong, true));
        assert!(error.to_string().contains(&family), "{error}");
        assert!(fonts.png(&picture(wrong), wrong).is_err());
    }
    assert_eq!(fonts.check(&format!("No Such Font, '{family}'")), Ok(()), "one is enough");
    let mistyped = fonts.check(&format!("{family}x")).unwrap_err().to_string();
    assert!(mistyped.ends_with(&format!("did you mean {family}?")), "{mistyped}");
}

#[test]
fn what_is_no_picture_is_refused() {
    let Some((fonts, family)) = installed() else { return };
    assert!(matches!(fonts.pdf("<svg", &family), Err(Unprinted::Picture(_))));
    let large = picture(&family).replace("88mm", "88000mm");
    let why = fonts.png(&large, &family).unwrap_err().to_string();
    assert!(why.contains("pixels are too many"), "{why}");
}
