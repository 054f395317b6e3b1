//! Pictures on their way to a file.

use std::path::Path;

use evmachine_console::console::Console;
use evmachine_console::failure::Failure;
use evmachine_plot::{Picture, png_text};

use crate::failure::OrFail;
use crate::files;

/// Writes a picture and says so.
pub(crate) fn save(console: &Console, picture: &Picture, path: &Path) -> Result<(), Failure> {
    picture.save(path).or_fail()?;
    console.say(format!("picture written to {}", path.display()));
    Ok(())
}

/// Refuses a place where no picture could be written.
pub(crate) fn check(path: Option<&Path>) -> Result<(), Failure> {
    path.map_or(Ok(()), files::refuse_nowhere)
}

/// Text for a picture in a format that may lack letters.
pub(crate) struct Letters {
    png: bool,
    lacking: bool,
}

impl Letters {
    pub(crate) fn new(path: &Path) -> Self {
        let png = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png"));
        Self { png, lacking: false }
    }

    /// The text, with escapes for letters that the format lacks.
    pub(crate) fn drawn(&mut self, text: &str) -> String {
        if !self.png {
            return text.to_owned();
        }
        let drawn = png_text(text);
        self.lacking |= drawn != text;
        drawn
    }

    /// Says where letters were lacking.
    pub(crate) fn warn(&self, console: &Console) {
        if self.lacking {
            console.warn(
                "the font of PNG pictures lacks letters of some names, which are written as escapes; an .svg shows them",
            );
        }
    }
}
