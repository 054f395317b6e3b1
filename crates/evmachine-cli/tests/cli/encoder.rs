//! The encoder of a model, and the way to another one.

use std::fmt::Write;

use crate::Place;

/// Four classes of forty rows that vary by class and row.
pub(crate) fn vectors(scale: f64, columns: usize) -> String {
    let mut text = "image,class".to_owned();
    (0..columns).for_each(|column| write!(text, ",x{column}").unwrap());
    text.push('\n');
    for row in 0..160usize {
        write!(text, "i{row},c{}", row % 4).unwrap();
        for column in 0..columns {
            let noise = ((row * 37 + column * 101 + row * row * (column + 1)) % 211) as f64 / 211.0;
            let centre = ((row % 4) * (column + 1) % 5) as f64;
            write!(text, ",{:.4}", scale * (3.0 + centre + noise + column as f64)).unwrap();
        }
        text.push('\n');
    }
    text
}

fn trained() -> Place {
    let place = Place::new();
    place.write("old.csv", vectors(1.0, 6));
    let train =
        "train old.csv --label class --id image --preset paper --cover-threshold 1 --encoder clip@1 -o model";
    place.ok(&train.split(' ').collect::<Vec<_>>());
    place
}

#[test]
fn vectors_of_another_encoder_are_refused_by_name_and_warned_of_by_their_look() {
    let place = trained();
    let predict = |file: &str, more: &[&str]| {
        let line =
            [&["predict", "model", file, "--id", "image", "--drop", "class", "-o", "out.csv"], more].concat();
        place.run(&line)
    };
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let same = predict("old.csv", &["--encoder", "clip"]);
    assert!(same.status.success() && !said(&same).contains("do not look like"), "{}", said(&same));
    let other = predict("old.csv", &["--encoder", "clip@2"]);
    assert_eq!(other.status.code(), Some(3));
    assert!(said(&other).contains("clip@2") && said(&other).contains("clip@1"), "{}", said(&other));
    place.write("scaled.csv", vectors(9.0, 6));
    let scaled = predict("scaled.csv", &[]);
    assert!(scaled.status.success(), "it is a warning");
    assert!(said(&scaled).contains("do not look like those of the encoder clip@1"), "{}", said(&scaled));
    let inspected = place.ok(&["inspect", "model", "--json"]);
    assert!(inspected.contains("\"clip\""), "{inspected}");
    place.fails(2, &["predict", "model", "old.csv", "--encoder", "@1", "-o", "out.csv"]);
}

#[test]
fn a_model_goes_to_the_vectors_of_another_encoder() {
    let place = trained();
    let wide = vectors(2.0, 8);
    let without: Vec<&str> = wide.lines().filter(|line| !line.starts_with("i7,")).collect();
    place.write("new.csv", without.join("\n"));
    let migrate = "migrate model new.csv --id image --drop class --encoder wide@1 -o moved --compare old.csv";
    let output = place.run(&migrate.split(' ').collect::<Vec<_>>());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("159 rows found") && said.contains("left out: i7"), "{said}");
    assert!(said.contains("of 159 rows are decided differently"), "{said}");
    let inspected: serde_json::Value =
        serde_json::from_str(&place.ok(&["inspect", "moved", "--json"])).unwrap();
    assert_eq!(inspected["dimensions"], 8);
    assert_eq!(inspected["encoder"]["name"], "wide");

    let same = "migrate model old.csv --id image --drop class -o same";
    let output = place.run(&same.split(' ').collect::<Vec<_>>());
    assert!(String::from_utf8_lossy(&output.stderr).contains("no vector is another one"));
    assert!(std::fs::read(place.path("same")).unwrap() == std::fs::read(place.path("model")).unwrap());
    let nameless = place.fails(2, &["migrate", "model", "old.csv", "--drop", "class,image", "-o", "none"]);
    assert!(nameless.contains("--id COLUMN"), "{nameless}");
}

#[test]
fn a_pool_goes_to_the_vectors_of_another_encoder() {
    let place = trained();
    let words = |line: &str| place.run(&line.split(' ').collect::<Vec<_>>());
    place.ok(&["pool", "init", "pool", "model"]);
    assert!(words("pool add pool old.csv --id image --drop class --all").status.success());
    place.ok(&["pool", "label", "pool", "other", "--samples", "1,2,3", "--new-class", "--person", "Ada"]);
    let wide = vectors(2.0, 8);
    let without: Vec<&str> = wide.lines().filter(|line| !line.starts_with("i7,")).collect();
    place.write("new.csv", without.join("\n"));
    let output = words("pool migrate pool new.csv moved --id image --drop class --encoder wide@1");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("1 sample of the pool have no new vector") && said.contains("left out: i7"),
        "{said}"
    );
    let status = |pool: &str| -> serde_json::Value {
        serde_json::from_str(&place.ok(&["pool", "status", pool, "--json"])).unwrap()
    };
    assert_eq!((&status("moved")["dimensions"], &status("moved")["to_learn"]), (&8.into(), &3.into()));
    assert_eq!(place.ok(&["pool", "events", "moved"]), place.ok(&["pool", "events", "pool"]));
    place.ok(&["pool", "update", "moved"]);
    place.ok(&["pool", "check", "moved"]);

    let output = words("pool migrate pool old.csv same --id image --drop class");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no vector is another one"));
    assert_eq!(status("same"), status("pool"));
    let nameless = place.fails(2, &["pool", "migrate", "pool", "old.csv", "none", "--drop", "class,image"]);
    assert!(nameless.contains("--id COLUMN"), "{nameless}");
}
