//! `/v1/people` and `/v1/groups/{number}/hold`: who is at work, and on what.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::State;
use axum::{Extension, Json};
use evmachine_openworld::{GroupId, StoreError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::extract::{self, Path};
use crate::guard::Caller;
use crate::problem::Problem;
use crate::recent::now;
use crate::service::Service;

/// Seconds after which somebody who was not heard of is not at work any more.
const AWAY: i64 = 600;
/// Seconds of which answers are counted.
const LATELY: i64 = 3600;
/// People who are remembered; one more, and who was silent longest is forgotten.
const MOST: usize = 1000;

/// Who looks at which group. In memory: it is about now.
#[derive(Default)]
pub(crate) struct People(Mutex<HashMap<String, Looking>>);

#[derive(Debug, Clone, Copy)]
struct Looking {
    group: GroupId,
    since: i64,
    last: i64,
}

impl People {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Looking>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn looks(&self, name: &str, group: GroupId, time: i64) {
        let mut people = self.lock();
        people.retain(|_, looking| looking.last + AWAY > time);
        if people.len() >= MOST && !people.contains_key(name) {
            let silent = people.iter().min_by_key(|(_, looking)| looking.last);
            if let Some(silent) = silent.map(|(name, _)| name.clone()) {
                people.remove(&silent);
            }
        }
        let looking = people.entry(name.to_owned()).or_insert(Looking { group, since: time, last: time });
        if looking.group != group {
            (looking.group, looking.since) = (group, time);
        }
        looking.last = time;
    }

    fn at_work(&self, time: i64) -> HashMap<String, Looking> {
        let people = self.lock();
        let near = people.iter().filter(|(_, looking)| looking.last + AWAY > time);
        near.map(|(name, looking)| (name.clone(), *looking)).collect()
    }
}

/// Who wants to keep a group.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToHold {
    /// Where the server asks for no key: what tells those apart who ask.
    sitting: Option<String>,
}

/// Whose a group is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GroupHolding {
    /// The name of a key, or the sitting that a page goes by.
    held_by: String,
    /// Until when, in seconds since 1970, unless they look at it again.
    until: i64,
    /// Whether that is who asked.
    own: bool,
}

/// Keep a group that one looks at, for ten minutes from now on, unless somebody else has it
#[utoipa::path(
    post,
    path = "/v1/groups/{number}/hold",
    tag = "labelling",
    params(("number" = i64, Path)),
    request_body = ToHold,
    responses((status = 200, body = GroupHolding), (status = "4XX", body = Problem))
)]
pub(crate) async fn hold(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    Path(number): Path<GroupId>,
    extract::Json(ToHold { sitting }): extract::Json<ToHold>,
) -> Result<Json<GroupHolding>, Problem> {
    let nobody = || Problem::unsuitable("say who looks, as `sitting`; with keys it is the owner of the key");
    let holder = caller.holder(sitting)?.ok_or_else(nobody)?;
    let name = holder.clone();
    let held = service.writer.call(move |pool| pool.hold(number, &name)).await?;
    service.people.looks(&holder, number, now());
    Ok(Json(GroupHolding { own: held.holder == holder, held_by: held.holder, until: held.until }))
}

/// Somebody at work.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Person {
    /// The name of a key, or the sitting that a page goes by.
    name: String,
    /// The group before them, if they look at one that waits.
    group: Option<GroupId>,
    /// Samples of it that wait.
    size: Option<usize>,
    /// Since when they look at it, in seconds since 1970.
    since: Option<i64>,
    /// Answers that they gave in the last hour.
    answers: u64,
    /// Samples that these were about.
    samples: u64,
}

/// Who is at work.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AtWork {
    people: Vec<Person>,
}

/// Who is at work, and on what: those who looked at a group in the last ten minutes, and those who answered in the last hour
#[utoipa::path(get, path = "/v1/people", tag = "labelling", responses((status = 200, body = AtWork)))]
pub(crate) async fn at_work(State(service): State<Arc<Service>>) -> Result<Json<AtWork>, Problem> {
    let time = now();
    let mut looking = service.people.at_work(time);
    let groups: Vec<GroupId> = looking.values().map(|looking| looking.group).collect();
    let live = service.live.get();
    let found = service.reader.call(move |pool| {
        let waiting = pool.groups_by_number(&live.model, &groups, 0)?;
        let sizes: HashMap<GroupId, usize> =
            waiting.into_iter().map(|group| (group.number, group.size)).collect();
        Ok::<_, StoreError>((sizes, pool.answers_since(time - LATELY)?))
    });
    let (sizes, answers) = found.await?;
    let mut person = |name: String, answers: u64, samples: u64| {
        let at = looking.remove(&name).filter(|looking| sizes.contains_key(&looking.group));
        let size = at.and_then(|at| sizes.get(&at.group).copied());
        Person { name, group: at.map(|at| at.group), size, since: at.map(|at| at.since), answers, samples }
    };
    let mut people: Vec<Person> =
        answers.into_iter().map(|(name, answers, samples)| person(name, answers, samples)).collect();
    let mut others: Vec<String> = service.people.at_work(time).into_keys().collect();
    others.retain(|name| !people.iter().any(|person| person.name == *name));
    others.sort();
    people.extend(others.into_iter().map(|name| person(name, 0, 0)));
    Ok(Json(AtWork { people }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_silent_is_away_and_names_do_not_pile_up() {
        let people = People::default();
        people.looks("anna", 1, 0);
        people.looks("anna", 1, 60);
        people.looks("boris", 2, 100);
        assert_eq!(people.at_work(120)["anna"].since, 0);
        people.looks("anna", 3, 130);
        assert_eq!((people.at_work(140)["anna"].group, people.at_work(140)["anna"].since), (3, 130));
        let later: Vec<String> = people.at_work(100 + AWAY).into_keys().collect();
        assert_eq!(later, ["anna"]);
        for number in 0..2 * MOST {
            people.looks(&format!("tab {number}"), 1, 200);
        }
        assert_eq!(people.at_work(200).len(), MOST);
    }
}
