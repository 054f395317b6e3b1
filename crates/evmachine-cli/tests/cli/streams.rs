//! Pipes, large files, interruption.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use crate::{Place, fixture, trained};

#[test]
fn standard_input_and_output_work_as_files_do() {
    let place = Place::new();
    trained(&place);
    let csv = std::fs::read(fixture("letters.csv")).unwrap();
    let mut child = place
        .command(&["predict", "model.safetensors", "-", "--drop", "class"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&csv).unwrap();
    let output = child.wait_with_output().unwrap();
    let from_file = place.ok(&["predict", "model.safetensors", &fixture("letters.csv"), "--drop", "class"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), from_file);
}

#[test]
fn a_reader_that_had_enough_is_no_error() {
    let place = Place::new();
    trained(&place);
    let line = std::fs::read_to_string(fixture("letters.csv")).unwrap().lines().nth(1).unwrap().to_owned();
    let mut text = std::fs::read_to_string(fixture("letters.csv")).unwrap();
    for _ in 0..60_000 {
        text.push_str(&line);
        text.push('\n');
    }
    place.write("long.csv", text);
    let mut child = place
        .command(&["predict", "model.safetensors", "long.csv", "--drop", "class"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first, "row,class,known,support,p_value,psi,best,p_known,p_class\n");
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{said}");
    assert!(said.is_empty(), "{said}");
}

#[test]
fn tables_may_be_cut_off_too() {
    let place = Place::new();
    trained(&place);
    for arguments in [vec!["inspect", "model.safetensors"], vec!["demo"]] {
        let mut child =
            place.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

/// The beginning of an NPY file of so many rows and columns.
fn npy_header(rows: usize, columns: usize) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let padded = format!("{header:<117}\n");
    [b"\x93NUMPY\x01\x00", &(padded.len() as u16).to_le_bytes()[..], padded.as_bytes()].concat()
}

/// An NPY file of so many rows of 64 values, all from a small pattern.
fn large_npy(place: &Place, rows: usize) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(place.path("large.npy")).unwrap());
    file.write_all(&npy_header(rows, 64)).unwrap();
    let pattern: Vec<u8> =
        (0..64 * 997).flat_map(|i| (((i * 7919) % 1000) as f32 / 100.0).to_le_bytes()).collect();
    for start in (0..rows).step_by(997) {
        let count = (rows - start).min(997);
        file.write_all(&pattern[..count * 64 * 4]).unwrap();
    }
    file.flush().unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_million_rows_are_predicted_within_half_a_gigabyte() {
    let place = Place::new();
    let mut text = String::new();
    for row in 0..120 {
        let values: Vec<String> = (0..64).map(|i| ((row * 31 + i * 17) % 100 / 10).to_string()).collect();
        text.extend([values.join(","), format!(",c{}\n", row % 6)]);
    }
    place.write("small.csv", text);
    place.ok(&["train", "small.csv", "--label", "-1", "-o", "m.safetensors"]);
    large_npy(&place, 1_000_000);
    let output = place.run(&["-v", "predict", "m.safetensors", "large.npy", "-o", "out.csv"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1000000 rows"), "{said}");
    let line = said.lines().find_map(|line| line.strip_prefix("peak memory ")).unwrap();
    let megabytes: f64 = line.trim_end_matches(" MB").parse().unwrap();
    assert!(megabytes < 512.0, "{megabytes}");
    let out = BufReader::new(std::fs::File::open(place.path("out.csv")).unwrap());
    assert_eq!(out.lines().count(), 1_000_001);
}

#[test]
#[cfg(unix)]
fn an_interrupted_run_leaves_nothing_half_written() {
    let place = Place::new();
    trained(&place);
    let before = place.names();
    let mut child = place
        .command(&["predict", "model.safetensors", "-", "--drop", "class", "-o", "out.csv"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The pipe stays open: the program waits for more until the signal comes.
    let mut input = child.stdin.take().unwrap();
    let csv = std::fs::read(fixture("letters.csv")).unwrap();
    input.write_all(&csv).unwrap();
    input.flush().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    std::thread::sleep(std::time::Duration::from_millis(100));
    drop(input);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    assert!(said.contains("interrupted; nothing was written"), "{said}");
    assert_eq!(place.names(), before);
}

/// Values from 0 to 10, without a pattern that a person would see.
#[cfg(unix)]
fn scattered(count: usize) -> impl Iterator<Item = f32> {
    (0..count as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f32 / 1_677_721.6)
}

#[test]
#[cfg(unix)]
fn an_interruption_ends_a_prediction_in_the_middle_of_a_batch() {
    const COLUMNS: usize = 256;
    let place = Place::new();
    let values: Vec<u8> = scattered(4000 * COLUMNS).flat_map(f32::to_le_bytes).collect();
    place.write("train.npy", [npy_header(4000, COLUMNS), values].concat());
    let labels: Vec<&str> = (0..4000).map(|row| if row % 2 == 0 { "even" } else { "odd" }).collect();
    place.write("labels.txt", labels.join("\n"));
    let keep =
        ["--metric", "manhattan", "--cover-threshold", "1", "--tail-size", "20", "--tail-memory", "none"];
    for (rule, signal) in [("--delta", "-INT"), ("--max-false-unknown", "-TERM")] {
        let train =
            ["train", "train.npy", "--labels-file", "labels.txt", "-o", "m.safetensors", rule, "0.05"];
        place.ok(&[&train[..], &keep].concat());
        let before = place.names();
        let mut child = place
            .command(&["--threads", "1", "predict", "m.safetensors", "-", "-o", "out.csv"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // One whole batch; the pipe stays open, so that only the prediction itself can notice the signal.
        let mut input = child.stdin.take().unwrap();
        input.write_all(&npy_header(100_000, COLUMNS)).unwrap();
        let batch: Vec<u8> = scattered(8192 * COLUMNS).flat_map(f32::to_le_bytes).collect();
        input.write_all(&batch).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100));
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
        let mut code = None;
        for _ in 0..600 {
            code = child.try_wait().unwrap();
            if code.is_some() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        if code.is_none() {
            child.kill().unwrap();
        }
        drop(input);
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(code.and_then(|code| code.code()), Some(130), "{rule}: {said}");
        assert!(said.contains("interrupted; nothing was written"), "{said}");
        assert_eq!(place.names(), before);
    }
}
