//! `/v1/explain`: why a row was decided as it was, and what it rests on.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use evmachine::{Evm, Features};
use evmachine_openworld::SampleId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::bounded::bounded;
use crate::extract;
use crate::problem::Problem;
use crate::rows::Matrix;
use crate::service::Service;

/// Classes that an explanation names.
const CLASSES: usize = 5;

/// One of: a row, a decision that was answered, a sample of the pool.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    features: Option<Vec<f32>>,
    decision: Option<u64>,
    sample: Option<SampleId>,
}

/// Why, by the live version.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Reasons {
    /// The class; null is unknown.
    class: Option<String>,
    known: bool,
    /// How far the best class lies above the threshold, which is what to act on: known at 0 and above.
    support: f64,
    /// The share of known queries that score no higher; null without calibration.
    p_value: Option<f64>,
    /// Psi of the best class, the paper's probability.
    psi: f64,
    /// The classes that come nearest, best first.
    classes: Vec<Evidence>,
    because: Because,
    /// What would be said without that row.
    without: Without,
    /// The nearest sample that is to stay a stranger, where there is any.
    ignored_near: Option<IgnoredNear>,
    /// The version that is asked.
    model: String,
}

/// What a class has to say.
#[derive(Debug, Serialize, ToSchema)]
struct Evidence {
    name: String,
    /// How far it lies above the threshold.
    support: f64,
    psi: f64,
    /// Distance to the extreme vector that speaks loudest.
    distance: f64,
}

/// The training row that carries the decision.
#[derive(Debug, Serialize, ToSchema)]
struct Because {
    class: String,
    row: Row,
    distance: f64,
    psi: f64,
}

/// A training row.
#[derive(Debug, Serialize, ToSchema)]
struct Row {
    /// Counted from 0 over all rows that the model was ever given.
    source: u64,
    /// Its number in the file or pool that it came from.
    number: u64,
    id: Option<String>,
    /// What was learned together with it.
    batch: Option<String>,
    /// When it was learned, in seconds since 1970.
    time: Option<i64>,
}

impl Row {
    fn new(model: &Evm, source: u64) -> Self {
        let origin = model.origin(source);
        Self {
            source,
            number: origin.number,
            id: origin.id.map(str::to_owned),
            batch: origin.batch_name.map(str::to_owned),
            time: origin.time,
        }
    }
}

/// A decision.
#[derive(Debug, Serialize, ToSchema)]
struct Without {
    class: Option<String>,
    known: bool,
    best: String,
    /// How far that class lies above the threshold.
    support: f64,
    psi: f64,
}

/// A stranger that stays one.
#[derive(Debug, Serialize, ToSchema)]
struct IgnoredNear {
    number: u64,
    id: Option<String>,
    distance: f64,
    /// Whether it is nearer than everything known, which makes the query unknown.
    decides: bool,
}

/// The row that is asked about.
pub(crate) async fn row(
    service: &Service,
    features: Option<Vec<f32>>,
    decision: Option<u64>,
    sample: Option<SampleId>,
) -> Result<Vec<f32>, Problem> {
    match (features, decision, sample) {
        (Some(values), None, None) => {
            let columns = values.len();
            let matrix = Matrix { values, rows: 1, columns };
            Ok(matrix.checked(&service.live.get().model, 1)?.values)
        }
        (None, Some(number), None) => {
            let found = service.recent.find(number);
            let gone = || Problem::not_found(format!("decision {number} is not among the last any more"));
            Ok(found.ok_or_else(gone)?.features.into_vec())
        }
        (None, None, Some(sample)) => {
            Ok(service.reader.call(move |pool| pool.sample(sample)).await?.features)
        }
        _ => Err(Problem::unsuitable("name one of `features`, `decision` and `sample`")),
    }
}

/// Why a row is decided as it is, which training row carries that, and what would be said without it
#[utoipa::path(
    post,
    path = "/v1/explain",
    tag = "decisions",
    request_body = Asked,
    responses((status = 200, body = Reasons), (status = "4XX", body = Problem))
)]
pub(crate) async fn explain(
    State(service): State<Arc<Service>>,
    extract::Json(Asked { features, decision, sample }): extract::Json<Asked>,
) -> Result<Json<Reasons>, Problem> {
    let values = row(&service, features, decision, sample).await?;
    let live = service.live.get();
    service.blocking(move || reasons(&live.hash, &live.model, values)).await.map(Json)
}

fn reasons(hash: &str, model: &Evm, values: Vec<f32>) -> Result<Reasons, Problem> {
    let features = Features::new(values, model.dimensions())?;
    let explanation = model.explain(&features, CLASSES)?.remove(0);
    let supports = model.class_supports(&features)?;
    let doubt = model.doubt(&features)?.remove(0);
    let name = |class: usize| model.class_name(class).to_owned();
    let classes = explanation.classes.iter().map(|evidence| Evidence {
        name: name(evidence.class),
        support: bounded(supports[evidence.class]),
        psi: evidence.probability,
        distance: evidence.speakers.first().map_or(f64::MAX, |speaker| speaker.distance),
    });
    let decision = doubt.decision;
    Ok(Reasons {
        class: decision.class().map(name),
        known: decision.class().is_some(),
        support: bounded(decision.support()),
        p_value: decision.p_value(),
        psi: decision.psi(),
        classes: classes.collect(),
        because: Because {
            class: name(decision.best()),
            row: Row::new(model, doubt.carrier.source),
            distance: doubt.carrier.distance,
            psi: doubt.carrier.psi,
        },
        without: Without {
            class: doubt.without.class().map(name),
            known: doubt.without.class().is_some(),
            best: name(doubt.without.best()),
            support: bounded(doubt.without.support()),
            psi: doubt.without.psi(),
        },
        ignored_near: explanation.ignored.map(|near| {
            let origin = model.origin(near.source);
            IgnoredNear {
                number: origin.number,
                id: origin.id.map(str::to_owned),
                distance: near.distance,
                decides: near.decides,
            }
        }),
        model: hash.to_owned(),
    })
}
