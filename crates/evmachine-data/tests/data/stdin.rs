//! Standard input, through a child process that is this test program itself.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use evmachine_data::read_all;

use crate::support::{fixture, gzip, plain};

const MARK: &str = "EVMACHINE_DATA_STDIN_CHILD";

/// Prints what it reads when it runs as a child, and passes otherwise.
#[test]
fn child() {
    if std::env::var_os(MARK).is_some() {
        match read_all(Path::new("-"), &plain()) {
            Ok(found) => {
                println!("\n{} {:?} {:?}", found.schema.format, found.data.features, found.data.labels);
            }
            Err(error) => println!("\n{error}"),
        }
    }
}

fn piped(content: &[u8]) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "stdin::child", "--nocapture"])
        .env(MARK, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(content).unwrap();
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let line = output.lines().find(|line| line.contains('[') || line.contains("standard input"));
    line.unwrap_or_default().to_owned()
}

#[test]
fn formats_are_found_from_the_first_bytes() {
    assert_eq!(piped(b"a,b\n1,2\n3,4\n"), "CSV [1.0, 2.0, 3.0, 4.0] None");
    assert_eq!(piped(b"1\t2\n3\t4\n"), "TSV [1.0, 2.0, 3.0, 4.0] None");
    assert_eq!(piped(&gzip(b"1;2\n")), "CSV [1.0, 2.0] None");
    assert_eq!(piped(b"x 1:5 2:6\ny 2:7\n"), "LIBSVM [5.0, 6.0, 0.0, 7.0] Some([\"x\", \"y\"])");
    for name in ["float64.npy", "float32_fortran.npy"] {
        let content = std::fs::read(fixture(name)).unwrap();
        assert_eq!(piped(&content), "NPY [1.5, -2.0, 3.25, 4.0, 5.5, -6.75] None");
    }
}

#[test]
fn formats_with_an_index_at_the_end_are_refused() {
    let content = std::fs::read(fixture("list.parquet")).unwrap();
    assert_eq!(
        piped(&content),
        "standard input: Parquet cannot be read through a pipe, gzip or Zstandard, because its index is at the end. \
         Save it to a file first, not compressed as a whole"
    );
    assert_eq!(piped(b""), "standard input is empty. Check the program that wrote it");
}
