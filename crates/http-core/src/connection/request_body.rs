//! Request bodies that fail if the client stalls, and their progress.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::body::Bytes;
use holdfast_app::progress_budget::ProgressBudget;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::stall_timer::StallTimer;

/// The progress of a request body. It is an extension of the request.
#[derive(Clone)]
pub struct RequestBodyState {
    /// Whether the body has unread bytes. Shared by all requests of a connection, so it refers to the newest one.
    is_unread: Arc<AtomicBool>,
    is_stalled: Arc<AtomicBool>,
    min_bytes_per_second: Arc<AtomicU64>,
}

impl RequestBodyState {
    pub fn new(is_unread: Arc<AtomicBool>) -> Self {
        Self { is_unread, is_stalled: Arc::default(), min_bytes_per_second: Arc::default() }
    }

    /// Returns whether a part of the body has not been read.
    pub fn is_unread(&self) -> bool {
        self.is_unread.load(Ordering::Relaxed)
    }

    /// Requires the rest of the body to arrive at this rate. A rate below that of the connection has no effect.
    pub fn raise_rate(&self, min_bytes_per_second: u64) {
        self.min_bytes_per_second.store(min_bytes_per_second, Ordering::Relaxed);
    }

    /// Returns whether reading the body failed because the client stalled.
    pub fn is_stalled(&self) -> bool {
        self.is_stalled.load(Ordering::Relaxed)
    }
}

/// A request body that fails if the client stops sending it.
pub struct RequestBody {
    inner: Incoming,
    timer: StallTimer,
    state: RequestBodyState,
}

impl RequestBody {
    pub fn new(inner: Incoming, budget: ProgressBudget, state: RequestBodyState) -> Self {
        state.is_unread.store(!inner.is_end_stream(), Ordering::Relaxed);
        Self { inner, timer: StallTimer::new(budget), state }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.state.is_stalled() {
            return Poll::Ready(None);
        }
        match Pin::new(&mut self.inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                let min_bytes_per_second = self.state.min_bytes_per_second.load(Ordering::Relaxed);
                self.timer.raise_rate(min_bytes_per_second);
                self.timer.progress(frame.data_ref().map_or(0, Bytes::len));
                self.state.is_unread.store(!self.inner.is_end_stream(), Ordering::Relaxed);
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                Poll::Ready(Some(Err(io::Error::new(io::ErrorKind::ConnectionAborted, error))))
            }
            Poll::Ready(None) => {
                self.state.is_unread.store(false, Ordering::Relaxed);
                Poll::Ready(None)
            }
            Poll::Pending if self.timer.poll_stalled(context).is_ready() => {
                self.state.is_stalled.store(true, Ordering::Relaxed);
                let stall_error =
                    io::Error::new(io::ErrorKind::TimedOut, "the client stopped sending the request body");
                Poll::Ready(Some(Err(stall_error)))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.state.is_stalled() || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
