//! A font in a PDF: the letters that are used, how wide they are, and what text they stand for.
use std::collections::BTreeMap;

use fontdb::ID;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Filter, Finish, Name, Pdf, Rect, Ref, Str};
use skrifa::instance::{LocationRef, Size};
use skrifa::string::StringId;
use skrifa::{FontRef, GlyphId, MetadataProvider, Tag};
use subsetter::GlyphRemapper;

use super::packed;

const CFF: Tag = Tag::new(b"CFF ");
/// Codes of letters are their places in the font.
const ENCODING: Name = Name(b"Identity-H");
const SYSTEM: SystemInfo =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

/// A font that a page uses.
pub(super) struct Font {
    /// Its name in the page.
    pub name: String,
    pub units_per_em: u16,
    data: Vec<u8>,
    index: u32,
    used: GlyphRemapper,
    /// The text of each letter by its code.
    texts: BTreeMap<u16, String>,
}

impl Font {
    /// The font `id`, the page's of this number.
    pub(super) fn read(all: &fontdb::Database, id: ID, number: usize) -> Result<Font, String> {
        let read = all.with_face_data(id, |data, index| (data.to_vec(), index));
        let (data, index) = read.ok_or("a font's file cannot be read")?;
        let font = FontRef::from_index(&data, index).map_err(|error| error.to_string())?;
        let metrics = font.metrics(Size::unscaled(), LocationRef::default());
        Ok(Font {
            name: format!("F{number}"),
            units_per_em: metrics.units_per_em,
            data,
            index,
            used: GlyphRemapper::new(),
            texts: BTreeMap::new(),
        })
    }

    /// The code of a letter, which stands for `text`.
    pub(super) fn code(&mut self, glyph: u16, text: &str) -> u16 {
        let code = self.used.remap(glyph);
        self.texts.entry(code).or_insert_with(|| text.into());
        code
    }

    /// Writes it as the object `at`.
    pub(super) fn write(
        &self,
        pdf: &mut Pdf,
        at: Ref,
        new: &mut impl FnMut() -> Ref,
    ) -> Result<(), String> {
        let font = FontRef::from_index(&self.data, self.index).map_err(|e| e.to_string())?;
        let subset = subsetter::subset(&self.data, self.index, &self.used)
            .map_err(|error| format!("a font cannot be cut: {error}"))?;
        let own = FontRef::new(&subset).map_err(|error| error.to_string())?;
        let compact = own.table_data(CFF);
        let name = self.full_name(&font);
        let (letters, descriptor, unicode, file) = (new(), new(), new(), new());
        pdf.type0_font(at)
            .base_font(Name(name.as_bytes()))
            .encoding_predefined(ENCODING)
            .descendant_font(letters)
            .to_unicode(unicode);

        let mut writer = pdf.cid_font(letters);
        let kind = if compact.is_some() { CidFontType::Type0 } else { CidFontType::Type2 };
        writer.subtype(kind).base_font(Name(name.as_bytes())).system_info(SYSTEM);
        writer.font_descriptor(descriptor).default_width(0.0);
        if compact.is_none() {
            writer.cid_to_gid_map_predefined(Name(b"Identity"));
        }
        writer.widths().consecutive(0, self.widths(&font));
        writer.finish();

        self.describe(pdf, &font, &name, (descriptor, file, compact.is_some()));
        let mut map = UnicodeCmap::new(Name(b"Letters"), SYSTEM);
        for (code, text) in self.texts.iter().filter(|(_, text)| !text.is_empty()) {
            map.pair_with_multiple(*code, text.chars());
        }
        pdf.stream(unicode, &map.finish());
        let bytes = packed(compact.map_or(subset.as_slice(), |data| data.as_bytes()));
        let mut stream = pdf.stream(file, &bytes);
        stream.filter(Filter::FlateDecode);
        if compact.is_some() {
            stream.pair(Name(b"Subtype"), Name(b"CIDFontType0C"));
        }
        Ok(())
    }

    /// The font's own name behind six letters: a part of a font must not bear its name alone.
    fn full_name(&self, font: &FontRef) -> String {
        let own = font.localized_strings(StringId::POSTSCRIPT_NAME).english_or_first();
        let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
        let own: String =
            own.map(|text| text.chars().filter(plain).take(63).collect()).unwrap_or_default();
        // The letters that are used tell two parts of one font apart.
        let sum = self
            .used
            .remapped_gids()
            .fold(7u64, |sum, glyph| sum.wrapping_mul(31).wrapping_add(u64::from(glyph)));
        let letter = |place: u32| char::from(b'A' + (sum / 26u64.pow(place) % 26) as u8);
        (0..6).map(letter).collect::<String>() + "+" + &own
    }

    /// The width of each letter by its code, in thousandths of the font's size.
    fn widths(&self, font: &FontRef) -> Vec<f32> {
        let metrics = font.glyph_metrics(Size::unscaled(), LocationRef::default());
        let width = |glyph: u16| metrics.advance_width(GlyphId::from(glyph)).unwrap_or(0.0);
        let scale = self.thousandths();
        self.used.remapped_gids().map(|glyph| width(glyph) * scale).collect()
    }

    fn thousandths(&self) -> f32 {
        1000.0 / f32::from(self.units_per_em.max(1))
    }

    /// Writes what a reader needs to find a font like it.
    fn describe(
        &self,
        pdf: &mut Pdf,
        font: &FontRef,
        name: &str,
        (at, file, compact): (Ref, Ref, bool),
    ) {
        let metrics = font.metrics(Size::unscaled(), LocationRef::default());
        let scale = self.thousandths();
        let bounds = metrics.bounds.map_or(Rect::new(0.0, 0.0, 0.0, 0.0), |b| {
            Rect::new(b.x_min * scale, b.y_min * scale, b.x_max * scale, b.y_max * scale)
        });
        let mut flags = FontFlags::SYMBOLIC;
        flags.set(FontFlags::FIXED_PITCH, metrics.is_monospace);
        flags.set(FontFlags::ITALIC, metrics.italic_angle != 0.0);
        let mut writer = pdf.font_descriptor(at);
        writer
            .name(Name(name.as_bytes()))
            .flags(flags)
            .bbox(bounds)
            .italic_angle(metrics.italic_angle)
            .ascent(metrics.ascent * scale)
            .descent(metrics.descent * scale)
            .cap_height(metrics.cap_height.unwrap_or(metrics.ascent) * scale)
            // Fonts do not say it; readers of embedded fonts do not ask.
            .stem_v(80.0);
        if compact {
            writer.font_file3(file);
        } else {
            writer.font_file2(file);
        }
    }
}
