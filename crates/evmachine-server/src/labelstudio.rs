//! An ML backend for Label Studio: tasks whose data has `features` are decided, and what is annotated there becomes answers
//! here.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use evmachine_openworld::{Answer, NewSample, StoreError, Target};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use crate::extract;
use crate::guard::Caller;
use crate::problem::Problem;
use crate::rows::Matrix;
use crate::service::{Service, run_here};
use crate::v1::predict::{self, Keep};

/// Whether it answers.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BackendHealth {
    status: &'static str,
    model_class: &'static str,
}

/// Whether the backend answers
#[utoipa::path(get, path = "/labelstudio/health", tag = "label studio", security(()), responses((status = 200, body = BackendHealth)))]
pub(crate) async fn health() -> Json<BackendHealth> {
    Json(BackendHealth { status: "UP", model_class: "evmachine" })
}

/// The version that answers.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Version {
    model_version: String,
}

/// Label Studio introduces a project
#[utoipa::path(
    post,
    path = "/labelstudio/setup",
    tag = "label studio",
    request_body = Object,
    responses((status = 200, body = Version))
)]
pub(crate) async fn setup(
    State(service): State<Arc<Service>>,
    extract::Json(_project): extract::Json<Value>,
) -> Json<Version> {
    Json(Version { model_version: service.live.get().hash.clone() })
}

/// What is to be labelled.
#[derive(Debug, Deserialize, ToSchema)]
struct Task {
    id: Option<i64>,
    data: Data,
}

#[derive(Debug, Deserialize, ToSchema)]
struct Data {
    /// The vector; tasks without it cannot be decided.
    features: Option<Vec<f32>>,
    text: Option<String>,
}

/// Tasks to decide on.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Tasks {
    tasks: Vec<Task>,
    /// The project's configuration: the first `Choices` in it gets the class.
    label_config: Option<String>,
}

/// One prediction for each task.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Predictions {
    #[schema(value_type = Vec<Object>)]
    results: Vec<Value>,
    model_version: String,
}

fn name_of(task: i64) -> String {
    format!("label studio task {task}")
}

/// `name` and `toName` of the first `Choices` of a configuration.
fn choices(config: &str) -> Option<(String, String)> {
    let tag = config.split_once("<Choices")?.1.split_once('>')?.0;
    let attribute = |name: &str| {
        let mut rest = tag;
        loop {
            let at = rest.find(name)?;
            let begins = rest[..at].ends_with(char::is_whitespace);
            let value = rest[at + name.len()..].trim_start();
            rest = &rest[at + name.len()..];
            if let Some(value) = value.strip_prefix('=').filter(|_| begins) {
                let value = value.trim_start();
                let quote = value.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
                return Some(value[1..].split_once(quote)?.0.to_owned());
            }
        }
    };
    Some((attribute("name")?, attribute("toName")?))
}

/// Decide on tasks, and keep those that are unknown
#[utoipa::path(
    post,
    path = "/labelstudio/predict",
    tag = "label studio",
    request_body = Tasks,
    responses((status = 200, body = Predictions), (status = "4XX", body = Problem))
)]
pub(crate) async fn predict(
    State(service): State<Arc<Service>>,
    extract::Json(Tasks { tasks, label_config }): extract::Json<Tasks>,
) -> Result<Json<Predictions>, Problem> {
    let config = label_config.unwrap_or_default();
    let (from, to) = choices(&config).unwrap_or_else(|| ("label".to_owned(), "text".to_owned()));
    let mut features = Matrix::default();
    let (mut ids, mut texts) = (Vec::new(), Vec::new());
    for (number, task) in tasks.into_iter().enumerate() {
        let missing =
            || Problem::unsuitable(format!("task {} has no list of numbers in data.features", number + 1));
        let row = task.data.features.ok_or_else(missing)?;
        if features.rows > 0 && row.len() != features.columns {
            let detail = format!(
                "task {} has {} features and those before it {}",
                number + 1,
                row.len(),
                features.columns
            );
            return Err(Problem::unsuitable(detail));
        }
        features.columns = row.len();
        features.rows += 1;
        features.values.extend(row);
        ids.push(task.id.map(name_of));
        texts.push(task.data.text);
    }
    let (ids, texts) = (Some(ids), Some(texts));
    let request = predict::Request {
        features,
        ids,
        texts,
        links: None,
        pictures: None,
        qualities: None,
        occasions: None,
        times: None,
        tracks: None,
        keep: Keep::Unknown,
        encoder: None,
    };
    let decided = predict::decide(&service, request).await?;
    let results = decided.decisions.iter().map(|decision| {
        // What is unknown is left to the person.
        let result: Vec<Value> = decision.answer.class.iter().map(|class| {
            json!({ "from_name": from, "to_name": to, "type": "choices", "value": { "choices": [class] } })
        }).collect();
        // Label Studio takes a score between 0 and 1.
        let score = decision.answer.p_value.unwrap_or(decision.answer.psi);
        json!({ "result": result, "score": score, "model_version": decided.model })
    });
    Ok(Json(Predictions { results: results.collect(), model_version: decided.model.clone() }))
}

/// What happened in Label Studio.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Happening {
    action: String,
    task: Option<Task>,
    #[schema(value_type = Object)]
    annotation: Option<Value>,
}

/// What was made of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Taken {
    /// The event here, where there is one.
    event: Option<i64>,
}

/// How the names of a project are taken.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Names {
    /// Whether a name may be a class that is not there yet and whose name is close to that of another.
    #[serde(default)]
    new_class: bool,
}

/// The one choice of an annotation.
fn choice(annotation: &Value) -> Option<&str> {
    let results = annotation.get("result")?.as_array()?;
    let mut chosen =
        results.iter().filter_map(|result| result.get("value")?.get("choices")?.get(0)?.as_str());
    chosen.next()
}

/// Take what was annotated in Label Studio
///
/// An annotation that was created or updated names its task. The name may be a new class; if it looks like a typing error for
/// another, it needs `?new_class=true` at the end of the webhook's address. All else changes nothing.
#[utoipa::path(
    post,
    path = "/labelstudio/webhook",
    tag = "label studio",
    params(Names),
    request_body = Happening,
    responses((status = 200, body = Taken), (status = "4XX", body = Problem))
)]
pub(crate) async fn webhook(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Query(Names { new_class }): extract::Query<Names>,
    extract::Json(Happening { action, task, annotation }): extract::Json<Happening>,
) -> Result<Json<Taken>, Problem> {
    let label = annotation.as_ref().and_then(choice).map(str::to_owned);
    let (Some(task), Some(label), "ANNOTATION_CREATED" | "ANNOTATION_UPDATED") =
        (task, label, action.as_str())
    else {
        return Ok(Json(Taken { event: None }));
    };
    let Some((id, row)) = task.id.zip(task.data.features) else { return Ok(Json(Taken { event: None })) };
    // Before the sample is taken in: a name that is refused leaves nothing behind.
    let label = service
        .writer
        .call(move |pool| {
            pool.check_label(&label, new_class)?;
            Ok(label)
        })
        .await?;
    let columns = row.len();
    let matrix = Matrix { values: row, rows: 1, columns }.checked(&service.live.get().model, 1)?;
    let shown = NewSample { id: Some(name_of(id)), text: task.data.text, ..NewSample::default() };
    let outcomes = service.writer.add(matrix.values, vec![shown], None).await?;
    let author = caller.name.is_none().then(|| "label studio".to_owned());
    let person = caller.person(author)?;
    let event = service
        .writer
        .call(move |pool| {
            let samples: Vec<i64> =
                outcomes.iter().filter_map(evmachine_openworld::Outcome::sample).collect();
            // The rule of the pool holds it back; sent again and again, it would be so again.
            if samples.is_empty() {
                return Ok(None);
            }
            match pool.answer(
                &run_here(),
                &Target::Samples(&samples),
                Answer::Label(&label),
                person.as_deref(),
            ) {
                Ok((event, _)) => Ok(Some(event)),
                // It was learned as what it was named first; Label Studio is not to send it again and again.
                Err(StoreError::AlreadyLearned { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        })
        .await?;
    Ok(Json(Taken { event }))
}

#[cfg(test)]
mod tests {
    use super::choices;

    #[test]
    fn the_first_choices_are_found() {
        let config = "<View><Text name=\"t\" value=\"$text\"/><Choices toName='t' name=\"kind\"><Choice value=\"a\"/></Choices></View>";
        assert_eq!(choices(config), Some(("kind".to_owned(), "t".to_owned())));
        assert_eq!(choices("<View/>"), None);
        assert_eq!(choices("<Choices name=\"x\">"), None);
    }
}
