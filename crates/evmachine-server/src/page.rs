//! The page: the files of `page/`, in the binary, and nothing from elsewhere.

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::extract::Path;
use crate::problem::Problem;

/// Scripts, styles and pictures of this server alone; no frame, no form, no base.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Name, media type, content.
type Asset = (&'static str, &'static str, &'static [u8]);

const ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

fn file(name: &str) -> Result<Response, Problem> {
    let found = ASSETS.iter().find(|(asset, _, _)| *asset == name);
    let (_, kind, content) = found.ok_or_else(|| Problem::not_found("the page has no such file"))?;
    let headers: [(HeaderName, HeaderValue); 3] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    Ok((headers, *content).into_response())
}

pub(crate) async fn index() -> Result<Response, Problem> {
    file("index.html")
}

pub(crate) async fn asset(Path(name): Path<String>) -> Result<Response, Problem> {
    file(&name)
}
