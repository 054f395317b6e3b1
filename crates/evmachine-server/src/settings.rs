//! How a server is set up.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use evmachine::device::Device;

use crate::keys::Keys;

/// Where it listens, whom it lets in, and how much it takes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The folder of the pool.
    pub pool: PathBuf,
    /// Port 0 takes a free one.
    pub listen: SocketAddr,
    /// Who may do what. Without any, only who is on this machine can be let in, and may do everything.
    pub keys: Keys,
    /// Host names that it goes by beside its address, such as that of a proxy before it; with a port, at that port alone.
    pub hosts: Vec<String>,
    /// The folder in which backups are made; without, there are none.
    pub backups: Option<PathBuf>,
    /// The name of the model in the Open Inference Protocol.
    pub model_name: String,
    /// Whether the page says that this is a demonstration.
    pub demo: bool,
    /// What decides and learns, where it takes the work; it keeps the live model. Without, the processor does.
    pub device: Option<Arc<dyn Device>>,
    /// How much it takes.
    pub limits: Limits,
}

/// What is more is refused.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a request.
    pub body: usize,
    /// Rows of a request.
    pub rows: usize,
    /// Requests of one client in a second, on average; ten seconds' worth may come at once.
    pub rate: Option<f64>,
    /// Connections at once.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body: 64 << 20, rows: 100_000, rate: None, connections: 1024 }
    }
}

impl Settings {
    /// For a pool, open to who is on this machine, at port 8080.
    pub fn new(pool: PathBuf) -> Self {
        Self {
            pool,
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            keys: Keys::default(),
            hosts: Vec::new(),
            backups: None,
            model_name: "evmachine".to_owned(),
            demo: false,
            device: None,
            limits: Limits::default(),
        }
    }
}

/// A server that could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Others can reach the address, and nobody would be asked for a key.
    #[error(
        "{listen} can be reached from other machines, which takes keys; without keys, listen on 127.0.0.1"
    )]
    OpenToAll {
        /// The address.
        listen: SocketAddr,
    },
    /// The address cannot be had.
    #[error("{listen}: {error}; another address or port may be free, port 0 takes any that is")]
    Listen {
        /// The address.
        listen: SocketAddr,
        /// Why.
        error: std::io::Error,
    },
    /// A host name that is none.
    #[error("{host:?} is no host name; give one such as learn.example or learn.example:8443")]
    Host {
        /// What was given.
        host: String,
    },
    /// The folder for backups is none.
    #[error("{}: {error}; make the folder for backups first", path.display())]
    Backups {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The pool cannot be opened.
    #[error(transparent)]
    Pool(#[from] evmachine_openworld::StoreError),
    /// The live model cannot be asked.
    #[error("the live model cannot be used: {0}")]
    Model(#[from] evmachine::RunError),
    /// Threads could not be started.
    #[error("no threads: {0}")]
    Threads(std::io::Error),
}
