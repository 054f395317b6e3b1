//! `evmachine plot`

use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use clap::Args;
use evmachine::{Evm, FeatureError, Features, PredictError};
use evmachine_plot::{Picture, Plane, PointClass, Projection, plane, projection};

use crate::console::Console;
use crate::data::{DataArguments, Labelled};
use crate::failure::{Failure, Kind};
use crate::files;
use crate::model;
use crate::parameters::ParameterArguments;
use crate::{interrupt, principal};

/// Points drawn of each class; more would hide each other.
const SHOWN_PER_CLASS: usize = 400;

/// Draw a model or a data set
///
/// In two dimensions: the points, the extreme vectors and the contours of psi. In more: the two principal
/// components. A data set is trained on first; the parameters say how.
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
    let (evm, data) = if is_model(&arguments.input)? {
        (model::load(&arguments.input)?, None)
    } else {
        let params = arguments.parameters.build()?;
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
    let picture = if evm.dimensions() == 2 {
        contours(&evm, data.as_ref(), &unknown, &title)?
    } else {
        components(&evm, data.as_ref(), &unknown, &title)?
    };
    picture.save(&arguments.output)?;
    console.say(format!("picture written to {}", arguments.output.display()));
    Ok(())
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
        evm.decide_with(&interrupt::run(), &queries.features).map_err(|error| queries.failure(error))?;
    let unknown: Vec<usize> = (0..decisions.len()).filter(|&row| decisions[row].class().is_none()).collect();
    Ok(queries.features.select(&unknown))
}

/// By class, the rows to draw: of the data, or the extreme vectors.
fn points_by_class(evm: &Evm, data: Option<&Labelled>) -> Vec<(String, Vec<Vec<f32>>)> {
    let mut classes: Vec<(String, Vec<Vec<f32>>)> =
        evm.classes().map(|class| (class.name.to_owned(), Vec::new())).collect();
    match data {
        Some(data) => {
            for (row, &id) in data.labels.ids().iter().enumerate() {
                classes[id as usize].1.push(data.features.row(row).to_vec());
            }
        }
        None => {
            for vector in evm.extreme_vectors() {
                classes[vector.class].1.push(evm.in_feature_space(vector.vector));
            }
        }
    }
    for (_, rows) in &mut classes {
        let step = rows.len().div_ceil(SHOWN_PER_CLASS).max(1);
        *rows = rows.iter().step_by(step).cloned().collect();
    }
    classes
}

fn contours(
    evm: &Evm,
    data: Option<&Labelled>,
    unknown: &Features<'_>,
    title: &str,
) -> Result<Picture, Failure> {
    let pair = |row: &[f32]| [f64::from(row[0]), f64::from(row[1])];
    let classes: Vec<(String, Vec<[f64; 2]>)> = points_by_class(evm, data)
        .into_iter()
        .map(|(name, rows)| (name, rows.iter().map(|row| pair(row)).collect()))
        .collect();
    let classes: Vec<PointClass<'_>> =
        classes.iter().map(|(name, points)| PointClass { name, points }).collect();
    let vectors: Vec<[f64; 2]> =
        evm.extreme_vectors().map(|vector| pair(&evm.in_feature_space(vector.vector))).collect();
    let queries: Vec<[f64; 2]> = (0..unknown.rows()).map(|row| pair(unknown.row(row))).collect();
    let psi = |points: &[[f64; 2]]| psi(evm, points);
    Ok(plane(&Plane {
        title,
        x_label: data.map_or("x", |data| data.schema.feature_names[0].as_str()),
        y_label: data.map_or("y", |data| data.schema.feature_names[1].as_str()),
        classes: &classes,
        extreme_vectors: &vectors,
        queries: &queries,
        psi: Some(&psi),
        ..Plane::default()
    })?)
}

/// The largest psi at each point. One without a direction is far from all that have one.
fn psi(evm: &Evm, points: &[[f64; 2]]) -> Result<Vec<f64>, Box<dyn Error + Send + Sync>> {
    let values: Vec<f32> = points.iter().flatten().map(|&value| value as f32).collect();
    let grid = Features::new(values, 2)?;
    let mut asked: Vec<usize> = (0..points.len()).collect();
    let decisions = loop {
        match evm.decide_with(&interrupt::run(), &grid.select(&asked)) {
            Err(PredictError::Features(FeatureError::ZeroVector { row })) => drop(asked.remove(row)),
            other => break other?,
        }
    };
    let mut psi = vec![0.0; points.len()];
    for (point, decision) in asked.into_iter().zip(&decisions) {
        psi[point] = decision.probability();
    }
    Ok(psi)
}

fn components(
    evm: &Evm,
    data: Option<&Labelled>,
    unknown: &Features<'_>,
    title: &str,
) -> Result<Picture, Failure> {
    let classes = points_by_class(evm, data);
    let rows: Vec<f32> = classes.iter().flat_map(|(_, rows)| rows.iter().flatten().copied()).collect();
    let axes = principal::Plane::new(&Features::new(rows, evm.dimensions())?);
    let classes: Vec<(String, Vec<[f64; 2]>)> = classes
        .into_iter()
        .map(|(name, rows)| (name, rows.iter().map(|row| axes.project(row)).collect()))
        .collect();
    let classes: Vec<PointClass<'_>> =
        classes.iter().map(|(name, points)| PointClass { name, points }).collect();
    let unknowns: Vec<[f64; 2]> = (0..unknown.rows()).map(|row| axes.project(unknown.row(row))).collect();
    Ok(projection(&Projection {
        title,
        x_label: "first principal component",
        y_label: "second principal component",
        classes: &classes,
        unknowns: &unknowns,
    })?)
}
