//! Connections: how they are taken, bounded and ended.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use evmachine::Features;
use evmachine_openworld::NewSample;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tower::ServiceExt as _;

use crate::guard::Guard;
use crate::router::router;
use crate::rows::Matrix;
use crate::seats::{Held, Seat, Seats};
use crate::service::Service;
use crate::settings::{Settings, StartError};
use crate::v1::predict;

/// How long the head of a request may take, and a connection may be silent between two.
const HEAD: Duration = Duration::from_secs(60);
/// How long requests may take that are under way when the server ends.
const FAREWELL: Duration = Duration::from_secs(30);

/// How often what is counted is brought to the disk.
const SAVED: Duration = Duration::from_secs(60);

/// A server that is running.
pub struct Server {
    address: SocketAddr,
    end: watch::Sender<bool>,
    thread: JoinHandle<()>,
    service: Arc<Service>,
    runtime: tokio::runtime::Handle,
}

/// Asks a running server from within the process, as a request would.
#[derive(Clone)]
pub struct Asker(Arc<Service>, tokio::runtime::Handle);

impl std::fmt::Debug for Asker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Asker")
    }
}

impl Asker {
    /// Has rows decided, and unknown ones kept, each with what is shown of it; what was wrong, where it could not be done.
    pub fn predict(&self, features: &Features<'_>, shown: Vec<NewSample>) -> Result<(), String> {
        let decided = Matrix::of(features).checked(&self.0.live.get().model, usize::MAX).and_then(|matrix| {
            self.1.block_on(predict::decide_rows(&self.0, matrix, shown, (predict::Keep::Unknown, None)))
        });
        decided.map(drop).map_err(|problem| problem.detail().to_owned())
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Server {
    /// Opens the pool, and answers from when this returns.
    pub fn start(settings: &Settings) -> Result<Self, StartError> {
        let listen = settings.listen;
        if settings.keys.is_empty() && !listen.ip().is_loopback() {
            return Err(StartError::OpenToAll { listen });
        }
        if let Some(path) = &settings.backups {
            let found = std::fs::read_dir(path).map(drop);
            found.map_err(|error| StartError::Backups { path: path.clone(), error })?;
        }
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(StartError::Threads)?;
        let listener = runtime
            .block_on(TcpListener::bind(listen))
            .map_err(|error| StartError::Listen { listen, error })?;
        let address = listener.local_addr().map_err(|error| StartError::Listen { listen, error })?;
        let (service, threads) = Service::start(settings, Guard::new(settings, address.port())?)?;
        let (end, ended) = watch::channel(false);
        let connections = settings.limits.connections;
        let (served, handle) = (service.clone(), runtime.handle().clone());
        let kept = service.clone();
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(SAVED).await;
                let kept = kept.clone();
                // Ends with the runtime.
                let _ = tokio::task::spawn_blocking(move || kept.save_minutes()).await;
            }
        });
        let thread = std::thread::Builder::new()
            .name("serve".to_owned())
            .spawn(move || {
                runtime.block_on(accept(&listener, router(&served), connections, ended));
                drop(runtime);
                served.end(threads);
            })
            .map_err(StartError::Threads)?;
        Ok(Self { address, end, thread, service, runtime: handle })
    }

    /// For who asks from within the process.
    pub fn asker(&self) -> Asker {
        Asker(self.service.clone(), self.runtime.clone())
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more connections, finishes the requests that are under way, and returns when all that it said is done is on the
    /// disk.
    pub fn stop(self) {
        let _ = self.end.send(true);
        let _ = self.thread.join();
    }
}

async fn accept(
    listener: &TcpListener,
    router: Router,
    connections: usize,
    mut ended: watch::Receiver<bool>,
) {
    let seats = Arc::new(Seats::new(connections));
    let farewell = GracefulShutdown::new();
    loop {
        let client = tokio::select! {
            _ = ended.wait_for(|ended| *ended) => break,
            client = next(listener, &seats) => client,
        };
        let Some((stream, address, seat)) = client else { continue };
        let (router, here) = (router.clone(), seat.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(address));
            let (router, in_flight) = (router.clone(), here.request());
            async move {
                let answered = router.oneshot(request).await;
                answered.map(|answer| answer.map(|body| Held::new(body, in_flight)))
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .serve_connection(TokioIo::new(stream), service);
        let connection = farewell.watch(connection);
        let seats = seats.clone();
        tokio::spawn(async move {
            tokio::select! {
                // A client that hangs up, or sends what is no HTTP, is its own affair.
                _ = connection => {}
                () = seat.asked_to_leave() => {}
            }
            seats.leave(&seat);
        });
    }
    tokio::select! {
        () = farewell.shutdown() => {}
        () = tokio::time::sleep(FAREWELL) => {}
    }
}

/// The next client, and its place.
async fn next(listener: &TcpListener, seats: &Seats) -> Option<(TcpStream, SocketAddr, Arc<Seat>)> {
    if let Ok((stream, client)) = listener.accept().await {
        // Small answers are not held back.
        let _ = stream.set_nodelay(true);
        return Some((stream, client, seats.take().await));
    }
    // No more files may be open: others will be closed.
    tokio::time::sleep(Duration::from_millis(50)).await;
    None
}
