//! `evmachine serve`

mod demonstration;
mod pictures;
mod sentences;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::{Args, ValueEnum};
use evmachine_console::console::{Console, print};
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::interrupt;
use evmachine_console::megabytes::Megabytes;
use evmachine_openworld::Pool;
use evmachine_server::{Keys, Limits, Server, Settings};
use tracing_subscriber::filter::LevelFilter;

use crate::failure::OrFail;
use crate::model;
use demonstration::Demo;

/// Where keys are looked for beside a file.
const KEYS: &str = "EVMACHINE_KEYS";

/// Serve a pool: answer queries over HTTP, keep unknowns, show them to people, and learn what they say
///
/// Who opens the address in a browser gets the page on which unknowns are named. Programs ask /v1 or the Open Inference Protocol at
/// /v2; /openapi.json describes all routes.
///
/// Example: evmachine serve pool --model letters.safetensors
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The folder of the pool.
    #[arg(required_unless_present = "demo")]
    pool: Option<PathBuf>,

    /// Make the pool with this model as its first version, if it is not there.
    #[arg(long, value_name = "MODEL", conflicts_with = "demo")]
    model: Option<PathBuf>,

    /// The address and port; port 0 takes a free one. Other addresses than this machine's own take keys.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// A file of keys, one a line: `ROLE NAME KEY`, a role being ask, read, label or admin. The environment may hold the same in
    /// `EVMACHINE_KEYS`.
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,

    /// A host name that the server goes by, such as that of a proxy before it, with a port if it goes by no other. May be given several
    /// times.
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,

    /// The folder in which backups are made; without, there are none.
    #[arg(long, value_name = "FOLDER")]
    backups: Option<PathBuf>,

    /// The name of the model in the Open Inference Protocol.
    #[arg(long, value_name = "NAME", default_value = "evmachine")]
    name: String,

    /// The largest request that is taken.
    #[arg(long, value_name = "MB", default_value = "64")]
    max_body: Megabytes,

    /// The most rows that a request may have.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    max_rows: usize,

    /// Requests in a second that one key, or without keys one address, may send on average; as many as it likes unless given.
    #[arg(long, value_name = "N")]
    rate: Option<f64>,

    /// The most connections at once.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    connections: usize,

    /// Serve data in the box, some kinds of which are known, and have the rest come in. Without WHAT, sentences. The pool is in a folder
    /// that goes when the server ends, unless one is named.
    #[arg(long, value_enum, value_name = "WHAT", num_args = 0..=1, default_missing_value = "sentences")]
    demo: Option<Demo>,

    /// Open the page in a browser.
    #[arg(long)]
    open: bool,

    /// What is logged, on standard error: failures, what went wrong, every answer and what was learned, or nothing.
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = LogLevel::Warn)]
    log: LogLevel,

    /// How it is logged: in lines for people, or as one JSON object a line.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

/// Has all that is logged from now on go to standard error.
fn start_log(level: LogLevel, format: LogFormat) {
    let level = match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_ansi(false);
    // Only the first of a process counts, and there is one.
    let _ = match format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    start_log(arguments.log, arguments.log_format);
    // Removed when the server has ended.
    let passing = match (&arguments.pool, arguments.demo) {
        (None, Some(_)) => {
            Some(tempfile::tempdir().map_err(|error| Failure::new(Kind::Other, error.to_string()))?)
        }
        _ => None,
    };
    let folder = match (&arguments.pool, &passing) {
        (Some(pool), _) => pool.clone(),
        (None, Some(passing)) => passing.path().join("pool"),
        (None, None) => return Err(Failure::new(Kind::Usage, "name the folder of the pool")),
    };
    let demonstration = arguments.demo.map(Demo::read).transpose()?;
    if let Some(demonstration) = &demonstration {
        demonstration.prepare(&folder, console)?;
    }
    if let Some(path) = &arguments.model
        && !folder.join("pool.sqlite").is_file()
    {
        Pool::create(&folder, &model::load(path)?).or_fail()?;
    }
    let mut settings = settings(arguments, folder)?;
    warn_of_keys(arguments.keys.as_deref(), &settings.keys, console);
    settings.device = console.device().cloned();
    let server = Server::start(&settings).or_fail()?;
    let address = format!("http://{}", server.address());
    print(&address);
    console.say("Ctrl-C ends it");
    if arguments.open {
        open(&address, console);
    }
    let asker = server.asker();
    let streaming = demonstration.map(|demonstration| std::thread::spawn(move || demonstration.send(&asker)));
    while interrupt::flow().is_continue() {
        std::thread::sleep(Duration::from_millis(50));
    }
    console.say("finishing what is under way");
    if let Some(streaming) = streaming {
        let _ = streaming.join();
    }
    server.stop();
    Ok(())
}

fn settings(arguments: &Arguments, pool: PathBuf) -> Result<Settings, Failure> {
    let mut settings = Settings::new(pool);
    settings.listen = arguments.listen;
    settings.keys = keys(arguments.keys.as_deref())?;
    settings.hosts.clone_from(&arguments.hosts);
    settings.backups.clone_from(&arguments.backups);
    settings.model_name.clone_from(&arguments.name);
    settings.demo = arguments.demo.is_some();
    let mut limits = Limits::default();
    limits.body = arguments.max_body.bytes;
    limits.rows = arguments.max_rows;
    limits.connections = arguments.connections.max(1);
    limits.rate = arguments.rate;
    if limits.rate.is_some_and(|rate| !rate.is_finite() || rate <= 0.0) {
        return Err(Failure::new(Kind::Usage, "--rate must be more than 0"));
    }
    settings.limits = limits;
    Ok(settings)
}

/// The keys of the file, or of the environment.
fn keys(path: Option<&Path>) -> Result<Keys, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(Kind::Usage, error.to_string());
    match path {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| failed(&error).about(path.display()))?;
            let keys = Keys::read(&text).map_err(|error| failed(&error).about(path.display()))?;
            if keys.is_empty() {
                return Err(failed(&"there is no key in it").about(path.display()));
            }
            Ok(keys)
        }
        None => match std::env::var(KEYS) {
            Ok(text) => Keys::read(&text).map_err(|error| failed(&error).about(KEYS)),
            Err(_) => Ok(Keys::default()),
        },
    }
}

/// Keys that others may know.
fn warn_of_keys(path: Option<&Path>, keys: &Keys, console: &Console) {
    for name in keys.published() {
        console.warn(format!(
            "the key of {name} stands in the documentation, where everybody can read it; take another"
        ));
    }
    #[cfg(unix)]
    if let Some(path) = path
        && let Ok(found) = std::fs::metadata(path)
        && std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o077 != 0
    {
        let path = path.display();
        console.warn(format!(
            "{path} can be read by others on this machine; `chmod 600 {path}` keeps it to you"
        ));
    }
    #[cfg(not(unix))]
    let _ = path;
}

/// Asks the desktop to open an address; where there is none, the address was printed.
fn open(address: &str, console: &Console) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = Command::new(program)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = started {
        console.warn(format!("no browser was opened: {program}: {error}"));
    }
}
