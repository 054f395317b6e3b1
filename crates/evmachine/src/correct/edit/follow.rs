//! What stands beside the extreme vectors follows an edit: the sample, the linear probe, the machine over logits, the threshold.

use std::collections::HashSet;
use std::sync::Arc;

use super::moves::MovingRow;
use super::{Edit, Editor};
use crate::error::EditError;
use crate::heldout::sample::{NewRow, Role};
use crate::model::Evm;
use crate::witness::{LogitMachine, Voices, Witnesses};
use evmachine_engine::features::Features;
use evmachine_engine::points::Points;
use evmachine_engine::run::Run;

/// The threshold is set anew if one row in so many changed since it was set, or a class came or went.
const ONE_IN: f64 = 100.0;

impl Editor<'_> {
    /// Brings everything beside the extreme vectors up to rows that went to `class`, or to no class.
    pub(super) fn follow(
        &mut self,
        before: &Evm,
        rows: &[u64],
        class: Option<&str>,
    ) -> Result<(), EditError> {
        let same_classes = self.model.class_names() == before.class_names();
        self.follow_sample(before, rows, class);
        if self.model.machine.classes.len() < 2 {
            self.model.witnesses = None;
        } else if let Some(witnesses) = self.model.witnesses.clone() {
            self.follow_witnesses(before, &witnesses, rows, class)?;
        }
        let changed = self.rows_changed(before, rows);
        // A class that chose its extreme vectors again may have dropped some that stood for many rows.
        let left = self.model.extreme_vector_count() + self.report.rows;
        let chose_again = left < before.extreme_vector_count();
        let held = self.model.machine.points_held() as f64;
        let Some(calibration) = &mut self.model.held.calibration else { return Ok(()) };
        let calibration = Arc::make_mut(calibration);
        calibration.edited += changed;
        if !same_classes || chose_again || calibration.edited * ONE_IN >= held {
            self.model.recalibrate(self.run)?;
            self.report.recalibrated = true;
        }
        Ok(())
    }

    /// For how many rows of training the rows of the edit stand: an extreme vector for as many rows of its class as it has of what the
    /// extreme vectors of the class cover.
    fn rows_changed(&self, before: &Evm, rows: &[u64]) -> f64 {
        let asked: HashSet<u64> = rows.iter().copied().collect();
        let mut changed = self.report.rows as f64;
        for class in &before.machine.classes {
            let gains = || class.gains.iter().map(|gain| f64::from(gain.max(0.0)));
            let own = class.sources.iter().zip(gains()).filter(|(source, _)| asked.contains(source));
            let own: f64 = own.map(|(_, gain)| gain).sum();
            changed += own / gains().sum::<f64>().max(f64::MIN_POSITIVE) * class.points_seen as f64;
        }
        changed
    }

    /// The sample with the rows under their new class or gone, and some rows of each class.
    fn follow_sample(&mut self, before: &Evm, rows: &[u64], class: Option<&str>) {
        let Some(old) = &before.held.sample else { return };
        let changed: HashSet<u64> = rows.iter().copied().collect();
        let target = class.and_then(|class| self.model.class_index(class));
        let numbers: Vec<Option<usize>> =
            before.machine.classes.iter().map(|class| self.model.class_index(&class.name)).collect();
        let merged = self.held_out.merged.as_deref().and_then(|name| before.class_index(name));
        let class_of = |row: usize| {
            let (source, own) = (old.sources[row], old.classes[row] as usize);
            if self.held_out.leave.contains(&source) {
                return None;
            }
            if self.held_out.set_aside && changed.contains(&source) && old.roles[row].is_held_out() {
                return numbers[own];
            }
            if changed.contains(&source) || merged == Some(own) { target } else { numbers[own] }
        };
        let classes = self.model.machine.classes.len();
        let mut sample = old.moved(classes, class_of);
        for (role, source) in sample.roles.iter_mut().zip(&sample.sources) {
            if self.held_out.set_aside && changed.contains(source) && *role == Role::Held {
                *role = Role::Aside;
            }
            if self.held_out.restored.contains(source) && *role == Role::Aside {
                *role = Role::Held;
            }
        }
        let mut has_learned = vec![false; classes];
        for row in sample.positions(Role::is_learned) {
            has_learned[sample.classes[row] as usize] = true;
        }
        let missing: Vec<usize> = (0..classes).filter(|&class| !has_learned[class]).collect();
        if !missing.is_empty() && self.model.witnesses.is_some() {
            let raw: Vec<(u32, u64, Vec<f32>)> =
                missing.iter().flat_map(|&class| self.raw_rows(class)).collect();
            let new = raw.iter().enumerate();
            let new =
                new.map(|(index, (class, source, _))| NewRow::new(index, *class, *source, Role::Rehearsed));
            sample.extend(new, |index| &raw[index].2, self.model.rehearsal(), classes);
        }
        self.model.held.sample = Some(Arc::new(sample));
    }

    /// Class, source and features of the extreme vectors of a class, as they came but for rounding.
    fn raw_rows(&self, class: usize) -> Vec<(u32, u64, Vec<f32>)> {
        let vectors = self.model.extreme_vectors().filter(|vector| vector.class == class);
        vectors
            .map(|vector| (class as u32, vector.source, self.model.in_feature_space(vector.vector)))
            .collect()
    }

    fn follow_witnesses(
        &mut self,
        before: &Evm,
        witnesses: &Witnesses,
        rows: &[u64],
        class: Option<&str>,
    ) -> Result<(), EditError> {
        let logits = match &witnesses.voices.logits {
            Some(logits) => Some(self.follow_logits(logits, rows, class)?),
            None => None,
        };
        let mut voices = Voices { logits, ..witnesses.voices.clone() };
        for (number, class) in before.machine.classes.iter().enumerate().rev() {
            if self.model.class_index(&class.name).is_none() {
                voices.probe = voices.probe.map(|probe| probe.without(number));
            }
        }
        if self.model.held.sample != before.held.sample
            && let Some(sample) = self.model.held.sample.clone()
        {
            voices = self.model.rehearsed(self.run, &sample, voices)?;
        }
        self.model.witnesses = Some(Arc::new(Witnesses { voices, mixture: witnesses.mixture }));
        Ok(())
    }

    /// The machine over logits with the same change, as far as it holds the rows, and with the same classes.
    fn follow_logits(
        &self,
        logits: &LogitMachine,
        rows: &[u64],
        class: Option<&str>,
    ) -> Result<LogitMachine, EditError> {
        let mut machine = Evm::from(logits.machine.clone());
        let held = machine.held_sources();
        let rows: Vec<u64> = rows.iter().copied().filter(|row| held.contains(row)).collect();
        let whole = |machine: &Evm, rows: &[u64]| rows.len() == machine.extreme_vector_count();
        if !rows.is_empty() {
            let edit = match class {
                Some(class) => Edit::Relabel { rows, class: class.to_owned() },
                None if whole(&machine, &rows) => Edit::Unlearn { rows: rows[1..].to_vec() },
                None => Edit::Unlearn { rows },
            };
            machine.edit_with(self.run, &edit)?;
        }
        machine.machine.points_seen = self.model.machine.points_seen;
        for (number, class) in self.model.machine.classes.iter().enumerate() {
            if machine.class_index(&class.name).is_none() {
                self.learn_logits(logits, &mut machine, number)?;
            }
        }
        for name in machine.class_names() {
            if self.model.class_index(&name).is_none() {
                machine.forget_class_with(self.run, &name).map_err(EditError::from_forgetting)?;
            }
        }
        let order = |name: &str| self.model.class_index(name);
        machine.machine.classes.sort_by_key(|class| order(&class.name));
        machine.machine.cache = crate::machine::lookup::Cache::default();
        Ok(LogitMachine { projection: logits.projection.clone(), machine: machine.machine })
    }

    /// Has the machine over logits learn a class that it lacks, from the extreme vectors of the model.
    fn learn_logits(&self, logits: &LogitMachine, machine: &mut Evm, class: usize) -> Result<(), EditError> {
        let raw = self.raw_rows(class);
        let values: Vec<f32> = raw.iter().flat_map(|(_, _, values)| values).copied().collect();
        let features = Features::checked(values, self.model.machine.dimensions);
        let points = Points::prepare(&features, &self.model.machine.params.metric)?;
        let all: Vec<usize> = (0..points.len()).collect();
        let features = logits.projection.project(&points, &all);
        let points = machine.machine.query_points(&features)?;
        let rows = points.gather(&all);
        let rows = rows.chunks_exact(features.columns()).zip(&raw);
        let rows =
            rows.map(|(vector, (_, source, _))| MovingRow { vector: vector.to_vec(), source: *source });
        let name = self.model.machine.classes[class].name.clone();
        machine.insert(self.run, &name, &rows.collect::<Vec<_>>())
    }
}

impl Evm {
    /// Adds rows that are ready for the metric to a class, which may be new.
    fn insert(&mut self, run: &Run<'_>, class: &str, rows: &[MovingRow]) -> Result<(), EditError> {
        let mut editor = Editor::new(run, self);
        editor.join(class, rows)?;
        *self = editor.model;
        Ok(())
    }
}
