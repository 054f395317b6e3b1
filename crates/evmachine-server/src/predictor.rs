//! Decides for requests as they come: at once while there is one, together while several wait.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use evmachine::device::Device;
use evmachine::{Decision, Evm, Features, RunError};
use tokio::sync::oneshot;

use crate::live::{Live, LiveModel};
use crate::problem::Problem;
use crate::service::run_on;

/// Requests that may wait; more are refused.
const WAITING: usize = 4096;
/// Rows that are decided together, and the largest request that shares a turn with others.
const TOGETHER: usize = 256;

/// A request's rows, and where its decisions go.
struct Query {
    values: Vec<f32>,
    rows: usize,
    done: oneshot::Sender<Result<Decided, RunError>>,
}

/// Decisions, and the model that made them.
pub(crate) struct Decided {
    pub(crate) live: Arc<Live>,
    pub(crate) values: Vec<f32>,
    pub(crate) decisions: Vec<Decision>,
}

/// Two lanes, so that a large request does not hold up small ones. Each has threads of its own: learning holds up neither.
#[derive(Clone)]
pub(crate) struct Predictor {
    small: SyncSender<Query>,
    large: SyncSender<Query>,
}

impl Predictor {
    pub(crate) fn start(
        live: &Arc<LiveModel>,
        device: Option<Arc<dyn Device>>,
        threads: usize,
    ) -> Result<Self, std::io::Error> {
        Ok(Self {
            small: lane("predict", live, device.clone(), threads)?,
            large: lane("predict-large", live, device, threads)?,
        })
    }

    /// Decides for `values`, which are whole finite rows of the model's dimension.
    pub(crate) async fn decide(&self, values: Vec<f32>, rows: usize) -> Result<Decided, Problem> {
        let (done, decided) = oneshot::channel();
        let lane = if rows <= TOGETHER { &self.small } else { &self.large };
        lane.try_send(Query { values, rows, done }).map_err(|error| match error {
            TrySendError::Full(_) => Problem::unavailable("too many requests wait; try again"),
            TrySendError::Disconnected(_) => Problem::unavailable("the server is shutting down"),
        })?;
        let decided = decided.await.map_err(|_| Problem::internal("the prediction was dropped"))?;
        decided.map_err(Problem::from)
    }
}

fn lane(
    name: &str,
    live: &Arc<LiveModel>,
    device: Option<Arc<dyn Device>>,
    threads: usize,
) -> Result<SyncSender<Query>, std::io::Error> {
    let (sender, queue) = sync_channel(WAITING);
    let workers = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name({
            let name = name.to_owned();
            move |number| format!("{name}-{number}")
        })
        .build()
        .map_err(std::io::Error::other)?;
    let live = live.clone();
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || work(queue, &live, device.as_ref(), &workers))?;
    Ok(sender)
}

fn work(
    queue: Receiver<Query>,
    live: &LiveModel,
    device: Option<&Arc<dyn Device>>,
    workers: &rayon::ThreadPool,
) {
    // One of the workers itself, so that a single row is not handed from thread to thread.
    workers.install(move || {
        let mut next = None;
        while let Some(first) = next.take().or_else(|| queue.recv().ok()) {
            let mut together: Vec<Query> = vec![first];
            let mut rows = together[0].rows;
            while rows < TOGETHER
                && let Ok(query) = queue.try_recv()
            {
                if rows + query.rows > TOGETHER {
                    next = Some(query);
                    break;
                }
                rows += query.rows;
                together.push(query);
            }
            answer(&live.get(), device, together);
        }
    });
}

fn answer(live: &Arc<Live>, device: Option<&Arc<dyn Device>>, together: Vec<Query>) {
    if together.len() > 1 {
        let values: Vec<f32> = together.iter().flat_map(|query| query.values.iter().copied()).collect();
        // A row that the metric refuses is told to its own request, below.
        if let Ok(decisions) = decide(&live.model, device, &values) {
            let mut decisions = decisions.into_iter();
            for Query { values, rows, done } in together {
                let own = decisions.by_ref().take(rows).collect();
                let _ = done.send(Ok(Decided { live: live.clone(), values, decisions: own }));
            }
            return;
        }
    }
    for Query { values, done, .. } in together {
        let decided = decide(&live.model, device, &values);
        let _ = done.send(decided.map(|decisions| Decided { live: live.clone(), values, decisions }));
    }
}

/// A mistake of ours costs these requests, not those that come.
fn decide(model: &Evm, device: Option<&Arc<dyn Device>>, values: &[f32]) -> Result<Vec<Decision>, RunError> {
    let features = Features::new(values, model.dimensions())?;
    RunError::catch(|| model.decide_with(&run_on(device), &features))?
}
