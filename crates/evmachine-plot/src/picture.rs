//! A finished picture, ready to be written.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use kuva::backend::svg::SvgBackend;
use kuva::render::render::{Primitive, Scene};

use crate::error::PlotError;
use crate::raster;
use crate::text::escaped;

/// The scale of PNGs written by [`Picture::save`]: about 200 dots per inch at the width of a page.
const SAVED_SCALE: f32 = 2.0;

/// A drawing, kept as SVG and as the shapes a PNG is made from.
#[derive(Debug)]
pub struct Picture {
    scene: Scene,
    svg: String,
}

impl Picture {
    /// Makes the drawing independent of what was drawn before: the library numbers its clipping regions
    /// with a counter of the process, so the same input would give other bytes the second time. Here a
    /// region is named after its corners, so that pictures may stand together in one document too.
    pub(crate) fn new(mut scene: Scene) -> Self {
        let mut regions = BTreeMap::new();
        for element in &mut scene.elements {
            match element {
                Primitive::ClipStart { x, y, width, height, id } => {
                    *id = format!("inside-{x:.2}-{y:.2}-{width:.2}-{height:.2}");
                    let size = format!(r#"width="{width:.2}" height="{height:.2}""#);
                    let rectangle = format!(r#"<rect x="{x:.2}" y="{y:.2}" {size} />"#);
                    regions.insert(id.clone(), format!(r#"<clipPath id="{id}">{rectangle}</clipPath>"#));
                }
                Primitive::Text { content, .. } => *content = escaped(content),
                _ => {}
            }
        }
        scene.defs = regions.into_values().collect();
        let svg = SvgBackend::new().with_pretty(true).render_scene(&scene);
        Self { scene, svg }
    }

    /// The picture as a complete SVG document. The same input always gives the same bytes.
    pub fn svg(&self) -> &str {
        &self.svg
    }

    /// Width and height of the SVG in pixels; a PNG has these times its scale, rounded up.
    pub fn size(&self) -> (f64, f64) {
        (self.scene.width, self.scene.height)
    }

    /// The picture as a PNG file. A `scale` of 1 gives one pixel for each SVG pixel; 2 or 3 suit print.
    pub fn png(&self, scale: f32) -> Result<Vec<u8>, PlotError> {
        raster::png(&self.scene, scale)
    }

    /// Writes the picture as SVG or PNG, as the ending of `path` says; a PNG has a scale of 2.
    ///
    /// The file appears under its name only when it is complete; one that was there before is replaced.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), PlotError> {
        let path = path.as_ref();
        let ending = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
        let bytes = match ending.as_deref() {
            Some("svg") => self.svg.clone().into_bytes(),
            Some("png") => self.png(SAVED_SCALE)?,
            _ => return Err(PlotError::UnknownFormat { path: path.to_owned() }),
        };
        evmachine_files::write(path, &bytes)
            .map_err(|source| PlotError::Write { path: path.to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clipped(id: &str) -> Picture {
        let mut scene = Scene::new(30.0, 20.0);
        scene.defs.push(format!("<clipPath id=\"{id}\"></clipPath>"));
        let id = id.to_owned();
        scene.elements.push(Primitive::ClipStart { x: 1.0, y: 2.0, width: 3.0, height: 4.0, id });
        scene.elements.push(Primitive::ClipEnd);
        Picture::new(scene)
    }

    #[test]
    fn counters_of_the_process_leave_no_trace() {
        let first = clipped("kuva-clip-7");
        assert_eq!(first.svg(), clipped("kuva-clip-8").svg());
        assert!(!first.svg().contains("kuva-clip"));
        assert_eq!(first.svg().matches("inside-1.00-2.00-3.00-4.00").count(), 2);
    }
}
