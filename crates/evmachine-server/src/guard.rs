//! Who gets in: hosts and origins, keys and roles, and how often.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::extract;
use crate::keys::{Keys, Role};
use crate::problem::Problem;
use crate::rate::Rate;
use crate::service::Service;
use crate::settings::{Settings, StartError};

/// Who asks.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The name of the key; `None` where none is asked for.
    pub(crate) name: Option<String>,
    pub(crate) role: Role,
}

/// Characters of a name that a request gives its author.
const LONGEST_PERSON: usize = 100;

impl Caller {
    /// Who is noted with an event: the owner of the key; where no keys are asked for, whom the request names.
    pub(crate) fn person(&self, named: Option<String>) -> Result<Option<String>, Problem> {
        match (&self.name, named) {
            (Some(name), Some(named)) if *name != named => Err(Problem::forbidden(format!(
                "what this key says is noted under its name, {name:?}; leave `person` out"
            ))),
            (Some(name), _) => Ok(Some(name.clone())),
            (None, Some(named)) if !is_person(&named) => Err(Problem::unsuitable(format!(
                "`person` is a name of at most {LONGEST_PERSON} characters, without control characters"
            ))),
            (None, named) => Ok(named),
        }
    }

    /// For whom groups are kept: the owner of the key, or without keys who sits before the page.
    pub(crate) fn holder(&self, sitting: Option<String>) -> Result<Option<String>, Problem> {
        match &self.name {
            Some(name) => Ok(Some(name.clone())),
            None => self.person(sitting),
        }
    }
}

fn is_person(name: &str) -> bool {
    let fits = name.chars().nth(LONGEST_PERSON).is_none();
    fits && !name.trim().is_empty() && !name.chars().any(char::is_control)
}

/// A host name, and the port if only one will do.
type Host = (String, Option<u16>);

/// The rules.
pub(crate) struct Guard {
    keys: Keys,
    /// Names that it was given.
    hosts: Vec<Host>,
    /// Where it listens.
    port: u16,
    rate: Option<Rate>,
}

impl Guard {
    pub(crate) fn new(settings: &Settings, port: u16) -> Result<Self, StartError> {
        let hosts = settings
            .hosts
            .iter()
            .map(|host| authority(host).ok_or_else(|| StartError::Host { host: host.clone() }));
        let hosts = hosts.collect::<Result<_, _>>()?;
        Ok(Self { keys: settings.keys.clone(), hosts, port, rate: settings.limits.rate.map(Rate::new) })
    }

    /// A page of another site, whose name an attacker lets point at this machine, has that name in `Host`. Addresses are no names; those
    /// of other machines are taken where keys are asked for.
    fn check_host(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let mut sent = headers.get_all(header::HOST).iter();
        let host = sent.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
        let found = authority(host).filter(|_| sent.next().is_none());
        let refused = || {
            Problem::forbidden(format!(
                "the server does not go by the name {host:?}; `--host NAME` gives it one"
            ))
        };
        let (name, port) = found.ok_or_else(refused)?;
        let is_given = |(given, only): &Host| *given == name && (only.is_none() || *only == port);
        if self.hosts.iter().any(is_given) {
            return Ok(());
        }
        let address = name.trim_matches(['[', ']']).parse::<IpAddr>().ok();
        let is_own = name == "localhost"
            || address.is_some_and(|address| address.is_loopback() || !self.keys.is_empty());
        // Without a port it is that of HTTP.
        if is_own && port.unwrap_or(80) == self.port { Ok(()) } else { Err(refused()) }
    }

    /// What another site has a browser send says where it comes from.
    fn check_origin(request: &Request) -> Result<(), Problem> {
        let headers = request.headers();
        let refused = || Err(Problem::forbidden("requests from the pages of other sites are not taken"));
        if let Some(origin) = headers.get(header::ORIGIN) {
            let authority = origin
                .to_str()
                .ok()
                .and_then(|origin| origin.split_once("://"))
                .map(|(_, authority)| authority);
            let host = text(headers, &header::HOST);
            if !authority.zip(host).is_some_and(|(origin, host)| host.eq_ignore_ascii_case(origin)) {
                return refused();
            }
        }
        // A link on another site may lead to the page, and to nothing else.
        let is_page = request.uri().path() == "/" && [Method::GET, Method::HEAD].contains(request.method());
        match headers.get("sec-fetch-site").map(HeaderValue::as_bytes) {
            None | Some(b"same-origin" | b"none") => Ok(()),
            Some(_) if is_page => Ok(()),
            Some(_) => refused(),
        }
    }

    /// What cannot be taken is refused before any of it is waited for.
    fn check_body(headers: &HeaderMap, limit: usize) -> Result<(), Problem> {
        let length = text(headers, &header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
        if length.is_some_and(|length| length > limit as u64) {
            return Err(extract::too_large());
        }
        match text(headers, &header::CONTENT_ENCODING) {
            None => Ok(()),
            Some(encoding) if encoding.eq_ignore_ascii_case("identity") => Ok(()),
            Some(encoding) => {
                let shown: String = encoding.chars().take(40).collect();
                Err(Problem::media_type(format!("a body in {shown:?} is not taken; send it uncompressed")))
            }
        }
    }

    fn caller(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        if self.keys.is_empty() {
            return Ok(Caller { name: None, role: Role::Admin });
        }
        let bearer = text(headers, &header::AUTHORIZATION).and_then(|text| {
            let (scheme, key) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(key.trim())
        });
        // Label Studio can send no other: the name of the key as user, and the key as password.
        let basic = text(headers, &header::AUTHORIZATION).and_then(|text| {
            let (scheme, encoded) = text.split_once(' ')?;
            let decoded =
                STANDARD.decode(encoded.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
            let (user, key) = String::from_utf8(decoded)
                .ok()?
                .split_once(':')
                .map(|(user, key)| (user.to_owned(), key.to_owned()))?;
            Some((user, key))
        });
        let plain = headers.get("api-key").and_then(|value| value.to_str().ok());
        let password = basic.as_ref().map(|(_, key)| key.as_str());
        let key = bearer.or(password).or(plain).ok_or_else(|| {
            Problem::no_key(
                "send `Authorization: Bearer KEY` or `api-key: KEY`; who runs the server has keys",
            )
        })?;
        let user = basic.as_ref().filter(|_| bearer.is_none()).map(|(user, _)| user.as_str());
        match self.keys.owner(key) {
            Some((name, _)) if user.is_some_and(|user| user != name) => {
                Err(Problem::no_key("the user is the name of the key, and the password the key itself"))
            }
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

/// The host of an authority in small letters, and its port; `None` where it is none.
fn authority(text: &str) -> Option<Host> {
    let end = match text.rfind(']') {
        Some(bracket) => bracket + 1,
        None => text.find(':').unwrap_or(text.len()),
    };
    let (name, rest) = text.split_at(end);
    let port = match rest.strip_prefix(':') {
        Some(digits) if digits.bytes().all(|digit| digit.is_ascii_digit()) => Some(digits.parse().ok()?),
        None if rest.is_empty() => None,
        _ => return None,
    };
    let allowed = |letter: u8| letter.is_ascii_alphanumeric() || b"-._[]:".contains(&letter);
    (!name.is_empty() && name.bytes().all(allowed)).then(|| (name.to_ascii_lowercase(), port))
}

fn address(request: &Request) -> String {
    let client = request.extensions().get::<ConnectInfo<SocketAddr>>();
    client.map_or_else(String::new, |ConnectInfo(address)| address.ip().to_string())
}

/// For all routes: host, origin, and what the body says of itself.
pub(crate) async fn check_site(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    service.guard.check_host(request.headers())?;
    Guard::check_origin(&request)?;
    Guard::check_body(request.headers(), service.limits.body)?;
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
    use super::authority;

    #[test]
    fn hosts_have_names_and_ports() {
        for (text, name, port) in [
            ("Localhost:80", "localhost", Some(80)),
            ("[::1]:8080", "[::1]", Some(8080)),
            ("[::1]", "[::1]", None),
            ("a.b", "a.b", None),
        ] {
            assert_eq!(authority(text), Some((name.to_owned(), port)));
        }
        for text in ["", ":80", "a:", "a:+1", "a:x", "a:99999", "a b", "a/b", "u@a", "[::1]x", "a:80@b"] {
            assert_eq!(authority(text), None, "{text}");
        }
    }
}
