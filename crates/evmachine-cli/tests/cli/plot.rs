//! `plot`: pictures of rows and of models.

use std::fmt::Write as _;

use crate::{Place, fixture, trained};

#[test]
fn pictures_are_drawn_of_two_and_of_more_dimensions() {
    let place = Place::new();
    let csv = fixture("letters.csv");
    place.ok(&["plot", &csv, "--label", "class", "-o", "letters.svg"]);
    assert!(place.read("letters.svg").contains("first principal component"));
    let mut plane = "x,y,class\n".to_owned();
    for i in 0..60 {
        let (x, y) = (f64::from(i % 8) * 0.3, f64::from(i / 8) * 0.25);
        let (x, y, class) = if i % 2 == 0 { (x, y, "dots") } else { (x + 5.0, y + 1.0, "stars") };
        let _ = writeln!(plane, "{x},{y},{class}");
    }
    place.write("plane.csv", plane);
    place.write("queries.csv", "x,y\n1.0,0.5\n-9,9\n");
    let flags = ["--label", "class", "-o", "plane.png"];
    place.ok(&[&["plot", "plane.csv", "--queries", "queries.csv"], &flags[..]].concat());
    place.ok(&[&["plot", "plane.csv", "--queries", "plane.csv"], &flags[..]].concat());
    assert_eq!(&std::fs::read(place.path("plane.png")).unwrap()[..4], b"\x89PNG");
    place.ok(&["train", "plane.csv", "--label", "class", "-o", "plane.safetensors"]);
    place.ok(&["plot", "plane.safetensors", "--queries", "queries.csv", "-o", "plane.svg"]);
    let svg = place.read("plane.svg");
    assert!(svg.contains("dots") && svg.contains('?'), "one of the queries is unknown");
}

/// By cosine a model knows directions: a query far out lies where its direction is.
#[test]
fn by_cosine_everything_is_drawn_at_unit_length() {
    let place = Place::new();
    let mut text = "x,y,class\n".to_owned();
    for row in 0..30 {
        let angle = f64::from(row % 15) * 0.01 + if row < 15 { 0.1 } else { 1.4 };
        let length = 1.0 + f64::from(row) * 10.0;
        let _ = writeln!(text, "{},{},{}", length * angle.cos(), length * angle.sin(), row / 15);
    }
    place.write("rays.csv", text);
    place.write("near.csv", "x,y\n-1,-1\n");
    place.write("far.csv", "x,y\n-900,-900\n");
    let flags = ["--metric", "cosine", "--label", "class", "--title", "rays"];
    let mut pictures = Vec::new();
    for queries in ["near.csv", "far.csv"] {
        let command = ["plot", "rays.csv", "--queries", queries, "-o", "p.svg"];
        place.ok(&[&command[..], &flags].concat());
        pictures.push(place.read("p.svg"));
    }
    assert_eq!(pictures[0], pictures[1]);
    assert!(pictures[0].contains("x, unit length"));
}

#[test]
fn letters_that_a_png_lacks_are_escaped_and_told() {
    let place = Place::new();
    place.write("names.csv", "x,y,class\n0,0,日本\n0,1,日本\n5,5,größe\n5,6,größe\n");
    let plot = |name: &str| {
        let output = place.run(&["plot", "names.csv", "--label", "class", "-o", name]);
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(plot("p.png").contains("lacks letters"));
    assert!(!plot("p.svg").contains("lacks letters"));
    assert!(place.read("p.svg").contains("日本"));
}

#[test]
fn flags_that_a_picture_has_no_use_for_are_refused() {
    let place = Place::new();
    trained(&place);
    for flags in
        [&["--tail-size", "20"][..], &["--preset", "robust"], &["--label", "class"], &["--drop", "0"]]
    {
        let said = place.fails(2, &[&["plot", "model.safetensors", "-o", "p.svg"], flags].concat());
        assert!(said.contains("model.safetensors is a model"), "{flags:?}: {said}");
    }
    let letters = fixture("letters.csv");
    place.ok(&["plot", "model.safetensors", "--queries", &letters, "--label", "class", "-o", "p.svg"]);
}
