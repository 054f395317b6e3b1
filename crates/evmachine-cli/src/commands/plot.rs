//! `evmachine plot`

use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use clap::Args;
use evmachine::{Evm, FeatureError, Features, Metric, Run, RunError};
use evmachine_console::console::Console;
use evmachine_console::data::{DataArguments, Labelled};
use evmachine_console::failure::{Failure, Kind};
use evmachine_plot::{Picture, Plane, PointClass, Projection, plane, projection};

use crate::failure::OrFail;
use crate::parameters::ParameterArguments;
use crate::picture::{self, Letters};
use crate::{files, model};

/// Points drawn of each class; more would hide each other.
const SHOWN_PER_CLASS: usize = 400;

/// Draw a model or a data set
///
/// In two dimensions: the points, the extreme vectors and the contours of psi. In more: the two principal
/// components. A data set is trained on first; the parameters say how. By cosine, all is drawn at unit length.
///
/// Example: evmachine plot letters.csv --label 0 -o letters.png
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A model file, or labelled data.
    input: PathBuf,

    /// The picture to write, .png or .svg.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Rows to mark where the model calls them unknown.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,

    /// The title of the picture.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    #[command(flatten)]
    columns: DataArguments,

    #[command(flatten)]
    parameters: ParameterArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    files::refuse_over(&arguments.output, from_ref(&arguments.input).iter().chain(&arguments.queries))?;
    files::refuse_nowhere(&arguments.output)?;
    let (evm, data) = if is_model(&arguments.input)? {
        arguments.refuse_idle()?;
        (model::load(&arguments.input)?, None)
    } else {
        let params = arguments.parameters.build(console)?;
        let columns = arguments.columns.learned_with(&params);
        let data = columns.read_labelled(console, from_ref(&arguments.input), None)?;
        let progress = console.progress();
        let run = console.run(&progress);
        let (evm, _) = Evm::fit_with(&run, &params, &data.features, &data.labels)
            .map_err(|error| data.failure(error))?;
        (evm, Some(data))
    };
    let unknown = match &arguments.queries {
        Some(path) => unknowns(arguments, console, &evm, path)?,
        None => Features::new(Vec::new(), evm.dimensions())?,
    };
    let name =
        arguments.input.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let title = arguments.title.clone().unwrap_or(name);
    let mut letters = Letters::new(&arguments.output);
    let drawn = Drawn {
        run: console.quiet_run(),
        evm: &evm,
        data: data.as_ref(),
        unknown: &unknown,
        title: letters.drawn(&title),
    };
    let picture =
        if evm.dimensions() == 2 { drawn.contours(&mut letters)? } else { drawn.components(&mut letters)? };
    picture::save(console, &picture, &arguments.output)?;
    letters.warn(console);
    Ok(())
}

impl Arguments {
    /// A model is drawn as it is, and has nothing to do with flags about training or, without queries, about data.
    fn refuse_idle(&self) -> Result<(), Failure> {
        let columns = &self.columns;
        let names_columns = columns.label.is_some()
            || columns.id.is_some()
            || columns.labels_file.is_some()
            || columns.format.is_some()
            || columns.skip_bad_rows
            || !columns.features.is_empty()
            || !columns.drop.is_empty();
        let idle = if self.parameters != ParameterArguments::default() {
            "parameters say how data is trained on"
        } else if names_columns && self.queries.is_none() {
            "flags about columns are for data, or for --queries"
        } else {
            return Ok(());
        };
        let message = format!("{} is a model; {idle}", self.input.display());
        Err(Failure::new(Kind::Usage, message)
            .hint("leave them out, or plot the data the model was trained on"))
    }
}

/// Whether a file is a model, by the JSON header that safetensors begin with.
fn is_model(path: &Path) -> Result<bool, Failure> {
    let failed = |error: std::io::Error| Failure::new(Kind::Data, error.to_string()).about(path.display());
    let mut start = Vec::new();
    File::open(path).map_err(failed)?.take(9).read_to_end(&mut start).map_err(failed)?;
    Ok(start.len() == 9 && start[8] == b'{' && start[4..8] == [0; 4])
}

/// The rows that the model calls unknown. They may have the label column of the data, or none.
fn unknowns(
    arguments: &Arguments,
    console: &Console,
    evm: &Evm,
    path: &PathBuf,
) -> Result<Features<'static>, Failure> {
    let queries = arguments.columns.read_unlabelled(console, from_ref(path), Some(evm))?;
    let decisions =
        evm.decide_with(&console.quiet_run(), &queries.features).map_err(|error| queries.failure(error))?;
    let unknown: Vec<usize> = (0..decisions.len()).filter(|&row| decisions[row].class().is_none()).collect();
    Ok(queries.features.select(&unknown))
}

/// What is in a picture.
struct Drawn<'a> {
    run: Run<'a>,
    evm: &'a Evm,
    data: Option<&'a Labelled>,
    unknown: &'a Features<'a>,
    title: String,
}

/// A class and where its points are.
type Class = (String, Vec<[f64; 2]>);

impl Drawn<'_> {
    /// As the metric sees it: of unit length by cosine.
    fn seen(&self, row: &[f32]) -> Vec<f32> {
        let squared: f64 = row.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
        match self.evm.params().metric {
            Metric::Cosine if squared > 0.0 => {
                row.iter().map(|&value| (f64::from(value) / squared.sqrt()) as f32).collect()
            }
            _ => row.to_vec(),
        }
    }

    fn extreme_vectors(&self) -> impl Iterator<Item = (usize, Vec<f32>)> {
        let vectors = self.evm.extreme_vectors();
        vectors.map(|vector| (vector.class, self.seen(&self.evm.in_feature_space(vector.vector))))
    }

    /// By class, the rows to draw: of the data, or the extreme vectors.
    fn rows_by_class(&self) -> Vec<(&str, Vec<Vec<f32>>)> {
        let mut classes: Vec<(&str, Vec<Vec<f32>>)> =
            self.evm.classes().map(|class| (class.name, Vec::new())).collect();
        match self.data {
            Some(data) => {
                for (row, &id) in data.labels.ids().iter().enumerate() {
                    classes[id as usize].1.push(self.seen(data.features.row(row)));
                }
            }
            None => self.extreme_vectors().for_each(|(class, vector)| classes[class].1.push(vector)),
        }
        for (_, rows) in &mut classes {
            let step = rows.len().div_ceil(SHOWN_PER_CLASS).max(1);
            *rows = rows.iter().step_by(step).cloned().collect();
        }
        classes
    }

    fn unknown(&self) -> impl Iterator<Item = Vec<f32>> {
        (0..self.unknown.rows()).map(|row| self.seen(self.unknown.row(row)))
    }

    fn contours(&self, letters: &mut Letters) -> Result<Picture, Failure> {
        let pair = |row: &[f32]| [f64::from(row[0]), f64::from(row[1])];
        let classes: Vec<Class> = (self.rows_by_class().into_iter())
            .map(|(name, rows)| (letters.drawn(name), rows.iter().map(|row| pair(row)).collect()))
            .collect();
        let vectors: Vec<[f64; 2]> = self.extreme_vectors().map(|(_, vector)| pair(&vector)).collect();
        let queries: Vec<[f64; 2]> = self.unknown().map(|row| pair(&row)).collect();
        let psi = |points: &[[f64; 2]]| psi(&self.run, self.evm, points);
        let unit = if self.evm.params().metric == Metric::Cosine { ", unit length" } else { "" };
        let names: Option<&[String]> = self.data.map(|data| data.schema.feature_names.as_slice());
        let axis = |column: usize, otherwise| {
            let name = names.and_then(|names| names.get(column)).map_or(otherwise, String::as_str);
            format!("{name}{unit}")
        };
        plane(&Plane {
            title: &self.title,
            x_label: &letters.drawn(&axis(0, "x")),
            y_label: &letters.drawn(&axis(1, "y")),
            classes: &point_classes(&classes),
            extreme_vectors: &vectors,
            queries: &queries,
            psi: Some(&psi),
            ..Plane::default()
        })
        .or_fail()
    }

    fn components(&self, letters: &mut Letters) -> Result<Picture, Failure> {
        let classes = self.rows_by_class();
        let rows: Vec<f32> = classes.iter().flat_map(|(_, rows)| rows.iter().flatten().copied()).collect();
        let axes = evmachine_openworld::Plane::new(&Features::new(rows, self.evm.dimensions())?);
        let classes: Vec<Class> = classes
            .into_iter()
            .map(|(name, rows)| (letters.drawn(name), rows.iter().map(|row| axes.project(row)).collect()))
            .collect();
        let unknowns: Vec<[f64; 2]> = self.unknown().map(|row| axes.project(&row)).collect();
        projection(&Projection {
            title: &self.title,
            x_label: "first principal component",
            y_label: "second principal component",
            classes: &point_classes(&classes),
            unknowns: &unknowns,
        })
        .or_fail()
    }
}

fn point_classes(classes: &[Class]) -> Vec<PointClass<'_>> {
    classes.iter().map(|(name, points)| PointClass { name, points }).collect()
}

/// The largest psi at each point. One without a direction is far from all that have one.
fn psi(run: &Run<'_>, evm: &Evm, points: &[[f64; 2]]) -> Result<Vec<f64>, Box<dyn Error + Send + Sync>> {
    let values: Vec<f32> = points.iter().flatten().map(|&value| value as f32).collect();
    let grid = Features::new(values, 2)?;
    let mut asked: Vec<usize> = (0..points.len()).collect();
    let decisions = loop {
        match evm.decide_with(run, &grid.select(&asked)) {
            Err(RunError::Features(FeatureError::ZeroVector { row })) => drop(asked.remove(row)),
            other => break other?,
        }
    };
    let mut psi = vec![0.0; points.len()];
    for (point, decision) in asked.into_iter().zip(&decisions) {
        psi[point] = decision.psi();
    }
    Ok(psi)
}
