//! Prediction files.

use evmachine_data::{ColumnType, ColumnValues, DataError, OutputColumn, OutputFormat, Target, Writer};

use crate::support::{Folder, columns, plain, read};

fn declared() -> Vec<OutputColumn> {
    vec![
        OutputColumn::new("label", ColumnType::Text),
        OutputColumn::new("score", ColumnType::Float),
        OutputColumn::new("row", ColumnType::Integer),
        OutputColumn::new("why", ColumnType::Json),
    ]
}

fn values() -> Vec<ColumnValues> {
    vec![
        ColumnValues::Text(vec!["cat, \"big\"".into(), "line\nbreak\u{1}\\".into()]),
        ColumnValues::Float(vec![0.1, f64::NAN]),
        ColumnValues::Integer(vec![1, -2]),
        ColumnValues::Text(vec!["{\"near\":\n[1]}".into(), "null".into()]),
    ]
}

fn written(folder: &Folder, name: &str) -> std::path::PathBuf {
    let path = folder.path(name);
    let format = OutputFormat::from_path(&path).unwrap();
    let mut writer = Writer::create(&Target::Path(path.clone()), format, &declared()).unwrap();
    writer.write(values()).unwrap();
    assert!(!path.exists());
    writer.finish().unwrap();
    assert_eq!(folder.entries(), [name]);
    path
}

#[test]
fn comma_separated() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(written(&folder, "p.csv")).unwrap();
    assert_eq!(
        text,
        "label,score,row,why\n\"cat, \"\"big\"\"\",0.1,1,\"{\"\"near\"\":\n[1]}\"\n\"line\nbreak\u{1}\\\",,-2,null\n"
    );
}

#[test]
fn json_lines() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(written(&folder, "p.jsonl")).unwrap();
    assert_eq!(
        text,
        "{\"label\":\"cat, \\\"big\\\"\",\"score\":0.1,\"row\":1,\"why\":{\"near\": [1]}}\n\
         {\"label\":\"line\\nbreak\\u0001\\\\\",\"score\":null,\"row\":-2,\"why\":null}\n"
    );
}

#[test]
fn parquet() {
    let folder = Folder::new();
    let path = written(&folder, "p.parquet");
    let options = evmachine_data::ReadOptions {
        features: columns(&["score", "row"]),
        label: Some("label".parse().unwrap()),
        id: Some("why".parse().unwrap()),
        skip_bad_rows: true,
        ..plain()
    };
    let found = read(&path, &options);
    assert_eq!(found.data.features, [0.1, 1.0]);
    assert_eq!(found.data.labels.unwrap(), ["cat, \"big\""]);
    assert_eq!(found.skipped.reasons[0].1.to_string(), "column `score` has no value");
}

#[test]
fn floats_read_back_exactly() {
    let folder = Folder::new();
    let floats = vec![0.1 + 0.2, 1.0, 1e-300, f64::MAX, 5e-324, -0.0];
    let column = [OutputColumn::new("x", ColumnType::Float)];
    for format in [OutputFormat::Csv, OutputFormat::Jsonl] {
        let path = folder.path("x");
        let mut writer = Writer::create(&Target::Path(path.clone()), format, &column).unwrap();
        writer.write(vec![ColumnValues::Float(floats.clone())]).unwrap();
        writer.finish().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let numbers =
            text.lines().filter_map(|line| line.trim_matches(['{', '}']).replace("\"x\":", "").parse().ok());
        let found: Vec<f64> = numbers.collect();
        assert_eq!(found, floats);
        assert!(text.contains("0.30000000000000004"));
    }
}

#[test]
fn an_unfinished_file_leaves_nothing_and_keeps_the_old_one() {
    let folder = Folder::new();
    let path = folder.write("p.csv", "old");
    for format in [OutputFormat::Csv, OutputFormat::Jsonl, OutputFormat::Parquet] {
        let mut writer = Writer::create(&Target::Path(path.clone()), format, &declared()).unwrap();
        writer.write(values()).unwrap();
        drop(writer);
        assert_eq!(folder.entries(), ["p.csv"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
    }
}

#[test]
fn targets_that_cannot_be_written() {
    let folder = Folder::new();
    let create =
        |path: std::path::PathBuf| Writer::create(&Target::Path(path), OutputFormat::Csv, &declared());
    assert!(matches!(create(folder.path("none/p.csv")).unwrap_err(), DataError::Write { .. }));
    assert!(matches!(create(folder.path("")).unwrap_err(), DataError::IsDirectory { .. }));
    let error = OutputFormat::from_path(std::path::Path::new("p.xls")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "p.xls: the extension does not tell the output format. Use .csv, .jsonl or .parquet, or name the format"
    );
}

#[cfg(unix)]
#[test]
fn links_and_devices_stay_what_they_are() {
    let folder = Folder::new();
    let (real, link) = (folder.write("real.csv", "old"), folder.path("link.csv"));
    std::os::unix::fs::symlink(&real, &link).unwrap();
    for path in [link.clone(), "/dev/null".into()] {
        let mut writer = Writer::create(&Target::Path(path), OutputFormat::Csv, &declared()).unwrap();
        writer.write(values()).unwrap();
        writer.finish().unwrap();
    }
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(std::fs::read_to_string(&real).unwrap().starts_with("label,score"));
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn values_must_fit_the_columns() {
    let folder = Folder::new();
    let target = Target::Path(folder.path("p.csv"));
    let mut writer = Writer::create(&target, OutputFormat::Csv, &declared()).unwrap();
    let mut refused = |change: fn(&mut Vec<ColumnValues>)| {
        let mut changed = values();
        change(&mut changed);
        let message = writer.write(changed).unwrap_err().to_string();
        message.split_once(": ").unwrap().1.split_once(". ").unwrap().0.to_owned()
    };
    assert_eq!(refused(|values| drop(values.pop())), "column `why` was given no values");
    assert_eq!(
        refused(|values| values[1] = ColumnValues::Integer(vec![1, 2])),
        "column `score` was declared as Float and given other values"
    );
    assert_eq!(
        refused(|values| values[2] = ColumnValues::Integer(vec![1])),
        "column `row` was given 1 values where 2 are expected"
    );
    assert_eq!(
        refused(|values| values.push(ColumnValues::Float(vec![]))),
        "column `number 4` was never declared"
    );
}
