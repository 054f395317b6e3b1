//! `/v1/predict`: decisions, and unknowns into the pool.

use std::sync::Arc;

use axum::extract::{FromRequest as _, State};
use axum::http::header;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evmachine::{
    Answer, Capture, EncoderError, Features, HeldReason, Prior, TrackAnswer, TrackError, TrackRule,
};
use evmachine_openworld::{NewSample, Outcome, Picture, SampleId};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::extract::{self, Query};
use crate::predictor::Decided;
use crate::problem::Problem;
use crate::recent::Answered;
use crate::rows::Matrix;
use crate::service::{Service, run_here};
use crate::table;

/// Kinds of pictures that are kept: those that a browser shows and that hold no script.
pub(crate) const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// Which rows go into the pool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Keep {
    /// Those that are unknown.
    #[default]
    Unknown,
    /// All of them.
    All,
    /// None.
    None,
}

/// A small picture.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPicture {
    /// One of image/png, image/jpeg, image/webp, image/gif.
    media_type: String,
    /// The file.
    base64: String,
}

/// Rows to decide on, and what to show of those that are kept.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PredictRequest)]
pub(crate) struct Request {
    /// One list of numbers for each row; null is a missing value.
    #[schema(value_type = Vec<Vec<Option<f32>>>)]
    pub(crate) features: Matrix,
    /// What rows are called; a row of a name that is there already is not kept again.
    #[serde(default)]
    pub(crate) ids: Option<Vec<Option<String>>>,
    /// Texts to show.
    #[serde(default)]
    pub(crate) texts: Option<Vec<Option<String>>>,
    /// Where the originals are.
    #[serde(default)]
    pub(crate) links: Option<Vec<Option<String>>>,
    /// Pictures to show.
    #[serde(default)]
    pub(crate) pictures: Option<Vec<Option<NewPicture>>>,
    /// The quality of each row, if the pool asks for one (`/v1/enrolment`): more is better.
    #[serde(default)]
    pub(crate) qualities: Option<Vec<Option<f64>>>,
    /// The occasion of each row, such as a session or a day.
    #[serde(default)]
    pub(crate) occasions: Option<Vec<Option<String>>>,
    /// The time of each row in seconds, from any start; the time at which it comes unless given.
    #[serde(default)]
    pub(crate) times: Option<Vec<Option<f64>>>,
    /// The track of each row: rows of one track get one answer together, in `tracks`, besides their own.
    #[serde(default)]
    pub(crate) tracks: Option<Vec<String>>,
    /// Which rows go into the pool.
    #[serde(default)]
    pub(crate) keep: Keep,
    /// The encoder of the rows, NAME or NAME@VERSION; refused if the live version has another one.
    #[serde(default)]
    pub(crate) encoder: Option<String>,
}

/// What the live version says of a row.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OneDecision {
    /// Its number, by which it can be asked about.
    pub(crate) decision: u64,
    /// P(known) is that if known and unknown rows come equally often.
    #[serde(flatten)]
    pub(crate) answer: Answer,
    /// The sample of the pool, where it was kept or had been.
    pub(crate) sample: Option<SampleId>,
    /// Why the rule of the pool did not take it in, where it was to be kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) held_back: Option<HeldReason>,
}

/// Decisions, one for each row.
#[derive(Debug, Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "clients know both by these names")]
pub(crate) struct Decisions {
    /// The version that decided.
    pub(crate) model: String,
    /// In the order of the rows.
    pub(crate) decisions: Vec<OneDecision>,
    /// In the order in which they first come, if the request names tracks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tracks: Option<Vec<TrackAnswer>>,
    /// What about the rows is unlike those of the live version's encoder, if anything is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) encoder_doubt: Option<String>,
}

fn column<T>(
    name: &str,
    values: Option<Vec<Option<T>>>,
    rows: usize,
) -> Result<impl Iterator<Item = Option<T>>, Problem> {
    let values = values.unwrap_or_default();
    if !values.is_empty() && values.len() != rows {
        let detail = format!("{} {name} for {rows} rows; give one for each row, or null", values.len());
        return Err(Problem::unsuitable(detail));
    }
    Ok(values.into_iter().chain(std::iter::repeat_with(|| None)).take(rows))
}

/// `row` counts from 1.
fn picture(row: usize, picture: NewPicture) -> Result<Picture, Problem> {
    let NewPicture { media_type, base64 } = picture;
    if !PICTURES.contains(&media_type.as_str()) {
        let detail = format!("row {row}: pictures are one of {}, not {media_type:?}", PICTURES.join(", "));
        return Err(Problem::unsuitable(detail));
    }
    let bytes = STANDARD
        .decode(base64)
        .map_err(|error| Problem::unsuitable(format!("row {row}: the picture is no base64: {error}")))?;
    match Picture::kind_of(&bytes) {
        Some(kind) if kind == media_type => Ok(Picture { media_type, bytes }),
        Some(kind) => Err(Problem::unsuitable(format!("row {row}: the picture is {kind}, not {media_type}"))),
        None => {
            Err(Problem::unsuitable(format!("row {row}: the picture does not begin as {media_type} does")))
        }
    }
}

/// What to show of each row.
fn details(request: &mut Request, rows: usize) -> Result<Vec<NewSample>, Problem> {
    let ids = column("ids", request.ids.take(), rows)?;
    let texts = column("texts", request.texts.take(), rows)?;
    let links = column("links", request.links.take(), rows)?;
    let pictures = column("pictures", request.pictures.take(), rows)?;
    let qualities = column("qualities", request.qualities.take(), rows)?;
    let occasions = column("occasions", request.occasions.take(), rows)?;
    let times = column("times", request.times.take(), rows)?;
    let captures = qualities.zip(occasions).zip(times);
    let captures = captures.map(|((quality, occasion), time)| Capture { quality, occasion, time });
    let shown = ids.zip(texts).zip(links).zip(pictures).zip(captures).enumerate();
    shown
        .map(|(row, ((((id, text), link), shown), capture))| {
            let picture = shown.map(|shown| picture(row + 1, shown)).transpose()?;
            Ok(NewSample { id: id.filter(|id| !id.is_empty()), text, link, picture, capture })
        })
        .collect()
}

/// Decides what a request asks for.
pub(crate) async fn decide(service: &Service, mut request: Request) -> Result<Decisions, Problem> {
    let matrix = std::mem::take(&mut request.features);
    if let Some(encoder) = &request.encoder {
        let encoder =
            encoder.parse().map_err(|error: EncoderError| Problem::unsuitable(error.to_string()))?;
        let checked = service.live.get().model.check_encoder(&encoder);
        checked.map_err(|error| Problem::unsuitable(error.to_string()))?;
    }
    let matrix = matrix.checked(&service.live.get().model, service.limits.rows)?;
    let details = details(&mut request, matrix.rows)?;
    let tracks = request.tracks.take();
    if let Some(tracks) = tracks.as_ref().filter(|tracks| tracks.len() != matrix.rows) {
        let detail = format!("{} tracks for {} rows; give one for each row", tracks.len(), matrix.rows);
        return Err(Problem::unsuitable(detail));
    }
    decide_rows(service, matrix, details, (request.keep, tracks)).await
}

/// Decides on rows that were checked, each with what is shown of it; keeps, and remembers.
pub(crate) async fn decide_rows(
    service: &Service,
    matrix: Matrix,
    mut details: Vec<NewSample>,
    (keep, tracks): (Keep, Option<Vec<String>>),
) -> Result<Decisions, Problem> {
    if matrix.rows == 0 {
        return Ok(Decisions {
            model: service.live.get().hash.clone(),
            decisions: Vec::new(),
            tracks: tracks.map(|_| Vec::new()),
            encoder_doubt: None,
        });
    }
    let decided = service.predictor.decide(matrix.values, matrix.rows).await?;
    let (live, columns) = (&decided.live, matrix.columns);
    let kept: Vec<usize> = match keep {
        Keep::None => Vec::new(),
        Keep::All => (0..matrix.rows).collect(),
        Keep::Unknown => {
            let unknown = |row: &usize| decided.decisions[*row].class().is_none();
            (0..matrix.rows).filter(unknown).collect()
        }
    };
    let mut samples: Vec<Option<SampleId>> = vec![None; matrix.rows];
    let mut held_back: Vec<Option<HeldReason>> = vec![None; matrix.rows];
    if !kept.is_empty() {
        let row = |row: usize| &decided.values[row * columns..(row + 1) * columns];
        let values = kept.iter().flat_map(|&at| row(at).iter().copied()).collect();
        let shown = kept.iter().map(|&row| details[row].clone()).collect();
        // What the client is told is what the pool is told; nobody decides twice.
        let decisions = kept.iter().map(|&row| decided.decisions[row]).collect();
        let outcomes = service.writer.add(values, shown, Some((live.hash.clone(), decisions))).await?;
        for (row, outcome) in kept.into_iter().zip(outcomes) {
            samples[row] = outcome.sample();
            if let Outcome::HeldBack(reason) = outcome {
                held_back[row] = Some(reason);
            }
        }
    }
    let answer = |decision| live.model.answer(decision, Prior::EVEN);
    service.metrics.decided(&decided.decisions);
    service.drift.observe(live, &decided.values, &decided.decisions);
    let first = service.recent.push((0..matrix.rows).map(|row| {
        let shown = std::mem::take(&mut details[row]);
        Answered {
            number: 0,
            time: 0,
            answer: answer(&decided.decisions[row]),
            sample: samples[row],
            id: shown.id,
            text: shown.text,
            model: live.hash.clone(),
            features: decided.values[row * columns..(row + 1) * columns].into(),
        }
    }));
    let rows = decided.decisions.iter().zip(first..).zip(&samples).zip(held_back);
    let decisions = rows.map(|(((decision, number), sample), held_back)| OneDecision {
        decision: number,
        answer: answer(decision),
        sample: *sample,
        held_back,
    });
    let (model, decisions) = (live.hash.clone(), decisions.collect());
    let features = Features::new(&decided.values[..], columns)?;
    let encoder_doubt = live.model.encoder_doubt(&features).map(|doubt| doubt.to_string());
    let tracks = match tracks {
        Some(tracks) => Some(service.blocking(move || answer_tracks(&decided, &tracks)).await?),
        None => None,
    };
    Ok(Decisions { model, decisions, tracks, encoder_doubt })
}

/// One answer for each track, by the model that decided on its rows.
fn answer_tracks(decided: &Decided, tracks: &[String]) -> Result<Vec<TrackAnswer>, Problem> {
    let model = &decided.live.model;
    let rows = Features::new(&decided.values, model.dimensions())?;
    let answers = model.decide_tracks_with(&run_here(), &TrackRule::of(model), &rows, tracks);
    let answers = answers.map_err(|error| match error {
        TrackError::Run(error) => error.into(),
        other => Problem::unsuitable(other.to_string()),
    })?;
    Ok(answers.iter().map(|(track, decision)| model.track_answer(track, decision)).collect())
}

/// For bodies that are files, which cannot say so themselves.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeepQuery {
    /// Which rows go into the pool; JSON bodies say it themselves.
    #[param(inline)]
    keep: Option<Keep>,
}

/// Decide on rows, and keep those that are unknown
///
/// The body is JSON, or a file: a two-dimensional array in the format of NumPy, or an Arrow stream, whose columns are found by the names
/// of the model's features where both have names.
#[utoipa::path(
    post,
    path = "/v1/predict",
    tag = "decisions",
    params(KeepQuery),
    request_body(content(
        (Request = "application/json"),
        (Vec<u8> = "application/x-npy"),
        (Vec<u8> = "application/vnd.apache.arrow.stream")
    )),
    responses((status = 200, body = Decisions), (status = "4XX", body = Problem))
)]
pub(crate) async fn predict(
    State(service): State<Arc<Service>>,
    Query(KeepQuery { keep }): Query<KeepQuery>,
    request: axum::extract::Request,
) -> Result<axum::Json<Decisions>, Problem> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let format = kind.and_then(|kind| table::format(kind.split(';').next().unwrap_or_default().trim()));
    let asked = match format {
        None => {
            let extract::Json(mut asked) = extract::Json::<Request>::from_request(request, &()).await?;
            asked.keep = keep.unwrap_or(asked.keep);
            asked
        }
        Some(format) => {
            let body = extract::body(request).await?;
            let (live, limit) = (service.live.get(), service.limits.rows);
            let features = service.blocking(move || table::read(&live.model, format, &body, limit)).await?;
            let keep = keep.unwrap_or_default();
            Request {
                features,
                ids: None,
                texts: None,
                links: None,
                pictures: None,
                qualities: None,
                occasions: None,
                times: None,
                tracks: None,
                keep,
                encoder: None,
            }
        }
    };
    decide(&service, asked).await.map(axum::Json)
}
