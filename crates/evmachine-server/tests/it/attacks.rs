use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use evmachine_server::Keys;
use serde_json::{Value, json};

use crate::{Running, start, start_with, strangers};

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Everybody,
    Ask,
    Read,
    Label,
    Admin,
}

use Who::{Admin, Ask, Everybody, Label, Read};

/// What is allowed. A route that is not here fails the test, and so does one whose role is another.
const TABLE: &[(&str, &str, Who)] = &[
    ("GET", "/labelstudio/health", Everybody),
    ("GET", "/v2/health/live", Everybody),
    ("GET", "/v2/health/ready", Everybody),
    ("GET", "/v2", Ask),
    ("GET", "/v2/models/{model}", Ask),
    ("GET", "/v2/models/{model}/ready", Ask),
    ("GET", "/v2/models/{model}/versions/{version}", Ask),
    ("GET", "/v2/models/{model}/versions/{version}/ready", Ask),
    ("POST", "/labelstudio/predict", Ask),
    ("POST", "/labelstudio/setup", Ask),
    ("POST", "/v1/predict", Ask),
    ("POST", "/v2/models/{model}/infer", Ask),
    ("POST", "/v2/models/{model}/versions/{version}/infer", Ask),
    ("GET", "/metrics", Read),
    ("GET", "/v1/classes", Read),
    ("GET", "/v1/classes/rows", Read),
    ("GET", "/v1/decisions", Read),
    ("GET", "/v1/disagreements", Read),
    ("GET", "/v1/drift", Read),
    ("GET", "/v1/enrolment", Read),
    ("GET", "/v1/events", Read),
    ("GET", "/v1/groups", Read),
    ("GET", "/v1/groups/{number}", Read),
    ("GET", "/v1/health-of-model", Read),
    ("GET", "/v1/map", Read),
    ("GET", "/v1/map/classes", Read),
    ("GET", "/v1/people", Read),
    ("GET", "/v1/recognised", Read),
    ("GET", "/v1/recognised/samples", Read),
    ("GET", "/v1/samples", Read),
    ("GET", "/v1/samples/numbers", Read),
    ("GET", "/v1/samples/{number}", Read),
    ("GET", "/v1/samples/{number}/history", Read),
    ("GET", "/v1/samples/{number}/neighbors", Read),
    ("GET", "/v1/samples/{number}/picture", Read),
    ("GET", "/v1/samples/{number}/picture/{hash}", Read),
    ("GET", "/v1/status", Read),
    ("GET", "/v1/versions", Read),
    ("POST", "/v1/explain", Read),
    ("POST", "/v1/versions/compare", Read),
    ("DELETE", "/v1/update", Label),
    ("GET", "/v1/opinions", Label),
    ("POST", "/labelstudio/webhook", Label),
    ("POST", "/v1/classes/merge", Label),
    ("POST", "/v1/classes/move", Label),
    ("POST", "/v1/classes/remove", Label),
    ("POST", "/v1/classes/rename", Label),
    ("POST", "/v1/decisions/{number}/keep", Label),
    ("POST", "/v1/discard", Label),
    ("POST", "/v1/groups/hand-out", Label),
    ("POST", "/v1/groups/merge", Label),
    ("POST", "/v1/groups/{number}/hold", Label),
    ("POST", "/v1/groups/{number}/skip", Label),
    ("POST", "/v1/groups/{number}/split", Label),
    ("POST", "/v1/ignore", Label),
    ("POST", "/v1/labels", Label),
    ("POST", "/v1/opinions", Label),
    ("POST", "/v1/opinions/ask", Label),
    ("POST", "/v1/reopen", Label),
    ("POST", "/v1/rows/aside", Label),
    ("POST", "/v1/rows/not", Label),
    ("POST", "/v1/rows/restore", Label),
    ("POST", "/v1/samples/{number}/notes", Label),
    ("POST", "/v1/undo", Label),
    ("POST", "/v1/update", Label),
    ("GET", "/v1/export", Admin),
    ("POST", "/v1/backup", Admin),
    ("PUT", "/v1/enrolment", Admin),
    ("POST", "/v1/versions/promote", Admin),
    ("POST", "/v1/versions/rollback", Admin),
];

/// Routes that are not described: the page, which holds nothing, and the description itself.
const UNDESCRIBED: &[(&str, &str, Who)] =
    &[("GET", "/", Everybody), ("GET", "/assets/app.js", Everybody), ("GET", "/openapi.json", Ask)];

/// Keys, their names and roles.
const KEYS: [(&str, &str, Who); 4] = [
    ("ask-0123456789abcdef", "camera", Ask),
    ("read-0123456789abcdef", "page", Read),
    ("label-0123456789abcdef", "anna", Label),
    ("admin-0123456789abcdef", "root", Admin),
];

fn guarded() -> Running {
    let role = ["ask", "read", "label", "admin"];
    let lines = KEYS.iter().zip(role).map(|((key, name, _), role)| format!("{role} {name} {key}\n"));
    let text: String = lines.collect();
    start_with(|settings| settings.keys = Keys::read(&text).unwrap())
}

/// A connection that is kept open, for many requests.
struct Line {
    running: std::net::SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

impl Line {
    fn ask(&mut self, method: &str, path: &str, headers: &[(&str, String)], body: &str) -> u16 {
        let mut request = format!("{method} {path} HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            request.extend([name, ": ", value.as_str(), "\r\n"]);
        }
        request.extend(["\r\n", body]);
        let stream = self.stream.get_or_insert_with(|| {
            let stream = TcpStream::connect(self.running).unwrap();
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            BufReader::new(stream)
        });
        stream.get_mut().write_all(request.as_bytes()).unwrap();
        let (mut status, mut length, mut ends, mut line) = (0, 0, false, String::new());
        loop {
            line.clear();
            stream.read_line(&mut line).unwrap();
            let text = line.trim_end().to_ascii_lowercase();
            if status == 0 {
                status = text.split(' ').nth(1).unwrap().parse().unwrap();
            } else if let Some(value) = text.strip_prefix("content-length: ") {
                length = value.parse().unwrap();
            } else if text == "connection: close" {
                ends = true;
            } else if text.is_empty() {
                break;
            }
        }
        if method != "HEAD" {
            let mut rest = vec![0; length];
            stream.read_exact(&mut rest).unwrap();
        }
        if ends {
            self.stream = None;
        }
        status
    }
}

fn filled(path: &str) -> String {
    let path = path.replace("{number}", "1").replace("{model}", "evmachine").replace("{version}", "1");
    path.replace("{hash}", "0")
}

#[test]
fn every_route_is_in_the_table() {
    let running = guarded();
    let admin = running.client.with("api-key", KEYS[3].0);
    let description = admin.get("/openapi.json").ok();
    let mut described: BTreeMap<(String, String), String> = BTreeMap::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let role = operation["x-role"].as_str().unwrap_or("everybody").to_owned();
            described.insert((method.to_uppercase(), path.clone()), role);
        }
    }
    let table = TABLE.iter().map(|(method, path, who)| {
        (((*method).to_owned(), (*path).to_owned()), format!("{who:?}").to_lowercase())
    });
    assert_eq!(described, table.collect());
}

/// Every route x host x origin x site x content type x key.
#[test]
fn whoever_may_not_is_kept_out_of_every_route() {
    let running = guarded();
    let address = running.client.address;
    running.client.with("api-key", KEYS[3].0).predict(&strangers());
    let port = address.port();
    let hosts = [
        (Some(address.to_string()), true),
        (Some(format!("localhost:{port}")), true),
        (Some("evil.example".to_owned()), false),
        (Some(format!("evil.example:{port}")), false),
        (Some("localhost:1".to_owned()), false),
        (None, false),
    ];
    // None, the own one, and those of others.
    let origins = [None, Some(true), Some(false)];
    let sites = [None, Some("same-origin"), Some("cross-site"), Some("same-site")];
    let types =
        [Some("application/json"), Some("text/plain"), Some("application/x-www-form-urlencoded"), None];
    let mut keys: Vec<(Option<String>, Option<Who>)> =
        vec![(None, None), (Some("Bearer no-key-that-anybody-has".to_owned()), None)];
    keys.extend(KEYS.iter().map(|(key, _, who)| (Some(format!("Bearer {key}")), Some(*who))));
    let mut line = Line { running: address, stream: None };
    let mut cases = 0;
    for (method, path, who) in TABLE.iter().chain(UNDESCRIBED) {
        let path = filled(path);
        for (host, is_own_host) in &hosts {
            for origin in origins {
                for site in sites {
                    for content_type in types {
                        for (key, role) in &keys {
                            let mut headers: Vec<(&str, String)> = Vec::new();
                            headers.extend(host.as_ref().map(|host| ("Host", host.clone())));
                            headers.extend(origin.map(|own| {
                                let host = host.as_deref().unwrap_or("localhost");
                                (
                                    "Origin",
                                    if own {
                                        format!("http://{host}")
                                    } else {
                                        "https://evil.example".to_owned()
                                    },
                                )
                            }));
                            headers.extend(site.map(|site| ("Sec-Fetch-Site", site.to_owned())));
                            headers.extend(content_type.map(|kind| ("Content-Type", kind.to_owned())));
                            headers.extend(key.as_ref().map(|key| ("Authorization", key.clone())));
                            let writes = ["POST", "PUT"].contains(method);
                            let body = if writes { "{}" } else { "" };
                            let status = line.ask(method, &path, &headers, body);
                            cases += 1;
                            let is_page = path == "/" && site.is_some();
                            let comes_from_here = *is_own_host
                                && (origin != Some(false))
                                && !(origin == Some(true) && host.is_none())
                                && (matches!(site, None | Some("same-origin")) || is_page);
                            let told = format!("{method} {path} {headers:?}: {status}");
                            if !comes_from_here {
                                assert_eq!(status, 403, "{told}");
                            } else if *who != Everybody && role.is_none() {
                                assert_eq!(status, 401, "{told}");
                            } else if *who != Everybody && *role < Some(*who) {
                                assert_eq!(status, 403, "{told}");
                            } else if writes && *who >= Label && content_type != Some("application/json") {
                                assert_eq!(status, 415, "{told}");
                            } else {
                                assert!(![401, 403, 405].contains(&status) && status < 500, "{told}");
                            }
                        }
                    }
                }
            }
        }
    }
    eprintln!("{cases} cases");
    assert!(cases > 80_000, "{cases}");
    let admin = running.client.with("api-key", KEYS[3].0);
    assert_eq!(admin.get("/v1/status").ok()["waiting"], 24);
    // Who may has put groups off and undone it, for which an empty body is enough; nobody else has done anything.
    for event in admin.get("/v1/events?count=1000").ok()["events"].as_array().unwrap() {
        let (person, kind) = (event["person"].as_str().unwrap(), event["kind"].as_str().unwrap());
        assert!(["anna", "root"].contains(&person) && ["skipped", "undone"].contains(&kind), "{event}");
    }
    running.stop();
}

/// Every path x method: what a route is not for, it does not do.
#[test]
fn other_methods_do_nothing() {
    let running = guarded();
    let mut line = Line { running: running.client.address, stream: None };
    let host = running.client.address.to_string();
    let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "INVENTED"];
    let mut cases = 0;
    for (_, path, _) in TABLE.iter().chain(UNDESCRIBED) {
        let allowed = |method: &str| {
            let rows = TABLE.iter().chain(UNDESCRIBED);
            let same = |own: &str| own == method || own == "GET" && method == "HEAD";
            rows.filter(|(_, other, _)| filled(other) == filled(path)).any(|(own, _, _)| same(own))
                // One address has another route beside it.
                || *path == "/v1/groups/hand-out" && ["GET", "HEAD"].contains(&method)
                || *path == "/v1/groups/merge" && ["GET", "HEAD"].contains(&method)
        };
        for method in methods.into_iter().filter(|method| !allowed(method)) {
            for key in [None, Some(KEYS[3].0)] {
                let mut headers =
                    vec![("Host", host.clone()), ("Content-Type", "application/json".to_owned())];
                headers.extend(key.map(|key| ("Authorization", format!("Bearer {key}"))));
                let status = line.ask(method, &filled(path), &headers, "");
                cases += 1;
                let expected: &[u16] = if key.is_some() { &[405] } else { &[401, 405] };
                assert!(expected.contains(&status), "{method} {path}: {status}");
            }
        }
    }
    eprintln!("{cases} cases");
    assert!(cases > 600, "{cases}");
}

#[test]
fn nobody_speaks_for_another() {
    let running = guarded();
    let key = |at: usize| running.client.with("api-key", KEYS[at].0);
    key(0).predict(&strangers());
    let (label, admin) = (key(2), key(3));
    for (path, body) in [
        ("/v1/labels", json!({ "samples": [1], "label": "a", "person": "root" })),
        ("/v1/ignore", json!({ "samples": [1], "person": "root" })),
        ("/v1/discard", json!({ "samples": [1], "person": "root" })),
        ("/v1/reopen", json!({ "samples": [1], "person": "root" })),
        ("/v1/undo", json!({ "person": "root" })),
        ("/v1/groups/1/skip", json!({ "person": "root" })),
        ("/v1/groups/1/split", json!({ "radius": 1, "person": "root" })),
        ("/v1/groups/merge", json!({ "groups": [1, 2], "person": "root" })),
        ("/v1/rows/aside", json!({ "source": 1, "person": "root" })),
        ("/v1/rows/not", json!({ "sample": 1, "class": "a", "person": "root" })),
        ("/v1/samples/1/notes", json!({ "text": "a", "person": "root" })),
        ("/v1/opinions/ask", json!({ "samples": [1], "person": "root" })),
        ("/v1/opinions", json!({ "samples": [1], "label": "a", "person": "root" })),
        ("/v1/classes/rename", json!({ "class": "a", "to": "c", "person": "root" })),
        ("/v1/classes/merge", json!({ "class": "a", "into": "b", "person": "root" })),
        ("/v1/classes/move", json!({ "rows": [1], "to": "b", "person": "root" })),
        ("/v1/classes/remove", json!({ "class": "a", "person": "root" })),
    ] {
        label.post(path, &body).problem(403);
    }
    admin.post("/v1/versions/rollback", &json!({ "person": "anna" })).problem(403);
    label.post("/v1/labels", &json!({ "samples": [1], "label": "a", "person": "anna" })).ok();
    label.post("/v1/update", &json!({ "person": "root" })).problem(403);
    let events = admin.get("/v1/events").ok()["events"].clone();
    assert_eq!((events.as_array().unwrap().len(), &events[0]["person"]), (1, &json!("anna")));
    // Without keys whoever asks may say who it is, by a name.
    let open = start();
    open.client.predict(&strangers());
    for person in ["", "  ", "a\nb", &"x".repeat(101)] {
        open.client.post("/v1/ignore", &json!({ "samples": [1], "person": person })).problem(422);
    }
    open.client.post("/v1/ignore", &json!({ "samples": [1], "person": "Ada" })).ok();
}

#[test]
fn a_label_key_does_not_say_which_version_is_live() {
    let running = guarded();
    let key = |at: usize| running.client.with("api-key", KEYS[at].0);
    key(0).predict(&strangers());
    let (label, admin) = (key(2), key(3));
    let named = json!({ "samples": [1, 2, 3], "label": "top", "new_class": true });
    label.post("/v1/labels", &named).ok();
    assert_eq!(label.post("/v1/update", &json!({})).status, 202);
    let live = admin.learned()["live"].clone();
    let updated = admin.get("/v1/events?count=1").ok()["events"][0]["number"].clone();
    label.post("/v1/undo", &json!({ "event": updated })).problem(403);
    let promoted = admin.post("/v1/versions/rollback", &json!({})).ok()["event"].clone();
    label.post("/v1/undo", &json!({ "event": promoted })).problem(403);
    let undone = admin.post("/v1/undo", &json!({ "event": promoted })).ok();
    label.post("/v1/undo", &json!({ "event": undone["event"] })).problem(403);
    assert_eq!(admin.get("/v1/status").ok()["live"], live);
    // Without a number, a labeller takes back what they said themselves.
    admin.post("/v1/ignore", &json!({ "samples": [5] })).ok();
    let own = label.post("/v1/discard", &json!({ "samples": [6] })).ok();
    admin.post("/v1/ignore", &json!({ "samples": [7] })).ok();
    assert_eq!(label.post("/v1/undo", &json!({})).ok()["undone"], own["event"]);
}

/// Names that cannot be read or used are taken nowhere.
#[test]
fn names_of_classes_are_checked_at_every_door() {
    let running = start_with(|settings| settings.limits.body = 16 << 20);
    let client = &running.client;
    client.predict(&strangers());
    let long = "x".repeat(5_000_000);
    let names =
        ["unknown", "Unknown", "", "  ", "a\0b", "a\nb", "a\u{1b}[31mb", "a\u{202e}b", "a\u{2066}b", &long];
    for name in names {
        for new_class in [true, false] {
            let body = json!({ "samples": [1], "label": name, "new_class": new_class });
            let problem = client.post("/v1/labels", &body).problem(422);
            assert!(problem.to_string().len() < 1000, "the name is not sent back");
        }
        let annotation = json!({ "result": [{ "type": "choices", "value": { "choices": [name] } }] });
        let task = json!({ "id": 9, "data": { "features": [40.0, 40.0] } });
        let created = json!({ "action": "ANNOTATION_CREATED", "task": task, "annotation": annotation });
        client.post("/labelstudio/webhook", &created).problem(422);
    }
    let status = client.get("/v1/status").ok();
    assert_eq!((&status["events"], &status["waiting"]), (&json!(0), &json!(24)));
}

#[test]
fn invented_methods_and_paths_do_not_fill_the_metrics() {
    let running = guarded();
    let mut line = Line { running: running.client.address, stream: None };
    let headers = [("Host", running.client.address.to_string())];
    for number in 0..2000 {
        line.ask(&format!("M{number}"), &format!("/p{number}"), &headers, "");
    }
    let metrics = running.client.with("api-key", KEYS[1].0).get("/metrics");
    assert!(metrics.body.len() < 20_000, "{}", metrics.body.len());
    assert!(metrics.text().contains("method=\"other\",route=\"none\",status=\"404\""));
}

/// Who looks changes nothing, not even on a disk that cannot be written.
#[test]
fn reading_writes_nothing() {
    let running = start();
    let client = &running.client;
    client.predict(&strangers());
    let database = rusqlite::Connection::open(running.folder().join("pool.sqlite")).unwrap();
    let version = || database.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0)).unwrap();
    let before = version();
    for (_, path, _) in TABLE.iter().chain(UNDESCRIBED).filter(|(method, _, _)| *method == "GET") {
        client.get(&filled(path));
    }
    let groups = client.get("/v1/groups").ok()["groups"].as_array().unwrap().len();
    assert_eq!(client.get("/v1/status").ok()["handed_out"], 0);
    assert_eq!(version(), before, "a GET has written");
    // Another process holds the pool: reading does not wait for it.
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(client.get("/v1/groups").ok()["groups"].as_array().unwrap().len(), groups);
    assert_eq!(client.get("/v1/groups/1").status, 200);
    database.execute_batch("ROLLBACK").unwrap();
}

/// No address that a client sends is asked.
#[test]
fn nothing_is_fetched_for_a_client() {
    let trap = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let link = format!("http://{}/x", trap.local_addr().unwrap());
    let running = start();
    let client = &running.client;
    client
        .post(
            "/v1/predict",
            &json!({ "features": [[30.5, 30.5]], "links": [link], "texts": [link], "ids": [link] }),
        )
        .ok();
    client.post("/labelstudio/setup", &json!({ "hostname": link, "project": "1" })).ok();
    client.get("/v1/groups").ok();
    client.get("/v1/samples/1").ok();
    let proxied = client.send("GET", &link, b"");
    assert_eq!(proxied.status, 404, "an address of another server is none of ours");
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(trap.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

/// What is packed is not unpacked, however small it comes.
#[test]
fn packed_bodies_are_refused_by_name() {
    let running = start();
    let client = running.client.with("Content-Type", "application/json");
    for encoding in ["gzip", "deflate", "br", "zstd", "gzip, gzip"] {
        let problem = client
            .with("Content-Encoding", encoding)
            .send("POST", "/v1/predict", b"\x1f\x8b\x08")
            .problem(415);
        assert!(problem["detail"].as_str().unwrap().contains("uncompressed"), "{problem}");
    }
    let plain = client.with("Content-Encoding", "identity");
    let found: Value = plain.send("POST", "/v1/predict", b"{\"features\": [[0.5, 0.5]]}").ok();
    assert_eq!(found["decisions"][0]["class"], "a");
}
