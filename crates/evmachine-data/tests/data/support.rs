//! What the tests share: files in a folder that vanishes, and options.

use std::io::Write;
use std::path::{Path, PathBuf};

use evmachine_data::{Batch, ColumnRef, DataError, Dataset, ReadOptions, open, read_all};
use tempfile::TempDir;

/// A temporary folder to put files into.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn write_gz(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        self.write(name, gzip(content.as_ref()))
    }

    pub(crate) fn entries(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

pub(crate) fn column(text: &str) -> ColumnRef {
    text.parse().unwrap()
}

pub(crate) fn columns(texts: &[&str]) -> Vec<ColumnRef> {
    texts.iter().map(|text| column(text)).collect()
}

pub(crate) fn plain() -> ReadOptions {
    ReadOptions::default()
}

pub(crate) fn labelled(label: &str) -> ReadOptions {
    ReadOptions { label: Some(column(label)), ..plain() }
}

pub(crate) fn read(path: &Path, options: &ReadOptions) -> Dataset {
    read_all(path, options).unwrap()
}

/// Reads everything and returns the error.
pub(crate) fn failure(path: &Path, options: &ReadOptions) -> DataError {
    read_all(path, options).unwrap_err()
}

/// The message of the error, with folders cut off.
pub(crate) fn message(path: &Path, options: &ReadOptions) -> String {
    let folder = format!("{}/", path.parent().unwrap().display());
    failure(path, options).to_string().replace(&folder, "")
}

pub(crate) fn batches(path: &Path, options: &ReadOptions) -> Vec<Batch> {
    open(path, options).unwrap().collect::<Result<_, _>>().unwrap()
}

/// Labels or ids as a batch holds them.
#[allow(clippy::unnecessary_wraps)]
pub(crate) fn texts(texts: &[&str]) -> Option<Vec<String>> {
    Some(texts.iter().map(ToString::to_string).collect())
}

/// An NPY file of version 1.
pub(crate) fn npy(description: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': '{description}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while !(header.len() + 11).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

pub(crate) fn singles(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
