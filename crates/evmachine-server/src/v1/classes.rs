//! `/v1/classes`: the classes of the live version, what each is made of, and corrections of them.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use evmachine::{Edit, Evm, Features, class_name};
use evmachine_openworld::{EventId, Pool, StoreError};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::extract::{self, Query};
use crate::guard::Caller;
use crate::problem::Problem;
use crate::service::Service;
use crate::v1::corrections;
use crate::v1::training::ShownRow;

/// Rows of a class that are given at once at most.
const MOST: usize = 500;

/// A class of the live version.
#[derive(Debug, Serialize, ToSchema)]
struct ClassSize {
    name: String,
    /// Rows of it that the version holds: its extreme vectors.
    vectors: usize,
    /// Samples of the pool that were named so, learned or not.
    samples: u64,
    /// Those of them that the version has not learned.
    to_learn: u64,
}

/// The classes of the live version.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClassSizes {
    /// In the order in which they were learned.
    classes: Vec<ClassSize>,
}

/// The classes, and how much there is of each
#[utoipa::path(get, path = "/v1/classes", tag = "classes", responses((status = 200, body = ClassSizes)))]
pub(crate) async fn list(State(service): State<Arc<Service>>) -> Result<Json<ClassSizes>, Problem> {
    let live = service.live.get();
    let (labels, to_learn) = service.reader.call(|pool| Ok((pool.labels()?, pool.to_learn()?))).await?;
    let classes = live.model.classes().map(|class| {
        let is_own = |label: &Option<String>| label.as_deref() == Some(class.name);
        ClassSize {
            name: class.name.to_owned(),
            vectors: class.extreme_vectors,
            samples: labels.get(class.name).copied().unwrap_or(0),
            to_learn: to_learn.iter().filter(|answered| is_own(&answered.label)).count() as u64,
        }
    });
    Ok(Json(ClassSizes { classes: classes.collect() }))
}

/// A row of a class, and whether others doubt it.
#[derive(Debug, Serialize, ToSchema)]
struct ClassRow {
    #[serde(flatten)]
    row: ShownRow,
    /// The class that would have it if this row were silent, if that is another: the label is worth a look.
    claimed_by: Option<String>,
    /// Whether it would be unknown if this row were silent: nothing of its class is near.
    alone: bool,
}

/// What a class is made of.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClassRows {
    class: String,
    /// Rows that the version holds of it.
    vectors: usize,
    /// The first of them, those first that cover most.
    rows: Vec<ClassRow>,
    /// The version that holds them.
    model: String,
}

/// Which class is asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowsQuery {
    /// The class.
    class: String,
    /// At most so many rows.
    #[serde(default = "hundred")]
    #[param(default = 100, maximum = 500)]
    count: usize,
}

fn hundred() -> usize {
    100
}

/// What is said of rows without themselves: which class claims each, and whether none does.
fn judged(model: &Evm, class: usize, rows: &[ShownRow]) -> Result<Vec<(Option<String>, bool)>, Problem> {
    let values: Vec<f32> = rows.iter().flat_map(|row| row.features.iter().copied()).collect();
    let doubts = model.doubt(&Features::new(values, model.dimensions())?)?;
    let judged = rows.iter().zip(doubts).map(|(row, doubt)| {
        // Where another row carries it, the class does not rest on this one.
        let said = if doubt.because.source == row.row.source { doubt.without } else { doubt.decision };
        let other = said.class().filter(|other| *other != class);
        (other.map(|other| model.class_name(other).to_owned()), said.class().is_none())
    });
    Ok(judged.collect())
}

fn no_class(class: &str) -> Problem {
    Problem::not_found(format!("the live version has no class {class:?}; GET /v1/classes lists them"))
}

/// The rows that a class is made of, and which of them are in doubt
#[utoipa::path(
    get,
    path = "/v1/classes/rows",
    tag = "classes",
    params(RowsQuery),
    responses((status = 200, body = ClassRows), (status = "4XX", body = Problem))
)]
pub(crate) async fn rows(
    State(service): State<Arc<Service>>,
    Query(RowsQuery { class, count }): Query<RowsQuery>,
) -> Result<Json<ClassRows>, Problem> {
    let live = service.live.get();
    let at = live.model.class_index(&class).ok_or_else(|| no_class(&class))?;
    let vectors = live.model.classes().nth(at).map_or(0, |class| class.extreme_vectors);
    let hash = live.hash.clone();
    let count = count.min(MOST);
    let (model, name) = (live.model.clone(), class.clone());
    let shown = service
        .reader
        .call(move |pool: &mut Pool| {
            let held = model.extreme_vectors().filter(|vector| vector.class == at).take(count);
            let shown = held.map(|vector| {
                let place = model.in_feature_space(vector.vector);
                ShownRow::of(pool, name.clone(), model.origin(vector.source).into(), place)
            });
            shown.collect::<Result<Vec<_>, StoreError>>()
        })
        .await?;
    let rows = service
        .blocking(move || {
            let judged = judged(&live.model, at, &shown)?;
            let rows = shown.into_iter().zip(judged);
            Ok(rows.map(|(row, (claimed_by, alone))| ClassRow { row, claimed_by, alone }).collect())
        })
        .await?;
    Ok(Json(ClassRows { class, vectors, rows, model: hash }))
}

/// Another name for a class.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToRename {
    class: String,
    /// A name that no class has.
    to: String,
    /// Who says so, where the server asks for no key; with a key it is the owner.
    person: Option<String>,
}

/// Two classes that are one.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToMerge {
    /// The class that ends.
    class: String,
    /// The one that takes its rows.
    into: String,
    /// Who says so, where the server asks for no key; with a key it is the owner.
    person: Option<String>,
}

/// Rows that are of another class.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToMove {
    /// The rows, by `source`.
    rows: Vec<u64>,
    /// Their class from now on.
    to: String,
    /// Whether it may be one that is not there yet and whose name is close to that of another.
    #[serde(default)]
    new_class: bool,
    /// Who says so, where the server asks for no key; with a key it is the owner.
    person: Option<String>,
}

/// A class that is to go.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToRemove {
    class: String,
    /// Who says so, where the server asks for no key; with a key it is the owner.
    person: Option<String>,
}

/// What was done.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Edited {
    /// The event, which can be undone.
    event: EventId,
    /// The version that is live now.
    version: String,
}

/// Makes a correction, if no labels of these classes wait to be learned.
async fn make(
    service: &Arc<Service>,
    edit: Edit,
    classes: Vec<String>,
    description: String,
    person: Option<String>,
) -> Result<Json<Edited>, Problem> {
    let check = move |pool: &mut Pool| classes.iter().try_for_each(|class| pool.refuse_unlearned(class));
    service.reader.call(check).await?;
    let taken = corrections::edited(service, edit, description, person).await?;
    Ok(Json(Edited { event: taken.event, version: taken.version }))
}

fn check_name(name: &str) -> Result<(), Problem> {
    class_name::check(name).map_err(|error| StoreError::from(error).into())
}

/// Give a class another name: a new version, live at once
#[utoipa::path(
    post,
    path = "/v1/classes/rename",
    tag = "classes",
    request_body = ToRename,
    responses((status = 200, body = Edited), (status = "4XX", body = Problem))
)]
pub(crate) async fn rename(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(ToRename { class, to, person }): extract::Json<ToRename>,
) -> Result<Json<Edited>, Problem> {
    let person = caller.person(person)?;
    check_name(&to)?;
    let model = service.live.get().model.clone();
    model.class_index(&class).ok_or_else(|| no_class(&class))?;
    if model.class_index(&to).is_some() {
        let detail = format!("{to:?} is a class already; POST /v1/classes/merge makes one class of two");
        return Err(Problem::conflict(detail));
    }
    let words = format!("{class} renamed {to}");
    make(&service, Edit::Rename { class: class.clone(), to }, vec![class], words, person).await
}

/// Make one class of two: a new version, live at once
#[utoipa::path(
    post,
    path = "/v1/classes/merge",
    tag = "classes",
    request_body = ToMerge,
    responses((status = 200, body = Edited), (status = "4XX", body = Problem))
)]
pub(crate) async fn merge(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(ToMerge { class, into, person }): extract::Json<ToMerge>,
) -> Result<Json<Edited>, Problem> {
    let person = caller.person(person)?;
    let model = service.live.get().model.clone();
    for name in [&class, &into] {
        model.class_index(name).ok_or_else(|| no_class(name))?;
    }
    let words = format!("{class} merged into {into}");
    make(&service, Edit::Merge { class: class.clone(), into }, vec![class], words, person).await
}

/// Move rows to another class, or split them off as a new one: a new version, live at once
#[utoipa::path(
    post,
    path = "/v1/classes/move",
    tag = "classes",
    request_body = ToMove,
    responses((status = 200, body = Edited), (status = "4XX", body = Problem))
)]
pub(crate) async fn move_rows(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(ToMove { rows, to, new_class, person }): extract::Json<ToMove>,
) -> Result<Json<Edited>, Problem> {
    let person = caller.person(person)?;
    if rows.is_empty() {
        return Err(Problem::unsuitable("name at least one row, by its `source`"));
    }
    let to = service.writer.call(move |pool| pool.check_label(&to, new_class).map(|()| to)).await?;
    let words = format!("{} rows moved to {to}", rows.len());
    make(&service, Edit::Relabel { rows, class: to }, Vec::new(), words, person).await
}

/// Take a class out with all that it gave to others: a new version, live at once
#[utoipa::path(
    post,
    path = "/v1/classes/remove",
    tag = "classes",
    request_body = ToRemove,
    responses((status = 200, body = Edited), (status = "4XX", body = Problem))
)]
pub(crate) async fn remove(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    extract::Json(ToRemove { class, person }): extract::Json<ToRemove>,
) -> Result<Json<Edited>, Problem> {
    let person = caller.person(person)?;
    let model = service.live.get().model.clone();
    let at = model.class_index(&class).ok_or_else(|| no_class(&class))?;
    if model.classes().len() == 1 {
        return Err(Problem::conflict("a model has at least one class; this is the last one"));
    }
    let held = model.extreme_vectors().filter(|vector| vector.class == at).map(|vector| vector.source);
    let held_out = model.rows_held_out().filter(|row| row.class == class).map(|row| row.source);
    let rows = held.chain(held_out).collect();
    let words = format!("{class} removed");
    make(&service, Edit::Unlearn { rows }, vec![class], words, person).await
}
