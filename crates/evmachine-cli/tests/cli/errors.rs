//! Bad usage, bad data, bad models: what is said, and the exit code. Nothing panics, nothing is left behind.

use std::fmt::Write as _;

use crate::{Place, fixture, trained};

/// Files that cannot be used, each for a reason of its own.
fn bad_files(place: &Place) {
    let rows = |body: &str| format!("class,a,b\n{body}");
    for (name, value) in
        [("nan", "nan,3"), ("word", "red,3"), ("missing", ",3"), ("ragged", "1"), ("infinite", "inf,3")]
    {
        place.write(&format!("{name}.csv"), rows(&format!("x,1,2\ny,{value}\n")));
    }
    place.write("comma.csv", "class;a;b\nx;1,5;2\ny;-2,25;3\n");
    place.write("one_class.csv", rows("x,1,2\nx,2,3\n"));
    place.write("empty.csv", "");
    place.write("header.csv", "class,a,b\n");
    place.write("zero.csv", rows("x,1,2\ny,0,0\n"));
    place.write("narrow.csv", "a,b\n1,2\n");
    place.write("nul.csv", b"class,a\nx,1\ny,\x002\n");
    place.write("quote.csv", rows("x,1,2\n\"y,2,3\nx,3,4\n"));
    place.write("large.csv", rows("x,1,2\ny,2e15,3\n"));
    place.write("sheet.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0");
    place.write("array.json", "[{\"a\": 1}]");
    for kind in ["npy", "npz", "parquet", "arrow"] {
        let whole = std::fs::read(fixture(&format!("letters.{kind}"))).unwrap();
        place.write(&format!("truncated.{kind}"), &whole[..900]);
    }
    place.write("bad.svm", "1 1:2 3:x\n2 1:1\n");
}

/// Every case as the person sees it.
#[test]
fn errors_are_as_they_were_approved() {
    let place = Place::new();
    trained(&place);
    let csv = fixture("letters.csv");
    bad_files(&place);
    let model = std::fs::read(place.path("model.safetensors")).unwrap();
    place.write("cut.safetensors", &model[..model.len() / 2]);
    let mut damaged = model.clone();
    *damaged.last_mut().unwrap() ^= 1;
    place.write("damaged.safetensors", damaged);
    place.write("params.toml", "poling = 0.5\n");
    std::fs::create_dir(place.path("folder")).unwrap();

    let train = |file: &'static str| vec!["train", file, "--label", "class", "-o", "m.safetensors"];
    let cases: Vec<(i32, Vec<&str>)> = vec![
        (2, vec!["tran"]),
        (2, vec!["train", "nan.csv"]),
        (3, train("nan.csv")),
        (3, train("word.csv")),
        (3, train("comma.csv")),
        (3, train("missing.csv")),
        (3, train("ragged.csv")),
        (3, train("infinite.csv")),
        (3, train("empty.csv")),
        (3, train("header.csv")),
        (3, train("nowhere.csv")),
        (3, train("nul.csv")),
        (3, train("quote.csv")),
        (3, train("large.csv")),
        (3, train("sheet.xlsx")),
        (3, train("array.json")),
        (3, ["train", "narrow.csv", "word.csv"].iter().copied().chain(["--label", "b", "-o", "m"]).collect()),
        (3, train("folder")),
        (3, [train("zero.csv"), vec!["--metric", "cosine"]].concat()),
        (3, vec!["train", "truncated.npy", "--labels-file", "nan.csv", "-o", "m.safetensors"]),
        (3, vec!["train", "truncated.npz", "--label", "y", "-o", "m.safetensors"]),
        (3, train("truncated.parquet")),
        (3, train("truncated.arrow")),
        (3, vec!["train", "bad.svm", "-o", "m.safetensors"]),
        (3, vec!["train", &csv, "--label", "clas", "-o", "m.safetensors"]),
        (3, vec!["train", &csv, "-o", "m.safetensors"]),
        (2, vec!["train", "narrow.csv", "-o", "m.safetensors"]),
        (2, vec!["train", &csv, "--label", "class", "--pooling", "3", "-o", "m.safetensors"]),
        (2, vec!["train", &csv, "--label", "class", "--tail-size", "many", "-o", "m.safetensors"]),
        (2, vec!["train", &csv, "--label", "class", "--params", "params.toml", "-o", "m.safetensors"]),
        (2, vec!["train", &csv, "--label", "class", "--max-total", "9", "--vector-ratio", "0.5", "-o", "m"]),
        (1, vec!["train", &csv, "--label", "class", "-o", "nowhere/m.safetensors"]),
        (4, vec!["predict", "nowhere.safetensors", &csv]),
        (4, vec!["predict", "cut.safetensors", &csv]),
        (4, vec!["predict", "damaged.safetensors", &csv]),
        (4, vec!["inspect", "nan.csv"]),
        (3, vec!["predict", "model.safetensors", "narrow.csv"]),
        (3, vec!["predict", "model.safetensors", &csv, "--features", "f0,f1"]),
        (3, vec!["predict", "model.safetensors", "nothing-*.csv"]),
        (2, vec!["predict", "model.safetensors", &csv, "--drop", "class", "--unknown-label", "A"]),
        (2, vec!["predict", "model.safetensors", &csv, "--drop", "class", "-o", "out.xlsx"]),
        (2, vec!["forget", "model.safetensors", "Z", "-o", "m.safetensors"]),
        (2, vec!["reduce", "model.safetensors", "-o", "m.safetensors"]),
        (2, vec!["export", "model.safetensors"]),
        (2, vec!["export", "model.safetensors", "--onnx", "m.onnx", "--unknown-label", "A"]),
        (4, vec!["export", "cut.safetensors", "--onnx", "m.onnx"]),
        (3, vec!["tune", "one_class.csv", "--label", "class"]),
        (2, vec!["tune", &csv, "--label", "class", "--objective", "accuracy"]),
        (2, vec!["tune", &csv, "--label", "class", "--max-rows", "3"]),
        (2, vec!["--threads", "0", "inspect", "model.safetensors"]),
        (2, vec!["--memory", "17592186044416", "inspect", "model.safetensors"]),
        (2, [train("nan.csv"), vec!["--tail-memory-limit", "17592186044417"]].concat()),
        (2, vec!["plot", "model.safetensors", "-o", "picture.gif"]),
        (2, vec!["set", "model.safetensors", "--n-fused", "0", "-o", "m.safetensors"]),
        (2, vec!["evaluate", "model.safetensors", &csv]),
    ];
    let before = place.names();
    let mut said = String::new();
    for (code, arguments) in cases {
        let shown: Vec<String> =
            arguments.iter().map(|word| word.rsplit('/').next().unwrap().to_owned()).collect();
        let error = place.fails(code, &arguments);
        let _ = writeln!(said, "$ evmachine {}\n{error}[{code}]\n", shown.join(" "));
    }
    assert_eq!(place.names(), before, "nothing is left behind");
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"[^\s]*/fixtures/", "");
    settings.bind(|| insta::assert_snapshot!("errors", said));
}

#[test]
fn bad_rows_can_be_skipped_and_are_counted() {
    let place = Place::new();
    let mut text = std::fs::read_to_string(fixture("letters.csv")).unwrap();
    text.push_str("A,1,2\nB,nan,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n");
    place.write("bad.csv", text);
    let output =
        place.run(&["train", "bad.csv", "--label", "class", "--skip-bad-rows", "-o", "m.safetensors"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("2 bad rows were left out"), "{said}");
    assert!(said.contains("learned from 160 rows"), "{said}");
}

#[test]
fn an_unreadable_file_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    // A link to itself, which nobody can read.
    std::os::unix::fs::symlink("circle.csv", place.path("circle.csv")).unwrap();
    let said = place.fails(3, &["train", "circle.csv", "--label", "class", "-o", "m.safetensors"]);
    assert!(said.contains("circle.csv") && said.contains("levels of symbolic links"), "{said}");
    let path = place.write("secret.csv", "class,a\nx,1\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(&path).is_ok() {
        // The superuser may read everything; there is nothing to refuse.
        return;
    }
    let said = place.fails(3, &["train", "secret.csv", "--label", "class", "-o", "m.safetensors"]);
    assert!(said.contains("secret.csv") && said.contains("permission"), "{said}");
}
