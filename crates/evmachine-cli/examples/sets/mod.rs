//! Labelled training and test rows of real sets: known classes to learn, and unknown ones to be met.

use std::collections::HashSet;
use std::error::Error;
use std::path::Path;

use evmachine::{Features, Labels, Metric};
use evmachine_data::{ColumnRef, ReadOptions};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

pub(crate) type Set = (Features<'static>, Labels);

/// Training rows, test rows of known and unknown classes, and how they are compared.
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) train: Set,
    pub(crate) test: Set,
    pub(crate) metric: Metric,
}

/// The set that arguments name: nothing for Letter, `clinc FILE.npz`, `split FILE.npz METRIC`, `tiny FOLDER SEED`, or a file of classes
/// for the seed.
pub(crate) fn named(arguments: &[String]) -> Result<Task, Box<dyn Error>> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [] => letter("ABCDEGHKLNPRTVX"),
        ["letter", known] => letter(known),
        ["clinc", path] => split("CLINC150", Path::new(path), "X_oos_test", Metric::Cosine),
        ["split", path, metric] => {
            let metric = Metric::from_name(metric).ok_or("METRIC is euclidean, cosine or manhattan")?;
            split(path, Path::new(path), "X_unknown", metric)
        }
        ["tiny", folder, seed] => tiny(Path::new(folder), seed),
        _ => Err("usage: [letter KNOWN | clinc FILE.npz | split FILE.npz METRIC | tiny FOLDER SEED]".into()),
    }
}

/// Known letters as given, all others unknown; the first 15,000 rows train, the others test.
fn letter(known: &str) -> Result<Task, Box<dyn Error>> {
    let (mut train, mut test) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    for (row, line) in evmachine_console::letter::TEXT.lines().enumerate() {
        let (name, values) = line.split_once(',').ok_or("a line without values")?;
        let set = if row < 15_000 { &mut train } else { &mut test };
        if row >= 15_000 || known.contains(name) {
            set.1.push(name.to_owned());
            for value in values.split(',') {
                set.0.push(value.parse::<f32>()?);
            }
        }
    }
    let (train, test) = (set(train, 16)?, set(test, 16)?);
    Ok(Task { name: format!("Letter, {known} known"), train, test, metric: Metric::Euclidean })
}

fn set((values, names): (Vec<f32>, Vec<String>), columns: usize) -> Result<Set, Box<dyn Error>> {
    Ok((Features::new(values, columns)?, Labels::new(names)?))
}

/// A set that is divided already: `X_train`, `y_train`, `X_test`, `y_test`, and an array of rows that are of no class.
fn split(name: &str, path: &Path, strangers: &str, metric: Metric) -> Result<Task, Box<dyn Error>> {
    let read = |features: &str, labels: Option<&str>| -> Result<(Vec<f32>, Vec<String>), Box<dyn Error>> {
        let options = ReadOptions {
            features: vec![ColumnRef::Name(features.to_owned())],
            label: labels.map(|name| ColumnRef::Name(name.to_owned())),
            ..ReadOptions::default()
        };
        let data = evmachine_data::read_all(path, &options)?.data;
        let names = data.labels.unwrap_or_else(|| vec!["a stranger".to_owned(); data.rows]);
        Ok((data.features, names))
    };
    let train = read("X_train", Some("y_train"))?;
    let mut test = read("X_test", Some("y_test"))?;
    let strangers = read(strangers, None)?;
    test.0.extend(strangers.0);
    test.1.extend(strangers.1);
    let columns = train.0.len() / train.1.len().max(1);
    let (train, test) = (set(train, columns)?, set(test, columns)?);
    Ok(Task { name: name.to_owned(), train, test, metric })
}

/// 200 classes of Tiny-ImageNet as EfficientNet-Lite0 features, bytes whose value is `(byte / 255)^2 * 6`: a folder with
/// `train_features_u8.npy`, `train_labels.npy`, `test_features_u8.npy`, `test_labels.npy`. Half of the classes, drawn
/// from the seed, are known; or those of a file, separated by white space.
fn tiny(folder: &Path, seed: &str) -> Result<Task, Box<dyn Error>> {
    let known: HashSet<String> = match seed.parse() {
        Ok(seed) => {
            let mut order: Vec<usize> = (0..200).collect();
            order.shuffle(&mut StdRng::seed_from_u64(seed));
            order.iter().take(100).map(usize::to_string).collect()
        }
        Err(_) => std::fs::read_to_string(seed)?.split_whitespace().map(str::to_owned).collect(),
    };
    let part = |name: &str, all: bool| -> Result<Set, Box<dyn Error>> {
        let options = ReadOptions {
            labels_file: Some(folder.join(format!("{name}_labels.npy"))),
            ..ReadOptions::default()
        };
        let data = evmachine_data::read_all(&folder.join(format!("{name}_features_u8.npy")), &options)?.data;
        let columns = data.features.len() / data.rows;
        let (mut values, mut names) = (Vec::new(), Vec::new());
        for (row, label) in data.features.chunks_exact(columns).zip(data.labels.unwrap_or_default()) {
            let is_known = known.contains(&label);
            if is_known || all {
                names.push(if is_known { label } else { "unknown".to_owned() });
                values.extend(row.iter().map(|byte| (byte / 255.0).powi(2) * 6.0));
            }
        }
        set((values, names), columns)
    };
    let name = format!("Tiny-ImageNet, seed {seed}");
    let (train, test) = (part("train", false)?, part("test", true)?);
    Ok(Task { name, train, test, metric: Metric::Cosine })
}
