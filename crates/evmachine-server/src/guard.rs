//! Who gets in: hosts and origins, keys and roles, and how often.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::keys::{Keys, Role};
use crate::problem::Problem;
use crate::rate::Rate;
use crate::service::Service;
use crate::settings::Settings;

/// Who asks.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The name of the key; `None` where none is asked for.
    pub(crate) name: Option<String>,
    pub(crate) role: Role,
}

impl Caller {
    /// Who is noted with an event: whom the request names, else the owner of the key.
    pub(crate) fn person(&self, named: Option<String>) -> Option<String> {
        named.or_else(|| self.name.clone())
    }
}

/// The rules.
pub(crate) struct Guard {
    keys: Keys,
    hosts: Vec<String>,
    rate: Option<Rate>,
}

impl Guard {
    pub(crate) fn new(settings: &Settings) -> Self {
        let hosts = settings.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Self { keys: settings.keys.clone(), hosts, rate: settings.limits.rate.map(Rate::new) }
    }

    /// A page of another site, whose name an attacker lets point at this machine, has that name in `Host`. Where keys are asked
    /// for it has none, and names are checked only if there are any to check.
    fn check_host(&self, headers: &HeaderMap) -> Result<(), Problem> {
        if !self.keys.is_empty() && self.hosts.is_empty() {
            return Ok(());
        }
        let host = text(headers, &header::HOST).map(host_name).unwrap_or_default();
        let is_local = host == "localhost"
            || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        if is_local || self.hosts.contains(&host) {
            return Ok(());
        }
        Err(Problem::forbidden(format!("the server does not go by the name {host:?}; see --host")))
    }

    /// What another site has a browser send says where it comes from.
    fn check_origin(headers: &HeaderMap) -> Result<(), Problem> {
        let Some(origin) = text(headers, &header::ORIGIN) else { return Ok(()) };
        let authority = origin.split_once("://").map_or("", |(_, authority)| authority);
        if text(headers, &header::HOST).is_some_and(|host| host.eq_ignore_ascii_case(authority)) {
            return Ok(());
        }
        Err(Problem::forbidden("requests from the pages of other sites are not taken"))
    }

    fn caller(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        if self.keys.is_empty() {
            return Ok(Caller { name: None, role: Role::Admin });
        }
        let bearer = text(headers, &header::AUTHORIZATION).and_then(|text| {
            let (scheme, key) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(key.trim())
        });
        // Label Studio can send no other: any user, and the key as password.
        let basic = text(headers, &header::AUTHORIZATION).and_then(|text| {
            let (scheme, encoded) = text.split_once(' ')?;
            let decoded =
                STANDARD.decode(encoded.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
            Some(String::from_utf8(decoded).ok()?.split_once(':')?.1.to_owned())
        });
        let plain = headers.get("api-key").and_then(|value| value.to_str().ok());
        let key = bearer.or(basic.as_deref()).or(plain).ok_or_else(|| {
            Problem::no_key(
                "send `Authorization: Bearer KEY` or `api-key: KEY`; who runs the server has keys",
            )
        })?;
        match self.keys.owner(key) {
            Some((name, role)) => Ok(Caller { name: Some(name.to_owned()), role }),
            None => Err(Problem::no_key("the server does not know this key")),
        }
    }

    /// Counts a request of a client, by the name of the key or the address.
    fn count(&self, client: &str) -> Result<(), Problem> {
        match &self.rate {
            Some(rate) if !rate.take(client) => {
                Err(Problem::too_many("this client asks more often than it may; wait a little"))
            }
            _ => Ok(()),
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// A host without its port, in small letters.
fn host_name(authority: &str) -> String {
    let end = match authority.rfind(']') {
        Some(bracket) => bracket + 1,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    authority[..end].to_ascii_lowercase()
}

fn address(request: &Request) -> String {
    let client = request.extensions().get::<ConnectInfo<SocketAddr>>();
    client.map_or_else(String::new, |ConnectInfo(address)| address.ip().to_string())
}

/// For all routes: host and origin.
pub(crate) async fn check_site(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    service.guard.check_host(request.headers())?;
    Guard::check_origin(request.headers())?;
    Ok(next.run(request).await)
}

/// What a route asks for.
#[derive(Clone)]
pub(crate) struct Needs {
    pub(crate) service: Arc<Service>,
    pub(crate) role: Role,
}

/// For routes that not everybody may use.
pub(crate) async fn check_key(
    State(Needs { service, role }): State<Needs>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let guard = &service.guard;
    let caller = match guard.caller(request.headers()) {
        Ok(caller) => caller,
        Err(problem) => {
            guard.count(&address(&request))?;
            return Err(problem);
        }
    };
    match &caller.name {
        Some(name) => guard.count(name)?,
        None => guard.count(&address(&request))?,
    }
    if caller.role < role {
        let detail = format!("this takes a key of the role {role}; yours is {}", caller.role);
        return Err(Problem::forbidden(detail));
    }
    // What a form of another site can send without asking is refused, though it came without an origin.
    if role > Role::Read && request.method() != Method::GET && request.method() != Method::DELETE {
        let kind = text(request.headers(), &header::CONTENT_TYPE).unwrap_or_default();
        if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
            return Err(Problem::media_type("send JSON, and say so: Content-Type: application/json"));
        }
    }
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

#[cfg(test)]
mod tests {
    use super::host_name;

    #[test]
    fn hosts_lose_their_ports() {
        for (authority, host) in [
            ("Localhost:80", "localhost"),
            ("[::1]:8080", "[::1]"),
            ("[::1]", "[::1]"),
            ("a.b", "a.b"),
            ("", ""),
        ] {
            assert_eq!(host_name(authority), host);
        }
    }
}
