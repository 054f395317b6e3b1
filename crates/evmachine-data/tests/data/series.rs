//! Several files read as one.

use evmachine_data::{Batch, DataError, ReadOptions, Schema, Series};
use std::path::PathBuf;

use crate::support::{Folder, labelled, plain};

fn read(paths: &[PathBuf], options: &ReadOptions) -> Result<(Schema, Vec<(usize, Batch)>), DataError> {
    let series = Series::open(paths, options)?;
    let schema = series.schema().clone();
    Ok((schema, series.collect::<Result<_, _>>()?))
}

#[test]
fn rows_are_numbered_in_each_file() {
    let folder = Folder::new();
    let paths = [
        folder.write("1.csv", "a,b,y\n1,2,cat\nnan,2,cat\n3,4,dog\n"),
        folder.write("2.csv", "y,b,a\ncow,6,5\n"),
        folder.write("3.jsonl", "{\"y\":\"hen\",\"a\":7,\"b\":8}\n"),
    ];
    let options = ReadOptions { skip_bad_rows: true, ..labelled("y") };
    let (schema, found) = read(&paths, &options).unwrap();
    assert_eq!(schema.feature_names, ["a", "b"]);
    let rows: Vec<_> = found.iter().map(|(file, batch)| (*file, batch.row_numbers.clone())).collect();
    assert_eq!(rows, [(0, vec![1, 3]), (1, vec![1]), (2, vec![1])]);
    let features: Vec<f32> = found.into_iter().flat_map(|(_, batch)| batch.features).collect();
    assert_eq!(features, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
}

#[test]
fn the_file_that_differs_is_named() {
    let folder = Folder::new();
    let first = folder.write("1.csv", "a,b\n1,2\n");
    let said = |name: &str, text: &str| {
        let paths = [first.clone(), folder.write(name, text)];
        let text = read(&paths, &plain()).unwrap_err().to_string();
        text.replace(&format!("{}/", folder.path("").display()), "")
            .replace(&folder.path("").display().to_string(), "")
    };
    assert_eq!(
        said("2.csv", "a,c\n1,2\n"),
        "2.csv and 1.csv have unlike columns: the first of these alone has `c`. Give files with the same columns"
    );
    assert!(
        said("3.csv", "a,b,c\n1,2,3\n").starts_with("3.csv and 1.csv have unlike columns: 3 features and 2.")
    );
    assert!(said("4.csv", "a,b\n1,x\n").starts_with("4.csv: column `b` is not numeric"));
    assert!(said("5.csv", "").starts_with("5.csv is empty"));
}
