//! Panels in a row.

use kuva::render::render::{Primitive, Scene};

use crate::palette::INK;
use crate::text::{Align, centred_line};

/// Room for the title above the panels.
const TITLE: f64 = 40.0;

/// Sets panels in a row under a common title.
pub(crate) fn beside(panels: Vec<Scene>, title: &str) -> Scene {
    let top = if title.is_empty() { 0.0 } else { TITLE };
    let width: f64 = panels.iter().map(|panel| panel.width).sum();
    let height = panels.iter().map(|panel| panel.height).fold(0.0, f64::max);
    let mut whole = Scene::new(width, top + height);
    let mut left = 0.0;
    for panel in panels {
        whole.font_family = panel.font_family;
        whole.text_color = panel.text_color;
        whole.elements.push(Primitive::GroupStart {
            transform: Some(format!("translate({left},{top})")),
            title: None,
            extra_attrs: None,
        });
        whole.elements.extend(panel.elements);
        whole.elements.push(Primitive::GroupEnd);
        left += panel.width;
    }
    if !title.is_empty() {
        whole.elements.push(centred_line(title, (width / 2.0, TITLE * 0.6), 18, Align::Middle, INK, false));
    }
    whole
}
