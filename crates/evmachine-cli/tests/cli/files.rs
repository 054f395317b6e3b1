//! What becomes of the files that commands write: links, devices, modes, two processes at once.

use crate::{Place, fixture, trained};

#[test]
fn what_is_read_is_not_written_over() {
    let place = Place::new();
    trained(&place);
    let csv = std::fs::read_to_string(fixture("letters.csv")).unwrap();
    place.write("data.csv", &csv);
    place.write("q.csv", &csv);
    let model = std::fs::read(place.path("model.safetensors")).unwrap();
    for arguments in [
        &["train", "data.csv", "--label", "class", "-o", "./data.csv"][..],
        &["train", "q.csv", "--label", "class", "--unknown-data", "data.csv", "-o", "data.csv"],
        &["update", "model.safetensors", "data.csv", "--label", "class", "-o", "data.csv"],
        &["calibrate", "model.safetensors", "data.csv", "--label", "class", "-o", "data.csv"],
        &["tune", "data.csv", "--label", "class", "-o", "data.csv"],
        &["predict", "model.safetensors", "data.csv", "--drop", "class", "-o", "data.csv"],
        &["predict", "model.safetensors", "data.csv", "--drop", "class", "-o", "model.safetensors"],
        &["export", "model.safetensors", "--onnx", "model.safetensors"],
        &["plot", "model.safetensors", "-o", "model.safetensors"],
    ] {
        let said = place.fails(2, arguments);
        assert!(said.contains("which is read") && said.contains("-o"), "{arguments:?}: {said}");
    }
    assert_eq!(place.read("data.csv"), csv);
    assert_eq!(std::fs::read(place.path("model.safetensors")).unwrap(), model);
}

#[test]
#[cfg(unix)]
fn models_keep_their_mode_links_stay_links_and_devices_devices() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    let place = Place::new();
    trained(&place);
    let path = place.path("model.safetensors");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    symlink("model.safetensors", place.path("live")).unwrap();
    let before = std::fs::read(&path).unwrap();
    place.ok(&["forget", "live", "A", "-o", "live"]);
    assert!(std::fs::symlink_metadata(place.path("live")).unwrap().is_symlink());
    assert_ne!(std::fs::read(&path).unwrap(), before, "what the link names is written");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    place.ok(&["train", &fixture("letters.csv"), "--label", "class", "-o", "/dev/null"]);
    place.ok(&["export", "model.safetensors", "--onnx", "/dev/null"]);
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    assert_eq!(place.names(), ["live", "model.safetensors"]);
}

#[test]
fn of_updates_at_once_none_is_lost() {
    let place = Place::new();
    trained(&place);
    let header = std::fs::read_to_string(fixture("letters.csv")).unwrap().lines().next().unwrap().to_owned();
    let columns = header.split(',').count();
    let children: Vec<_> = (0..8)
        .map(|number| {
            let value = (40 + 5 * number).to_string();
            let row = |shift: usize| {
                let values = (1..columns).map(|column| if column == shift { "39" } else { value.as_str() });
                format!("new {number},{}\n", values.collect::<Vec<_>>().join(","))
            };
            let text: String = std::iter::once(header.clone() + "\n").chain((1..5).map(row)).collect();
            place.write(&format!("{number}.csv"), text);
            let name = format!("{number}.csv");
            place
                .command(&[
                    "update",
                    "model.safetensors",
                    &name,
                    "--label",
                    "class",
                    "-o",
                    "model.safetensors",
                    "-q",
                ])
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let said = place.ok(&["inspect", "model.safetensors"]);
    for number in 0..8 {
        assert!(said.contains(&format!("new {number}")), "{said}");
    }
}
