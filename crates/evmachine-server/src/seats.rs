//! Places for connections. Whoever sits silently on one gives it up when others wait: sockets that send nothing cannot shut others out.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body;
use hyper::body::{Bytes, Frame, SizeHint};
use tokio::sync::Notify;

/// How long a connection may be silent, before its first request or after an answer, while others wait for its place.
const SILENT: Duration = Duration::from_secs(1);
/// How often it is looked for a place while there is none.
const PERIOD: Duration = Duration::from_millis(50);

/// The places that are taken.
pub(crate) struct Seats {
    most: usize,
    taken: Mutex<Vec<Arc<Seat>>>,
}

/// A connection's place.
pub(crate) struct Seat {
    state: Mutex<Use>,
    leave: Notify,
}

struct Use {
    /// Requests that are not answered to the last byte.
    in_flight: usize,
    /// Since when there are none.
    since: Instant,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Seats {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, taken: Mutex::default() }
    }

    /// A place, when there is one; for it, who has been silent longest has to go.
    pub(crate) async fn take(&self) -> Arc<Seat> {
        loop {
            {
                let mut taken = lock(&self.taken);
                if taken.len() >= self.most
                    && let Some((at, silent)) = taken
                        .iter()
                        .enumerate()
                        .filter_map(|(at, seat)| Some((at, seat.silent_for()?)))
                        .max_by_key(|(_, silent)| *silent)
                    && silent >= SILENT
                {
                    taken.swap_remove(at).leave.notify_one();
                }
                if taken.len() < self.most {
                    let state = Mutex::new(Use { in_flight: 0, since: Instant::now() });
                    let seat = Arc::new(Seat { state, leave: Notify::new() });
                    taken.push(seat.clone());
                    return seat;
                }
            }
            tokio::time::sleep(PERIOD).await;
        }
    }

    /// Gives a place back.
    pub(crate) fn leave(&self, seat: &Arc<Seat>) {
        lock(&self.taken).retain(|other| !Arc::ptr_eq(other, seat));
    }
}

impl Seat {
    fn silent_for(&self) -> Option<Duration> {
        let state = lock(&self.state);
        (state.in_flight == 0).then(|| state.since.elapsed())
    }

    /// Until the place is needed for others.
    pub(crate) async fn asked_to_leave(&self) {
        self.leave.notified().await;
    }

    /// A request has come; it lasts until what is returned is dropped.
    pub(crate) fn request(self: &Arc<Self>) -> InFlight {
        lock(&self.state).in_flight += 1;
        InFlight(self.clone())
    }
}

/// A request that is being answered.
pub(crate) struct InFlight(Arc<Seat>);

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.in_flight -= 1;
        state.since = Instant::now();
    }
}

/// The body of an answer, which is in flight until it was sent.
pub(crate) struct Held {
    body: Body,
    _request: InFlight,
}

impl Held {
    pub(crate) fn new(body: Body, request: InFlight) -> Self {
        Self { body, _request: request }
    }
}

impl hyper::body::Body for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
