//! Rows and tails on a disk: the same model, after every interruption, and nothing left behind.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use evmachine::scratch::{FolderError, Scratch, ScratchFolder, ScratchRoom};
use evmachine::{
    Budget, Evm, Executor, Features, FitError, Labels, Metric, Params, Run, RunError, Stage, TailMemory,
    TailModel, TailSize, Weight,
};

use crate::common::Random;

/// A folder that counts, and fails when it is told to.
struct Counting {
    folder: ScratchFolder,
    kept: AtomicUsize,
    loaded: AtomicUsize,
    fails_at: usize,
}

impl Counting {
    fn new(folder: ScratchFolder) -> Self {
        Self { folder, kept: AtomicUsize::new(0), loaded: AtomicUsize::new(0), fails_at: usize::MAX }
    }
}

impl Scratch for Counting {
    fn place(&self) -> String {
        "the scratch".to_owned()
    }

    fn load(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let found = self.folder.load(name)?;
        self.loaded.fetch_add(usize::from(found.is_some()), Ordering::Relaxed);
        Ok(found)
    }

    fn keep(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        if self.kept.fetch_add(1, Ordering::Relaxed) == self.fails_at {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.folder.keep(name, bytes)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.folder.remove(name)
    }

    fn room(&self) -> io::Result<Box<dyn ScratchRoom>> {
        self.folder.room()
    }
}

/// Enough rows for several blocks, as these hold 960 at least.
fn drawn(rows: usize, dimensions: usize, seed: u64) -> (Features<'static>, Labels) {
    let mut random = Random(seed);
    let centres: Vec<f32> = (0..7 * dimensions).map(|_| 1.0 + 2.0 * random.next()).collect();
    let class = |row: usize| row * row % 7;
    let values = (0..rows).flat_map(|row| {
        let centre = &centres[class(row) * dimensions..(class(row) + 1) * dimensions];
        centre.iter().map(|value| value + random.next()).collect::<Vec<_>>()
    });
    let features = Features::new(values.collect::<Vec<f32>>(), dimensions).unwrap();
    (features, Labels::new((0..rows).map(|row| class(row).to_string())).unwrap())
}

/// The same rows, where a scratch has them.
fn shared(scratch: &dyn Scratch, features: &Features<'_>) -> Features<'static> {
    let mut room = scratch.room().unwrap();
    for (row, values) in features.iter().enumerate() {
        room.write(row * features.columns(), values).unwrap();
    }
    Features::shared(room.finish().unwrap(), features.columns()).unwrap()
}

/// All witnesses, whatever they are worth.
fn heard() -> Params {
    Params {
        logit_weight: Weight::Fixed(0.5),
        probe_weight: Weight::Fixed(1.0),
        forest_weight: Weight::Fixed(0.5),
        ..Params::robust_for(Metric::Cosine)
    }
}

/// Of so many rows, a part is held out for good; the probe makes its rows again for every pass, and the logits lie in the scratch.
#[test]
fn witnesses_of_many_rows_are_learned_from_a_disk() {
    let above = tempfile::tempdir().unwrap();
    let (features, labels) = drawn(21_000, 4, 8);
    let (here, _) = Evm::fit(&heard(), &features, &labels).unwrap();
    let scratch = ScratchFolder::open(above.path().join("scratch")).unwrap();
    let run = Run::new().scratch(&scratch).memory(1 << 16);
    let (there, _) = Evm::fit_with(&run, &heard(), &shared(&scratch, &features), &labels).unwrap();
    assert!(there.shares().unwrap().logits > 0.0);
    assert!(here.to_bytes().unwrap() == there.to_bytes().unwrap());
}

#[test]
fn a_model_learned_from_a_disk_is_the_same() {
    let above = tempfile::tempdir().unwrap();
    let paper = Params { tail_size: TailSize::Count(40), ..Params::paper() };
    let cases = [
        (20, paper.clone()),
        (20, Params { tail_size: TailSize::Fraction(0.5), tail_model: TailModel::Libmr, ..paper.clone() }),
        (
            40,
            Params {
                metric: Metric::Cosine,
                whitening: 0.3,
                smoothing: 0.4,
                smoothing_neighbors: 4,
                ..paper.clone()
            },
        ),
        (5, Params { standardize: true, cover_threshold: 1.0, pooling: 0.5, ..paper.clone() }),
        (
            5,
            Params {
                metric: Metric::Manhattan,
                max_extreme_vectors: Some(Budget::PerClass(30)),
                ..paper.clone()
            },
        ),
        (
            5,
            Params {
                max_extreme_vectors: Some(Budget::Total(90)),
                tail_memory: TailMemory::Max,
                ..paper.clone()
            },
        ),
        (5, Params { cover_risk: 0.5, tail_memory_limit: 200_000, ..paper.clone() }),
        (5, Params { tail_memory_limit: 4_000_000, tail_size: TailSize::Count(3_000), ..paper.clone() }),
        (9, Params::robust_for(Metric::Cosine)),
        (9, Params { pooling: 0.8, ..heard() }),
    ];
    for (number, (dimensions, params)) in cases.into_iter().enumerate() {
        let (features, labels) = drawn(3_000, dimensions, number as u64);
        let (more, names) = drawn(1_200, dimensions, 77 + number as u64);
        let names = Labels::new((0..names.len()).map(|row| format!("{}", row % 9))).unwrap();
        let (ignored, _) = drawn(30, dimensions, 99);
        let (mut here, _) = Evm::fit_ignoring(&params, &features, &labels, &ignored).unwrap();
        let path = above.path().join(number.to_string());
        let scratch = ScratchFolder::open(&path).unwrap();
        let run = Run::new().scratch(&scratch).memory(1 << 16);
        let there = shared(&scratch, &features);
        let (mut model, report) = Evm::fit_ignoring_with(&run, &params, &there, &labels, &ignored).unwrap();
        match report.plans[0].executor {
            Executor::Blocks { count: 3..=4, .. } => {}
            // Of points that share one curve a sample is measured, which fits the memory.
            Executor::Stream if params.pooling == 1.0 => {}
            _ => panic!("{:?}", report.plans),
        }
        assert_eq!(here.to_bytes().unwrap(), model.to_bytes().unwrap(), "case {number}");
        assert!(!scratch.begin("the update", false).unwrap(), "what was found for the fit is gone");
        let more_there = shared(&scratch, &more);
        here.update(&more, &names).unwrap();
        model.update_with(&run, &more_there, &names).unwrap();
        assert_eq!(here.to_bytes().unwrap(), model.to_bytes().unwrap(), "case {number}, updated");
        scratch.clear().unwrap();
        assert!(!path.exists());
    }
}

#[test]
fn a_run_goes_on_from_wherever_it_was_interrupted() {
    let above = tempfile::tempdir().unwrap();
    let (features, labels) = drawn(4_000, 12, 5);
    let params = Params { tail_size: TailSize::Count(60), ..Params::paper() };
    let expected = Evm::fit(&params, &features, &labels).unwrap().0.to_bytes().unwrap();
    let path = above.path().join("scratch");
    // Five blocks meet 15 times; fits and tails of each are kept too.
    let mut kept = 0;
    for fails_at in [0, 3, 1, 9, 4, usize::MAX] {
        let folder = ScratchFolder::open(&path).unwrap();
        let begun = path.join("job").exists();
        assert_eq!(folder.begin("this run", true), Ok(begun));
        let scratch = Counting { fails_at, ..Counting::new(folder) };
        let run = Run::new().scratch(&scratch).memory(1 << 18);
        match Evm::fit_with(&run, &params, &shared(&scratch, &features), &labels) {
            Ok((model, _)) => {
                assert_eq!(fails_at, usize::MAX);
                assert_eq!(model.to_bytes().unwrap(), expected);
                assert!(scratch.loaded.load(Ordering::Relaxed) > 0, "nothing was gone on from");
            }
            Err(error) => assert_eq!(
                error.to_string(),
                "the scratch: no storage space; make room there, or name another folder"
            ),
        }
        kept += scratch.kept.load(Ordering::Relaxed) - 1;
    }
    // The tails of a block are kept before its fits, one of which failed.
    assert_eq!(kept, 15 + 5 + 5 - 1 + 1, "no meeting was done twice");
}

#[test]
fn damage_is_found_out_and_mended_and_a_stop_stops() {
    let above = tempfile::tempdir().unwrap();
    let (features, labels) = drawn(2_500, 6, 5);
    let params = Params { tail_size: TailSize::Count(30), ..Params::paper() };
    let path = above.path().join("scratch");
    let folder = ScratchFolder::open(&path).unwrap();
    folder.begin("this run", false).unwrap();
    let seen = AtomicUsize::new(0);
    let stop = |stage: Stage, done: u64, total: u64| {
        assert!(stage != Stage::Tails || (done <= total && total == 2_500), "{done} of {total}");
        if seen.fetch_add(1, Ordering::Relaxed) > 12 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let run = Run::new().memory(1 << 18).scratch(&folder);
    let stopped = Evm::fit_with(&run.observer(&stop), &params, &features, &labels);
    assert_eq!(stopped.map(|_| ()), Err(FitError::Run(RunError::Stopped)));
    let results: Vec<_> = std::fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("meeting"))
        .collect();
    assert!(!results.is_empty());
    for (number, path) in results.iter().enumerate() {
        let mut bytes = std::fs::read(path).unwrap();
        match number % 3 {
            0 => bytes.truncate(bytes.len() / 2),
            1 => bytes.iter_mut().step_by(50).for_each(|byte| *byte ^= 4),
            _ => bytes.clear(),
        }
        std::fs::write(path, bytes).unwrap();
    }
    let (model, _) = Evm::fit_with(&run, &params, &features, &labels).unwrap();
    assert_eq!(model, Evm::fit(&params, &features, &labels).unwrap().0);
}

#[test]
fn a_folder_is_for_one_run_of_one_process() {
    let above = tempfile::tempdir().unwrap();
    let path = above.path().join("scratch");
    let folder = ScratchFolder::open(&path).unwrap();
    assert_eq!(ScratchFolder::open(&path).unwrap_err(), FolderError::Busy { path: path.clone() });
    assert_eq!(folder.begin("one", true), Ok(false));
    assert_eq!(folder.begin("one", true), Ok(true));
    assert_eq!(folder.begin("other", true), Err(FolderError::Another { path: path.clone() }));
    folder.keep("fits-1-0", b"x").unwrap();
    assert_eq!(folder.begin("other", false), Ok(false));
    assert_eq!(folder.load("fits-1-0").unwrap(), None, "it was another's");
    drop(folder);
    std::fs::write(path.join("thesis.txt"), "all of it").unwrap();
    let foreign = ScratchFolder::open(&path).unwrap_err();
    assert_eq!(foreign, FolderError::Foreign { path: path.clone(), name: "thesis.txt".to_owned() });
    assert!(path.join("thesis.txt").exists());
    let nowhere = above.path().join("nowhere").join("scratch");
    assert!(
        matches!(ScratchFolder::open(&nowhere), Err(FolderError::Failed { path, .. }) if path == nowhere)
    );
    assert!(!above.path().join("nowhere").exists());
}

#[test]
fn whatever_result_is_missing_is_found_again() {
    let above = tempfile::tempdir().unwrap();
    let (features, labels) = drawn(2_500, 6, 5);
    let params = Params { tail_size: TailSize::Count(30), ..Params::paper() };
    let expected = Evm::fit(&params, &features, &labels).unwrap().0.to_bytes().unwrap();
    let path = above.path().join("scratch");
    let folder = ScratchFolder::open(&path).unwrap();
    folder.begin("this run", false).unwrap();
    let run = Run::new().memory(1 << 18).scratch(&folder);
    let fit = || Evm::fit_with(&run, &params, &features, &labels).unwrap().0.to_bytes().unwrap();
    assert_eq!(fit(), expected);
    let results = || {
        let names = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|path| path.to_string_lossy().ends_with(".evmachine")).collect::<Vec<_>>()
    };
    let all = results();
    assert!(all.iter().any(|path| path.to_string_lossy().contains("tails-")), "{all:?}");
    for gone in all {
        std::fs::remove_file(&gone).unwrap();
        assert_eq!(fit(), expected, "without {}", gone.display());
        assert!(gone.exists());
    }
}
