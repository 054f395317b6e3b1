//! The open-world server: it answers queries, keeps what it does not recognise, shows it to a person in groups, takes names for
//! them, and learns beside serving.
//!
//! Over [`evmachine_openworld::Pool`], of which every rule is; here are HTTP, threads and the page. A request comes in through
//! [`Server`] and the guard (`guard.rs`), finds its route (`router.rs`), and is decided (`predictor.rs`) or put before the thread that
//! writes (`store.rs`); learning has threads of its own (`learner.rs`).
//!
//! ```no_run
//! use evmachine_server::{Server, Settings};
//!
//! let server = Server::start(&Settings::new("pool".into()))?;
//! println!("http://{}", server.address());
//! # std::thread::park();
//! server.stop();
//! # Ok::<(), evmachine_server::StartError>(())
//! ```

mod description;
mod drift;
mod extract;
mod guard;
mod keys;
mod labelstudio;
mod learner;
mod live;
mod metrics;
mod page;
mod predictor;
mod problem;
mod rate;
mod recent;
mod router;
mod rows;
mod seats;
mod server;
mod service;
mod settings;
mod store;
mod table;
mod v1;
mod v2;

pub use keys::{Keys, KeysError, Role};
pub use server::{Asker, Server};
pub use settings::{Limits, Settings, StartError};
