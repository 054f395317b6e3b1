//! Which route is for whom, and the description of all of them.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::get;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::description;
use crate::guard::{Needs, check_key, check_site};
use crate::keys::Role;
use crate::problem::Problem;
use crate::service::Service;
use crate::v1::{
    answers, classes, closely, copies, corrections, decisions, drift, enrolment, events, explain, groups,
    health, map, measures, opinions, people, predict, recognised, samples, status, update, versions,
};
use crate::v2::{infer, metadata};
use crate::{labelstudio, page};

type Routes = OpenApiRouter<Arc<Service>>;

/// For probes, which have no key.
fn open() -> Routes {
    Routes::new()
        .routes(routes!(metadata::live))
        .routes(routes!(metadata::ready))
        .routes(routes!(labelstudio::health))
}

/// For a camera: rows in, decisions out.
fn ask() -> Routes {
    Routes::new()
        .routes(routes!(predict::predict))
        .routes(routes!(metadata::server))
        .routes(routes!(metadata::model))
        .routes(routes!(metadata::version))
        .routes(routes!(metadata::model_ready))
        .routes(routes!(metadata::version_ready))
        .routes(routes!(infer::infer))
        .routes(routes!(infer::infer_version))
        .routes(routes!(labelstudio::setup))
        .routes(routes!(labelstudio::predict))
}

fn read() -> Routes {
    Routes::new()
        .routes(routes!(status::status))
        .routes(routes!(drift::drift))
        .routes(routes!(enrolment::show))
        .routes(routes!(decisions::list))
        .routes(routes!(groups::list))
        .routes(routes!(groups::one))
        .routes(routes!(events::list))
        .routes(routes!(versions::list))
        .routes(routes!(versions::compare))
        .routes(routes!(explain::explain))
        .routes(routes!(samples::list))
        .routes(routes!(samples::one))
        .routes(routes!(samples::picture))
        .routes(routes!(samples::picture_by_hash))
        .routes(routes!(closely::neighbors))
        .routes(routes!(closely::history))
        .routes(routes!(recognised::classes))
        .routes(routes!(recognised::samples))
        .routes(routes!(samples::numbers))
        .routes(routes!(classes::list))
        .routes(routes!(classes::rows))
        .routes(routes!(people::at_work))
        .routes(routes!(opinions::disagreements))
        .routes(routes!(map::map))
        .routes(routes!(map::classes))
        .routes(routes!(health::health))
        .routes(routes!(measures::metrics))
}

fn label() -> Routes {
    Routes::new()
        .routes(routes!(groups::hand_out))
        .routes(routes!(groups::split))
        .routes(routes!(groups::merge))
        .routes(routes!(groups::skip))
        .routes(routes!(people::hold))
        .routes(routes!(answers::label))
        .routes(routes!(answers::ignore))
        .routes(routes!(answers::discard))
        .routes(routes!(answers::reopen))
        .routes(routes!(answers::undo))
        .routes(routes!(closely::note))
        .routes(routes!(opinions::ask))
        .routes(routes!(opinions::wanted, opinions::give))
        .routes(routes!(update::start, update::stop))
        .routes(routes!(decisions::keep))
        .routes(routes!(corrections::aside))
        .routes(routes!(corrections::restore))
        .routes(routes!(corrections::not))
        .routes(routes!(classes::rename))
        .routes(routes!(classes::merge))
        .routes(routes!(classes::move_rows))
        .routes(routes!(classes::remove))
        .routes(routes!(labelstudio::webhook))
}

fn admin() -> Routes {
    Routes::new()
        .routes(routes!(versions::promote))
        .routes(routes!(versions::rollback))
        .routes(routes!(enrolment::set))
        .routes(routes!(copies::export))
        .routes(routes!(copies::backup))
}

pub(crate) fn router(service: &Arc<Service>) -> Router {
    let for_role = |role, mut routes: Routes| {
        description::name_role(routes.get_openapi_mut(), role);
        let needs = Needs { service: service.clone(), role };
        routes.layer(from_fn_with_state(needs, check_key))
    };
    let (routes, description) = OpenApiRouter::with_openapi(description::empty())
        .merge(open())
        .merge(for_role(Role::Ask, ask()))
        .merge(for_role(Role::Read, read()))
        .merge(for_role(Role::Label, label()))
        .merge(for_role(Role::Admin, admin()))
        .split_for_parts();
    let description = Bytes::from(description::text(&description));
    let described = get(move || async move { ([(header::CONTENT_TYPE, "application/json")], description) });
    let needs = Needs { service: service.clone(), role: Role::Ask };
    routes
        .route("/openapi.json", described.layer(from_fn_with_state(needs, check_key)))
        .route("/", get(page::index))
        .route("/assets/{name}", get(page::asset))
        .fallback(async || Problem::not_found("nothing is at this address; /openapi.json says what is where"))
        .method_not_allowed_fallback(async || {
            Problem::no_method("/openapi.json says which methods there are")
        })
        .layer(from_fn_with_state(service.clone(), check_site))
        .layer(from_fn_with_state(service.clone(), observe))
        .layer(DefaultBodyLimit::max(service.limits.body))
        .with_state(service.clone())
}

/// Measures, and has browsers take nothing for what it is not.
async fn observe(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    let (status, took) = (response.status().as_u16(), start.elapsed());
    service.metrics.answered(method.as_str(), route, status, took);
    // The route and not the address: what clients send in it is theirs.
    tracing::info!(method = method.as_str(), route, status, seconds = took.as_secs_f64(), "answered");
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}
