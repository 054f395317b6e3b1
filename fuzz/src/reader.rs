//! Feature files.

use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::abort;
use std::sync::LazyLock;

use evmachine_data::{ColumnRef, DataError, Format, Header, ReadOptions, open};

/// What the last byte of an input says of how to read the bytes before it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Bit 0: bad rows are skipped.
    pub skip_bad_rows: bool,
    /// Bit 1: batches hold three rows.
    pub small_batches: bool,
    /// Bit 2: the file is its own file of labels.
    pub own_labels: bool,
    /// Bits 3 to 5: the column of labels, by its place in [`Options::LABELS`].
    pub label: u8,
    /// Bits 6 and 7: whether there is a header; 1 says yes, 2 says no.
    pub header: u8,
}

impl Options {
    /// The columns that can be asked for as labels, written as on the command line; the empty one is none.
    pub const LABELS: [&str; 8] = ["", "-1", "0", "label", "labels", "class", "y", "1"];

    /// Options that only ask for labels.
    ///
    /// # Panics
    ///
    /// When `label` is not among [`Options::LABELS`].
    pub fn labelled(label: &str) -> Self {
        let position = Self::LABELS.iter().position(|known| *known == label).expect("a known label");
        Self { label: u8::try_from(position).expect("a small number"), ..Self::default() }
    }

    /// The byte that says so.
    pub fn byte(self) -> u8 {
        u8::from(self.skip_bad_rows)
            | u8::from(self.small_batches) << 1
            | u8::from(self.own_labels) << 2
            | self.label << 3
            | self.header << 6
    }

    fn from_byte(byte: u8) -> Self {
        Self {
            skip_bad_rows: byte & 1 != 0,
            small_batches: byte & 2 != 0,
            own_labels: byte & 4 != 0,
            label: byte >> 3 & 7,
            header: byte >> 6,
        }
    }

    fn read_options(self, format: Format, path: &Path) -> ReadOptions {
        let label = Some(Self::LABELS[usize::from(self.label)]).filter(|label| !label.is_empty());
        ReadOptions {
            label: label.map(|label| match label.parse() {
                Ok(column) => column,
                Err(_) => ColumnRef::Number(0),
            }),
            header: [Header::Auto, Header::Yes, Header::No, Header::Auto][usize::from(self.header)],
            format: Some(format),
            skip_bad_rows: self.skip_bad_rows,
            batch_rows: if self.small_batches { 3 } else { 8192 },
            labels_file: self.own_labels.then(|| path.to_owned()),
            ..ReadOptions::default()
        }
    }
}

/// Reads a file of the given format to its end: the last byte of the input is its [`Options`], those before it
/// are the file. A panic that the reader does not contain ends the process.
pub fn read(format: Format, input: &[u8]) {
    let Some((&byte, content)) = input.split_last() else { return };
    let input = &*INPUT;
    input.replace(content);
    let options = Options::from_byte(byte).read_options(format, &input.path);
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| read_all(&input.path, &options)));
    if outcome.is_err() {
        if let Some((panic, backtrace)) = LAST_PANIC.take() {
            eprintln!("{panic}\n{backtrace}");
        }
        abort();
    }
}

/// What a reader hands over must be as its documentation says.
fn read_all(path: &Path, options: &ReadOptions) -> Result<(), DataError> {
    let mut rows = 0;
    for batch in open(path, options)? {
        let batch = batch?;
        assert!((1..=options.batch_rows).contains(&batch.rows));
        assert_eq!(batch.features.len(), batch.rows * batch.columns);
        assert!(batch.features.iter().all(|value| value.is_finite()));
        assert_eq!(batch.row_numbers.len(), batch.rows);
        assert_eq!(batch.row_numbers.first(), Some(&batch.first_row));
        assert!(batch.first_row > rows && batch.row_numbers.is_sorted_by(|one, next| one < next));
        rows = batch.row_numbers[batch.rows - 1];
        for texts in batch.labels.iter().chain(&batch.ids) {
            assert_eq!(texts.len(), batch.rows);
        }
        assert!(batch.labels.iter().flatten().all(|label| !label.is_empty()));
    }
    Ok(())
}

/// A file in memory, without a name of its own, that every input is written to.
struct Input {
    file: File,
    path: PathBuf,
}

static INPUT: LazyLock<Input> = LazyLock::new(|| {
    // The fuzzer's hook would end the process at panics which the reader contains. Of these no backtrace is written out: the
    // first one reads all debug information, hundreds of megabytes, which on a busy machine takes longer than an input may.
    panic::set_hook(Box::new(|panic| {
        LAST_PANIC.set(Some((panic.to_string(), Backtrace::force_capture())));
    }));
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let file = tempfile::tempfile_in(folder).expect("a temporary file");
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    Input { file, path }
});

thread_local! {
    static LAST_PANIC: RefCell<Option<(String, Backtrace)>> = const { RefCell::new(None) };
}

impl Input {
    fn replace(&self, content: &[u8]) {
        self.file.set_len(0).expect("the temporary file can be cut");
        self.file.write_all_at(content, 0).expect("the temporary file can be written");
    }
}
