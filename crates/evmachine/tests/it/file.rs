//! The model file: round trips, and every way in which a file can be wrong.

use crate::common::{any_params, any_set};
use evmachine::{
    Basis, Budget, Decision, Evm, FeatureError, Features, FitError, FormatError, Labels, Metric, Params,
    Prior, Refit, Rejection, RunError, Search, Shares, TailMemory, TailSize, Weight,
};
use proptest::prelude::*;

fn model() -> Evm {
    let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.3, 9.0, 9.5], 1).unwrap();
    let labels = Labels::new(["low", "low", "low", "high", "high", "high", "top", "top"]).unwrap();
    let params = Params { tail_size: TailSize::Count(3), cover_threshold: 1.0, ..Params::paper() };
    Evm::fit(&params, &features, &labels).unwrap().0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_model_survives_its_file(
        set in any_set(), params in any_params(),
        memory in prop::sample::select(vec![TailMemory::Full, TailMemory::Max, TailMemory::None]),
    ) {
        let params = Params { tail_memory: memory, ..params };
        let evm = set.fit(&params);
        let bytes = evm.to_bytes().unwrap();
        prop_assert_eq!(&bytes, &evm.to_bytes().unwrap(), "the same bytes every time");
        let loaded = Evm::from_bytes_with_metric(&bytes, params.metric.clone()).unwrap();
        prop_assert_eq!(&loaded, &evm);
        prop_assert_eq!(loaded.decide(&set.features).unwrap(), evm.decide(&set.features).unwrap());
    }

    #[test]
    fn what_is_left_after_forgetting_survives_its_file(
        set in any_set(), params in any_params(), forgotten in any::<prop::sample::Index>(),
        memory in prop::sample::select(vec![TailMemory::Full, TailMemory::Max, TailMemory::None]),
        refit in prop::sample::select(vec![Refit::New, Refit::Affected, Refit::All]),
        held_out in any::<bool>(), probe in prop::sample::select(vec![0.0, 0.0, 1.0]), standardize in any::<bool>(),
    ) {
        let rejection = if held_out { Rejection::FalseUnknown(0.1) } else { params.rejection_threshold };
        let weight = Weight::Fixed(probe);
        let params = Params {
            tail_memory: memory, refit, rejection_threshold: rejection, logit_weight: weight, probe_weight: weight,
            standardize, ..params
        };
        // Standard columns may leave a row without a direction, which cosine refuses.
        let first: Vec<usize> = (0..set.len()).step_by(2).chain(1..8.min(set.len())).collect();
        let fitted = Evm::fit(&params, &set.features.select(&first), &set.labels.select(&first));
        let has_no_direction =
            |error: &FitError| matches!(error, FitError::Run(RunError::Features(FeatureError::ZeroVector { .. })));
        let (mut evm, _) = match fitted {
            Ok(fitted) => fitted,
            Err(error) => {
                prop_assert!(standardize && has_no_direction(&error), "{}", error);
                return Ok(());
            }
        };
        let saved = |evm: &Evm| Evm::from_bytes_with_metric(&evm.to_bytes().unwrap(), params.metric.clone());
        if let Err(error) = evm.update(&set.features, &set.labels) {
            prop_assert!(standardize && has_no_direction(&error), "{}", error);
        }
        prop_assert_eq!(&saved(&evm).unwrap(), &evm);
        let budget = Params { max_extreme_vectors: Some(Budget::Ratio(0.5)), ..params.clone() };
        evm.reduce(&budget.cover()).unwrap();
        prop_assert_eq!(&saved(&evm).unwrap(), &evm);
        while evm.classes().len() > 2 {
            let name = evm.class_name(forgotten.index(evm.classes().len())).to_owned();
            evm.forget_class(&name).unwrap();
            prop_assert_eq!(&saved(&evm).unwrap(), &evm);
        }
    }

    #[test]
    fn no_changed_byte_goes_unnoticed(position in any::<prop::sample::Index>(), flip in 1u8..=255) {
        let mut bytes = model().to_bytes().unwrap();
        let position = position.index(bytes.len());
        bytes[position] ^= flip;
        prop_assert!(Evm::from_bytes(&bytes).is_err());
    }

    #[test]
    fn no_truncation_goes_unnoticed(length in any::<prop::sample::Index>()) {
        let bytes = model().to_bytes().unwrap();
        prop_assert!(Evm::from_bytes(&bytes[..length.index(bytes.len())]).is_err());
    }

    #[test]
    fn no_bit_flips_unnoticed(at in any::<prop::sample::Index>(), bit in 0..8) {
        let mut bytes = model().to_bytes().unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1u8 << bit;
        prop_assert!(Evm::from_bytes(&bytes).is_err(), "bit {bit} of byte {at}");
    }

    #[test]
    fn arbitrary_bytes_behind_a_plausible_length_are_refused(
        header in prop::collection::vec(any::<u8>(), 0..200), rest in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.iter().chain(&rest));
        prop_assert!(Evm::from_bytes(&bytes).is_err());
    }
}

#[test]
fn files_are_replaced_whole_and_errors_name_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    model().save(&path).unwrap();
    model().save(&path).unwrap();
    assert_eq!(Evm::load(&path).unwrap(), model());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left behind");

    let missing = folder.path().join("nowhere").join("model.safetensors");
    for error in [model().save(&missing).unwrap_err(), Evm::load(&missing).unwrap_err()] {
        assert!(error.to_string().contains("nowhere"), "{error}");
    }
}

#[test]
fn feature_names_travel_with_the_model() {
    let mut evm = model();
    let refused = evm.set_feature_names(vec!["too".to_owned(), "many".to_owned()]);
    assert_eq!(refused, Err(FeatureError::NameCount { expected: 1, found: 2 }));
    assert!(evm.feature_names().is_empty());
    evm.set_feature_names(vec!["height".to_owned()]).unwrap();
    assert_eq!(Evm::from_bytes(&evm.to_bytes().unwrap()).unwrap().feature_names(), ["height"]);
}

#[test]
fn a_memory_map_can_be_loaded() {
    let mut file = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut file, &model().to_bytes().unwrap()).unwrap();
    // SAFETY: the file has no name and nobody else has it open.
    #[allow(unsafe_code)]
    let map = unsafe { memmap2::Mmap::map(&file) }.unwrap();
    assert_eq!(Evm::from_bytes(&map).unwrap(), model());
}

/// Rewrites the file of [`model`] with its checksum made right again, so that what lies behind it is tested.
fn tampered(change: impl FnOnce(&mut String, &mut Vec<u8>)) -> FormatError {
    tampered_with(&model(), change)
}

fn tampered_with(evm: &Evm, change: impl FnOnce(&mut String, &mut Vec<u8>)) -> FormatError {
    let bytes = evm.to_bytes().unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header = String::from_utf8(bytes[8..8 + length].to_vec()).unwrap();
    let mut data = bytes[8 + length..].to_vec();
    change(&mut header, &mut data);
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    let mark = br#"{\"checksum\":\""#;
    if let Some(at) = bytes.windows(mark.len()).position(|window| window == mark) {
        let digits = at + mark.len()..at + mark.len() + 16;
        bytes[digits.clone()].fill(b'0');
        let checksum = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&bytes));
        bytes[digits].copy_from_slice(checksum.as_bytes());
    }
    Evm::from_bytes(&bytes).unwrap_err()
}

#[test]
fn inconsistent_files_say_what_contradicts_what() {
    let replaced = |from: &'static str, to: &'static str| {
        tampered(move |header, _| {
            assert!(header.contains(from), "{header}");
            *header = header.replace(from, to);
        })
        .to_string()
    };
    assert_eq!(
        replaced(r#"\"format_version\":1"#, r#"\"format_version\":9"#),
        "model format 9, but this version reads up to 7; update evmachine"
    );
    assert_eq!(
        replaced(r#""shape":[8,1]"#, r#""shape":[4,2]"#),
        r#"inconsistent model file: tensor "vectors" is F32 [4, 2], expected F32 [8, 1]"#
    );
    assert_eq!(replaced(r#""gain""#, r#""pain""#), r#"inconsistent model file: tensor "gain" is missing"#);
    assert!(replaced(r#"\"low\""#, r#"\"top\""#).contains("is empty or repeated"));
    assert!(
        replaced(r#"\"pooling\":0.0"#, r#"\"pooling\":7.0"#).contains("pooling = 7: must be between 0 and 1")
    );
    assert!(replaced(r#"\"euclidean\""#, r#"\"custom:own\""#).contains("custom:own"));
    assert!(replaced(r#"\"metric\":\"euclidean\","#, "").contains("there is no metric"));
    assert!(replaced(r#""evmachine":"#, r#""something":"#).contains("not of an evmachine model"));
    assert!(tampered(|_, data| data.fill(0xff)).to_string().contains("inconsistent"));
    assert!(tampered(|_, data| data.truncate(10)).to_string().contains("not a complete safetensors file"));
}

/// The numbers of a tensor of [`model`], by their place in the file.
fn with_u64s(name: &'static str, change: impl FnOnce(&mut [u64])) -> FormatError {
    tampered(move |header, data| {
        let json: serde_json::Value = serde_json::from_str(header).unwrap();
        let offsets: Vec<usize> = json[name]["data_offsets"]
            .as_array()
            .unwrap()
            .iter()
            .map(|at| at.as_u64().unwrap() as usize)
            .collect();
        let bytes = &mut data[offsets[0]..offsets[1]];
        let mut values: Vec<u64> =
            bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap())).collect();
        change(&mut values);
        bytes.copy_from_slice(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
    })
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    let said = |error: FormatError| error.to_string();
    assert!(said(with_u64s("source", |values| values[0] = values[1])).contains("distinct"));
    assert!(said(with_u64s("source", |values| values[0] = u64::MAX)).contains("distinct"));
    assert!(said(with_u64s("class_points_seen", |values| values[0] = u64::MAX)).contains("add up"));
    assert!(said(with_u64s("class_points_seen", |values| values[0] = 0)).contains("add up"));
    assert!(said(with_u64s("class_sizes", |values| values[0] = u64::MAX)).contains("class sizes"));
    assert!(said(with_u64s("class_tail_sizes", |values| values[0] = 0)).contains("has a tail of"));
    let long = said(with_u64s("class_tail_sizes", |values| values[0] = u64::MAX >> 1));
    assert!(long.contains("a tail of more than"), "{long}");
    assert!(said(with_u64s("tail_lengths", |values| values[0] = u64::MAX)).contains("tail lengths"));
    let replaced = |from: &'static str, to: &'static str| {
        tampered(move |header, _| {
            assert!(header.contains(from), "{header}");
            *header = header.replace(from, to);
        })
    };
    let sums = replaced(r#"\"count\":0"#, r#"\"count\":18446744073709551615"#);
    assert!(said(sums).contains("dropped fits"));
    // All 8 rows are extreme vectors.
    assert!(said(replaced(r#"\"count\":0"#, r#"\"count\":1"#)).contains("dropped fits"));
    assert!(
        said(replaced(r#"\"tail_memory\":\"full\",\"dropped"#, r#"\"tail_memory\":\"none\",\"dropped"#))
            .contains("under None")
    );
}

/// The first number of a tensor, by its place in the file.
fn with_first(evm: &Evm, name: &'static str, number: &[u8]) -> String {
    tampered_with(evm, |header, data| {
        let json: serde_json::Value = serde_json::from_str(header).unwrap();
        let start = json[name]["data_offsets"][0].as_u64().unwrap() as usize;
        data[start..start + number.len()].copy_from_slice(number);
    })
    .to_string()
}

#[test]
fn a_scale_of_zero_is_that_of_a_tail_of_zeros() {
    let said = with_first(&model(), "scale", &0.0f64.to_le_bytes());
    assert!(said.contains("scale[0] = 0 of a fit with converged"), "{said}");
    let said = with_first(&model(), "status", &[3]);
    assert!(said.contains("of a fit with all margins zero"), "{said}");
    // What vanishes beside the shift has no logarithm either.
    let said = tampered(|header, data| {
        let json: serde_json::Value = serde_json::from_str(header).unwrap();
        for (name, number) in [("scale", 1e-300f64), ("shift", 1e300)] {
            let start = json[name]["data_offsets"][0].as_u64().unwrap() as usize;
            data[start..start + 8].copy_from_slice(&number.to_le_bytes());
        }
    });
    assert!(said.to_string().contains("scale[0] = "), "{said}");
}

#[test]
fn directions_are_of_unit_length() {
    let features = Features::new(vec![1.0, 0.1, 1.0, 0.2, 0.1, 1.0, 0.2, 1.0], 2).unwrap();
    let labels = Labels::new(["right", "right", "up", "up"]).unwrap();
    let params = Params { metric: Metric::Cosine, cover_threshold: 1.0, ..Params::paper() };
    let (evm, _) = Evm::fit(&params, &features, &labels).unwrap();
    assert_eq!(Evm::from_bytes(&evm.to_bytes().unwrap()).unwrap(), evm);
    for value in [0.0f32, 3.0, 0.99] {
        let said = with_first(&evm, "vectors", &value.to_le_bytes());
        assert!(said.contains("extreme vector 0 is not of unit length"), "{value}: {said}");
    }
}

#[test]
fn a_whitening_matrix_is_there_when_it_should_be_and_sound() {
    let features =
        Features::new(vec![0.0, 0.1, 1.2, 0.3, 0.1, 1.1, 5.0, 5.1, 6.3, 4.0, 5.1, 6.0], 2).unwrap();
    let labels = Labels::new(["low", "low", "low", "high", "high", "high"]).unwrap();
    let (evm, _) = Evm::fit(&Params { whitening: 0.5, ..Params::paper() }, &features, &labels).unwrap();
    let bytes = evm.to_bytes().unwrap();
    assert_eq!(Evm::from_bytes(&bytes).unwrap(), evm);
    let header = String::from_utf8_lossy(&bytes);
    assert!(header.contains(r#"\"format_version\":2"#), "readers of version 1 must refuse it");
    assert!(
        String::from_utf8_lossy(&model().to_bytes().unwrap()).contains(r#"\"format_version\":1"#),
        "and need not refuse the others"
    );
    let replaced = |from: &str, to: &str| {
        tampered_with(&evm, |header, _| {
            assert!(header.contains(from), "{header}");
            *header = header.replace(from, to);
        })
        .to_string()
    };
    assert!(replaced(r#"\"format_version\":2"#, r#"\"format_version\":1"#).contains("file of format 1"));
    assert!(replaced(r#"\"whitening\":0.5"#, r#"\"whitening\":0.0"#).contains("say whitening = 0"));
    assert!(replaced(r#""whitening":{"#, r#""blackening":{"#).contains("\"whitening\" is missing"));
    assert!(replaced(r#""shape":[2,2]"#, r#""shape":[4,1]"#).contains("F32 [4, 1], expected F32 [2, 2]"));
    let entry = |at: usize, value: f32| {
        tampered_with(&evm, |header, data| {
            let json: serde_json::Value = serde_json::from_str(header).unwrap();
            let start = json["whitening"]["data_offsets"][0].as_u64().unwrap() as usize + 4 * at;
            data[start..start + 4].copy_from_slice(&value.to_le_bytes());
        })
        .to_string()
    };
    for (at, value) in [(0, 0.0), (0, -1.0), (0, 1e4), (1, 1e-9), (2, 1e4)] {
        assert!(entry(at, value).contains("not the inverse of a Cholesky factor"), "[{at}] = {value}");
    }
    assert!(entry(2, f32::NAN).contains("whitening[2] = NaN is not possible"));
}

#[test]
fn a_built_in_metric_cannot_be_replaced() {
    let bytes = model().to_bytes().unwrap();
    assert!(matches!(
        Evm::from_bytes_with_metric(&bytes, Metric::Cosine),
        Err(FormatError::OtherMetric { .. })
    ));
}

#[derive(Debug)]
struct Scaled(f32);

impl evmachine::Distance for Scaled {
    fn name(&self) -> &'static str {
        "m"
    }
    fn distance(&self, a: &[f32], b: &[f32]) -> f32 {
        self.0 * a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }
}

#[test]
fn another_metric_of_the_same_name_is_found_out() {
    let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.3], 1).unwrap();
    let labels = Labels::new(["low", "low", "low", "high", "high", "high"]).unwrap();
    let params = Params { metric: Metric::custom(Scaled(1.0)), ..Params::plain() };
    let (evm, _) = Evm::fit(&params, &features, &labels).unwrap();
    let bytes = evm.to_bytes().unwrap();
    assert_eq!(Evm::from_bytes_with_metric(&bytes, Metric::custom(Scaled(1.0))).unwrap(), evm);
    let error = Evm::from_bytes_with_metric(&bytes, Metric::custom(Scaled(2.0))).unwrap_err();
    assert!(matches!(error, FormatError::MetricDiffers { .. }), "{error}");
    assert!(error.to_string().contains("another metric that is called \"custom:m\" too"), "{error}");
}

/// Metadata of a file, and the names of its tensors.
fn header(bytes: &[u8]) -> (serde_json::Value, Vec<String>) {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let outer: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let inner = serde_json::from_str(outer["__metadata__"]["evmachine"].as_str().unwrap()).unwrap();
    let names = outer.as_object().unwrap().keys().filter(|name| *name != "__metadata__").cloned().collect();
    (inner, names)
}

/// A model that is written as version 3: with standard columns, and a threshold that is a number.
fn three() -> Evm {
    let values: Vec<f32> = (0..120).map(|i| (i % 20) as f32 / 20.0 + (i / 40) as f32 * 5.0).collect();
    let labels = Labels::new((0..60).map(|row| ["low", "middle", "high"][row / 20])).unwrap();
    let params = Params { standardize: true, background: 0.3, ..Params::paper() };
    Evm::fit(&params, &Features::new(values, 2).unwrap(), &labels).unwrap().0
}

fn keys(value: &serde_json::Value) -> Vec<&String> {
    value.as_object().unwrap().keys().collect()
}

/// A reader of a version refuses names that it does not know, so what is written under its number has its names alone.
#[test]
fn every_version_is_written_with_the_names_it_had() {
    let goldens: [&[u8]; 7] = [
        include_bytes!("../golden/model-1.safetensors"),
        include_bytes!("../golden/model-2.safetensors"),
        include_bytes!("../golden/model-3.safetensors"),
        include_bytes!("../golden/model-4.safetensors"),
        include_bytes!("../golden/model-5.safetensors"),
        include_bytes!("../golden/model-6.safetensors"),
        include_bytes!("../golden/model-7.safetensors"),
    ];
    for (version, golden) in (1..).zip(goldens) {
        let (before, names) = header(golden);
        assert_eq!(before["format_version"], version);
        let mut evm = Evm::from_bytes(golden).unwrap();
        if version == 3 {
            // Thresholds from held-out rows are written as version 5 now.
            evm.set_rejection(Rejection::Probability(0.05)).unwrap();
        }
        let (now, written) = header(&evm.to_bytes().unwrap());
        if version == 3 {
            assert_eq!(now["format_version"], 5);
            // What version 3 has beside that has its names.
            let (now, written) = header(&three().to_bytes().unwrap());
            assert_eq!(now["format_version"], 3);
            assert_eq!(keys(&now["params"]), keys(&before["params"]));
            for key in keys(&now) {
                assert!(keys(&before).contains(&key), "{key}");
            }
            for name in &written {
                assert!(names.contains(name), "{name}");
            }
            assert!(written.iter().any(|name| name.starts_with("standard")), "{written:?}");
            continue;
        }
        assert_eq!(now["format_version"], version);
        assert_eq!(keys(&now["params"]), keys(&before["params"]), "version {version}");
        assert_eq!(keys(&now), keys(&before), "version {version}");
        assert_eq!(written, names, "version {version}");
    }
    // A parameter that came later raises the version, whatever else the model has.
    let set = |params: Params| {
        let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1).unwrap();
        let labels = Labels::new(["low", "low", "low", "high", "high", "high"]).unwrap();
        let bytes = Evm::fit(&params, &features, &labels).unwrap().0.to_bytes().unwrap();
        assert_eq!(Evm::from_bytes(&bytes).unwrap().params(), &params.check().unwrap());
        header(&bytes).0["format_version"].as_u64()
    };
    let paper = Params::paper;
    assert_eq!(set(paper()), Some(1));
    assert_eq!(set(Params { contrast: 0.3, ..paper() }), Some(2));
    assert_eq!(set(Params { background: 0.3, ..paper() }), Some(3));
    assert_eq!(set(Params { cover_risk: 0.5, ..paper() }), Some(5));
    assert_eq!(set(Params { search: Search::Approximate(0.9), ..paper() }), Some(5));
    assert_eq!(set(Params { forest_weight: Weight::Fixed(1.0), ..paper() }), Some(6));
    assert_eq!(set(Params { cover_loss: 0.003, ..paper() }), Some(7));
}

/// A file of every released version of the format stays here and must keep loading.
#[test]
fn files_of_every_version_keep_loading() {
    let evm = Evm::from_bytes(include_bytes!("../golden/model-1.safetensors")).unwrap();
    let names: Vec<&str> = evm.classes().map(|class| class.name).collect();
    assert_eq!(names, ["dots", "diamonds", "squares", "stars"]);
    assert_eq!(
        (evm.extreme_vector_count(), evm.points_seen(), evm.tail_memory()),
        (10, 161, TailMemory::Full)
    );
    let queries = Features::new(vec![-3.0, 2.2, 2.5, 3.1, -1.4, 1.5, 0.2, 0.4, 5.6, -4.2], 2).unwrap();
    let decisions = evm.decide(&queries).unwrap();
    let said: Vec<Option<&str>> =
        decisions.iter().map(|decision| decision.class().map(|class| names[class])).collect();
    assert_eq!(said, [Some("dots"), Some("diamonds"), Some("stars"), None, Some("stars")]);
    assert!((decisions[4].psi() - 0.071_029_716_196).abs() < 1e-9);

    let evm = Evm::from_bytes(include_bytes!("../golden/model-2.safetensors")).unwrap();
    assert_eq!(evm.params().whitening, 0.5);
    assert_eq!(evm.whitening_matrix().unwrap(), [1.074_172_3, 0.0, -0.036_148_775, 0.939_868_2]);
    let queries = Features::new(vec![1.1, 2.2, 4.2, 1.0, 7.7, 8.2, 2.8, 1.8, 30.0, 1.0], 2).unwrap();
    let decisions = evm.decide(&queries).unwrap();
    let classes: Vec<Option<usize>> = decisions.iter().map(Decision::class).collect();
    assert_eq!(classes, [Some(0), Some(1), Some(2), Some(1), None]);
    assert!((decisions[3].psi() - 0.840_195_414_8).abs() < 1e-9);

    let evm = Evm::from_bytes(include_bytes!("../golden/model-3.safetensors")).unwrap();
    let Shares { features, logits, probe, .. } = evm.shares().unwrap();
    assert_eq!([features, logits, probe].map(|share| (3.0 * share).round()), [1.0; 3]);
    assert_eq!(evm.calibration().unwrap().rows, 32);
    let queries = Features::new(vec![-3.0, 2.2, 2.5, 3.1, -1.4, 1.5, 0.2, 0.4, 5.6, -4.2], 2).unwrap();
    let decisions = evm.decide(&queries).unwrap();
    let said: Vec<Option<&str>> =
        decisions.iter().map(|decision| decision.class().map(|class| evm.class_name(class))).collect();
    assert_eq!(said, [Some("dots"), Some("diamonds"), Some("stars"), None, Some("stars")]);
    let known = evm.probability_known(decisions[4].score(), Prior::EVEN).unwrap();
    assert!((known - 0.419_477_388_6).abs() < 1e-6, "{known}");

    // That of version 1 with an ignored sample, values to fill in, and the extreme vector of the diamonds set aside that spoke above.
    let evm = Evm::from_bytes(include_bytes!("../golden/model-4.safetensors")).unwrap();
    assert_eq!((evm.ignored_count(), evm.rows_aside().count()), (1, 1));
    assert_eq!(evm.fill_values(), Some(&[0.5, 0.25][..]));
    let decisions = evm.decide(&queries).unwrap();
    let said: Vec<Option<&str>> =
        decisions.iter().map(|decision| decision.class().map(|class| evm.class_name(class))).collect();
    assert_eq!(said, [Some("dots"), None, Some("stars"), None, Some("stars")]);

    let evm = Evm::from_bytes(include_bytes!("../golden/model-5.safetensors")).unwrap();
    let promise = evm.promise();
    assert_eq!((promise.basis, promise.rows), (Basis::Folds, 161));
    let decisions = evm.decide(&queries).unwrap();
    let said: Vec<Option<&str>> =
        decisions.iter().map(|decision| decision.class().map(|class| evm.class_name(class))).collect();
    assert_eq!(said, [Some("dots"), Some("triangles"), Some("diamonds"), None, None]);
    assert!((decisions[4].support() + 4.151_017_934_2).abs() < 1e-6, "{:?}", decisions[4]);
    assert!((decisions[4].p_value().unwrap() - 4.0 / 162.0).abs() < 1e-9);

    // With a forest and the name of an encoder.
    let evm = Evm::from_bytes(include_bytes!("../golden/model-6.safetensors")).unwrap();
    assert_eq!(evm.shares().unwrap().forest, 0.5);
    assert_eq!(evm.encoder().map(|encoder| encoder.name.as_str()), Some("plane"));
    let decisions = evm.decide(&queries).unwrap();
    let said: Vec<Option<&str>> =
        decisions.iter().map(|decision| decision.class().map(|class| evm.class_name(class))).collect();
    assert_eq!(said, [Some("dots"), Some("triangles"), None, None, None]);
    assert!((decisions[4].support() + 4.453_356_092_8).abs() < 1e-6, "{:?}", decisions[4]);

    // With a cover loss.
    let evm = Evm::from_bytes(include_bytes!("../golden/model-7.safetensors")).unwrap();
    assert_eq!((evm.params().cover_loss, evm.extreme_vector_count()), (0.003, 180));
    let decisions = evm.decide(&queries).unwrap();
    let said: Vec<Option<&str>> =
        decisions.iter().map(|decision| decision.class().map(|class| evm.class_name(class))).collect();
    assert_eq!(said, [Some("dots"), Some("diamonds"), None, None, None]);
    assert!((decisions[4].support() + 34.726_273_234_8).abs() < 1e-6, "{:?}", decisions[4]);
}
