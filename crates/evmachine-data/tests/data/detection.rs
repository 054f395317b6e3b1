//! Which format a file is taken for, and files that cannot be opened.

use std::path::Path;

use evmachine_data::{ColumnRef, DataError, Format, ReadOptions};

use crate::support::{Folder, failure, fixture, message, npy, plain, read, singles};

#[test]
fn content_counts_more_than_the_extension() {
    let folder = Folder::new();
    for (name, format) in [
        ("float64.npy", Format::Npy),
        ("stored.npz", Format::Npz),
        ("list.parquet", Format::Parquet),
        ("fixed_list.arrow", Format::Arrow),
        ("scalars.arrows", Format::Arrow),
    ] {
        let copy = folder.write("copy.csv", std::fs::read(fixture(name)).unwrap());
        let options = match name {
            "scalars.arrows" => crate::support::labelled("class"),
            "float64.npy" | "stored.npz" => plain(),
            _ => crate::support::labelled("label"),
        };
        assert_eq!(read(&copy, &options).schema.format, format, "{name}");
    }
}

#[test]
fn extensions() {
    for (name, format) in [
        ("a.csv", Some(Format::Csv)),
        ("a.TSV", Some(Format::Tsv)),
        ("a.csv.gz", Some(Format::Csv)),
        ("a.svmlight.gz", Some(Format::Libsvm)),
        ("a.feather", Some(Format::Arrow)),
        ("a.jsonl.zst", Some(Format::Jsonl)),
        ("a.pkl", None),
        ("a", None),
    ] {
        assert_eq!(Format::from_extension(Path::new(name)), format, "{name}");
    }
}

#[test]
fn wrong_magic() {
    let folder = Folder::new();
    assert_eq!(
        message(&folder.write("x.npy", "1,2,3\n"), &plain()),
        "x.npy is not in NPY format: it begins with \"1,2,3\\n\". Correct its extension, or name its format"
    );
    assert_eq!(
        message(&folder.write("x.parquet", b"\x90\x04\x95\x00\x01\x02\x03\x04\x05"), &plain()),
        "x.parquet is not in Parquet format: it begins with \"\\x90\\x04\\x95\\x00\\x01\\x02\\x03\\x04\". \
         Correct its extension, or name its format"
    );
    assert_eq!(
        message(&folder.write("model", b"\x90\x04\x95\x00"), &plain()),
        "model is in no known format: it begins with \"\\x90\\x04\\x95\\x00\". \
         Name one of csv, tsv, jsonl, npy, npz, parquet, arrow, libsvm"
    );
    assert_eq!(
        message(&folder.write("zero.csv", b"a,b\n1,\x002\n"), &plain()),
        "zero.csv holds a NUL byte in line 2, and is no text table. \
         If it is text, save it as UTF-8; otherwise correct its extension"
    );
    let options = ReadOptions { format: Some(Format::Csv), ..plain() };
    let path = folder.write("y.npy", npy("<f4", false, "(1, 1)", &singles(&[1.0])));
    assert!(matches!(failure(&path, &options), DataError::WrongMagic { expected: Format::Csv, .. }));
    assert_eq!(
        message(&folder.write("wide.csv", b"\xff\xfe1\x00,\x002\x00"), &plain()),
        "wide.csv is UTF-16 text. Save it as UTF-8"
    );
}

#[test]
fn what_is_not_read_is_named() {
    let folder = Folder::new();
    let zip = |member: &str| {
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let stored =
            zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        writer.start_file(member, stored).unwrap();
        writer.finish().unwrap().into_inner()
    };
    for (name, content, what) in [
        ("a.xlsx", zip("xl/workbook.xml"), "an Excel workbook"),
        ("a.pt", zip("archive/data.pkl"), "a PyTorch file"),
        ("a.zip", zip("a.csv"), "a ZIP archive without arrays"),
        ("a.h5", b"\x89HDF\r\n\x1a\n\0\0".to_vec(), "an HDF5 file"),
        ("a.pkl", b"\x80\x04\x95\x00".to_vec(), "a Python pickle"),
        ("a.joblib", b"(lp0\n.".to_vec(), "a Python pickle"),
        ("a.csv.xz", b"\xfd7zXZ\0\0".to_vec(), "compressed by xz"),
        ("a.json", b"[{\"a\": 1}]".to_vec(), "a JSON array"),
        ("a.json", b"{\n \"a\": 1\n}\n".to_vec(), "one JSON object"),
        ("a.orc", b"ORC\0\x01".to_vec(), "an ORC file"),
        ("a.safetensors", b"\x10\0\0\0\0\0\0\0{\"a\":{}}".to_vec(), "a safetensors file"),
    ] {
        let said = message(&folder.write(name, content), &plain());
        assert!(said.starts_with(&format!("{name} is {what}, which is not read. ")), "{said}");
    }
    // Letters prove nothing.
    let table = folder.write("orc.csv", "ORC,1\nRIFF,2\n");
    assert_eq!(read(&table, &crate::support::labelled("0")).data.features, [1.0, 2.0]);
}

#[test]
fn the_format_can_be_forced() {
    let folder = Folder::new();
    let path = folder.write("x.npy", "1\t2\n3\t4\n");
    let options = ReadOptions { format: Some(Format::Tsv), ..plain() };
    assert_eq!(read(&path, &options).data.features, [1.0, 2.0, 3.0, 4.0]);
    assert_eq!("feather".parse::<Format>(), Ok(Format::Arrow));
    assert!("xml".parse::<Format>().unwrap_err().starts_with("`xml` is none of csv"));
}

#[test]
fn files_that_cannot_be_opened() {
    let folder = Folder::new();
    assert_eq!(message(&folder.path("none.csv"), &plain()), "none.csv does not exist. Check the path");
    std::fs::create_dir(folder.path("inner")).unwrap();
    assert_eq!(
        message(&folder.path("inner"), &plain()),
        "inner is a directory. Name a file inside it, or several"
    );
}

#[cfg(unix)]
#[test]
fn no_permission() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = folder.write("secret.csv", "1,2\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    // The administrator may open everything.
    if std::fs::File::open(&path).is_err() {
        assert_eq!(
            message(&path, &plain()),
            "secret.csv may not be opened by this user. Change its permissions, or run as its owner"
        );
    }
}

#[test]
fn column_references() {
    let parsed = |text: &str| text.parse::<ColumnRef>().unwrap();
    assert_eq!(parsed("0"), ColumnRef::Number(0));
    assert_eq!(parsed("-1"), ColumnRef::Number(-1));
    assert_eq!(parsed("4:20"), ColumnRef::Range { start: Some(4), end: Some(20) });
    assert_eq!(parsed(":-1"), ColumnRef::Range { start: None, end: Some(-1) });
    for name in ["label", "+1", "1.5", "a:b", "4:b", ""] {
        assert_eq!(parsed(name), ColumnRef::Name(name.to_owned()));
    }
}
