//! Data larger than the memory that a run may take: many files, a scratch folder, interruptions.

use std::fmt::Write as _;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use crate::Place;

/// So many files of rows of six numbers in a folder; some rows repeat.
fn shards(place: &Place, files: usize, rows: usize) -> Vec<String> {
    fs::create_dir_all(place.path("data/deeper")).unwrap();
    let mut state = 7u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / 16_777_216.0
    };
    let name = |file: usize| format!("data/{}part-{file:03}.csv", if file % 2 == 1 { "deeper/" } else { "" });
    for file in 0..files {
        let mut text = "class,a,b,c,d,e,f\n".to_owned();
        for row in 0..rows {
            let class = (row * 7 + file) % 5;
            let values: Vec<String> =
                (0..6).map(|_| format!("{:.4}", 0.7 * class as f64 + random())).collect();
            writeln!(text, "k{class},{}", values.join(",")).unwrap();
        }
        place.write(&name(file), text);
    }
    let mut names: Vec<String> = (0..files).map(name).collect();
    names.sort();
    names
}

const LABEL: [&str; 6] = ["--label", "class", "--tail-size", "40", "--preset", "paper"];

fn train<'a>(data: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [&["train"], data, &LABEL, more].concat()
}

#[test]
fn a_folder_of_files_is_read_as_one_and_from_a_scratch_gives_the_same_model() {
    let place = Place::new();
    let names = shards(&place, 5, 600);
    let files: Vec<&str> = names.iter().map(String::as_str).collect();
    place.ok(&train(&files, &["-o", "all.safetensors"]));
    place.ok(&train(&["data"], &["-o", "folder.safetensors"]));
    place.ok(&train(&["data"], &["-o", "scratch.safetensors", "--scratch", "here"]));
    // 72 kB of features do not fit a quarter of 0 MB.
    let output = place.run(&train(&["data"], &["-o", "memory.safetensors", "--memory", "0", "-v"]));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("blocks from the disk"), "{said}");
    assert!(said.contains("lie in memory.safetensors.scratch"), "{said}");
    let expected = fs::read(place.path("all.safetensors")).unwrap();
    for model in ["folder", "scratch", "memory"] {
        let found = fs::read(place.path(&format!("{model}.safetensors"))).unwrap();
        assert!(found == expected, "{model} differs");
    }
    let left: Vec<String> = place.names().into_iter().filter(|name| !name.ends_with("safetensors")).collect();
    assert_eq!(left, ["data"]);

    for (model, more) in [("one", &[][..]), ("other", &["--scratch", "here"][..])] {
        let output = format!("{model}.safetensors");
        let update = ["update", "all.safetensors", "data/part-002.csv", "--label", "class", "-o", &output];
        place.ok(&[&update[..], more].concat());
    }
    assert!(
        fs::read(place.path("one.safetensors")).unwrap()
            == fs::read(place.path("other.safetensors")).unwrap()
    );
    place.ok(&["tune", "data", "--label", "class", "--trials", "2", "--memory", "0", "--space", "paper"]);
    assert_eq!(place.ok(&["predict", "one.safetensors", "data"]).lines().count(), 3_001);
}

#[test]
fn whatever_is_killed_is_gone_on_with() {
    let place = Place::new();
    shards(&place, 4, 1_500);
    place.ok(&train(&["data"], &["-o", "all.safetensors"]));
    let scratch = train(&["data"], &["-o", "m.safetensors", "--memory", "0", "--threads", "1"]);
    let (mut killed, mut refused) = (0, false);
    for wait in 1.. {
        let mut arguments = scratch.clone();
        if wait > 1 {
            arguments.push("--resume");
        }
        let mut child = place.command(&arguments).stderr(Stdio::null()).spawn().unwrap();
        // Ever later, so that an end is reached.
        std::thread::sleep(Duration::from_millis(40 * wait));
        if child.try_wait().unwrap().is_some() {
            assert!(child.wait().unwrap().success());
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        killed += 1;
        let folder = fs::read_dir(place.path("m.safetensors.scratch")).into_iter().flatten().flatten();
        let mut names = folder.filter_map(|entry| entry.file_name().into_string().ok());
        if !refused && names.any(|name| name.starts_with("meeting-") || name.starts_with("fits-")) {
            let error = place.fails(2, &scratch);
            assert!(error.contains("m.safetensors.scratch has the work of an interrupted run"), "{error}");
            assert!(error.contains("--resume goes on from it"), "{error}");
            refused = true;
        }
        // It may be killed when all is done but to let go of the scratch.
        if let Ok(model) = fs::read(place.path("m.safetensors")) {
            assert!(model == fs::read(place.path("all.safetensors")).unwrap(), "half a model");
            fs::remove_file(place.path("m.safetensors")).unwrap();
        }
    }
    assert!(killed > 0 && (refused || killed < 3));
    assert!(
        fs::read(place.path("m.safetensors")).unwrap() == fs::read(place.path("all.safetensors")).unwrap()
    );
    assert!(!place.path("m.safetensors.scratch").exists());
}

#[test]
fn what_cannot_be_gone_on_with_or_read_is_named() {
    let place = Place::new();
    shards(&place, 2, 50);
    let resume = train(&["data"], &["-o", "m.safetensors", "--scratch", "here", "--resume"]);
    let output = place.run(&resume);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing to go on from in here"));

    fs::create_dir(place.path("here")).unwrap();
    place.write("here/job", "another run");
    let error = place.fails(2, &resume);
    assert!(
        error.contains("here holds what a run with other data, parameters or another processor"),
        "{error}"
    );
    place.write("here/letter.txt", "dear");
    let error = place.fails(2, &resume);
    assert!(error.contains("here holds \"letter.txt\", which is no result of a run"), "{error}");
    assert_eq!(place.read("here/letter.txt"), "dear");

    let text = place.read("data/deeper/part-001.csv");
    place.write("data/deeper/part-001.csv", text.replacen("k2,", "k2,x", 1));
    let error = place.fails(3, &train(&["data"], &["-o", "m2.safetensors", "--memory", "0"]));
    assert!(error.contains("part-001.csv") && error.contains("row "), "{error}");
    place.write("data/deeper/part-001.csv", "class,a,b,c,d,e,g\nk0,1,2,3,4,5,6\n");
    let error = place.fails(3, &train(&["data"], &["-o", "m2.safetensors", "--memory", "0"]));
    assert!(error.contains("part-001.csv") && error.contains("alone has `f`"), "{error}");
    assert!(!place.path("m2.safetensors").exists());

    fs::create_dir(place.path("empty")).unwrap();
    let error = place.fails(3, &train(&["empty"], &["-o", "m2.safetensors"]));
    assert!(error.contains("empty: no data files in this folder"), "{error}");
}

#[test]
fn shards_of_arrays_have_their_labels_in_as_many_files() {
    let place = Place::new();
    for (number, rows) in [(0, 3), (1, 4)] {
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, 2), }}");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        let padded = format!("{header:<117}\n");
        bytes.extend((padded.len() as u16).to_le_bytes());
        bytes.extend(padded.bytes());
        for row in 0..rows {
            let value = (row % 2) as f32 * 5.0 + number as f32 / 10.0 + row as f32 / 100.0;
            bytes.extend([value, value].iter().flat_map(|value| value.to_le_bytes()));
        }
        place.write(&format!("x-{number}.npy"), bytes);
        let labels: Vec<&str> = (0..rows).map(|row| ["low", "high"][row % 2]).collect();
        place.write(&format!("y-{number}.txt"), labels.join("\n"));
    }
    let common = ["--preset", "paper", "-o", "m.safetensors"];
    place.ok(&[&["train", "x-*.npy", "--labels-file", "y-*.txt"], &common[..]].concat());
    let rows = place.ok(&["inspect", "m.safetensors"]);
    assert!(rows.contains("low") && rows.contains("high"), "{rows}");
    let error = place.fails(3, &[&["train", "x-*.npy", "--labels-file", "y-0.txt"], &common[..]].concat());
    assert!(error.contains("2 files and 1 file of labels"), "{error}");
}
