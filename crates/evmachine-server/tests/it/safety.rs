use std::net::SocketAddr;

use evmachine_server::{Keys, Server, Settings, StartError};
use serde_json::{Value, json};

use crate::{Running, start, start_with, strangers};

const ASK: &str = "ask-0123456789abcdef";
const READ: &str = "read-0123456789abcdef";
const LABEL: &str = "label-0123456789abcdef";
const ADMIN: &str = "admin-0123456789abcdef";

fn guarded() -> Running {
    let text = format!("ask camera {ASK}\nread page {READ}\nlabel anna {LABEL}\nadmin root {ADMIN}\n");
    start_with(|settings| settings.keys = Keys::read(&text).unwrap())
}

/// Every route of the description with its method and a body that is none.
fn routes(description: &Value) -> Vec<(String, String)> {
    let paths = description["paths"].as_object().unwrap();
    let methods = paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().keys().map(move |method| (method.to_uppercase(), path.clone()))
    });
    methods.collect()
}

#[test]
fn every_route_but_probes_takes_a_key() {
    let running = guarded();
    let admin = running.client.with("Authorization", &format!("Bearer {ADMIN}"));
    let description = admin.get("/openapi.json").ok();
    let routes = routes(&description);
    assert!(routes.len() > 40, "{}", routes.len());
    for (method, path) in routes {
        let path = path.replace("{number}", "1").replace("{model}", "evmachine").replace("{version}", "1");
        let reply = running.client.send(&method, &path, b"");
        if path.contains("health/") || path == "/labelstudio/health" {
            assert_eq!(reply.status, 200, "{method} {path}");
        } else {
            reply.problem(401);
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
        }
        let reply = running.client.with("api-key", "no key that anybody has").send(&method, &path, b"");
        assert!(reply.status == 401 || reply.status == 200, "{method} {path}");
    }
    running.client.get("/openapi.json").problem(401);
}

#[test]
fn roles_let_do_what_they_say() {
    let running = guarded();
    let client = |key: &str| running.client.with("api-key", key);
    let (ask, read, label, admin) = (client(ASK), client(READ), client(LABEL), client(ADMIN));
    ask.predict(&strangers());
    for path in ["/v1/status", "/v1/samples", "/v1/events", "/v1/groups", "/v1/decisions", "/v1/samples/1"] {
        ask.get(path).problem(403);
    }
    assert_eq!(read.get("/v1/status").ok()["role"], "read");
    let answer = json!({ "samples": [1], "label": "top", "new_class": true });
    let problem = read.post("/v1/labels", &answer).problem(403);
    assert!(problem["detail"].as_str().unwrap().contains("role label; yours is read"), "{problem}");
    label.post("/v1/labels", &answer).ok();
    assert_eq!(read.get("/v1/events").ok()["events"][0]["person"], "anna", "the owner of the key");
    label.post("/v1/versions/rollback", &json!({})).problem(403);
    label.get("/v1/export").problem(403);
    admin.post("/v1/versions/rollback", &json!({})).problem(409);
    assert_eq!(admin.get("/v1/export").status, 200);
    // Label Studio sends a key as a password; the user is the name of the key.
    let basic = running.client.with("Authorization", "Basic cGFnZTpyZWFkLTAxMjM0NTY3ODlhYmNkZWY=");
    assert_eq!(basic.get("/v1/status").ok()["role"], "read");
    let other = running.client.with("Authorization", "Basic eDpyZWFkLTAxMjM0NTY3ODlhYmNkZWY=");
    other.get("/v1/status").problem(401);
}

#[test]
fn without_keys_only_this_machine_is_let_in() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("pool");
    drop(evmachine_openworld::Pool::create(&folder, &crate::model()).unwrap());
    let mut settings = Settings::new(folder);
    settings.listen = SocketAddr::from(([0, 0, 0, 0], 0));
    assert!(matches!(Server::start(&settings), Err(StartError::OpenToAll { .. })));
    settings.keys = Keys::read(&format!("read page {READ}")).unwrap();
    Server::start(&settings).unwrap().stop();
}

#[test]
fn other_sites_have_no_say() {
    let running = start();
    let client = &running.client;
    client.with("Host", "evil.example").get("/v1/status").problem(403);
    client.with("Host", "evil.example").get("/").problem(403);
    let port = client.address.port();
    assert_eq!(client.with("Host", &format!("localhost:{port}")).get("/v1/status").status, 200);
    assert_eq!(client.with("Host", &format!("[::1]:{port}")).get("/v1/status").status, 200);
    for host in
        ["localhost", "localhost:1", "localhost:+1", "0.0.0.0", "192.0.2.1", &format!("0.0.0.0:{port}")]
    {
        client.with("Host", host).get("/v1/status").problem(403);
    }
    for site in ["cross-site", "same-site", "x"] {
        client.with("Sec-Fetch-Site", site).get("/v1/status").problem(403);
        assert_eq!(client.with("Sec-Fetch-Site", site).get("/").status, 200, "a link may lead here");
    }
    let own_site = client.with("Sec-Fetch-Site", "same-origin");
    assert_eq!(own_site.get("/v1/status").status, 200);
    client.with("Origin", "https://evil.example").post("/v1/update", &json!({})).problem(403);
    client.with("Origin", "null").get("/v1/status").problem(403);
    let own = client.with("Origin", &format!("http://{}", client.address));
    assert_eq!(own.get("/v1/status").status, 200);
    let form = client.with("Content-Type", "application/x-www-form-urlencoded");
    form.send("POST", "/v1/update", b"{}").problem(415);
    client.with("Content-Type", "text/plain").send("POST", "/v1/undo", b"{}").problem(415);
    let named = start_with(|settings| settings.hosts = vec!["Learn.Example".to_owned()]);
    assert_eq!(named.client.with("Host", "learn.example:443").get("/v1/status").status, 200);
    let named = start_with(|settings| settings.hosts = vec!["learn.example:8443".to_owned()]);
    assert_eq!(named.client.with("Host", "learn.example:8443").get("/v1/status").status, 200);
    named.client.with("Host", "learn.example:443").get("/v1/status").problem(403);
    // With keys, a name that an attacker lets point here is no more ours than without.
    let keyed = guarded();
    keyed.client.with("Host", "evil.example").get("/v2/health/live").problem(403);
    let port = keyed.client.address.port();
    assert_eq!(keyed.client.with("Host", &format!("192.0.2.1:{port}")).get("/v2/health/live").status, 200);
}

#[test]
fn too_much_is_refused() {
    let running = start_with(|settings| {
        settings.limits.body = 20_000;
        settings.limits.rows = 10;
    });
    let client = &running.client;
    let rows = |count: usize| json!({ "features": vec![[0.5, 0.5]; count], "keep": "none" });
    assert_eq!(client.post("/v1/predict", &rows(10)).ok()["decisions"].as_array().unwrap().len(), 10);
    let problem = client.post("/v1/predict", &rows(11)).problem(413);
    assert_eq!(problem["limit"], 10);
    client.post("/v1/predict", &rows(5000)).problem(413);
    client
        .with("Content-Type", "application/x-npy")
        .send("POST", "/v1/predict", &vec![0; 20_001])
        .problem(413);
    client.send("POST", "/v2/models/evmachine/infer", &vec![b' '; 20_001]).problem(413);

    let running = start_with(|settings| settings.limits.rate = Some(0.5));
    let statuses: Vec<u16> = (0..8).map(|_| running.client.get("/v1/status").status).collect();
    assert_eq!(statuses[..5], [200; 5]);
    assert!(statuses.contains(&429), "{statuses:?}");
    let last = running.client.get("/v1/status");
    last.problem(429);
    assert_eq!(last.header("retry-after"), Some("1"));
}

#[test]
fn connections_beyond_the_limit_wait() {
    use std::io::Write as _;

    let running = start_with(|settings| settings.limits.connections = 1);
    let mut busy = std::net::TcpStream::connect(running.client.address).unwrap();
    let head = "POST /v1/undo HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n";
    write!(busy, "{head}Host: {}\r\n\r\n", running.client.address).unwrap();
    let client = running.client.with("x", "y");
    let waiting = std::thread::spawn(move || client.get("/v2/health/live").status);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(!waiting.is_finished(), "whoever has asked is answered first");
    drop(busy);
    assert_eq!(waiting.join().unwrap(), 200);
}

/// Sockets that are silent, before or between requests, give their places up to others who wait.
#[test]
fn silent_sockets_shut_nobody_out() {
    let running = start_with(|settings| settings.limits.connections = 8);
    let connect = || std::net::TcpStream::connect(running.client.address).unwrap();
    let silent: Vec<std::net::TcpStream> = (0..8).map(|_| connect()).collect();
    let begun = std::time::Instant::now();
    assert_eq!(running.client.get("/v2/health/live").status, 200);
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
    drop(silent);
    // What cannot be taken is not waited for.
    let begun = std::time::Instant::now();
    let head = format!(
        "POST /v1/predict HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n",
        running.client.address
    );
    running.client.raw(head.as_bytes()).unwrap().problem(413);
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn the_page_runs_nothing_from_elsewhere() {
    let running = start();
    let page = running.client.get("/");
    if page.status == 200 {
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"));
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    }
    running.client.get("/assets/../Cargo.toml").problem(404);
    running.client.get("/assets/nothing.js").problem(404);
}
