//! A stream that fails when the peer makes no progress for too long in either direction, or when it is aborted.
//!
//! It frees the tasks and connection slots that an unresponsive or malicious peer would otherwise hold.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;

/// A stream that fails if its client stalls for too long.
pub struct IdleTimeoutStream<S> {
    inner: S,
    idle_timeout: Duration,
    is_waiting: bool,
    waiting_since: Instant,
    timer: Pin<Box<Sleep>>,
    tasks: TaskTracker,
    abort: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl<S: Unpin> IdleTimeoutStream<S> {
    pub fn new(inner: S, idle_timeout: Duration) -> Self {
        Self::with_tasks(inner, idle_timeout, TaskTracker::new(), CancellationToken::new())
    }

    /// Creates a stream on which the peer may be silent while any of `tasks` runs. Canceling `abort` makes it fail.
    pub fn with_tasks(inner: S, idle_timeout: Duration, tasks: TaskTracker, abort: CancellationToken) -> Self {
        Self {
            inner,
            idle_timeout,
            is_waiting: false,
            waiting_since: Instant::now(),
            timer: Box::pin(tokio::time::sleep_until(Instant::now() + idle_timeout)),
            tasks,
            abort: Box::pin(abort.cancelled_owned()),
        }
    }

    fn check_idle<T>(&mut self, result: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.is_waiting = false;
            return result;
        }
        if self.abort.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "the connection was closed by the server",
            )));
        }
        if !self.is_waiting || !self.tasks.is_empty() {
            self.is_waiting = true;
            self.waiting_since = Instant::now();
        }
        // The timer is reset only when it fires, because resetting it on every transfer would be costly.
        while self.timer.as_mut().poll(context).is_ready() {
            let deadline = self.waiting_since + self.idle_timeout;
            if deadline <= Instant::now() {
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "idle timeout")));
            }
            self.timer.as_mut().reset(deadline);
        }
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for IdleTimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_read(context, buffer);
        self.check_idle(result, context)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for IdleTimeoutStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.check_idle(result, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_flush(context);
        self.check_idle(result, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_shutdown(context);
        self.check_idle(result, context)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn an_idle_stream_times_out_and_traffic_resets_the_timer() {
        let (mut peer, ours) = tokio::io::duplex(8);
        let mut stream = IdleTimeoutStream::new(ours, IDLE_TIMEOUT);
        for _ in 0..5 {
            tokio::time::advance(IDLE_TIMEOUT / 2).await;
            peer.write_all(b"x").await.unwrap();
            assert_eq!(stream.read_u8().await.unwrap(), b'x');
        }
        // Time during which the server did not wait for the peer does not count.
        tokio::time::advance(IDLE_TIMEOUT * 3).await;
        let started = Instant::now();
        assert_eq!(stream.read_u8().await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() >= IDLE_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_read_times_out() {
        let (_peer, ours) = tokio::io::duplex(8);
        let mut stream = IdleTimeoutStream::new(ours, IDLE_TIMEOUT);
        assert_eq!(stream.write_all(&[0; 64]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn running_tasks_suspend_the_timeout_and_abort_ends_the_stream() {
        let (_peer, ours) = tokio::io::duplex(8);
        let (tasks, abort) = (TaskTracker::new(), CancellationToken::new());
        let mut stream = IdleTimeoutStream::with_tasks(ours, IDLE_TIMEOUT, tasks.clone(), abort.clone());
        let busy = tasks.token();
        let reading = tokio::time::timeout(IDLE_TIMEOUT * 10, stream.read_u8()).await;
        assert!(reading.is_err(), "it was still waiting: {reading:?}");
        drop(busy);
        abort.cancel();
        assert_eq!(stream.read_u8().await.unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
    }
}
