//! Pixels from shapes.
//!
//! The drawing library smooths everything except rotated text, whose half-covered pixels it paints fully.
//! Drawing larger than asked and averaging gives such text its weight back.

use std::io::Cursor;

use kuva::RasterBackend;
use kuva::render::render::Scene;
use png::{BitDepth, ColorType, Compression, Decoder, Encoder};

use crate::error::PlotError;

/// The scale, in pixels for each SVG pixel, from which on rotated text looks right by itself.
const SMOOTH_SCALE: f32 = 4.0;
/// The longest side of a PNG, before averaging too; its pixels then take at most a quarter of a gigabyte.
const LONGEST_SIDE: u32 = 8000;

/// Colours row by row, three bytes for each pixel.
struct Pixels {
    width: usize,
    height: usize,
    bytes: Vec<u8>,
}

/// Draws the scene as a PNG file of its size times `scale`, rounded up.
pub(crate) fn png(scene: &Scene, scale: f32) -> Result<Vec<u8>, PlotError> {
    let (width, height) = (scene.width as f32 * scale, scene.height as f32 * scale);
    if !(width.min(height) >= 1.0 && width.max(height) <= LONGEST_SIDE as f32) {
        return Err(PlotError::Scale { scale, width, height, limit: LONGEST_SIDE });
    }
    let largest = LONGEST_SIDE as f32 / width.max(height);
    let factor = (SMOOTH_SCALE / scale).round().min(largest.floor()).clamp(1.0, 6.0);
    let backend = RasterBackend::new().with_scale(scale * factor);
    let drawn = backend.render_scene(scene).map_err(|detail| PlotError::Encode { detail })?;
    let large = decode(&drawn).map_err(|error| PlotError::Encode { detail: error.to_string() })?;
    let small = large.averaged(factor as usize, width.ceil() as usize, height.ceil() as usize);
    encode(&small).map_err(|error| PlotError::Encode { detail: error.to_string() })
}

impl Pixels {
    /// Means of squares of `factor` pixels a side; squares beyond the edge repeat the last pixels.
    fn averaged(&self, factor: usize, width: usize, height: usize) -> Self {
        let mut bytes = Vec::with_capacity(width * height * 3);
        for row in 0..height {
            for column in 0..width {
                let mut sums = [0usize; 3];
                for y in row * factor..(row + 1) * factor {
                    for x in column * factor..(column + 1) * factor {
                        let start = (y.min(self.height - 1) * self.width + x.min(self.width - 1)) * 3;
                        for (sum, byte) in sums.iter_mut().zip(&self.bytes[start..start + 3]) {
                            *sum += usize::from(*byte);
                        }
                    }
                }
                let count = factor * factor;
                bytes.extend(sums.map(|sum| ((sum + count / 2) / count) as u8));
            }
        }
        Self { width, height, bytes }
    }
}

fn decode(file: &[u8]) -> Result<Pixels, png::DecodingError> {
    let mut reader = Decoder::new(Cursor::new(file)).read_info()?;
    let mut bytes = vec![0; reader.output_buffer_size().expect("the picture was just drawn in memory")];
    let info = reader.next_frame(&mut bytes)?;
    bytes.truncate(info.buffer_size());
    // Every picture has a white ground, so nothing is transparent.
    let bytes = match info.color_type {
        ColorType::Rgba => bytes.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect(),
        _ => bytes,
    };
    Ok(Pixels { width: info.width as usize, height: info.height as usize, bytes })
}

fn encode(pixels: &Pixels) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, pixels.width as u32, pixels.height as u32);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Balanced);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels.bytes)?;
    writer.finish()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averaging_takes_means_and_repeats_the_edge() {
        let bytes = [[0u8; 3], [100; 3], [200; 3]].concat();
        let row = Pixels { width: 3, height: 1, bytes };
        let half = row.averaged(2, 2, 1);
        assert_eq!(half.bytes, [[50u8; 3], [200; 3]].concat());
    }

    #[test]
    fn a_file_keeps_its_pixels() {
        let pixels = Pixels { width: 2, height: 2, bytes: (0..12).collect() };
        let again = decode(&encode(&pixels).unwrap()).unwrap();
        assert_eq!((again.width, again.height, again.bytes), (2, 2, (0..12).collect()));
    }
}
