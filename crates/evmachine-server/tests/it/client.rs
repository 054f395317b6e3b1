//! As little of HTTP as the tests need: each request is spelled out, so that bad ones can be too.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    /// Headers that go with every request.
    pub(crate) headers: Vec<(String, String)>,
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The JSON of an answer that is no problem.
    pub(crate) fn ok(&self) -> Value {
        assert!(
            (200..300).contains(&self.status),
            "{}: {}",
            self.status,
            String::from_utf8_lossy(&self.body)
        );
        self.json()
    }

    /// The problem of an answer of that status.
    pub(crate) fn problem(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let problem = self.json();
        assert_eq!(problem["status"], status);
        assert!(problem["type"].as_str().unwrap().starts_with("urn:evmachine:"), "{problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{problem}");
        problem
    }
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, headers: Vec::new() }
    }

    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let headers = self.headers.iter().filter(|(other, _)| !other.eq_ignore_ascii_case(name)).cloned();
        let headers = headers.chain([(name.to_owned(), value.to_owned())]).collect();
        Self { address: self.address, headers }
    }

    /// Sends bytes as they are, and reads one reply; `None` where the server hangs up or cannot be reached.
    pub(crate) fn raw(&self, request: &[u8]) -> Option<Reply> {
        let mut stream = TcpStream::connect_timeout(&self.address, Duration::from_secs(5)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
        stream.write_all(request).ok()?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).ok()?;
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&bytes[..end]).ok()?;
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let body = bytes[end + 4..].to_vec();
        if status == 304 {
            return Some(Reply { status, headers, body });
        }
        let length: usize = headers.iter().find(|(name, _)| name == "content-length")?.1.parse().ok()?;
        // Cut off in the middle, it was not said.
        (body.len() == length).then_some(Reply { status, headers, body })
    }

    pub(crate) fn try_send(&self, method: &str, path: &str, body: &[u8]) -> Option<Reply> {
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        let mut headers = self.headers.clone();
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            headers.push(("Host".to_owned(), self.address.to_string()));
        }
        if !body.is_empty() {
            headers.push(("Content-Length".to_owned(), body.len().to_string()));
        }
        for (name, value) in headers {
            request.extend([name.as_str(), ": ", value.as_str(), "\r\n"]);
        }
        request += "\r\n";
        self.raw(&[request.as_bytes(), body].concat())
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: &[u8]) -> Reply {
        self.try_send(method, path, body).unwrap_or_else(|| panic!("{method} {path}: no reply"))
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.with("Content-Type", "application/json").send("POST", path, body.to_string().as_bytes())
    }

    /// Has rows decided.
    pub(crate) fn predict(&self, rows: &[[f32; 2]]) -> Value {
        self.post("/v1/predict", &serde_json::json!({ "features": rows })).ok()
    }

    /// Waits until nothing is being learned, and returns the status.
    pub(crate) fn learned(&self) -> Value {
        let start = Instant::now();
        loop {
            let status = self.get("/v1/status").ok();
            if status["learning"].is_null() {
                return status;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{status}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
