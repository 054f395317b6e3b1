//! How fast the server answers, and what it takes.
//!
//! `cargo run --release -p evmachine-server --example load -- letter` asks a server of the Letter model, `-- wide` one of 75,000 rows of 384
//! numbers. `SECONDS=600` has every line take so long. `-- steady letter` asks for that long, 200 requests a second, and prints the
//! server's memory ten times.
//!
//! The same rows go to a server that is there already, such as another program's, by
//! `-- http://127.0.0.1:8080/v2/models/NAME/infer letter`; `-- onnx letter FILE` writes the model for it.
//!
//! The server is a process of its own, the client another on the same cores. A line is a number of connections, each of which asks
//! again as soon as it was answered.

use std::error::Error;
use std::io::{BufRead, BufReader, Read as _, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use evmachine::{Evm, Features, Labels, Params};
use evmachine_openworld::Pool;
use evmachine_server::{Server, Settings};

type Failed = Box<dyn Error + Send + Sync>;

/// Connections, and rows of a request.
const LINES: [(usize, usize); 6] = [(1, 1), (16, 1), (64, 1), (1, 100), (16, 100), (64, 100)];

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seconds = std::env::var("SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5.0);
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", folder] => serve(Path::new(folder)),
        [address, name] if address.starts_with("http://") => {
            let (host, path) = address.trim_start_matches("http://").split_once('/').unwrap_or((address, ""));
            let target = Target { address: host.parse()?, path: format!("/{path}") };
            head();
            all_lines("known", &target, &data(name)?.known, seconds)
        }
        ["onnx", name, file] => {
            let bytes = evmachine_onnx::to_onnx(&model(&data(name)?)?, evmachine_onnx::UNKNOWN_LABEL)?;
            Ok(std::fs::write(file, bytes)?)
        }
        ["steady", name] => own(&data(name)?, |data, server| steady(data, server, seconds)),
        [name] => own(&data(name)?, |data, server| measure(data, server, seconds)),
        _ => Err("load letter | wide | steady NAME | onnx NAME FILE | ADDRESS NAME".into()),
    }
}

fn data(name: &str) -> Result<Data, Failed> {
    match name {
        "letter" => letter(),
        "wide" => wide(75_000, 384),
        _ => Err("letter or wide".into()),
    }
}

fn serve(folder: &Path) -> Result<(), Failed> {
    let mut settings = Settings::new(folder.to_owned());
    settings.listen.set_port(0);
    let server = Server::start(&settings)?;
    println!("{}", server.address());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    server.stop();
    Ok(())
}

/// Rows to learn from, rows of classes among them, and rows of others.
struct Data {
    train: (Features<'static>, Labels),
    known: Vec<Vec<f32>>,
    unknown: Vec<Vec<f32>>,
}

fn model(data: &Data) -> Result<Evm, Failed> {
    Ok(Evm::fit(&Params::robust().keeping_all(), &data.train.0, &data.train.1)?.0)
}

/// Letters A to O are known.
fn letter() -> Result<Data, Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/letter/letter-recognition.data");
    let text = std::fs::read_to_string(path)?;
    let (mut names, mut rows) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let (name, numbers) = line.split_once(',').ok_or("a line without a comma")?;
        names.push(name);
        rows.push(numbers.split(',').map(str::parse::<f32>).collect::<Result<Vec<f32>, _>>()?);
    }
    let is_known = |row: &usize| names[*row] <= "O";
    let train: Vec<usize> = (0..15_000).filter(is_known).collect();
    let values: Vec<f32> = train.iter().flat_map(|&row| rows[row].iter().copied()).collect();
    let labels = Labels::new(train.iter().map(|&row| names[row]))?;
    let part = |known: bool| {
        (15_000..20_000).filter(|row| is_known(row) == known).map(|row| rows[row].clone()).collect()
    };
    Ok(Data { train: (Features::new(values, 16)?, labels), known: part(true), unknown: part(false) })
}

/// 150 clumps, of which the last 15 are unknown.
fn wide(count: usize, dimensions: usize) -> Result<Data, Failed> {
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 16_777_216.0 - 0.5
    };
    let centres: Vec<Vec<f32>> = (0..150).map(|_| (0..dimensions).map(|_| random()).collect()).collect();
    let mut row =
        |class: usize| -> Vec<f32> { centres[class].iter().map(|centre| centre + 0.8 * random()).collect() };
    let rows: Vec<Vec<f32>> = (0..count).map(|number| row(number % 135)).collect();
    let labels = Labels::new((0..count).map(|number| (number % 135).to_string()))?;
    let known = (0..1000).map(|number| row(number % 135)).collect();
    let unknown = (0..1000).map(|number| row(135 + number % 15)).collect();
    Ok(Data { train: (Features::new(rows.concat(), dimensions)?, labels), known, unknown })
}

struct Target {
    address: SocketAddr,
    path: String,
}

#[derive(Clone, Copy)]
enum Until<'a> {
    Seconds(f64),
    Over(&'a AtomicBool),
}

fn head() {
    println!("| | connections | rows | rows/s | p50 ms | p99 ms |\n|---|---:|---:|---:|---:|---:|");
}

/// A server of our own and where it is asked.
struct Own {
    process: Child,
    address: SocketAddr,
}

impl Own {
    fn target(&self, path: &str) -> Target {
        Target { address: self.address, path: path.to_owned() }
    }

    /// Resident memory in megabytes.
    fn memory(&self) -> Result<u64, Failed> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? / 1024)
    }
}

fn own(data: &Data, measure: impl FnOnce(&Data, &Own) -> Result<(), Failed>) -> Result<(), Failed> {
    let place = tempfile::tempdir()?;
    let folder = place.path().join("pool");
    let model = model(data)?;
    println!("{} extreme vectors of {} dimensions", model.extreme_vector_count(), model.dimensions());
    drop(Pool::create(&folder, &model)?);
    drop(model);
    let mut process = Command::new(std::env::current_exe()?)
        .arg("serve")
        .arg(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut address = String::new();
    BufReader::new(process.stdout.take().ok_or("no output")?).read_line(&mut address)?;
    let mut server = Own { process, address: address.trim().parse()? };
    println!("memory at the start: {} MB\n", server.memory()?);
    let measured = measure(data, &server);
    drop(server.process.stdin.take());
    server.process.wait()?;
    measured
}

fn all_lines(what: &str, target: &Target, rows: &[Vec<f32>], seconds: f64) -> Result<(), Failed> {
    LINES.iter().try_for_each(|&(connections, count)| {
        line(what, target, rows, connections, count, Until::Seconds(seconds))
    })
}

/// Memory as queries come in, one every 5 ms.
fn steady(data: &Data, server: &Own, seconds: f64) -> Result<(), Failed> {
    let target = server.target("/v1/predict?keep=none");
    let mut stream = TcpStream::connect(target.address)?;
    stream.set_nodelay(true)?;
    println!("| s | requests | MB |\n|---:|---:|---:|");
    let (start, mut told) = (Instant::now(), 0);
    for (round, row) in data.known.iter().cycle().enumerate() {
        let after = start.elapsed().as_secs_f64();
        if after >= seconds * f64::from(told) / 10.0 {
            println!("| {after:.0} | {round} | {} |", server.memory()?);
            told += 1;
        }
        if after >= seconds {
            break;
        }
        let text = message("POST", &target.path, &body(&target.path, &[row.as_slice()]), true);
        stream.write_all(text.as_bytes())?;
        reply(&mut stream)?;
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn measure(data: &Data, server: &Own, seconds: f64) -> Result<(), Failed> {
    head();
    all_lines("known, /v1", &server.target("/v1/predict?keep=none"), &data.known, seconds)?;
    all_lines("known, /v2", &server.target("/v2/models/evmachine/infer"), &data.known, seconds)?;
    let target = &server.target("/v1/predict");
    for (connections, rows) in [(1, 1), (16, 1), (64, 1)] {
        line("unknown, kept", target, &data.unknown, connections, rows, Until::Seconds(seconds))?;
    }
    let samples: Vec<usize> = (1..=data.unknown.len().min(500)).collect();
    post(
        target,
        "/v1/labels",
        &format!("{{\"samples\": {samples:?}, \"label\": \"new\", \"new_class\": true}}"),
    )?;
    post(target, "/v1/update", "{}")?;
    let over = AtomicBool::new(false);
    let start = Instant::now();
    std::thread::scope(|scope| -> Result<(), Failed> {
        let load = scope.spawn(|| {
            let target = server.target("/v1/predict?keep=none");
            line("while it learns", &target, &data.known, 16, 1, Until::Over(&over))
        });
        while !request(target, "GET", "/v1/status", "")?.contains("\"learning\":null") {
            std::thread::sleep(Duration::from_millis(20));
        }
        over.store(true, Ordering::Relaxed);
        load.join().map_err(|_| "the load ended early")?
    })?;
    println!(
        "\nlearning took {:.2} s; memory at the end: {} MB",
        start.elapsed().as_secs_f64(),
        server.memory()?
    );
    Ok(())
}

/// The body of a request of these rows, for the protocol of the path. Nothing is kept where it is `/v2`.
fn body(path: &str, rows: &[&[f32]]) -> String {
    if path.starts_with("/v2/") {
        let (count, columns) = (rows.len(), rows[0].len());
        let data = serde_json::to_string(&rows.concat()).unwrap_or_default();
        return format!(
            "{{\"parameters\": {{\"keep\": \"none\"}}, \"inputs\": [{{\"name\": \"features\", \"shape\": [{count}, {columns}], \
             \"datatype\": \"FP32\", \"data\": {data}}}]}}"
        );
    }
    format!("{{\"features\": {}}}", serde_json::to_string(rows).unwrap_or_default())
}

fn line(
    what: &str,
    target: &Target,
    rows: &[Vec<f32>],
    connections: usize,
    count: usize,
    until: Until<'_>,
) -> Result<(), Failed> {
    let start = Instant::now();
    let is_over = || match until {
        Until::Seconds(seconds) => start.elapsed().as_secs_f64() > seconds,
        Until::Over(over) => over.load(Ordering::Relaxed),
    };
    let mut latencies: Vec<Duration> = Vec::new();
    std::thread::scope(|scope| -> Result<(), Failed> {
        let askers: Vec<_> = (0..connections)
            .map(|number| {
                let is_over = &is_over;
                scope.spawn(move || -> Result<Vec<Duration>, Failed> {
                    let mut stream = TcpStream::connect(target.address)?;
                    stream.set_nodelay(true)?;
                    let mut took = Vec::new();
                    for round in 0.. {
                        if is_over() {
                            break;
                        }
                        let row = |i: usize| &rows[(number * 7919 + round * count + i) % rows.len()][..];
                        let asked: Vec<&[f32]> = (0..count).map(row).collect();
                        let text = message("POST", &target.path, &body(&target.path, &asked), true);
                        let sent = Instant::now();
                        stream.write_all(text.as_bytes())?;
                        reply(&mut stream)?;
                        took.push(sent.elapsed());
                    }
                    Ok(took)
                })
            })
            .collect();
        for asker in askers {
            latencies.extend(asker.join().map_err(|_| "a connection ended early")??);
        }
        Ok(())
    })?;
    let seconds = start.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let quantile = |share: f64| {
        let at = ((latencies.len() as f64 * share) as usize).min(latencies.len().saturating_sub(1));
        latencies.get(at).map_or(0.0, |took| took.as_secs_f64() * 1e3)
    };
    println!(
        "| {what} | {connections} | {count} | {:.0} | {:.2} | {:.2} |",
        (latencies.len() * count) as f64 / seconds,
        quantile(0.5),
        quantile(0.99)
    );
    Ok(())
}

fn message(method: &str, path: &str, body: &str, keep: bool) -> String {
    let connection = if keep { "keep-alive" } else { "close" };
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: {connection}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Reads one reply of known length, and returns its body.
fn reply(stream: &mut TcpStream) -> Result<String, Failed> {
    let mut bytes = Vec::with_capacity(4096);
    let mut part = vec![0; 65536];
    loop {
        let read = stream.read(&mut part)?;
        if read == 0 {
            return Err("the server hung up".into());
        }
        bytes.extend_from_slice(&part[..read]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = std::str::from_utf8(&bytes[..end])?.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.ok_or("a reply without a length")?.trim().parse()?;
        if bytes.len() >= end + 4 + length {
            let body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
            return if head.starts_with("http/1.1 2") { Ok(body) } else { Err(body.into()) };
        }
    }
}

fn request(target: &Target, method: &str, path: &str, body: &str) -> Result<String, Failed> {
    let mut stream = TcpStream::connect(target.address)?;
    stream.write_all(message(method, path, body, false).as_bytes())?;
    reply(&mut stream)
}

fn post(target: &Target, path: &str, body: &str) -> Result<(), Failed> {
    request(target, "POST", path, body).map(drop)
}
