//! Letters that a PNG can show: those of the font that the drawing library carries, which it keeps to itself.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use kuva::RasterBackend;
use kuva::render::render::{Primitive, Scene};

use crate::palette::INK;
use crate::text::{Align, centred_line, escaped};

/// The side of the picture in which a letter is tried, in pixels.
const SIDE: f64 = 24.0;
/// No font has a letter for it; what is drawn instead stands for all that are lacking.
const NO_LETTER: char = '\u{10fffe}';

/// The text with escapes such as `\u{65e5}` for letters that a PNG would show as empty boxes. An SVG shows what the fonts of its
/// reader have, and needs none.
///
/// ```
/// use evmachine_plot::png_text;
///
/// assert_eq!(png_text("größe"), "größe");
/// assert_eq!(png_text("日 1"), "\\u{65e5} 1");
/// ```
pub fn png_text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        // Controls are no letters, and dropped later.
        if letter.is_ascii() || letter.is_control() || has_letter(letter) {
            shown.push(letter);
        } else {
            shown.extend(letter.escape_unicode());
        }
    }
    shown
}

/// Whether a letter is drawn as itself. Costs a small picture for each letter that comes for the first time.
fn has_letter(letter: char) -> bool {
    static FOUND: OnceLock<Mutex<HashMap<char, bool>>> = OnceLock::new();
    static LACKING: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let mut found = FOUND.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    *found.entry(letter).or_insert_with(|| {
        let lacking = LACKING.get_or_init(|| drawn(NO_LETTER));
        drawn(letter) != *lacking
    })
}

/// A picture of one letter.
fn drawn(letter: char) -> Option<Vec<u8>> {
    let mut scene = Scene::new(SIDE, SIDE);
    let text: Primitive =
        centred_line(escaped(&letter.to_string()), (2.0, SIDE / 2.0), 16, Align::Start, INK, false);
    scene.elements.push(text);
    RasterBackend::new().render_scene(&scene).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_the_font_has_stay_and_others_are_escaped() {
        for text in ["class 12", "größe", "κ λ ψ", "Привет", "±≤→", "…"] {
            assert_eq!(png_text(text), text);
        }
        assert_eq!(png_text("한 ก"), "\\u{d55c} \\u{e01}");
        assert_ne!(png_text("日本"), png_text("日木"), "names stay apart");
    }
}
