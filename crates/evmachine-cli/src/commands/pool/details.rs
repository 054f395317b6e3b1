//! What to show of samples: JSON lines beside a feature file.

use std::fs::File;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};

use evmachine_console::failure::{Failure, Kind};
use evmachine_openworld::{NewSample, Picture};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: Option<String>,
    text: Option<String>,
    link: Option<String>,
    picture: Option<PathBuf>,
}

/// Reads on as rows are read.
pub(super) struct Details {
    path: PathBuf,
    lines: Lines<BufReader<File>>,
}

pub(super) fn open(path: &Path) -> Result<Details, Failure> {
    let file = File::open(path)
        .map_err(|error| Failure::new(Kind::Data, error.to_string()).about(path.display()))?;
    Ok(Details { path: path.to_owned(), lines: BufReader::new(file).lines() })
}

impl Details {
    /// Those of the rows of these numbers, of which so many were passed already.
    pub(super) fn take(&mut self, rows: &[u64], passed: &mut u64) -> Result<Vec<NewSample>, Failure> {
        let mut samples = Vec::with_capacity(rows.len());
        for &row in rows {
            // Bad rows that were left out have a line too.
            let line = loop {
                let line = self.lines.next().transpose().map_err(|error| self.failure(row, &error))?;
                *passed += 1;
                if *passed == row || line.is_none() {
                    break line;
                }
            };
            let line =
                line.ok_or_else(|| self.failure(row, &"there is no such line; there must be one a row"))?;
            samples.push(self.sample(row, &line)?);
        }
        Ok(samples)
    }

    fn sample(&self, row: u64, line: &str) -> Result<NewSample, Failure> {
        let line: Line = serde_json::from_str(line).map_err(|error| self.failure(row, &error))?;
        let picture = match line.picture {
            Some(path) => Some(self.picture(row, &path)?),
            None => None,
        };
        Ok(NewSample { id: line.id, text: line.text, link: line.link, picture, ..NewSample::default() })
    }

    fn picture(&self, row: u64, path: &Path) -> Result<Picture, Failure> {
        let path = self.path.parent().unwrap_or(Path::new("")).join(path);
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let media_type = match extension.to_ascii_lowercase().as_str() {
            "png" => "image/png",
            "jpg" | "jpeg" => "image/jpeg",
            "gif" => "image/gif",
            "webp" => "image/webp",
            "svg" => "image/svg+xml",
            _ => {
                let problem = format!("{} is none of .png, .jpg, .gif, .webp, .svg", path.display());
                return Err(self.failure(row, &problem));
            }
        };
        let bytes = std::fs::read(&path)
            .map_err(|error| self.failure(row, &format!("{}: {error}", path.display())))?;
        Ok(Picture { media_type: media_type.to_owned(), bytes })
    }

    fn failure(&self, row: u64, problem: &dyn std::fmt::Display) -> Failure {
        Failure::new(Kind::Data, format!("{}, line {row}: {problem}", self.path.display()))
    }
}
