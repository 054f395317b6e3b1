//! The log of a run: a CSV of everything measured, written after each finished unit, and read back to go on.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::ReproError;

/// Rows of one experiment on disk.
#[derive(Debug)]
pub(crate) struct Log<R> {
    path: PathBuf,
    rows: Vec<R>,
}

impl<R: Serialize + DeserializeOwned> Log<R> {
    /// Opens `name` in the folder, with what an earlier run left there. `settings` must be those of that run.
    pub(crate) fn open(folder: &Path, name: &str, settings: &impl Serialize) -> Result<Self, ReproError> {
        check_settings(folder, settings)?;
        let path = folder.join(name);
        let rows = if path.exists() { read(&path)? } else { Vec::new() };
        Ok(Self { path, rows })
    }

    pub(crate) fn rows(&self) -> &[R] {
        &self.rows
    }

    /// Adds the rows of a finished unit; the file has all of them or none.
    pub(crate) fn add(&mut self, rows: Vec<R>) -> Result<(), ReproError> {
        self.rows.extend(rows);
        let mut writer = csv::Writer::from_writer(Vec::new());
        let failed = |detail: String| ReproError::Log { path: self.path.clone(), detail };
        for row in &self.rows {
            writer.serialize(row).map_err(|error| failed(error.to_string()))?;
        }
        let bytes = writer.into_inner().map_err(|error| failed(error.to_string()))?;
        evmachine_files::write_with_folder(&self.path, &bytes).map_err(ReproError::file(&self.path))
    }
}

fn read<R: DeserializeOwned>(path: &Path) -> Result<Vec<R>, ReproError> {
    let failed = |error: csv::Error| ReproError::Log { path: path.to_owned(), detail: error.to_string() };
    let mut reader = csv::Reader::from_path(path).map_err(failed)?;
    reader.deserialize().collect::<Result<_, _>>().map_err(failed)
}

/// Remembers the settings of a folder's first run, and refuses others.
fn check_settings(folder: &Path, settings: &impl Serialize) -> Result<(), ReproError> {
    let path = folder.join("settings.json");
    let failed = |error: serde_json::Error| ReproError::Log { path: path.clone(), detail: error.to_string() };
    let text = serde_json::to_string_pretty(settings).map_err(failed)? + "\n";
    match std::fs::read_to_string(&path) {
        Ok(found) if found == text => Ok(()),
        Ok(_) => Err(ReproError::Settings { path: folder.to_owned() }),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(ReproError::file(&path)(error)),
        Err(_) => evmachine_files::write_with_folder(&path, text.as_bytes()).map_err(ReproError::file(&path)),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Row {
        system: String,
        f1: f64,
        rate: Option<f64>,
    }

    #[test]
    fn a_log_goes_on_where_it_ended_and_refuses_other_settings() {
        let folder = tempfile::tempdir().unwrap();
        let row = |f1: f64| Row { system: "EVM, \"tuned\"".to_owned(), f1, rate: None };
        let mut log: Log<Row> = Log::open(folder.path(), "runs.csv", &1).unwrap();
        log.add(vec![row(0.1 + 0.2)]).unwrap();
        let mut again: Log<Row> = Log::open(folder.path(), "runs.csv", &1).unwrap();
        again.add(vec![row(0.5)]).unwrap();
        assert_eq!(again.rows(), [row(0.1 + 0.2), row(0.5)]);
        let other = Log::<Row>::open(folder.path(), "runs.csv", &2).unwrap_err();
        assert!(matches!(other, ReproError::Settings { .. }));
        std::fs::write(folder.path().join("runs.csv"), "system,f1,rate\nEVM,zero,\n").unwrap();
        assert!(matches!(Log::<Row>::open(folder.path(), "runs.csv", &1), Err(ReproError::Log { .. })));
    }
}
