//! What `serve --demo` has in it: a first model, and what comes in.

use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use evmachine::{Evm, Features, Labels, Params, RowNames};
use evmachine_console::console::Console;
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::{interrupt, letter};
use evmachine_openworld::{NewSample, Pool};
use evmachine_server::Asker;

use super::{pictures, sentences};
use crate::commands::demo::Parts;
use crate::failure::OrFail;

/// How often a row comes in, once those are there that come at once.
const BY_AND_BY: Duration = Duration::from_millis(400);

/// Which data in the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Demo {
    /// Sentences to an assistant of a bank: 12 intents are known, 18 are not, and some belong to none.
    Sentences,
    /// Handwritten digits: 0 to 5 are known, 6 to 9 are not.
    Pictures,
    /// Letters as 16 numbers each: 15 are known, and all 26 come in.
    Letters,
}

/// A demonstration, read and parted.
pub(super) struct Demonstration {
    /// What the first model learns, in words.
    pub(super) subject: &'static str,
    pub(super) params: Params,
    pub(super) train: (Features<'static>, Labels),
    /// What the rows are called that it learns.
    pub(super) ids: Option<Vec<String>>,
    /// What comes in, and what is shown of each row.
    pub(super) stream: (Features<'static>, Vec<NewSample>),
    /// Rows that are there at once; the others come by and by.
    pub(super) at_once: usize,
}

impl Demo {
    pub(super) fn read(self) -> Result<Demonstration, Failure> {
        match self {
            Self::Sentences => sentences::read(),
            Self::Pictures => pictures::read(),
            Self::Letters => letters(),
        }
    }
}

fn letters() -> Result<Demonstration, Failure> {
    let (features, labels) = letter::read()?;
    let parts = Parts::new(&labels);
    let named = |row: &usize| NewSample { id: Some(format!("letter {}", row + 1)), ..NewSample::default() };
    Ok(Demonstration {
        subject: "15 letters",
        params: Params::robust().keeping_all(),
        train: (features.select(&parts.train), labels.select(&parts.train)),
        ids: None,
        stream: (features.select(&parts.stream), parts.stream.iter().map(named).collect()),
        at_once: 2000,
    })
}

impl Demonstration {
    /// Makes the pool where it is not there.
    pub(super) fn prepare(&self, folder: &Path, console: &Console) -> Result<(), Failure> {
        if folder.join("pool.sqlite").is_file() {
            return Ok(());
        }
        console.say(format!("learning {}", self.subject));
        let progress = console.progress();
        let (features, labels) = &self.train;
        let (mut evm, _) = Evm::fit_with(&console.run(&progress), &self.params, features, labels)?;
        if let Some(ids) = &self.ids {
            let names = RowNames { ids: Some(ids.clone()), ..RowNames::default() };
            let named = evm.name_rows(0, ids.len() as u64, names);
            named.map_err(|error| Failure::new(Kind::Other, error.to_string()))?;
        }
        Pool::create(folder, &evm).or_fail()?;
        Ok(())
    }

    /// Sends rows: many at once, so that there is something to see, then one at a time.
    pub(super) fn send(self, asker: &Asker) {
        let (features, shown) = self.stream;
        let at_once = self.at_once.min(features.rows());
        let mut sent = asker.predict(&features.part(0..at_once), shown[..at_once].to_vec());
        for (row, shown) in shown.into_iter().enumerate().skip(at_once) {
            std::thread::sleep(BY_AND_BY);
            if interrupt::flow().is_break() || sent.is_err() {
                break;
            }
            sent = asker.predict(&features.part(row..row + 1), vec![shown]);
        }
        if let Err(problem) = sent {
            tracing::error!("{problem}");
        }
    }
}

/// Data that was built in and cannot be read.
pub(super) fn damaged() -> Failure {
    Failure::new(Kind::Other, "the data built into the program is damaged")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]
mod tests {
    use evmachine_openworld::Picture;

    use super::*;

    fn counts(demo: Demo) -> (usize, usize, usize, usize) {
        let read = demo.read().unwrap();
        let (rows, labels) = &read.train;
        assert_eq!((rows.rows(), read.stream.0.rows()), (labels.len(), read.stream.1.len()));
        assert!(read.ids.is_none_or(|ids| ids.len() == labels.len()));
        (labels.names().len(), labels.len(), read.stream.1.len(), read.stream.0.columns())
    }

    #[test]
    fn what_is_in_the_box_is_whole() {
        assert_eq!(counts(Demo::Sentences), (12, 180, 840, 384));
        assert_eq!(counts(Demo::Pictures), (6, 544, 1253, 64));
        assert_eq!(counts(Demo::Letters).0, 15);
    }

    #[test]
    fn a_person_can_tell_what_comes_in() {
        let sentences = Demo::Sentences.read().unwrap();
        assert!(
            sentences.stream.1.iter().all(|shown| shown.text.as_ref().is_some_and(|text| text.len() > 3))
        );
        let pictures = Demo::Pictures.read().unwrap();
        for shown in &pictures.stream.1 {
            let picture = shown.picture.as_ref().unwrap();
            assert_eq!(Picture::kind_of(&picture.bytes), Some("image/png"));
        }
    }
}
