//! A laid-out SVG as PDF: what our plots are made of, which is paths, texts, and groups with a
//! transform or a clip.
use std::collections::BTreeMap;

use fontdb::ID;
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str};
use resvg::tiny_skia::{self, PathSegment, Transform};
use resvg::usvg::{self, Fill, Node, Paint, Stroke};

use super::font::Font;
use super::{CSS_DPI, packed};

/// Points in an inch.
const POINTS: f32 = 72.0;

/// What is being written.
struct PdfPage {
    content: Content,
    fonts: BTreeMap<ID, Font>,
    /// Opacities that occur, in thousandths: of fills and of strokes.
    opacities: BTreeMap<(u16, u16), String>,
}

/// The picture as a document of one page.
pub(super) fn write(tree: &usvg::Tree) -> Result<Vec<u8>, String> {
    let scale = POINTS / CSS_DPI;
    let (width, height) = (tree.size().width() * scale, tree.size().height() * scale);
    let mut page =
        PdfPage { content: Content::new(), fonts: BTreeMap::new(), opacities: BTreeMap::new() };
    // An SVG counts downwards, a PDF upwards.
    page.content.transform([scale, 0.0, 0.0, -scale, 0.0, height]);
    page.children(tree.root(), tree.fontdb())?;
    page.document(width, height)
}

impl PdfPage {
    fn children(&mut self, group: &usvg::Group, fonts: &fontdb::Database) -> Result<(), String> {
        for node in group.children() {
            match node {
                Node::Group(inner) => {
                    self.content.save_state();
                    self.content.transform(matrix(inner.transform()));
                    if let Some(clip) = inner.clip_path() {
                        self.clip(clip.root(), clip.transform());
                        self.content.clip_nonzero().end_path();
                    }
                    self.children(inner, fonts)?;
                    self.content.restore_state();
                }
                Node::Path(path) => self.path(path),
                Node::Text(text) => self.text(text, fonts)?,
                Node::Image(_) => {}
            }
        }
        Ok(())
    }

    /// Outlines all that is in a clip.
    fn clip(&mut self, group: &usvg::Group, above: Transform) {
        let transform = above.pre_concat(group.transform());
        for node in group.children() {
            match node {
                Node::Group(inner) => self.clip(inner, transform),
                Node::Path(path) => {
                    if let Some(path) = path.data().clone().transform(transform) {
                        self.outline(&path);
                    }
                }
                Node::Text(_) | Node::Image(_) => {}
            }
        }
    }

    fn path(&mut self, path: &usvg::Path) {
        let (fill, stroke) = (path.fill(), path.stroke());
        self.content.save_state();
        self.opacity(fill.map_or(1.0, |f| f.opacity().get()), stroke);
        if let Some([r, g, b]) = fill.and_then(|fill| colour(fill.paint())) {
            self.content.set_fill_rgb(r, g, b);
        }
        if let Some(stroke) = stroke {
            self.stroke(stroke);
        }
        self.outline(path.data());
        match (fill.is_some(), stroke.is_some()) {
            (true, true) => self.content.fill_nonzero_and_stroke(),
            (true, false) => self.content.fill_nonzero(),
            (false, true) => self.content.stroke(),
            (false, false) => self.content.end_path(),
        };
        self.content.restore_state();
    }

    fn stroke(&mut self, stroke: &Stroke) {
        if let Some([r, g, b]) = colour(stroke.paint()) {
            self.content.set_stroke_rgb(r, g, b);
        }
        self.content.set_line_width(stroke.width().get());
        if let Some(dashes) = stroke.dasharray() {
            self.content.set_dash_pattern(dashes.iter().copied(), stroke.dashoffset());
        }
    }

    fn opacity(&mut self, fill: f32, stroke: Option<&Stroke>) {
        let thousandths = |part: f32| (part * 1000.0).round() as u16;
        let stroke = stroke.map_or(1.0, |stroke| stroke.opacity().get());
        let key = (thousandths(fill), thousandths(stroke));
        if key != (1000, 1000) {
            let name = format!("O{}", self.opacities.len());
            let name = self.opacities.entry(key).or_insert(name);
            self.content.set_parameters(Name(name.as_bytes()));
        }
    }

    fn outline(&mut self, path: &tiny_skia::Path) {
        let mut last = tiny_skia::Point::zero();
        for segment in path.segments() {
            match segment {
                PathSegment::MoveTo(p) => {
                    self.content.move_to(p.x, p.y);
                    last = p;
                }
                PathSegment::LineTo(p) => {
                    self.content.line_to(p.x, p.y);
                    last = p;
                }
                PathSegment::QuadTo(c, p) => {
                    // A PDF has cubic curves only.
                    let third = |a: f32, b: f32| a + (b - a) * 2.0 / 3.0;
                    let one = (third(last.x, c.x), third(last.y, c.y));
                    let two = (third(p.x, c.x), third(p.y, c.y));
                    self.content.cubic_to(one.0, one.1, two.0, two.1, p.x, p.y);
                    last = p;
                }
                PathSegment::CubicTo(c, d, p) => {
                    self.content.cubic_to(c.x, c.y, d.x, d.y, p.x, p.y);
                    last = p;
                }
                PathSegment::Close => {
                    self.content.close_path();
                }
            }
        }
    }

    fn text(&mut self, text: &usvg::Text, fonts: &fontdb::Database) -> Result<(), String> {
        for span in text.layouted() {
            let paint = span.fill.as_ref().map(Fill::paint);
            let Some([r, g, b]) = paint.and_then(colour) else { continue };
            self.content.save_state();
            self.content.set_fill_rgb(r, g, b);
            self.content.begin_text();
            for glyph in &span.positioned_glyphs {
                let number = self.fonts.len();
                let font = match self.fonts.entry(glyph.font) {
                    std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                    std::collections::btree_map::Entry::Vacant(place) => {
                        place.insert(Font::read(fonts, glyph.font, number)?)
                    }
                };
                let id = u16::try_from(glyph.id.0).map_err(|_| "a letter is too far")?;
                let code = font.code(id, &glyph.text);
                let size = span.font_size.get();
                // A letter of size one is as large as the font's unit.
                let em = f32::from(font.units_per_em) / size;
                let place = glyph.outline_transform().pre_scale(em, em);
                self.content.set_font(Name(font.name.as_bytes()), size);
                self.content.set_text_matrix(matrix(place));
                self.content.show(Str(&code.to_be_bytes()));
            }
            self.content.end_text();
            self.content.restore_state();
        }
        Ok(())
    }

    /// The document around the page.
    fn document(self, width: f32, height: f32) -> Result<Vec<u8>, String> {
        let mut pdf = Pdf::new();
        let mut next = Ref::new(1);
        let mut new = || next.bump();
        let (catalog, pages, page, content) = (new(), new(), new(), new());
        pdf.catalog(catalog).pages(pages);
        pdf.pages(pages).kids([page]).count(1);
        let fonts: Vec<(&Font, Ref)> = self.fonts.values().map(|font| (font, new())).collect();
        let states: Vec<_> = self.opacities.iter().map(|(key, name)| (key, name, new())).collect();

        let mut writer = pdf.page(page);
        writer.parent(pages).media_box(Rect::new(0.0, 0.0, width, height)).contents(content);
        let mut resources = writer.resources();
        let mut named = resources.fonts();
        fonts.iter().for_each(|(font, at)| {
            named.pair(Name(font.name.as_bytes()), *at);
        });
        named.finish();
        let mut named = resources.ext_g_states();
        states.iter().for_each(|(_, name, at)| {
            named.pair(Name(name.as_bytes()), *at);
        });
        named.finish();
        resources.finish();
        writer.finish();

        for ((fill, stroke), _, at) in &states {
            let part = |thousandths: u16| f32::from(thousandths) / 1000.0;
            pdf.ext_graphics(*at).non_stroking_alpha(part(*fill)).stroking_alpha(part(*stroke));
        }
        for (font, at) in &fonts {
            font.write(&mut pdf, *at, &mut new)?;
        }
        let packed = packed(&self.content.finish());
        pdf.stream(content, &packed).filter(Filter::FlateDecode);
        Ok(pdf.finish())
    }
}

/// A transform as PDF has it.
fn matrix(t: Transform) -> [f32; 6] {
    [t.sx, t.ky, t.kx, t.sy, t.tx, t.ty]
}

fn colour(paint: &Paint) -> Option<[f32; 3]> {
    match paint {
        Paint::Color(c) => Some([c.red, c.green, c.blue].map(|part| f32::from(part) / 255.0)),
        _ => None,
    }
}
