//! Writes the seed corpora: the fixtures of the readers' tests, snippets of text, and small models.

use std::error::Error;
use std::fs;
use std::path::Path;

use evmachine::{
    Budget, Edit, Evm, Features, Labels, Metric, Params, RowNames, TailMemory, TailModel, TailSize,
};
use evmachine_fuzz::{Options, parts};

/// A corpus, the extensions of its fixtures, and the labels to ask them for.
const FIXTURES: [(&str, &[&str], &[&str]); 4] = [
    ("npy", &["npy"], &["", "-1"]),
    ("npz", &["npz"], &["", "y", "labels"]),
    ("parquet", &["parquet"], &["", "label", "class"]),
    ("arrow", &["arrow", "arrows", "feather"], &["", "label", "class"]),
];

/// A corpus, a name, the label to ask for, and the text.
const TEXTS: [(&str, &str, &str, &str); 19] = [
    ("csv", "comma", "", "1,2,3\n4,5,6\n7,8.5,-9e3\n"),
    ("csv", "header", "label", "a,b,label\n1,2,cat\n3,4,dog\n\n5,6,cat\n"),
    ("csv", "semicolon", "-1", "x;y;class\n1.5;2.5;1.0\n3.5;4.5;2.0\n"),
    ("csv", "tab", "0", "cat\t1\t2\ndog\t3\t4\n"),
    ("csv", "spaces", "", "  1.0   2.0\n 3.0 4.0\r\n"),
    ("csv", "quotes", "0", "\"a,\"\"b\"\"\",1\n\"c\nd\",2\n"),
    ("csv", "bad_rows", "-1", "1,2,a\n1,NA,b\n1,2\nnan,2,c\n1e39,2,d\n3,4,e\n"),
    ("csv", "counted", "label", "0,1,2,3,4,5,6,7,label\n5,6,7,8,9,9,9,9,x\n"),
    ("csv", "mark", "", "\u{feff}a,b\n1,2\n"),
    ("csv", "index", "", ",0,1\n0,5,6\n1,7,8\n"),
    ("csv", "open_quote", "0", "a,b\n\"1,2\n3,4\n"),
    ("jsonl", "flat", "y", "{\"y\":\"cat\",\"b\":2,\"a\":1.5}\n\n{\"a\":-3,\"y\":1.0,\"b\":true}\n"),
    ("jsonl", "vectors", "label", "{\"v\":[1,2.5],\"label\":true}\n{\"label\":false,\"v\":[3,4]}\n"),
    ("jsonl", "nested", "class", "{\"class\":1,\"x\":{\"a\":[[]]},\"v\":[]}\n{\"v\":[1]}\n"),
    ("jsonl", "bad_rows", "", "{\"a\":1}\n{\"a\":null}\n{\"a\":\"x\"}\n[1]\n{\"a\":1e300}\n{\"a\":2\n"),
    ("libsvm", "from_one", "", "+1 1:0.5 7:2\n-1 2:1e-3 # note\n+1\n"),
    ("libsvm", "from_zero", "", "# heading\n3 qid:4 0:1 2:-1\n2.0 1:inf\n"),
    ("libsvm", "bad_rows", "label", "1 1:1 1:2\n1 x:2\n1 2:y\ncat 3:4\n1:5\n"),
    ("libsvm", "wide", "", "a 1000:1\nb 999:2\n"),
];

/// A name, a part of the header of a model, and what to put in its place: numbers beyond all bounds.
const CHANGES: [(&str, &str, &str); 4] = [
    ("many_fused", r#"\"n_fused\":1"#, r#"\"n_fused\":999999999"#),
    ("most_fused", r#"\"n_fused\":1"#, r#"\"n_fused\":18446744073709551615"#),
    ("most_dropped", r#"\"dropped\":{\"count\":0"#, r#"\"dropped\":{\"count\":18446744073709551615"#),
    ("most_seen", r#"\"points_seen\":8"#, r#"\"points_seen\":18446744073709551615"#),
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let write = |corpus: &str, name: &str, content: &[u8]| -> Result<(), Box<dyn Error>> {
        let folder = root.join("corpus").join(corpus);
        fs::create_dir_all(&folder)?;
        Ok(fs::write(folder.join(name), content)?)
    };
    for (corpus, name, label, text) in TEXTS {
        let options = Options { skip_bad_rows: name == "bad_rows", ..Options::labelled(label) };
        write(corpus, name, &with_options(text.as_bytes(), options))?;
    }
    for fixture in fs::read_dir(root.join("../crates/evmachine-data/tests/fixtures"))? {
        let path = fixture?.path();
        let text = |part: Option<&std::ffi::OsStr>| part.and_then(|part| part.to_str()).map(str::to_owned);
        let (name, extension) = (text(path.file_stem()), text(path.extension()));
        let (name, extension) = name.zip(extension).ok_or("a fixture without a name")?;
        for (corpus, extensions, labels) in FIXTURES {
            for label in labels.iter().filter(|_| extensions.contains(&extension.as_str())) {
                let content = with_options(&fs::read(&path)?, Options::labelled(label));
                write(corpus, &format!("{name}_{}", label.trim_start_matches('-')), &content)?;
            }
        }
    }
    for (name, model) in models()? {
        let bytes = model.to_bytes()?;
        write("model", name, &bytes)?;
        write("model_repaired", name, &parts(&bytes))?;
        for (change, from, to) in CHANGES.iter().filter(|_| name == "euclidean") {
            write("model_repaired", change, &replaced(&parts(&bytes), from.as_bytes(), to.as_bytes())?)?;
        }
    }
    Ok(())
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let start = bytes.windows(from.len()).position(|window| window == from).ok_or("nothing to replace")?;
    Ok([&bytes[..start], to, &bytes[start + from.len()..]].concat())
}

fn with_options(content: &[u8], options: Options) -> Vec<u8> {
    [content, &[options.byte()]].concat()
}

fn models() -> Result<Vec<(&'static str, Evm)>, Box<dyn Error>> {
    let line = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.3, 9.0, 9.5], 1)?;
    let plane = Features::new(
        vec![1.0, 2.0, 1.5, 2.0, 1.0, 2.5, 4.0, 1.0, 4.5, 1.5, 4.0, 0.5, 8.0, 8.0, 7.5, 8.5],
        2,
    )?;
    let labels = Labels::new(["low", "low", "low", "high", "high", "high", "top", "top"])?;
    let base = || Params { tail_size: TailSize::Count(3), ..Params::paper() };
    let all = [
        ("euclidean", &line, Params { cover_threshold: 1.0, ..base() }),
        ("cosine", &plane, Params { metric: Metric::Cosine, n_fused: 2, ..base() }),
        ("whitened", &plane, Params { whitening: 0.5, ..base() }),
        ("manhattan", &plane, Params { metric: Metric::Manhattan, tail_memory: TailMemory::Max, ..base() }),
        ("libmr", &line, Params { tail_model: TailModel::Libmr, pooling: 0.5, ..base() }),
        ("gumbel", &line, Params { tail_model: TailModel::Gumbel, tail_memory: TailMemory::None, ..base() }),
        ("robust", &plane, Params { max_extreme_vectors: Some(Budget::PerClass(1)), ..Params::robust() }),
    ];
    let mut models = Vec::new();
    for (name, features, params) in all {
        models.push((name, Evm::fit(&params, features, &labels)?.0));
    }
    let alone = Labels::new(vec!["low"; 8])?;
    models.push(("alone", Evm::fit(&base(), &line, &alone)?.0));
    let (mut corrected, _) = Evm::fit(&Params { cover_threshold: 1.0, ..base() }, &plane, &labels)?;
    corrected.ignore(&Features::new(vec![6.0, 6.0, 6.5, 6.5], 2)?)?;
    corrected.edit(&Edit::SetAside { rows: vec![1] })?;
    corrected.set_fill_values(Some(vec![2.5, 3.0]))?;
    let ids = ["a", "b", "", "d", "e", "f", "g", "h"].map(String::from).to_vec();
    let names = RowNames { batch: Some("plane.csv".to_owned()), time: Some(1), ids: Some(ids), numbers: None };
    corrected.name_rows(0, 8, names)?;
    models.push(("corrected", corrected));
    Ok(models)
}
